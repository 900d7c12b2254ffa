"""Arguments of any other type are refused by the public functions of this track."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.lesions.volumes import Volumes
from tests.public_calls import Call, mistakes

MASK, AFFINE = np.zeros((5, 6, 7), np.float32), np.eye(4)
MASK[2, 3, 3] = 1
READERS = ("read_image", "read_mask", "read_probabilities", "image", "mask", "probabilities", "geometry")
OF_A_ROW = ("truth", "brain", "image", "shape", "affine", "spacing")


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Valid calls by name, with the files that they read."""
    folder = tmp_path_factory.mktemp("scans")
    scan, table = nifti.write(folder / "scan.nii.gz", MASK, AFFINE), folder / "patients.csv"
    table.write_text("patient,flair,gt,site,part\n1,scan.nii.gz,scan.nii.gz,s,train\n")
    patients = Volumes.of(table)
    return {
        **{name: Call(getattr(nifti, name), {"path": scan}) for name in READERS},
        "oriented_as": Call(nifti.oriented_as, {"path": scan, "array": MASK}),
        "write": Call(nifti.write, {"path": "again.nii.gz", "array": MASK, "affine": AFFINE}),
        "spacing_of": Call(nifti.spacing_of, {"affine": AFFINE}),
        "displacement": Call(nifti.displacement, {"one": AFFINE, "other": AFFINE, "shape": MASK.shape}),
        "Volumes.of": Call(Volumes.of, {"source": table, "channels": ("flair",)}),
        "Volumes.select": Call(patients.select, {"rows": [0]}),
        **{f"Volumes.{name}": Call(getattr(patients, name), {"row": 0}) for name in OF_A_ROW},
    }


NAMES = (
    *READERS, "oriented_as", "write", "spacing_of", "displacement", "Volumes.of", "Volumes.select",
    *(f"Volumes.{name}" for name in OF_A_ROW),
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_given_in_place_of_an_argument_is_used_or_refused(name, calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mistakes(calls[name]) == []
