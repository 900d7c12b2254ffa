"""The baseline without a network: whatever is brighter than the brain's mean by so many standard deviations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shiftbench.check import Flags
from shiftbench.components import without_small
from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.metrics import segmentation
from shiftbench.progress import Progress, silent
from shiftbench.tracks.lesions.prediction import Prediction
from shiftbench.tracks.lesions.volumes import Volumes

FILE = "threshold.json"
DEVIATIONS = tuple(float(each) for each in np.arange(1.0, 5.01, 0.25))  # that are tried on dev_in


def fit(dev: Volumes, folder: Path, *, progress: Progress | None = None) -> float:
    """The number of standard deviations whose masks have the highest mean nDSC on dev_in, found again in `folder`."""
    path = folder / FILE
    if path.is_file():
        return threshold(folder)
    say, scores = progress or silent, np.zeros(len(DEVIATIONS))
    for row in range(len(dev)):
        say("fit intensity threshold", row, len(dev))
        bright, truth, spacing = brightness(dev.image(row)[0], dev.brain(row)), dev.truth(row), dev.spacing(row)
        scores += [segmentation.ndsc(truth, without_small(bright >= each, spacing)) for each in DEVIATIONS]
    found = DEVIATIONS[int(np.argmax(scores))]
    folder.mkdir(parents=True, exist_ok=True)
    files.write_json(path, {"deviations": found, "ndsc_dev_in": float(scores.max() / max(len(dev), 1))})
    return found


def threshold(folder: Path) -> float:
    """The fitted number of standard deviations.

    Raises:
        SettingsError: if the file is damaged.
    """
    try:
        return float(json.loads(files.read_text(folder / FILE))["deviations"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise SettingsError(f"{folder / FILE}: expected a fitted threshold, found: {error}. Remove the file.") from None


def predict(volumes: Volumes, row: int, deviations: float) -> Prediction:
    """The mask of a patient."""
    bright = brightness(volumes.image(row)[0], volumes.brain(row))
    return Prediction(without_small(bright >= deviations, volumes.spacing(row)))


def brightness(image: npt.NDArray[np.float32], brain: Flags) -> npt.NDArray[np.float32]:
    """[X, Y, Z], standard deviations above the mean of the brain; far below it outside."""
    values = image[brain].astype(np.float64)
    found = np.full(image.shape, -np.inf, dtype=np.float32)
    if values.size:
        found[brain] = (values - values.mean()) / (values.std() or 1.0)
    return found
