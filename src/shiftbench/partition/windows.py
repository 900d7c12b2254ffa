"""Windows of time: cuts at fractions of the sorted records, and the records in each window."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from polars.datatypes import DataType

from shiftbench.errors import PartitionError
from shiftbench.io import tables
from shiftbench.partition import counting
from shiftbench.partition.expression import moment
from shiftbench.partition.rules import Rules
from shiftbench.partition.settings import POPULATIONS, SHIFTED, Moment

Times = pl.Series  # [N] whole numbers (days, or ticks since 1970) or float64
Edges = dict[str, tuple[float, float]]  # population → (start, end) in the unit of Times; -inf and inf are open

SECONDS = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
TICKS = {"ms": 10**3, "us": 10**6, "ns": 10**9}  # in a second


def physical(times: pl.Series) -> Times:
    """A column without missing values as numbers [N] in the same order.

    Raises:
        PartitionError: if the column holds neither dates, times nor numbers.
    """
    if not (isinstance(times.dtype, (pl.Date, pl.Datetime)) or times.dtype.is_numeric()):
        row, value = _first_foreign(times)
        found = f"{value!r} in row {row}" if tables.is_label(times.dtype) else str(times.dtype.base_type())
        raise PartitionError(
            f"time column {times.name!r}: expected dates, times or numbers, found {found}. "
            "Write dates as 2021-01-31, all of them."
        )
    if times.dtype == pl.Int128:
        raise PartitionError(
            f"time column {times.name!r}: expected dates, times or numbers of at most 64 bits, found integers of 128. "
            "Convert the column."
        )
    return times.cast(pl.Float64) if times.dtype.is_decimal() else times.to_physical()


def _first_foreign(times: pl.Series) -> tuple[int, object]:
    """The first value that is not a date, and its row, counted from 1."""
    if times.dtype != pl.String:
        return 1, times[0]
    foreign = times.str.to_datetime("%Y-%m-%d", strict=False).is_null()
    row = int(foreign.to_numpy().argmax())
    return row + 1, times[row]


def shown(edge: float, dtype: DataType) -> Moment:
    """A number of `physical` in the notation of the column: ISO text for dates and times, None for open."""
    if math.isinf(edge):
        return None
    if not isinstance(dtype, (pl.Date, pl.Datetime)):
        return edge
    return str(pl.Series([int(edge)]).cast(dtype).dt.to_string("iso")[0])


def cuts(times: Times, fractions: Sequence[float]) -> list[float]:
    """The times at which N records sorted by time are cut into the fractions; K fractions give K - 1 cuts.

    A cut is a time: records before it lie on one side, records at or after it on the other, so that equal times are
    never separated. Of all such cuts it is the one closest to the fraction of records; ties take the earlier one.
    """
    ranks = np.cumsum(fractions)[:-1] * len(times)
    places = np.minimum(ranks.astype(np.intp), len(times) - 1).tolist()
    found = counting.standing_at(times, places)
    return [_nearest(times, *place, rank=rank) for place, rank in zip(found, ranks, strict=True)]


def _nearest(times: Times, value: Any, first: int, last: int, *, rank: float) -> float:
    if rank - first <= last - rank:
        return float(value) if times.dtype.is_float() else int(value)
    later: Any = times.filter(times > value).min()
    return math.inf if later is None else later


def edges(times: Times, rules: Rules, dtype: DataType) -> Edges:
    """Start and end of each population's window; a population without a window is left out.

    Raises:
        PartitionError: for edges that do not fit the column, an end before its start, or windows that overlap in part.
    """
    if rules.fractions is not None:
        in_domain, gap, *shifted = rules.fractions
        turn = -1 if rules.eval_first else 1
        first, second, third = cuts(times, (in_domain, gap, *shifted[::turn]))
        earlier, later = SHIFTED[::turn]
        return {"in_domain": (-math.inf, first), earlier: (second, third), later: (third, math.inf)}
    if rules.shifted_from is not None:
        try:
            cut = _number(rules.shifted_from, dtype, -math.inf)
        except PartitionError as error:
            raise PartitionError(*(f"shifted_from: {problem}" for problem in error.problems)) from None
        return {"in_domain": (-math.inf, cut), **dict.fromkeys(SHIFTED, (cut, math.inf))}
    problems: list[str] = []
    found: Edges = {}
    for name, (start, end) in rules.windows.items():
        try:
            found[name] = (_number(start, dtype, -math.inf), _number(end, dtype, math.inf))
        except PartitionError as error:
            problems += [f"windows.{name}: {problem}" for problem in error.problems]
    problems += _contradictions(found)
    if problems:
        raise PartitionError(*problems)
    if "in_domain" not in found:
        found["in_domain"] = (-math.inf, min(start for start, _ in found.values()))
    return found


def _number(edge: Moment, dtype: DataType, when_open: float) -> float:
    if edge is None:
        return when_open
    dated = isinstance(dtype, (pl.Date, pl.Datetime))
    if isinstance(edge, str) != dated:
        raise PartitionError(f"expected {'an ISO date' if dated else 'a number'} like the time column, found {edge!r}.")
    if isinstance(edge, str):
        found = pl.select(moment(edge, dtype)).to_series()
        if isinstance(dtype, pl.Date) and found.dt.time().item() != datetime.time():
            raise PartitionError(f"expected a date without a time, like the time column, found {edge!r}.")
        return int(found.cast(dtype).to_physical().item())
    return edge


def _contradictions(found: Edges) -> list[str]:
    problems = [
        f"windows.{name}: expected a start before the end, found an empty window. Exchange them?"
        for name, (start, end) in found.items()
        if start >= end
    ]
    if set(SHIFTED) <= set(found):
        (a, b), (c, d) = (found[name] for name in SHIFTED)
        if (a, b) != (c, d) and max(a, c) < min(b, d):
            problems.append("windows: expected those of dev_out and eval_out equal or apart, found an overlap.")
    return problems


def duration(gap: str | float, dtype: DataType) -> float:
    """A gap such as "7d" or "36h" in the unit of `physical`; a number if the column is numeric.

    Raises:
        PartitionError: if it is not a duration, or does not fit the column's type.
    """
    if not isinstance(dtype, (pl.Date, pl.Datetime)):
        if isinstance(gap, str):
            raise PartitionError(f"gap: expected a number like the time column, found {gap!r}.")
        return gap
    parts = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([wdhms])\s*", gap) if isinstance(gap, str) else None
    if parts is None:
        raise PartitionError(f"gap: expected a duration such as '7d', '36h', '90m' or '30s', found {gap!r}.")
    seconds = float(parts[1]) * SECONDS[parts[2]]
    return seconds / SECONDS["d"] if isinstance(dtype, pl.Date) else seconds * TICKS[dtype.time_unit]


def inside(times: Times, windows: Mapping[str, tuple[float, float]], gap: float) -> npt.NDArray[np.uint8]:
    """The populations that the time of each record fits, as bits 1, 2, 4 (in_domain, dev_out, eval_out), [N].

    Shifted records closer than `gap` to the in-domain records in time fit none.
    """
    spans = [windows.get(name, (-math.inf, math.inf)) for name in POPULATIONS]
    edges = sorted({edge for span in spans for edge in span if not math.isinf(edge)})
    # All times between two neighbouring edges fit the same populations.
    fitting = [
        sum(1 << place for place, (start, end) in enumerate(spans) if start <= since < end)
        for since in (-math.inf, *edges)
    ]
    table = np.array(fitting, np.uint8)
    bits = np.empty(len(times), np.uint8)
    for rows, part in counting.parts(times):
        passed = np.zeros(len(part), np.uint8)
        for edge in edges:
            passed += part >= edge
        bits[rows] = table[passed]
    own: Any = times.filter(pl.Series((bits & 1).view(np.bool_)))
    if gap and len(own):
        near = (times < own.max() + gap) & (times > own.min() - gap)
        bits[near.to_numpy()] &= np.uint8(1)
    return bits
