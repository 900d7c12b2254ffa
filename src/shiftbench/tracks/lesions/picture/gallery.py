"""Patients and lesions of a report that are worth a look: the worst, those missed, false alarms with confidence."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from shiftbench.assessment.scored import Scored
from shiftbench.check import Flags
from shiftbench.components import components
from shiftbench.errors import counted
from shiftbench.report.picture import Picture
from shiftbench.report.view import clean, split_title
from shiftbench.tracks.lesions.picture.figure import patient_figure
from shiftbench.tracks.lesions.picture.view import Point, View, centre
from shiftbench.tracks.lesions.prediction import Prediction
from shiftbench.tracks.lesions.volumes import Volumes

MOST_WORST, MOST_OTHERS = 2, 1  # pictures of each kind and system
LONGEST_NAME = 40

Read = Callable[[Volumes, int], Prediction]


def view_of(volumes: Volumes, row: int, prediction: Prediction | None) -> View:
    """What is seen of a patient; the planes meet in the largest lesion of the truth, else of the prediction."""
    image = volumes.image(row)[0] if "flair" in volumes.patients[row].files else None
    truth, brain = volumes.truth(row), volumes.brain(row)
    view = View(image, truth, prediction, volumes.spacing(row), brain)
    masks = [truth, None if prediction is None else prediction.mask, brain]
    return replace(view, at=next((at for mask in masks if mask is not None and (at := focus(mask))), _middle(brain)))


def focus(mask: Flags) -> Point | None:
    """A voxel of the largest component of a mask; None if it is empty."""
    labels, count = components(mask, 6)
    if not count:
        return None
    return centre(labels == 1 + np.argmax(np.bincount(labels.ravel(), minlength=count + 1)[1:]))


def galleries(volumes: Volumes, split: str, systems: Iterable[tuple[Scored, Read]]) -> list[Picture]:
    """Pictures of each system on a split: its worst patients, the largest lesion that it missed, and the false alarm
    that it was most certain of, if any.
    """
    return [picture for scored, read in systems for picture in _gallery(volumes, split, scored, read)]


def _gallery(volumes: Volumes, split: str, scored: Scored, read: Read) -> list[Picture]:
    name, where = clean(scored.system.name), split_title(split)
    prefix = _prefix(split, name)
    order = np.argsort(-scored.errors, kind="stable")
    found = []
    for place, row in enumerate(order[:MOST_WORST].tolist(), 1):
        view = view_of(volumes, row, read(volumes, row))
        heading = f"{volumes.ids[row]}: 1 − nDSC {scored.errors[row]:.3f}, {name}"
        caption = f"{name}, {where}: the {'worst' if place == 1 else 'second worst'} patient. {_reading(view)}"
        found.append(
            Picture(f"{prefix}-worst-{place}", f"Worst patients: {name}", caption, patient_figure(view, title=heading))
        )
    return [*found, *_lesions(volumes, split, scored, read)]


def _reading(view: View) -> str:
    caption = (
        "The planes meet in the largest lesion of the truth; as radiologists look, the patient's right is on the left."
    )
    return caption if view.truth is not None and view.truth.any() else caption.replace("of the truth", "predicted")


def _lesions(volumes: Volumes, split: str, scored: Scored, read: Read) -> list[Picture]:
    """The largest lesion without any predicted voxel, and the most certain predicted one without any of the truth."""
    name, where = clean(scored.system.name), split_title(split)
    prefix = _prefix(split, name)
    missed: tuple[float, int, Point] | None = None
    alarm: tuple[float, int, Point, str] | None = None
    for row in range(len(volumes)):
        truth, prediction = volumes.truth(row), read(volumes, row)
        assert truth is not None
        if (lost := _missed(truth, prediction)) and (missed is None or lost[0] > missed[0]):
            missed = (lost[0], row, lost[1])
        if (false := _alarm(truth, prediction)) and (alarm is None or false[0] > alarm[0]):
            alarm = (false[0], row, *false[1:])
    found = []
    if missed is not None:
        size, row, at = missed
        ml = size * float(np.prod(volumes.spacing(row))) / 1000
        view = replace(view_of(volumes, row, read(volumes, row)), at=at, marked="missed lesion")
        found.append(
            Picture(
                f"{prefix}-missed", f"Missed lesion: {name}",
                f"{name}, {where}: the largest lesion without any predicted voxel, {ml:.2g} ml (crosshairs).",
                patient_figure(view, title=f"{volumes.ids[row]}: missed lesion of {ml:.2g} ml, {name}"),
            )
        )  # fmt: skip
    if alarm is not None:
        _, row, at, how = alarm
        view = replace(view_of(volumes, row, read(volumes, row)), at=at, marked="false alarm")
        found.append(
            Picture(
                f"{prefix}-false-alarm", f"Confident false alarm: {name}",
                f"{name}, {where}: of the predicted lesions that touch none of the truth {how} (crosshairs).",
                patient_figure(view, title=f"{volumes.ids[row]}: false alarm, {how}, {name}"),
            )
        )  # fmt: skip
    return found


def _missed(truth: Flags, prediction: Prediction) -> tuple[float, Point] | None:
    """The number of voxels and the centre of the largest lesion that no predicted voxel touches."""
    return _alone(truth, prediction.mask, np.ones(truth.shape, dtype=np.float32), mean=False)


def _alarm(truth: Flags, prediction: Prediction) -> tuple[float, Point, str] | None:
    """The false alarm of the highest mean probability, or the largest one where there is no probability."""
    sized = prediction.probability is None
    weights = np.ones(truth.shape, dtype=np.float32) if prediction.probability is None else prediction.probability
    found = _alone(prediction.mask, truth, weights, mean=not sized)
    if found is None:
        return None
    value, at = found
    return (
        value,
        at,
        f"the largest, {counted(round(value), 'voxel')}"
        if sized
        else f"the most certain, mean probability {value:.2f}",
    )


def _alone(
    mask: Flags, other: Flags, weights: np.typing.NDArray[np.float32], *, mean: bool
) -> tuple[float, Point] | None:
    """The largest sum (or mean) of weights over a component of a mask that the other one does not touch, its centre."""
    labels, count = components(mask, 6)
    flat = labels.ravel()
    sums = np.asarray(np.bincount(flat, weights=weights.ravel(), minlength=count + 1), dtype=np.float64)
    if mean:
        sums = sums / np.maximum(np.bincount(flat, minlength=count + 1), 1)
    sums[0] = -1.0
    sums[np.unique(labels[other])] = -1.0
    place = int(np.argmax(sums))
    if sums[place] < 0:
        return None
    at = centre(labels == place)
    assert at is not None
    return float(sums[place]), at


def _prefix(split: str, name: str) -> str:
    """The beginning of the names of a system's pictures, which hold letters, digits, _ and - alone."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", f"{split}-{name}").strip("-")[:LONGEST_NAME]


def _middle(volume: Flags) -> Point:
    x, y, z = (size // 2 for size in volume.shape)
    return x, y, z


def shown(systems: Sequence[Scored]) -> list[int]:
    """The systems that get pictures: those that are no baselines, or all if there are no others; at most three."""
    models = [place for place, each in enumerate(systems) if each.system.role != "baseline"]
    return (models or [*range(len(systems))])[:3]
