"""All measures of a classification ensemble [10, 200k, 9], against one logarithm of it and against whole arrays."""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable

import numpy as np

from shiftbench.ensembles import Array, Categorical
from shiftbench.measures import measures_for, uncertainty

MEMBERS, RECORDS, CLASSES = 10, 200_000, 9
REPEATS = 5


def all_measures(ensemble: Categorical) -> dict[str, Array]:
    """Each measure by itself, as `uncertainty` gives it."""
    return {name: uncertainty(ensemble, name) for name in measures_for(ensemble)}


def whole_arrays(p: Array) -> dict[str, Array]:
    """The definitions as they are usually written: each line makes arrays as large as the ensemble."""
    return {
        "epkl": (-p.mean(0) * np.log(p + 1e-10).mean(0)).sum(-1) + (p * np.log(p + 1e-10)).sum(-1).mean(0),
        "negated_confidence": -p.mean(0).max(-1),
        "entropy_of_expected": -(p.mean(0) * np.log(p.mean(0) + 1e-10)).sum(-1),
        "expected_entropy": -(p * np.log(p + 1e-10)).sum(-1).mean(0),
        "mutual_information": (p * np.log(p + 1e-10)).sum(-1).mean(0) - (p.mean(0) * np.log(p.mean(0) + 1e-10)).sum(-1),
        "reverse_mutual_information": (p.mean(0) * np.log(p.mean(0) + 1e-10)).sum(-1)
        - (p.mean(0) * np.log(p + 1e-10).mean(0)).sum(-1),
    }


def seconds(work: Callable[[], object]) -> float:
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak_bytes(work: Callable[[], object]) -> int:
    """The most memory that one call holds at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def ratios() -> list[tuple[str, float, float | None]]:
    """Measured ratios and their bounds: medians of runs that alternate, so that a busy machine slows all alike."""
    rng = np.random.default_rng(0)
    ensemble = Categorical(rng.dirichlet(np.full(CLASSES, 0.5), (MEMBERS, RECORDS)))
    p = ensemble.probabilities
    ours, twin = all_measures(ensemble), whole_arrays(p)
    assert all(np.allclose(ours[name], twin[name], atol=1e-9) for name in ours)
    works = {
        "all": lambda: all_measures(ensemble),
        "dearest": lambda: uncertainty(ensemble, "epkl"),
        "twin": lambda: whole_arrays(p),
        "log": lambda: np.log(p + 1e-10),
    }
    runs = [{name: seconds(work) for name, work in works.items()} for _ in range(REPEATS)]
    median = {name: statistics.median(run[name] for run in runs) for name in works}
    memory = peak_bytes(works["all"]) / p.nbytes
    shape = f"[{MEMBERS}, {RECORDS:,}, {CLASSES}]"
    return [
        (f"epkl of {shape} / one np.log of it", median["dearest"] / median["log"], 2.5),
        (f"all {len(ours)} measures of {shape} / whole-array twins", median["all"] / median["twin"], 0.8),
        (f"peak memory of all {len(ours)} measures / size of {shape}", memory, 0.2),
    ]


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: {ratio:.2f} (at most {bound})")
