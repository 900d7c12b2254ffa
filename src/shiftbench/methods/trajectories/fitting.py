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

from shiftbench.errors import ArrayError, SettingsError
from shiftbench.methods import fitted_folder, workers
from shiftbench.methods.contract import require_libraries
from shiftbench.methods.trajectories.dataset import digest, training_problems

if TYPE_CHECKING:
    from shiftbench.ensembles import Mixture, Trajectories
    from shiftbench.methods.progress import Progress
    from shiftbench.methods.trajectories.dataset import TrajectoryDataset
    from shiftbench.methods.trajectories.settings import TrajectorySettings

DATASETS = ".datasets.pickle.training.part"  # what members learn from, while they do

Parts = tuple["TrajectoryDataset", "TrajectoryDataset"]


def fit(
    method: str,
    train: TrajectoryDataset,
    dev: TrajectoryDataset,
    *,
    settings: TrajectorySettings,
    folder: str | os.PathLike[str],
    cores: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> Path:
    """Train the members on `train`, keep the weights that are best on `dev`, and write them to `folder`.

    Killed at any moment and called again with the same arguments, it goes on from about a minute before, and (on a CPU)
    ends with the same weights, bit for bit, for any number of cores. The folder holds `settings.json`, and for each
    member its weights and, written last, a file with their hash.

    Args:
        method: one of `settings.SETTINGS`.
        train: requests [N], N >= 2, to learn from.
        dev: requests like those of train (dev_in); of more than 10,000, a sample of 10,000 is used.
        settings: of the method.
        folder: a fresh folder, or that of the same fit begun earlier.
        cores: processes at a time, one thread each, one member in each; all available ones if None. On GPUs one member
            on each.
        progress: called with steps done, steps in all, and a sentence.
        overwrite: delete another fit in `folder` instead of refusing it.

    Raises:
        ArrayError: naming requests whose targets or inputs are not finite, or of another form.
        SettingsError: if the folder is another fit's or cannot be written to, or train and dev are of other forms.
        MissingExtraError: if PyTorch is not installed.
        ShiftbenchError: if a loss is not finite, naming the request.
    """
    require_torch(method)
    cores = workers.available(cores)
    if problems := training_problems(train, "train", least=2) + training_problems(dev, "dev_in", least=1):
        raise ArrayError(*problems)
    parts = train, dev
    place = fitted_folder.claim(folder, _record(method, settings, parts), overwrite=overwrite)
    _train_missing(place, parts, settings, cores=cores, progress=progress)
    return place


def predict(
    method: str,
    dataset: TrajectoryDataset,
    *,
    folder: str | os.PathLike[str],
    cores: int | None = None,
    progress: Progress | None = None,
    ensemble: str = "deep",
) -> Trajectories | Mixture:
    """The mixture of each member for each request (`vector`), or its Q plans, all scored under all members: every
    number of members and every aggregation of robust imitative planning follow from them.

    "deep": the K networks are the members. "dropout": each of the K networks under dropout masks (the published
    dropout ensemble, Shifts 1.0, Appendix E.4). "mc_dropout": the first network under K sets of masks. Of plans, member
    k scores all under one set of masks of its own and makes each of its Q under another. Masks are drawn from the seed
    and the same for all requests. Which random numbers a plan is made of follows from the request's map, so no number
    depends on blocks, cores or the order of the requests.

    The result is held in memory: 4 bytes for each number of plans [K, N, Q, T, 2] and 8 for each score [K, N, K·Q],
    12 KB a request with 5 members of 10 plans, 6 GB for 500,000; or of modes [K, N, D, T, 2] and each weight. Blocks
    take little more.

    Args:
        method: one of `settings.SETTINGS`.
        dataset: the requests [N].
        folder: of the fit.
        cores: blocks of requests at a time on a CPU; all cores if None.
        progress: called with requests done, requests in all, and a sentence.
        ensemble: see above.

    Raises:
        ArrayError: if there are no requests, or inputs are not finite.
        SettingsError: if `folder` holds no fit of this method, members that are missing or damaged, or networks that
            were trained on inputs of another form.
        MissingExtraError: if PyTorch is not installed.
        ShiftbenchError: if the result will not fit into memory, naming how many requests do: `select` so many.
    """
    require_torch(method)
    from shiftbench.methods.trajectories import answers

    return answers.predict(method, dataset, folder=folder, cores=cores, progress=progress, ensemble=ensemble)


def require_torch(method: str) -> None:
    """Check that PyTorch is there.

    Raises:
        MissingExtraError: if it is not.
    """
    require_libraries(method, ("torch",), "neural")


def _record(method: str, settings: TrajectorySettings, parts: Parts) -> dict[str, Any]:
    """What distinguishes this fit from any other."""
    from shiftbench.methods.trajectories import member

    record: dict[str, Any] = {"method": method, "settings": settings.to_dict()}
    train, dev = parts
    shapes = [member.shapes(record, part) for part in parts]
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
