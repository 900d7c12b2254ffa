"""From files of predictions to a report: scores, pictures, and what is said where something is wrong."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from shiftbench.errors import ShiftbenchError
from shiftbench.metrics import segmentation
from shiftbench.track import RunOptions, assessing
from shiftbench.tracks import track
from shiftbench.tracks.lesions import nifti, paper
from shiftbench.tracks.lesions.volumes import Volumes

QUICK = RunOptions("quick", replicates=20)


def write_members(volumes: Volumes, folder: Path, *, members: int = 3) -> Path:
    """Members around the truth that know less of shifted patients, and have a false alarm and a missed lesion."""
    rng = np.random.default_rng(0)
    for row, name in enumerate(volumes.ids):
        truth = volumes.truth(row)
        assert truth is not None
        noise = 0.15 if volumes.parts[row].endswith("in") else 0.3
        each = [np.clip(0.15 + 0.7 * truth + noise * rng.normal(size=truth.shape), 0, 1) for _ in range(members)]
        nifti.write(folder / f"{name}_members.nii.gz", np.array(each, dtype=np.float32), volumes.affine(row))
    return folder


@pytest.fixture(scope="module")
def volumes(prepared: Path) -> Volumes:
    return Volumes.open(prepared)


@pytest.fixture(scope="module")
def ensemble(volumes: Volumes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_members(volumes, tmp_path_factory.mktemp("predictions") / "ensemble")


@pytest.fixture(scope="module")
def report(ensemble: Path, prepared: Path):
    chosen = track("lesions")
    (result,) = assessing.assess(chosen, {"ours": ensemble}, prepared, chosen.tasks, QUICK, cores=1)
    return result


def test_the_error_is_one_minus_ndsc_of_the_mask_of_the_mean(report, ensemble, volumes):
    rows = [k for k, part in enumerate(volumes.parts) if part.startswith("eval")]
    values = []
    for row in rows:
        mean = nifti.members(ensemble / f"{volumes.ids[row]}_members.nii.gz").array.mean(axis=0)
        mask = segmentation.keep_large_components(mean >= 0.5, larger_than=int(9 / volumes.spacing(row).prod()))
        values.append(segmentation.ndsc(volumes.truth(row), mask))
    found = report.report.score("mean_error", system="ours", split="eval", subset="full")
    assert found.value == pytest.approx(1 - np.mean(values))
    own = report.report.score("ndsc", system="ours", split="eval", subset="full")
    assert own.value == pytest.approx(np.mean(values))


def test_the_recipe_tells_of_men_and_women_and_fills_the_tables_of_the_paper(report, volumes):
    told = report.report.recipe
    scored = [each for each in volumes.patients if each.part.startswith(("dev", "eval"))]
    for groups in (told["ages_by_sex"], told["loads_by_sex"], told["systems"]["ours"]["ndsc_by_sex"]):
        assert sum(own[0] for sexes in groups.values() for own in sexes.values()) == len(scored)
    table = next(each for each in paper.tables([report.report]) if each.number == "Table 14")
    ours = {row.measure: cells for row, cells in zip(table.rows, table.cells, strict=True) if row.system == "ours"}
    for letter, (_, mean, *_) in told["systems"]["ours"]["ndsc_by_sex"]["eval_out"].items():
        who = {"M": "men", "F": "women"}[letter]
        assert ours[f"{who}, mean"][3].value == pytest.approx(100 * mean)


def test_voxels_lesions_and_patients_have_scores_with_random_and_optimal_beside(report):
    names = {score.metric for score in report.report.scores}
    assert names >= {"dsc", "lesion_f1", "hausdorff_95", "r_auc", "roc_auc"}
    for stem, measure in (("ndsc_raac", "entropy_of_expected"), ("lppv_aac", "lesion_structural")):
        best, own, random = (
            report.report.score(f"{stem}_{order}", system="ours", split="eval", subset="full").value
            for order in ("optimal", measure, "random")
        )
        assert best <= min(own, random)
    assert report.report.measure_of("ours") == "patient_structural"


def test_single_members_stand_beside_the_ensemble_with_their_deviation(report):
    single = report.report.score("ndsc", system="ours (single)", split="eval", subset="full")
    assert len(single.each) == 3
    assert single.std > 0


def test_pictures_show_the_worst_patients_of_evaluation(report):
    titles = [picture.title for picture in report.pictures]
    assert titles[:2] == ["Worst patients: ours", "Worst patients: ours"]
    assert all(picture.png.startswith(b"\x89PNG") for picture in report.pictures[:1])


def test_masks_alone_are_scored_without_uncertainty(volumes, prepared, tmp_path):
    for row, name in enumerate(volumes.ids):
        nifti.write(tmp_path / f"{name}_seg.nii.gz", volumes.truth(row), volumes.affine(row))
    chosen = track("lesions")
    (result,) = assessing.assess(chosen, {"masks": tmp_path}, prepared, chosen.tasks, QUICK, cores=1)
    assert result.report.score("mean_error", system="masks", split="eval", subset="full").value == 0
    assert result.report.score("lesion_f1", system="masks", split="eval", subset="full").value == 1
    assert not [score for score in result.report.scores if score.metric in ("r_auc", "roc_auc")]
    assert any("there is no uncertainty to assess" in text for text in result.report.warnings)


def test_small_components_of_ones_own_masks_are_counted_in_a_note(tmp_path):
    truth = np.zeros((16, 16, 16), dtype=bool)
    truth[2:6, 2:6, 2:6] = True
    specks = truth.copy()
    specks[10, 10, 4:13] = specks[12, 2, 2] = True  # 9 mm³ and 1 mm³
    for name, mask in (("1_gt", truth), ("mine/1", specks), ("clean/1", truth)):
        nifti.write(tmp_path / f"{name}.nii.gz", mask, np.eye(4))
    chosen = track("lesions")
    files = {name: tmp_path / name for name in ("mine", "clean")}
    (found,) = chosen.score_files(files, tmp_path / "1_gt.nii.gz", chosen.tasks)
    (note,) = (note for note in found.notes if "mm³" in note)
    assert note.startswith("mine: 2 of 3 predicted lesions are of 9 mm³ or less: each counts as a lesion here")
    assert "keep_large_components" in note
    _, (scored, _) = found.parts[0]
    assert scored.means["lesion_precision"][0] == pytest.approx(1 / 3)


def test_the_published_layout_needs_no_prepared_folder(report, ensemble, phantoms):
    chosen = track("lesions")
    (result,) = assessing.assess(chosen, {"ours": ensemble}, phantoms, chosen.tasks, QUICK, cores=1)
    assert [score.value for score in result.report.scores] == pytest.approx(
        [score.value for score in report.report.scores], nan_ok=True
    )


def test_a_table_of_masks_alone_is_enough(volumes, ensemble, tmp_path):
    gt = [str(patient.files["gt"]) for patient in volumes.patients[:3]]
    (tmp_path / "truth.csv").write_text(
        "patient,gt\n" + "\n".join(map(",".join, zip(volumes.ids, gt, strict=False))) + "\n"
    )
    ((records, scored),) = track("lesions").score(ensemble, tmp_path / "truth.csv", track("lesions").tasks[0])
    assert (records.split, records.n, records.shifted) == ("all", 3, None)
    assert len(scored.errors) == 3


def test_patients_without_a_prediction_are_named(ensemble, prepared, volumes, tmp_path):
    place = tmp_path / "part"
    shutil.copytree(ensemble, place)
    lost = next(name for name, part in zip(volumes.ids, volumes.parts, strict=True) if part == "eval_in")
    (place / f"{lost}_members.nii.gz").unlink()
    with pytest.raises(ShiftbenchError, match=rf"ours: expected a prediction for each of .* found none for {lost}"):
        track("lesions").score_files({"ours": place}, prepared, track("lesions").tasks)


def test_all_problems_of_all_systems_are_told_at_once(prepared, tmp_path):
    (tmp_path / "one").mkdir()
    with pytest.raises(ShiftbenchError) as caught:
        track("lesions").score_files({"a": tmp_path / "one", "b": tmp_path / "two"}, prepared, track("lesions").tasks)
    assert len(caught.value.problems) == 2


def test_one_patient_with_a_mask_alone_is_named_where_the_others_have_members(ensemble, prepared, volumes, tmp_path):
    place = tmp_path / "mixed"
    shutil.copytree(ensemble, place)
    row = volumes.parts.index("eval_in")
    (place / f"{volumes.ids[row]}_members.nii.gz").unlink()
    nifti.write(place / f"{volumes.ids[row]}_seg.nii.gz", volumes.truth(row), volumes.affine(row))
    (found,) = track("lesions").score_files({"ours": place}, prepared, track("lesions").tasks)
    assert f"ours: {volumes.ids[row]}: masks alone: without a probability or members there is no unc" in str(
        found.notes
    )
    assert [system.measure for _, systems in found.parts for system in systems] == ["patient_structural", ""]


def test_an_empty_brain_mask_is_refused_with_its_patient(ensemble, phantoms, tmp_path):
    place = tmp_path / "scans"
    shutil.copytree(phantoms, place)
    brain = sorted(place.rglob("eval_in/fg_mask/*.nii.gz"))[0]
    mask, affine = nifti.read_mask(brain)
    nifti.write(brain, np.zeros_like(mask), affine)
    with pytest.raises(ShiftbenchError, match=r"_isovox_fg_mask.nii.gz: expected a brain, found an empty mask"):
        track("lesions").score_files({"ours": ensemble}, place, track("lesions").tasks)


def masks_of(volumes: Volumes, folder: Path) -> Path:
    """The truth of each patient as its prediction."""
    for row, name in enumerate(volumes.ids):
        nifti.write(folder / f"{name}_seg.nii.gz", volumes.truth(row), volumes.affine(row))
    return folder


def test_files_that_nobody_prepared_are_checked_and_remarked_upon(ensemble, phantoms, tmp_path):
    data = shutil.copytree(phantoms, tmp_path / "data")
    for path in data.rglob("*_fg_mask.nii.gz"):
        path.unlink()
    chosen = track("lesions")
    noted = "all patients: no brain mask: taken as FLAIR ≠ 0"
    (result,) = assessing.assess(chosen, {"ours": ensemble}, data, chosen.tasks, QUICK, cores=1)
    assert noted in result.report.warnings
    bare = masks_of(Volumes.of(data), tmp_path / "bare")  # scores of masks alone are the same with any brain
    (result,) = assessing.assess(chosen, {"ours": bare}, data, chosen.tasks, QUICK, cores=1)
    assert noted not in result.report.warnings


def test_problems_of_all_patients_are_told_at_once_before_any_is_scored(ensemble, phantoms, tmp_path):
    data = shutil.copytree(phantoms, tmp_path / "data")
    eval_out = sorted(data.glob("*/eval_out/flair/*.nii.gz"))
    for path in eval_out:
        scan = nifti.image(path)
        nifti.write(path, np.full_like(scan.array, 7), scan.affine)
    chosen = track("lesions")
    with pytest.raises(ShiftbenchError, match="expected an image, found 7 in every voxel") as caught:
        assessing.assess(chosen, {"ours": ensemble}, data, chosen.tasks, QUICK, cores=1)
    assert len(caught.value.problems) == len(eval_out) > 1
