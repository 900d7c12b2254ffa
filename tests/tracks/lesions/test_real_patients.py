"""Three real patients of two hospitals, and the masks of thirty, from NIfTI to a report."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shiftbench.metrics.segmentation import ndsc
from shiftbench.track import RunOptions
from shiftbench.tracks import track
from shiftbench.tracks.lesions import nifti, preparation, study

pytestmark = pytest.mark.needs_shared
STEP = 4  # every fourth voxel along each axis
PATIENTS = {"ljubljana-7": "train", "ljubljana-19": "train", "mslesseg-18": "eval_out"}
NAMES = {"flair": "{}_FLAIR_isovox", "gt": "{}_gt_isovox", "fg_mask": "{}_isovox_fg_mask"}


@pytest.fixture(scope="module")
def patients(shared: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of the three, their scans made small."""
    folder = tmp_path_factory.mktemp("real")
    lines = ["patient,site,part,flair,gt,brain"]
    for patient, part in PATIENTS.items():
        site, number = patient.split("-")
        paths = []
        for kind, name in NAMES.items():
            read = nifti.image if kind == "flair" else nifti.mask
            scan = read(shared / "data/lesions" / site / "dev_out" / kind / f"{name.format(number)}.nii.gz")
            small, steps = scan.array[::STEP, ::STEP, ::STEP], np.diag([STEP, STEP, STEP, 1])
            paths.append(nifti.write(folder / f"{patient}_{kind}.nii.gz", small, scan.affine @ steps).name)
        lines.append(",".join([patient, site, part, *paths]))
    (folder / "table.csv").write_text("\n".join(lines) + "\n")
    return folder / "table.csv"


def test_real_patients_go_from_scans_to_a_report_with_pictures(patients: Path, tmp_path: Path) -> None:
    lesions = track("lesions")
    held = preparation.prepare(patients, tmp_path / "data")
    assert held.counts == {"train": 2, "dev_in": 0, "eval_in": 0, "dev_out": 0, "eval_out": 1}
    chosen = RunOptions("quick", methods=(study.INTENSITY,), replicates=20)
    (made,) = lesions.run(held, lesions.tasks, chosen, folder=tmp_path / "run", cores=1, progress=None)
    score = made.report.score("ndsc", system="Intensity threshold", split="eval", subset="full").value
    (mask,) = (tmp_path / "run/predictions").rglob("mslesseg-18_seg.nii.gz")
    truth = nifti.read_mask(patients.parent / "mslesseg-18_gt.nii.gz")[0]
    assert score == pytest.approx(ndsc(truth, nifti.read_mask(mask)[0]))
    assert score > 0.1
    assert [picture.name for picture in made.pictures if "worst" in picture.name]
    assert study.ALIKE in made.report.warnings


def test_masks_whose_headers_differ_are_those_of_one_patient(shared: Path, tmp_path: Path) -> None:
    folder = shared / "data/lesions/ljubljana_masks30"
    (tmp_path / "table.csv").write_text(f"patient,gt,brain\n11,{folder}/11_gt.nii.gz,{folder}/11_brainmask.nii.gz\n")
    held = preparation.prepare(tmp_path / "table.csv", tmp_path / "data")
    assert "11: brain mask: its affine is 0.45 mm off: taken as the same position" in held.notes
