"""The lesion track from the command line: one patient with two files, example data, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from shiftbench.tracks.lesions import nifti
from tests.cli.conftest import Shiftbench

SHAPE, AFFINE = (24, 28, 20), np.diag([2.0, 2.0, 2.0, 1.0])


@pytest.fixture
def patient(tmp_path: Path) -> Path:
    """One patient: a scan, its lesion mask, and somebody's probability map."""
    rng, truth = np.random.default_rng(0), np.zeros(SHAPE, dtype=bool)
    truth[6:10, 10:15, 8:12] = truth[15:18, 6:9, 10:14] = True
    nifti.write(tmp_path / "flair.nii.gz", (100 + 80 * truth + 10 * rng.random(SHAPE)).astype(np.float32), AFFINE)
    nifti.write(tmp_path / "1_gt_isovox.nii.gz", truth, AFFINE)
    found = np.clip(0.1 + 0.7 * truth + 0.15 * rng.random(SHAPE), 0, 1).astype(np.float32)
    nifti.write(tmp_path / "mine.nii.gz", found, AFFINE)
    return tmp_path


@pytest.mark.usefixtures("drawn")
def test_one_patient_needs_two_files_alone(patient: Path, shiftbench: Shiftbench) -> None:
    said = shiftbench("assess", "--track", "lesions", "mine.nii.gz", "--data", "1_gt_isovox.nii.gz", "--out", "out")
    assert said.code == 0, said.err
    held = json.loads((patient / "out" / "segmentation" / "report.json").read_text())
    assert held["counts"][0]["records"] == 1
    assert "nDSC 100 %, the overlap with the true masks" in said.out
    assert " · 1 patient\n" in said.out
    assert "false ones from true ones" not in said.out  # of which one patient tells nothing
    assert list((patient / "out" / "segmentation" / "pictures").glob("all-mine*-worst-1.png"))


def test_a_patient_is_shown_with_truth_and_prediction(patient: Path, shiftbench: Shiftbench) -> None:
    words = ("show", "lesions", "flair.nii.gz", "--truth", "1_gt_isovox.nii.gz", "--predictions", "mine.nii.gz")
    said = shiftbench(*words, "--at", "8,12,10", "--out", "pictures")
    assert said.code == 0, said.err
    assert (patient / "pictures" / "flair.png").read_bytes().startswith(b"\x89PNG")
    said = shiftbench(*words, "--at", "8,12,99", "--out", "others")
    assert said.code == 2
    assert "expected a voxel x,y,z from 1,1,1 to 24,28,20, found '8,12,99'" in " ".join(said.err.split())
    said = shiftbench(*words, "--measure", "luck", "--out", "others")
    assert (said.code, "Unknown measure 'luck'" in said.err) == (2, True)


def test_a_patient_of_a_folder_is_shown_with_its_own_prediction(patient: Path, shiftbench: Shiftbench) -> None:
    for site in ("basel", "lyon"):
        nifti.write(f"{site}/eval_in/flair/7_FLAIR_isovox.nii.gz", np.ones(SHAPE, dtype=np.float32), AFFINE)
    nifti.write("all/basel/7_seg.nii.gz", np.ones(SHAPE, dtype=bool), AFFINE)
    words = ("show", "lesions", ".", "--predictions", "all", "--out", "pictures")
    said = shiftbench(*words)
    assert (said.code, "expected one of basel-7, lyon-7, found none named" in " ".join(said.err.split())) == (2, True)
    assert shiftbench(*words, "--patient", "basel-7").code == 0
    said = shiftbench(*words, "--patient", "lyon-7")
    assert said.code == 2
    assert "all: expected a prediction for each of 1 patients, found none for lyon-7" in " ".join(said.err.split())


def test_the_help_of_a_run_lists_the_presets(shiftbench: Shiftbench) -> None:
    said = shiftbench("run", "lesions", "--help")
    assert said.code == 0
    assert "quick" in said.out
    assert "unet_slices" in said.out


def test_a_scan_belongs_to_the_patient_that_its_file_is_named_after(patient: Path, shiftbench: Shiftbench) -> None:
    for old, new in (("flair", "scans/7_flair"), ("1_gt_isovox", "scans/7_lesions"), ("mine", "mine/7")):
        (patient / new).parent.mkdir(exist_ok=True)
        (patient / f"{old}.nii.gz").rename(patient / f"{new}.nii.gz")
    words = ("show", "lesions", "scans/7_flair.nii.gz", "--truth", "scans/7_lesions.nii.gz", "--predictions", "mine")
    said = shiftbench(*words, "--out", "pictures")
    assert said.code == 0, said.err
    assert (patient / "pictures" / "7.png").is_file()
    (patient / "mine/7.nii.gz").rename(patient / "mine/anna.nii.gz")
    (patient / "mine/8.nii.gz").write_bytes((patient / "mine/anna.nii.gz").read_bytes())
    said = shiftbench(*words, "--out", "others")
    assert (said.code, "named after patients (7)" in " ".join(said.err.split())) == (2, True)
    assert shiftbench(*words, "--patient", "anna", "--out", "others").code == 0
    assert (patient / "others" / "anna.png").is_file()


def test_a_table_names_predictions_that_are_not_named_after_patients(patient: Path, shiftbench: Shiftbench) -> None:
    (patient / "mine").mkdir()
    (patient / "mine.nii.gz").rename(patient / "mine/unet_v2_case04_prob.nii.gz")
    rows = ["patient,gt,prediction", "7,1_gt_isovox.nii.gz,unet_v2_case04_prob.nii.gz"]
    (patient / "truth.csv").write_text("\n".join((*rows, "8,1_gt_isovox.nii.gz,unet_v2_case05\n")))
    words = ("assess", "--track", "lesions", "mine", "--data", "truth.csv", "--out", "out")
    said = shiftbench(*words)
    assert (said.code, "found none for 8. Add them." in " ".join(said.err.split())) == (2, True)
    (patient / "mine/unet_v2_case05.nii.gz").write_bytes((patient / "1_gt_isovox.nii.gz").read_bytes())
    said = shiftbench(*words)
    assert said.code == 0, said.err
    held = json.loads((patient / "out" / "segmentation" / "report.json").read_text())
    assert not [text for text in held["warnings"] if "by prediction" in text]  # it is no group of patients
    (patient / "truth.csv").write_text("\n".join((*rows, "8,1_gt_isovox.nii.gz,unet_v2_case04\n")))
    said = shiftbench(*words, "--overwrite")
    assert (said.code, "prediction: expected a name of its own for each patient" in said.err) == (2, True)


def test_a_flat_folder_is_refused_with_the_columns_that_a_table_needs(patient: Path, shiftbench: Shiftbench) -> None:
    said = shiftbench("assess", "--track", "lesions", "mine.nii.gz", "--data", ".", "--out", "out")
    assert said.code == 2
    assert "give a table with the columns patient, flair and gt" in " ".join(said.err.split())
    assert not (patient / "out").exists()
