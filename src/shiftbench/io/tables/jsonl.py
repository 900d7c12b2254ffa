"""JSON Lines: one object per line; absent keys are missing values."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.errors import TableError, first_line
from shiftbench.io.tables import columns, dtypes, problem
from shiftbench.io.tables.layout import bad_text
from shiftbench.io.tables.source import source

KEY = r'"(?:[^"\\]|\\.)*"\s*:'
# A JSON string, which ends at the end of its line at the latest; without backtracking, so that time is linear.
STRING = re.compile(rb'"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*\\?(?:"|(?=\n)|\Z)')
DEEPEST = 32  # levels of nesting; the time that polars needs to infer types grows with their cube
LONGEST_INTEGER = 38  # digits that polars supports
TYPES = {
    bool: "true or false", int: "a number", float: "a number", str: "text", list: "a list", dict: "an object",
    type(None): "null",
}  # fmt: skip
OBJECT = 'Write each record as {"column": value, …}.'
CONVERT = "Convert the line ends."
BLOCK = 1 << 24  # bytes processed at once
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[list(b"{[")], _STEPS[list(b"}]")] = 1, -1
_OTHERS = bytes(np.flatnonzero(_STEPS == 0).astype(np.uint8))


def read_jsonl(file: Path, names: Sequence[str] | None) -> pl.DataFrame:
    """The table in JSON lines, or its named columns.

    Raises:
        TableError: naming every line that is not a JSON object, or is nested more than `DEEPEST` levels deep.
    """
    data = source(file)[1][:].removeprefix(codecs.BOM_UTF8)
    if _depth(data) > DEEPEST:  # in one line, or over several, which are then not objects
        raise TableError(*_bad_lines(file, data))
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except problem.POLARS as error:
        found = f"{file}: expected JSON lines, found: {first_line(error)}."
        raise TableError(*(_bad_lines(file, data) or _conflicts(file, data) or [found])) from None
    if repeated := _repeated_keys(file, data):
        raise TableError(*repeated)
    columns.require_plain(frame.columns, where=str(file))
    columns.require_names(frame.columns, names or (), where=str(file))
    return dtypes.with_times(frame if names is None else frame.select(names))


def _repeated_keys(file: Path, data: bytes) -> list[str]:
    """A problem for each object with a repeated key, for which polars silently keeps one value."""
    keys = pl.Series("line", data.decode("utf-8", "replace").split("\n")).str.extract_all(KEY)
    # With escapes, a key can be written in two ways: such lines are decoded.
    twice = (keys.list.len() > keys.list.n_unique()) | keys.list.join("").str.contains("\\", literal=True)
    problems = []
    lines = data.split(b"\n") if twice.any() else []
    for place in twice.arg_true():  # nested objects may have the same keys
        found = set[str]()

        def noticed(pairs: list[tuple[str, Any]], found: set[str] = found) -> dict[str, Any]:
            names = [name for name, _ in pairs]
            found |= {name for name in names if names.count(name) > 1}
            return dict(pairs)

        json.loads(lines[place], object_pairs_hook=noticed)
        if found:
            shown = ", ".join(map(repr, sorted(found)[: problem.MOST_LISTED]))
            problems.append(f"{file}: line {place + 1}: expected each key once, found more than once: {shown}.")
    return problem.few(problems)


def _depth(data: bytes) -> int:
    """The largest nesting depth of brackets outside strings."""
    level = deepest = 0
    for block in _blocks(data):
        levels = np.cumsum(_STEPS[np.frombuffer(STRING.sub(b"", block).translate(None, _OTHERS), dtype=np.uint8)])
        if levels.size:
            level, deepest = level + int(levels[-1]), max(deepest, level + int(levels.max()))
    return deepest


def _blocks(data: bytes) -> Iterator[bytes]:
    """The text in blocks of whole lines."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + BLOCK) + 1 or len(data)
        yield data[start:end]
        start = end


def _bad_lines(file: Path, data: bytes) -> list[str]:
    problems = []
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return [bad_text(file, data, error)]
    for number, line in enumerate(data.split(b"\n"), start=1):
        if len(line.splitlines()) > 1:
            problems.append(f"{file}: line {number}: expected lines that end in LF or CRLF, found CR alone. {CONVERT}")
            continue
        if (depth := _depth(line)) > DEEPEST:
            problems.append(f"{file}: line {number}: expected at most {DEEPEST} levels of nesting, found {depth:,}.")
            continue
        try:
            value = json.loads(line, parse_constant=_refuse, parse_float=_float, parse_int=_int) if line.strip() else {}
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else error
            place = f" at character {error.pos + 1:,}" if isinstance(error, json.JSONDecodeError) else ""
            problems.append(f"{file}: line {number}: expected a JSON object, found: {reason}{place}. {_advice(error)}")
        else:
            if not isinstance(value, dict):
                problems.append(f"{file}: line {number}: expected a JSON object, found {TYPES[type(value)]}. {OBJECT}")
    return problem.few(problems)


def _conflicts(file: Path, data: bytes) -> list[str]:
    """A problem for each key with values of incompatible types, with the first line of each type."""
    first: dict[str, dict[str, int]] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        for key, kind in _kinds(json.loads(line)) if line.strip() else ():
            first.setdefault(key, {}).setdefault(kind, number)
    return problem.few(
        [
            f"{file}: key {key!r}: expected values of one type, found "
            f"{' and '.join(f'{kind} in line {number:,}' for kind, number in kinds.items())}. Write them alike."
            for key, kinds in first.items()
            if len(kinds) > 1 and "text" not in kinds  # together with text, everything becomes text
        ]
    )


def _kinds(value: Any, key: str = "") -> Iterator[tuple[str, str]]:
    """The keys of an object, including those of nested objects and lists, with the type of each value."""
    inner: list[tuple[str, Any]] = []
    if isinstance(value, dict):
        inner = [(f"{key}.{name}" if key else name, each) for name, each in value.items()]
    elif isinstance(value, list):
        inner = [(f"{key}[]", each) for each in value]
    for name, each in inner:
        if each is not None:
            yield name, TYPES[type(each)]
            yield from _kinds(each, name)


def _advice(error: Exception) -> str:
    """What to do about a line that is no JSON."""
    if not isinstance(error, json.JSONDecodeError):  # a constant or a number that JSON does not have
        return "Write missing as null, and numbers that fit into a float."
    more = error.msg == "Extra data" and error.doc[error.pos :].lstrip(", \t").startswith(("{", "["))
    return "Write each object on a line of its own." if more else "Correct the line; missing is null."


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant}, which is not JSON")


def _float(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"{text[:30]}, which is larger than any float")
    return number


def _int(text: str) -> int:
    if len(text.lstrip("-")) > LONGEST_INTEGER:
        raise ValueError(f"a whole number of {len(text.lstrip('-'))} digits")
    return int(text)
