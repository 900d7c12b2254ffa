"""Converts text columns to integers, floats, booleans, dates or times, if every value allows it.

Words that stand for "no value" do not count as values. A `TableWarning` reports how many values were read as missing,
and dates in other notations than 2021-01-31. Columns in which only most values are numbers or dates stay text here,
because they may never be used; `mixed` refuses them if they are.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import polars as pl

from shiftbench.errors import TableWarning
from shiftbench.io.tables import dates, problem, stacks

GLANCE_ROWS = 500
WIDE = 200  # beyond so many columns, short ones are processed together
# Words for "no value" in a column that otherwise holds numbers, dates or booleans: those that R, pandas, SQL, Excel,
# SAS and the UCI repository write. A lone "-" is not among them, since spreadsheets use it for zero.
MISSING = (
    "", "NA", "N/A", "na", "n/a", "#N/A", "#NA", "<NA>", "nan", "NaN", "NAN", "NaT", "null", "NULL", "Null", "None",
    "NONE", "none", "?", ".",
)  # fmt: skip

ISO = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$"  # dates and times
DAY = r"^\d{4}-\d{1,2}-\d{1,2}$"  # polars reads the day in 31-12-19 as the year 31

Parser = Callable[[pl.Series], pl.Series]


def typed(frame: pl.DataFrame, *, decimal_comma: bool) -> pl.DataFrame:
    """For formats without types: text columns as the first type that every value allows; NaN as missing."""
    floats = partial(_floats, comma=decimal_comma)
    with_nan = frame.select(pl.col(pl.Float64).is_nan().any())
    filled = (pl.col(column.name).fill_nan(None) for column in with_nan if column.item())
    parsers = (_integers, floats, _booleans, _dates, _datetimes)
    return _retyped(frame, parsers, comma=decimal_comma).with_columns(*filled)


def with_times(frame: pl.DataFrame) -> pl.DataFrame:
    """For formats with types: text and categories that are all dates or times are converted, except ids."""
    coded = [name for name, dtype in frame.schema.items() if isinstance(dtype, (pl.Categorical, pl.Enum))]
    read = _retyped(frame.with_columns(pl.col(coded).cast(pl.String)), (_dates, _datetimes))
    kept = (name for name in frame.columns if name == "id" or (name in coded and read.schema[name] == pl.String))
    return read.with_columns(frame.select(kept))


def without_missing(text: pl.Series) -> pl.Series:
    """Text without spaces around it, and null for the words that stand for "no value"."""
    stripped = text.str.strip_chars()
    return stripped.set(stripped.is_in(MISSING), None)


@dataclass(frozen=True)
class _Read:
    """A column, the counts of words read as missing, and notes on its dates and times."""

    column: pl.Series
    words: dict[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def _retyped(frame: pl.DataFrame, parsers: tuple[Parser, ...], *, comma: bool = False) -> pl.DataFrame:
    texts = frame.select(pl.col(pl.String)).get_columns()
    if len(texts) > WIDE and 0 < frame.height <= GLANCE_ROWS:
        read = _alike_at_once(texts, parsers, comma=comma)
    else:
        with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
            read = list(pool.map(partial(_first_that_fits, parsers=parsers), texts))
    for note in (_words_note(read), *(note for each in read for note in each.notes)):
        if note:
            warnings.warn(TableWarning(note), stacklevel=4)
    new = {each.column.name: each.column for each in read}
    return pl.DataFrame([new.get(column.name, column) for column in frame.get_columns()])


def _alike_at_once(texts: list[pl.Series], parsers: tuple[Parser, ...], *, comma: bool) -> list[_Read]:
    """`_first_that_fits` for many short columns at once, since it takes about a millisecond for each."""
    read: dict[int, _Read] = {}
    for places in stacks.alike(texts, _tests(comma=comma)):
        group = [texts[place] for place in places]
        clean = without_missing(stacks.stacked(group))
        # The interpretation of dates depends on the whole column.
        alone = clean.null_count() < len(clean) and _dated(clean).all()
        each = [_first_that_fits(text, parsers) for text in group] if alone else _as_one(group, parsers)
        read |= dict(zip(places.tolist(), each, strict=True))
    return [read[place] for place in range(len(texts))]


def _tests(*, comma: bool) -> list[stacks.Test]:
    """Tests that determine the type of a column, on its values with and without words for "missing"."""
    spelt: list[stacks.Test] = [
        lambda text, parse=parse: parse(text).is_not_null()  # type: ignore[misc]
        for parse in (_integers, partial(_decimals, comma=comma), _booleans, _dates)
    ]
    tests: list[stacks.Test] = [*spelt, _digits, _dated, lambda text: text.is_null()]
    return [
        *(lambda text, test=test: test(text) | text.is_null() for test in tests),
        *(lambda text, test=test: _of_known(test, text) for test in tests),
    ]


def _of_known(test: stacks.Test, text: pl.Series) -> pl.Series:
    clean = without_missing(text)
    return test(clean) | clean.is_null()


def _dated(text: pl.Series) -> pl.Series:
    """Whether values may be dates or times."""
    return text.is_null() | text.str.contains(ISO) | dates.like(text)


def _as_one(texts: list[pl.Series], parsers: tuple[Parser, ...]) -> list[_Read]:
    """Convert columns that pass the same tests as one stack."""
    names, stack = [text.name for text in texts], stacks.stacked(texts)
    whole = _first_that_fits(stack, parsers)
    columns = stacks.unstacked(whole.column, names)
    if not whole.words:
        return [_Read(column) for column in columns]
    words: list[dict[str, int]] = [{} for _ in names]
    found = pl.DataFrame({"word": stack.str.strip_chars(), "place": np.arange(len(stack)) // len(columns[0])})
    found = found.filter(pl.col("word").is_in(MISSING) & (pl.col("word") != ""))
    for word, place, count in found.group_by("word", "place").len(name="count").sort("count", "word").iter_rows():
        words[place][word] = count
    return [_Read(column, own) for column, own in zip(columns, words, strict=True)]


def _first_that_fits(text: pl.Series, parsers: Iterable[Parser]) -> _Read:
    """The column by the first parser that accepts every value, else as text, with "" as missing."""
    # Testing the first values spares most text columns the work.
    first = without_missing(text.head(GLANCE_ROWS))
    fitting = [parse for parse in parsers if parse(first).null_count() == first.null_count()]
    if fitting:
        # Most columns contain neither spaces nor words for "missing", and need no cleaning.
        parsed = _complete(text, fitting)
        if parsed is not None:
            return _Read(parsed, notes=_offsets_notes(text, parsed))
        clean = without_missing(text)
        parsed = _complete(clean, fitting)
        if parsed is not None:
            return _Read(parsed, _words(text), _offsets_notes(clean, parsed))
    if text.name != "id" and _all_like_dates(first):  # ids are names; ISO dates are the same as text
        clean = without_missing(text)
        read = dates.dates(clean)
        if read.null_count() == clean.null_count():
            return _Read(read, _words(text), (_dates_note(clean, read), *_offsets_notes(clean, read)))
    return _Read(text.set(text == "", None) if (text == "").any() else text)


def _all_like_dates(clean: pl.Series) -> bool:
    known = clean.drop_nulls()
    return len(known) > 0 and dates.is_like(known[0]) and bool(dates.like(known).all())


def _words(text: pl.Series) -> dict[str, int]:
    """The counts of the words of a column that were read as missing, without empty cells."""
    stripped = text.str.strip_chars()
    words = stripped.filter(stripped.is_in(MISSING) & (stripped != ""))
    return dict(words.value_counts(sort=True, name="count").iter_rows())


def _words_note(read: list[_Read]) -> str:
    columns: dict[str, list[str]] = {}
    counts: Counter[str] = Counter()
    for each in read:
        for word, count in each.words.items():
            columns.setdefault(word, []).append(each.column.name)
            counts[word] += count
    found = [f"{word!r} ({count:,} in {_some(columns[word])})" for word, count in counts.most_common()]
    return f"taken as missing: {', '.join(found)}" if found else ""


def _some(names: list[str]) -> str:
    rest = len(names) - problem.MOST_LISTED
    return ", ".join(names[: problem.MOST_LISTED]) + (f" and {rest:,} other columns" if rest > 0 else "")


def _dates_note(clean: pl.Series, parsed: pl.Series) -> str:
    different = clean.drop_nulls().unique(maintain_order=True)
    ways = dates.shapes(different).head(problem.MOST_LISTED)
    shown = ", ".join(map(repr, ways))
    order = dates.order(different)
    timed = different.str.contains(":", literal=True)
    bare = (
        f"; {int((~timed).sum()):,} of them without a time of day as midnight"
        if timed.any() and not timed.all()
        else ""
    )
    kind = "times" if parsed.dtype == pl.Datetime else "dates"
    return (
        f"column {clean.name!r}: {len(different):,} different {kind} were read from text such as {shown}{order}{bare}"
    )


def _offsets_notes(clean: pl.Series, parsed: pl.Series) -> tuple[str, ...]:
    """A note if some times of a column have no offset from UTC and others have one."""
    if not parsed.dtype.is_temporal() or not (bare := dates.without_offset(clean)).any():
        return ()
    known = len(clean) - clean.null_count()
    return (
        f"column {clean.name!r}: {int(bare.sum()):,} of {known:,} times have no offset from UTC, as the others have, "
        f"and were read as UTC ({problem.rows(bare)})",
    )


def _complete(values: pl.Series, parsers: Iterable[Parser]) -> pl.Series | None:
    """The result of the first parser that loses no value; None without such a parser, or without values."""
    missing = values.null_count()
    for parse in parsers if missing < len(values) else ():
        if (parsed := parse(values)).null_count() == missing:
            return parsed
    return None


def _integers(values: pl.Series) -> pl.Series:
    padded = values.str.contains(r"^[+-]?0\d")
    return (values.set(padded, None) if padded.any() else values).cast(pl.Int64, strict=False)


def _floats(values: pl.Series, *, comma: bool) -> pl.Series:
    parsed = _decimals(values, comma=comma)
    # Digits that are not integers are ids: padded with zeros, or too long to keep their last digits.
    if _digits(values).all() and _integers(values).null_count() > values.null_count():
        return parsed.clear(len(parsed))
    return parsed


def _decimals(values: pl.Series, *, comma: bool) -> pl.Series:
    points = values.str.replace(",", ".", literal=True) if comma else values
    return points.cast(pl.Float64, strict=False).fill_nan(None)


def _digits(values: pl.Series) -> pl.Series:
    return values.str.contains(r"^[+-]?\d+$")


def _booleans(values: pl.Series) -> pl.Series:
    return values.str.to_lowercase().replace_strict(
        {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
    )


def _dates(values: pl.Series) -> pl.Series:
    return values.set(~values.str.contains(DAY), None).str.to_date("%Y-%m-%d", strict=False)


def _datetimes(values: pl.Series) -> pl.Series:
    if not values.str.contains(ISO).all():
        return values.clear(len(values))
    return values.str.to_datetime(strict=False, time_zone="UTC").dt.replace_time_zone(None)
