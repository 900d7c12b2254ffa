"""Ten members trained as one program against one member, and against ten trained one after the other."""

from __future__ import annotations

import statistics
import time
from typing import Any

import torch

from shiftbench.methods import training
from shiftbench.methods.batched import members as batched
from shiftbench.methods.batched import mlp
from shiftbench.methods.batched.training import train_batched
from shiftbench.methods.determinism import one_thread
from shiftbench.methods.training import Schedule
from shiftbench.tracks.power.symbolic import method as symbolic
from shiftbench.tracks.power.symbolic.terms import WIDTH

MAKE = {
    "mlp": mlp.make_plain, "mlp_dropout": mlp.make_dropout, "mlp_flipout": mlp.make_flipout, "symbolic": symbolic.make
}  # fmt: skip
BATCHES = (32, 256)
MEMBERS, COLUMNS, RECORDS = 10, 10, 100_000
STEPS, ROUNDS = 150, 9
ONE_BOUND, TEN_BOUND = 3.0, 1 / 3


def milliseconds(method: str, *, members: int, batch: int) -> float:
    """A step of the published network of a method, without what it takes to begin."""
    width = WIDTH if method == "symbolic" else COLUMNS
    settings = {"batch": batch, "hidden": [50, 20], "dropout": 0.005, "prior_sd": 1.0, "width": 16}
    record: dict[str, Any] = {
        "method": method, "width": width, "settings": settings, "data": {"train": RECORDS}, "center": 2.0,
        "scale": 1.0, "inputs": {"cube": 1.1},
    }  # fmt: skip
    seeds, place = list(range(members)), training.device()
    numbers = torch.rand(RECORDS, width, generator=torch.Generator().manual_seed(0)).to(place)
    targets = numbers[:, 0]
    tensors = {
        "train_numbers": numbers, "train_targets": targets, "dev_numbers": numbers[:8], "dev_targets": targets[:8],
    }  # fmt: skip
    moments: list[float] = []

    def look(*_: object) -> None:
        if place.type == "cuda":
            torch.cuda.synchronize()
            moments.append(time.perf_counter())
        else:  # the time of the core: what else the machine does makes less of a difference
            moments.append(time.process_time())

    schedule = Schedule(
        steps=2 * STEPS, batch=batch, learning_rate=1e-4, validate_every=STEPS, patience=99, mixed_precision=False
    )
    net = MAKE[method](record, seeds)
    train_batched(net, batched.objective(tensors), schedule, seeds=seeds, device=place, progress=look)
    return (moments[1] - moments[0]) / STEPS * 1e3


def ratios() -> list[tuple[str, float, float | None]]:
    """Name, measured ratio, and bound; the two sides are timed in turn in one run, on one core or one GPU."""
    with one_thread():
        return [entry for batch in BATCHES for method in MAKE for entry in _ratios(method, batch)]


def _ratios(method: str, batch: int) -> list[tuple[str, float, float | None]]:
    pairs = [
        tuple(milliseconds(method, members=members, batch=batch) for members in (MEMBERS, 1)) for _ in range(ROUNDS)
    ]
    ten, one = (statistics.median(times) for times in zip(*pairs, strict=True))
    ratio = statistics.median(together / alone for together, alone in pairs)
    what = f"{method}, batch {batch}: {MEMBERS} members in one program ({ten:.2f} ms a step)"
    return [
        (f"{what} / one member ({one:.2f} ms)", ratio, ONE_BOUND),
        (f"{what} / {MEMBERS} trained one by one", ratio / MEMBERS, TEN_BOUND),
    ]


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: {ratio:.2f} (bound {bound:.2f})")
