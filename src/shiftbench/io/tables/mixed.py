"""Refuses text columns in which most values are numbers or dates but others are not.

As categories they would be misleading: every number would be a category, and a day would have several names. Refused:

- dates: at least MOSTLY_DATES of the rows, or of the distinct values, look like dates, and not all can be parsed (see
  `dates`);
- numbers: at least MOSTLY_NUMBERS of the rows, or of the distinct values, are numbers (also with thousands separators,
  a decimal comma, a currency or percent sign, or a typeset minus), and more than FEW_CATEGORIES of them are distinct;
  unless there are more than FEW_WORDS other values, as among the codes 401, 250.83, V27, or numbers have leading zeros,
  as 007.

So 1, 2, A and sizes such as 38, 40, XL remain categories.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable

import polars as pl

from shiftbench.errors import TableError, TableWarning, counted
from shiftbench.io.tables import dates, dtypes, problem

MOSTLY_DATES = 0.5
MOSTLY_NUMBERS = 0.9
FEW_CATEGORIES = 12  # up to so many different numbers may be categories
FEW_WORDS = 10  # spellings of "missing" are few, codes are many
NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
DIGITS = r"^[+-]?\d+$"
CODE = r"^[+-]?0\d"
DECORATED = {  # further notations of numbers, with advice
    r"^[+-]?\d{1,3}([,' \u00a0\u202f]\d{3})+(\.\d+)?$|^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+$": (
        "Write numbers with a decimal point and without separators of thousands, as 1234.5."
    ),
    r"^[+-]?[€$£¥] ?[\d,.]*\d$|^[+-]?[\d,.]*\d ?[€$£¥%]$": (
        "Write numbers without signs of currency or per cent, as 1234.5."
    ),
    r"^[\u2212\u2013](\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$": "Write negative numbers with a hyphen, as -1234.5.",
}


def require_uniform(
    frame: pl.DataFrame, columns: Iterable[str], *, where: str, labels: Iterable[str] = (), advice: str = ""
) -> None:
    """Check that columns used as features, targets, times or slices are not text that mostly spells numbers or dates.

    labels: columns whose values are only tested for equality (clusters, groups): their dates must be in one notation.
    advice: further advice for the user.

    Raises:
        TableError: naming every such column, with the first rows, counted from 1, and what to do.
    """
    problems = [fault for name in dict.fromkeys(labels) if (fault := _label_fault(frame[name]))]
    problems += [fault for name in dict.fromkeys(columns) if (fault := _fault(frame[name]))]
    if problems:
        raise TableError(*(f"{where}: {fault}{advice and ' '}{advice}" for fault in dict.fromkeys(problems)))


def _label_fault(column: pl.Series) -> str:
    if column.dtype == pl.Datetime:
        _warn_of_times(column)
    if column.dtype != pl.String:
        return ""
    counts = _counts(column)
    spelt = counts["text"].filter(dates.like(counts["text"]))
    in_one_way = len(dates.shapes(spelt)) <= 1 and not dates.contradict(spelt)
    return "" if in_one_way else _dates_fault(column, counts)


def _warn_of_times(column: pl.Series) -> None:
    times, days = column.n_unique(), column.dt.date().n_unique()
    if days < times:
        text = f"column {column.name!r}: {times:,} different times on {counted(days, 'day')} separate records by time, "
        warnings.warn(TableWarning(text + "not by day. If days are meant, name a column of dates"), stacklevel=4)


def _fault(column: pl.Series) -> str:
    if column.dtype != pl.String:
        return ""
    different = column.unique()
    if len(different) <= FEW_CATEGORIES and not dates.like(different.str.strip_chars()).any():
        return ""  # a fast path: a table may have very many columns
    counts = _counts(column)
    return _dates_fault(column, counts) or _numbers_fault(column, counts)


def _counts(column: pl.Series) -> pl.DataFrame:
    """The distinct values (`text`) and their frequencies (`count`), in order of first occurrence."""
    clean = dtypes.without_missing(column).drop_nulls().alias("text")
    return clean.to_frame().group_by("text", maintain_order=True).agg(pl.len().alias("count"))


def _share(counts: pl.DataFrame, flags: pl.Series) -> float:
    """The flagged share of the rows with a value, or of the distinct values if that is larger."""
    rows = float(counts.filter(flags)["count"].sum()) / float(counts["count"].sum())
    return max(rows, float(flags.mean() or 0.0))  # type: ignore[arg-type]


def _dates_fault(column: pl.Series, counts: pl.DataFrame) -> str:
    texts = counts["text"]
    like = dates.like(texts)
    if not like.any() or _share(counts, like) < MOSTLY_DATES:
        return ""
    unread = texts.filter(dates.moments(texts).is_null())
    if unread.is_empty():  # valid dates, but stored as text in a typed format
        shown = ", ".join(map(repr, dates.shapes(texts).head(problem.MOST_LISTED)))
        return f"column {column.name!r}: expected dates, found them as text ({shown}). Store them as dates."
    other = unread.filter(~dates.like(unread))
    open_order = "" if len(other) == len(unread) else ", in some of which day and month or the century are open"
    return (
        f"column {column.name!r}: expected dates, as {_example(texts.filter(like))} is, that can be read without "
        f"guessing, found {_found(column, unread)}{open_order}. Write dates as 2021-01-31, and leave missing ones "
        "empty."
    )


def _numbers_fault(column: pl.Series, counts: pl.DataFrame) -> str:
    texts = counts["text"]
    plain = texts.str.contains(NUMBER)
    decorated = {advice: texts.str.contains(pattern) & ~plain for pattern, advice in DECORATED.items()}
    numbers = plain
    for flags in decorated.values():
        numbers = numbers | flags
    others = texts.filter(~numbers)
    few = int(numbers.sum()) <= FEW_CATEGORIES
    codes = bool(texts.str.contains(CODE).any()) or len(others) > FEW_WORDS
    if few or codes or _share(counts, numbers) < MOSTLY_NUMBERS:
        return ""
    if plain.all():
        missing = column.is_not_null() & dtypes.without_missing(column).is_null()
        words = f"; no numbers in {problem.rows(missing)}" if missing.any() else ""
        if not words and texts.str.contains(DIGITS).all():
            return ""  # whole numbers stored as text in a typed format are codes
        return (
            f"column {column.name!r}: expected numbers, found them as text ({_example(texts)}{words}). "
            "Store them as numbers, missing ones as null."
        )
    advice = " ".join(text for text, flags in decorated.items() if flags.any())
    advice += (" " if advice else "") + "Leave missing numbers empty." if len(others) else ""
    return (
        f"column {column.name!r}: expected numbers, as {_example(texts.filter(numbers))} is, found "
        f"{_found(column, texts.filter(~plain))}. {advice}"
    )


def _example(texts: pl.Series) -> str:
    return repr(texts[0])


def _found(column: pl.Series, odd: pl.Series) -> str:
    """The first invalid value, the number of rows with one, and the first of these rows."""
    flags = column.str.strip_chars().is_in(odd.implode()).fill_null(value=False)
    return f"{odd[0]!r} ({int(flags.sum()):,} such, {problem.rows(flags)})"
