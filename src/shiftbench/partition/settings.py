"""Single settings of the rules, each validated and normalised; messages begin with the setting's name."""

from __future__ import annotations

import datetime
import functools
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sized
from itertools import islice
from typing import Any

from shiftbench import argument
from shiftbench.errors import PartitionError, UnknownNameError, quoted

PARTITIONS = ("train", "dev_in", "dev_out", "eval_in", "eval_out")
IN_DOMAIN = ("train", "dev_in", "eval_in")
SHIFTED = ("dev_out", "eval_out")
SPLITS = {"dev": ("dev_in", "dev_out"), "eval": ("eval_in", "eval_out")}
"""Split → its partitions, the shifted one last."""
POPULATIONS = ("in_domain", *SHIFTED)  # the populations that rules define; in_domain is then sampled

MOST_GROUPS = 1_000_000

Moment = str | float | None  # an ISO date or time, a number if the time column is numeric, or None for open
Window = tuple[Moment, Moment]
Range = tuple[float | None, float | None]


def text(name: str, value: Any) -> str | None:
    """The name of a column, or None."""
    if value is None or (isinstance(value, str) and value):
        return value
    raise PartitionError(f"{name}: expected the name of a column, found {value!r}.")


def number(name: str, value: Any, low: float = 0.0, high: float = math.inf) -> float:
    """A number of `low` … `high`; NaN is refused."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise PartitionError(f"{name}: expected a number of {low:g} … {high:g}, found {quoted(value)}.")
    return value


def whole(name: str, value: Any, low: int = 0, high: int = 2**64 - 1) -> int:
    """A whole number of `low` … `high`."""
    return argument.whole(name, value, low, high, wanted=f"a whole number of {low:,} … {high:,}", error=PartitionError)


def boolean(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool):
        raise PartitionError(f"{name}: expected true or false, found {value!r}.")
    return value


def parts(name: str, value: Any, count: int) -> tuple[float, ...]:
    """Fractions of one whole, also as percents or as text with slashes."""
    try:
        numbers = [float(part) for part in islice(value.split("/") if isinstance(value, str) else value, count + 1)]
        total = math.fsum(numbers) if all(0 <= part < 1e300 for part in numbers) else math.nan
    except (TypeError, ValueError, OverflowError):
        raise PartitionError(f"{name}: expected {count} numbers, found {value!r}.") from None
    if math.isclose(total, 100, rel_tol=1e-6):
        numbers, total = [part / 100 for part in numbers], total / 100
    if len(numbers) != count or not math.isclose(total, 1, rel_tol=1e-6):
        found = f"{value!r}" + (f" (sum {total:g})" if math.isfinite(total) else "")
        raise PartitionError(f"{name}: expected {count} numbers >= 0 that sum to 1 (or 100), found {found}.")
    return tuple(numbers)


def fractions(name: str, value: Any) -> tuple[float, ...] | None:
    """Four fractions of the records sorted by time, or None."""
    return None if value is None else parts(name, value, 4)


def shares(name: str, value: Any) -> dict[str, float]:
    """The share of each in-domain partition; omitted ones have 0."""
    if isinstance(value, Mapping):
        entries = mapping(name, value, IN_DOMAIN)
        value = [entries.get(partition, 0.0) for partition in IN_DOMAIN]
    return dict(zip(IN_DOMAIN, parts(name, value, 3), strict=True))


def mapping(name: str, value: Any, known: Iterable[str]) -> dict[str, Any]:
    """Partition names with values; all names must be `known`."""
    if not isinstance(value, Mapping):
        raise PartitionError(f"{name}: expected partition names with values, found {value!r}.")
    problems = [str(UnknownNameError(f"partition in {name}", key, known)) for key in value if key not in known]
    if problems:
        raise PartitionError(*problems)
    return dict(value)


def counts(name: str, value: Any) -> dict[str, int]:
    """Partitions with a number of records each."""
    entries = mapping(name, value, PARTITIONS)
    return {key: whole(f"{name}.{key}", count, low=1) for key, count in entries.items()}


def pair(name: str, value: Any) -> tuple[Any, Any]:
    """Two edges; empty text is open, like None."""
    edges = tuple(value) if isinstance(value, (list, tuple)) else ()
    if len(edges) != 2:
        raise PartitionError(f"{name}: expected a start and an end, found {value!r}.")
    start, end = edges
    return None if _is(start, "", -math.inf) else start, None if _is(end, "", math.inf) else end


def _is(edge: Any, *values: str | float) -> bool:
    return isinstance(edge, (str, int, float)) and edge in values


def moment(name: str, value: Any) -> Moment:
    """The edge of a window; a date of TOML or Python becomes ISO text."""
    if isinstance(value, (datetime.date, datetime.datetime)):
        return value.isoformat()
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max:
        return value
    raise PartitionError(f"{name}: expected an ISO date, a number or '' for open, found {value!r}.")


def windows(name: str, value: Any) -> dict[str, Window]:
    """Populations with the start and end of their windows."""
    entries = mapping(name, value, POPULATIONS)
    return {key: _window(f"{name}.{key}", edges) for key, edges in entries.items()}


def _window(name: str, value: Any) -> Window:
    start, end = (moment(name, edge) for edge in pair(name, value))
    return start, end


def gap(name: str, value: Any) -> str | float | None:
    """A duration as text or a number; `windows.duration` reads it."""
    return value if value is None or isinstance(value, str) else number(name, value, high=sys.float_info.max)


def values(name: str, value: Any) -> tuple[str, ...]:
    """Values of the group column, as text; a single value need not be a list."""
    if isinstance(value, (str, bool, int, float)):
        value = [value]
    try:
        found = () if isinstance(value, Mapping) else tuple(islice(value, MOST_GROUPS + 1))
    except TypeError:
        found = ()
    if isinstance(value, Mapping) or len(found) > MOST_GROUPS or not (found or isinstance(value, Sized)):
        raise PartitionError(f"{name}: expected values of the group column, found {quoted(value)}.")
    return tuple(str(entry).lower() if isinstance(entry, bool) else str(entry) for entry in found)


def ranges(name: str, value: Any) -> dict[str, dict[str, Range]]:
    """Partitions with columns and their low and high values."""
    found: dict[str, dict[str, Range]] = {}
    for key, columns in mapping(name, value, (*PARTITIONS, "in_domain", "shifted")).items():
        if not isinstance(columns, Mapping):
            raise PartitionError(f"{name}.{key}: expected columns with a low and a high value, found {columns!r}.")
        found[key] = {column: _range(f"{name}.{key}.{column}", edges) for column, edges in columns.items()}
    return found


def _range(name: str, value: Any) -> Range:
    most = sys.float_info.max
    low, high = (None if edge is None else number(name, edge, -most, most) for edge in pair(name, value))
    return low, high


def where(name: str, value: Any) -> dict[str, str]:
    """Partitions with conditions."""
    entries = mapping(name, value, (*PARTITIONS, "in_domain", "shifted"))
    if wrong := [f"{name}.{key}: expected a condition, found {text!r}." for key, text in entries.items()
                 if not isinstance(text, str) or not text.strip()]:  # fmt: skip
        raise PartitionError(*wrong)
    return entries


FORMS: dict[str, Callable[[str, Any], Any]] = {
    "id": text, "seed": whole, "time": text, "fractions": fractions, "eval_first": boolean, "windows": windows,
    "shifted_from": moment,
    "gap": gap, "group": text, "in_domain": values, "shifted": values, "shifted_dev": values, "shifted_eval": values,
    "ranges": ranges, "where": where, "shares": shares, "exact": boolean, "sizes": counts, "at_most": counts,
    "by": text, "dev_share": functools.partial(number, high=1.0), "apart": text,
}  # fmt: skip


def value_problems(rules: Any) -> list[str]:
    """Problems of the values of single rules; `Rules` checks whether they agree with each other."""
    problems: list[str] = []
    for name, value in rules.items() if isinstance(rules, Mapping) else ():
        try:
            FORMS[name](name, value) if name in FORMS else None
        except PartitionError as error:
            problems += error.problems
    return problems
