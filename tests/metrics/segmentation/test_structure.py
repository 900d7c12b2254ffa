"""Retention over lesions and over patients: against slow twins, all orders, and what published code computes."""

from __future__ import annotations

from functools import partial
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import hypergeom

from shiftbench.components import components, keep_large_components, large_components
from shiftbench.ensembles import Masks
from shiftbench.ensembles.structure import disagreement
from shiftbench.errors import ArrayError
from shiftbench.measures import uncertainty
from shiftbench.measures.masks import VOXEL_MEASURES, voxel_map
from shiftbench.metrics.segmentation import lesion_counts, structure
from shiftbench.metrics.segmentation.structure import (
    lesion_log_sums,
    lesion_means,
    lf1_gain,
    lf1_retention,
    lf1_retention_area,
    lppv_gain,
    lppv_retention,
    lppv_retention_area,
    summed_labels,
)
from shiftbench.scores.metric import METRICS, in_order
from shiftbench.scores.retention import error_retention, r_auc


def slow_curve(types: list[str], missed: float, weight: float, undefined: float = 0.0) -> np.ndarray:
    """The curve of lesions in order of certainty, rejecting one after the other from the end."""
    types, values = list(types), []
    for rejected in range(len(types) + 1):
        if rejected and types[-rejected] == "fp":
            types[-rejected] = "tn"
        right, false = types.count("tp"), types.count("fp")
        below = right + weight * (false + missed)
        values.append(right / below if below else undefined)
    return np.array(values[::-1])


def some(rng: np.random.Generator, lesions: int, share: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    return rng.random(lesions) < share, rng.random(lesions)


def types_of(true: np.ndarray, order: np.ndarray) -> list[str]:
    return ["tp" if true[k] else "fp" for k in order]


def test_curves_are_those_of_rejecting_one_lesion_after_the_other(rng):
    for lesions in (1, 2, 7, 40):
        for share in (0.0, 0.3, 0.7, 1.0):
            true, uncertainty = some(rng, lesions, share)
            types = types_of(true, np.argsort(uncertainty))
            for undefined in (0.0, 1.0):
                found = lppv_retention(true, uncertainty, undefined=undefined)
                np.testing.assert_allclose(found, slow_curve(types, 0, 1.0, undefined), rtol=1e-13)
                for missed in (0, 3):
                    found = lf1_retention(true, uncertainty, missed=missed, undefined=undefined)
                    np.testing.assert_allclose(found, slow_curve(types, missed, 0.5, undefined), rtol=1e-13)


def test_a_tie_counts_as_the_mean_over_all_its_orders(rng):
    for _ in range(20):
        true = rng.random(6) < 0.5
        uncertainty = rng.integers(0, 3, 6).astype(float)
        orders = [o for o in map(list, permutations(range(6))) if (np.diff(uncertainty[o]) >= 0).all()]
        types = [types_of(true, np.array(order)) for order in orders]
        expected = np.mean([slow_curve(each, 0, 1.0) for each in types], axis=0)
        np.testing.assert_allclose(lppv_retention(true, uncertainty), expected, rtol=1e-12)
        expected = np.mean([slow_curve(each, 2, 0.5) for each in types], axis=0)
        np.testing.assert_allclose(lf1_retention(true, uncertainty, missed=2), expected, rtol=1e-12)


def test_equal_uncertainties_are_a_random_order_and_the_false_ones_last_the_best(rng):
    for _ in range(5):
        true = rng.random(6) < 0.5
        areas = [lppv_retention_area(true, np.argsort(order)) for order in permutations(range(6))]
        assert lppv_retention_area(true, np.zeros(6)) == pytest.approx(np.mean(areas))
        assert lppv_retention_area(true, ~true) == pytest.approx(min(areas))
        assert lppv_retention_area(true, true) == pytest.approx(max(areas))
        areas = [lf1_retention_area(true, np.argsort(order), missed=1) for order in permutations(range(6))]
        assert lf1_retention_area(true, np.zeros(6), missed=1) == pytest.approx(np.mean(areas))
        assert lf1_retention_area(true, ~true, missed=1) == pytest.approx(min(areas))


def test_many_lesions_in_random_order_cost_what_orders_drawn_at_random_cost(rng):
    true, _ = some(rng, 400, 0.6)
    drawn = [lppv_retention_area(true, rng.random(400)) for _ in range(300)]
    found = lppv_retention_area(true, np.zeros(400))
    assert abs(found - np.mean(drawn)) < 4 * np.std(drawn) / np.sqrt(300)


@pytest.mark.parametrize(("right", "false"), [(1, 3), (30, 570), (3, 600), (570, 30)])
def test_random_orders_of_many_lesions_are_drawn_without_replacement(right, false):
    size = right + false
    curve = lppv_retention(np.arange(size) < right, np.zeros(size))
    for retained in (0, 1, size // 3, size - 1, size):
        wrong = np.arange(false + 1)
        chances = hypergeom.pmf(wrong, size, false, retained)
        assert curve[retained] == pytest.approx(chances @ (right / (right + wrong)), rel=1e-9)


def test_areas_are_those_of_the_published_interpolation_up_to_its_grid(rng):
    """It reads the line through the points at 400 even shares, which are not the points themselves."""
    shares = np.linspace(0.0, 1.0, 400)
    for lesions in (5, 60):
        true, uncertainty = some(rng, lesions)
        curve = lppv_retention(true, uncertainty)
        published = 1 - np.trapezoid(np.interp(shares, np.arange(lesions + 1) / lesions, curve), shares)
        assert lppv_retention_area(true, uncertainty) == pytest.approx(published, abs=2e-4)


def test_a_gain_is_what_a_measure_saves_over_a_random_order(rng):
    true, noise = some(rng, 30)
    good = ~true + 1.7 * noise
    for gain, options in ((lppv_gain, {}), (lf1_gain, {"missed": 4})):
        assert gain(true, ~true, **options) > gain(true, good, **options) > 0 > gain(true, -good, **options)
        assert gain(true, np.full(30, 0.2), **options) == 0
        for all_alike in (np.zeros(30, bool), np.ones(30, bool)):
            assert gain(all_alike, noise, **options) == 0
        assert gain([], [], **options) == 0


def test_without_true_lesions_the_value_of_0_over_0_is_named():
    """The earliest published code takes 0 for the LPPV without any lesion, a later one 1."""
    false = np.zeros(4, bool)
    assert lppv_retention_area(false, np.arange(4)) == 1.0
    assert lppv_retention(false, np.arange(4), undefined=1).tolist() == [1, 0, 0, 0, 0]
    assert lppv_retention_area(false, np.arange(4), undefined=1) == 1 - 1 / 8
    assert lppv_retention_area([], []) == 1.0
    assert lppv_retention_area([], [], undefined=1) == 0.0
    assert lf1_retention_area(false, np.arange(4), missed=0) == 1.0
    assert lf1_retention_area(false, np.arange(4), missed=0, undefined=1) == 1 - 1 / 8
    nothing = np.zeros((3, 3, 3), bool)
    assert lf1_retention([], [], missed=0, undefined=1).tolist() == [lesion_counts(nothing, nothing).f1] == [1.0]
    assert lf1_retention([], [], missed=3, undefined=1).tolist() == [0.0]


def test_curves_end_at_the_precision_and_the_f1_of_the_lesions_that_were_counted(rng):
    for _ in range(10):
        truth, answer = rng.random((2, 9, 8, 7)) < 0.2
        answer |= truth & (rng.random((9, 8, 7)) < 0.8)
        counts = lesion_counts(truth, answer, iou=0.25, missed="no_overlap")
        uncertainty = rng.random(counts.predicted)
        assert lppv_retention(counts.matches, uncertainty)[-1] == pytest.approx(counts.precision)
        assert lf1_retention(counts.matches, uncertainty, missed=counts.missed)[-1] == pytest.approx(counts.f1)


def test_views_and_counts_number_the_same_lesions(rng):
    volume, rule = rng.random((3, 9, 8, 7), dtype=np.float32), {"larger_than": 1, "connectivity": 18}
    lesions = Masks(volume.reshape(3, -1), [[9, 8, 7]]).lesions(threshold=0.7, **rule)
    answer = keep_large_components(volume.mean(axis=0) >= 0.7, **rule)
    labels, number = components(answer, 18)
    assert lesions.records == number == lesion_counts(answer, answer, connectivity=18).predicted > 3
    np.testing.assert_array_equal(labels.ravel()[lesions.positions], np.repeat(np.arange(number) + 1, lesions.voxels))


def test_stored_maps_have_the_means_and_log_sums_of_the_measures(rng):
    volume = rng.random((3, 9, 8, 7), dtype=np.float32)
    masks = Masks(volume.reshape(3, -1), [[9, 8, 7]])
    lesions = masks.lesions(threshold=0.6, larger_than=2)
    labels, _ = large_components(volume.mean(axis=0, dtype=np.float64) >= 0.6, larger_than=2)
    for name in VOXEL_MEASURES:
        values = voxel_map(masks, name).reshape(9, 8, 7)
        np.testing.assert_allclose(lesion_means(labels, values), uncertainty(lesions, f"lesion_mean_{name}"))
        if name != "negated_confidence":
            found = lesion_log_sums(labels, values)
            np.testing.assert_allclose(found, uncertainty(lesions, f"lesion_log_sum_{name}"))
    assert lesion_means(labels * 0, values).shape == lesion_log_sums(labels * 0, -values).shape == (0,)
    with pytest.raises(ArrayError, match="values: expected uncertainties >= 0, which have a logarithm, found -"):
        lesion_log_sums(labels, -values)
    assert lesion_log_sums([0, 1, 1], np.float32([-1, 0, -1e-8])) == pytest.approx(2 * np.log(1e-10))
    with pytest.raises(ArrayError, match=r"values: expected the shape of the labels, \(9, 8, 7\), found \(9, 8\)"):
        lesion_means(labels, values[..., 0])
    with pytest.raises(ArrayError, match="values: expected finite numbers, found NaN"):
        lesion_means(labels, values * np.nan)


def test_the_count_of_missed_lesions_of_the_follow_up_code_sums_their_labels():
    """Ten true lesions, eight found and nothing else: lesion F1 0.889, and 0.457 by the sum of the labels 9 and 10."""
    detected = np.arange(10) < 8
    found = np.ones(8, bool)
    assert (np.count_nonzero(~detected), summed_labels(detected), summed_labels(detected[::-1])) == (2, 19, 3)
    (right,) = set(lf1_retention(found, np.arange(8), missed=2))
    (wrong,) = set(lf1_retention(found, np.arange(8), missed=summed_labels(detected)))
    (turned,) = set(lf1_retention(found, np.arange(8), missed=summed_labels(detected[::-1])))
    assert (right, wrong, turned) == pytest.approx((8 / 9, 8 / 17.5, 8 / 9.5))
    assert summed_labels(np.ones(5, bool)) == summed_labels([]) == 0


def test_retention_of_patients_is_the_exact_r_auc_of_one_minus_the_score(rng):
    """Rejected patients score 1, N + 1 points, trapezoid: a retention curve turned upside down, under rule exact."""
    scores, uncertainty = rng.random(33), rng.random(33)
    order, points = np.argsort(-uncertainty), [scores.mean()]
    for rejected in range(1, 34):
        kept = np.where(np.isin(np.arange(33), order[:rejected]), 1.0, scores)
        points.append(kept.mean())
    curve = np.array(points[::-1])
    np.testing.assert_allclose(curve, 1 - error_retention(1 - scores, uncertainty))
    above = 1 - np.trapezoid(curve, np.linspace(0, 1, 34))
    assert r_auc(1 - scores, uncertainty, rule="exact") == pytest.approx(above, rel=1e-12)
    # The mean of the N + 1 points, as in the Shifts papers, weighs both ends as much as the other points.
    published = (33 * above + (1 - scores.mean()) / 2) / 34
    assert r_auc(1 - scores, uncertainty, rule="published") == pytest.approx(published, rel=1e-12)


# --- metrics ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "better", "row"),
    [
        ("lppv_aac_lesion_structural", "min", "Structural, of lesions (LSU)"),
        ("lf1_aac_lesion_mean_entropy_of_expected", "min", "Entropy of expected, mean over a lesion"),
        ("lf1_aac_random", "min", "Random order"),
        ("lppv_aac_optimal", "min", "Optimal order"),
        ("lppv_gain_lesion_structural_tuned", "max", "Structural, of lesions, tuned (LSU+)"),
        ("lf1_gain_lesion_log_sum_epkl", "max", "EPKL, log-sum over a lesion"),
    ],
)
def test_each_measure_of_lesions_has_its_metrics(name, better, row):
    metric = METRICS[name]
    assert (metric.name, metric.better, metric.row, metric.table) == (name, better, row, "within")
    assert (metric.least, metric.most) == ((0, 1) if better == "min" else (-1, 1))
    assert metric.parts == "predicted lesions"
    assert name not in METRICS.names()
    assert all((metric.title, metric.formula, metric.source))


def test_other_names_are_no_metrics():
    for name in (
        "lppv_aac_voxel_entropy", "lppv_aac_patient_structural", "lppv_aac_", "lppv_aac", "lppv", "lf1_area_random",
        "dsc_aac_lesion_structural", "lppv_gain_nothing",
    ):  # fmt: skip
        assert METRICS.get(name) is None


def test_metrics_of_a_family_without_levels_stand_in_the_order_of_their_names():
    names = ["lppv_aac_random", "lf1_aac_lesion_structural", "coverage_80", "lppv_aac_lesion_structural", "rmse"]
    expected = ["rmse", "coverage_80", "lf1_aac_lesion_structural", "lppv_aac_lesion_structural", "lppv_aac_random"]
    assert in_order(names) == in_order(names[::-1]) == expected


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("true", "uncertainty", "message"),
    [
        ([1, 0], [0.1], "uncertainty: expected 2 records like the others, found 1"),
        ([1, 0], [0.1, np.nan], "uncertainty: expected finite numbers, found NaN"),
        ([1, 0.5], [0.1, 0.2], r"true: expected only 0 and 1, found 0\.5"),
        ([], [0.1], r"uncertainty: expected 0 records like the others, found 1"),
        ([[1, 0]], [0.1, 0.2], r"true: expected .*, found (shape )?\(1, 2\)"),
    ],
)
def test_lesions_that_do_not_fit_are_refused(true, uncertainty, message):
    for act in (lppv_retention, lppv_retention_area, lppv_gain):
        with pytest.raises(ArrayError, match=message):
            act(true, uncertainty)
    for act in (lf1_retention, lf1_retention_area, lf1_gain):
        with pytest.raises(ArrayError, match=message):
            act(true, uncertainty, missed=1)


def test_other_values_of_0_over_0_and_negative_counts_are_refused():
    for act in (lppv_retention, partial(lf1_retention, missed=1)):
        with pytest.raises(ArrayError, match=r"undefined: expected 0 or 1, the value of 0/0, found 0\.5"):
            act([1], [0.1], undefined=0.5)
    for missed in (-1, np.nan, np.inf):
        with pytest.raises(ArrayError, match="missed: expected a number of lesions >= 0, found"):
            lf1_retention([1], [0.1], missed=missed)
    assert (
        structure.lesion_overlaps.__module__
        == structure.patient_overlaps.__module__
        == "shiftbench.ensembles.structure"
    )


def test_lesions_with_the_same_voxels_in_another_order_are_ties():
    rng = np.random.default_rng(0)
    values = rng.random(50)
    labels = np.repeat([1, 2], 50).reshape(4, 5, 5)
    both = np.concatenate([values, rng.permutation(values)]).reshape(4, 5, 5)
    for found in (structure.lesion_means(labels, both), structure.lesion_log_sums(labels, both)):
        assert found[0] == found[1]


def test_structural_uncertainty_does_not_depend_on_the_order_of_members():
    overlaps = np.array([[1 / 3, 1.0], [1.0, 1.0], [1.0, 1 / 3]])
    assert len(set(disagreement(overlaps).tolist())) == 1
