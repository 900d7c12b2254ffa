"""Parses dates in common notations, if they are unambiguous; the order of day and month is never guessed.

Supported: 2021-01-31 (also with / or . and without leading zeros), Jan 31, 2021, 31 January 2021, 20210131 (if the
column holds other dates as well), and 31/01/2021 or 01/31/2021 (also with . or -), each with an optional time of day.
In the last two, days above 12 reveal the order, which is used for the whole column if at least a tenth of its distinct
dates reveal it and none contradicts it. Years have four digits.
"""

from __future__ import annotations

import functools
import operator
import re
import warnings

import polars as pl

from shiftbench.errors import TableWarning
from shiftbench.io.tables import problem

SHOWN_ORDER = 0.1  # share of the different dates that must reveal the order of day and month
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAME = (
    r"(?P<name>(?i:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?))"
)
_TIME = (
    r"(?:(?:T|,? +)(?P<hour>\d{1,2}):(?P<minute>\d{2})(?::(?P<second>\d{2})(?P<fraction>\.\d{1,9})?)?"
    r"(?: ?(?P<half>[AaPp])\.?[Mm]\.?)?(?P<zone>Z|[+-]\d{2}:?\d{2})?)?$"
)
COMPACT = r"^(?P<year>[12]\d{3})(?P<month>[01]\d)(?P<day>[0-3]\d)" + _TIME  # by itself just a number
CERTAIN = (  # unambiguous without other values
    r"^(?P<year>\d{4})[-/.](?P<month>\d{1,2})[-/.](?P<day>\d{1,2})" + _TIME,
    r"^" + _NAME + r"\.? *(?P<day>\d{1,2})(?:st|nd|rd|th)?(?:, *| +)(?P<year>\d{4})" + _TIME,
    r"^(?P<day>\d{1,2})(?:st|nd|rd|th)?[-. ]*" + _NAME + r"[-., ]*(?P<year>\d{4})" + _TIME,
)
OFFSET = r":\d{2}(?:\.\d+)?(?: ?[AaPp]\.?[Mm]\.?)?(?:Z|[+-]\d{2}:?\d{2})$"  # from UTC, after a time of day
FEW = 50
DAY_S = 86_400
# From 1970: the years 1 to 9999 but for a day at each end, which another time zone may need.
FIRST_S, LAST_S = -719_161 * DAY_S, 2_932_895 * DAY_S
LONGEST_S = 999_999_999 * DAY_S
UNITS = {"ms": 1e3, "us": 1e6, "ns": 1e9}  # of a second
DAY_FIRST, MONTH_FIRST = "the day before the month", "the month before the day"
SIGNS = {"/": "/", ".": r"\.", "-": "-"}
SHORT_YEAR = r"^\d{1,2}([/-])\d{1,2}([/-])\d{2}" + _TIME  # the century, and often the order, is ambiguous


def is_like(text: str) -> bool:
    """Whether one text looks like a date; faster than `like` for a single value."""
    return any(re.fullmatch(pattern, text) for pattern in (*CERTAIN, *map(_numeric, SIGNS), SHORT_YEAR, COMPACT))


def like(texts: pl.Series) -> pl.Series:
    """Whether each text [N] looks like a date, valid or not; False for missing values."""
    patterns = (*CERTAIN, *map(_numeric, SIGNS), SHORT_YEAR)
    if len(texts) <= FEW:  # a table may have very many columns of few values
        shown = [text is not None and any(re.fullmatch(pattern, text) for pattern in patterns) for text in texts]
        shown = [
            now or (any(shown) and bool(re.fullmatch(COMPACT, text or "")))
            for now, text in zip(shown, texts, strict=True)
        ]
        return pl.Series(shown, dtype=pl.Boolean)
    found = functools.reduce(operator.or_, (texts.str.contains(pattern) for pattern in patterns))
    if found.any():
        found |= texts.str.contains(COMPACT)
    return found.fill_null(value=False)


def moments(texts: pl.Series) -> pl.Series:
    """The texts [N] of one column as times in UTC; null where a text is not a date or is ambiguous."""
    different = texts.drop_nulls().unique(maintain_order=True)
    read = pl.Series([None] * len(different), dtype=pl.Datetime("us"))
    for pattern in CERTAIN:
        read = read.fill_null(_read(different, pattern))
    for sign in SIGNS:
        read = read.fill_null(_moment(_ordered(different, sign)))
    if read.null_count() < len(read):
        read = read.fill_null(_read(different, COMPACT))
    known = pl.DataFrame({"text": different, "moment": read})
    return texts.to_frame("text").join(known, on="text", how="left", maintain_order="left")["moment"]


def dates(texts: pl.Series) -> pl.Series:
    """The texts [N] of one column as dates, or as datetimes if any has a time of day; null where invalid."""
    found = moments(texts)
    whole = (found.dt.truncate("1d") == found).all()
    return (found.cast(pl.Date) if whole else found).rename(texts.name)


def without_offset(texts: pl.Series) -> pl.Series:
    """A mask [N] of times without an offset from UTC in a column where others have one; else all False."""
    has_offset = texts.str.contains(OFFSET)
    return ~has_offset.fill_null(value=True) if has_offset.any() else pl.repeat(False, len(texts), eager=True)


def contradict(texts: pl.Series) -> bool:
    """Whether, with the same separator, some texts must have the day first and others the month."""
    return any(min(_evidence(texts, sign)) > 0 for sign in SIGNS)


def shapes(texts: pl.Series) -> pl.Series:
    """The notations of the dates, one example of each."""
    shape = texts.str.replace_all(r"\d", "0").str.replace_all(r"[A-Za-z]+", "a")
    return texts.filter(shape.is_first_distinct())


def _numeric(sign: str) -> str:
    return rf"^(?P<left>\d{{1,2}}){SIGNS[sign]}(?P<right>\d{{1,2}}){SIGNS[sign]}(?P<year>\d{{4}})" + _TIME


def _read(texts: pl.Series, pattern: str) -> pl.Series:
    groups = texts.str.extract_groups(pattern).struct.unnest()
    if "name" in groups.columns:
        short = pl.col("name").str.to_lowercase().str.slice(0, 3)
        number = {name: str(place) for place, name in enumerate(MONTHS, start=1)}
        groups = groups.with_columns(month=short.replace_strict(number, default=None, return_dtype=pl.String))
    return _moment(groups)


def _ordered(texts: pl.Series, sign: str) -> pl.DataFrame:
    """The parts of dates made of three numbers; day and month are missing if their order is ambiguous."""
    groups = texts.str.extract_groups(_numeric(sign)).struct.unnest()
    shown = _shown_order(texts, sign)
    day, month = ("left", "right") if shown == DAY_FIRST else ("right", "left")
    certain = (pl.col("left").cast(pl.Int64) == pl.col("right").cast(pl.Int64)) | bool(shown)
    return groups.with_columns(
        pl.when(certain).then(pl.col(day)).alias("day"), pl.when(certain).then(pl.col(month)).alias("month")
    )


def _evidence(texts: pl.Series, sign: str) -> tuple[int, int]:
    """The number of dates made of three numbers that must have the day first, and that must have the month first."""
    groups = texts.str.extract_groups(_numeric(sign)).struct.unnest()
    left, right = (groups[name].cast(pl.Int64) for name in ("left", "right"))
    return int(((left > 12) & (right <= 12)).sum()), int(((right > 12) & (left <= 12)).sum())


def _shown_order(texts: pl.Series, sign: str) -> str:
    """DAY_FIRST or MONTH_FIRST if enough of the different texts reveal it and none contradicts, else ""."""
    day_first, month_first = _evidence(texts, sign)
    dates_of_sign = int(texts.str.contains(_numeric(sign)).sum())
    if bool(day_first) == bool(month_first) or day_first + month_first < SHOWN_ORDER * dates_of_sign:
        return ""
    return DAY_FIRST if day_first else MONTH_FIRST


def order(different: pl.Series) -> str:
    """A clause on the order of day and month that a column's distinct dates reveal; "" if there is none."""
    found = {sign: _shown_order(different, sign) for sign in SIGNS}
    return "".join(f", {shown} where {sign!r} stands between them" for sign, shown in found.items() if shown)


def _moment(groups: pl.DataFrame) -> pl.Series:
    """Datetimes in UTC from the parts of dates; null where a part is missing or the day or time does not exist."""
    hour = pl.col("hour").cast(pl.Int64)
    late = pl.col("half").str.to_lowercase() == "p"
    clock = pl.when(pl.col("half").is_null()).then(hour).when(hour.is_between(1, 12)).then(hour % 12 + 12 * late)
    text = pl.format(
        "{}-{}-{}T{}:{}:{}{}{}",
        pl.col("year"),
        pl.col("month").str.zfill(2),
        pl.col("day").str.zfill(2),
        pl.when(pl.col("hour").is_null()).then(pl.lit("00")).otherwise(clock.cast(pl.String).str.zfill(2)),
        pl.col("minute").fill_null("00"),
        pl.col("second").fill_null("00"),
        pl.col("fraction").fill_null(".0"),
        pl.col("zone").str.replace("Z", "+00:00").str.replace(r"(\d\d)(\d\d)$", "$1:$2").fill_null("+00:00"),
    )
    read = groups.select(text.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", strict=False, time_unit="us"))
    return read.to_series().dt.convert_time_zone("UTC").dt.replace_time_zone(None)


def beyond(values: pl.Series) -> pl.Series:
    """Whether each value [N] is a date, time or duration that Python has none of; false for missing ones.

    Dates of the years 1 to 9999, times of one day and durations of up to 999,999,999 days can be written and shown;
    files may hold others, most of them by mistake.
    """
    unit = UNITS.get(getattr(values.dtype, "time_unit", None) or "ns", 1e9)
    if isinstance(values.dtype, pl.Datetime):
        first, last = FIRST_S * unit, LAST_S * unit
    elif values.dtype == pl.Date:
        first, last = FIRST_S / DAY_S, LAST_S / DAY_S
    elif isinstance(values.dtype, pl.Duration):
        first, last = -LONGEST_S * unit, LONGEST_S * unit
    elif values.dtype == pl.Time:
        first, last = 0.0, DAY_S * unit - 1
    else:
        return pl.repeat(False, len(values), eager=True)
    return ~values.to_physical().cast(pl.Float64).is_between(first, last).fill_null(True)


def bounded(frame: pl.DataFrame, *, where: str) -> pl.DataFrame:
    """The table with those that are `beyond` as missing values.

    Warns:
        TableWarning: naming each such column and its rows.
    """
    found = []
    for column in frame.get_columns():
        if column.dtype.is_temporal() and (far := beyond(column)).any():
            warnings.warn(
                TableWarning(
                    f"{where}: expected dates of the years 1 to 9999 in column {column.name!r}, found others in "
                    f"{problem.rows(far)}. They are treated as missing."
                ),
                stacklevel=2,
            )
            found.append(column.set(far, None))
    return frame.with_columns(found)
