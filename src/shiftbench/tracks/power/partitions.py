"""The canonical partition of the vessel's data by time since dry dock and true wind speed (Shifts 2.0, Appendix D.1).

Time is counted from the first record, 10,776 minutes after the dry dock: 39.4 months for train, dev_in and eval_in, 6.6
for dev_out, 18 for eval_out. A month is a twelfth of 365.25 days, 43,830 minutes. (Counted from the dry dock itself,
39.4 months would end before the last published record of train, 1,735,544 minutes after it.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
import polars as pl

from shiftbench.errors import PartitionError
from shiftbench.partition import Partition, Rules, partition
from shiftbench.partition.hashing import Positions
from shiftbench.partition.sampling import Draw, Sampler
from shiftbench.partition.settings import IN_DOMAIN, SHIFTED
from shiftbench.tracks.power import schema
from shiftbench.tracks.power.physics import motion
from shiftbench.tracks.power.schema import (
    COUNTS,
    CURRENT_ALONG,
    FIRST_MINUTE,
    INTERVALS,
    MONTH_MINUTES,
    SINCE_DRY_DOCK,
    SPEED,
    WIND_ACROSS,
    WIND_ALONG,
)

MONTH, WIND, INTERVAL, HALF_YEAR, DAY = "month", "wind_kn", "wind_interval", "half_year", "day"
DERIVED = (MONTH, WIND, INTERVAL, HALF_YEAR, DAY)
"""Columns of a prepared record that models do not see, see `described`."""
WINDOWS = {"in_domain": (None, 39.4), "dev_out": (39.4, 46.0), "eval_out": (46.0, 64.0)}
WHERE = {
    "in_domain": f"{WIND} < 19",
    "dev_out": f"{WIND} >= 19 and {WIND} < 26",
    "eval_out": f"{WIND} >= 19 and {WIND} <= 40",
}
SHARES = {
    name: schema.total("synthetic", name) / sum(schema.total("synthetic", own) for own in IN_DOMAIN)
    for name in IN_DOMAIN
}
DIGITS = 6  # decimals of the wind in knots: the last bits of a root differ between machines
FEW = 30


@dataclass(frozen=True)
class CanonicalRules(Rules):
    """The canonical rules with the numbers drawn from each stratum, for the manifest.

    drawn: partition → records of each wind interval; not a setting of the engine.
    """

    drawn: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Split:
    """A partition, the rules that made it, and the factor (0 … 1) by which the published counts were scaled."""

    partition: Partition
    rules: CanonicalRules
    scale: float
    notes: tuple[str, ...] = ()


def described(frame: pl.DataFrame) -> pl.DataFrame:
    """The records [N] with the columns by which they are divided, sliced and resampled.

    month: of 43,830 minutes, since the first record. half_year: six of these, as text. day: whole days since dry
    dock. wind_kn: true wind speed, computed from the apparent wind and the speed over ground, stw + rcurrent_vcomp.
    wind_interval: that of Table 16.
    """
    # The formula holds in any unit, as long as it is the same for all.
    along, across, speed, current = (frame[name].to_numpy() for name in (WIND_ALONG, WIND_ACROSS, SPEED, CURRENT_ALONG))
    wind = pl.Series(WIND, motion.true_wind_speed(along, across, motion.speed_over_ground(speed, current)))
    month = (pl.col(SINCE_DRY_DOCK) - FIRST_MINUTE) / MONTH_MINUTES
    half = (month / 6).floor().clip(0, 99).cast(pl.Int64) * 6
    months = pl.format("months {} to {}", _padded(half), _padded(half + 6))
    return frame.with_columns(wind.round(DIGITS)).with_columns(
        month.alias(MONTH),
        months.alias(HALF_YEAR),
        (pl.col(SINCE_DRY_DOCK) / 1440).floor().cast(pl.Int64, strict=False).alias(DAY),
        interval(pl.col(WIND)).alias(INTERVAL),
    )


def interval(wind_kn: pl.Expr) -> pl.Expr:
    """The label of the wind interval of Table 16 that each speed in knots [N] lies in."""
    found = pl.lit(INTERVALS[0].label)
    for entry in INTERVALS[1:]:
        found = pl.when(wind_kn >= entry.low_kn).then(pl.lit(entry.label)).otherwise(found)
    return found


def canonical_rules(seed: int = 1) -> CanonicalRules:
    """The rules of the canonical partition, for described records."""
    return CanonicalRules(id="id", seed=seed, time=MONTH, windows=WINDOWS, where=WHERE, shares=SHARES)


def split(frame: pl.DataFrame, *, counts: Mapping[str, tuple[int, ...]] = COUNTS["synthetic"], seed: int = 1) -> Split:
    """Divide described records [N] with unique ids: the published number of records for each wind interval, drawn by a
    hash of the id.

    Where a stratum has too few records, every count is scaled by the same factor, rounded down (but at least 1).
    Neither the order of rows nor any other column changes the partition of a record; adding a record to a stratum may.

    Args:
        frame: the records, with id, month, wind_kn and wind_interval.
        counts: partition → records of each wind interval.
        seed: key of the hash.

    Raises:
        TableError: if ids are missing or used twice.
        PartitionError: if a window or an interval has no records, naming all that are empty.
    """
    rules = canonical_rules(seed)
    divided = partition(frame, rules)
    strata = _strata(divided)
    scale, short = _scale(strata, counts)
    drawn = {name: tuple(count and max(1, int(count * scale)) for count in row) for name, row in counts.items()}
    chosen = _drawn(Sampler(divided.ids, None, seed), strata, drawn)
    sizes = {name: sum(row) for name, row in drawn.items()}
    assignment = pl.repeat(None, frame.height, dtype=divided.assignment.dtype, eager=True)
    for name, rows in chosen.items():
        assignment.scatter(rows, name)
    unused = dict(divided.unused) | _left(strata, sizes)
    warnings = tuple(
        f"{name} has only {size} records: its scores will be coarse." for name, size in sizes.items() if size < FEW
    )
    made = replace(divided, assignment=assignment, unused=unused, warnings=warnings)
    return Split(made, replace(rules, drawn=drawn, sizes=sizes), float(scale), _notes(scale, short))


def wind_counts(frame: pl.DataFrame) -> tuple[int, ...]:
    """The number of described records [N] in each wind interval."""
    found = dict(frame[INTERVAL].value_counts().iter_rows())
    return tuple(found.get(entry.label, 0) for entry in INTERVALS)


Strata = Mapping[tuple[str, int], Positions]
"""(population, number of the wind interval from 0) → positions [K] of the records to draw from."""


def _strata(divided: Partition) -> Strata:
    """In-domain records by wind interval, and those of both shifted windows, all in the last interval."""
    inside = divided.assignment.is_in(IN_DOMAIN).fill_null(False)
    last = len(INTERVALS) - 1
    strata = {
        ("in_domain", place): _positions(inside & (divided.table[INTERVAL] == entry.label))
        for place, entry in enumerate(INTERVALS[:last])
    }
    return strata | {(name, last): _positions((divided.assignment == name).fill_null(False)) for name in SHIFTED}


def _positions(flags: pl.Series) -> Positions:
    return np.flatnonzero(flags.to_numpy())


def _names(population: str) -> tuple[str, ...]:
    """The partitions drawn from a population; train is last and takes what the others leave."""
    return ("dev_in", "eval_in", "train") if population == "in_domain" else (population,)


def _scale(strata: Strata, counts: Mapping[str, tuple[int, ...]]) -> tuple[Fraction, str]:
    """The largest factor, at most 1, that every stratum can meet, and the stratum that limits it."""
    scale, short, empty = Fraction(1), "", []
    for (population, place), rows in strata.items():
        wanted = sum(counts[name][place] for name in _names(population))
        where = f"{population} in wind interval {INTERVALS[place].label}"
        if wanted and not len(rows):
            empty.append(f"{where}: expected records to draw {wanted:,} from, found none. Add some, or take others.")
        elif wanted and Fraction(len(rows), wanted) < scale:
            scale, short = Fraction(len(rows), wanted), f"{where}, {len(rows):,} of {wanted:,}"
    if empty:
        raise PartitionError(*empty)
    return scale, short


def _drawn(sampler: Sampler, strata: Strata, drawn: Mapping[str, tuple[int, ...]]) -> Draw:
    parts: dict[str, list[Positions]] = {name: [] for name in drawn}
    for (population, place), rows in strata.items():
        sizes = {name: drawn[name][place] for name in _names(population)}
        for name, chosen in sampler.to_sizes(rows, sizes).items():
            parts[name].append(chosen)
    return {name: np.sort(np.concatenate(own)) for name, own in parts.items()}


def _left(strata: Strata, sizes: Mapping[str, int]) -> dict[str, int]:
    """The number of records that belong to a population but were not drawn, by reason."""
    left = {}
    for population in dict.fromkeys(name for name, _ in strata):
        names = _names(population)
        there = sum(len(rows) for (own, _), rows in strata.items() if own == population)
        wanted = "train, dev_in and eval_in were" if len(names) > 1 else f"{population} was"
        left[f"more than {wanted} to have"] = there - sum(sizes[name] for name in names)
    return {reason: count for reason, count in left.items() if count}


def _notes(scale: Fraction, short: str) -> tuple[str, ...]:
    if scale == 1:
        return ()
    return (f"too few records for the published counts: all are scaled by {float(scale):.4g} (scarcest: {short})",)


def _padded(number: pl.Expr) -> pl.Expr:
    return number.cast(pl.String).str.zfill(2)
