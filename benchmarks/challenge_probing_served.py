"""All 1,000 crafted submissions of one attack over HTTP: upload, queue, a worker with its sandbox, and what it answers.

The attack is the one of `challenge_probing` that gains most under the Ladder, on a hidden phase and, on a server of its
own beside it, on a phase that shows every score; one seed. 2,000 interpreters are started and confined, one after the
other on each server: about an hour on two cores.
"""

from __future__ import annotations

import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks import challenge_probing as probing
from benchmarks.challenge_probing import Gain
from benchmarks.ladder import bound
from shiftbench.challenge.definition import Phase

NAMED_ONLY = True
ATTACK = "climbing, classes"
TELLS = 25  # submissions until the next line about what was done


def served(phase: Phase, submissions: int = probing.SUBMISSIONS) -> tuple[Gain, int, float]:
    """The gain of the attack on a server, how many it told otherwise than by the rule, and the seconds it took."""
    start = time.monotonic()

    def tell(count: int, number: float) -> None:
        if count % TELLS == 0:
            print(f"{phase.name}: {count} in {time.monotonic() - start:.0f} s, told {number:.4f}", flush=True)

    found, otherwise = probing.served(ATTACK, phase, submissions, inside=False, tell=tell)
    return found, otherwise, time.monotonic() - start


def ratios() -> list[tuple[str, float, float | None]]:
    """Gains on hidden labels over the Ladder's bound and over a board without it, and on fresh data; what was told."""
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        (ours, otherwise, took), (other, other_otherwise, other_took) = pool.map(served, (probing.HIDDEN, probing.OPEN))
    what, most = f"{probing.SUBMISSIONS:,} over HTTP, sandboxed, {ATTACK}", bound(probing.RECORDS, probing.SUBMISSIONS)
    return [
        (f"{what}: gain under the Ladder", ours.hidden, None),
        (f"{what}: gain on an open board", other.hidden, None),
        (f"{what}: gain under the Ladder / its bound", ours.hidden / most, 1.0),
        (f"{what}: gain under the Ladder / on an open board", ours.hidden / other.hidden, 1.0),
        (f"{what}: gain on fresh data, Ladder / its bound", ours.fresh / most, 1.0),
        (f"{what}: gain on fresh data, Ladder", ours.fresh, None),
        (f"{what}: gain on fresh data, open board", other.fresh, None),
        (f"{what}: told otherwise than by the rule, Ladder", otherwise, 0.05 * probing.SUBMISSIONS),
        (f"{what}: told otherwise than by the rule, open board", other_otherwise, 0.0),
        (f"{what}: seconds, Ladder", took, None),
        (f"{what}: seconds, open board", other_took, None),
    ]
