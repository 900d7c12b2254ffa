"""How often intervals hold the truth: `python -m benchmarks coverage` simulates it for results/coverage.json.

Clusters (stations, days) differ in size and in the level of their errors; half of the records are shifted, noisier than
the uncertainty says. Sizes are equal, log-normal or Pareto, or one cluster of
each side holds half of its records; errors have the tails of squared normal, of log-normal or
of squared t3 variables (the last has no variance); a cluster lies on one side of the shift or on both; the uncertainty
knows something of the errors or nothing. The truth is the score of a very large sample.

For each design and score: the coverage of nominal 95 % intervals, how often the truth lies below and above, the same of
intervals as version 0.6.0 made them and of percentiles, from the same replicates, and the median width over that of
0.6.0. The standard error of a coverage of 95 % over 200 simulations is 1.5 %.
"""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.io import files
from shiftbench.scores.intervals import FEWEST, Bootstrap, Settings, bootstrap
from shiftbench.scores.metric import METRICS
from shiftbench.scores.ranking import Index, Ranking
from shiftbench.scores.resampling import (
    DIFFERENCE,
    Detection,
    Joined,
    Means,
    Ranked,
    Ratio,
    Resampler,
    Retention,
    Statistic,
    scale_between,
)

RESULTS = Path(__file__).resolve().parent.parent / "results" / "coverage.json"
SCORES = (
    "mean_error", "r_auc", "f1_auc", "f1_auc_normalised", "f1_at_95", "rejection_ratio", "r_auc_difference",
    "shift_ratio", "roc_auc",
)  # fmt: skip
KINDS = ("studentised", "studentised as in 0.6.0", "percentile")
THRESHOLD = 1.0
MEAN_SIZE = 12
POPULATION = 1_000_000
SIMULATIONS, REPLICATES = 200, 299
NOMINAL = 0.95


@dataclass(frozen=True)
class Design:
    """What is simulated; `clusters` are those on each side of the shift, or all where they lie on both."""

    clusters: int
    sizes: str = "lognormal"
    errors: str = "chi-square"
    both_sides: bool = False
    informative: bool = True

    @property
    def title(self) -> str:
        """In words."""
        place = "on both sides of the shift" if self.both_sides else "a side"
        knows = "" if self.informative else ", uninformative uncertainty"
        return f"{self.clusters} clusters {place}, {self.sizes} sizes, {self.errors} errors{knows}"


DESIGNS = (
    Design(25),
    Design(25, both_sides=True),
    Design(50),
    Design(10),
    Design(25, sizes="Pareto", errors="log-normal"),
    Design(25, sizes="equal"),
    Design(50, both_sides=True),
    Design(100),
    Design(25, errors="squared t3"),
    Design(10, both_sides=True),
    Design(25, informative=False),
    Design(50, sizes="Pareto", errors="log-normal"),
    Design(50, sizes="equal"),
    Design(10, sizes="equal"),
    Design(100, errors="squared t3"),
    Design(25, sizes="dominated"),
    Design(10, sizes="dominated", errors="log-normal"),
)


@dataclass(frozen=True)
class Sample:
    """Records: expected errors and errors of two systems [2, N], uncertainty [2, N], shifted [N], cluster [N]."""

    expected: Vector
    errors: Vector
    uncertainty: Vector
    shifted: Flags
    cluster: Index


def sample(design: Design, sizes: Index, rng: np.random.Generator) -> Sample:
    """Records of clusters of the given sizes."""
    clusters, n = len(sizes), int(sizes.sum())
    cluster = np.repeat(np.arange(clusters), sizes)
    shifted = (np.arange(n) if design.both_sides else cluster) % 2 == 1
    known = rng.normal(0.0, 0.5, clusters)[cluster] + rng.normal(0.0, 0.5, n) + 0.3 * shifted
    level = np.exp(known + rng.normal(0.0, 0.4, clusters)[cluster] + 0.4 * shifted)
    own = np.exp(0.2 * rng.normal(size=(2, n)))  # what the two systems do not share
    expected = level * own * np.array([[1.0], [1.1]])
    noise = np.array([[0.3], [0.5]]) * rng.normal(size=(2, n))
    uncertainty = known + noise if design.informative else 0.3 * shifted + 3.0 * noise
    return Sample(expected, expected * drawn_errors(design, n, rng), uncertainty, shifted, cluster)


def samples(design: Design, rng: np.random.Generator) -> Iterator[tuple[Sample, Resampler]]:
    """Samples that have intervals: not those with fewer than ten clusters on a side (single records of a day)."""
    while True:
        data = sample(design, drawn_sizes(design, rng), rng)
        resampler = Resampler(len(data.cluster), clusters=data.cluster, strata=data.shifted.astype(np.intp))
        if resampler.fewest >= FEWEST:
            yield data, resampler


def drawn_sizes(design: Design, rng: np.random.Generator) -> Index:
    """Sizes of all clusters, about 12 records each."""
    clusters = design.clusters if design.both_sides else 2 * design.clusters
    if design.sizes == "equal":
        return np.full(clusters, MEAN_SIZE)
    if design.sizes == "dominated":
        large = 1 if design.both_sides else 2
        return np.where(np.arange(clusters) < large, MEAN_SIZE * (design.clusters - 1), MEAN_SIZE)
    if design.sizes == "lognormal":
        drawn = MEAN_SIZE * np.exp(rng.normal(-0.5, 1.0, clusters))
    else:
        drawn = np.minimum(MEAN_SIZE / 3.0 * (1.0 + rng.pareto(1.5, clusters)), 2_000.0)
    return np.maximum(np.round(drawn), 1).astype(np.intp)


def drawn_errors(design: Design, n: int, rng: np.random.Generator) -> Vector:
    """Errors of mean 1."""
    if design.errors == "chi-square":
        return rng.chisquare(1, n)
    if design.errors == "log-normal":
        return np.exp(rng.normal(-0.5, 1.0, n))
    return rng.standard_t(3, n) ** 2 / 3.0


class Compared:
    """The scores of a system, and its first one less that of another."""

    def __init__(self, name: str, first: Statistic, second: Statistic) -> None:
        self.names: tuple[str, ...] = (*first.names, name)
        self.first, self.second = first, second

    def values(self, counts: Vector) -> Vector:
        """The scores and the difference, [S + 1]."""
        first = self.first.values(counts)
        return np.append(first, first[0] - self.second.values(counts)[0])

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """The scores and the difference, [S + 1], and their influence [S + 1, U]."""
        (first, of_first), (second, of_second) = self.first.linearised(counts), self.second.linearised(counts)
        return np.append(first, first[0] - second[0]), np.vstack((of_first, of_first[:1] - of_second[:1]))


def statistic(data: Sample, resampler: Resampler) -> Joined:
    """All scores: those of the in-domain records, shifted over in-domain, shift detection, and a paired difference."""
    units, inside = resampler.units, ~data.shifted
    rankings = [Ranking.of(row) for row in data.uncertainty]
    mean = {
        side: Means(("mean_error",), data.errors[0][member][None], resampler.unit[member], units)
        for side, member in (("in", inside), ("shifted", data.shifted))
    }
    first, second = (
        Retention(
            errors[inside], errors[inside] <= THRESHOLD if system == 0 else None,
            Ranked.of(ranking.subset(inside), resampler.unit[inside], units), rule="published", rejection=system == 0,
        )
        for system, (errors, ranking) in enumerate(zip(data.errors, rankings, strict=True))
    )  # fmt: skip
    detection = Detection(data.shifted, Ranked.of(rankings[0], resampler.unit, units))
    ratio = Ratio("shift_ratio", mean["shifted"], mean["in"])
    return Joined([mean["in"], Compared("r_auc_difference", first, second), ratio, detection])


def truth(design: Design) -> Vector:
    """The scores [S] of a very large sample of single records.

    Means of errors, also those in the R-AUC, are taken over their expectations: they have less noise.
    """
    data = sample(design, np.full(POPULATION, 1), np.random.default_rng(1))
    whole = Resampler(POPULATION, clusters=np.zeros(POPULATION, dtype=np.intp))
    found, expected = (
        dict(zip(SCORES, statistic(each, whole).values(np.ones(1)), strict=True))
        for each in (data, replace(data, errors=data.expected))
    )
    # The best order is that of the errors themselves; the area under it has little noise as it is.
    half, drawn_half = 0.5 * expected["mean_error"], 0.5 * found["mean_error"]
    best = drawn_half + (found["r_auc"] - drawn_half) / found["rejection_ratio"]
    expected["rejection_ratio"] = (expected["r_auc"] - half) / (best - half)
    smooth = {"mean_error", "r_auc", "rejection_ratio", "shift_ratio", "r_auc_difference"}
    return np.array([(expected if name in smooth else found)[name] for name in SCORES])


def scales() -> list[Any]:
    """On which scores are studentised, as reports do."""
    return [
        scale_between(METRICS[name].least, METRICS[name].most) if name in METRICS else DIFFERENCE for name in SCORES
    ]  # fmt: skip


def ends(data: Sample, resampler: Resampler, seed: int, replicates: int) -> Iterator[Vector]:
    """Low and high ends [2, S] of every kind, from the same replicates."""
    whole = statistic(data, resampler)
    settings = Settings(replicates=replicates, kind="studentised", seed=seed)
    made = bootstrap([whole], resampler, settings, scales=scales())
    yield np.array(made.intervals())[:, 0]
    yield equal_tails(made, whole, resampler)
    yield np.array(replace(made, kind="percentile").intervals())[:, 0]


def equal_tails(made: Bootstrap, whole: Joined, resampler: Resampler) -> Vector:
    """The studentised interval of 0.6.0: equal tails, scores as they stand, errors by the infinitesimal jackknife."""
    ones = np.ones(resampler.units)
    errors = resampler.standard_errors(whole.linearised(ones)[1], ones)
    assert made.replicate_errors is not None
    t = (made.replicates[:, 0] - made.values[0]) / made.replicate_errors[:, 0]
    t[~np.isfinite(t)] = np.nan
    low, high = np.nanquantile(t, [0.975, 0.025], axis=0, method="weibull")
    return np.array([made.values[0] - low * errors, made.values[0] - high * errors])


def simulated(design: Design, target: Vector, seed: int, replicates: int) -> Vector:
    """Whether the truth lies below, whether above, and the width, [3, kinds, S], of one sample."""
    rng = np.random.default_rng([7, seed])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few clusters; a replicate without standard error
        drawn = next(samples(design, rng))
        low, high = np.moveaxis(np.array(list(ends(*drawn, seed, replicates))), 1, 0)
    return np.array([target < low, target > high, high - low])


def coverage(design: Design, *, simulations: int, replicates: int, cores: int) -> dict[str, Any]:
    """What the intervals of a design hold: kind → score → coverage, misses on each side, and width over 0.6.0's."""
    target = truth(design)
    with ProcessPoolExecutor(cores) as pool:
        tasks = pool.map(simulated, repeat(design), repeat(target), range(simulations), repeat(replicates), chunksize=4)
        below, above, width = np.moveaxis(np.array(list(tasks)), 1, 0)
    widths = np.nanmedian(width, axis=0)
    kinds = {
        kind: {
            score: {
                "coverage": round(1.0 - float(below[:, k, s].mean() + above[:, k, s].mean()), 4),
                "truth_below": round(float(below[:, k, s].mean()), 4),
                "truth_above": round(float(above[:, k, s].mean()), 4),
                "width": round(float(widths[k, s] / widths[1, s]), 3),
            }
            for s, score in enumerate(SCORES)
        }
        for k, kind in enumerate(KINDS)
    }
    return {"design": asdict(design), "title": design.title, "kinds": kinds}


def ratios(
    *, designs: Sequence[Design] = DESIGNS, simulations: int = SIMULATIONS, replicates: int = REPLICATES, cores: int = 2
) -> list[tuple[str, float, float | None]]:
    """Misses of nominal 95 % intervals over 5 %, the mean of all scores, for each design; writes all to results/."""
    found = []
    for design in designs:
        found.append(coverage(design, simulations=simulations, replicates=replicates, cores=cores))
        nominal = {"level": NOMINAL, "simulations": simulations, "replicates": replicates}
        files.write_json(RESULTS, nominal | {"designs": found})
    return [(f"misses / nominal: {each['title']}", misses(each["kinds"]["studentised"]), None) for each in found]


def misses(scores: dict[str, dict[str, float]]) -> float:
    """The share of intervals that miss the truth over the nominal share, the mean of all scores."""
    return float(np.mean([1.0 - each["coverage"] for each in scores.values()])) / (1.0 - NOMINAL)


def page() -> str:
    """The table of coverages from results/coverage.json; in brackets the intervals of version 0.6.0."""
    shown = ("mean_error", "r_auc", "f1_auc", "rejection_ratio", "shift_ratio", "roc_auc", "r_auc_difference")
    titles = (
        "mean error",
        "R-AUC",
        "F1-AUC",
        "rejection ratio",
        "shifted / in-domain",
        "ROC-AUC",
        "difference of R-AUCs",
    )
    lines = [f"| design | {' | '.join(titles)} | width |", f"|---|{'---|' * (len(titles) + 1)}"]
    for each in json.loads(RESULTS.read_text("utf-8"))["designs"]:
        now, before = (each["kinds"][kind] for kind in KINDS[:2])
        cells = [f"{100 * now[name]['coverage']:.1f} ({100 * before[name]['coverage']:.1f})" for name in shown]
        width = float(np.median([now[name]["width"] for name in shown]))
        lines.append(f"| {each['title']} | {' | '.join(cells)} | {width:.2f} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Simulate, or with --page print the table of the docs from what is in results/."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument(
        "--page", action="store_true", help="only print the table of docs/findings/interval-coverage.md"
    )
    parser.add_argument("--simulations", type=int, default=SIMULATIONS)
    parser.add_argument("--replicates", type=int, default=REPLICATES)
    parser.add_argument("--cores", type=int, default=2)
    chosen = parser.parse_args(arguments)
    if not chosen.page:
        ratios(simulations=chosen.simulations, replicates=chosen.replicates, cores=chosen.cores)
    print(page())


if __name__ == "__main__":
    main()
