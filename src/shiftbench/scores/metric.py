"""Metrics by name: title, direction, unit, range and definition.

Each is described beside its function, in one of `HOMES`. Other packages add theirs with `register`, or as an entry
point of the group `shiftbench.metrics`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from shiftbench.check import Vector
from shiftbench.errors import SettingsError, quoted
from shiftbench.registry import Registry

Better = Literal["min", "max", "nominal"]  # nominal: the closer to one value
# fraction: 0…1, shown unchanged; percent, points (differences of percentages): stored as 0…1, shown × 100;
# target, error: in the unit of target or error.
Scale = Literal["percent", "points", "fraction", "target", "error", "plain"]
Needs = Literal["", "records", "sides"]
RANDOM_ORDER, OPTIMAL_ORDER = "Random order", "Optimal order"  # the first and the last row of a table of measures


@dataclass(frozen=True)
class Metric:
    """A score: a mean over records, or a function of sums over a set of them.

    name: in files and in Python. title: in tables and pictures. formula, source: for the documentation.
    uses_uncertainty: whether it depends on the uncertainty, so that there is one for each measure.
    least, most: its range, which bounds intervals; of_classes: its range if errors are 0 or 1 and it differs.
    share: whether it is a share of records, whose intervals have a positive width even at 0 and 1.
    ranked: whether systems are ranked by it; being equally bad on both sides of a shift is no merit.
    compared: whether reports show differences between systems.
    of_sums: for a score of a set: a function of sums [P, …] over P sets of records, and of the sums […] over all
        records (the sets are replicates or subsets of these), that returns the scores [P]; NaN if undefined.
        `resampling.SetTerms` defines the contributions of a record. Each of the P sets is scored independently.
    slopes: its derivatives [P, …] by the sums, for standard errors; by default difference quotients.
    nominal: the best value, if `better` is "nominal".
    table: of reports that shows it: "answers", "calibration", "conformal", "joint", "selective", "length", "within"
        or "variants"; "" for answers, or joint if it depends on the uncertainty.
    row: its row in a table of "within" (measures of the parts of a record, such as voxels) or "variants" (rules for the
        same score); metrics of one title are a column there.
    parts: for "within" the parts, for "variants" what the rows are: each has a table of its own.
    plain: what it is in plain words, for the first screen and for notes.
    chance: the score of a guess; the first screen tells in its plain words whether a system does better.
    sliced: whether reports show it by slice, too.
    needs: of what it takes `intervals.FEWEST` to say anything: "records" for an order or a correlation of those of a
        subset, "sides" for a comparison of those on both sides of a shift; of fewer, reports leave it out.
    area: the metric that is the area under its retention curve, on which rejected records get ideal answers; "" for
        none.

    Raises:
        SettingsError: if `better`, `scale` or `needs` is another word.
    """

    name: str
    title: str
    better: Better
    scale: Scale
    formula: str
    source: str
    uses_uncertainty: bool = False
    least: float = 0.0
    most: float = math.inf
    of_classes: tuple[float, float] | None = None
    share: bool = False
    ranked: bool = True
    compared: bool = False
    of_sums: Callable[[Vector, Vector], Vector] | None = None
    slopes: Callable[[Vector, Vector], Vector] | None = None
    nominal: float = math.nan
    table: str = ""
    row: str = ""
    parts: str = ""
    plain: str = ""
    chance: float = math.nan
    sliced: bool = False
    needs: Needs = ""
    area: str = ""

    def __post_init__(self) -> None:
        known = {"better": get_args(Better), "scale": get_args(Scale), "needs": get_args(Needs)}
        if wrong := [name for name, words in known.items() if getattr(self, name) not in words]:
            raise SettingsError(
                *(
                    f"metric {self.name!r}: {name}: expected {', '.join(filter(None, known[name]))}, "
                    f"found {quoted(getattr(self, name))}. Choose one of these."
                    for name in wrong
                )
            )

    def range(self, *, classes: bool = False) -> tuple[float, float]:
        """The range of the score; `classes`: whether errors are 0 or 1."""
        return self.of_classes if classes and self.of_classes else (self.least, self.most)


def level_metric(name: str, kinds: Mapping[str, Callable[[float], Metric]], *, unit: float = 1.0) -> Metric | None:
    """The metric of a name such as `coverage_80`: of one of these kinds, at a level between 0 and 1 in this unit."""
    kind, _, text = name.rpartition("_")
    level = _number(text) * unit
    if kind not in kinds or not 0 < level < 1:
        return None
    metric = kinds[kind](level)
    return metric if metric.name == name else None  # each has one name


def _number(text: str) -> float:
    return float(text) if text == "inf" or (text.isascii() and text.replace(".", "", 1).isdigit()) else math.nan


HOMES = (  # in the order in which reports show metrics
    "shiftbench.scores.retention:MEAN_ERROR",
    "shiftbench.metrics.regression:METRICS",
    "shiftbench.metrics.quantiles:METRICS",
    "shiftbench.metrics.classification:METRICS",
    "shiftbench.scores.retention:ACCEPTABLE",
    "shiftbench.metrics.modes:METRICS",
    "shiftbench.metrics.segmentation.scores:METRICS",
    "shiftbench.metrics.texts:METRICS",
    "shiftbench.scores.retention:SHIFT_RATIO",
    "shiftbench.scores.retention:METRICS",
    "shiftbench.scores.detection:METRICS",
    "shiftbench.metrics.texts:AREAS",
    "shiftbench.scores.selective:METRICS",
    "shiftbench.scores.length:METRICS",
    "shiftbench.metrics.conformal:METRICS",
)
FAMILIES = (
    "shiftbench.metrics.levels:at_level",
    "shiftbench.metrics.segmentation.structure:retention_metric",
    "shiftbench.metrics.segmentation.scores:named",
)
METRICS = Registry("metric", Metric, "shiftbench.metrics", homes=HOMES, families=FAMILIES)
register = METRICS.register


def in_order(names: Collection[str]) -> list[str]:
    """Names of metrics in the order of METRICS; those of a family stand behind their relatives of lower levels, or all
    others by name."""
    places = {name: place for place, name in enumerate(METRICS)}
    return sorted(names, key=lambda name: (places[name], 0.0, "") if name in places else _place(name, places))


def _place(name: str, places: Mapping[str, int]) -> tuple[float, float, str]:
    stem, _, level = name.rpartition("_")
    levels = {known: known.removeprefix(stem).removeprefix("_") or "0" for known in places if known.startswith(stem)}
    relatives = {known: number for known, own in levels.items() if math.isfinite(number := _number(own))}
    lower = [places[known] for known, number in relatives.items() if number < _number(level)]
    first = min((places[known] for known in relatives), default=len(places))
    number = _number(level)
    return max(lower, default=first - 0.5), 0.0 if math.isnan(number) else number, name
