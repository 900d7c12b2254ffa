"""The vessel's tables: an index, ten inputs and the target, in five partitions, as published in Shifts 2.0.

Columns and units are those of Tables 21 and 22, counts those of Tables 17 (synthetic) and 18 (real), wind intervals
those of Table 16 (Malinin et al. 2022, Appendix D). Sizes and hashes of the files are those of a public copy of
unconfirmed origin; means and standard deviations are those of the real train, dev_in and dev_out together. Ranges are
ours: wide enough for a merchant ship at sea, tight enough to detect a column in the wrong unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import polars as pl

from shiftbench.scores.retention import Rule
from shiftbench.track.intake.form import Form, facts
from shiftbench.track.intake.units import Range


@dataclass(frozen=True)
class Column:
    """A column: `kind` is index, feature or target; `source` is the instrument."""

    name: str
    kind: str
    unit: str
    description: str
    source: str


@dataclass(frozen=True)
class Interval:
    """An interval of true wind speed in knots, low <= speed < high, by its number of Table 16."""

    number: int
    low_kn: float
    high_kn: float
    beaufort: str

    @property
    def label(self) -> str:
        """Number and bounds; labels sort like the speeds."""
        bounds = f"{self.low_kn:g} to {self.high_kn:g}" if math.isfinite(self.high_kn) else f"from {self.low_kn:g}"
        return f"{self.number}: {bounds} kn"


@dataclass(frozen=True)
class File:
    """Size and SHA-256 of a CSV."""

    bytes: int
    sha256: str


_facts = partial(facts, __package__)


def _counts(data: str) -> dict[str, tuple[int, ...]]:
    return {
        line["partition"]: tuple(int(line[f"interval_{number}"]) for number in range(1, 5))
        for line in _facts("counts.csv")
        if line["data"] == data
    }


TRACK = "power"
DRAFT_AFT, DRAFT_FORE, SPEED = "draft_aft_telegram", "draft_fore_telegram", "stw"
WIND_ALONG, WIND_ACROSS, CURRENT_ALONG = "awind_vcomp_provider", "awind_ucomp_provider", "rcurrent_vcomp"
WAVE_HEIGHT, SINCE_DRY_DOCK, TIME_ID, POWER = "comb_wind_swell_wave_height", "timeSinceDryDock", "time_id", "power"
FIRST_MINUTE = 10_776  # since dry dock, where time_id is 0
MONTH_MINUTES = 365.25 * 24 * 60 / 12
THRESHOLD_KW2 = 500.0**2  # the largest acceptable squared error
RULE: Rule = "mixed"  # the published evaluation uses one rule for R-AUC and another for F1

COLUMNS = tuple(Column(**line) for line in _facts("columns.csv"))
NAMES = tuple(column.name for column in COLUMNS)
INPUTS = tuple(column.name for column in COLUMNS if column.kind == "feature")
UNITS = {column.name: column.unit for column in COLUMNS}
TYPES: dict[str, pl.DataType] = {**dict.fromkeys(NAMES, pl.Float64()), TIME_ID: pl.Int64()}
FORM = Form(
    TYPES,
    whole=(TIME_ID,),
    other_names={"power_synth": POWER, "power_nhf": POWER},  # in the paper, and in older files
    complete=True,
)

INTERVALS = tuple(
    Interval(int(line["interval"]), float(line["low_kn"]), float(line["high_kn"] or math.inf), line["beaufort"])
    for line in _facts("intervals.csv")
)
COUNTS: Mapping[str, Mapping[str, tuple[int, ...]]] = {data: _counts(data) for data in ("real", "synthetic")}
"""Data set → partition → published records of each wind interval."""
PARTITIONS = tuple(COUNTS["synthetic"])
STATISTICS = {line["name"]: (float(line["mean"]), float(line["std"])) for line in _facts("statistics.csv")}
"""Column → mean and standard deviation over the real train, dev_in and dev_out."""
FILES = {(line["data"], line["partition"]): File(int(line["bytes"]), line["sha256"]) for line in _facts("files.csv")}
RANGES = {
    line["name"]: Range(*(float(line[key]) for key in ("low", "high", "median_low", "median_high")))
    for line in _facts("ranges.csv")
}


def total(data: str, partition: str) -> int:
    """The published number of records of a partition."""
    return sum(COUNTS[data][partition])
