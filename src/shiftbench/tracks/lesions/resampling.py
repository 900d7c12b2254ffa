"""Volumes of a patient on a grid of 1 mm, as those of the paper."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from shiftbench.errors import MissingExtraError
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.lesions.nifti import Scan
from shiftbench.tracks.lesions.patient import CALLED

SIDE_MM = 1.0
WIDTH = 1 / math.sqrt(8 * math.log(2))  # of a Gaussian's standard deviation over its full width at half maximum
FINER = 0.05  # of 1 mm: sides are written with few digits


def all_resampled(scans: Mapping[str, Scan]) -> dict[str, Scan]:
    """A patient's volumes at 1 mm, all on the grid of the first."""
    affine = next(iter(scans.values())).affine  # the others' are the same but for fractions of a voxel
    return {kind: resampled(replace(scan, affine=affine)) for kind, scan in scans.items()}


def problems(scans: Mapping[str, Scan], patient: str) -> Iterator[str]:
    """The volumes of a patient that would be too large at 1 mm."""
    for kind, scan in scans.items():
        shape = _shape(scan)
        if math.prod(shape) > nifti.MOST_VOXELS:
            yield (
                f"{patient!r}: expected a {CALLED[kind]} of at most {nifti.MOST_VOXELS:,} voxels at 1 mm, found "
                f"{' × '.join(map(str, shape))}. Are its voxels of {' × '.join(f'{side:g}' for side in scan.spacing)} "
                "mm right?"
            )


def _shape(scan: Scan) -> tuple[int, ...]:
    """The shape at 1 mm."""
    return tuple(
        max(1, round(size * side / SIDE_MM)) for size, side in zip(scan.array.shape, scan.spacing, strict=True)
    )


def resampled(scan: Scan) -> Scan:
    """A volume with cubic voxels of 1 mm that fills the same box, by linear interpolation; a mask by its half.

    Images are smoothed first along edges finer than 1 mm, so that noise and stripes of less than 1 mm do not become
    larger ones; where an image is 0, as outside a brain, it stays so. Masks are not smoothed, which would take away
    small lesions.

    Source: for the width, Cardoso et al., MICCAI 2015 ("Scale factor point spread function matching").

    Raises:
        MissingExtraError: if SciPy is not installed.
    """
    try:
        from scipy import ndimage
    except ImportError as error:
        raise MissingExtraError(
            f"resampling: expected the package scipy, found: {error}. Install it: pip install 'shiftbench[lesions]'"
        ) from None
    step = SIDE_MM / scan.spacing  # old voxels to one new voxel
    offset = (step - 1) / 2

    def interpolated(values: Any) -> Any:
        return ndimage.affine_transform(values, step, offset, output_shape=_shape(scan), order=1, mode="nearest")

    affine = scan.affine @ np.block([[np.diag(step), offset[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
    array = scan.array.astype(np.float32)
    if scan.array.dtype == np.bool_:
        return Scan(interpolated(array) >= 0.5, affine)
    if (step <= 1 + FINER).all():
        return Scan(interpolated(array), affine)
    smooth = ndimage.gaussian_filter(array, WIDTH * np.sqrt(np.maximum(step**2 - 1, 0)), mode="nearest")
    there = interpolated((array != 0).astype(np.float32)) > 0
    return Scan(np.where(there, interpolated(smooth), np.float32(0)), affine)
