"""Masks and lesions of whole brains against loops over lesions, members, volumes and shares of retained voxels.

CPU seconds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from shiftbench.components import Labels, components
from shiftbench.ensembles.structure import lesion_overlaps
from shiftbench.metrics import segmentation
from shiftbench.metrics.segmentation.retention import GRIDS

REAL = Path(__file__).resolve().parents[2] / "shared/data/lesions/ljubljana_masks30/01_gt.nii.gz"
SHAPE, LESIONS, MEMBERS = (154, 240, 240), 271, 5
SAMPLE = 3  # lesions that the loop is timed on; it takes as long for each
VOXELS = 1_500_000
VOLUME, BALLS = (180, 220, 180), 60
ROUNDS = 3
BOUND_RETENTION, BOUND_F1, BOUND_REMOVAL = 0.05, 0.02, 0.1

Mask = npt.NDArray[np.bool_]


def ratios() -> list[tuple[str, float, float | None]]:
    """Measured ratios and their bounds."""
    return [*scores(), structural()]


# --- scores -----------------------------------------------------------------------------------------------------------


def scores() -> list[tuple[str, float, float | None]]:
    """Retention over voxels, F1 of lesions and removal of small ones."""
    made, (truth, answers) = brain(), volumes()
    where = f"{' × '.join(map(str, VOLUME))} voxels with {BALLS} lesions"
    retention = compared(lambda: segmentation.ndsc_retention_area(*made), lambda: scored_anew(*made))
    f1 = compared(lambda: segmentation.lesion_f1(truth, answers), lambda: lesion_by_lesion(truth, answers))
    removal = compared(lambda: segmentation.keep_large_components(answers), lambda: kept_one_by_one(answers))
    return [
        (f"nDSC retention of {VOXELS:,} voxels / 200 re-evaluations", retention, BOUND_RETENTION),
        (f"F1 of lesions of {where} / a loop over lesions and the volume", f1, BOUND_F1),
        (f"removal of small lesions of {where} / a loop over lesions", removal, BOUND_REMOVAL),
    ]


def brain(voxels: int = VOXELS) -> tuple[Mask, Mask, npt.NDArray[np.floating[Any]]]:
    """Truth, prediction and uncertainty [V] of the voxels of a brain, 1 % of them in lesions; many have none at all."""
    rng = np.random.default_rng(0)
    truth = rng.random(voxels) < 0.01
    answers = np.where(rng.random(voxels) < np.where(truth, 0.3, 0.003), ~truth, truth)
    uncertainty = rng.gamma(0.2, 1.0, voxels) + (answers != truth) * rng.random(voxels)
    return truth, answers, np.where(uncertainty < 1e-3, 0.0, uncertainty).astype(np.float32)


def volumes(shape: tuple[int, ...] = VOLUME, lesions: int = BALLS) -> tuple[Mask, Mask]:
    """Two masks of balls of 1 to 5 voxels of radius, those of the second moved or missing, and specks around them."""
    rng = np.random.default_rng(1)
    truth, answers = np.zeros(shape, bool), np.zeros(shape, bool)
    places = [rng.integers(12, np.array(shape) - 12) for _ in range(lesions)]
    for place in places:
        radius = int(rng.integers(1, 6))
        _ball(truth, place, radius)
        if rng.random() < 0.8:
            _ball(answers, place + rng.integers(-2, 3, 3), radius)
    for place in rng.integers(12, np.array(shape) - 12, (lesions // 3, 3)):
        _ball(answers, place, 1)
    return truth, answers


def _ball(mask: Mask, place: npt.NDArray[Any], radius: int) -> None:
    steps = np.indices((2 * radius + 1,) * 3) - radius
    mask[tuple(slice(at - radius, at + radius + 1) for at in place)] |= (steps**2).sum(axis=0) <= radius**2


def scored_anew(truth: Mask, answers: Mask, uncertainty: npt.NDArray[np.floating[Any]]) -> float:
    """The twin of `ndsc_retention_area`: both masks are scored at each share."""
    order = np.argsort(uncertainty, kind="stable")
    truth, answers = truth[order], answers[order]
    shares = GRIDS["published"]()
    scores = []
    for share in shares:
        kept = int(share * len(truth))
        mixed = np.concatenate((answers[:kept], truth[kept:]))
        right, false, missed = (np.sum(each) for each in (mixed & truth, mixed & ~truth, truth & ~mixed))
        weight = 0.999 * np.sum(truth) / (0.001 * np.sum(~truth))
        scores.append(2 * right / (2 * right + weight * false + missed))
    return float(1 - np.trapezoid(scores, shares))


def lesion_by_lesion(truth: Mask, answers: Mask, iou: float = 0.25) -> float:
    """The twin of `lesion_f1`: masks of the whole volume for each lesion, and for each one that it touches."""
    (true, trues), (predicted, predictions) = ndimage.label(truth), ndimage.label(answers)

    def best(labels: npt.NDArray[Any], label: int, others: npt.NDArray[Any]) -> float:
        lesion = labels == label
        found = [0.0]
        for other in np.unique(others * lesion):
            if other:
                mask = others == other
                found.append(np.sum(lesion & mask) / np.sum(lesion | mask))
        return max(found)

    right = sum(best(predicted, label, true) >= iou for label in range(1, predictions + 1))
    missed = sum(best(true, label, predicted) < iou for label in range(1, trues + 1))
    return right / (right + 0.5 * (predictions - right + missed))


def kept_one_by_one(mask: Mask, larger_than: int = 9) -> Mask:
    """The twin of `keep_large_components`: every component is found in the whole volume."""
    labels, number = ndimage.label(mask)
    kept = np.zeros_like(mask)
    for label in range(1, number + 1):
        if np.sum(labels == label) > larger_than:
            kept[labels == label] = True
    return kept


def compared(ours: Callable[[], Any], twin: Callable[[], Any]) -> float:
    """The time of ours (the median of several calls) over that of one call of the twin, which must say the same."""
    np.testing.assert_allclose(ours(), twin(), atol=1e-12)
    return statistics.median(seconds(ours) for _ in range(ROUNDS)) / seconds(twin)


# --- structural uncertainty -------------------------------------------------------------------------------------------


def structural() -> tuple[str, float, float | None]:
    """Overlaps of all lesions of a mask with five members, against a loop over lesions and members."""
    rng = np.random.default_rng(0)
    mask, what = real_mask()
    labels, number = components(mask, 18)
    members = [perturbed(rng, labels) for _ in range(MEMBERS)]
    own = statistics.median(seconds(lambda: lesion_overlaps(labels, members, 18)) for _ in range(ROUNDS))
    sample = np.linspace(1, number, SAMPLE, dtype=int)
    theirs = [components(member, 18)[0].astype(float) for member in members]
    found: list[list[float]] = []
    loop = seconds(lambda: found.extend(looped(labels, label, theirs) for label in sample)) * number / SAMPLE
    assert np.allclose(lesion_overlaps(labels, members, 18)[:, sample - 1].T, found)
    name = f"LSU of {number} lesions of {what}, {MEMBERS} members / loop over lesions and members ({SAMPLE} timed)"
    return name, own / loop, 0.01


def looped(labels: Labels, label: int, members: list[npt.NDArray[np.float64]]) -> list[float]:
    """The largest IoU of one lesion with a lesion of each member, as it is usually written: over whole volumes."""
    lesion, found = (labels == label).astype(float), []
    for member in members:
        best = 0.0
        for touching in np.unique(lesion * member):
            if touching:
                other = (member == touching).astype(float)
                best = max(best, float((lesion * other).sum() / (lesion + other - lesion * other).sum()))
        found.append(best)
    return found


def real_mask() -> tuple[Mask, str]:
    """A consensus mask with 271 lesions; a made-up one of that size where it is absent."""
    if REAL.exists():
        from shiftbench.tracks.lesions import nifti

        return nifti.read_mask(REAL)[0], "a real mask"
    rng, mask = np.random.default_rng(1), np.zeros(SHAPE, np.bool_)
    corners = np.indices([size // 12 - 1 for size in SHAPE]).reshape(3, -1).T * 12 + 6
    for corner in rng.permutation(corners)[:LESIONS]:
        mask[tuple(slice(at, at + rng.integers(1, 5)) for at in corner)] = True
    return mask, "a made-up mask"


def perturbed(rng: np.random.Generator, labels: Labels) -> Mask:
    """A member: a tenth of the lesions missing, all moved by a voxel along some axes, and some voxels more."""
    kept = np.flatnonzero(rng.random(int(labels.max()) + 1) < 0.9)
    moved = np.roll(np.isin(labels, kept[kept > 0]), rng.integers(-1, 2, 3), axis=(0, 1, 2))
    return np.asarray(moved | np.roll(moved, 1, axis=int(rng.integers(3))))


def seconds(work: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: {ratio:.2g} (at most {bound})")
