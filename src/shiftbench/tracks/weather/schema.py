"""The official weather tables as printed in Shifts 1.0: 129 columns, nine classes, five partitions.

Appendix C of the full paper (Malinin et al. 2021) gives columns, units, classes and counts (Table 8). Ranges are ours:
wide enough for every station on Earth, narrow enough to detect a column in the wrong unit.
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from functools import partial

import polars as pl

from shiftbench.track.intake import units
from shiftbench.track.intake.form import facts


@dataclass(frozen=True)
class Column:
    """A column: `kind` is meta, target or feature; `source` the forecast model (cmc, gfs, wrf) or other."""

    name: str
    kind: str
    unit: str
    source: str
    description: str


@dataclass(frozen=True)
class WeatherClass:
    """A class of precipitation and cloudiness: its `index` from 0 in the paper and its `code` in the tables.

    code_status: whether the code was seen in public tables ("observed") or follows from their digits ("inferred").
    """

    index: int
    code: int
    code_status: str
    cloudiness: str
    precipitation: str

    @property
    def label(self) -> str:
        """Both in words, as "cloudy, rain"; "cloudy" where there is no precipitation."""
        return self.cloudiness if self.precipitation == "none" else f"{self.cloudiness}, {self.precipitation}"


@dataclass(frozen=True)
class Range(units.Range):
    """Where the values of a column lie, in its unit; the median is that of many stations.

    peak: what the highest hundredth of many positive values reaches; 0 asks nothing.
    known: whether the paper leaves no doubt about the unit. Where it does, findings are only warnings.
    """

    peak: float
    known: bool


_facts = partial(facts, __package__)


def _ranges(columns: tuple[Column, ...]) -> dict[str, Range]:
    """The range of each column that has one: the first line of the file whose pattern fits its name."""
    found = {}
    lines = _facts("ranges.csv")
    for column in columns:
        line = next((line for line in lines if fnmatch.fnmatchcase(column.name, line["columns"])), None)
        if line is not None:
            numbers = {key: float(line[key] or 0) for key in ("low", "high", "median_low", "median_high", "peak")}
            found[column.name] = Range(**numbers, known=line["known"] == "yes")
    return found


TRACK = "weather"
TIME, LATITUDE, LONGITUDE = "fact_time", "fact_latitude", "fact_longitude"
TEMPERATURE, CLASS, CLIMATE = "fact_temperature", "fact_cwsm_class", "climate"
START, END = 1_535_760_000, 1_567_296_000  # 2018-09-01 and 2019-09-01, UTC, in seconds: the year of the data
DUMP_ROWS = 10_000_000  # "about": the paper rounds

COLUMNS = tuple(Column(**line) for line in _facts("columns.csv"))
NAMES = tuple(column.name for column in COLUMNS)
META = tuple(column.name for column in COLUMNS if column.kind == "meta")
TARGETS = tuple(column.name for column in COLUMNS if column.kind == "target")
FEATURES = tuple(column.name for column in COLUMNS if column.kind == "feature")
CLASSES = tuple(
    WeatherClass(int(line["index"]), int(line["code"]), line["code_status"], line["cloudiness"], line["precipitation"])
    for line in _facts("classes.csv")
)
CODES = tuple(entry.code for entry in CLASSES)
CLIMATES = ("tropical", "dry", "mild temperate", "snow", "polar")
PARTITIONS = {
    line["partition"]: {key: int(value) for key, value in line.items() if key != "partition"}
    for line in _facts("counts.csv")
}
"""Partition → published number of rows: "total", and by climate."""
RANGES = _ranges(COLUMNS)

TYPES: dict[str, pl.DataType] = {
    **dict.fromkeys(NAMES, pl.Float32()),
    TIME: pl.Int64(),
    LATITUDE: pl.Float64(),
    LONGITUDE: pl.Float64(),
    TEMPERATURE: pl.Float64(),
    CLASS: pl.Int64(),
    CLIMATE: pl.String(),
}
"""The type of each column in Parquet, in the published order: features take 4 bytes."""
