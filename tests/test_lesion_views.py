"""Lesions and patients as records: what they hold, against a slow twin, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import shiftbench
from shiftbench import components
from shiftbench.ensembles import Categorical, Lesions, Masks, Patients, combine, concatenated
from shiftbench.ensembles.structure import lesion_overlaps, patient_overlaps
from shiftbench.errors import ArrayError, SettingsError, UnknownNameError
from shiftbench.measures import headline, masks, measures_for, uncertainty
from shiftbench.measures.masks import VOXEL_MEASURES, lesion_mean, voxel_map
from shiftbench.tracks.lesions.nifti import read_mask

GOLDEN = np.load(Path(__file__).parent / "golden" / "voxel_rmi.npz")
TUNED = (0.3, 0.5, 0.7)


def blobs(rng: np.random.Generator, shape: tuple[int, ...] = (12, 11, 10), *, members: int = 3) -> np.ndarray:
    """Smooth probabilities [M, …] whose lesions differ a little between members."""
    smooth = rng.random(shape)
    for axis in range(len(shape)):
        smooth = (smooth + np.roll(smooth, 1, axis) + np.roll(smooth, -1, axis)) / 3
    noise = rng.normal(0, 0.02, (members, *shape))
    return np.clip(0.5 + 6 * (smooth - np.quantile(smooth, 0.8)) + 6 * noise, 0, 1).astype(np.float32)


def masks_of(*volumes: np.ndarray) -> Masks:
    return Masks(
        np.concatenate([each.reshape(len(each), -1) for each in volumes], axis=1), [each.shape[1:] for each in volumes]
    )


def iou(one: np.ndarray, two: np.ndarray) -> float:
    return (one & two).sum() / (one | two).sum() if (one | two).any() else 1.0


def segmented(probability: np.ndarray, threshold: float, larger_than: int, connectivity: int) -> list[np.ndarray]:
    """The lesions of one volume as masks, one after the other."""
    labels, number = components.components(probability >= threshold, connectivity)
    return [mask for k in range(1, number + 1) if (mask := labels == k).sum() > larger_than]


def slow(
    volume: np.ndarray, thresholds: tuple[float, ...], larger_than: int, connectivity: int
) -> tuple[list[float], float]:
    """LSU of each lesion of one volume and its PSU, by loops over lesions, members and the members' lesions."""
    lesions = segmented(volume.astype(float).mean(axis=0), 0.5, larger_than, connectivity)
    others = [segmented(p, t, larger_than, connectivity) for p, t in zip(volume, thresholds, strict=True)]
    best = [
        [max((iou(own, c) for c in theirs if (own & c).any()), default=0.0) for theirs in others] for own in lesions
    ]
    nothing = np.zeros(volume.shape[1:], bool)
    whole = sum(lesions, nothing)
    return [1 - np.mean(each) for each in best], 1 - np.mean([iou(whole, sum(theirs, nothing)) for theirs in others])


@pytest.mark.parametrize(("connectivity", "larger_than"), [(6, 0), (6, 3), (18, 1), (26, 9)])
def test_structural_uncertainty_is_that_of_loops_over_lesions_and_members(rng, connectivity, larger_than):
    volumes = [blobs(rng, shape) for shape in [(9, 8, 7), (12, 3, 9), (6, 6, 6), (5, 14, 4)] * 3]
    settings = {"connectivity": connectivity, "larger_than": larger_than}
    found = masks_of(*volumes)
    lesions, patients = (view(thresholds=TUNED, **settings) for view in (found.lesions, found.patients))
    for name, thresholds in (("structural", (0.5,) * 3), ("structural_tuned", TUNED)):
        twins = [slow(volume, thresholds, larger_than, connectivity) for volume in volumes]
        assert uncertainty(lesions, f"lesion_{name}") == pytest.approx(np.concatenate([lsu for lsu, _ in twins]))
        assert uncertainty(patients, f"patient_{name}") == pytest.approx([psu for _, psu in twins])
        if name == "structural":
            means = [np.mean(lsu) if lsu else 0.0 for lsu, _ in twins]
            assert uncertainty(patients, "patient_lesion_structural") == pytest.approx(means, abs=1e-15)
    assert lesions.patients.tolist() == [k for k, (lsu, _) in enumerate(twins) for _ in lsu]


def test_a_turned_volume_has_the_same_lesions_in_another_order(rng):
    volume = blobs(rng)
    turned = np.ascontiguousarray(np.flip(volume, axis=(1, 3)).transpose(0, 2, 3, 1))
    both = [masks_of(each).lesions(larger_than=1, thresholds=TUNED) for each in (volume, turned)]
    for name in ("lesion_structural", "lesion_structural_tuned", "lesion_log_sum_epkl"):
        one, other = (np.sort(uncertainty(lesions, name)) for lesions in both)
        np.testing.assert_allclose(one, other, rtol=1e-9)


def test_structural_uncertainty_goes_from_0_where_members_agree_to_1_where_none_has_the_lesion(rng):
    volume = blobs(rng, members=1)
    alike = masks_of(np.repeat(volume, 4, axis=0))
    assert not uncertainty(alike.lesions(thresholds=[0.5] * 4), "lesion_structural_tuned").any()
    nothing = masks_of(np.minimum(volume, 0.99)).lesions(thresholds=[1.0])
    assert (uncertainty(nothing, "lesion_structural_tuned") == 1).all()
    # What all members together segment, at least one of them does, too: unless small components are removed.
    apart = masks_of(rng.random((3, 9, 9, 9))).lesions(larger_than=0, threshold=0.6)
    assert (uncertainty(apart, "lesion_structural") < 1).all()


@pytest.mark.parametrize("threshold", [0.35, 0.5, 0.7, np.float64(0.7)])
def test_a_probability_at_the_threshold_is_segmented_by_the_ensemble_and_by_its_members(threshold):
    """0.7 in single precision is less than in double: both are compared in single precision."""
    found = masks_of(np.full((3, 3, 3, 3), threshold, np.float32)).lesions(
        threshold=threshold, thresholds=[threshold] * 3
    )
    assert (found.records, found.voxels.tolist()) == (1, [27])
    assert uncertainty(found, "lesion_structural") == uncertainty(found, "lesion_structural_tuned") == 0


def test_images_have_lesions_too(rng):
    image = blobs(rng, (20, 17))
    expected, whole = slow(image, (0.5,) * 3, 3, 8)
    found = masks_of(image)
    assert uncertainty(found.lesions(connectivity=8, larger_than=3), "lesion_structural") == pytest.approx(expected)
    assert uncertainty(found.patients(connectivity=8, larger_than=3), "patient_structural") == pytest.approx([whole])


def test_a_lesion_knows_its_patient_its_voxels_and_its_centre(rng):
    volumes = [blobs(rng), blobs(rng, (8, 9, 10))]
    found = masks_of(*volumes).lesions(larger_than=2)
    place = 0
    for patient, volume in enumerate(volumes):
        labels, number = components.large_components(volume.mean(axis=0, dtype=float) >= 0.5, larger_than=2)
        for label in range(1, number + 1):
            lesion = found.select([place])
            own = np.argwhere(labels == label)
            assert (lesion.patients.item(), lesion.voxels.item()) == (patient, len(own))
            np.testing.assert_array_equal(lesion.shapes, [volume.shape[1:]])
            np.testing.assert_array_equal(lesion.positions, np.flatnonzero(labels == label))
            np.testing.assert_allclose(lesion.centres, [own.mean(axis=0)])
            np.testing.assert_array_equal(lesion.probabilities, volume[:, labels == label])
            place += 1
    assert place == found.records > 5


def test_stored_masks_of_members_suffice(rng):
    volume = blobs(rng)
    labels, _ = components.large_components(volume.mean(axis=0, dtype=float) >= 0.5)
    members = [components.keep_large_components(member >= 0.5) for member in volume]
    both = masks_of(volume)
    np.testing.assert_array_equal(lesion_overlaps(labels, members), both.lesions().overlaps)
    np.testing.assert_array_equal(patient_overlaps(labels > 0, members), both.patients().overlaps[:, 0])
    as_numbers = np.array(members, dtype=np.uint8)
    np.testing.assert_array_equal(lesion_overlaps(labels.tolist(), as_numbers), lesion_overlaps(labels, members))


def test_without_lesions_there_are_no_overlaps_and_empty_masks_agree():
    nothing, something = np.zeros((4, 4, 4), bool), np.ones((4, 4, 4), bool)
    assert lesion_overlaps(nothing.astype(int), [something, nothing]).shape == (2, 0)
    assert patient_overlaps(nothing, [something, nothing]).tolist() == [0.0, 1.0]
    patients = Masks(np.zeros((2, 64)), [[4, 4, 4]]).patients()
    assert uncertainty(patients, "patient_structural") == 0
    assert uncertainty(patients, "patient_lesion_structural") == 0
    mixed = Masks(np.stack((something, nothing)).reshape(2, -1) * 0.9, [[4, 4, 4]])
    assert uncertainty(mixed.patients(), "patient_structural") == 0.5  # the mean is below the threshold


def test_a_view_without_a_single_lesion_is_an_error_that_says_what_to_do():
    empty = Masks(np.full((2, 64), 0.4), [[4, 4, 4]])
    message = r"expected at least one, found no 10 connected voxels of probability >= 0.5 in 1 volumes. Lower"
    with pytest.raises(ArrayError, match=message):
        empty.lesions()
    assert empty.lesions(threshold=0.4).records == 1


def test_volumes_one_by_one_are_the_same_as_all_together(rng):
    volumes = [blobs(rng), np.zeros((3, 4, 4, 4), np.float32), blobs(rng, (7, 7, 7))]
    together = masks_of(*volumes)
    alone = [masks_of(volumes[k]).lesions(larger_than=1) for k in (0, 2)]
    assert concatenated(alone).overlaps == pytest.approx(together.lesions(larger_than=1).overlaps)
    patients = concatenated([masks_of(volume).patients(larger_than=1) for volume in volumes])
    assert patients.overlaps == pytest.approx(together.patients(larger_than=1).overlaps)


def test_lesions_of_fewer_members_are_still_those_of_all(rng):
    whole = masks_of(blobs(rng)).lesions(larger_than=1)
    np.testing.assert_array_equal(combine(whole.member(0), whole.of_members([1, 2])).overlaps, whole.overlaps)
    assert uncertainty(whole.member(1), "lesion_structural") == pytest.approx(1 - whole.overlaps[1])


def test_tuned_measures_exist_where_members_have_thresholds_of_their_own(rng):
    found = masks_of(blobs(rng))
    for view, name in ((found.lesions, "lesion_structural_tuned"), (found.patients, "patient_structural_tuned")):
        assert name in measures_for(view(thresholds=TUNED))
        assert name not in measures_for(view())
        with pytest.raises(ArrayError, match=f"{name}: not defined for .* ensembles without tuned_overlaps"):
            uncertainty(view(), name)
        same = view(thresholds=[0.5] * 3)
        np.testing.assert_array_equal(uncertainty(same, name), uncertainty(view(), name.removesuffix("_tuned")))


def test_a_single_member_agrees_with_itself_and_is_told_by_its_entropy(rng):
    alone = masks_of(blobs(rng, members=1))
    assert not uncertainty(alone.lesions(), "lesion_structural").any()
    assert headline(alone.lesions()) == "lesion_mean_entropy_of_expected"
    assert headline(alone.patients()) == "voxel_entropy"
    assert headline(masks_of(blobs(rng)).patients()) == "patient_structural"


@pytest.mark.needs_shared
@pytest.mark.parametrize("patient", ["02", "18", "30"])
def test_real_lesions_and_members_that_are_a_little_off_are_those_of_loops(shared, rng, patient):
    mask, _ = read_mask(shared / f"data/lesions/ljubljana_masks30/{patient}_gt.nii.gz")
    mask = np.pad(mask[components.bounding_box(mask)], 2)
    moved = [np.roll(mask, step, axis) for axis in range(3) for step in (-1, 1)]
    off = [mask & ~moved[0], mask | moved[1], moved[2], mask & moved[3], np.zeros_like(mask)]  # the last finds nothing
    labels, number = components.components(mask, 18)
    volume = np.array(off, np.float32)
    lesions = [labels == label for label in range(1, number + 1)]
    others = [segmented(member, 0.5, 0, 18) for member in volume]
    best = [
        [max((iou(own, c) for c in theirs if (own & c).any()), default=0.0) for own in lesions] for theirs in others
    ]
    found = lesion_overlaps(labels, off, 18)
    np.testing.assert_allclose(found, best)
    assert (found[:4].max(axis=1) > 0.3).all()
    assert not found[4].any()
    np.testing.assert_allclose(patient_overlaps(mask, off), [iou(mask, member) for member in off])


# --- voxels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VOXEL_MEASURES)
def test_a_map_holds_the_measure_of_two_classes_of_each_voxel(monkeypatch, rng, name):
    found = masks_of(blobs(rng), blobs(rng, (3, 4, 5)))
    lesion = found.probabilities.astype(float)
    classes = Categorical(np.stack((1 - lesion, lesion), axis=-1))
    monkeypatch.setattr(masks, "BLOCK_VALUES", 100)  # many blocks
    np.testing.assert_allclose(voxel_map(found, name), uncertainty(classes, name), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("case", ["s0", "s2"])
def test_reverse_mutual_information_is_that_of_the_published_code(case):
    volume = GOLDEN[f"{case}.probabilities"]
    found = voxel_map(masks_of(volume), "reverse_mutual_information").reshape(volume.shape[1:])
    # The published map is float32, so that a few voxels come out below 0.
    np.testing.assert_allclose(found, GOLDEN[f"{case}.rmi"], atol=2e-7)
    assert (found >= 0).all()


def test_the_voxels_of_a_lesion_are_averaged_and_their_logarithms_added(rng):
    volume = blobs(rng)
    found = masks_of(volume).lesions(larger_than=1)
    labels, number = components.large_components(volume.mean(axis=0, dtype=float) >= 0.5, larger_than=1)
    for name in VOXEL_MEASURES:
        values = voxel_map(masks_of(volume), name).reshape(labels.shape)
        own = [values[labels == label] for label in range(1, number + 1)]
        assert uncertainty(found, f"lesion_mean_{name}") == pytest.approx([each.mean() for each in own])
        if name != "negated_confidence":
            sums = [np.log(each + 1e-10).sum() for each in own]
            assert uncertainty(found, f"lesion_log_sum_{name}") == pytest.approx(sums)
    assert "lesion_log_sum_negated_confidence" not in shiftbench.MEASURES


def test_the_published_mean_over_a_lesion_is_a_sum_by_which_the_largest_lesion_is_the_most_uncertain():
    """A large lesion of little doubt (p = 0.9) and a small one of much (p = 0.6): the slip turns them round."""
    volume = np.zeros((1, 10, 10, 10))
    volume[0, 0:6, 0:6, 0:6], volume[0, 8:10, 8:10, 7:10] = 0.9, 0.6
    lesions = masks_of(volume).lesions()
    right = lesion_mean(lesions, "entropy_of_expected")
    wrong = lesion_mean(lesions, "entropy_of_expected", over="volume")
    entropy = np.array([-p * np.log(p) - (1 - p) * np.log(1 - p) for p in (0.9, 0.6)])
    assert right == pytest.approx(entropy, rel=1e-6)
    assert wrong == pytest.approx(entropy * [216, 12] / 1000, rel=1e-6)  # 4.6 and 83 times too small
    assert (right[0] < right[1], wrong[0] < wrong[1]) == (True, False)


def test_an_unknown_measure_of_voxels_is_refused(rng):
    with pytest.raises(UnknownNameError, match=r"Unknown measure of voxels 'epk'\. Did you mean 'epkl'\?"):
        voxel_map(masks_of(blobs(rng)), "epk")


# --- bad input --------------------------------------------------------------------------------------------------------


def test_settings_that_cut_no_lesions_are_refused_together(rng):
    found = masks_of(blobs(rng))
    with pytest.raises(SettingsError) as refused:
        found.lesions(threshold=1.5, thresholds=[0.5, 0.5], connectivity=7, larger_than=-1)
    assert [problem.split(",")[0] for problem in refused.value.problems] == [
        "threshold: expected 0 to 1",
        "thresholds: expected 3 numbers from 0 to 1",
        "larger_than: expected a number of voxels >= 0",
        "connectivity: expected one of 6",
    ]
    for wrong in ("0.5", True, np.nan, None):
        with pytest.raises(SettingsError, match="threshold: expected 0 to 1, found"):
            found.patients(threshold=wrong)
    for tuned in ([0.5, np.nan, 0.5], 0.5, [[0.5] * 3], "abc"):
        with pytest.raises(SettingsError, match="thresholds: expected 3 numbers from 0 to 1, one for each member"):
            found.patients(thresholds=tuned)


def test_members_that_do_not_fit_are_refused():
    labels = np.ones((3, 3, 3), int)
    for members, message in (
        ([np.ones((3, 3, 4), bool)], r"expected masks of one shape, found: labels has \(3, 3, 3\), member 0 has"),
        ([labels, labels * 255], "member 1: expected only 0 and 1, found 255"),
        ([labels * np.nan], "member 0: expected only 0 and 1, found NaN"),
        ([], "member_masks: expected at least one member, found none"),
    ):
        with pytest.raises(ArrayError, match=message):
            lesion_overlaps(labels, members)
    with pytest.raises(ArrayError, match=r"mask: expected only 0 and 1, found 0\.5"):
        patient_overlaps(labels * 0.5, [labels])
    for wrong in (labels - 2, labels * 0.5):
        with pytest.raises(ArrayError, match="labels: expected integers >= 0"):
            lesion_overlaps(wrong, [labels])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"voxels": [3, 3]}, "voxels: expected 5 voxels in all, as there are, found 6"),
        ({"positions": [0, 1, 2]}, "positions: expected 5, found 3"),
        ({"patients": [0]}, "patients: expected 2, found 1"),
        ({"overlaps": np.full((2, 2), 1.5)}, r"overlaps: expected values in \[0, 1\], found 1.5"),
        ({"overlaps": np.full((2, 3), 0.5)}, r"overlaps: expected shape \(2, 2\), found \(2, 3\)"),
        ({"tuned_overlaps": np.full((1, 2), 0.5)}, r"tuned_overlaps: expected shape \(2, 2\), found \(1, 2\)"),
        ({"probabilities": np.full((2, 5), np.nan)}, "probabilities: expected finite numbers, found NaN"),
    ],
)
def test_invalid_lesions_are_refused(change, message):
    valid = {
        "probabilities": np.full((2, 5), 0.5), "voxels": [2, 3], "positions": np.arange(5),
        "shapes": [[3, 3, 3]] * 2, "patients": [0, 0], "overlaps": np.full((2, 2), 0.5),
    }  # fmt: skip
    assert Lesions(**valid).records == 2
    with pytest.raises(ArrayError, match=message):
        Lesions(**{**valid, **change})


def test_invalid_patients_are_refused():
    with pytest.raises(ArrayError, match=r"lesion_overlaps: expected shape \(2, 1\), found \(2, 2\)"):
        Patients(np.full((2, 8), 0.5), [[2, 2, 2]], np.ones((2, 1)), np.ones((2, 2)))
