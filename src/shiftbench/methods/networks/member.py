"""One network of an ensemble: training, here or in a process of its own, and its outputs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from shiftbench.methods import fitted_folder, member_files, member_training, training
from shiftbench.methods.determinism import one_thread
from shiftbench.methods.member_files import Arrays
from shiftbench.methods.networks import heads
from shiftbench.methods.networks.architectures import NETWORKS, Shape
from shiftbench.methods.networks.encoding import Encoding
from shiftbench.methods.networks.heads import Head
from shiftbench.methods.training import Objective, Schedule
from shiftbench.methods.workers import Report, Train

Rows = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]

CLIP = 1.0  # the largest norm of a gradient: likelihoods have rare, very large ones
VALIDATIONS = 50  # at least, if there are enough steps
# Records in a batch of a prediction. On a CPU always this number (the last batch is padded): with other shapes the
# library would sum in another order.
CPU_BATCH, GPU_BATCH = 128, 2048


def head(record: Mapping[str, Any]) -> Head:
    """The head of the fit's networks."""
    return heads.GAUSSIAN if record["classes"] is None else heads.CATEGORICAL


def network(record: Mapping[str, Any], *, seed: int) -> Any:
    """A network of the fit on the CPU, with initial weights drawn from the seed."""
    outputs = 2 if record["classes"] is None else len(record["trained_classes"])
    shape = Shape.of(Encoding.from_json(record["encoding"]), outputs)
    with member_training.seeded(seed):
        return NETWORKS[record["method"]](shape, record["settings"])


def schedule(settings: Mapping[str, Any], arrays: Mapping[str, Any], *, seed: int) -> Schedule:
    """The numbers of steps and validations for arrays of `objective`."""
    records, dev = len(arrays["train_targets"]), len(arrays["dev_targets"])
    batch = min(settings["batch"], records)
    per_epoch = math.ceil(records / batch)
    steps = min(settings["epochs"] * per_epoch, settings["most_steps"])
    return Schedule(
        steps=steps,
        batch=batch,
        learning_rate=settings["learning_rate"],
        validate_every=min(per_epoch, max(1, steps // VALIDATIONS, dev // batch)),
        weight_decay=settings["weight_decay"],
        warmup=min(500, steps // 20),
        cosine=True,
        patience=settings["patience"],
        clip=CLIP,
        mixed_precision=settings["mixed_precision"],
        seed=seed,
    )


def objective(net: Any, tensors: Mapping[str, Tensor], head: Head) -> Objective[tuple[Tensor, ...]]:
    """Train on the tensors `train_…`, validate on `dev_…`, each `numbers`, `codes` and `targets` [N, …]."""
    train, dev = (
        tuple(tensors[f"{part}_{name}"] for name in ("numbers", "codes", "targets")) for part in ("train", "dev")
    )

    def loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        numbers, codes, targets = batch
        return head.loss(model(numbers, codes), targets)

    def validate(model: nn.Module) -> float:
        size = GPU_BATCH if dev[0].is_cuda else CPU_BATCH
        parts = zip(*(torch.split(tensor, size) for tensor in dev), strict=True)
        scores = [head.score(model(numbers, codes), targets).sum() for numbers, codes, targets in parts]
        return float(torch.stack(scores).sum()) / len(dev[2])

    return Objective(
        records=len(train[2]),
        batch=lambda rows: tuple(tensor[rows] for tensor in train),
        loss=loss,
        validate=validate,
        groups=net.groups(),
    )


def train(folder: Path, arrays: Arrays, member: int, *, report: Report, number: int = 0) -> None:
    """Train one member on arrays of `objective`, resuming if it was interrupted, and write its two files.

    `number` is that of the process: each process uses its own GPU if there are several.
    """
    record, kept = fitted_folder.read(folder), member_files.weights(folder)
    seed, place = member_training.member_seed(record, member), member_training.device(number)
    net = network(record, seed=seed).to(place)
    tensors = {name: torch.from_numpy(array).to(place) for name, array in arrays.items()}
    member_training.train_member(
        kept, member, net, objective(net, tensors, head(record)), schedule(record["settings"], arrays, seed=seed),
        saved=member_training.checkpoint_of(kept, member), report=report,
    )  # fmt: skip


def load(folder: Path, record: Mapping[str, Any], member: int) -> nn.Module:
    """The network of a member with complete files; see `member_training.load`."""
    net: nn.Module = network(record, seed=0)
    return member_training.load(net, member_files.weights(folder), member)


def outputs(net: nn.Module, head: Head, rows: Rows, *, cores: int) -> npt.NDArray[np.float64]:
    """The outputs [K, N, O] of a network for rows: numbers [N, P + Q] and codes [N, C].

    Results depend neither on the number of cores nor, on a CPU, on the other rows.
    """
    place = training.device()
    size = GPU_BATCH if place.type == "cuda" else CPU_BATCH
    net.to(place)
    starts = range(0, len(rows[0]), size)

    def block(start: int) -> npt.NDArray[Any]:
        parts = [array[start : start + size] for array in rows]
        filled = [np.concatenate([part, np.zeros((size - len(part), part.shape[1]), part.dtype)]) for part in parts]
        with torch.inference_mode():
            found: Tensor = head.predicted(net(*(torch.from_numpy(array).to(place) for array in filled)))
            return found[: len(parts[0])].transpose(0, 1).cpu().numpy()

    with one_thread(), ThreadPoolExecutor(1 if place.type == "cuda" else cores) as pool:
        return np.concatenate(list(pool.map(block, starts)), axis=1).astype(np.float64)


def trainer(argument: str, number: int) -> Train:
    """The function that trains the members of the fit in a folder; see `workers.train`."""
    folder = Path(argument)
    arrays = member_files.read_inputs(folder)
    return lambda member, report: train(folder, arrays, member, report=report, number=number)
