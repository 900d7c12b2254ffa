"""One system on one split: everything a report shows of it, from one sort a subset."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shiftbench import retention
from shiftbench.check import Flags, Vector
from shiftbench.detection import pr_auc, roc_area
from shiftbench.errors import ConstantUncertaintyWarning, WrongSignWarning
from shiftbench.intervals import Settings, mean_interval
from shiftbench.metrics.classification import calibration_error
from shiftbench.ranking import Ranking
from shiftbench.report.content import METRICS, Part, Score, Slice, System
from shiftbench.resampling import Confusion, Detection, GroupMeans, Joined, Means, Resampler, Retention, Root, Statistic
from shiftbench.retention import RetentionScores, Rule
from shiftbench.scored import Records, Scored

SMALLEST_SLICE = 10
MOST_SLICES = 200
FEWEST_SLICE_UNITS = 5
# The opposite of the best order loses as much as that gains; what else can be below 0 has no bound.
LEAST = {"rejection_ratio": -1.0, "nll": -np.inf, "f1_auc_normalised": -np.inf}

Label = tuple[str, ...]  # ("score", subset, metric) or ("slice", column, group)


class Assessed:
    """A system on a split: ranked once per subset, then asked for everything the report shows of it."""

    def __init__(self, records: Records, system: Scored, *, threshold: float | None, rule: Rule) -> None:
        self.records, self.system = records, system
        self.threshold, self.rule = threshold, rule
        self.subsets = records.subsets()
        self.rankings = self._rankings(system.uncertainty[system.measure])
        self.points = {subset: self._retention(system, subset, self.rankings[subset]) for subset in self.subsets}

    def _rankings(self, uncertainty: Vector) -> dict[str, Ranking]:
        full = Ranking.of(uncertainty)
        return {subset: full if subset == "full" else full.subset(member) for subset, member in self.subsets.items()}

    def _retention(self, system: Scored, subset: str, ranking: Ranking) -> RetentionScores:
        errors = system.errors[self.subsets[subset]]
        return retention.ranked_scores(errors, ranking, threshold=self.threshold, rule=self.rule)

    # What is resampled.

    def statistic(self, resampler: Resampler, means: set[str]) -> tuple[list[Label], Statistic]:
        """All that gets an interval, as one statistic, and a label for each of its scores."""
        pairs: list[tuple[Label, Statistic]] = [
            (("score", subset), part)
            for subset, member in self.subsets.items()
            for part in self._subset_statistics(subset, member, resampler, means)
        ]
        if len(self.subsets) > 1 and self.records.shifted is not None:
            detection = Detection(self.records.shifted, self.rankings["full"], resampler.unit, resampler.units)
            pairs.append((("score", "full"), detection))
        for column, groups, codes, member in self._groups():
            unit = resampler.unit[member]
            spread = np.bincount(np.unique(codes * resampler.units + unit) // resampler.units)
            wide = np.flatnonzero(spread >= FEWEST_SLICE_UNITS)
            inside = np.isin(codes, wide)
            values = self.system.errors[member][inside]
            part = GroupMeans(
                [groups[code] for code in wide],
                values,
                np.searchsorted(wide, codes[inside]),
                unit[inside],
                resampler.units,
            )
            if len(wide):
                pairs.append((("slice", column), part))
        return [(*place, name) for place, part in pairs for name in part.names], Joined([part for _, part in pairs])

    def _subset_statistics(self, subset: str, member: Flags, resampler: Resampler, means: set[str]) -> list[Statistic]:
        unit, units, system = resampler.unit[member], resampler.units, self.system
        errors = system.errors[member]
        rows = {"mean_error": errors} | {name: system.means[name][member] for name in sorted(means)}
        good = None
        if self.threshold is not None:
            good = retention.acceptable(errors, self.threshold, self.rule)
            rows["acceptable"] = good.astype(np.float64)
        found: list[Statistic] = [Means(tuple(rows), np.array(list(rows.values())), unit, units)]
        if system.root:
            found.append(Root(("rmse",), Means(("rmse",), errors[None], unit, units)))
        if system.answers is not None:
            answers = system.answers
            found.append(Confusion(answers.targets[member], answers.labels[member], answers.classes, unit, units))
        ranking = self.rankings[subset]
        found.append(Retention(errors, good, ranking, unit, units, rule=self.rule, rejection=True))
        return found

    def _groups(self) -> list[tuple[str, list[str], Any, Flags]]:
        """Slice columns with their groups, codes [n] and the records [N] that are in a group large enough."""
        found = []
        for column, labels in self.records.slices.items():
            names, codes, sizes = np.unique(labels, return_inverse=True, return_counts=True)
            largest = np.argsort(-sizes, kind="stable")[:MOST_SLICES]
            kept = np.sort(largest[sizes[largest] >= SMALLEST_SLICE])
            if len(kept) < 2:
                continue
            place = np.full(len(names), -1)
            place[kept] = np.arange(len(kept))
            code = place[codes.reshape(-1)]
            found.append((column, [str(name) for name in names[kept]], code[code >= 0], code >= 0))
        return found

    # What is reported.

    def scores(self, ends: Mapping[Label, tuple[float, float]]) -> list[Score]:
        """All scores: of the headline measure with intervals, of the others without."""
        found = []
        for subset in self.subsets:
            for metric, value in self._values(self.system, subset, self.points[subset]).items():
                low, high = ends.get(("score", subset, metric), (None, None))
                found.append(self._score(subset, metric, value, ends=_clipped(metric, low, high)))
            found += self._references(subset)
        for measure, uncertainty in self.system.uncertainty.items():
            rankings = self.rankings if measure == self.system.measure else self._rankings(uncertainty)
            found += self._measure_scores(measure, rankings, ends)
        return found

    def _values(self, system: Scored, subset: str, points: RetentionScores) -> dict[str, float]:
        """Scores that need no uncertainty measure."""
        member = self.subsets[subset]
        values = {"mean_error": points.mean_error}
        if system.root:
            values["rmse"] = float(np.sqrt(points.mean_error))
        values |= {name: float(rows[member].mean()) for name, rows in system.means.items()}
        if points.acceptable is not None:
            values["acceptable"] = points.acceptable
        if system.answers is not None:
            answers = system.answers
            unit = np.zeros(int(np.count_nonzero(member)), dtype=np.intp)
            confusion = Confusion(answers.targets[member], answers.labels[member], answers.classes, unit, 1)
            values["macro_f1"] = float(confusion.values(np.ones(1))[0])
        if system.confidence is not None:
            values["ece"] = calibration_error(system.confidence[member], 1.0 - system.errors[member])
        return values

    def _measure_scores(
        self, measure: str, rankings: Mapping[str, Ranking], ends: Mapping[Label, tuple[float, float]]
    ) -> list[Score]:
        found = []
        for subset in self.subsets:
            points = self.points[subset]
            if measure != self.system.measure:
                points = self._retention(self.system, subset, rankings[subset])
            values = _retention_values(points)
            if subset == "full" and len(self.subsets) > 1:
                assert self.records.shifted is not None
                values["roc_auc"] = roc_area(self.records.shifted, rankings["full"])
                # Always average precision: the published trapezoid credits a constant uncertainty with skill.
                values["pr_auc"] = pr_auc(self.system.uncertainty[measure], self.records.shifted, rule="exact")
            for metric, value in values.items():
                low, high = ends.get(("score", subset, metric), (None, None))
                if measure != self.system.measure:
                    low, high = None, None
                found.append(self._score(subset, metric, value, measure=measure, ends=_clipped(metric, low, high)))
        return found

    def _references(self, subset: str) -> list[Score]:
        """What a random and the optimal order would score on the same errors."""
        points = self.points[subset]
        values = [("random", "r_auc", points.r_auc_random), ("optimal", "r_auc", points.r_auc_optimal)]
        if points.f1_auc_random is not None and points.f1_auc_optimal is not None:
            values += [("random", "f1_auc", points.f1_auc_random), ("optimal", "f1_auc", points.f1_auc_optimal)]
        return [self._score(subset, metric, value, measure=f"{order} order") for order, metric, value in values]

    def _score(
        self, subset: str, metric: str, value: float, *, measure: str = "", ends: tuple[Any, Any] = (None, None)
    ) -> Score:
        n = int(np.count_nonzero(self.subsets[subset]))
        name = self.system.system.name
        return Score(name, self.records.split, subset, metric, float(value), n, measure, low=ends[0], high=ends[1])

    def single_scores(self) -> list[Score]:
        """Mean and standard deviation (ddof 1) of the models' own scores."""
        if (singles := self.system.singles) is None:
            return []
        columns: dict[tuple[str, str], list[float]] = {}
        for single in singles:
            for place, value in self._single_values(single):
                columns.setdefault(place, []).append(value)
        return [self._single_score(singles.system, place, column) for place, column in columns.items()]

    def _single_values(self, single: Scored) -> Iterator[tuple[tuple[str, str], float]]:
        """The scores of one model: (subset, metric) and the value."""
        rankings = self._rankings(single.uncertainty[single.measure])
        for subset in self.subsets:
            points = self._retention(single, subset, rankings[subset])
            values = self._values(single, subset, points) | _retention_values(points)
            if subset == "full" and len(self.subsets) > 1 and self.records.shifted is not None:
                values["roc_auc"] = roc_area(self.records.shifted, rankings["full"])
            yield from (((subset, metric), value) for metric, value in values.items())

    def _single_score(self, single: System, place: tuple[str, str], column: list[float]) -> Score:
        subset, metric = place
        n = int(np.count_nonzero(self.subsets[subset]))
        measure = single.measure if METRICS[metric].uses_uncertainty else ""
        return Score(
            single.name, self.records.split, subset, metric, float(np.mean(column)), n, measure,
            std=float(np.std(column, ddof=1)), each=tuple(column),
        )  # fmt: skip

    def slices(self, ends: Mapping[Label, tuple[float, float]], settings: Settings) -> list[Slice]:
        """Scores by group, the largest mean error first.

        The interval of a group of fewer than five clusters (one station, say) is that of its own records.
        """
        found = []
        uncertainty = self.system.uncertainty[self.system.measure]
        for column, groups, codes, member in self._groups():
            records = np.flatnonzero(member)
            rows = []
            for code, group in enumerate(groups):
                inside = records[codes == code]
                points = retention.ranked_scores(
                    self.system.errors[inside],
                    Ranking.of(uncertainty[inside]),
                    threshold=self.threshold,
                    rule=self.rule,
                )
                low, high = ends.get(("slice", column, group)) or mean_interval(self.system.errors[inside], settings)
                shifted = None if self.records.shifted is None else float(self.records.shifted[inside].mean())
                interval = _clipped("mean_error", low, high)
                scores = (points.mean_error, *interval, points.r_auc, points.acceptable)
                name, split = self.system.system.name, self.records.split
                rows.append(Slice(name, split, column, group, len(inside), shifted, *scores))
            found += sorted(rows, key=lambda row: -row.mean_error)
        return found

    def parts(self) -> list[Part]:
        """The R-AUC on the full subset as a sum.

        R-AUC = (error of the mean, in a random order) + (what the order changes), and what the order changes is a sum
        over pairs of records, so it falls apart into pairs within the in-domain records, pairs within the shifted
        ones, and pairs across.
        """
        name, split, points = self.system.system.name, self.records.split, self.points
        full = points["full"]
        gain = full.r_auc - full.r_auc_random
        if len(points) == 1:
            values = {"level_in": full.r_auc_random, "ranking_in": gain}
        else:
            inside, shifted = (self._pairs(points[s]) / self._pairs(full) for s in ("in", "shifted"))
            within = inside * (points["in"].r_auc - points["in"].r_auc_random)
            across = shifted * (points["shifted"].r_auc - points["shifted"].r_auc_random)
            values = {
                "level_in": points["in"].r_auc_random,
                "level_shift": full.r_auc_random - points["in"].r_auc_random,
                "ranking_in": within,
                "ranking_shifted": across,
                "ranking_between": gain - within - across,
            }
        return [Part(name, split, part, float(value)) for part, value in values.items()]

    def _pairs(self, points: RetentionScores) -> float:
        """What turns an area into a sum over pairs of records under the rule."""
        return float(points.n) * (points.n + (1 if self.rule == "published" else 0))

    def warn(self) -> None:
        """Say what is suspicious about the uncertainty; caught by `build`."""
        name, where = self.system.system.name, self.records.split
        measure, errors = self.system.measure, self.system.errors
        values = self.system.uncertainty[measure]
        if len(values) > 1 and values.min() == values.max():
            if self.system.system.role == "baseline":
                return  # a forecast without an uncertainty of its own: nothing went wrong
            warnings.warn(
                ConstantUncertaintyWarning(
                    f"{name}, {where}: {measure} is {values[0]:g} for every record, so it ranks nothing: "
                    "retention scores are those of a random order"
                ),
                stacklevel=2,
            )
            return
        correlation = rank_correlation(values, errors)
        if np.isfinite(correlation) and correlation < -3.0 / np.sqrt(len(values)):
            warnings.warn(
                WrongSignWarning(
                    f"{name}, {where}: {measure} falls where the error rises (rank correlation {correlation:.3f}): "
                    "wrong sign? Uncertainty must be higher where a record is less certain; negate a confidence"
                ),
                stacklevel=2,
            )


def _retention_values(points: RetentionScores) -> dict[str, float]:
    names = ("r_auc", "rejection_ratio", "f1_auc", "f1_auc_normalised", "f1_at_95")
    values = {name: getattr(points, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _clipped(metric: str, low: float | None, high: float | None) -> tuple[float | None, float | None]:
    """An interval within the metric's range: studentised ends may reach beyond it."""
    if low is None or high is None or not np.isfinite(low):
        return None, None
    least = LEAST.get(metric, 0.0)
    most = 1.0 if METRICS[metric].scale in ("percent", "fraction") and metric != "mape" else np.inf
    return float(np.clip(low, least, most)), float(np.clip(high, least, most))


def rank_correlation(a: Vector, b: Vector) -> float:
    """Spearman's rank correlation of two vectors [N], ties at their mean rank; NaN if one is constant."""
    ranks = []
    for values in (a, b):
        ranking = Ranking.of(values)
        rank = np.empty(len(values))
        rank[ranking.order] = np.arange(len(values), dtype=np.float64)
        if ranking.starts is not None:
            rank[ranking.order] = ranking.averaged(rank)
        ranks.append(rank - rank.mean())
    norm = float(np.sqrt(np.dot(ranks[0], ranks[0]) * np.dot(ranks[1], ranks[1])))
    return float(np.dot(*ranks)) / norm if norm else float("nan")
