"""Planes through a volume as radiologists look at them: the patient's right on the left, front or top up."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.check import Flags
from shiftbench.components import components
from shiftbench.ensembles.structure import disagreement, lesion_overlaps
from shiftbench.tracks.lesions.prediction import Prediction

MARGIN_MM = 6.0
Point = tuple[int, int, int]


@dataclass(frozen=True)
class Plane:
    """A plane of a volume [X, Y, Z] in RAS+ orientation.

    axis: it is perpendicular to. mirrored: the axis that runs from right to left in the picture, or None. letters:
    of the directions at the left, right, top and bottom of the picture.
    """

    title: str
    axis: int
    letters: tuple[str, str, str, str]

    def cut(self, volume: Any, place: int) -> Any:
        """[rows, columns] of a volume, the first row at the bottom: the horizontal axis is reversed."""
        return np.take(volume, place, axis=self.axis)[::-1].T

    def across(self, values: Any) -> tuple[Any, Any]:
        """Of three values, one an axis, those of the horizontal and of the vertical axis."""
        first, second = (axis for axis in range(3) if axis != self.axis)
        return values[first], values[second]


PLANES = (
    Plane("Axial", 2, ("R", "L", "A", "P")),
    Plane("Sagittal", 0, ("A", "P", "S", "I")),
    Plane("Coronal", 1, ("R", "L", "S", "I")),
)


@dataclass(frozen=True, eq=False)
class View:
    """The volumes of one patient to show, cropped to the brain, all in one grid [X, Y, Z].

    image: None where there is no scan. truth: None where unknown. spacing: sides of a voxel in mm. uncertainty: a map
    with its name. labels: numbers of the predicted lesions from 1, the largest first; structural: the LSU of each, or
    empty. at: the voxel where the planes meet. marked: what the lesion there is called, if crosshairs mark it.
    """

    image: npt.NDArray[np.float32] | None
    truth: Flags | None
    prediction: Prediction | None
    spacing: npt.NDArray[np.float64]
    brain: Flags
    at: Point = (0, 0, 0)
    marked: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """[X, Y, Z]."""
        return self.brain.shape

    def cropped(self) -> View:
        """Cut to the brain and a margin."""
        box = box_of(self.brain, self.spacing)
        prediction = self.prediction and replace(
            self.prediction,
            mask=self.prediction.mask[box],
            probability=None if self.prediction.probability is None else self.prediction.probability[box],
            maps={name: values[box] for name, values in self.prediction.maps.items()},
            members=None if self.prediction.members is None else self.prediction.members[:, *box],
            each=None,
        )
        at = [
            min(max(place - side.start, 0), side.stop - side.start - 1)
            for place, side in zip(self.at, box, strict=True)
        ]
        return View(
            None if self.image is None else self.image[box],
            None if self.truth is None else self.truth[box],
            prediction,
            self.spacing,
            self.brain[box],
            (at[0], at[1], at[2]),
            self.marked,
        )

    def lesion(self) -> Flags:
        """The lesion of the truth, or else of the prediction, in which the planes meet; empty if there is none."""
        masks = [self.truth, None if self.prediction is None else self.prediction.mask]
        mask = next(
            (each for each in masks if each is not None and each[self.at]), np.zeros(self.shape, dtype=np.bool_)
        )
        labels, _ = components(mask, 6)
        return np.asarray((labels > 0) & (labels == labels[self.at]))


def box_of(brain: Flags, spacing: npt.NDArray[np.float64]) -> tuple[slice, slice, slice]:
    """The box around a brain with a margin; everything where it is empty."""
    sides = []
    for axis, size in enumerate(brain.shape):
        inside = np.flatnonzero(brain.any(axis=tuple(other for other in range(3) if other != axis)))
        margin = round(MARGIN_MM / spacing[axis])
        first, last = (inside[0], inside[-1]) if inside.size else (0, size - 1)
        sides.append(slice(max(int(first) - margin, 0), min(int(last) + margin + 1, size)))
    return sides[0], sides[1], sides[2]


def largest_first(mask: Flags, *, connectivity: int = 6) -> npt.NDArray[np.int32]:
    """Components of a mask [X, Y, Z], numbered from 1, the largest first; 0 elsewhere."""
    labels, count = components(mask, connectivity)
    sizes = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    numbers = np.zeros(count + 1, dtype=np.int32)
    numbers[1 + np.argsort(-sizes, kind="stable")] = np.arange(1, count + 1)
    return np.asarray(numbers[labels])


def numbered(view: View) -> tuple[npt.NDArray[np.int32], list[float]]:
    """The numbers of the predicted lesions as labels [X, Y, Z], and the structural uncertainty of each, if known."""
    if view.prediction is None:
        return np.zeros(view.shape, dtype=np.int32), []
    labels = largest_first(view.prediction.mask)
    members = view.prediction.members
    if members is None or len(members) < 2 or not labels.any():
        return labels, []
    return labels, disagreement(lesion_overlaps(labels, members, 6)).tolist()


def centres(labels: npt.NDArray[np.integer[Any]]) -> list[Point]:
    """Of each label from 1 on, a voxel of it next to its centre."""
    places, owners = np.argwhere(labels), labels[labels > 0]
    order = np.argsort(owners, kind="stable")
    groups = np.split(places[order], np.cumsum(np.bincount(owners)[1:])[:-1]) if len(owners) else []
    nearest = (own[np.argmin(((own - own.mean(axis=0)) ** 2).sum(axis=1))].tolist() for own in groups)
    return [(x, y, z) for x, y, z in nearest]


def centre(mask: Flags) -> Point | None:
    """A voxel of a mask next to its centre; None if it is empty."""
    return next(iter(centres(mask.astype(np.int8))), None)
