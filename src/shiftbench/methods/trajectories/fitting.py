"""From data sets to a folder of trained networks. PyTorch is imported only to train or predict."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftbench.errors import ArrayError, SettingsError
from shiftbench.methods import fitted_folder, workers
from shiftbench.methods.contract import require_libraries
from shiftbench.methods.trajectories.dataset import digest, training_problems

if TYPE_CHECKING:
    from shiftbench.methods.progress import Progress
    from shiftbench.methods.trajectories.dataset import TrajectoryDataset
    from shiftbench.methods.trajectories.settings import TrajectorySettings

DATASETS = ".datasets.pickle.training.part"  # what members learn from, while they do

Parts = tuple["TrajectoryDataset", "TrajectoryDataset"]


def fit(
    method: str,
    settings: TrajectorySettings,
    parts: Parts,
    *,
    folder: str | os.PathLike[str],
    cores: int | None,
    progress: Progress | None,
    overwrite: bool,
) -> Path:
    """Train the networks that are missing in `folder` on (train, dev_in); see `cloning.fit`."""
    require_torch(method)
    cores = workers.available(cores)
    train, dev = parts
    if problems := training_problems(train, "train", least=2) + training_problems(dev, "dev_in", least=1):
        raise ArrayError(*problems)
    record = _record(method, settings, parts)
    place = fitted_folder.claim(folder, record, overwrite=overwrite)
    _train_missing(place, parts, settings, cores=cores, progress=progress)
    return place


def require_torch(method: str) -> None:
    """Check that PyTorch is there.

    Raises:
        MissingExtraError: if it is not.
    """
    require_libraries(method, ("torch",), "neural")


def require_inputs(record: dict[str, Any], dataset: TrajectoryDataset) -> None:
    """Check that there are requests, and that their inputs have the shapes that the networks were trained with.

    Raises:
        ArrayError: if there are none.
        SettingsError: naming the inputs that differ.
    """
    if not len(dataset):
        raise ArrayError("expected at least one request to predict, found none.")
    found, wanted = _shapes(record, dataset), record["inputs"]
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


def _record(method: str, settings: TrajectorySettings, parts: Parts) -> dict[str, Any]:
    """What distinguishes this fit from any other."""
    from shiftbench.methods.trajectories import member

    record: dict[str, Any] = {"method": method, "settings": settings.to_dict()}
    train, dev = parts
    shapes = [_shapes(record, part) for part in parts]
    if shapes[0] != shapes[1]:
        raise SettingsError(f"dev_in: expected inputs of the shapes of train {shapes[0]}, found {shapes[1]}.")
    read = member.reader(record)
    record["inputs"] = shapes[0]
    record["data"] = {
        "train": len(train),
        "dev_in": len(dev),
        "horizon": int(train.targets.shape[1]),
        "sha256": [digest(part, read) for part in parts],
    }
    record["libraries"] = {"torch": importlib.metadata.version("torch")}
    return record


def _shapes(record: dict[str, Any], dataset: TrajectoryDataset) -> dict[str, list[int]]:
    """The shapes of one request's inputs by name."""
    from shiftbench.methods.trajectories import member

    inputs = member.reader(record)(dataset, np.arange(1))
    return {name: list(values.shape[1:]) for name, values in inputs.items()}


def _train_missing(
    folder: Path, parts: Parts, settings: TrajectorySettings, *, cores: int, progress: Progress | None
) -> None:
    """Train the members that are missing or incomplete in `folder`."""
    from shiftbench.methods import member_training
    from shiftbench.methods.trajectories import member

    member_training.train_missing(
        folder,
        member_training.MemberTraining(
            settings.members,
            member.schedule(settings.to_dict(), len(parts[0]), seed=0).steps,
            lambda number, report: member.train(folder, parts, number, report=report),
            "shiftbench.methods.trajectories.member",
            _given(folder, parts),
        ),
        cores=cores,
        progress=progress,
    )


@contextmanager
def _given(folder: Path, parts: Parts) -> Iterator[str]:
    """A temporary file that gives processes the folder and the data sets, while the block lasts."""
    path = folder.absolute() / DATASETS  # not elsewhere: workers of a cluster see this folder
    try:
        written = pickle.dumps((folder.absolute(), *parts))
        path.write_bytes(written)
        yield f"{hashlib.sha256(written).hexdigest()} {path}"
    finally:
        path.unlink(missing_ok=True)
