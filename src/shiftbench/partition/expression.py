"""Conditions over the columns of a table, written as text: a small, safe subset of Python's syntax.

    wind >= 19 and climate in ("snow", "polar")     comparisons (also chained), and, or, not, in, not in
    abs(fc24 - fc36) > 2 * spread                   arithmetic + - * / %, abs()
    "2021-01-31" <= valid_date < "2021-06-01"       ISO dates as text beside columns of dates
    not is_null(col("wind, m/s"))                   missing values; columns whose names are not Python names

The text is parsed, never executed: anything else is refused.
"""

from __future__ import annotations

import ast
import datetime
import json
import keyword
import math
import operator
import re
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl
from polars.datatypes import DataType

from shiftbench.errors import PartitionError, UnknownNameError
from shiftbench.io.tables import dates

MOST_CHARACTERS = 10_000
MOST_NODES = 5_000
DEEPEST = 50  # levels of nesting
LONGEST = 200  # chained operations, as in a + b + c + …; the time polars needs grows with their cube

# Text in quotes, or a date outside of them, which Python would read as 2021 - 1 - 31.
DATE = re.compile(
    r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|"""
    r"""(?<![\w.])(\d{4})([-/])(\d{1,2})\2(\d{1,2})([T ]\d\d:\d\d(?::\d\d)?(?:Z|[+-]\d\d:\d\d)?)?(?![\w.:/-])"""
)

ONE_EQUALS = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[<>=!]=|=""")  # or text, or another comparison
TEXTS = (pl.String, pl.Categorical, pl.Enum)

Comparison = Callable[[Any, Any], Any]

COMPARISONS: dict[type[ast.cmpop], Comparison] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], Comparison] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Mod: operator.mod,
}  # fmt: skip


def condition(text: str, schema: Mapping[str, DataType]) -> pl.Expr:
    """`text` as an expression of true and false over the columns of `schema` (`frame.schema`).

    A condition on a missing value is false, and so is its negation: `wind > 3` and `not (wind > 3)` both leave out
    the records without wind. NaN, and the result of a division by zero, count as missing. Numbers compare as
    numbers; arithmetic is done in float64; text compares by its code points, exactly as written.

    Raises:
        UnknownNameError: for a column that is not in `schema`.
        PartitionError: naming every invalid part, every comparison of different kinds, and text without quotes.
    """
    return open_condition(text, schema).fill_null(value=False)


def open_condition(text: str, schema: Mapping[str, DataType]) -> pl.Expr:
    """Like `condition`, but null if a missing value makes the result unknown, so that it can be negated with ~."""
    try:
        return _read(text, schema)
    except (PartitionError, UnknownNameError) as error:
        if not (named := _with_columns_named(text, schema)):
            raise
        advice = f"A column whose name is no Python name stands in col(): {named}"
        raise PartitionError(*error.problems[:-1], f"{error.problems[-1]} {advice}") from None


def _read(text: str, schema: Mapping[str, DataType]) -> pl.Expr:
    tree, stripped = _parsed(text, schema), text.strip()
    try:
        return _Reader(tree, stripped, schema).condition()
    except UnknownNameError as error:
        if (quoted := _quoted(tree, stripped, schema)) == stripped:
            raise
        raise PartitionError(f"condition {_short(text)}: {error} If it is text, put it in quotes: {quoted}") from None


def _with_columns_named(text: str, schema: Mapping[str, DataType]) -> str:
    """A condition with col() around the columns that need it, if that makes it one, or ""."""
    if not isinstance(text, str) or len(text) > MOST_CHARACTERS:
        return ""
    names = [name for name in schema if name in text and re.search(r"[^\W\d]", name)]
    names = [name for name in names if keyword.iskeyword(name) or not name.isidentifier()]
    if not names:
        return ""
    known = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    parts = re.compile(rf"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|(?<!\w)({known})(?!\w)""")
    named = parts.sub(lambda part: f"col({json.dumps(part[1], ensure_ascii=False)})" if part[1] else part[0], text)
    try:
        _read(named, schema)
    except (PartitionError, UnknownNameError):
        return ""
    return named.strip()


def moment(text: str, dtype: DataType) -> pl.Expr:
    """A date or time as a value for comparison with a column of type `dtype` (Date or Datetime), in its time zone.

    Raises:
        PartitionError: if `text` is not a date or time that tables may hold, or does not exist in the time zone.
    """
    zone = _zone(dtype)
    value = _time(text)
    if zone is None:
        if value.tzinfo is not None:
            raise PartitionError(f"expected a time without a zone, like the column's, found {text!r}.")
        return pl.lit(value)
    if value.tzinfo is not None:
        utc = value.astimezone(datetime.UTC).replace(tzinfo=None)
        return pl.lit(utc).dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    local = pl.lit(value).dt.replace_time_zone(zone, ambiguous="earliest", non_existent="null")
    if pl.select(local).item() is None:
        raise PartitionError(f"expected a time that exists in {zone}, found {text!r}.")
    return local


def _time(text: str) -> datetime.datetime:
    """An ISO date or time, or one in another notation that is read from tables if it is unambiguous: 2021-1-31."""
    try:
        return datetime.datetime.fromisoformat(text)
    except ValueError:
        found: datetime.datetime | None = dates.moments(pl.Series([text], dtype=pl.String)).item()
    if found is None:
        raise PartitionError(f"expected an ISO date such as '2021-01-31', found {text!r}.")
    return found.replace(tzinfo=datetime.UTC) if re.search(dates.OFFSET, text) else found


@dataclass(frozen=True)
class _Term:
    """A value inside a condition: its expression, kind, column type if it is a column, value if it is a literal."""

    expr: pl.Expr
    kind: str  # "number", "text", "date", "boolean"
    node: ast.expr
    dtype: DataType | None = None
    literal: Any = None

    @property
    def is_simple(self) -> bool:
        """Whether it may be duplicated at no cost."""
        return self.dtype is not None or self.literal is not None


def _parsed(text: str, schema: Mapping[str, DataType]) -> ast.expr:
    if not isinstance(text, str) or not text.strip():
        raise PartitionError(f"expected a condition such as 'wind >= 19', found {text!r}.")
    if len(text) > MOST_CHARACTERS:
        raise PartitionError(f"expected a condition of at most {MOST_CHARACTERS:,} characters, found {len(text):,}.")
    if (quoted := DATE.sub(_dated, text)) != text:
        raise PartitionError(
            f"condition {_short(text)}: expected dates in quotes, found one without. Quote the date: {quoted.strip()}"
        )
    try:
        tree = _tree(text)
    except (SyntaxError, ValueError) as error:
        raise PartitionError(
            f"condition {_short(text)}: expected Python's syntax, found: {getattr(error, 'msg', error)}."
            f"{_equal(text.strip(), schema)}"
        ) from None
    except (RecursionError, MemoryError):
        raise PartitionError(
            f"condition {_short(text)}: expected terms that can be read one by one, found them nested too deeply. Use "
            "a simpler condition."
        ) from None
    _measure(tree, text)
    return tree


def _tree(text: str) -> ast.expr:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text.strip(), mode="eval").body


def _equal(text: str, schema: Mapping[str, DataType]) -> str:
    """The advice to compare with == and not with =, if that makes it a condition, or ""."""
    doubled = ONE_EQUALS.sub(lambda found: "==" if found[0] == "=" else found[0], text)
    try:
        return f" Compare with ==: {_quoted(_tree(doubled), doubled, schema)}" if doubled != text else ""
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


def _quoted(tree: ast.expr, text: str, schema: Mapping[str, DataType]) -> str:
    """A condition with quotes around unknown names that are compared with columns of text."""
    if "\n" in text:  # its parts are located by line
        return text
    names: dict[int, ast.Name] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [part for side in (node.left, *node.comparators) for part in getattr(side, "elts", [side])]
            beside = [side for side in sides if isinstance(side, ast.Name)]
            if any(isinstance(schema.get(side.id), TEXTS) for side in beside):
                names |= {side.col_offset: side for side in beside if side.id not in schema}
    raw = text.encode()  # its parts are located by byte
    for start, name in sorted(names.items(), reverse=True):
        raw = raw[:start] + b'"' + raw[start : name.end_col_offset] + b'"' + raw[name.end_col_offset :]
    return raw.decode()


def _dated(found: re.Match[str]) -> str:
    """A date in quotes, in the form of ISO; anything else unchanged."""
    year, _, month, day, time = found.groups()
    try:
        return f'"{datetime.date(int(year), int(month), int(day)).isoformat()}{time or ""}"'
    except (TypeError, ValueError):  # text in quotes; no date of any year
        return found[0]


def _measure(tree: ast.expr, text: str) -> None:
    nodes = 0
    stack = [(tree, 1, 1)]
    while stack:
        node, nested, depth = stack.pop()
        nodes += 1
        if nested > DEEPEST or depth > LONGEST:
            raise PartitionError(
                f"condition {_short(text)}: expected at most {DEEPEST} levels of nesting and {LONGEST} operations in a "
                "row, found more. Use simpler conditions, or add a column to the table."
            )
        for child in (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)):
            in_a_row = isinstance(node, ast.BinOp) and isinstance(child, ast.BinOp) and child is node.left
            stack.append((child, nested + (not in_a_row), depth + 1))
    if nodes > MOST_NODES:
        raise PartitionError(f"condition {_short(text)}: expected at most {MOST_NODES:,} parts, found {nodes:,}.")


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")


def _zone(dtype: DataType | None) -> str | None:
    return dtype.time_zone if isinstance(dtype, pl.Datetime) else None


def _without_nan(expr: pl.Expr) -> pl.Expr:
    # Not `fill_nan(None)`, which duplicates its operand, so that nested ones would double at every level.
    return expr.replace(math.nan, None)


class _Reader:
    """Turns a parsed condition into an expression, collecting invalid parts.

    No step may duplicate an operand of any depth: the time would double at every level.
    """

    def __init__(self, tree: ast.expr, text: str, schema: Mapping[str, DataType]) -> None:
        self.tree, self.text, self.schema = tree, text, schema
        self.columns: set[str] = set()

    def condition(self) -> pl.Expr:
        expr = self.truth(self.tree)
        if not self.columns:
            raise self.refusal("a condition that mentions a column", self.tree)
        return expr

    def piece(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.text, node) or ast.unparse(node)

    def refusal(self, expected: str, node: ast.AST, advice: str = "") -> PartitionError:
        found = _short(self.piece(node))
        return PartitionError(f"condition {_short(self.text)}: expected {expected}, found {found}.{advice}")

    def truth(self, node: ast.expr) -> pl.Expr:
        """Three-valued: null if a missing value makes the result unknown."""
        match node:
            case ast.BoolOp(op=joined, values=operands):
                parts = self.each(operands)
                return pl.all_horizontal(parts) if isinstance(joined, ast.And) else pl.any_horizontal(parts)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ~self.truth(operand)
            case ast.Compare():
                return self.comparison(node)
            case ast.Call(func=ast.Name(id="is_null"), args=[argument], keywords=[]):
                return self.known(self.value(argument)).is_null()
        term = self.value(node)
        if term.kind != "boolean":
            raise self.refusal("a condition", node, f" This is a {term.kind}: compare it with something.")
        return term.expr

    def each(self, nodes: list[ast.expr]) -> list[pl.Expr]:
        parts: list[pl.Expr] = []
        problems: list[str] = []
        for node in nodes:
            try:
                parts.append(self.truth(node))
            except PartitionError as error:
                problems += error.problems
        if problems:
            raise PartitionError(*problems)
        return parts

    def comparison(self, node: ast.Compare) -> pl.Expr:
        parts = []
        left = self.value(node.left)
        for place, (kind, right) in enumerate(zip(node.ops, node.comparators, strict=True), start=1):
            if isinstance(kind, (ast.In, ast.NotIn)):
                found = self.membership(left, right)
                parts.append(~found if isinstance(kind, ast.NotIn) else found)
                if len(node.ops) > 1:
                    raise self.refusal("`in` on its own, not chained", node)
            elif type(kind) in COMPARISONS:
                term = self.value(right)
                if term.kind == "boolean" and not term.is_simple and place < len(node.ops):
                    raise self.refusal("a chain of columns and numbers", right, " Join two comparisons with `and`.")
                parts.append(self.compared(COMPARISONS[type(kind)], left, term, node))
                left = term
            else:
                raise self.refusal("a comparison (< <= > >= == != in)", node, " Missing values: is_null(column).")
        return parts[0] if len(parts) == 1 else pl.all_horizontal(parts)

    def membership(self, left: _Term, right: ast.expr) -> pl.Expr:
        if not isinstance(right, (ast.Tuple, ast.List, ast.Set)) or not right.elts:
            raise self.refusal('a list of values such as ("snow", "polar") after `in`', right)
        values = [self.value(element) for element in right.elts]
        if any(value.literal is None for value in values):
            raise self.refusal("only numbers and text in the list after `in`", right)
        values = [self.dated(value, left.dtype) for value in values]
        for value in values:
            self.comparable(operator.eq, left, value, right)
        if left.kind == "date":
            assert left.dtype is not None
            wanted = pl.concat([pl.select(value.expr).to_series() for value in values])
            return left.expr.cast(wanted.dtype).is_in(wanted.implode())
        literals = [value.literal for value in values]
        if left.kind != "number":
            return left.expr.is_in(pl.Series(literals).implode())
        wanted = _numbers_of(left.dtype, literals)
        return self.known(left).cast(wanted.dtype).is_in(wanted.implode())

    def compared(self, compare: Comparison, left: _Term, right: _Term, node: ast.AST) -> pl.Expr:
        left, right = self.dated(left, right.dtype), self.dated(right, left.dtype)
        self.comparable(compare, left, right, node)
        result: pl.Expr = compare(self.known(left), self.known(right))
        return result

    def comparable(self, compare: Comparison, left: _Term, right: _Term, node: ast.AST) -> None:
        if left.kind != right.kind:
            pieces = [_short(self.piece(term.node))[1:-1] for term in (left, right)]
            raise self.refusal(
                f"two values of one kind, not a {left.kind} ({pieces[0]}) beside a {right.kind} ({pieces[1]})", node
            )
        if left.kind == "boolean" and compare not in (operator.eq, operator.ne):
            raise self.refusal("== or != between true and false", node)
        if left.dtype and right.dtype and _zone(left.dtype) != _zone(right.dtype):
            raise self.refusal("two times of one time zone", node)

    def known(self, term: _Term) -> pl.Expr:
        """The value of a term, NaN as missing."""
        whole = term.literal is not None or (term.dtype is not None and not term.dtype.is_float())
        return term.expr if term.kind != "number" or whole else _without_nan(term.expr)

    def dated(self, term: _Term, other: DataType | None) -> _Term:
        """ISO text that is compared with a column of dates becomes a date."""
        if not isinstance(term.literal, str) or not isinstance(other, (pl.Date, pl.Datetime)):
            return term
        try:
            return replace(term, expr=moment(term.literal, other), kind="date", literal=None)
        except PartitionError as error:
            raise PartitionError(f"condition {_short(self.text)}: {error}") from None

    def value(self, node: ast.expr) -> _Term:
        match node:
            case ast.Constant(value=literal):
                return self.constant(node, literal)
            case ast.Name(id=name):
                return self.column(node, name)
            case ast.Call(func=ast.Name(id="col"), args=[ast.Constant(value=str(name))], keywords=[]):
                return self.column(node, name)
            case ast.Call(func=ast.Name(id="abs"), args=[argument], keywords=[]):
                return self.arithmetic(node, operator.abs, argument)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.arithmetic(node, operator.neg, operand)
            case ast.BinOp(op=kind, left=left, right=right) if type(kind) in ARITHMETIC:
                return self.arithmetic(node, ARITHMETIC[type(kind)], left, right)
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp(op=ast.Not()):
                return _Term(self.truth(node), "boolean", node)
        raise self.refusal("columns, numbers, text, comparisons, and, or, not, in, abs(), is_null(), col()", node)

    def constant(self, node: ast.expr, literal: Any) -> _Term:
        match literal:
            case bool():
                return _Term(pl.lit(literal), "boolean", node, literal=literal)
            case str():
                return _Term(pl.lit(literal), "text", node, literal=literal)
            case int() | float() if abs(literal) < 2**63:
                return _Term(pl.lit(literal), "number", node, literal=literal)
            case None:
                raise self.refusal("a value", node, " For missing values use is_null(column).")
        raise self.refusal("a number below 2**63 or text", node)

    def column(self, node: ast.expr, name: str) -> _Term:
        if name not in self.schema:
            raise UnknownNameError("column", name, self.schema)
        self.columns.add(name)
        dtype, expr = self.schema[name], pl.col(name)
        if dtype.is_numeric():
            return _Term(expr, "number", node, dtype)
        if isinstance(dtype, (pl.Date, pl.Datetime)):
            return _Term(expr, "date", node, dtype)
        if isinstance(dtype, TEXTS):
            return _Term(expr.cast(pl.String), "text", node, dtype)
        if isinstance(dtype, pl.Boolean):
            return _Term(expr, "boolean", node, dtype)
        raise self.refusal(f"a column of numbers, text, dates or true and false, not {dtype}", node)

    def arithmetic(self, node: ast.expr, operation: Callable[..., Any], *operands: ast.expr) -> _Term:
        terms = [self.value(operand) for operand in operands]
        if wrong := [term for term in terms if term.kind != "number"]:
            found = f" {_short(self.piece(wrong[0].node))[1:-1]} is a {wrong[0].kind}."
            raise self.refusal("numbers to calculate with", node, found)
        if len(terms) == 1 and terms[0].literal is not None:
            value = operation(terms[0].literal)
            return _Term(pl.lit(value), "number", node, literal=value)
        # Float64 throughout, since small integer types would overflow. NaN propagates to the end, like missing values.
        values = [term.expr.cast(pl.Float64) for term in terms]
        if operation in (operator.truediv, operator.mod):
            values[1] = values[1].replace(0.0, None)
        return _Term(operation(*values), "number", node)


def _numbers_of(dtype: DataType | None, literals: list[float]) -> pl.Series:
    """The numbers that a column of a type can represent, in that type; a calculated value is a Float64."""
    if dtype is None or not dtype.is_integer():
        return pl.Series(literals, dtype=dtype if dtype is not None and dtype.is_float() else pl.Float64)
    whole = [int(number) for number in literals if number == int(number)]
    return pl.Series(whole, dtype=pl.Int128).cast(dtype, strict=False).drop_nulls()
