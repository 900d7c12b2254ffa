"""Fitting ten CatBoost members on a started Ray cluster of two workers against two processes, each side in turn.

Members take 20 s or more on a core of their own, as those of real ensembles do: joining the cluster and starting Python
there, some 7 s, counts once. The name of the ratio tells how long a member of the process pool took here.
"""

from __future__ import annotations

import os
import socket
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.boosting_prediction import seconds, table
from shiftbench.io import executor
from shiftbench.io.executor import Executor
from shiftbench.methods import method
from shiftbench.partition import features

MEMBERS, WORKERS = 10, 2
ROWS, TREES = 60_000, 1000
ROUNDS = 1  # of at least four minutes each
BOUND = 1.2
HERE = "127.0.0.2"  # Ray takes 127.0.0.1 for the address of the machine that others see


@contextmanager
def cluster() -> Iterator[Executor]:
    """A cluster of one node that ends with the block, as `ray start` makes it."""
    with socket.socket() as free:
        free.bind((HERE, 0))
        port = free.getsockname()[1]
    words = ["start", "--head", "--block", f"--port={port}", f"--node-ip-address={HERE}", f"--num-cpus={WORKERS}"]
    ray = [str(Path(sys.executable).parent / "ray"), *words, "--include-dashboard=false", "--disable-usage-stats"]
    os.environ["RAY_AUTH_MODE"] = "disabled"  # of the node, and of what joins it; nobody else reaches this address
    with subprocess.Popen(ray, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as node:
        try:
            assert node.stdout
            assert any("runtime started" in line for line in node.stdout)
            yield Executor("ray", address=f"{HERE}:{port}")
        finally:
            node.terminate()


def ratios() -> list[tuple[str, float, float | None]]:
    """Name, measured ratio, and bound."""
    frame = table(ROWS + 1000)
    chosen, module = features.choose(frame.head(10_000), target="y"), method("likelihood_boosting")
    settings = module.Settings.from_dict(
        {"task": "regression", "members": MEMBERS, "iterations": TREES, "early_stopping": TREES}
    )

    def fit(where: Executor) -> None:
        with tempfile.TemporaryDirectory() as place, executor.using(where):
            module.fit(
                frame[:ROWS], frame[ROWS:], features=chosen, target="y", settings=settings, folder=place, cores=WORKERS
            )

    with cluster() as joined:
        pairs = [
            (seconds(lambda: fit(joined)), seconds(lambda: fit(Executor("processes", WORKERS)))) for _ in range(ROUNDS)
        ]
    each = statistics.median(pool for _, pool in pairs) * WORKERS / MEMBERS
    ratio = statistics.median(ray / pool for ray, pool in pairs)
    return [(f"fit {MEMBERS} members of {each:.0f} s on a Ray cluster / {WORKERS} processes", ratio, BOUND)]
