"""Lesions found and missed: truths for every rule, loops as twins, and the published code."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.errors import ArrayError, SettingsError, UnknownNameError
from shiftbench.metrics import segmentation
from shiftbench.metrics.segmentation import LesionRule, detection_by_size, lesion_counts, lesion_f1, lesion_table
from shiftbench.metrics.segmentation.rule import MATCHES, MISSES
from tests.metrics.segmentation import twins
from tests.metrics.segmentation.golden import CASES, INPUTS, PUBLISHED, unpacked, volume

IOUS = (0.1, 0.25, 0.5, 1.0)
RULES = [
    (iou, connectivity, match, missed)
    for connectivity, match, missed, iou in itertools.product((6, 18, 26), MATCHES, MISSES, IOUS)
]


def row(text: str) -> np.ndarray:
    """A volume of one row of voxels: "##.#"."""
    return np.array([letter == "#" for letter in text]).reshape(-1, 1, 1)


# --- the published code -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_f1_and_the_removal_of_small_lesions_equal_the_published_code(case):
    truth, answer, *_ = volume(case)
    for iou in (0.25, 0.5):
        assert lesion_f1(truth, answer, iou=iou) == pytest.approx(PUBLISHED[f"{case}.lesion_f1@{iou:g}"], abs=1e-15)
    for most in (0, 9, 40):
        expected = unpacked(PUBLISHED[f"{case}.rcc{most}_bits"], INPUTS[f"{case}.shape"])
        np.testing.assert_array_equal(segmentation.keep_large_components(answer, larger_than=most), expected)


def test_rules_that_are_not_published_change_the_score_by_a_third():
    """Of one made-up volume: 0.27 as published, up to 0.40 with the same lesions, the same IoU."""
    truth, answer, *_ = volume("s2")
    table = {str(entry.rule): entry.f1 for entry in lesion_table(truth, answer, ious=(0.25,))}
    published = table["connectivity 6, IoU 0.25, published, missed: IoU < 0.25"]
    assert published == pytest.approx(PUBLISHED["s2.lesion_f1@0.25"], abs=1e-15)
    assert published == pytest.approx(0.2692, abs=1e-4)
    assert min(table.values()) == pytest.approx(0.25, abs=1e-12)
    assert max(table.values()) == pytest.approx(0.4018, abs=1e-4)


# --- truths -----------------------------------------------------------------------------------------------------------


def test_two_predictions_of_one_lesion_are_both_right_as_published_and_one_of_them_one_to_one():
    truth, answer = row("######...."), row("##.###....")
    published = lesion_counts(truth, answer, iou=0.25)
    assert (published.right, published.false, published.missed, published.splits) == (2, 0, 0, 1)
    assert published.f1 == 1.0
    single = lesion_counts(truth, answer, iou=0.25, match="one_to_one")
    assert (single.right, single.false, single.missed) == (1, 1, 0)
    np.testing.assert_array_equal(single.matches, [False, True], "the one with the larger IoU")
    joined = lesion_counts(truth, answer, iou=0.8, match="many_to_many")
    assert (joined.right, joined.false, joined.missed, joined.f1) == (2, 0, 0, 1.0)
    assert lesion_f1(truth, answer, iou=0.8) == 0.0


def test_one_prediction_of_two_lesions_is_a_merge():
    truth, answer = row("###.###"), row("#######")
    counts = {match: lesion_counts(truth, answer, iou=0.4, match=match) for match in MATCHES}
    assert {match: (entry.right, entry.missed, entry.merges, entry.splits) for match, entry in counts.items()} == {
        "published": (1, 0, 1, 0),
        "one_to_one": (1, 1, 1, 0),
        "many_to_many": (1, 0, 1, 0),
    }


def test_a_lesion_that_is_touched_but_not_matched_is_missed_by_one_rule_only():
    truth, answer = row("#####."), row("....##")
    assert lesion_counts(truth, answer).missed == 1
    touched = lesion_counts(truth, answer, missed="no_overlap")
    assert (touched.right, touched.false, touched.missed, touched.recall) == (0, 1, 0, 1.0)


def test_the_most_pairs_come_before_the_best_ones():
    """Taking the largest IoU first would leave one lesion of each mask alone."""
    truth, answer = row("##.######."), row(".######.##")
    labels = segmentation.matching.Labelled.of(truth, answer, 6)
    greedy = labels.pairs.iou.argmax()
    assert (labels.pairs.first[greedy], labels.pairs.other[greedy]) == (1, 2)
    counts = lesion_counts(truth, answer, iou=0.1, match="one_to_one")
    assert (counts.right, counts.missed) == (2, 0)


def test_connectivity_decides_what_one_lesion_is():
    corner = np.zeros((2, 2, 2), bool)
    corner[0, 0, 0] = corner[1, 1, 1] = True
    edge = np.zeros((2, 2, 2), bool)
    edge[0, 0, 0] = edge[1, 1, 0] = True
    assert [segmentation.components(corner, each)[1] for each in (6, 18, 26)] == [2, 2, 1]
    assert [segmentation.components(edge, each)[1] for each in (6, 18, 26)] == [2, 1, 1]


def test_without_lesions():
    empty, some = row("...."), row(".##.")
    for match, missed in itertools.product(MATCHES, MISSES):
        both, false, lost = (
            lesion_counts(*masks, match=match, missed=missed)
            for masks in ((empty, empty), (empty, some), (some, empty))
        )
        assert (both.f1, both.precision, both.recall) == (1.0, 1.0, 1.0)
        assert (false.f1, false.precision, false.recall, false.false) == (0.0, 0.0, 0.0, 1)
        assert (lost.f1, lost.precision, lost.recall, lost.missed) == (0.0, 0.0, 0.0, 1)


def test_the_order_of_flags_is_that_of_labels(rng):
    truth, answer = rng.random((2, 6, 7, 8)) < 0.3
    counts = lesion_counts(truth, answer, iou=0.2)
    labels, number = segmentation.components(answer)
    true, _ = segmentation.components(truth)
    assert len(counts.matches) == number
    for label in range(1, number + 1):
        mine = labels == label
        ious = [np.mean((mine & (true == other))[mine | (true == other)]) for other in set(true[mine]) - {0}]
        best = max(ious, default=0)
        assert counts.matches[label - 1] == (best >= 0.2)


# --- twins ------------------------------------------------------------------------------------------------------------


@st.composite
def pairs_of_masks(draw) -> tuple[np.ndarray, np.ndarray]:
    """Two masks of one small shape, sparse or dense, alike or not, possibly empty."""
    shape = draw(st.tuples(*3 * [st.integers(1, 4)]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    truth = rng.random(shape) < draw(st.sampled_from((0.0, 0.1, 0.25, 0.4)))
    kept = draw(st.sampled_from((0.0, 0.5, 0.8, 1.0)))
    answer = np.where(rng.random(shape) < kept, truth, rng.random(shape) < draw(st.sampled_from((0.0, 0.1, 0.3))))
    return truth, answer


@settings(max_examples=40)
@given(pairs_of_masks())
def test_all_rules_equal_loops_over_voxels_lesions_and_pairs(masks):
    truth, answer = masks
    found = {each: [twins.lesions(mask, each) for mask in (answer, truth)] for each in (6, 18, 26)}
    table = lesion_table(truth, answer, ious=IOUS)
    assert [tuple(vars(entry.rule).values()) for entry in table] == RULES
    for entry in table:
        rule = entry.rule
        if rule.match == "one_to_one" and len(entry.matches) > 6:  # the twin tries all pairs
            continue
        expected = twins.counts(*found[rule.connectivity], rule.iou, rule.match, rule.missed)
        assert {name: getattr(entry, name) for name in expected} == pytest.approx(expected, abs=1e-12), rule


@settings(max_examples=20)
@given(pairs_of_masks(), st.sampled_from(RULES))
def test_the_table_of_all_rules_holds_what_each_gives_alone(masks, rule):
    (entry,) = (entry for entry in lesion_table(*masks, ious=IOUS) if tuple(vars(entry.rule).values()) == rule)
    alone = lesion_counts(*masks, **vars(entry.rule))
    np.testing.assert_array_equal(alone.matches, entry.matches)
    np.testing.assert_array_equal(alone.detected, entry.detected)
    assert (alone.splits, alone.merges, alone.f1) == (entry.splits, entry.merges, entry.f1)


@settings(max_examples=30)
@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**32 - 1))
def test_one_to_one_finds_the_best_of_all_assignments(predicted, true, seed):
    rng = np.random.default_rng(seed)
    present = np.argwhere(rng.random((predicted, true)) < 0.6)
    iou = rng.choice([0.3, 0.4, 0.5, 0.6], len(present))
    ones = np.ones(len(present), np.int64)
    pairs = segmentation.matching.Pairs(*(present.T + 1), ones, iou)
    labelled = segmentation.matching.Labelled(pairs, np.ones(predicted, int), np.ones(true, int))
    matches, detected = segmentation.matching._one_to_one(labelled, 0.35)
    weights = np.zeros((predicted, true))
    weights[tuple(present.T)] = np.where(iou >= 0.35, iou, 0.0)
    number, _ = twins.best_assignments(weights.tolist())
    assert matches.sum() == detected.sum() == number


@settings(max_examples=30)
@given(pairs_of_masks(), st.sampled_from((6, 18, 26)), st.integers(0, 12))
def test_removing_small_lesions_equals_a_loop(masks, connectivity, most):
    mask = masks[0] | masks[1]
    expected = np.zeros_like(mask)
    for lesion in twins.lesions(mask, connectivity):
        for place in lesion:
            expected[place] = len(lesion) > most
    found = segmentation.keep_large_components(mask, larger_than=most, connectivity=connectivity)
    np.testing.assert_array_equal(found, expected)


@settings(max_examples=30)
@given(pairs_of_masks(), st.sampled_from(MATCHES), st.sampled_from(MISSES))
def test_classes_of_size_add_up_to_all_lesions(masks, match, missed):
    rule = {"match": match, "missed": missed, "iou": 0.3}
    counts = lesion_counts(*masks, **rule)
    classes = detection_by_size(*masks, spacing=(1, 1, 1), edges=(2, 4, 8), **rule)
    whole = np.sum([entry[2:] for entry in classes], axis=0)
    assert whole.tolist() == [counts.true, counts.true - counts.missed, counts.predicted, counts.false]
    sizes = [len(lesion) for lesion in twins.lesions(masks[0], 6)]
    assert [entry.true for entry in classes] == [
        sum(size < 2 for size in sizes), sum(2 <= size <= 4 for size in sizes),
        sum(4 < size <= 8 for size in sizes), sum(size > 8 for size in sizes),
    ]  # fmt: skip


# --- sizes ------------------------------------------------------------------------------------------------------------


def test_lesions_belong_to_classes_by_their_volume_in_mm3():
    truth = row("#" * 9 + "." + "#" * 10 + "." + "#" * 100 + "." + "#" * 101)
    answer = truth.copy()
    answer[:9] = False
    small, medium, large = detection_by_size(truth, answer, spacing=(1, 1, 1))
    assert (small.true, small.detected, small.recall) == (1, 0, 0.0)
    assert (medium.true, medium.detected, medium.predicted, medium.false) == (2, 2, 2, 0)
    assert (large.true, large.low, large.high) == (1, 100.0, math.inf)
    # The same voxels of 3 mm slices are larger lesions; rounding moves no lesion across an edge.
    assert [entry.true for entry in detection_by_size(truth, answer, spacing=(1, 1, 3))] == [0, 2, 2]
    assert [entry.true for entry in detection_by_size(truth, answer, spacing=(0.1, 10.0, 1.0))] == [1, 2, 1]
    assert segmentation.lesion_volumes(truth, spacing=(1, 2, 3)).tolist() == [54, 60, 600, 606]


def test_a_class_without_lesions_has_no_recall():
    assert math.isnan(detection_by_size(row("##"), row("##"), spacing=(1, 1, 1))[1].recall)


# --- what is refused --------------------------------------------------------------------------------------------------

VOLUME = row("##..#")


@pytest.mark.parametrize(
    "act",
    [
        lesion_f1,
        lesion_counts,
        lesion_table,
        lambda *masks: detection_by_size(*masks, spacing=(1, 1, 1)),
        lambda *masks: [segmentation.keep_large_components(mask) for mask in masks],
        lambda *masks: [segmentation.components(mask) for mask in masks],
    ],
)
def test_what_is_no_volume_or_no_mask_is_refused(act):
    with pytest.raises(ArrayError, match=r"expected a volume \[X, Y, Z\], found shape \(5, 1\).*\[:, :, None\]"):
        act(VOLUME[..., 0], VOLUME[..., 0])
    with pytest.raises(ArrayError, match=r"found shape \(5, 1, 1, 1\).*of 4D files, pick one volume"):
        act(VOLUME[..., None], VOLUME[..., None])
    with pytest.raises(ArrayError, match=r"found 255 .*Compare it with 0"):
        act(VOLUME * 255, VOLUME)
    with pytest.raises(ArrayError, match=r"Probabilities\?"):
        act(VOLUME * 0.3 + 0.1, VOLUME)


def test_rules_that_are_unknown_or_impossible_are_refused():
    with pytest.raises(ArrayError, match=r"expected masks of one shape"):
        lesion_f1(VOLUME, VOLUME[1:])
    with pytest.raises(UnknownNameError, match=r"Unknown rule of match 'one-to-one'. Did you mean 'one_to_one'\?"):
        lesion_f1(VOLUME, VOLUME, match="one-to-one")
    with pytest.raises(UnknownNameError, match=r"Unknown rule of missed 'no overlap'. Did you mean 'no_overlap'\?"):
        lesion_f1(VOLUME, VOLUME, missed="no overlap")
    with pytest.raises(UnknownNameError, match=r"Unknown setting of lesions 'threshold'"):
        lesion_f1(VOLUME, VOLUME, threshold=0.5)
    with pytest.raises(SettingsError, match=r"connectivity: expected one of 6, 18, 26, found 8"):
        lesion_f1(VOLUME, VOLUME, connectivity=8)
    for iou in (0, -1, 1.01, math.nan, "0.5"):
        with pytest.raises(SettingsError, match=r"iou: expected a number above 0 and at most 1, found "):
            lesion_f1(VOLUME, VOLUME, iou=iou)
    for edges in ((), (0, 10), (10, 10), (100, 10), (math.nan,)):
        with pytest.raises(SettingsError, match=r"edges: expected ascending volumes above 0 mm³, found "):
            detection_by_size(VOLUME, VOLUME, spacing=(1, 1, 1), edges=edges)
    for spacing in ((1, 1), 1, (1, 1, 0), (1, -1, 1), (1, 1, math.nan), "mm", None):
        with pytest.raises(ArrayError, match=r"spacing: expected three edges of a voxel above 0 in mm, found "):
            detection_by_size(VOLUME, VOLUME, spacing=spacing)
    with pytest.raises(SettingsError, match=r"larger_than: expected a number of voxels >= 0, found -1"):
        segmentation.keep_large_components(VOLUME, larger_than=-1)


def test_a_rule_says_all_it_decides():
    assert str(LesionRule(0.5, 18, "many_to_many", "no_overlap")) == (
        "connectivity 18, IoU 0.5, many to many, missed: no overlap"
    )
