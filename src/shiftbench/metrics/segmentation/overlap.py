"""How well a mask covers another, voxel by voxel: Dice and its form that does not depend on how much there is to find.

Source: Malinin et al. 2022, Shifts 2.0; Raina et al. 2023 (normalised Dice).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftbench import argument, check
from shiftbench.check import Flags, Vector
from shiftbench.errors import ArrayError

R = 0.001
"""The share of positive voxels at which nDSC equals DSC, as in the papers."""


LEAST_SHARE = 1e-100  # the weight of a false positive among smaller ones would be infinite


def dsc(targets: Any, answers: Any, *, brain: Any = None) -> float:
    """Dice similarity coefficient 2TP / (2TP + FP + FN) of two masks of one shape; 1 if both are empty.

    brain: a mask outside of which nothing counts; None: every voxel counts.

    Raises:
        ArrayError: naming every problem: shapes that differ, no voxel, NaN, numbers other than 0 and 1.

    Source: Dice 1945.
    """
    return _score(*_inside(targets, answers, brain), weight_at=None)


def ndsc(targets: Any, answers: Any, *, r: float = R, brain: Any = None) -> float:
    """Normalised Dice 2TP / (2TP + k FP + FN), k = (1 - r) G / (r (V - G)); 1 if both masks are empty.

    G is the number of true voxels and V that of all: of the whole arrays (as where the published code scores
    segmentations), or of those in `brain` (as in its retention curves). With nothing to find it is 0 as soon as
    anything is predicted.

    Args:
        targets, answers: masks of one shape.
        r: the share of positive voxels at which nDSC equals DSC.
        brain: a mask of the region that counts; None: the whole volume.

    Raises:
        ArrayError: as `dsc`.
        SettingsError: an `r` that is not between 0 and 1.

    Source: Shifts 2.0, where k makes precision the one expected at the share r.
    """
    return _score(*_inside(targets, answers, brain), weight_at=checked_share(r))


def checked_share(r: Any) -> float:
    """A share of voxels between 0 and 1, both excluded."""
    wanted = "a share of voxels between 0 and 1"
    return argument.number("r", r, lambda found: LEAST_SHARE <= found < 1, wanted, advice=f"The papers use {R:g}.")


def false_weight(positives: int, voxels: int, r: float | None) -> float:
    """The weight k of a false positive among so many voxels; 1 for plain Dice (r None), or without two classes."""
    if r is None or positives in (0, voxels):
        return 1.0
    return (1 - r) * positives / (r * (voxels - positives))


def dice(false: Any, missed: Any, positives: int, weight: float) -> Vector:
    """2TP / (2TP + k FP + FN) from FP and FN [...] and the number of true voxels; 1 where the masks are empty."""
    doubled = 2.0 * np.maximum(positives - np.asarray(missed, dtype=np.float64), 0.0)
    whole = doubled + weight * np.asarray(false, dtype=np.float64) + missed
    return np.asarray(np.divide(doubled, whole, out=np.ones_like(whole), where=whole > 0))


def _inside(targets: Any, answers: Any, brain: Any) -> tuple[Flags, Flags]:
    if brain is None:
        truth, found = check.masks(targets=targets, answers=answers)
        return truth, found
    truth, found, region = check.masks(targets=targets, answers=answers, brain=brain)
    if not region.any():
        raise ArrayError("brain: expected at least one voxel, found an empty mask. Leave it out to score the volume.")
    return truth[region], found[region]


def _score(truth: Flags, found: Flags, *, weight_at: float | None) -> float:
    positives, predicted = int(np.count_nonzero(truth)), int(np.count_nonzero(found))
    right = int(np.count_nonzero(truth & found))
    weight = false_weight(positives, truth.size, weight_at)
    return float(dice(predicted - right, positives - right, positives, weight))
