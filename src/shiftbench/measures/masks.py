"""Measures of masks, of their lesions and of patients: members p_mv of each voxel v, a choice between two classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from shiftbench import argument, check
from shiftbench.check import Vector
from shiftbench.ensembles import LOG_EPSILON, Array, Categorical, Lesions, Masks, Patients, ragged
from shiftbench.ensembles.ensemble import BLOCK_VALUES
from shiftbench.ensembles.structure import disagreement
from shiftbench.errors import ArrayError
from shiftbench.measures import Measure, categorical

_OF_CLASSES = {measure.name: measure for measure in categorical.MEASURES}
VOXEL_MEASURES = tuple(_OF_CLASSES)
"""The measures of class probabilities, which are those of a voxel, too."""


def voxel_map(ensemble: Masks | Lesions, name: str) -> Vector:
    """The uncertainty of each voxel [V], in the order of `ensemble.probabilities`, by a measure of class probabilities.

    Computed in blocks, so that little more than the result is in memory. The map of volume n is `voxel_map(
    masks.select([n]), name).reshape(masks.shapes[n])`.

    Raises:
        UnknownNameError: no measure of this name among `VOXEL_MEASURES`.
    """
    if not isinstance(ensemble, (Masks, Lesions)):
        raise ArrayError(f"ensemble: expected Masks or Lesions, found {type(ensemble).__name__}.")
    measure = _OF_CLASSES[argument.choice("measure of voxels", name, VOXEL_MEASURES)].functions[Categorical]
    members, voxels = ensemble.probabilities.shape
    step = max(1, BLOCK_VALUES // (2 * members))
    found = np.empty(voxels)
    for start in range(0, voxels, step):
        lesion = ensemble.probabilities[:, start : start + step].astype(np.float64)
        found[start : start + step] = measure(Categorical(np.stack((1 - lesion, lesion), axis=-1)))
    return found


def lesion_mean(ensemble: Lesions, name: str, *, over: Literal["lesion", "volume"] = "lesion") -> Vector:
    """The mean uncertainty of the voxels of each lesion [N], by a measure of `VOXEL_MEASURES`.

    over: what the sum is divided by: the voxels of the lesion, or those of its whole volume, a slip of published code
        that ranks the lesions of a volume by sums, so that large ones come out as the uncertain ones.
    """
    check.kind("ensemble", ensemble, Lesions)
    argument.choice("sum of voxels", over, ("lesion", "volume"))
    sizes = ensemble.voxels if over == "lesion" else ensemble.shapes.prod(axis=1)
    return np.asarray(_sums(ensemble, voxel_map(ensemble, name)) / sizes)


def _lesion_log_sum(ensemble: Lesions, name: str) -> Vector:
    return _sums(ensemble, np.log(voxel_map(ensemble, name) + LOG_EPSILON))


def _voxel_entropy(ensemble: Masks) -> Vector:
    return _sums(ensemble, voxel_map(ensemble, "entropy_of_expected")) / ensemble.voxels


def _sums(ensemble: Masks | Lesions, values: Vector) -> Vector:
    """The sum of values [V] over the voxels of each record [N]."""
    return np.asarray(np.add.reduceat(values, ragged.offsets(ensemble.voxels)[:-1]))


def _disagreement(overlaps: Array | None) -> Vector:
    assert overlaps is not None, "the measure needs them, so that it does not fit an ensemble without them"
    return disagreement(overlaps)


def _mean_of(name: str) -> Callable[[Lesions], Vector]:
    return lambda ensemble: lesion_mean(ensemble, name)


def _log_sum_of(name: str) -> Callable[[Lesions], Vector]:
    return lambda ensemble: _lesion_log_sum(ensemble, name)


_SHIFTS = "Malinin et al. 2022, Shifts 2.0"
_FOLLOW_UP = "Molchanova et al. 2023"

MEASURES = (
    Measure(
        "voxel_entropy",
        "Entropy of expected, mean over voxels",
        "total",
        "mean over voxels of H(mean(p_mv))",
        f"{_SHIFTS}, whose code calls it entropy of expected",
        {Masks: _voxel_entropy, Patients: _voxel_entropy},
    ),
    Measure(
        "lesion_structural",
        "Structural, of lesions (LSU)",
        "knowledge",
        "1 - mean over m of the largest IoU with a lesion of member m that touches it",
        _FOLLOW_UP,
        {Lesions: lambda ensemble: _disagreement(ensemble.overlaps)},
    ),
    Measure(
        "lesion_structural_tuned",
        "Structural, of lesions, tuned (LSU+)",
        "knowledge",
        "LSU with each member at a threshold of its own",
        _FOLLOW_UP,
        {Lesions: lambda ensemble: _disagreement(ensemble.tuned_overlaps)},
        needs="tuned_overlaps",
    ),
    Measure(
        "patient_structural",
        "Structural, of patients (PSU)",
        "knowledge",
        "1 - mean over m of the IoU of the whole segmentation with that of member m",
        _FOLLOW_UP,
        {Patients: lambda ensemble: _disagreement(ensemble.overlaps)},
    ),
    Measure(
        "patient_structural_tuned",
        "Structural, of patients, tuned (PSU+)",
        "knowledge",
        "PSU with each member at a threshold of its own",
        _FOLLOW_UP,
        {Patients: lambda ensemble: _disagreement(ensemble.tuned_overlaps)},
        needs="tuned_overlaps",
    ),
    Measure(
        "patient_lesion_structural",
        "Mean LSU",
        "knowledge",
        "mean over the lesions of a patient of LSU, 0 without lesions",
        _FOLLOW_UP,
        {Patients: lambda ensemble: _disagreement(ensemble.lesion_overlaps)},
    ),
    *(
        Measure(
            f"lesion_mean_{name}",
            f"{measure.title}, mean over a lesion",
            measure.kind,
            f"mean over the voxels of a lesion of {name}",
            _FOLLOW_UP,
            {Lesions: _mean_of(name)},
        )
        for name, measure in _OF_CLASSES.items()
    ),
    *(
        Measure(
            f"lesion_log_sum_{name}",
            f"{measure.title}, log-sum over a lesion",
            measure.kind,
            f"sum over the voxels of a lesion of log({name} + 1e-10)",
            f"Nair et al. 2020, {_FOLLOW_UP}",
            {Lesions: _log_sum_of(name)},
        )
        for name, measure in _OF_CLASSES.items()
        if name != "negated_confidence"  # negative, so that it has no logarithm
    ),
)
