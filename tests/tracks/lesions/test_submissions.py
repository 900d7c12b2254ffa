"""Predictions of other people, as files of every kind that there is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shiftbench.errors import PredictionsError, ShiftbenchError
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.lesions.submissions import missing, submission

SHAPE = (6, 5, 7)
AFFINE = np.diag([1.0, 1.0, 1.0, 1.0])
IDS = ("ljubljana-7", "ljubljana-19", "lyon-7")


def blob(*, seed: int = 0) -> np.ndarray:
    """A mask with a component of 18 voxels and a single one."""
    mask = np.zeros(SHAPE, dtype=bool)
    mask[1:4, 1:3, 1:4] = True
    mask[5, 4, 6] = True
    return mask


def probability(seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (0.7 * blob() + 0.2 * rng.random(SHAPE)).astype(np.float32)


def one(path: Path, name: str = "ljubljana-7"):
    prediction, notes = submission("ours", path, IDS).read(name, SHAPE, AFFINE)
    return prediction, notes


def test_a_mask_alone_has_no_uncertainty(tmp_path):
    nifti.write(tmp_path / "ljubljana-7_seg.nii.gz", blob(), AFFINE)
    found, notes = one(tmp_path)
    np.testing.assert_array_equal(found.mask, blob())  # small components are the author's business
    assert found.probability is None
    assert found.members is None
    assert not found.maps
    assert not notes


@pytest.mark.parametrize("name", ["ljubljana-7", "ljubljana-7_prob", "LJUBLJANA-7_FLAIR_isovox_probabilities"])
def test_a_probability_map_gives_a_mask_without_small_components_and_its_entropy(tmp_path, name):
    nifti.write(tmp_path / f"{name}.nii.gz", probability(), AFFINE)
    found, notes = one(tmp_path)
    assert np.count_nonzero(found.mask) == 18
    p = found.probability.astype(float)
    expected = -p * np.log(p + 1e-10) - (1 - p) * np.log(1 - p + 1e-10)
    np.testing.assert_allclose(found.maps["entropy_of_expected"], expected, atol=1e-6)
    assert "at least 0.5" in notes[0]


def test_a_mask_beside_a_probability_is_taken_as_it_is(tmp_path):
    nifti.write(tmp_path / "ljubljana-7_prob.nii.gz", probability(), AFFINE)
    nifti.write(tmp_path / "ljubljana-7_seg.nii.gz", blob(), AFFINE)
    found, notes = one(tmp_path)
    assert np.count_nonzero(found.mask) == 19
    assert found.probability is not None
    assert notes == ["both were used: your masks for the answers, the probabilities beside them for the uncertainty"]


def members() -> np.ndarray:
    return np.stack([probability(seed) for seed in range(3)])


def as_one_file(folder: Path) -> None:
    nifti.write(folder / "ljubljana-7_members.nii.gz", members(), AFFINE)


def as_several_files(folder: Path) -> None:
    for k, each in enumerate(members()):
        nifti.write(folder / f"ljubljana-7_member_{k}.nii.gz", each, AFFINE)


def in_folders(folder: Path) -> None:
    for k, each in enumerate(members()):
        nifti.write(folder / f"fold_{k}" / "ljubljana-7.nii.gz", each, AFFINE)


def of_nnunet(folder: Path) -> None:
    """As nnU-Net writes: a mask, and [background, lesion] in the order z, y, x."""
    for k, each in enumerate(members()):
        place = folder / f"fold_{k}"
        nifti.write(place / "ljubljana-7.nii.gz", each > 0.5, AFFINE)
        np.savez_compressed(place / "ljubljana-7.npz", probabilities=np.stack([1 - each, each]).transpose(0, 3, 2, 1))


@pytest.mark.parametrize("write", [as_one_file, as_several_files, in_folders, of_nnunet])
def test_members_in_any_form_are_the_same_prediction(tmp_path, write):
    for k in range(3):
        (tmp_path / f"fold_{k}").mkdir()
    write(tmp_path)
    found, _ = one(tmp_path)
    assert found.members.shape == (3, *SHAPE)
    np.testing.assert_allclose(found.each, members(), atol=1e-6)
    np.testing.assert_allclose(found.probability, members().mean(axis=0), atol=1e-6)
    assert set(found.maps) >= {"mutual_information", "epkl", "reverse_mutual_information"}
    assert np.count_nonzero(found.members[0]) == 18  # small components are removed from members, too


def test_masks_of_members_vote(tmp_path):
    votes = np.stack([blob(), blob(), np.zeros(SHAPE, dtype=bool)])
    nifti.write(tmp_path / "ljubljana-7_members.nii.gz", votes, AFFINE)
    found, _ = one(tmp_path)
    assert found.each is None
    np.testing.assert_array_equal(found.members, votes)
    assert np.count_nonzero(found.mask) == 18
    assert found.probability.max() == pytest.approx(2 / 3)


def test_a_probability_beside_masks_of_members_is_no_share_of_votes(tmp_path):
    nifti.write(tmp_path / "ljubljana-7_members.nii.gz", np.stack([blob(), blob()]), AFFINE)
    nifti.write(tmp_path / "ljubljana-7_prob.nii.gz", probability(), AFFINE)
    found, notes = one(tmp_path)
    np.testing.assert_allclose(found.probability, probability(), atol=1e-6)
    assert notes == ["masks made of probabilities: at least 0.5, in components larger than 9 mm³"]


def test_axes_of_nnunet_are_brought_back_to_the_orientation_of_its_mask(tmp_path):
    stored = np.diag([-1.0, 1.0, 1.0, 1.0])  # x to the left, as the array is stored
    each = probability()
    nifti.write(tmp_path / "ljubljana-7.nii.gz", each > 0.5, stored)
    np.savez_compressed(tmp_path / "ljubljana-7.npz", softmax=np.stack([1 - each, each]).transpose(0, 3, 2, 1))
    held = submission("ours", tmp_path, IDS)
    affine = np.diag([1.0, 1.0, 1.0, 1.0])
    affine[0, 3] = -(SHAPE[0] - 1)
    found, _ = held.read("ljubljana-7", SHAPE, affine)
    np.testing.assert_allclose(found.probability, each[::-1], atol=1e-6)
    assert any("logits" in note for note in held.notes)


def test_maps_of_uncertainty_are_read_by_the_name_of_their_measure(tmp_path):
    nifti.write(tmp_path / "ljubljana-7_seg.nii.gz", blob(), AFFINE)
    nifti.write(tmp_path / "ljubljana-7_reverse_mutual_information.nii.gz", probability(), AFFINE)
    found, _ = one(tmp_path)
    assert set(found.maps) == {"reverse_mutual_information"}


def test_what_is_written_is_read_again(tmp_path):
    as_one_file(tmp_path)
    first, _ = one(tmp_path)
    first.write(tmp_path / "again", "ljubljana-7", AFFINE)
    again, _ = one(tmp_path / "again")
    np.testing.assert_array_equal(again.mask, first.mask)
    np.testing.assert_array_equal(again.members, first.members)
    for name, values in first.maps.items():
        np.testing.assert_allclose(again.maps[name], values, atol=1e-6)


@pytest.mark.parametrize(
    ("file", "whose"),
    [
        ("ljubljana/7_seg.nii.gz", "ljubljana-7"),
        ("lyon/eval_in/7.nii.gz", "lyon-7"),
        ("19_pred_isovox.nii.gz", "ljubljana-19"),  # no other site has that number
        ("ljubljana-19.nii", "ljubljana-19"),
    ],
)
def test_a_file_belongs_to_the_patient_that_its_name_and_folders_tell(tmp_path, file, whose):
    nifti.write(tmp_path / file, blob(), AFFINE)
    assert list(submission("ours", tmp_path, IDS).patients) == [whose]


def test_a_number_that_several_sites_have_belongs_to_none(tmp_path):
    nifti.write(tmp_path / "7_seg.nii.gz", blob(), AFFINE)
    with pytest.raises(PredictionsError, match=r"expected files named after patients .*found 7_seg.nii.gz"):
        submission("ours", tmp_path, IDS)


def test_one_file_is_the_prediction_of_the_only_patient(tmp_path):
    nifti.write(tmp_path / "anything.nii.gz", blob(), AFFINE)
    assert list(submission("ours", tmp_path / "anything.nii.gz", ["someone"]).patients) == ["someone"]


def test_the_same_part_twice_is_refused_with_both_names(tmp_path):
    nifti.write(tmp_path / "ljubljana-7_seg.nii.gz", blob(), AFFINE)
    nifti.write(tmp_path / "ljubljana-7_mask.nii.gz", blob(), AFFINE)
    with pytest.raises(PredictionsError, match=r"ljubljana-7_seg.nii.gz: expected one such file .*ljubljana-7_mask"):
        submission("ours", tmp_path, IDS)


def test_another_grid_is_refused_with_both_shapes(tmp_path):
    nifti.write(tmp_path / "ljubljana-7_seg.nii.gz", np.zeros((4, 4, 4), dtype=bool), AFFINE)
    with pytest.raises(PredictionsError, match=r"grid of its truth, 6 × 5 × 7 voxels, found 4 × 4 × 4"):
        one(tmp_path)


def test_another_position_is_told(tmp_path):
    moved = AFFINE.copy()
    moved[0, 3] = 30.0
    nifti.write(tmp_path / "ljubljana-7_seg.nii.gz", blob(), moved)
    _, notes = one(tmp_path)
    assert "30.0 mm off its truth" in notes[0]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"probabilities": np.zeros((3, 7, 5, 6))}, r"not \[2, Z, Y, X\]"),
        ({"logits": np.zeros((2, 7, 5, 6))}, r"found: arrays logits.npy"),
        ({"probabilities": np.full((2, 7, 5, 6), 8.0)}, r"Are these logits"),
        ({"probabilities": np.full((2, 7, 5, 6), np.nan)}, r"from 0 to 1"),
        ({"probabilities": np.zeros((2, 5, 7, 6))}, r"in its shape 6 × 5 × 7 beside it, found 6 × 7 × 5"),
    ],
)
def test_other_archives_are_refused_with_the_reason(tmp_path, arrays, message):
    nifti.write(tmp_path / "ljubljana-7.nii.gz", blob(), AFFINE)
    np.savez(tmp_path / "ljubljana-7.npz", **arrays)
    with pytest.raises(PredictionsError, match=message):
        one(tmp_path)


def test_a_damaged_archive_and_one_without_its_mask_are_refused(tmp_path):
    (tmp_path / "ljubljana-7.npz").write_bytes(b"PK not an archive")
    with pytest.raises(PredictionsError, match=r"expected nnU-Net's mask ljubljana-7\.nii\.gz beside it"):
        one(tmp_path)
    nifti.write(tmp_path / "ljubljana-7.nii.gz", blob(), AFFINE)
    with pytest.raises(PredictionsError, match=r"expected probabilities of nnU-Net, found"):
        one(tmp_path)
    np.savez_compressed(tmp_path / "ljubljana-7.npz", probabilities=np.random.default_rng(0).random((2, 7, 5, 6)))
    whole = bytearray((tmp_path / "ljubljana-7.npz").read_bytes())
    whole[200:260] = bytes(60)  # inside the compressed array
    (tmp_path / "ljubljana-7.npz").write_bytes(whole)
    with pytest.raises(PredictionsError, match=r"expected probabilities of nnU-Net, found"):
        one(tmp_path)


def test_a_map_that_is_negative_in_lesions_is_refused_with_its_file(tmp_path):
    nifti.write(tmp_path / "ljubljana-7_seg.nii.gz", blob(), AFFINE)
    nifti.write(tmp_path / "ljubljana-7_entropy_of_expected.nii.gz", np.full(blob().shape, -2.5, np.float32), AFFINE)
    with pytest.raises(
        PredictionsError, match=r"7_entropy_of_expected\.nii\.gz: expected uncertainties >= 0 in lesions.* found -2\.5"
    ):
        one(tmp_path)


def test_nothing_there_and_missing_patients_are_told(tmp_path):
    with pytest.raises(PredictionsError, match="found nothing there"):
        submission("ours", tmp_path / "no", IDS)
    with pytest.raises(PredictionsError, match="found no file of this kind"):
        submission("ours", tmp_path, IDS)
    nifti.write(tmp_path / "lyon-7_seg.nii.gz", blob(), AFFINE)
    (problem,) = missing([submission("ours", tmp_path, IDS)], IDS)
    assert "found none for ljubljana-7, ljubljana-19" in problem


def test_what_is_called_a_probability_has_to_be_one(tmp_path):
    nifti.write(tmp_path / "ljubljana-7_prob.nii.gz", np.full(SHAPE, 3.5, dtype=np.float32), AFFINE)
    with pytest.raises(ShiftbenchError, match=r"expected probabilities from 0 to 1, found 3\.5 .*Are these logits"):
        one(tmp_path)


def test_a_bare_number_belongs_to_the_site_and_part_of_the_folders_above(tmp_path):
    ids = ["best-train-25", "best-eval_in-25", "ljubljana-25"]
    for place, name in (("best/eval_in", "25_seg"), ("best", "best-train-25_seg"), ("ljubljana/x", "25_seg")):
        nifti.write(tmp_path / place / f"{name}.nii.gz", blob(), AFFINE)
    found = submission("ours", tmp_path, ids).patients
    assert {patient: files.mask.parent.name for patient, files in found.items()} == {
        "best-eval_in-25": "eval_in", "best-train-25": "best", "ljubljana-25": "x",
    }  # fmt: skip


def test_a_fold_that_lacks_its_softmax_is_refused(tmp_path):
    softmax = np.stack([1.0 - blob(), blob().astype(float)]).transpose(0, 3, 2, 1)
    for fold in ("fold_0", "fold_1"):
        (tmp_path / fold).mkdir()
        nifti.write(tmp_path / fold / "ljubljana-7.nii.gz", blob(), AFFINE)
    np.savez(tmp_path / "fold_0" / "ljubljana-7.npz", probabilities=softmax)
    with pytest.raises(PredictionsError, match=r"fold_1.*7\.nii\.gz: expected the softmax of nnU-Net beside this mask"):
        one(tmp_path)


def test_ids_that_differ_by_case_alone_have_their_own_files(tmp_path):
    for name in ("A7", "a7"):
        nifti.write(tmp_path / f"{name}_seg.nii.gz", blob(), AFFINE)
    found = submission("mine", tmp_path, ["A7", "a7"])
    assert sorted(found.patients) == ["A7", "a7"]
