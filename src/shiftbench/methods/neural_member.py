"""One network of an ensemble: how it is trained, here or in a process of its own, and what it says."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from shiftbench import files
from shiftbench.methods import checkpoint, fitted_folder, member_files, neural_heads, training, workers
from shiftbench.methods.checkpoint import Checkpoint
from shiftbench.methods.determinism import one_thread
from shiftbench.methods.member_files import Arrays, MemberFiles
from shiftbench.methods.neural_heads import Head
from shiftbench.methods.neural_inputs import Encoding
from shiftbench.methods.neural_nets import NETWORKS, Shape
from shiftbench.methods.tally import Tally
from shiftbench.methods.training import Lesson, Plan
from shiftbench.methods.workers import Report

if TYPE_CHECKING:
    from shiftbench.methods import Progress

Rows = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]

CLIP = 1.0  # the largest norm of a gradient: likelihoods have rare huge ones
VALIDATIONS = 50  # at least so many, if there are enough steps
# Records in a batch of a prediction. On a CPU always as many (the last is filled up): with other shapes the library
# would sum in another order.
CPU_BATCH, GPU_BATCH = 128, 2048


def head(record: Mapping[str, Any]) -> Head:
    """What the outputs of the fit's networks mean."""
    return neural_heads.GAUSSIAN if record["classes"] is None else neural_heads.CATEGORICAL


def network(record: Mapping[str, Any], *, seed: int) -> Any:
    """A network of the fit on the CPU, with the weights that the seed leads to."""
    outputs = 2 if record["classes"] is None else len(record["trained_classes"])
    shape = Shape.of(Encoding.from_json(record["encoding"]), outputs)
    with torch.random.fork_rng([]):
        torch.default_generator.manual_seed(seed)  # that of the CPU: no other is used, or restored
        return NETWORKS[record["method"]](shape, record["settings"])


def plan(settings: Mapping[str, Any], arrays: Mapping[str, Any], *, seed: int) -> Plan:
    """How long to train on arrays as `lesson` takes them, and how often to look at those of dev_in."""
    records, dev = len(arrays["train_targets"]), len(arrays["dev_targets"])
    batch = min(settings["batch"], records)
    per_epoch = math.ceil(records / batch)
    steps = min(settings["epochs"] * per_epoch, settings["most_steps"])
    return Plan(
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


def lesson(net: Any, tensors: Mapping[str, Tensor], says: Head) -> Lesson[tuple[Tensor, ...]]:
    """What to learn from the tensors `train_…`, judged on `dev_…`, each `numbers`, `codes` and `targets` [N, …]."""
    train, dev = (
        tuple(tensors[f"{part}_{name}"] for name in ("numbers", "codes", "targets")) for part in ("train", "dev")
    )

    def loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        numbers, codes, targets = batch
        return says.loss(model(numbers, codes), targets)

    def validate(model: nn.Module) -> float:
        size = GPU_BATCH if dev[0].is_cuda else CPU_BATCH
        parts = zip(*(torch.split(tensor, size) for tensor in dev), strict=True)
        scores = [says.score(model(numbers, codes), targets).sum() for numbers, codes, targets in parts]
        return float(torch.stack(scores).sum()) / len(dev[2])

    return Lesson(
        records=len(train[2]),
        batch=lambda rows: tuple(tensor[rows] for tensor in train),
        loss=loss,
        validate=validate,
        groups=net.groups(),
    )


def train(folder: Path, arrays: Arrays, member: int, *, report: Report, number: int = 0) -> None:
    """Train one member on arrays as `lesson` takes them, from where it was cut off, and write its two files.

    `number` is that of the process: with several GPUs each process has one of its own.
    """
    record, kept = fitted_folder.read(folder), files_in(folder)
    # Seeds that are numbered through would give two ensembles with neighbouring seeds nearly the same members.
    seed = int(np.random.SeedSequence([record["settings"]["seed"], member]).generate_state(1)[0])
    place = device(number)
    net = network(record, seed=seed).to(place)
    tensors = {name: torch.from_numpy(array).to(place) for name, array in arrays.items()}
    saved = Checkpoint(folder / f"member_{member:02d}.ckpt", f"{kept.fit} member {member}")
    with one_thread():
        trained = training.train(
            net, lesson(net, tensors, head(record)), plan(record["settings"], arrays, seed=seed),
            checkpoint=saved, device=place, progress=lambda steps, _most, message: report(steps, message),
        )  # fmt: skip
    with files.replacing(kept.path(member)) as temporary:
        temporary.write_bytes(checkpoint.pack({name: value.cpu() for name, value in net.state_dict().items()}))
    kept.finish(member, {name: value for name, value in asdict(trained).items() if name != "history"})
    saved.remove()


@dataclass(frozen=True)
class Course:
    """How the members of a fit are trained, here or in other processes.

    Attributes:
        members: how many there are.
        steps: the most that each takes.
        here: trains one in this process.
        module: what `workers.train` runs in others.
        argument: its argument, which holds while the block lasts.
    """

    members: int
    steps: int
    here: Callable[[int, Report], None]
    module: str
    argument: AbstractContextManager[str]


def train_missing(folder: Path, course: Course, *, cores: int, progress: Progress | None) -> None:
    """Train the members that are not whole in `folder`: here if one at a time, or else in processes."""
    kept = files_in(folder)
    tally = Tally(
        kept, course.members, steps=course.steps, progress=progress,
        about=lambda member: "best after {best_step:,} of {steps:,} steps".format(**kept.note(member)),
    )  # fmt: skip
    count = min(processes(cores), len(tally.missing))
    if count == 1:
        for member in tally.missing:
            course.here(member, partial(tally.step, member))
            tally.finished(member)
    elif count:
        with course.argument as argument:
            workers.train(course.module, argument, tally.missing, cores=count, done=tally.finished, step=tally.step)
    for left in folder.glob("member_*.ckpt"):  # of a process that was killed between its last two acts
        left.unlink()


def device(number: int) -> torch.device:
    """Where the process of this number trains: on a GPU of its own; on the CPU where there is none."""
    place = training.device()
    return torch.device("cuda", number % torch.cuda.device_count()) if place.type == "cuda" else place


def processes(cores: int) -> int:
    """How many members to train at a time: one on each core, or one on each GPU."""
    return torch.cuda.device_count() if training.device().type == "cuda" else cores


def files_in(folder: Path) -> MemberFiles:
    """The files of the networks of a fit."""
    return MemberFiles(
        folder, ".pt", "trained weights, found none that are finished", "the weights as they were written"
    )


def load(folder: Path, record: Mapping[str, Any], member: int) -> nn.Module:
    """The network of a member whose files were found whole.

    Raises:
        SettingsError: if its file holds no weights.
    """
    path = files_in(folder).path(member)
    net: nn.Module = checkpoint.restore(network(record, seed=0), checkpoint.read_weights(path), where=path)
    return net


# -- predictions


def answers(net: nn.Module, says: Head, rows: Rows, *, cores: int) -> npt.NDArray[np.float64]:
    """What a network says about rows: numbers [N, P + Q] and codes [N, C]; the answer is [K, N, O].

    Neither the number of cores nor, on a CPU, the other rows make a difference.
    """
    place = training.device()
    size = GPU_BATCH if place.type == "cuda" else CPU_BATCH
    net.to(place)
    starts = range(0, len(rows[0]), size)

    def block(start: int) -> npt.NDArray[Any]:
        parts = [array[start : start + size] for array in rows]
        filled = [np.concatenate([part, np.zeros((size - len(part), part.shape[1]), part.dtype)]) for part in parts]
        with torch.inference_mode():
            said: Tensor = says.says(net(*(torch.from_numpy(array).to(place) for array in filled)))
            return said[: len(parts[0])].transpose(0, 1).cpu().numpy()

    with one_thread(), ThreadPoolExecutor(1 if place.type == "cuda" else cores) as pool:
        return np.concatenate(list(pool.map(block, starts)), axis=1).astype(np.float64)


def _serve(folder: Path, number: int) -> None:
    """Train the members that are asked for, until nobody asks any more."""
    arrays = member_files.read_inputs(folder)
    workers.serve(lambda member, report: train(folder, arrays, member, report=report, number=number))


if __name__ == "__main__":
    _serve(Path(sys.argv[1]), int(sys.argv[2]))
