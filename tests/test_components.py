"""Connected components of masks: labels, sizes and overlaps, against slow twins."""

from __future__ import annotations

import sys
from itertools import product

import numpy as np
import pytest

from shiftbench import components
from shiftbench.errors import MissingExtraError, SettingsError

CONNECTIVITIES = (6, 18, 26)


def flooded(mask: np.ndarray, connectivity: int) -> np.ndarray:
    """Labels by walking from voxel to voxel."""
    most = {4: 1, 6: 1, 8: 2, 18: 2, 26: 3}[connectivity]
    steps = [step for step in product((-1, 0, 1), repeat=mask.ndim) if 0 < np.abs(step).sum() <= most]
    labels = np.zeros(mask.shape, int)
    for start in map(tuple, np.argwhere(mask)):
        if labels[start]:
            continue
        number, open_places = labels.max() + 1, [start]
        labels[start] = number
        while open_places:
            here = open_places.pop()
            for step in steps:
                there = tuple(a + b for a, b in zip(here, step, strict=True))
                inside = all(0 <= place < size for place, size in zip(there, mask.shape, strict=True))
                if inside and mask[there] and not labels[there]:
                    labels[there] = number
                    open_places.append(there)
    return labels


@pytest.mark.parametrize("connectivity", CONNECTIVITIES)
def test_components_are_those_of_a_walk_from_voxel_to_voxel(rng, connectivity):
    for share in (0.05, 0.15, 0.3, 0.6):
        mask = rng.random((7, 6, 8)) < share
        labels, number = components.components(mask, connectivity)
        np.testing.assert_array_equal(labels, flooded(mask, connectivity))
        assert number == labels.max()
        np.testing.assert_array_equal(
            components.sizes_of(labels, number), [(labels == k).sum() for k in range(1, number + 1)]
        )


@pytest.mark.parametrize("connectivity", [4, 8])
def test_images_have_components_too(rng, connectivity):
    mask = rng.random((12, 9)) < 0.4
    labels, _ = components.components(mask, connectivity)
    np.testing.assert_array_equal(labels, flooded(mask, connectivity))
    np.testing.assert_array_equal(labels, components.components(mask, {4: 6, 8: 18}[connectivity])[0])


def test_components_of_few_voxels_go_and_the_others_are_numbered_anew(rng):
    mask = rng.random((9, 9, 9)) < 0.25
    twin = flooded(mask, 6)
    for larger_than in (0, 1, 3, 9, 1000):
        labels, number = components.large_components(mask, larger_than=larger_than)
        kept = [k for k in range(1, twin.max() + 1) if (twin == k).sum() > larger_than]
        expected = sum(np.where(twin == k, place + 1, 0) for place, k in enumerate(kept)) + np.zeros_like(twin)
        np.testing.assert_array_equal(labels, expected)
        assert number == len(kept)
        large = components.keep_large_components(mask, larger_than=larger_than)
        np.testing.assert_array_equal(large, expected > 0)


def test_an_empty_mask_has_no_component():
    labels, number = components.components(np.zeros((3, 4, 5), bool))
    assert (labels.shape, labels.any(), number) == ((3, 4, 5), False, 0)
    assert components.large_components(np.zeros((3, 4, 5), bool))[1] == 0
    assert len(components.pairs(labels, labels).iou) == 0
    assert components.overlap(labels > 0, labels > 0) == 1.0


def test_pairs_are_those_of_a_loop_over_both(rng):
    for share, other_share in ((0.2, 0.3), (0.05, 0.5), (0.4, 0.02), (0.01, 0.01)):
        first = components.components(rng.random((8, 7, 6)) < share)[0]
        other = components.components(rng.random((8, 7, 6)) < other_share)[0]
        expected = []
        for one in range(1, first.max() + 1):
            for two in range(1, other.max() + 1):
                if shared := ((first == one) & (other == two)).sum():
                    expected.append((one, two, shared, shared / ((first == one) | (other == two)).sum()))
        found = components.pairs(first, other)
        np.testing.assert_array_equal(np.transpose(found), np.reshape(expected, (-1, 4)))


def test_the_overlap_of_whole_masks_is_intersection_over_union(rng):
    one, two = rng.random((2, 5, 5, 5)) < 0.5
    assert components.overlap(one, two) == (one & two).sum() / (one | two).sum()
    assert components.overlap(one, np.zeros_like(one)) == 0.0


def test_the_bounding_box_holds_all_and_no_smaller_one_does(rng):
    mask = np.zeros((9, 8, 7), bool)
    mask[3, 2, 1] = mask[5, 2, 6] = True
    assert components.bounding_box(mask) == (slice(3, 6), slice(2, 3), slice(1, 7))
    assert mask[components.bounding_box(np.zeros((9, 8, 7), bool))].size == 0


@pytest.mark.parametrize(
    ("shape", "connectivity", "message"),
    [
        ((3, 3, 3), 7, "connectivity: expected one of 6, 18, 26, found 7"),
        ((3, 3, 3), 4, "connectivity: expected one of 6, 18, 26, found 4"),
        ((3, 3), 26, "connectivity: expected one of 4, 8, found 26"),
        ((3, 3), "6", "connectivity: expected one of 4, 8, found '6'"),
        ((3,), 6, "mask: expected an image or a volume, of 2 or 3 axes, found 1"),
        ((3, 3, 3, 3), 6, "of 2 or 3 axes, found 4"),
    ],
)
def test_other_connectivities_and_axes_are_refused(shape, connectivity, message):
    with pytest.raises(SettingsError, match=message):
        components.components(np.ones(shape, bool), connectivity)


def test_without_scipy_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.ndimage", None)
    with pytest.raises(MissingExtraError, match=r"shiftbench\[lesions\]"):
        components.components(np.ones((2, 2, 2), bool))


@pytest.mark.parametrize("many", [0, 0.2, 1])
def test_levels_of_large_components_are_those_of_each_mask_labelled(many, monkeypatch):
    monkeypatch.setattr(components, "MANY", many)
    rng = np.random.default_rng(5)
    levels = (6 * rng.random((9, 10, 11)) ** 1.5).astype(np.int64)
    for larger_than in (0, 1, 4, 12, 2000):
        wanted = np.zeros_like(levels)
        for level in range(1, 6):
            kept = components.keep_large_components(levels >= level, larger_than=larger_than)
            wanted[kept] = level
        np.testing.assert_array_equal(components.large_levels(levels, larger_than=larger_than), wanted)
    assert not components.large_levels(np.zeros((3, 3, 3), np.int64), larger_than=0).any()
