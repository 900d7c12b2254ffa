"""Members that are trained together: how they are trained and kept, a file for each member, and their predictions."""

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

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.methods import checkpoint, fitted_folder, member_files, member_training, training
from shiftbench.methods.batched.networks import Batched, MakeNetwork
from shiftbench.methods.batched.training import BatchedObjective, train_batched
from shiftbench.methods.checkpoint import Checkpoint
from shiftbench.methods.contract import Fitted, Job
from shiftbench.methods.determinism import one_thread
from shiftbench.methods.member_files import Arrays, span
from shiftbench.methods.target_encoding import PredictionArrays
from shiftbench.methods.training import Schedule

Floats = npt.NDArray[np.float32]

# Records in a block of a prediction, always the same number (the last block is padded), so that a prediction does not
# depend on the number of records.
CPU_BLOCK, GPU_BLOCK = 1024, 1 << 16


def seeds(record: Mapping[str, Any]) -> list[int]:
    """The seeds of the members."""
    return [member_training.member_seed(record, member) for member in range(record["settings"]["members"])]


def schedule(settings: Mapping[str, Any], records: int) -> Schedule:
    """The training schedule for a number of records, with a validation after each epoch."""
    batch = min(settings["batch"], records)
    per_epoch = math.ceil(records / batch)
    steps = min(settings["epochs"] * per_epoch, settings.get("most_steps", math.inf))
    return Schedule(
        steps=int(steps), batch=batch, learning_rate=settings["learning_rate"], validate_every=per_epoch,
        weight_decay=settings["weight_decay"], cosine=settings["cosine"], patience=settings["patience"],
        mixed_precision=False, seed=settings["seed"],
    )  # fmt: skip


def objective(tensors: Mapping[str, Tensor]) -> BatchedObjective:
    """Train on the tensors `train_…`, validate on `dev_…`, each `numbers` [N, D] and `targets` [N]."""
    columns = tensors["train_numbers"].shape[1]
    together = torch.cat([tensors["train_numbers"], tensors["train_targets"][:, None]], dim=1)

    def losses(model: nn.Module, rows: Tensor, step: int) -> Tensor:
        batch = together.index_select(0, rows.flatten()).view(*rows.shape, columns + 1)
        assert isinstance(model, Batched)
        return model.losses(batch[..., :columns], batch[..., columns], step)

    return BatchedObjective(
        len(together), losses, lambda model: absolute_error(model, tensors["dev_numbers"], tensors["dev_targets"])
    )


def absolute_error(model: nn.Module, numbers: Tensor, targets: Tensor) -> Tensor:
    """The mean absolute error of each member's mean prediction [M], for records [N, D] with targets [N]."""
    assert isinstance(model, Batched)
    size = GPU_BLOCK if numbers.is_cuda else CPU_BLOCK
    pairs = zip(torch.split(numbers, size), torch.split(targets, size), strict=True)
    errors = [(model.mean(inputs) - truth).abs().sum(dim=-1, dtype=torch.float64) for inputs, truth in pairs]
    return torch.stack(errors).sum(dim=0) / len(targets)


def train_missing(job: Job, arrays: Arrays, make: MakeNetwork) -> None:
    """Train all members, unless all of them are complete in the folder of the fit.

    If one is missing or damaged all are trained: they take one program, whose time is about that of one member.
    """
    record, kept = fitted_folder.read(job.folder), member_files.weights(job.folder)
    members, steps = record["settings"]["members"], schedule(record["settings"], len(arrays["train_targets"]))
    validations = math.ceil(steps.steps / steps.validate_every)
    saved = Checkpoint(job.folder / "member_all.ckpt", f"{kept.fit} all members")
    if not kept.missing(members):
        saved.remove()  # left by a process that was killed between its last two steps
        if job.progress:
            job.progress(validations, validations, f"{members} members were trained before")
        return
    place, own = training.device(), seeds(record)
    net = make(record, own)
    tensors = {name: torch.from_numpy(array).to(place) for name, array in arrays.items()}

    def progress(step: int, _most: int, message: str) -> None:
        done = math.ceil(step / steps.validate_every)
        if job.progress and done < validations:  # the last one is reported after all files are written
            job.progress(done, validations, message)

    with one_thread():
        trained = train_batched(
            net, objective(tensors), steps, seeds=own, checkpoint=saved, device=place, progress=progress
        )
    weights = {name: value.cpu() for name, value in net.state_dict().items()}
    for member, result in enumerate(trained):
        member_training.keep(kept, member, {name: value[member].clone() for name, value in weights.items()}, result)
    saved.remove()
    if job.progress:
        best = span([result.best_step for result in trained], "steps")
        job.progress(validations, validations, f"{members} members, best after {best}")


def load(folder: Path, record: Mapping[str, Any], make: MakeNetwork) -> Batched:
    """The trained members of a fit, on the CPU.

    Raises:
        SettingsError: if members are missing or damaged, or a file does not hold weights.
    """
    kept = member_files.weights(folder)
    kept.require(record["settings"]["members"])
    own = seeds(record)
    found = [checkpoint.read_weights(kept.path(member)) for member in range(len(own))]
    together = {name: torch.stack([weights[name] for weights in found]) for name in found[0]}
    return checkpoint.restore(make(record, own), together, where=folder)


def predict(net: Batched, fitted: Fitted, numbers: Floats) -> Gaussian | Categorical:
    """The predictions for records [N, D], in the unit of the target: [M·draws, N], draw by draw of each member.

    On a CPU they depend neither on the number of cores nor on other records.
    """
    place, draws = training.device(), fitted.record["settings"].get("draws", 1)
    size = GPU_BLOCK if place.type == "cuda" else CPU_BLOCK
    members = fitted.record["settings"]["members"]
    found = PredictionArrays(fitted.record, members=members * draws, records=len(numbers))
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
                outputs = function(given)[..., : len(part)].cpu().numpy().astype(np.float64)
                outputs[1] *= outputs[1]
                found.put(slice(done, done + outputs.shape[1]), rows, np.moveaxis(outputs, 0, -1))
                done += outputs.shape[1]

    with one_thread(), ThreadPoolExecutor(1 if place.type == "cuda" else fitted.cores) as pool:
        for _ in pool.map(block, range(0, len(numbers), size)):
            pass
    return found.ensemble(draws=draws)
