"""Distances between surfaces: truths, a loop over all pairs of voxels, distance transforms, empty masks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import ndimage

from shiftbench.errors import ArrayError
from shiftbench.metrics.segmentation import hausdorff_95, surface_distance
from tests.metrics.segmentation import twins
from tests.metrics.segmentation.golden import volume
from tests.metrics.segmentation.test_matching import pairs_of_masks

SPACING = (0.7, 1.0, 3.0)


def cube(first: int, edge: int) -> np.ndarray:
    mask = np.zeros((12, 12, 12), bool)
    mask[first : first + edge, 2:5, 2:5] = True
    return mask


def test_masks_that_are_equal_are_no_distance_apart():
    assert hausdorff_95(cube(2, 3), cube(2, 3), spacing=SPACING) == 0.0
    assert surface_distance(cube(2, 3), cube(2, 3), spacing=SPACING) == 0.0


def test_distances_are_in_mm_along_each_axis():
    one, other = np.zeros((9, 9, 9), bool), np.zeros((9, 9, 9), bool)
    one[1, 1, 1] = other[4, 1, 1] = True
    for axes, expected in (((0, 1, 2), 3 * 0.7), ((1, 0, 2), 3 * 1.0), ((1, 2, 0), 3 * 3.0)):
        masks = one.transpose(axes), other.transpose(axes)
        for score in (hausdorff_95, surface_distance):
            assert score(*masks, spacing=SPACING) == pytest.approx(expected)


def test_voxels_inside_a_mask_play_no_part():
    solid = np.zeros((9, 9, 9), bool)
    solid[2:7, 2:7, 2:7] = True
    hollow = solid.copy()
    hollow[4, 4, 4] = False  # six voxels around it become surface
    assert surface_distance(solid, solid & ~np.zeros_like(solid), spacing=(1, 1, 1)) == 0.0
    assert surface_distance(solid, hollow, spacing=(1, 1, 1)) == pytest.approx(6 * 1 / (98 + 98 + 6))


def test_a_mask_that_fills_the_volume_has_a_surface():
    full = np.ones((4, 4, 4), bool)
    assert hausdorff_95(full, full, spacing=(1, 1, 1)) == 0.0


def test_a_few_far_voxels_do_not_move_the_95th_percentile():
    answer = cube(2, 3)
    answer[11, 11, 11] = True
    assert hausdorff_95(cube(2, 3), answer, spacing=(1, 1, 1)) == 0.0
    assert surface_distance(cube(2, 3), answer, spacing=(1, 1, 1)) > 0.1


def test_empty_masks():
    empty = np.zeros((12, 12, 12), bool)
    for score in (hausdorff_95, surface_distance):
        assert score(empty, empty, spacing=SPACING) == 0.0
        diagonal = np.linalg.norm(12 * np.array(SPACING))
        assert score(empty, cube(2, 3), spacing=SPACING) == score(cube(2, 3), empty, spacing=SPACING) == diagonal


@settings(max_examples=40)
@given(pairs_of_masks())
def test_distances_equal_a_loop_over_all_pairs_of_voxels(masks):
    truth, answer = masks
    if not (truth.any() and answer.any()):
        return
    ways = twins.surface_distances(truth, answer, SPACING)
    expected = max(np.percentile(way, 95) for way in ways), np.mean([*ways[0], *ways[1]])
    found = (score(truth, answer, spacing=SPACING) for score in (hausdorff_95, surface_distance))
    assert tuple(found) == pytest.approx(expected, rel=1e-12)


def test_distances_equal_those_of_distance_transforms():
    truth, answer, *_ = volume("s0")
    surfaces = [mask & ~ndimage.binary_erosion(mask) for mask in (truth, answer)]
    ways = [
        ndimage.distance_transform_edt(~other, sampling=SPACING)[mine] for mine, other in (surfaces, surfaces[::-1])
    ]
    assert hausdorff_95(truth, answer, spacing=SPACING) == pytest.approx(max(np.percentile(way, 95) for way in ways))
    assert surface_distance(truth, answer, spacing=SPACING) == pytest.approx(np.concatenate(ways).mean())


def test_what_is_no_volume_and_no_spacing_are_refused():
    mask = cube(2, 3)
    for score in (hausdorff_95, surface_distance):
        with pytest.raises(ArrayError, match=r"expected masks of one shape"):
            score(mask, mask[1:], spacing=SPACING)
        with pytest.raises(ArrayError, match=r"expected a volume \[X, Y, Z\], found shape \(12, 12\)"):
            score(mask[0], mask[0], spacing=SPACING)
        with pytest.raises(ArrayError, match=r"spacing: expected three edges of a voxel above 0 in mm"):
            score(mask, mask, spacing=(1, 0, 1))
