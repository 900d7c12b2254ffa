"""Retention scores of ten million records against one `np.argsort` of the same array, and the memory they take.

CPU seconds, alternating, medians: others may use the machine at the same time.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from shiftbench import check
from shiftbench.check import Flags, Vector
from shiftbench.scores.detection import roc_area
from shiftbench.scores.ranking import Ranking
from shiftbench.scores.retention import f1_at, f1_auc, r_auc, ranked_scores

RECORDS = 10_000_000
ROUNDS = 3
THRESHOLD = 1.0


def arrays() -> tuple[Vector, Vector, Flags]:
    """Errors, uncertainty and shifted, each [N]."""
    rng = np.random.default_rng(0)
    uncertainty = rng.normal(size=RECORDS)
    return np.exp(uncertainty) * rng.chisquare(1, RECORDS), uncertainty, rng.random(RECORDS) < 0.3


def one_after_the_other(errors: Vector, uncertainty: Vector) -> None:
    """Three public calls, each with a sort of its own."""
    r_auc(errors, uncertainty)
    f1_auc(errors, uncertainty, threshold=THRESHOLD)
    f1_at(errors, uncertainty, threshold=THRESHOLD)


def from_one_sort(errors: Vector, uncertainty: Vector, shifted: Flags) -> None:
    """All retention scores and the ROC-AUC, checks included."""
    errors, uncertainty = check.vectors(nonnegative=("errors",), errors=errors, uncertainty=uncertainty)
    ranking = Ranking.of(uncertainty)
    ranked_scores(errors, ranking, threshold=THRESHOLD, rule="published")
    roc_area(shifted, ranking)


def cpu_seconds(act: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    act()
    return time.process_time() - start


def peak_gigabytes() -> float:
    """Largest resident memory of a fresh process that makes the arrays and calls everything."""
    code = "from benchmarks import retention; retention.print_peak()"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def print_peak() -> None:
    """Call everything once and print the peak resident memory of this process in GB."""
    errors, uncertainty, shifted = arrays()
    one_after_the_other(errors, uncertainty)
    from_one_sort(errors, uncertainty, shifted)
    status = Path("/proc/self/status")
    if status.exists():  # what getrusage says of a child begins with the memory of the parent it was forked from
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        print(int(line.split()[1]) * 1024 / 1e9)
        return
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(peak / (1e9 if sys.platform == "darwin" else 1e6))  # bytes there, kilobytes elsewhere


def ratios() -> list[tuple[str, float, float | None]]:
    """CPU time over that of one argsort, and peak memory in GB."""
    errors, uncertainty, shifted = arrays()
    acts: list[Callable[[], object]] = [
        lambda: np.argsort(uncertainty),
        lambda: one_after_the_other(errors, uncertainty),
        lambda: from_one_sort(errors, uncertainty, shifted),
    ]
    rounds = [[cpu_seconds(act) for act in acts] for _ in range(ROUNDS)]
    argsort, separate, together = (median(column) for column in zip(*rounds, strict=True))
    return [
        ("r_auc + f1_auc + f1_at, N = 10^7 / argsort", separate / argsort, 5.0),
        ("all scores from one sort, N = 10^7 / argsort", together / argsort, 2.5),
        ("peak memory of these, GB", peak_gigabytes(), 1.5),
    ]
