"""A stack of members on PyTorch's side: how it is trained and kept, a file for each member, and what it says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from shiftbench import files
from shiftbench.ensembles import Gaussian
from shiftbench.methods import checkpoint, fitted_folder, training
from shiftbench.methods.checkpoint import Checkpoint
from shiftbench.methods.determinism import one_thread
from shiftbench.methods.goals import Answers
from shiftbench.methods.member_files import MemberFiles
from shiftbench.methods.stacked_nets import Dropout, Flipout, Plain, Stack
from shiftbench.methods.stacked_noise import derived
from shiftbench.methods.stacked_training import StackLesson, train_stack
from shiftbench.methods.symbolic_nets import Symbolic
from shiftbench.methods.tally import span
from shiftbench.methods.training import Plan

if TYPE_CHECKING:
    from shiftbench.methods import Progress
    from shiftbench.methods.member_files import Arrays

Floats = npt.NDArray[np.float32]

# Records in a block of a prediction, always as many (the last is filled up): what is said about one then does not
# depend on how many there are.
CPU_BLOCK, GPU_BLOCK = 1024, 1 << 16


def stack(record: Mapping[str, Any], *, seeds: list[int]) -> Stack:
    """The untrained stack of a fit, with a member for each seed."""
    settings, width, records = record["settings"], record["width"], record["data"]["train"]
    batch = min(settings["batch"], records)
    match record["method"]:
        case "mlp_dropout":
            return Dropout(width, settings["hidden"], seeds=seeds, rate=settings["dropout"], batch=batch)
        case "mlp_flipout":
            prior = settings["prior_sd"]
            return Flipout(width, settings["hidden"], seeds=seeds, prior_sd=prior, batch=batch, records=records)
        case "symbolic":
            return Symbolic(record, seeds=seeds)
        case _:
            return Plain(width, settings["hidden"], seeds=seeds)


def seeds(settings: Mapping[str, Any]) -> list[int]:
    """The seeds of the members: those of ensembles with neighbouring seeds have nothing in common."""
    return [derived(settings["seed"], member) for member in range(settings["members"])]


def plan(settings: Mapping[str, Any], records: int) -> Plan:
    """How long to train on so many records, with a look at dev_in after each epoch."""
    batch = min(settings["batch"], records)
    per_epoch = math.ceil(records / batch)
    steps = min(settings["epochs"] * per_epoch, settings.get("most_steps", math.inf))
    return Plan(
        steps=int(steps), batch=batch, learning_rate=settings["learning_rate"], validate_every=per_epoch,
        weight_decay=settings["weight_decay"], cosine=settings["cosine"], patience=settings["patience"],
        mixed_precision=False, seed=settings["seed"],
    )  # fmt: skip


def lesson(tensors: Mapping[str, Tensor]) -> StackLesson:
    """What to learn from the tensors `train_…`, judged on `dev_…`, each `numbers` [N, D] and `targets` [N]."""
    columns = tensors["train_numbers"].shape[1]
    together = torch.cat([tensors["train_numbers"], tensors["train_targets"][:, None]], dim=1)

    def losses(model: nn.Module, rows: Tensor, step: int) -> Tensor:
        batch = together.index_select(0, rows.flatten()).view(*rows.shape, columns + 1)
        assert isinstance(model, Stack)
        return model.losses(batch[..., :columns], batch[..., columns], step)

    return StackLesson(
        len(together), losses, lambda model: absolute_error(model, tensors["dev_numbers"], tensors["dev_targets"])
    )


def absolute_error(model: nn.Module, numbers: Tensor, targets: Tensor) -> Tensor:
    """The mean absolute error of each member's mean prediction [M], for records [N, D] with targets [N]."""
    assert isinstance(model, Stack)
    size = GPU_BLOCK if numbers.is_cuda else CPU_BLOCK
    pairs = zip(torch.split(numbers, size), torch.split(targets, size), strict=True)
    errors = [(model.mean(inputs) - goal).abs().sum(dim=-1, dtype=torch.float64) for inputs, goal in pairs]
    return torch.stack(errors).sum(dim=0) / len(targets)


def train_missing(folder: Path, arrays: Arrays, progress: Progress | None) -> None:
    """Train the stack whose record is in `folder`, unless all of its members are whole there.

    If one is missing or damaged all are trained: they take one program, whose time is about that of one member.
    """
    record, kept = fitted_folder.read(folder), files_in(folder)
    members = record["settings"]["members"]
    course = plan(record["settings"], len(arrays["train_targets"]))
    looks = math.ceil(course.steps / course.validate_every)
    told = partial(progress, looks, looks) if progress else None
    saved = Checkpoint(folder / "member_all.ckpt", f"{kept.fit} all members")
    if not kept.missing(members):
        saved.remove()  # of a process that was killed between its last two acts
        if told:
            told(f"{members} members were trained before")
        return
    place, own = training.device(), seeds(record["settings"])
    net = stack(record, seeds=own)
    tensors = {name: torch.from_numpy(array).to(place) for name, array in arrays.items()}

    def tell(step: int, _most: int, message: str) -> None:
        look = math.ceil(step / course.validate_every)
        if progress and look < looks:  # the last look is told when all files are written
            progress(look, looks, message)

    with one_thread():
        trained = train_stack(net, lesson(tensors), course, seeds=own, checkpoint=saved, device=place, progress=tell)
    weights = {name: value.cpu() for name, value in net.state_dict().items()}
    for member, result in enumerate(trained):
        with files.replacing(kept.path(member)) as temporary:
            temporary.write_bytes(checkpoint.pack({name: value[member].clone() for name, value in weights.items()}))
        kept.finish(member, {name: value for name, value in asdict(result).items() if name != "history"})
    saved.remove()
    if told:
        told(f"{members} members, best after {span([result.best_step for result in trained], 'steps')}")


def files_in(folder: Path) -> MemberFiles:
    """The files of the members of a fit."""
    return MemberFiles(
        folder, ".pt", "trained weights, found none that are finished", "the weights as they were written"
    )


def load(folder: Path, record: Mapping[str, Any]) -> Stack:
    """The trained stack of a fit, on the CPU.

    Raises:
        SettingsError: if members are missing or damaged, or a file holds no weights.
    """
    kept = files_in(folder)
    kept.require(record["settings"]["members"])
    own = seeds(record["settings"])
    found = [checkpoint.read_weights(kept.path(member)) for member in range(len(own))]
    stacked = {name: torch.stack([state[name] for state in found]) for name in found[0]}
    return checkpoint.restore(stack(record, seeds=own), stacked, where=folder)


def answers(net: Stack, record: Mapping[str, Any], numbers: Floats, *, cores: int) -> Gaussian:
    """What the stack says about records [N, D], in the unit of the target: [M·draws, N], draw by draw of each member.

    Neither the number of cores nor the other records make a difference on a CPU. Standard deviations are at least a
    millionth of that of the training targets.
    """
    place, draws = training.device(), record["settings"].get("draws", 1)
    size = GPU_BLOCK if place.type == "cuda" else CPU_BLOCK
    members = record["settings"]["members"]
    room = Answers(record, members=members * draws, records=len(numbers))
    with torch.inference_mode():
        functions = list(net.to(place).functions(draws))

    def block(start: int) -> None:
        part = numbers[start : start + size]
        filled = np.zeros((numbers.shape[1], size), np.float32)
        filled[:, : len(part)] = part.T
        with torch.inference_mode():
            given = torch.from_numpy(filled).to(place)
            rows, done = slice(start, start + len(part)), 0
            for function in functions:
                said = function(given)[..., : len(part)].cpu().numpy().astype(np.float64)
                said[1] *= said[1]
                room.put(slice(done, done + said.shape[1]), rows, np.moveaxis(said, 0, -1))
                done += said.shape[1]

    with one_thread(), ThreadPoolExecutor(1 if place.type == "cuda" else cores) as pool:
        for _ in pool.map(block, range(0, len(numbers), size)):
            pass
    return Gaussian(room.held[..., 0], room.held[..., 1], draws=draws)
