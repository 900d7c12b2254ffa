"""Volumes of a patient on a grid of 1 mm, as those of the paper."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from shiftbench.errors import MissingExtraError
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.lesions.nifti import Scan
from shiftbench.tracks.lesions.patient import Patient

SIDE_MM = 1.0


def written(patient: Patient, scans: dict[str, Scan], folder: Path) -> Patient:
    """Write a patient's volumes at 1 mm to a folder; returns the patient with these files."""
    paths = {
        kind: nifti.write(folder / f"{patient.id}_{kind}.nii.gz", *_parts(resampled(scan)))
        for kind, scan in scans.items()
    }
    return replace(patient, files=paths)


def _parts(scan: Scan) -> tuple[nifti.Array, nifti.Affine]:
    return scan.array, scan.affine


def resampled(scan: Scan) -> Scan:
    """A volume with cubic voxels of 1 mm that fills the same box, by linear interpolation; a mask by its half.

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
    shape = np.maximum(1, np.round(scan.array.shape / step)).astype(int)
    offset = (step - 1) / 2
    values = ndimage.affine_transform(
        scan.array.astype(np.float32), step, offset, output_shape=tuple(shape), order=1, mode="nearest"
    )
    affine = scan.affine @ np.block([[np.diag(step), offset[:, None]], [np.zeros((1, 3)), np.ones((1, 1))]])
    return Scan(values >= 0.5 if scan.array.dtype == np.bool_ else values, affine)
