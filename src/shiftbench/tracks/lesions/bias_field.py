"""Removal of a scanner's bias field, the smooth change of brightness across a scan, by N4 (Tustison et al. 2010)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np

from shiftbench.errors import MissingExtraError
from shiftbench.tracks.lesions.nifti import Array, Scan
from shiftbench.tracks.lesions.patient import CALLED

IMAGES = ("flair", "t1")
SHRINK = 4  # the field is smooth: found on every fourth voxel, it is 64 times faster
FEWEST = 12  # voxels along an axis that is shrunk
MOST_NEGATIVE = 0.01  # of the voxels of the brain: interpolation leaves a few behind


def without_it(scans: Mapping[str, Scan], brain: Array) -> dict[str, Scan]:
    """The scans of a patient, images without their bias field in the brain [X, Y, Z]; masks as they are.

    Raises:
        MissingExtraError: if SimpleITK is not installed.
    """
    sitk = simple_itk()
    return {
        kind: replace(scan, array=scan.array / _field(sitk, scan, brain)) if kind in IMAGES else scan
        for kind, scan in scans.items()
    }


def problems(scans: Mapping[str, Scan], brain: Array, patient: str) -> Iterator[str]:
    """The images of a patient whose bias field cannot be estimated."""
    for kind in IMAGES:
        if kind not in scans:
            continue
        values = scans[kind].array
        if min(values.shape) < 2:
            yield (
                f"{patient!r}: expected a {CALLED[kind]} of two or more voxels along each axis to find its bias field, "
                f"found {' × '.join(map(str, values.shape))}. Leave out --bias-field, or the scan."
            )
        negative = float(np.mean(values[brain] < 0)) if brain.any() else 0.0
        if negative > MOST_NEGATIVE:  # the field is a factor, found from logarithms
            yield (
                f"{patient!r}: expected a {CALLED[kind]} whose intensities in the brain are not negative to find its "
                f"bias field, found {negative:.0%} below 0. Was it standardised? Take the image from before."
            )


def _field(sitk: ModuleType, scan: Scan, brain: Array) -> Array:
    """The bias field [X, Y, Z], by which every voxel was multiplied."""
    image, mask = (_image(sitk, values, scan) for values in (scan.array.astype(np.float32), brain.astype(np.uint8)))
    steps = [SHRINK if size >= SHRINK * FEWEST else 1 for size in scan.array.shape]
    n4 = sitk.N4BiasFieldCorrectionImageFilter()
    n4.Execute(sitk.Shrink(image, steps), sitk.Shrink(mask, steps))
    logarithm = sitk.GetArrayFromImage(n4.GetLogBiasFieldAsImage(image)).T
    field: Array = np.exp(logarithm).astype(np.float32)
    return field


def _image(sitk: ModuleType, values: Array, scan: Scan) -> Any:
    """An image of SimpleITK, whose arrays are [Z, Y, X]."""
    image = sitk.GetImageFromArray(np.ascontiguousarray(values.T))
    image.SetSpacing([float(side) for side in scan.spacing])
    return image


def simple_itk() -> ModuleType:
    """The package SimpleITK.

    Raises:
        MissingExtraError: if it is not installed.
    """
    try:
        return import_module("SimpleITK")
    except ImportError as error:
        raise MissingExtraError(
            f"bias field: expected the package SimpleITK, found: {error}. Install it: pip install SimpleITK"
        ) from None
