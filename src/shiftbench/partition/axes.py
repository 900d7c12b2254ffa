"""For each axis of the rules (time, group, condition), the populations that each record fits, as bits.

Bit 1 is in_domain, 2 dev_out, 4 eval_out. A record belongs to a population if all axes agree: bitwise and.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.errors import PartitionError, ShiftbenchError, UnknownNameError
from shiftbench.io import tables
from shiftbench.partition import windows
from shiftbench.partition.expression import open_condition
from shiftbench.partition.rules import Rules
from shiftbench.partition.settings import POPULATIONS, SHIFTED, Range

Bits = npt.NDArray[np.uint8]

MOST_COMPARED = 16
SEEN_FIRST = 2**16

BIT = {name: np.uint8(1 << place) for place, name in enumerate(POPULATIONS)}


@dataclass(frozen=True)
class Axis:
    """One axis: the populations each record fits [N], and the shifted partitions with a rule on it."""

    name: str
    bits: Bits
    ruled: frozenset[str]


def axes(frame: pl.DataFrame, rules: Rules) -> tuple[list[Axis], windows.Edges]:
    """The axes that have rules, in the order time, group, condition, and the windows of time.

    Raises:
        PartitionError: listing the problems of all axes.
    """
    found: list[Axis] = []
    edges: windows.Edges = {}
    problems: list[str] = []
    for make in (_group, _condition):
        try:
            found += make(frame, rules)
        except ShiftbenchError as error:
            problems += error.problems
    try:
        timed, edges = _time(frame, rules)
        found = timed + found
    except PartitionError as error:
        problems += error.problems
    if problems:
        raise PartitionError(*problems)
    return found, edges


def _time(frame: pl.DataFrame, rules: Rules) -> tuple[list[Axis], windows.Edges]:
    if rules.time is None:
        return [], {}
    dtype = frame.schema[rules.time]
    times = windows.physical(frame[rules.time])
    edges = windows.edges(times, rules, dtype)
    gap = 0.0 if rules.gap is None else windows.duration(rules.gap, dtype)
    bits = windows.inside(times, edges, gap)
    return [Axis(f"time ({rules.time})", bits, frozenset(edges) & frozenset(SHIFTED))], edges


def _group(frame: pl.DataFrame, rules: Rules) -> list[Axis]:
    if rules.group is None:
        return []
    tables.require_labels(frame, [rules.group])
    values = frame[rules.group].cast(pl.String)
    named = rules.in_domain, rules.shifted_dev or rules.shifted, rules.shifted_eval or rules.shifted
    in_domain, dev, evaluation = (frozenset[str | None](own) for own in named)
    listed = sorted({value for own in named for value in own})
    _check_known(values, listed)
    ruled = frozenset(name for name, own in zip(SHIFTED, (dev, evaluation), strict=True) if own)
    known: frozenset[str | None] = frozenset((None, *listed))  # None stands for all values not listed in a rule
    if not ruled:
        ruled, dev, evaluation = frozenset(SHIFTED), known - in_domain, known - in_domain
    accepted = (
        in_domain or known - dev - evaluation,
        dev if "dev_out" in ruled else known,
        evaluation if "eval_out" in ruled else known,
    )
    bits = {value: sum(1 << place for place, own in enumerate(accepted) if value in own) for value in (None, *listed)}
    return [Axis(f"group ({rules.group})", _looked_up(values, bits), ruled)]


def _check_known(values: pl.Series, listed: Sequence[str]) -> None:
    seen = set(values.head(SEEN_FIRST).unique())
    if unknown := [value for value in listed if value not in seen and not (values == value).any()]:
        known = values.unique()
        raise PartitionError(*(str(UnknownNameError(f"value of {values.name}", value, known)) for value in unknown))


def _looked_up(values: pl.Series, bits: Mapping[str | None, int]) -> Bits:
    """The bits of each of N values; an unlisted value has those of None."""
    others, listed = bits[None], {value: own for value, own in bits.items() if value is not None}
    if len(listed) > MOST_COMPARED:
        return values.replace_strict(listed, default=others, return_dtype=pl.UInt8).to_numpy()
    # Comparing with a few values one by one is faster than looking up each value.
    chosen = pl.lit(others, pl.UInt8)
    for value, own in listed.items():
        chosen = pl.when(pl.col(values.name) == value).then(pl.lit(own, pl.UInt8)).otherwise(chosen)
    return values.to_frame().select(chosen).to_series().to_numpy()


def _condition(frame: pl.DataFrame, rules: Rules) -> list[Axis]:
    fits = conditions(frame, {name: (name, "shifted") if name in SHIFTED else (name,) for name in POPULATIONS}, rules)
    if not fits:
        return []
    ruled = frozenset(fits) & frozenset(SHIFTED)
    if "in_domain" not in fits:
        # A record whose condition is null fits neither side: in-domain records must be known not to be shifted.
        fits["in_domain"] = pl.all_horizontal([~fits[name] for name in sorted(ruled)])
    found = evaluated(frame, fits)
    bits = np.zeros(frame.height, np.uint8)
    for name, bit in BIT.items():
        bits |= found[name].view(np.uint8) * bit if name in found else bit
    return [Axis("condition", bits, ruled)]


def conditions(frame: pl.DataFrame, keys: Mapping[str, Sequence[str]], rules: Rules) -> dict[str, pl.Expr]:
    """For each name, its `where` and `ranges` under the given keys as one condition; names without any are left out.

    Raises:
        PartitionError: listing the problems of all of them.
    """
    found: dict[str, pl.Expr] = {}
    problems: dict[str, None] = {}  # each once, although dev_out and eval_out share conditions
    for name, own in keys.items():
        parts = []
        for rule, text in _texts(rules, own):
            try:
                parts.append(open_condition(text, frame.schema))
            except ShiftbenchError as error:
                problems |= dict.fromkeys(f"{rule}: {problem}" for problem in error.problems)
        if parts:
            found[name] = pl.all_horizontal(parts)
    if problems:
        raise PartitionError(*problems)
    return found


def _texts(rules: Rules, keys: Sequence[str]) -> list[tuple[str, str]]:
    """Conditions under these keys, each after the rule that it comes from."""
    option = {"shifted": "--shifted-if (where.shifted)"}
    texts = [(option.get(key, f"where.{key}"), rules.where[key]) for key in keys if key in rules.where]
    for key in keys:
        texts += [(f"ranges.{key}", _range(column, pair)) for column, pair in rules.ranges.get(key, {}).items()]
    return texts


def _range(column: str, pair: Range) -> str:
    low, high = pair
    parts = [] if low is None else [f"col({column!r}) >= {low!r}"]
    parts += [] if high is None else [f"col({column!r}) < {high!r}"]
    return " and ".join(parts) or f"not is_null(col({column!r}))"


def evaluated(frame: pl.DataFrame, fits: Mapping[str, pl.Expr]) -> dict[str, npt.NDArray[np.bool_]]:
    """Conditions evaluated over the table, as bool [N] each; null counts as false."""
    try:
        found = frame.select(expr.fill_null(value=False).alias(name) for name, expr in fits.items())
    except pl.exceptions.PolarsError as error:
        raise PartitionError(f"expected conditions that fit the table, found: {error}.") from None
    return {name: found[name].to_numpy() for name in fits}
