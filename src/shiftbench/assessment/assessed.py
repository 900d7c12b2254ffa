"""One system on one split: everything a report shows of it, with one sort per subset."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from shiftbench.assessment.scored import Labels, Records, Scored
from shiftbench.check import Flags, Vector
from shiftbench.errors import ConstantUncertaintyWarning, WrongSignWarning
from shiftbench.metrics.classification import calibration_error
from shiftbench.scores import retention, selective
from shiftbench.scores.detection import pr_auc, roc_area
from shiftbench.scores.grouping import coded, distinct
from shiftbench.scores.intervals import FEWEST, NO_VARIATION, Bootstrap
from shiftbench.scores.metric import METRICS
from shiftbench.scores.ranking import Index, Ranking, correlation, rank_correlation
from shiftbench.scores.resampling import (
    REPLICATE_POINTS,
    Detection,
    GroupMeans,
    Joined,
    Means,
    OfOrder,
    RankCorrelations,
    Ranked,
    Ratio,
    Resampler,
    Retention,
    Root,
    SameOrder,
    Scale,
    SetRetention,
    SetScore,
    Statistic,
    canonical_order,
    scale_between,
    set_area,
)
from shiftbench.scores.retention import RetentionScores, Rule
from shiftbench.scores.score import Part, Score, Slice, System

SMALLEST_SLICE = 10

OF_ACCEPTABLE = ("f1_auc", "f1_auc_normalised", "f1_at_95")  # scores of acceptable against other errors

Label = tuple[str, ...]  # ("score", subset, metric) or ("slice", column, group)


class Basis(NamedTuple):
    """The basis of a score's interval; the fields are those of `intervals.bootstrap`."""

    units: int
    scale: Scale
    effective: float = math.nan


class Ends(NamedTuple):
    """The ends of an interval, or the reason why it is missing."""

    low: float | None = None
    high: float | None = None
    no_interval: str = ""


def ends_of(result: Bootstrap, labels: Sequence[Sequence[Label]]) -> list[dict[Label, Ends]]:
    """The intervals of each system's scores, by their labels."""
    return [
        {label: _ends(*found) for label, *found in zip(own, low, high, result.reasons(k), strict=True)}
        for k, (own, low, high) in enumerate(zip(labels, *result.intervals(), strict=True))
    ]


def _ends(low: float, high: float, reason: str) -> Ends:
    return Ends(float(low), float(high), reason) if math.isfinite(low) else Ends(no_interval=reason)


def in_canonical_order(records: Records, systems: Sequence[Scored]) -> tuple[Records, list[Scored]]:
    """The same records in an order that depends neither on that of the rows nor on that of the systems; nor on the
    systems themselves, if records have an identity."""
    shared = [records.shifted, records.clusters, *map(_codes, records.slices.values())]
    held = [[system.errors, system.uncertainty[system.measure], *_resampled(system)] for system in systems]
    order = canonical_order(
        [column for column in shared if column is not None], held, records.n, first=records.identity
    )
    bare = [replace(system, singles=None, answers=None, texts=None).select(order) for system in systems]
    return replace(records, source=None).select(order), bare


def _codes(labels: Labels) -> Index:
    return coded(labels)[1]


def _resampled(system: Scored) -> list[Any]:
    """The columns of a system that determine the canonical order; conformal scores follow from the others."""
    means = [values for name, values in system.means.items() if METRICS[name].table != "conformal"]
    return [*means, *(column for terms in system.sets.values() for column in terms.found.columns)]


def groups_of(records: Records) -> list[tuple[str, list[str], Index, Flags]]:
    """Slice columns with their groups, codes [n] and the records [N] in sufficiently large groups."""
    found = []
    for column, labels in records.slices.items():
        names, codes = coded(labels)
        kept = np.flatnonzero(np.bincount(codes) >= SMALLEST_SLICE)
        if len(kept) < 2:
            continue
        place = np.full(len(names), -1)
        place[kept] = np.arange(len(kept))
        code = place[codes]
        found.append((column, [str(name) for name in names[kept]], code[code >= 0], code >= 0))
    return found


def _joined(found: Sequence[tuple[Label, list[Basis], Statistic]]) -> tuple[list[Label], list[Basis], Statistic]:
    """Statistics with the beginning of their labels, and a basis for each score, as one."""
    labels = [(*place, name) for place, _, part in found for name in part.names]
    return labels, [basis for _, bases, _ in found for basis in bases], Joined([part for *_, part in found])


class Assessed:
    """A system on a split: ranked once per subset, then the source of all its entries in the report."""

    def __init__(self, records: Records, system: Scored, *, threshold: float | None, rule: Rule) -> None:
        self.records, self.system = records, system
        self.threshold, self.rule = threshold, rule
        self.subsets = records.subsets()
        self.rankings = self._rankings(system.uncertainty[system.measure])

    @cached_property
    def points(self) -> dict[str, RetentionScores]:
        """The retention scores of each subset by the headline measure."""
        return {subset: self._retention(self.system, subset, self.rankings[subset]) for subset in self.subsets}

    def _rankings(self, uncertainty: Vector) -> dict[str, Ranking]:
        full = Ranking.of(uncertainty)
        return {subset: full if subset == "full" else full.subset(member) for subset, member in self.subsets.items()}

    @cached_property
    def _best(self) -> dict[str, selective.Best]:
        """The scores of the best order on each subset."""
        return {subset: selective.Best.of(self.system.errors[member]) for subset, member in self.subsets.items()}

    def _retention(self, system: Scored, subset: str, ranking: Ranking) -> RetentionScores:
        errors = system.errors[self.subsets[subset]]
        return retention.ranked_scores(errors, ranking, threshold=self.threshold, rule=self.rule)

    # Resampled scores.

    def statistic(self, resampler: Resampler, shared: set[str]) -> tuple[list[Label], list[Basis], Statistic]:
        """All scores with intervals as one statistic, with the label and the basis of each.

        The basis of a score over all records is the side of the shift that has fewer units.
        """
        units, effective = self._units(resampler)
        found: list[tuple[Label, list[Basis], Statistic]] = []
        for subset, member in self.subsets.items():
            for part in self._subset_statistics(subset, member, resampler, shared):
                bases = [self._basis(name, units[subset], effective[subset]) for name in part.names]
                found.append((("score", subset), bases, part))
        if self.records.shifted is not None and self.records.two_sided:
            above, below = (self._level(self.subsets[subset], resampler) for subset in ("shifted", "in"))
            basis = self._basis("shift_ratio", units["full"], min(effective.values()))
            found.append((("score", "full"), [basis], Ratio("shift_ratio", above, below)))
        return _joined([*found, *self._slice_statistics(resampler)])

    def own_statistic(self, resampler: Resampler, names: set[str]) -> tuple[list[Label], list[Basis], Statistic]:
        """The same for scores `names` alone: those by which this system cannot be compared with every other."""
        units, effective = self._units(resampler)
        found: list[tuple[Label, list[Basis], Statistic]] = []
        for subset, member in self.subsets.items():
            rows = {name: self.system.means[name][member] for name in sorted(self.system.means.keys() & names)}
            parts = [part for each in self._of_sets(subset, member, resampler, names) for part in each]
            if rows:
                values, unit = np.array(list(rows.values())), resampler.unit[member]
                parts.append(Means(tuple(rows), values, unit, resampler.units))
            for part in parts:
                bases = [self._basis(name, units[subset], effective[subset]) for name in part.names]
                found.append((("score", subset), bases, part))
        return _joined(found)

    def _units(self, resampler: Resampler) -> tuple[dict[str, int], dict[str, float]]:
        """The units behind the scores of each subset, and their effective number."""
        units = {subset: resampler.units_of(member) for subset, member in self.subsets.items()}
        units["full"] = min(units.values())
        return units, {subset: effective_units(resampler.unit[member]) for subset, member in self.subsets.items()}

    def _basis(self, metric: str, units: int, effective: float = math.nan) -> Basis:
        own, classes = METRICS[metric], self._of_classes
        share = own.share or (classes and metric == "mean_error")
        return Basis(
            units, scale_between(*self.system.range_of(own, classes=classes)), effective if share else math.nan
        )

    @cached_property
    def _of_classes(self) -> bool:
        """Whether errors are 0 or 1, so that their mean is a share, even if answers are not known."""
        errors = self.system.errors
        return not self.system.root and bool(((errors == 0) | (errors == 1)).all())

    def _slice_statistics(self, resampler: Resampler) -> Iterator[tuple[Label, list[Basis], Statistic]]:
        """The mean errors of slices that have enough units for an interval."""
        for column, groups, codes, member in groups_of(self.records):
            unit = resampler.unit[member]
            units = np.bincount(distinct(codes * resampler.units + unit)[0] // resampler.units)
            wide = np.flatnonzero(units >= FEWEST)
            inside = np.isin(codes, wide)
            if len(wide):
                values, code = self.system.errors[member][inside], np.searchsorted(wide, codes[inside])
                part = GroupMeans([groups[each] for each in wide], values, code, unit[inside], resampler.units)
                effective = [effective_units(unit[codes == each]) for each in wide]
                bases = [self._basis("mean_error", int(units[k]), e) for k, e in zip(wide, effective, strict=True)]
                yield ("slice", column), bases, part

    def _level(self, member: Flags, resampler: Resampler) -> Statistic:
        """The error level, in the unit of the target if errors are squared."""
        mean = Means(("mean_error",), self.system.errors[member][None], resampler.unit[member], resampler.units)
        return Root(("rmse",), mean) if self.system.root else mean

    def _subset_statistics(self, subset: str, member: Flags, resampler: Resampler, shared: set[str]) -> list[Statistic]:
        unit, units, system = resampler.unit[member], resampler.units, self.system
        errors = system.errors[member]
        means = sorted(system.means.keys() & shared)
        rows = {"mean_error": errors} | {name: system.means[name][member] for name in means}
        good = None
        if self.threshold is not None:
            good = retention.acceptable(errors, self.threshold, self.rule)
            rows["acceptable"] = good.astype(np.float64)
        found: list[Statistic] = [Means(tuple(rows), np.array(list(rows.values())), unit, units)]
        if system.root:
            found.append(self._level(member, resampler))
        scores, areas = self._of_sets(subset, member, resampler, shared)
        ranking = self.rankings[subset]
        ranked = Ranked.of(ranking, unit, units)
        ordered: list[OfOrder] = [Retention(errors, good, ranked, rule=self.rule, rejection=True, selective=True)]
        if subset == "full" and self.records.shifted is not None and self.records.two_sided:
            ordered.append(Detection(self.records.shifted, ranked, average_precision=True))
        return [*found, *scores, SameOrder(*ordered), *areas, *self._of_length(subset, unit, units)]

    @cached_property
    def _by_length(self) -> dict[str, tuple[Ranking, Ranking]]:
        """The rankings of each subset by length and by error; none without lengths."""
        if self.system.length is None:
            return {}
        lengths, errors = self._rankings(self.system.length), self._rankings(self.system.errors)
        return {subset: (lengths[subset], errors[subset]) for subset in self.subsets}

    def _of_length(self, subset: str, unit: Index, units: int) -> list[Statistic]:
        """The correlations of the length check."""
        rankings = [self.rankings[subset], *self._by_length.get(subset, ())]
        pairs = {"error_length_correlation": (2, 1), "length_correlation": (0, 1), "error_correlation": (0, 2)}
        return [RankCorrelations(pairs, rankings, unit, units)] if len(rankings) > 1 else []

    def _of_sets(
        self, subset: str, member: Flags, resampler: Resampler, names: set[str]
    ) -> tuple[list[Statistic], list[Statistic]]:
        """Scores of sets among `names`, and the areas under their retention curves."""
        unit, units, ranking = resampler.unit[member], resampler.units, self.rankings[subset]
        terms_of = {name: self.system.sets[name].select(member) for name in sorted(self.system.sets.keys() & names)}
        scores: list[Statistic] = [SetScore(METRICS[name], each.found, unit, units) for name, each in terms_of.items()]
        areas: list[Statistic] = [
            SetRetention(metric, terms_of[metric.name], ranking, unit, units, rule=self.rule, points=REPLICATE_POINTS)
            for metric, _ in self.system.with_retention()
            if metric.name in terms_of
        ]
        return scores, areas

    # Reported values.

    def scores(self, ends: Mapping[Label, Ends]) -> list[Score]:
        """All scores: of the headline measure with intervals, of the others without."""
        found = []
        for subset in self.subsets:
            for metric, value in self._values(self.system, subset, self.points[subset]).items():
                found.append(self._score(subset, metric, value, ends=ends.get(("score", subset, metric))))
            found += self._references(subset)
        if self.records.two_sided:
            ratio = _shift_ratio(self.system, self.points)
            found.append(self._score("full", "shift_ratio", ratio, ends=ends.get(("score", "full", "shift_ratio"))))
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
        alone = np.zeros(points.n, dtype=np.intp)  # all records as one unit
        for name, terms in system.sets.items():
            score = SetScore(METRICS[name], terms.found.select(member), alone, 1)
            values[name] = float(score.values(np.ones(1))[0])
        if self.system is system and self._by_length:
            values["error_length_correlation"] = correlation(*self._by_length[subset])
        if system.confidence is not None:
            values["ece"] = calibration_error(system.confidence[member], 1.0 - system.errors[member])
        return values

    def _set_areas(self, system: Scored, subset: str, ranking: Ranking) -> dict[str, float]:
        """The areas under the retention curves of scores of sets."""
        member = self.subsets[subset]
        return {
            metric.area: set_area(metric, terms.select(member), ranking, self.rule)
            for metric, terms in system.with_retention()
        }

    def _measure_scores(self, measure: str, rankings: Mapping[str, Ranking], ends: Mapping[Label, Ends]) -> list[Score]:
        found = []
        for subset in self.subsets:
            points = self.points[subset]
            if measure != self.system.measure:
                points = self._retention(self.system, subset, rankings[subset])
            values = _retention_values(points) | self._set_areas(self.system, subset, rankings[subset])
            values |= selective.scores(self.system.errors[self.subsets[subset]], rankings[subset], self._best[subset])
            if self._by_length:
                names = ("length_correlation", "error_correlation")
                found_by = (correlation(rankings[subset], other) for other in self._by_length[subset])
                values |= dict(zip(names, found_by, strict=True))
            if subset == "full" and self.records.two_sided:
                assert self.records.shifted is not None
                values["roc_auc"] = roc_area(self.records.shifted, rankings["full"])
                # Always average precision: the published trapezoid credits a constant uncertainty with skill.
                values["pr_auc"] = pr_auc(self.system.uncertainty[measure], self.records.shifted, rule="exact")
            for metric, value in values.items():
                found_ends = ends.get(("score", subset, metric)) if measure == self.system.measure else None
                found.append(self._score(subset, metric, value, measure=measure, ends=found_ends))
        return found

    def _references(self, subset: str) -> list[Score]:
        """The scores of a random and of the optimal order on the same errors."""
        points = self.points[subset]
        values = [("random", "r_auc", points.r_auc_random), ("optimal", "r_auc", points.r_auc_optimal)]
        if points.f1_auc_random is not None and points.f1_auc_optimal is not None:
            values += [("random", "f1_auc", points.f1_auc_random), ("optimal", "f1_auc", points.f1_auc_optimal)]
        return [self._score(subset, metric, value, measure=f"{order} order") for order, metric, value in values]

    def _score(self, subset: str, metric: str, value: float, *, measure: str = "", ends: Ends | None = None) -> Score:
        n = int(np.count_nonzero(self.subsets[subset]))
        name = self.system.system.name
        ends = ends or Ends()
        if ends.low is not None and metric in OF_ACCEPTABLE and self.points[subset].acceptable in (0.0, 1.0):
            ends = Ends(no_interval=NO_VARIATION)  # all errors are equal in every replicate
        return Score(
            name, self.records.split, subset, metric, float(value), n, measure, **_holding(value, ends)._asdict()
        )

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
        found = {}
        for subset in self.subsets:
            points = self._retention(single, subset, rankings[subset])
            values = self._values(single, subset, points) | _retention_values(points)
            values |= self._set_areas(single, subset, rankings[subset])
            errors = single.errors[self.subsets[subset]]
            values |= selective.scores(errors, rankings[subset], selective.Best.of(errors))
            if subset == "full" and self.records.shifted is not None and self.records.two_sided:
                values["roc_auc"] = roc_area(self.records.shifted, rankings["full"])
            yield from (((subset, metric), value) for metric, value in values.items())
            found[subset] = points
        if self.records.two_sided:
            yield ("full", "shift_ratio"), _shift_ratio(single, found)

    def _single_score(self, single: System, place: tuple[str, str], column: list[float]) -> Score:
        subset, metric = place
        n = int(np.count_nonzero(self.subsets[subset]))
        measure = single.measure if METRICS[metric].uses_uncertainty else ""
        spread = float(np.std(column, ddof=1))
        return Score(
            single.name, self.records.split, subset, metric, float(np.mean(column)), n, measure,
            std=spread if math.isfinite(spread) else None, each=tuple(column),
        )  # fmt: skip

    def slices(self, ends: Mapping[Label, Ends]) -> list[Slice]:
        """Scores by group, the largest mean error first."""
        found = []
        uncertainty = self.system.uncertainty[self.system.measure]
        for column, groups, codes, member in groups_of(self.records):
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
                # Without clusters a group always has enough units for an interval; with clusters it may not.
                found_ends = ends.get(("slice", column, group), Ends(no_interval="too few clusters"))
                low, high, no_interval = _holding(points.mean_error, found_ends)
                shifted = None if self.records.shifted is None else float(self.records.shifted[inside].mean())
                scores = (points.mean_error, low, high, points.r_auc, points.acceptable, no_interval)
                name, split = self.system.system.name, self.records.split
                rows.append(Slice(name, split, column, group, len(inside), shifted, *scores))
            found += sorted(rows, key=lambda row: -row.mean_error)
        return found

    def parts(self) -> list[Part]:
        """The R-AUC on the full subset as a sum.

        R-AUC = (level of a random order) + (effect of the ranking), and the effect of the ranking is a sum over pairs
        of records, so it splits into pairs within the in-domain records, pairs within the shifted ones, and pairs
        across.
        """
        name, split, points = self.system.system.name, self.records.split, self.points
        if self.records.part and not self.records.two_sided:  # the other side's parts would be missing
            return []
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
        """The factor from an area to a sum over pairs of records under the rule."""
        return float(points.n) * (points.n + (1 if self.rule == "published" else 0))

    def warn(self) -> None:
        """Warn of suspicious uncertainties; the warnings are caught by `build`."""
        name, where = self.system.system.name, self.records.split
        measure, errors = self.system.measure, self.system.errors
        if not measure:
            return
        values = self.system.uncertainty[measure]
        if len(values) > 1 and values.min() == values.max():
            if self.system.system.role == "baseline" or _constant(self.system):
                return  # a forecast without an uncertainty of its own is expected here
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


def _constant(system: Scored) -> bool:
    """Whether a system gives the same answer to every record: then nobody expects another uncertainty, either."""
    if system.answers is None:
        return system.confidence is not None and bool(np.ptp(system.confidence) == 0)
    return bool((system.answers == system.answers[0]).all())


def _retention_values(points: RetentionScores) -> dict[str, float]:
    names = ("r_auc", "rejection_ratio", "f1_auc", "f1_auc_normalised", "f1_at_95")
    values = {name: getattr(points, name) for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _shift_ratio(system: Scored, points: Mapping[str, RetentionScores]) -> float:
    """The ratio of the shifted to the in-domain error, RMSE or mean error; NaN unless both are positive."""
    above, below = points["shifted"].mean_error, points["in"].mean_error
    return retention.shift_ratio(above, below, root=system.root)


def _holding(value: float, ends: Ends) -> Ends:
    """The interval extended to contain its score, which is rounded differently from those of replicates."""
    if ends.low is None or ends.high is None:
        return ends
    return ends._replace(low=min(ends.low, float(value)), high=max(ends.high, float(value)))


def effective_units(unit: Index) -> float:
    """The effective number of independent units behind a share, if records [n] of a unit always agree.

    (sum of the units' sizes)^2 / sum of their squares: the number of units if sizes are equal, otherwise less.
    Source: Kish (1965), Section 8.2.
    """
    sizes = np.bincount(unit).astype(np.float64)
    return float(sizes.sum() ** 2 / (sizes**2).sum())
