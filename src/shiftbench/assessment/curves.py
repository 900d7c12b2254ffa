"""The curves of a report: computed from all records, and thinned only for drawing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from shiftbench.assessment.scored import Records, Scored
from shiftbench.check import Vector
from shiftbench.scores.detection import roc_points
from shiftbench.scores.metric import METRICS
from shiftbench.scores.ranking import Ranking
from shiftbench.scores.resampling import set_curve
from shiftbench.scores.retention import Rule, acceptable, error_curve, f1_curve
from shiftbench.scores.score import Curve

POINTS = 201
BINS = 20
FULL_BIN, FEWEST_BINS = 50, 4  # records that a bin should hold, and the bins that there are in any case
PARTS = 60  # of the range of a density
FINE = 5  # steps of a smoothed density, a part
LARGEST_DRAWN = 1e150


def curves(
    records: Records, system: Scored, rankings: Mapping[str, Ranking], *, threshold: float | None, rule: Rule,
    least: int = 1,
) -> Iterator[Curve]:  # fmt: skip
    """All curves of a system on a split; `rankings` gives each subset's ranking by the headline measure.

    least: records that lie between two points, or in a bin, so that with more than one none can be told by itself.
    """
    for subset, member in records.subsets().items():
        part = system.select(member)
        place = (system.system.name, records.split, subset)
        for each in (
            *_retention(place, part, rankings[subset], threshold, rule), *_set_retention(place, part, rankings[subset]),
            *_drawn(place, part),
        ):  # fmt: skip
            yield _spaced(each, len(part.errors), least)
        yield from _calibration(place, part, least)
    if records.shifted is not None and records.two_sided:
        false, true = roc_points(records.shifted, rankings["full"])
        place = (system.system.name, records.split, "full")
        yield _spaced(_curve(place, "roc", *_thinned(false, true), measure=system.measure), records.n, least)
        if least < 2:  # a record far from all others has a peak of its own
            yield from _densities(records, system)


def _curve(
    place: tuple[str, str, str], kind: str, x: Vector, y: Vector, *, measure: str = "", order: str = "uncertainty",
    log_x: bool = False,
) -> Curve:  # fmt: skip
    system, split, subset = place
    return Curve(system, split, subset, kind, tuple(map(float, x)), tuple(map(float, y)), measure, order, log_x)


def _thinned(x: Vector, y: Vector) -> tuple[Vector, Vector]:
    """At most `POINTS` points, including the first and the last, spread over flat and steep parts."""
    if len(x) <= POINTS:
        return x, y
    kept = np.unique(np.linspace(0, len(x) - 1, POINTS).round().astype(np.intp))
    return x[kept], y[kept]


def _spaced(curve: Curve, n: int, least: int) -> Curve:
    """A curve over n records with at least so many between two of its points."""
    most = max(2, n // least + 1)
    if least < 2 or len(curve.x) <= most:
        return curve
    kept = np.linspace(0, len(curve.x) - 1, most).round().astype(np.intp).tolist()
    return replace(curve, x=tuple(curve.x[k] for k in kept), y=tuple(curve.y[k] for k in kept))


def _retention(
    place: tuple[str, str, str], part: Scored, ranking: Ranking, threshold: float | None, rule: Rule
) -> Iterator[Curve]:
    n = len(part.errors)
    x = np.arange(n + 1) / n
    best = Ranking.of(part.errors)
    mean = float(part.errors.mean())
    for order, curve in (
        ("uncertainty", error_curve(part.errors, ranking)),
        ("random", mean * x),
        ("optimal", error_curve(part.errors, best)),
    ):
        yield _curve(place, "error_retention", *_thinned(x, curve), measure=part.measure, order=order)
    if threshold is None:
        return
    good = acceptable(part.errors, threshold, rule)
    share = np.count_nonzero(good) / n
    expected = np.divide(2.0 * share * x, x + share, out=np.zeros_like(x), where=x + share > 0)
    for order, curve in (
        ("uncertainty", f1_curve(good, ranking)),
        ("random", expected),
        ("optimal", f1_curve(good, best)),
    ):
        yield _curve(place, "f1_retention", *_thinned(x, curve), measure=part.measure, order=order)


def _set_retention(place: tuple[str, str, str], part: Scored, ranking: Ranking) -> Iterator[Curve]:
    """The retention curves of scores of sets; a random order has the expected sums, the optimal one is unknown."""
    orders = {"uncertainty": ranking, "random": Ranking.of(np.zeros(len(part.errors)))}
    for metric, terms in part.with_retention():
        for order, by in orders.items():
            y = set_curve(metric, terms, by)
            points = _thinned(np.linspace(0.0, 1.0, len(y)), y)
            yield _curve(place, f"{metric.name}_retention", *points, measure=part.measure, order=order)


def _drawn(place: tuple[str, str, str], part: Scored) -> Iterator[Curve]:
    """Further curves of a system; of its single models the lines alone, as their mean."""
    for each in part.drawn:
        yield _curve(place, each.kind, *each.line, order=each.order)
    if part.singles is None:
        return
    lines = [[each for each in single.drawn if each.y.ndim > 1] for single in part.singles]
    for same in zip(*lines, strict=True):
        y = np.mean([each.line[1] for each in same], axis=0)
        yield _curve((part.singles.system.name, *place[1:]), same[0].kind, same[0].x, y, order=same[0].order)


def _calibration(place: tuple[str, str, str], part: Scored, least: int = 1) -> Iterator[Curve]:
    uncertainty = _drawable(part.uncertainty[part.measure])
    x, y = _binned_means(uncertainty, part.errors, least)
    if len(x) > 1:
        # A log axis if the uncertainty is positive and spans more than a factor of ten.
        yield _curve(
            place, "error_by_uncertainty", x, y, measure=part.measure, log_x=bool(x[0] > 0 and x[-1] > 10 * x[0])
        )
    if part.pit is not None:
        nominal = np.linspace(0.0, 1.0, 41)
        inside = np.sort(np.abs(2.0 * part.pit - 1.0))
        observed = np.searchsorted(inside, nominal, side="right") / len(inside)
        yield _curve(place, "coverage", nominal, observed)
    elif levels := sorted((METRICS[name].nominal, name) for name in part.means if name.startswith("coverage_")):
        observed = np.array([part.means[name].mean() for _, name in levels])
        yield _curve(place, "coverage", np.array([level for level, _ in levels]), observed)
    if part.confidence is not None:
        yield _curve(place, "reliability", *_binned_means(part.confidence, 1.0 - part.errors, least))


def _binned_means(by: Vector, values: Vector, least: int = 1) -> tuple[Vector, Vector]:
    """Means of `by` and `values` in at most `BINS` bins of equal count by `by`; ties are never split.

    Bins of fewer than `least` records are left out. Few records give fewer bins, whose means are not mere noise.
    """
    count = min(BINS, max(len(by) // FULL_BIN, FEWEST_BINS))
    edges = np.unique(np.quantile(by, np.linspace(0.0, 1.0, count + 1)))
    bins = np.clip(np.searchsorted(edges, by, side="left") - 1, 0, max(len(edges) - 2, 0))
    counts = np.bincount(bins)
    kept = counts >= least
    return (np.bincount(bins, weights=by)[kept] / counts[kept], np.bincount(bins, weights=values)[kept] / counts[kept])


def _densities(records: Records, system: Scored) -> Iterator[Curve]:
    values = _drawable(system.uncertainty[system.measure])
    low, high = np.quantile(values, [0.001, 0.999])
    if not high - low > PARTS * np.spacing(max(abs(low), abs(high))):  # too close for bins
        return
    log = bool(low > 0 and high > 10 * low)
    scaled = np.log10(np.maximum(values, np.finfo(float).tiny)) if log else values
    ends = (np.log10(low), np.log10(high)) if log else (low, high)
    for subset, member in records.subsets().items():
        if subset == "full":
            continue
        yield _density((system.system.name, records.split, subset), scaled[member], ends, log, system.measure)


def _drawable(values: Vector) -> Vector:
    """Values clipped for drawing, so that neither differences nor sums of them are infinite."""
    return np.clip(values, -LARGEST_DRAWN, LARGEST_DRAWN)


def _density(place: tuple[str, str, str], values: Vector, ends: tuple[float, float], log: bool, measure: str) -> Curve:
    edges = np.linspace(*ends, PARTS * FINE + 1)
    counts, _ = np.histogram(np.clip(values, *ends), bins=edges)
    step = float(edges[1] - edges[0])
    middles = 0.5 * (edges[1:] + edges[:-1])[FINE // 2 :: FINE]
    density = _smoothed(counts, _bandwidth(np.clip(values, *ends)) / step)[FINE // 2 :: FINE] / (len(values) * step)
    return _curve(place, "density", 10.0**middles if log else middles, density, measure=measure, log_x=log)


def _bandwidth(values: Vector) -> float:
    """The width of a Gaussian kernel by Silverman's rule of thumb (Density Estimation, 1986, eq. 3.31)."""
    quarter, three = np.quantile(values, [0.25, 0.75])
    spreads = [spread for spread in (float(values.std()), float(three - quarter) / 1.34) if spread > 0]
    return float(0.9 * min(spreads, default=0.0) * len(values) ** -0.2)


def _smoothed(counts: Vector, width: float) -> Vector:
    """Counts of equal bins under a Gaussian kernel `width` bins wide, at least a part, reflected at the ends."""
    width = max(width, float(FINE))
    reach = math.ceil(4 * width)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / width) ** 2)
    smooth: Vector = np.convolve(np.pad(counts, reach, mode="symmetric"), kernel / kernel.sum(), mode="valid")
    return smooth
