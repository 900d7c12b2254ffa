"""The methods as values: from volumes to a folder of trained networks. Libraries are imported to train or predict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench.errors import ArrayError, SettingsError
from shiftbench.io import files
from shiftbench.methods.contract import DEEP, Fitted, Job, Method, Prepared
from shiftbench.methods.member_files import best_steps
from shiftbench.methods.volumes import settings as of
from shiftbench.methods.volumes import threshold
from shiftbench.methods.volumes.dataset import training_problems

if TYPE_CHECKING:
    from shiftbench.methods.volumes.answers import VolumeAnswers
    from shiftbench.methods.volumes.dataset import VolumeDataset

FAINT = 0.05  # mean nDSC on dev_in below which networks have found next to nothing


def of_volumes(name: str, title: str, settings: type[of.VolumeSettings], *libraries: str) -> Method:
    """A method that trains networks of the given name.

    A fit that was killed resumes from about a minute before when called again. The folder holds `settings.json`,
    for each member its weights and, written after them, a file with their hash, and last the tuned thresholds.
    """
    return Method(
        name, title, settings, lambda job: prepare(name, job), answer, describe, train=lambda job, _data: train(job),
        libraries=("torch", "monai", *libraries), extra="volumes", doubt=doubt, ensembles=(DEEP, of.MC_DROPOUT),
    )  # fmt: skip


def prepare(method: str, job: Job) -> Prepared:
    """Check both data sets, reading each volume once; returns what distinguishes this fit from any other.

    Raises:
        ArrayError: naming volumes with NaN, without foreground masks, of other shapes or channels; no foreground.
        SettingsError: if files of published weights are missing.
    """
    known = job.settings.weights
    parts: dict[str, VolumeDataset] = {"dev_in": job.dev} if known else {"train": job.train, "dev_in": job.dev}
    first = next((part for part in parts.values() if len(part)), None)
    channels = len(first.image(0)) if first is not None else None
    if problems := [text for name, part in parts.items() for text in training_problems(part, name, channels=channels)]:
        raise ArrayError(*problems)
    data = {name: len(part) for name, part in parts.items()}
    record: dict[str, Any] = {
        "channels": channels,
        "data": {**data, "sha256": [part.digest for part in parts.values()]},
    }
    if known:
        record["weights"] = [files.sha256(path) for path in existing(known)]
    return Prepared({**record, "libraries": job.libraries})


def existing(paths: Sequence[str]) -> list[Path]:
    """Check that there are files at these paths.

    Raises:
        SettingsError: naming those that are missing.
    """
    if missing := [path for path in paths if not Path(path).is_file()]:
        raise SettingsError(*(f"weights: expected a file, found none at {path}. Correct the path." for path in missing))
    return [Path(path) for path in paths]


def train(job: Job) -> None:
    """Train members that are missing or incomplete in the folder of the fit, and tune the thresholds on dev_in."""
    from shiftbench.methods.volumes import tuning

    tuning.train(job)


def answer(dataset: VolumeDataset, fitted: Fitted) -> VolumeAnswers:
    """Predictions of each member for each volume, computed on demand.

    "deep": the M networks are the members. "mc_dropout": as many draws of dropout of the first network, or of another
    by `of_network` (Gal and Ghahramani, ICML 2016). What is dropped follows from the seed and the image, so results do
    not depend on the order of the volumes.

    Raises:
        SettingsError: if members or thresholds are missing or damaged; for dropout of networks trained without.
    """
    from shiftbench.methods.volumes import answers

    return answers.predict(dataset, fitted)


def describe(_dataset: VolumeDataset, fitted: Fitted) -> str:
    """The number of networks, the step at which each was best, and the threshold of the ensemble."""
    settings = fitted.record["settings"]
    members = settings["members"]
    found = threshold.require(fitted.folder, DEEP, members=members)
    limit = f"threshold {found['threshold']:.2f} ({'given' if found['ndsc'] is None else 'tuned on dev_in'})"
    if settings["weights"]:
        return f"{members} networks with weights that were trained elsewhere, {limit}"
    return f"{members} networks that differ by seed (best after {best_steps(fitted.folder, members)}), {limit}"


def doubt(fitted: Fitted) -> str:
    """A sentence if the networks found next to nothing on dev_in, or ""."""
    found = threshold.require(fitted.folder, DEEP, members=fitted.record["settings"]["members"])
    if found["ndsc"] is None or found["ndsc"] >= FAINT:
        return ""
    return (
        f"The networks found next to nothing on dev_in: nDSC {100 * found['ndsc']:.1f} % at their best threshold. "
        "Train longer, or with a higher learning rate."
    )


UNET = of_volumes("unet", "UNet of volumes", of.UNetSettings)
UNET_SLICES = of_volumes("unet_slices", "UNet of axial slices", of.SliceSettings)
UNETR = of_volumes("unetr", "UNETR: a transformer of volumes", of.TransformerSettings, "einops")
