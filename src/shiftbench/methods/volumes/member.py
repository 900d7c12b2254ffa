"""One network of an ensemble: training, in this process or another, and loading."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from shiftbench.methods import fitted_folder, member_files, member_training
from shiftbench.methods.training import Objective, Schedule, Trained
from shiftbench.methods.volumes import architecture, patch, weights, window
from shiftbench.methods.volumes.dataset import Singles, VolumeDataset, VolumeReader
from shiftbench.methods.volumes.loss import loss
from shiftbench.methods.volumes.patch import PatchSettings
from shiftbench.methods.volumes.window import Windows
from shiftbench.methods.workers import Report, Train
from shiftbench.metrics.segmentation import dsc

Parts = tuple[VolumeDataset, VolumeDataset]
Pair = tuple[Tensor, Tensor]

AXES = {"unet_slices": 2}  # of what a network sees, where that is not the whole space
SLICES = 8  # as many slices as windows are evaluated together: they are that much smaller, and more


def network(record: Mapping[str, Any], *, seed: int) -> nn.Module:
    """A network of the fit on the CPU, with weights initialised from the seed."""
    return architecture.network(record["method"], record["settings"], channels=record["channels"], seed=seed)


def schedule(settings: Mapping[str, Any], volumes: int, *, seed: int) -> Schedule:
    """How long to train on this many volumes; a record of the loop is a patch."""
    per_epoch = math.ceil(volumes * settings["patches"] / settings["batch"])
    return Schedule(
        steps=settings["epochs"] * per_epoch,
        batch=settings["batch"],
        learning_rate=settings["learning_rate"],
        validate_every=settings["validate_every"] * per_epoch,
        weight_decay=settings["weight_decay"],
        cosine=settings["cosine"],
        patience=settings["patience"],
        mixed_precision=settings["mixed_precision"],
        seed=seed,
    )


def objective(record: Mapping[str, Any], parts: Parts, place: torch.device) -> Objective[Pair]:
    """The objective: trained on patches of the first of `parts`, and evaluated on the whole volumes of the second."""
    settings, how = record["settings"], PatchSettings.of(record["settings"], axes(record))
    train, judged = VolumeReader(parts[0], "train"), VolumeReader(parts[1], "dev_in")
    of_loss = {"dice_weight": settings["dice_weight"], "focal_weight": settings["focal_weight"]}
    limit = math.log(settings["selection_threshold"] / (1 - settings["selection_threshold"]))

    def batch(rows: Tensor) -> Pair:
        # The seed comes from the state that checkpoints keep, so a training that goes on sees the same patches.
        rng = np.random.default_rng(int(torch.randint(2**62, ())))
        chosen = [train(int(row) % len(parts[0])) for row in rows.tolist()]
        return patch.batch(chosen, how, rng, place)

    def patches_loss(model: nn.Module, given: Pair) -> Tensor:
        return loss(model(given[0]), given[1], **of_loss, gamma=settings["focal_gamma"]).mean()

    def validate(model: nn.Module) -> float:
        scores = []
        for row in range(len(parts[1])):
            image, truth, *_ = judged(row)
            scores.append(dsc(truth, evaluated(model, image, windows(record), place) >= limit))
        return 1 - float(np.mean(scores))

    return Objective(len(parts[0]) * settings["patches"], batch, patches_loss, validate)


def axes(record: Mapping[str, Any]) -> int:
    """The axes of what the networks of a fit see: 3, or 2 of slices."""
    return AXES.get(record["method"], 3)


def windows(record: Mapping[str, Any], *, threads: int = 1) -> Windows:
    """How the networks of a fit cover a volume."""
    side, overlap = record["settings"]["window"], record["settings"]["overlap"]
    if axes(record) == 2:
        return Windows((side, side, 1), overlap, 4 * SLICES, threads)
    return Windows((side, side, side), overlap, 4, threads)


def evaluated(net: nn.Module, image: Singles, how: Windows, place: torch.device) -> Singles:
    """The logarithm of the odds of the foreground [X, Y, Z] of a normalised image [C, X, Y, Z]."""
    flat = how.shape[-1] == 1

    def odds(patches: Singles) -> Singles:
        given = torch.from_numpy(patches).to(place)
        with torch.inference_mode():
            found = architecture.odds(net, given[..., 0] if flat else given).cpu().numpy()
        return np.asarray(found[..., None] if flat else found)

    return window.blended(image, odds, how)


def train(folder: Path, parts: Parts, member: int, *, report: Report, number: int = 0) -> None:
    """Train one member on (train, dev_in), resuming where it stopped, or take published weights; write its files.

    `number` is that of the process: with several GPUs each process has one of its own.
    """
    record, kept = fitted_folder.read(folder), member_files.weights(folder)
    if record["settings"]["weights"]:
        path = Path(record["settings"]["weights"][member])
        member_training.keep(kept, member, weights.read(path, network(record, seed=0)), Trained(0, 0, 1.0, ()))
        return
    seed, place = member_training.member_seed(record, member), member_training.device(number)
    member_training.train_member(
        kept,
        member,
        network(record, seed=seed).to(place),
        objective(record, parts, place),
        schedule(record["settings"], len(parts[0]), seed=seed),
        saved=member_training.checkpoint_of(kept, member),
        report=report,
    )


def load(folder: Path, record: Mapping[str, Any], member: int) -> nn.Module:
    """The network of a member whose files were found complete; see `member_training.load`."""
    return member_training.load(network(record, seed=0), member_files.weights(folder), member)


def trainer(argument: str, number: int) -> Train:
    """The trainer of a fit's members, see `workers.train`; its argument is that of `member_training.sharing`."""
    folder, parts = member_training.shared(argument)
    return lambda member, report: train(folder, parts, member, report=report, number=number)
