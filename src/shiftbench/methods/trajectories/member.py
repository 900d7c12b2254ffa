"""One network of an ensemble: training, in this process or another, and loading."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.methods import fitted_folder, member_files, member_training
from shiftbench.methods.training import Objective, Schedule
from shiftbench.methods.trajectories import batch_reader, planner_net
from shiftbench.methods.trajectories.batch_reader import BatchReader, PrefetchingReader
from shiftbench.methods.trajectories.dataset import Arrays, Rows, TrajectoryDataset, request_name
from shiftbench.methods.trajectories.planner_net import PlannerNet
from shiftbench.methods.trajectories.vector_net import VectorNet
from shiftbench.methods.workers import Report, Train

# Requests in a block of a validation or prediction. On a CPU always as many (the last is filled up): with other shapes
# the library would sum in another order.
CPU_BLOCK, GPU_BLOCK = 16, 128
MOST_DEV = 10_000  # requests of dev_in that tell which weights are best; more would tell the same, and take longer


class Batch(NamedTuple):
    """Requests: their positions [B], inputs by name, each [B, …], and targets [B, T, 2]."""

    rows: Rows
    inputs: dict[str, Tensor]
    targets: Tensor


def reader(record: Mapping[str, Any]) -> batch_reader.Read:
    """The reader of the inputs of a fit's networks."""
    return batch_reader.vectors if record["method"] == "vector" else planner_net.reader(record["settings"])


def shapes(record: Mapping[str, Any], dataset: TrajectoryDataset) -> dict[str, list[int]]:
    """The shapes of one request's inputs by name."""
    return {name: list(values.shape[1:]) for name, values in reader(record)(dataset, np.arange(1)).items()}


def require_inputs(record: Mapping[str, Any], dataset: TrajectoryDataset) -> None:
    """Check that the inputs of requests have the shapes that the networks were trained with.

    Raises:
        SettingsError: naming the inputs that differ.
    """
    found, wanted = shapes(record, dataset), record["inputs"]
    if found != wanted:
        different = [
            f"{key}: {found.get(key)} here, {wanted.get(key)} there"
            for key in sorted(found | wanted)
            if found.get(key) != wanted.get(key)
        ]
        raise SettingsError(
            f"expected inputs of the shapes that the networks were trained with, found others "
            f"({'; '.join(different)}). Prepare both with the same settings."
        )


def network(record: Mapping[str, Any], *, seed: int) -> Any:
    """A network of the fit on the CPU, with weights initialised from the seed."""
    settings, inputs, horizon = record["settings"], record["inputs"], record["data"]["horizon"]
    with member_training.seeded(seed):
        if record["method"] == "vector":
            steps = schedule(settings, record["data"]["train"], seed=seed).steps
            return VectorNet(settings, inputs, horizon=horizon, steps=steps)
        return PlannerNet(record["method"], settings, channels=inputs["maps"][0])


def schedule(settings: Mapping[str, Any], records: int, *, seed: int) -> Schedule:
    """How long to train on this many requests; dev_in is evaluated after each epoch."""
    batch = min(settings["batch"], records)
    while records % batch == 1:  # the norms of a batch need two requests, of the last one of an epoch too
        batch += 1
    per_epoch = math.ceil(records / batch)
    return Schedule(
        steps=settings["epochs"] * per_epoch,
        batch=batch,
        learning_rate=settings["learning_rate"],
        validate_every=per_epoch,
        weight_decay=settings["weight_decay"],
        warmup=settings["warmup_epochs"] * per_epoch,
        cosine=True,
        patience=settings["patience"],
        clip=settings["clip"],
        mixed_precision=settings["mixed_precision"],
        seed=seed,
    )


def objective(
    parts: tuple[TrajectoryDataset, TrajectoryDataset],
    read: Callable[[Rows], Arrays],
    dev: BatchReader,
    place: torch.device,
) -> Objective[Batch]:
    """The objective: trained on the first of `parts`, read by `read`, and evaluated on the second, read by `dev`."""
    train, judged = parts
    targets, truth = (torch.from_numpy(np.array(part.targets, np.float32)) for part in parts)

    def batch(rows: Tensor) -> Batch:
        chosen = rows.cpu().numpy()
        return Batch(chosen, tensors(read(chosen), place), targets[chosen].to(place))

    def loss(model: nn.Module, given: Batch) -> Tensor:
        losses: Tensor = model.loss(given.inputs, given.targets)  # type: ignore[operator]
        require_finite(losses, train, given.rows)
        return losses.mean()

    def validate(model: nn.Module) -> float:
        total = torch.zeros((), dtype=torch.float64, device=place)
        for rows in blocks(len(judged), place):
            inputs = tensors(filled(dev(rows), place), place)
            given = filled({"": truth[rows].numpy()}, place)[""]
            scores: Tensor = model.score(inputs, torch.from_numpy(given).to(place))  # type: ignore[operator]
            total += scores[: len(rows)].double().sum()
        return float(total) / len(judged)

    return Objective(records=len(train), batch=batch, loss=loss, validate=validate)


def require_finite(losses: Tensor, train: TrajectoryDataset, rows: Rows) -> None:
    """Check the losses [B] of these requests.

    Raises:
        ShiftbenchError: naming the first request whose loss is not finite.
    """
    if bool(torch.isfinite(losses).all()):
        return
    bad = int(torch.nonzero(~torch.isfinite(losses))[0, 0])
    raise ShiftbenchError(
        f"training: expected finite losses, found {float(losses[bad])} for "
        f"{request_name(train, int(rows[bad]))}. Lower the learning rate, or raise the least scale."
    )


def train(
    folder: Path, parts: tuple[TrajectoryDataset, TrajectoryDataset], member: int, *, report: Report, number: int = 0
) -> None:
    """Train one member on (train, dev_in), resuming where it stopped, and write its two files.

    `number` is that of the process: with several GPUs each process has one of its own.
    """
    record, kept = fitted_folder.read(folder), member_files.weights(folder)
    seed = member_training.member_seed(record, member)
    place, read = member_training.device(number), reader(record)
    net, how = network(record, seed=seed).to(place), schedule(record["settings"], len(parts[0]), seed=seed)
    chosen = parts[0], parts[1].select(dev_rows(len(parts[1])))
    saved = member_training.checkpoint_of(kept, member)
    found = (saved.load() or {}).get("step", 0)
    step = found if isinstance(found, int) and 0 <= found <= how.steps else 0  # then `training` refuses it
    order = batch_reader.orders(seed, records=len(parts[0]), batch=how.batch, step=step, steps=how.steps)
    prefetching = PrefetchingReader(BatchReader(chosen[0], read), order)
    try:
        member_training.train_member(
            kept,
            member,
            net,
            objective(chosen, prefetching, BatchReader(chosen[1], read), place),
            how,
            saved=saved,
            report=report,
        )
    finally:
        prefetching.close()


def load(folder: Path, record: Mapping[str, Any], member: int) -> Any:
    """The network of a member whose files were found complete; see `member_training.load`."""
    return member_training.load(network(record, seed=0), member_files.weights(folder), member)


def dev_rows(count: int) -> Rows:
    """The requests of dev_in that are evaluated."""
    return np.sort(np.random.default_rng(0).permutation(count)[:MOST_DEV]).astype(np.int64)


def block_size(place: torch.device) -> int:
    """Requests in a block."""
    return GPU_BLOCK if place.type == "cuda" else CPU_BLOCK


def blocks(count: int, place: torch.device) -> Iterator[Rows]:
    """The places of `count` requests, block by block."""
    size = block_size(place)
    return (np.arange(start, min(start + size, count)) for start in range(0, count, size))


def filled(inputs: Arrays, place: torch.device) -> Arrays:
    """A block's inputs, each [B, …], padded to a full block with the last request."""
    size = block_size(place)
    return {
        name: np.concatenate([values, np.repeat(values[-1:], size - len(values), axis=0)])
        for name, values in inputs.items()
    }


def tensors(inputs: Arrays, place: torch.device) -> dict[str, Tensor]:
    """Arrays by name as tensors on the device."""
    return {
        name: torch.from_numpy(np.ascontiguousarray(values)).to(place, non_blocking=True)
        for name, values in inputs.items()
    }


def trainer(argument: str, number: int) -> Train:
    """The trainer of a fit's members, see `workers.train`; its argument is that of `member_training.sharing`."""
    folder, parts = member_training.shared(argument)
    return lambda member, report: train(folder, parts, member, report=report, number=number)
