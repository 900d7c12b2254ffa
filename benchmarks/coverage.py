"""How often intervals hold the truth: `python -m benchmarks.coverage` simulates clustered data and prints a table.

Stations (clusters) of 10 to 50 records differ in the level of their errors and in what is predicted for them; half of
them are shifted: noisier than their uncertainty says. A second system is a little worse on the same records. The truth
is the score of a very large sample of stations. Each line gives the coverage of nominal 95 % intervals and how often
the truth lies below and above them, in percent. Standard error of a coverage of 95 % over 400 simulations: 1.1 %.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import repeat

import numpy as np
from rich.console import Console
from rich.table import Table

from shiftbench.check import Flags, Vector
from shiftbench.intervals import Bootstrap, Kind, Settings, bootstrap
from shiftbench.ranking import Index, Ranking
from shiftbench.resampling import Detection, Joined, Means, Resampler, Retention

SCORES = ("mean_error", "r_auc", "f1_auc", "f1_auc_normalised", "f1_at_95", "rejection_ratio", "roc_auc")
THRESHOLD = 1.0
POPULATION = 60_000  # clusters in each of the large samples
POPULATIONS = 8


@dataclass(frozen=True)
class Sample:
    """Records of clusters: errors and uncertainty of two systems [2, N], shifted [N], cluster [N]."""

    errors: Vector
    uncertainty: Vector
    shifted: Flags
    cluster: Index


def sample(clusters: int, rng: np.random.Generator, *, spread: float, straddling: bool = False) -> Sample:
    """Clusters whose error level varies log-normally by `spread`; squared errors of heteroscedastic predictions.

    straddling: every cluster has shifted and in-domain records (a day), instead of one kind only (a station).
    """
    cluster = np.repeat(np.arange(clusters), rng.integers(10, 51, clusters))
    n = len(cluster)
    shifted = (np.arange(n) if straddling else cluster) % 2 == 1
    log_level = rng.normal(0.0, spread, clusters)[cluster]
    predicted = rng.normal(0.0, 0.5, clusters)[cluster] + rng.normal(0.0, 0.5, n) + 0.5 * shifted
    deviation = np.exp(0.4 * predicted + log_level + 0.2 * shifted)
    noise = rng.normal(0.0, 1.0, (2, n))
    answers = deviation * np.array([noise[0], 0.8 * noise[0] + 0.7 * noise[1]])
    uncertainty = 0.8 * predicted + np.array([[0.3], [0.5]]) * rng.normal(0.0, 1.0, (2, n))
    return Sample(answers**2, uncertainty, shifted, cluster)


def statistics(data: Sample, resampler: Resampler) -> list[Joined]:
    """All scores of both systems."""
    unit, units = resampler.unit, resampler.units
    joined = []
    for errors, uncertainty in zip(data.errors, data.uncertainty, strict=True):
        ranking = Ranking.of(uncertainty)
        good = errors <= THRESHOLD
        retention = Retention(errors, good, ranking, unit, units, rule="published", rejection=True)
        detection = Detection(data.shifted, ranking, unit, units)
        joined.append(Joined([Means(("mean_error",), errors[None], unit, units), retention, detection]))
    return joined


def truth(spread: float, *, straddling: bool = False) -> Vector:
    """Scores [3, S] of the first system, the second, and their difference: means over very large samples."""
    rng = np.random.default_rng(1)
    found = []
    for _ in range(POPULATIONS):
        data = sample(POPULATION, rng, spread=spread, straddling=straddling)
        resampler = Resampler(len(data.cluster), clusters=data.cluster)
        found.append([statistic.values(np.ones(resampler.units)) for statistic in statistics(data, resampler)])
    first, second = np.mean(found, axis=0)
    return np.array([first, second, first - second])


def ends(result: Bootstrap) -> Vector:
    """Low and high ends [2, 3, S] of both systems and of their difference."""
    sides = zip(result.intervals(), result.difference(0)[1:3], strict=True)
    return np.array([[*systems, difference] for systems, difference in sides])


def intervals(data: Sample, seed: int, replicates: int) -> Iterator[tuple[str, Vector]]:
    """Every kind of interval for one sample, by name; the kinds by cluster share their replicates."""

    def drawn(resampler: Resampler, kind: Kind, count: int = replicates) -> Bootstrap:
        settings = Settings(replicates=count, kind=kind, seed=seed)
        return bootstrap(statistics(data, resampler), resampler, settings)

    strata = data.shifted.astype(np.intp)
    by_cluster = Resampler(len(strata), clusters=data.cluster, strata=strata)
    studentised = drawn(by_cluster, "studentised")
    acceleration = drawn(by_cluster, "bca", 1).acceleration
    yield "studentised", ends(studentised)
    yield "percentile", ends(replace(studentised, kind="percentile"))
    yield "bca", ends(replace(studentised, kind="bca", acceleration=acceleration))
    yield "percentile by record", ends(drawn(Resampler(len(strata), strata=strata), "percentile"))


@dataclass(frozen=True)
class Scenario:
    """What is simulated: how many clusters, how unlike they are, and whether they lie on both sides of the shift."""

    clusters: int
    spread: float
    straddling: bool = False


def simulated(scenario: Scenario, target: Vector, seed: int, replicates: int) -> dict[str, Vector]:
    """For each kind, where the truth lies below and where above the interval of one sample, [2, 3, S]."""
    data = sample(
        scenario.clusters, np.random.default_rng([7, seed]), spread=scenario.spread, straddling=scenario.straddling
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dict(intervals(data, seed, replicates))
    return {kind: np.array([target < low, target > high]) for kind, (low, high) in found.items()}


def coverage(scenario: Scenario, *, simulations: int, replicates: int, cores: int) -> dict[str, Vector]:
    """For each kind, the shares of simulations whose truth lies below and above the interval, [2, 3, S]."""
    target = truth(scenario.spread, straddling=scenario.straddling)
    with ProcessPoolExecutor(cores) as pool:
        tasks = pool.map(
            simulated, repeat(scenario), repeat(target), range(simulations), repeat(replicates), chunksize=8
        )
        missed = list(tasks)
    return {kind: np.mean([one[kind] for one in missed], axis=0) for kind in missed[0]}


def table(scenario: Scenario, missed: dict[str, Vector]) -> Table:
    """Coverage, and the share of truths below and above, in percent."""
    place = "on both sides of the shift" if scenario.straddling else "on one side of the shift each"
    shown = Table("score", title=f"{scenario.clusters} clusters {place}, spread of log level {scenario.spread:g}")
    for kind in missed:
        shown.add_column(kind, justify="right")
    for row, label in ((0, ""), (2, ", paired difference")):
        for s, name in enumerate(SCORES):
            cells = [cell(100.0 * shares[:, row, s]) for shares in missed.values()]
            shown.add_row(name + label, *cells)
    return shown


def cell(shares: Vector) -> str:
    """Coverage (truth below / truth above)."""
    return f"{100.0 - shares.sum():.1f} ({shares[0]:.1f} / {shares[1]:.1f})"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a table for each scenario."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--clusters", type=int, nargs="+", default=[50, 100])
    parser.add_argument("--spread", type=float, default=0.25)
    parser.add_argument("--straddling", action="store_true", help="clusters with shifted and in-domain records")
    parser.add_argument("--simulations", type=int, default=400)
    parser.add_argument("--replicates", type=int, default=400)
    parser.add_argument("--cores", type=int, default=2)
    chosen = parser.parse_args(arguments)
    for clusters in chosen.clusters:
        scenario = Scenario(clusters, chosen.spread, chosen.straddling)
        missed = coverage(scenario, simulations=chosen.simulations, replicates=chosen.replicates, cores=chosen.cores)
        Console(width=140).print(table(scenario, missed))


if __name__ == "__main__":
    main()
