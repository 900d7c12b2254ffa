"""Masks and lesions of whole brains against loops over lesions, members and volumes."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt

from shiftbench.components import Labels, components
from shiftbench.ensembles.structure import lesion_overlaps

REAL = Path(__file__).resolve().parents[2] / "shared/data/lesions/ljubljana_masks30/01_gt.nii.gz"
SHAPE, LESIONS, MEMBERS = (154, 240, 240), 271, 5
SAMPLE = 3  # lesions that the loop is timed on; it takes as long for each
ROUNDS = 3

Mask = npt.NDArray[np.bool_]


def ratios() -> list[tuple[str, float, float | None]]:
    """Measured ratios and their bounds."""
    return [structural()]


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
    """How long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: {ratio:.2g} (at most {bound})")
