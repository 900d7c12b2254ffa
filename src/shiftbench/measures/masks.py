"""Measures of masks: members p_mv of each voxel v."""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.ensembles import LOG_EPSILON, Masks, ragged
from shiftbench.measures import Measure


def _voxel_entropy(ensemble: Masks) -> Vector:
    expected = ensemble.probabilities.mean(axis=0, dtype=np.float64)
    entropy = -sum(p * np.log(p + LOG_EPSILON) for p in (expected, 1 - expected))
    voxels = ensemble.voxels
    # >= 0 by mathematics; the epsilon inside the log of a 1 reaches some -1e-10.
    return np.asarray(np.maximum(np.add.reduceat(entropy, ragged.offsets(voxels)[:-1]) / voxels, 0.0))


MEASURES = (
    Measure(
        "voxel_entropy",
        "Entropy of voxels",
        "total",
        "mean over voxels of H(mean(p_mv))",
        "Malinin et al. 2022, Shifts 2.0, whose code calls it entropy of expected",
        {Masks: _voxel_entropy},
    ),
)
