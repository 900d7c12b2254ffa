"""How the members of an ensemble of networks are trained: one at a time here, or side by side in other processes."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import nn

from shiftbench.errors import ShiftbenchError
from shiftbench.io import executor, files
from shiftbench.methods import checkpoint, member_files, training, workers
from shiftbench.methods.checkpoint import Checkpoint
from shiftbench.methods.determinism import one_thread
from shiftbench.methods.member_files import MemberFiles
from shiftbench.methods.progress import TrainingProgress
from shiftbench.methods.training import Objective, Schedule, Trained
from shiftbench.methods.workers import Report

if TYPE_CHECKING:
    from shiftbench.methods.progress import Progress

Network = TypeVar("Network", bound=nn.Module)

DATASETS = ".datasets.pickle.training.part"  # what members learn from, while they do


@dataclass(frozen=True)
class MemberTraining:
    """How the members of a fit are trained.

    Attributes:
        members: how many there are.
        steps: the most that each takes.
        here: trains one in this process.
        module: what `workers.train` runs in others.
        argument: its argument, which is valid while the block lasts.
    """

    members: int
    steps: int
    here: Callable[[int, Report], None]
    module: str
    argument: AbstractContextManager[str]


def train_missing(folder: Path, how: MemberTraining, *, cores: int, progress: Progress | None) -> None:
    """Train the members that are not whole in `folder`: here if one at a time, or else in processes."""
    kept = member_files.weights(folder)
    done = TrainingProgress(
        kept, how.members, steps=how.steps, progress=progress,
        about=lambda member: "best after {best_step:,} of {steps:,} steps".format(**kept.note(member)),
    )  # fmt: skip
    count = min(processes(cores), len(done.missing))
    if count == 1 and not executor.current().elsewhere:
        for member in done.missing:
            how.here(member, partial(done.step, member))
            done.finished(member)
    elif count:
        with how.argument as argument:
            workers.train(
                how.module, argument, done.missing, folder=folder, cores=count, done=done.finished, step=done.step
            )
    for left in folder.glob("member_*.ckpt"):  # of a process that was killed between its last two acts
        left.unlink()


@contextmanager
def sharing(folder: Path, parts: Sequence[Any]) -> Iterator[str]:
    """A file that passes the folder and data sets to processes while the block lasts, for `shared`."""
    path = folder.absolute() / DATASETS  # not elsewhere: workers of a cluster see this folder
    try:
        written = pickle.dumps((folder.absolute(), *parts))
        path.write_bytes(written)
        yield f"{hashlib.sha256(written).hexdigest()} {path}"
    finally:
        path.unlink(missing_ok=True)


def shared(argument: str) -> tuple[Path, tuple[Any, Any]]:
    """The folder and the data sets (train, dev_in) that `sharing` wrote.

    Raises:
        ShiftbenchError: if the file has changed since it was written: only what `sharing` wrote is unpickled.
    """
    digest, _, path = argument.partition(" ")
    written = Path(path).read_bytes()
    if hashlib.sha256(written).hexdigest() != digest:
        raise ShiftbenchError(f"{path}: expected the file as it was written, found another. Run again.")
    folder, train, dev = pickle.loads(written)
    return folder, (train, dev)


def train_member(
    kept: MemberFiles,
    member: int,
    net: Network,
    objective: Objective[Any],
    schedule: Schedule,
    *,
    saved: Checkpoint,
    report: Report,
) -> None:
    """Train a network where it is, from where it was cut off, and write the two files of the member."""
    place = next(net.parameters()).device
    with one_thread():
        trained = training.train(
            net, objective, schedule, checkpoint=saved, device=place,
            progress=lambda steps, _most, message: report(steps, message),
        )  # fmt: skip
    keep(kept, member, {name: value.cpu() for name, value in net.state_dict().items()}, trained)
    saved.remove()


def keep(kept: MemberFiles, member: int, weights: Mapping[str, Any], trained: Trained) -> None:
    """Write the two files of a member."""
    with files.replacing(kept.path(member)) as temporary:
        temporary.write_bytes(checkpoint.pack(weights))
    kept.finish(member, {name: value for name, value in asdict(trained).items() if name != "history"})


def checkpoint_of(kept: MemberFiles, member: int) -> Checkpoint:
    """Where a member keeps its state while it is trained."""
    return Checkpoint(kept.folder / f"member_{member:02d}.ckpt", f"{kept.fit} member {member}")


def load(net: Network, kept: MemberFiles, member: int) -> Network:
    """Give a network the weights of a member whose files were found whole.

    Raises:
        SettingsError: if its file holds no weights, or those of another network.
    """
    path = kept.path(member)
    return checkpoint.restore(net, checkpoint.read_weights(path), where=path)


def member_seed(record: Mapping[str, Any], member: int) -> int:
    """The seed of a member: numbered through, ensembles with neighbouring seeds would share nearly all members."""
    return int(np.random.SeedSequence([record["settings"]["seed"], member]).generate_state(1)[0])


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Networks made on the CPU in this block have the weights that the seed leads to; other random states stay."""
    with torch.random.fork_rng([]):
        torch.default_generator.manual_seed(seed)  # that of the CPU: no other is used, or restored
        yield


def device(number: int) -> torch.device:
    """Where the process of this number trains: on a GPU of its own; on the CPU where there is none."""
    place = training.device()
    return torch.device("cuda", number % torch.cuda.device_count()) if place.type == "cuda" else place


def processes(cores: int) -> int:
    """How many members to train at a time: one on each core, or as many as the GPUs are enough for."""
    if training.device().type != "cuda":
        return cores
    return max(1, torch.cuda.device_count() // max(1, executor.current().gpus))
