"""How far the lesions of an ensemble's segmentation overlap with those of its members.

Source: Molchanova et al. 2023 (arXiv 2311.08931), Section 2.3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shiftbench import check, components
from shiftbench.check import Flags, Vector
from shiftbench.components import Labels
from shiftbench.ensembles.ensemble import Array
from shiftbench.errors import ArrayError, SettingsError, quoted


def lesion_overlaps(labels: Any, member_masks: Any, connectivity: int = 6) -> Array:
    """The largest IoU of each lesion with a lesion of each member that touches it; 0 where none does.

    Args:
        labels: integers [...], the lesions 1 … L of the ensemble's segmentation (as `components` numbers them), 0
            elsewhere.
        member_masks: flags [M, ...], the segmentation of each member, cleaned of small components like the ensemble's.
        connectivity: of the members' lesions, as in `components`.

    Returns:
        [M, L]; L may be 0. The structural uncertainty (LSU) of lesions is 1 - its mean over the members.

    Raises:
        ArrayError: naming every problem: labels that are no integers >= 0, masks of another shape, other numbers than
            0 and 1, NaN, no members.
        SettingsError: another connectivity.
    """
    array = check.as_array("labels", labels)
    if array.dtype.kind not in "iu" or (array.size and array.min() < 0):
        raise ArrayError(f"labels: expected integers >= 0, found {array.dtype}. Use those of `components`.")
    _, *masks = _with_members("labels", array > 0, member_masks)
    if (number := int(array.max())) > array.size:
        raise ArrayError(f"labels: expected at most one for each of {array.size:,} voxels, found {number:,}.")
    return np.stack([best_overlaps(array, number, components.components(mask, connectivity)[0]) for mask in masks])


def disagreement(overlaps: Array) -> Vector:
    """1 - the mean over members of overlaps [M, N], the same to the last bit in whatever order the members are.

    Otherwise equal uncertainties would not be ties in a ranking.
    """
    return np.asarray(1 - np.sort(overlaps, axis=0).mean(axis=0), dtype=np.float64)


def patient_overlaps(mask: Any, member_masks: Any) -> Vector:
    """The IoU of the whole segmentation with that of each member [M]; 1 where both are empty (0/0 in published code).

    Args:
        mask: flags [...], the ensemble's segmentation.
        member_masks: flags [M, ...], that of each member. Both are cleaned of small components.

    Returns:
        [M]. The structural uncertainty (PSU) of the patient is 1 - its mean.

    Raises:
        ArrayError: naming every problem: masks of another shape, other numbers than 0 and 1, NaN, no members.
    """
    whole, *masks = _with_members("mask", mask, member_masks)
    return np.array([components.overlap(whole, member) for member in masks])


def best_overlaps(labels: Labels, number: int, others: Labels) -> Vector:
    """The largest IoU [n] of each of the components 1 … n with one of another mask that shares a voxel, or 0."""
    found = components.pairs(labels, others)
    best = np.zeros(number)
    np.maximum.at(best, found.first - 1, found.iou)
    return best


@dataclass(frozen=True)
class Cut:
    """How probabilities become lesions: a voxel belongs to one from `threshold` on, and small ones are removed.

    thresholds: those of members, each tuned for itself; None if there are none.
    """

    threshold: float
    thresholds: Sequence[float] | None
    connectivity: int
    larger_than: int

    def check(self, *, members: int, axes: int) -> None:
        """SettingsError that names every problem, for volumes of so many members and axes."""
        problems = [] if _is_share(self.threshold) else [f"threshold: expected 0 to 1, found {self.threshold!r}."]
        tuned = None if self.thresholds is None else check.as_array("thresholds", self.thresholds).tolist()
        if tuned is not None and not (isinstance(tuned, list) and len(tuned) == members and all(map(_is_share, tuned))):
            problems.append(
                f"thresholds: expected {members} numbers from 0 to 1, one for each member, found {tuned!r}."
            )
        if not isinstance(self.larger_than, (int, np.integer)) or self.larger_than < 0:
            problems.append(f"larger_than: expected a number of voxels >= 0, found {self.larger_than!r}.")
        try:
            components.rank(axes, self.connectivity)
        except SettingsError as error:
            problems += error.problems
        if problems:
            raise SettingsError(*problems)

    def labels(self, probabilities: npt.NDArray[Any], threshold: float) -> tuple[Labels, int]:
        """The lesions of one volume, labelled, and their number."""
        # In single precision, like the probabilities: 0.7 in double is more than 0.7 in single.
        mask = probabilities.astype(np.float32, copy=False) >= np.float32(threshold)
        return components.large_components(mask, larger_than=self.larger_than, connectivity=self.connectivity)


class Structure(NamedTuple):
    """The L lesions of one volume, and the overlaps of the members with them: of each lesion, and of all together.

    labels: in the shape of the volume. lesions: [M, L], of one lesion. whole: [M], of the whole segmentations.
    tuned_lesions, tuned_whole: the same with members at thresholds of their own; empty without these.
    """

    labels: Labels
    lesions: Array
    whole: Vector
    tuned_lesions: Array
    tuned_whole: Vector


def structure(volume: npt.NDArray[np.float32], cut: Cut) -> Structure:
    """The structure of one volume from the probabilities [M, ...] of its members, labelled one at a time."""
    labels, number = cut.labels(volume.mean(axis=0, dtype=np.float64), cut.threshold)
    shared = (cut.labels(member, cut.threshold)[0] for member in volume)
    tuned = (
        (cut.labels(*own)[0] for own in zip(volume, cut.thresholds, strict=True)) if cut.thresholds is not None else ()
    )
    return Structure(labels, *_overlaps(labels, number, shared), *_overlaps(labels, number, tuned))


def _overlaps(labels: Labels, number: int, members: Iterable[Labels]) -> tuple[Array, Vector]:
    mask = labels > 0
    found = [(best_overlaps(labels, number, own), components.overlap(mask, own > 0)) for own in members]
    lesions, whole = zip(*found, strict=True) if found else ((), ())
    return np.reshape(lesions, (len(found), number)), np.array(whole)


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float, np.floating)) and not isinstance(value, bool) and bool(0 <= value <= 1)


def _with_members(name: str, mask: Any, member_masks: Any) -> tuple[Flags, ...]:
    """A mask and those of the members, checked together."""
    if (
        not isinstance(member_masks, (list, tuple))
        and not (member_masks := check.as_array("member_masks", member_masks)).ndim
    ):
        raise ArrayError(f"member_masks: expected masks [M, ...], found {quoted(member_masks)}.")
    if not len(member_masks):
        raise ArrayError("member_masks: expected at least one member, found none.")
    return check.masks(**{name: mask, **{f"member {m}": member for m, member in enumerate(member_masks)}})
