"""What one patient adds, and the systems made of many: against the definitions, on volumes small enough to count."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest

from shiftbench.assessment.assess import Options, build
from shiftbench.metrics import segmentation
from shiftbench.scores.score import System
from shiftbench.tracks.lesions import evaluation, scoring
from shiftbench.tracks.lesions.patient import Patient
from shiftbench.tracks.lesions.prediction import Prediction
from shiftbench.tracks.lesions.scoring import Case, PatientScores, patient_scores
from shiftbench.tracks.lesions.volumes import Volumes

SHAPE = (12, 10, 8)
SPACING = np.array([1.0, 1.0, 1.0])


def lesions(*places: tuple[int, int, int]) -> np.ndarray:
    """A mask with a lesion of 27 voxels from each place on."""
    mask = np.zeros(SHAPE, dtype=bool)
    for x, y, z in places:
        mask[x : x + 3, y : y + 3, z : z + 3] = True
    return mask


TRUTH = lesions((1, 1, 1), (7, 5, 2))
CASE = Case(TRUTH, np.ones(SHAPE, dtype=bool), SPACING)


def members(*masks: np.ndarray) -> np.ndarray:
    return np.stack([np.where(mask, 0.9, 0.05) for mask in masks]).astype(np.float32)


def test_a_perfect_mask_has_perfect_scores():
    found = patient_scores(CASE, Prediction(TRUTH))
    assert [found.scores[name] for name in ("ndsc", "dsc", "lesion_f1", "hausdorff_95")] == [1, 1, 1, 0]
    assert found.uncertainty == {"": 0.0}
    assert found.members == ()


def test_lesions_are_counted_by_their_volume():
    found = patient_scores(CASE, Prediction(lesions((1, 1, 1))))
    assert found.amounts["lesion_detected_10_100"] == [1.0, 2.0]
    assert found.amounts["lesion_detected_0_10"] == [0.0, 0.0]


def test_every_rule_of_lesion_f1_stands_beside_the_published_one():
    found = patient_scores(CASE, Prediction(lesions((1, 1, 1), (1, 6, 4))))
    rules = {name: value for name, value in found.scores.items() if name.startswith("lesion_f1_")}
    assert len(rules) == 36
    assert found.scores["lesion_f1"] == rules["lesion_f1_06_25_published_below_iou"] == pytest.approx(0.5)


def test_the_uncertainty_of_a_patient_is_the_mean_overlap_that_members_lack():
    found = patient_scores(CASE, Prediction.of_members(members(TRUTH, TRUTH, lesions((1, 1, 1)))))
    assert found.uncertainty["patient_structural"] == pytest.approx(1 - np.mean([1, 1, 0.5]))
    assert [each.scores["dsc"] for each in found.members] == pytest.approx([1, 1, 2 * 27 / (27 + 54)])


def test_voxel_areas_lie_between_the_best_and_a_random_order():
    rng = np.random.default_rng(0)
    noisy = np.clip(0.2 + 0.5 * TRUTH + 0.2 * rng.normal(size=(3, *SHAPE)), 0, 1).astype(np.float32)
    found = patient_scores(CASE, Prediction.of_members(noisy)).scores
    measures = [name for name in found if name.startswith("ndsc_raac_")]
    assert len(measures) == 8
    assert all(found["ndsc_raac_optimal"] <= found[name] for name in measures)
    own = Prediction.of_members(noisy)
    assert found["ndsc_raac_epkl"] == pytest.approx(
        segmentation.ndsc_retention_area(TRUTH.ravel(), own.mask.ravel(), own.maps["epkl"].ravel())
    )


def test_a_measure_that_puts_false_alarms_first_gains_over_a_random_order():
    alarm = lesions((1, 1, 1), (1, 6, 4))
    found = patient_scores(CASE, Prediction.of_members(members(alarm, alarm, lesions((1, 1, 1)))))
    assert found.scores["lppv_gain_lesion_structural"] > 0
    assert found.scores["lppv_aac_lesion_structural"] == pytest.approx(found.scores["lppv_aac_optimal"])


def test_patients_without_lesions_or_predictions_are_counted():
    nothing, empty = np.zeros(SHAPE, dtype=bool), Case(np.zeros(SHAPE, dtype=bool), CASE.brain, SPACING)
    every = [
        patient_scores(case, Prediction.of_members(members(mask, mask, mask)))
        for case, mask in ((CASE, TRUTH), (CASE, nothing), (empty, nothing), (empty, TRUTH))
    ]
    assert len({frozenset(each.scores) for each in every}) == 1  # so that no metric is lost for all
    found = scoring.scored(System("ours", "model"), every, np.ones(len(every)))
    assert found.errors.tolist() == [0, 1, 0, 1]
    assert all(np.isfinite(values).all() for values in found.means.values())


def test_a_system_lacks_what_one_of_its_patients_lacks():
    both = [patient_scores(CASE, Prediction(TRUTH)), patient_scores(CASE, Prediction.of_probability(members(TRUTH)[0]))]
    found = scoring.scored(System("mixed", "model"), both, np.ones(len(both)))
    assert found.measure == ""
    assert list(found.uncertainty) == [""]
    assert "ndsc_raac_random" not in found.means


def test_scores_survive_a_file():
    found = patient_scores(CASE, Prediction.of_members(members(TRUTH, lesions((1, 1, 1)))))
    assert PatientScores.from_dict(asdict(found)) == found


def test_slices_group_by_columns_age_and_load():
    columns = {"site": ["a", "b", "a"], "age": [25, "", 44.5], "id": list("xyz"), "constant": [1, 1, 1]}
    found = evaluation.slices(columns, np.array([1.0, 5.0, 80.0]))
    assert set(found) == {"site", "age", "id", "lesion load"}
    assert found["age"].tolist() == ["below 30 years", "unknown", "from 40 to 50 years"]
    assert found["lesion load"].tolist() == ["below 5 ml", "from 5 to 15 ml", "15 ml or more"]


@pytest.mark.parametrize(("side", "kept"), [(1.0, 10), (2.0, 2), (4.0, 1)])
def test_components_of_9_cubic_millimetres_or_less_are_removed_whatever_the_voxels(side: float, kept: int) -> None:
    mask = np.zeros((12, 3, 3), dtype=bool)
    for voxels, removed in ((kept, False), (kept - 1, True)):
        mask[:] = False
        mask[:voxels, 1, 1] = True
        found = Prediction.of_probability(mask.astype(np.float32), spacing=(side,) * 3)
        assert found.mask.any() == (voxels > 0 and not removed)


def test_curves_of_voxels_end_at_the_score_and_give_the_area_of_their_report():
    predictions = [Prediction.of_members(members(TRUTH, lesions(each))) for each in ((1, 1, 1), (7, 5, 2), (1, 6, 4))]
    patients = [patient_scores(CASE, each) for each in predictions]
    volumes = Volumes(tuple(Patient(str(k), "s", "eval_in", {}) for k in range(3)))
    loads = np.array([1.0, 3.0, 2.0])
    found = scoring.scored(System("mine", "ensemble"), patients, loads)
    report = build([(evaluation.records(volumes, "all", loads), [found])], Options())
    curves = {(each.system, each.order): each for each in report.curves if each.kind == scoring.VOXELS}
    assert {system for system, _ in curves} == {"mine", "mine (single)"}
    own = curves["mine", "uncertainty"]
    assert (own.x[0], own.y[0]) == (0, 1)
    assert own.y[-1] == pytest.approx(np.mean([segmentation.ndsc(TRUTH, each.mask) for each in predictions]), abs=1e-6)
    area = np.mean([each.scores["ndsc_raac_reverse_mutual_information"] for each in patients])
    assert 1 - np.trapezoid(own.y, own.x) == pytest.approx(area, abs=0.01)
    (points,) = [each for each in report.curves if each.kind == "ndsc_by_load"]
    assert (points.system, points.order, points.x) == ("mine", "", (1, 3, 2))
    assert points.y == pytest.approx([each.scores["ndsc"] for each in patients])


def test_the_lesion_load_is_one_column_of_the_records():
    patients = tuple(Patient(str(k), "s", "eval_in", {}, {"age": 40 + k, "load_ml": 2.5}) for k in range(3))
    source = evaluation.records(Volumes(patients), "eval", np.ones(3)).source
    assert source is not None
    assert {"age", evaluation.LOAD} <= {*source.frame.columns}
    assert "load_ml" not in source.frame.columns


def test_systems_without_uncertainty_keep_their_points():
    volumes = Volumes(tuple(Patient(str(k), "s", "eval_in", {}) for k in range(2)))
    found = scoring.scored(System("mask", "model"), [patient_scores(CASE, Prediction(TRUTH))] * 2, np.ones(2))
    report = build([(evaluation.records(volumes, "all", np.ones(2)), [found])], Options())
    assert {each.kind for each in report.curves} == {"ndsc_by_load", "dsc_by_load"}
