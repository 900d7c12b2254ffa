"""Names of scores that are too many to be listed: each says what it is, and says it back."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.metrics.segmentation import LesionRule, detection_by_size, lesion_f1, lesion_table
from shiftbench.metrics.segmentation.scores import detected_amounts, detected_name, f1_name, f1_scores, named
from shiftbench.scores.metric import METRICS, in_order
from tests.metrics.segmentation.golden import volume


def test_every_rule_has_a_name_and_its_metric_names_the_rule():
    truth, answer, *_ = volume("s2")
    found = f1_scores(lesion_table(truth, answer))
    assert len(found) == 36
    assert found["lesion_f1_06_25_published_below_iou"] == lesion_f1(truth, answer)
    assert [METRICS[name].row for name in found] == [str(entry.rule) for entry in lesion_table(truth, answer)]
    rule = LesionRule(0.125, 18, "one_to_one", "no_overlap")
    assert f1_name(rule) == "lesion_f1_18_12.5_one_to_one_no_overlap"
    assert METRICS[f1_name(rule)].row == str(rule)


def test_classes_of_sizes_pool_the_lesions_of_all_records():
    records = [detected_amounts(detection_by_size(*volume(case)[:2], spacing=(1, 1, 1))) for case in ("s0", "s2", "s5")]
    assert list(records[0]) == ["lesion_detected_0_10", "lesion_detected_10_100", "lesion_detected_100_inf"]
    for name in records[0]:
        sums = np.sum([record[name] for record in records], axis=0)
        share = METRICS[name].of_sums(sums[None], sums)
        assert share == pytest.approx(sums[0] / sums[1], nan_ok=True) if sums[1] else np.isnan(share)
    assert [METRICS[name].row for name in records[0]] == ["below 10 mm³", "10 to 100 mm³", "above 100 mm³"]


def test_reports_show_sizes_from_small_to_large_and_connectivities_from_few_to_many():
    sizes = [detected_name(0, 10), detected_name(10, 100), detected_name(100, 1000), detected_name(1000, np.inf)]
    assert [name for name in in_order(sizes[::-1]) if name in sizes] == sizes
    rules = [f1_name(LesionRule(connectivity=each)) for each in (6, 18, 26)]
    assert in_order(rules[::-1]) == rules


def test_areas_are_named_after_their_measure_which_may_be_a_users_own():
    assert METRICS["ndsc_raac_entropy_of_expected"].row == "Entropy of expected"
    assert METRICS["dsc_raac_random"].row == "Random order"
    assert METRICS["ndsc_raac_their_map"].row == "Their map"
    assert METRICS["dsc_raac_random"].title == "DSC R-AAC"


@pytest.mark.parametrize(
    "name",
    [
        "ndsc_raac_",
        "lesion_f1_6_25_published_below_iou",
        "lesion_f1_06_25_published",
        "lesion_f1_06_0_published_below_iou",
        "lesion_f1_06_101_published_below_iou",
        "lesion_f1_06_025_published_below_iou",
        "lesion_f1_07_25_published_below_iou",
        "lesion_f1_06_x_published_below_iou",
        "lesion_detected_10",
        "lesion_detected_100_10",
        "lesion_detected_-1_10",
        "lesion_detected_nan_10",
        "lesion_detected_010_100",
    ],
)
def test_other_names_are_no_metrics(name):
    assert named(name) is None
    assert name not in METRICS


def test_limits_of_sizes_are_written_in_one_way():
    assert named(detected_name(0.0, 2.5)).row == "below 2.5 mm³"
