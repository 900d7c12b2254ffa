"""Columns of text as what they spell: integers, floats, booleans, dates or times, if every value allows it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import polars as pl

GLANCE_ROWS = 500
# What stands for "no value" in a column that otherwise holds numbers, dates or booleans.
MISSING = ("", "NA", "N/A", "na", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "None")

Parser = Callable[[pl.Series], pl.Series]


def typed(frame: pl.DataFrame, *, decimal_comma: bool) -> pl.DataFrame:
    """Text columns as the first type that every value allows; NaN as missing. In formats without types."""
    floats = partial(_floats, comma=decimal_comma)
    with_nan = frame.select(pl.col(pl.Float64).is_nan().any())
    filled = (pl.col(column.name).fill_nan(None) for column in with_nan if column.item())
    return _retyped(frame, (_integers, floats, _booleans, _dates, _datetimes)).with_columns(*filled)


def with_times(frame: pl.DataFrame) -> pl.DataFrame:
    """Text that is all ISO dates or datetimes as such; in formats with types, other text is text."""
    return _retyped(frame, (_dates, _datetimes))


def without_missing(text: pl.Series) -> pl.Series:
    """Text without spaces around it, and null for the words that stand for "no value"."""
    stripped = text.str.strip_chars()
    return stripped.set(stripped.is_in(MISSING), None)


def _retyped(frame: pl.DataFrame, parsers: tuple[Parser, ...]) -> pl.DataFrame:
    texts = frame.select(pl.col(pl.String)).get_columns()
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        return frame.with_columns(*pool.map(partial(_first_that_fits, parsers=parsers), texts))


def _first_that_fits(text: pl.Series, parsers: Iterable[Parser]) -> pl.Series:
    """The column as the first parser reads it that reads every value; else as text, "" missing."""
    # A glance at the first values spares most text columns the work.
    first = without_missing(text.head(GLANCE_ROWS))
    fitting = [parse for parse in parsers if parse(first).null_count() == first.null_count()]
    if fitting:
        # Most columns hold neither spaces nor words for "missing", and need no cleaning.
        parsed = _complete(text, fitting)
        if parsed is None:
            parsed = _complete(without_missing(text), fitting)
        if parsed is not None:
            return parsed
    return text.set(text == "", None) if (text == "").any() else text


def _complete(values: pl.Series, parsers: Iterable[Parser]) -> pl.Series | None:
    """What the first parser gives that loses none of the values; None if all do, or there are none."""
    missing = values.null_count()
    for parse in parsers if missing < len(values) else ():
        if (parsed := parse(values)).null_count() == missing:
            return parsed
    return None


def _integers(values: pl.Series) -> pl.Series:
    padded = values.str.contains(r"^[+-]?0\d").any()
    return values.clear(len(values)).cast(pl.Int64) if padded else values.cast(pl.Int64, strict=False)


def _floats(values: pl.Series, *, comma: bool) -> pl.Series:
    points = values.str.replace(",", ".", literal=True) if comma else values
    parsed = points.cast(pl.Float64, strict=False).fill_nan(None)
    digits = values.str.contains(r"^[+-]?\d+$").all()
    # Digits alone that are no integers are ids: padded with zeros, or too long to keep their last digits.
    if digits and _integers(values).null_count() > values.null_count():
        return parsed.clear(len(parsed))
    return parsed


def _booleans(values: pl.Series) -> pl.Series:
    return values.str.to_lowercase().replace_strict(
        {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
    )


def _dates(values: pl.Series) -> pl.Series:
    return values.str.to_date("%Y-%m-%d", strict=False)


def _datetimes(values: pl.Series) -> pl.Series:
    iso = values.str.contains(r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$").all()
    if not iso:
        return values.clear(len(values))
    return values.str.to_datetime(strict=False, time_zone="UTC").dt.replace_time_zone(None)
