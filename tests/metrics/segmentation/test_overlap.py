"""Dice and normalised Dice: truths, a literal twin, the published code, and masks that are none."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from shiftbench.errors import ArrayError, SettingsError
from shiftbench.metrics.segmentation import dsc, ndsc
from tests.metrics.segmentation.golden import CASES, PUBLISHED, volume

# --- the published code -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_dice_equals_the_published_code(case):
    truth, answer, brain, _, _ = volume(case)
    assert dsc(truth, answer) == pytest.approx(PUBLISHED[f"{case}.dice"], abs=1e-12)
    assert ndsc(truth, answer) == pytest.approx(PUBLISHED[f"{case}.ndsc_full"], abs=1e-12)
    assert ndsc(truth, answer, brain=brain) == pytest.approx(PUBLISHED[f"{case}.ndsc_mask"], abs=1e-12)


def test_the_region_is_no_detail():
    """The published code scores segmentations in the whole volume and retention inside the brain."""
    truth, answer, brain, _, _ = volume("s0")
    assert ndsc(truth, answer) == pytest.approx(0.1513, abs=1e-4)
    assert ndsc(truth, answer, brain=brain) == pytest.approx(0.0819, abs=1e-4)


# --- truths -----------------------------------------------------------------------------------------------------------


def test_dice_equals_the_definition_on_every_pair_of_masks_of_four_voxels():
    masks = [np.array(bits, bool) for bits in itertools.product((0, 1), repeat=4)]
    for truth, answer in itertools.product(masks, masks):
        right = sum(t and a for t, a in zip(truth, answer, strict=True))
        false, missed = answer.sum() - right, truth.sum() - right
        expected = 1.0 if not truth.any() and not answer.any() else 2 * right / (2 * right + false + missed)
        assert dsc(truth, answer) == pytest.approx(expected, abs=1e-15)
        weight = 1.0 if truth.sum() in (0, 4) else 0.9 * truth.sum() / (0.1 * (4 - truth.sum()))
        nothing = not truth.any() and not answer.any()
        expected = 1.0 if nothing else 2 * right / (2 * right + weight * false + missed)
        assert ndsc(truth, answer, r=0.1) == pytest.approx(expected, abs=1e-15)


def test_normalised_dice_is_dice_where_the_share_of_true_voxels_is_r(rng):
    truth = np.arange(1000) < 50
    answer = truth ^ (rng.random(1000) < 0.1)
    assert ndsc(truth, answer, r=0.05) == pytest.approx(dsc(truth, answer), abs=1e-15)


def test_normalised_dice_of_one_rate_of_errors_does_not_depend_on_the_lesion_load():
    def score(load: int, metric) -> float:
        truth = np.arange(100_000) < load
        answer = truth.copy()
        answer[: load // 5] = False  # a fifth is missed, and one in a thousand others is taken for a lesion
        answer[load : load + (100_000 - load) // 1000] = True
        return metric(truth, answer)

    assert score(10_000, ndsc) == pytest.approx(score(1_000, ndsc), abs=1e-3)
    assert score(10_000, dsc) - score(1_000, dsc) > 0.03


def test_empty_masks():
    empty, some = np.zeros((3, 3, 3), bool), np.eye(3, dtype=bool)[:, :, None] & np.ones(3, bool)
    for metric in (dsc, ndsc):
        assert metric(empty, empty) == 1.0
        assert metric(empty, some) == metric(some, empty) == 0.0
        assert metric(np.ones(4), np.ones(4)) == 1.0
    assert ndsc(np.ones(4), [1, 1, 1, 0]) == pytest.approx(6 / 7), "no negative voxel: the weight plays no part"


def test_what_lies_outside_the_brain_does_not_count():
    truth, answer = np.array([1, 1, 0, 0, 0]), np.array([1, 0, 0, 0, 1])
    brain = np.array([1, 1, 1, 1, 0])
    assert dsc(truth, answer, brain=brain) == dsc(truth[:4], answer[:4]) == pytest.approx(2 / 3)


# --- what is no mask --------------------------------------------------------------------------------------------------

MASK = np.array([[0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (255 * MASK, r"targets: expected only 0 and 1, found 255 \(2 of 4, .*instead of 1. Compare .* targets > 0"),
        (0.9999 * MASK, r"found 0.9999 .* instead of 1. Compare it with 0: targets > 0"),
        ([[0.1, 0.9], [0.2, 1.0]], r"found 0.1 .*Probabilities\? Compare them with a threshold: targets >= 0.5"),
        ([[0, 1], [2, 3]], r"found 2 .*Labels of several classes\? Select one of them: targets == 1"),
        ([[0, 1], [-1, 1]], r"found -1 .*Labels of several classes\?"),
        ([[0, np.nan], [1, 0]], r"found NaN \(1 of 4, first at index \(0, 1\)\). Fill these voxels"),
        ([[0, 1, 0]], r"expected masks of one shape, found: targets has \(1, 3\), answers has \(2, 2\)"),
        (np.zeros((0, 2)), r"targets: expected at least one voxel, found shape \(0, 2\)"),
        ([["a", "b"], ["a", "b"]], r"targets: expected numbers, found dtype <U1"),
        ([[0, 1], [1]], r"targets: expected an array of numbers, found a ragged sequence"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("metric", [dsc, ndsc])
def test_what_is_no_mask_is_refused(metric, values, message):
    with pytest.raises(ArrayError, match=message):
        metric(values, MASK)


def test_all_problems_are_told_at_once():
    with pytest.raises(ArrayError, match=r"targets: .*\n.*answers: .*\n.*brain: ") as error:
        dsc([0.5, 1.0], [0, 255], brain=[np.nan, 1])
    assert len(error.value.problems) == 3


def test_a_brain_of_no_voxel_and_an_impossible_share_are_refused():
    with pytest.raises(ArrayError, match=r"brain: expected at least one voxel, found an empty mask"):
        ndsc(MASK, MASK, brain=np.zeros((2, 2)))
    for share in (0, 1, -1, float("nan"), "x"):
        with pytest.raises(SettingsError, match=r"r: expected a share of voxels between 0 and 1, found "):
            ndsc(MASK, MASK, r=share)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32])
def test_masks_of_any_type_of_number_are_equal(dtype):
    assert dsc(MASK.astype(dtype), MASK.tolist()) == 1.0
