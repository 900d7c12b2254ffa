"""Systems' answers: constant velocity against a loop, plans against planning, and the official form."""

from __future__ import annotations

import math

import numpy as np
import pytest

from shiftbench.ensembles import Trajectories
from shiftbench.measures import uncertainty
from shiftbench.metrics import motion as metrics
from shiftbench.tracks.motion.baselines import answers, planning
from shiftbench.tracks.motion.baselines.answers import Prediction, constant_velocity, planned
from shiftbench.tracks.motion.baselines.presets import every_planner, planners
from shiftbench.tracks.motion.prepared.live import LiveStore
from shiftbench.tracks.motion.scenes.scene import scene_of, write_scene
from shiftbench.tracks.motion.submissions import scoring
from shiftbench.tracks.motion.submissions.submission import read_submission, write_submission
from shiftbench.tracks.motion.submissions.truth import truth_of_requests
from tests.tracks.motion import made_scene
from tests.tracks.motion.made_scene import GOLDEN, MADE


@pytest.fixture(scope="module")
def requests(tmp_path_factory):
    """The golden scenes, and two of a vehicle that goes straight on; in one of them it is not seen at T = 0."""
    folder = tmp_path_factory.mktemp("requests")
    for name in MADE:
        (folder / f"{name}.pb").write_bytes((GOLDEN / f"{name}.pb").read_bytes())
    write_scene(scene_of(made_scene.message(yaw=1.1, speed=4.0)), folder / "straight.pb")
    hidden = made_scene.message(yaw=-0.4, speed=6.0, absent=(22, 23, 24))
    hidden.id = "hidden"
    write_scene(scene_of(hidden), folder / "hidden.pb")
    return LiveStore.of(folder)


@pytest.fixture(scope="module")
def truth(requests):
    return truth_of_requests(requests.requests, requests.targets)


def some(rng, count, modes=3):
    weights = rng.random((count, modes))
    return Prediction(
        "made up", "ensemble", {"method": "none"}, rng.normal(0, 20, (count, modes, 25, 2)).astype(np.float32),
        weights / weights.sum(axis=1, keepdims=True), rng.random(count), measure="first",
        others={"more": rng.random(count)},
    )  # fmt: skip


def test_constant_velocity_goes_on_as_now(requests):
    found = constant_velocity(requests)
    assert (found.trajectories.shape, found.trajectories.dtype) == ((len(requests), 1, 25, 2), np.float32)
    assert (found.role, found.weights.tolist()) == ("baseline", [[1.0]] * len(requests))
    for place, row in enumerate(requests.requests.iter_rows(named=True)):
        scene = requests.scene(row["scene_id"])
        column = scene.vehicles.column(row["track_id"])
        last = max((step for step in range(25) if scene.vehicles.present[step, column]), default=None)
        east, north = (0.0, 0.0) if last is None else scene.vehicles.velocity[last, column, :2].tolist()
        cosine, sine = math.cos(row["heading"]), math.sin(row["heading"])
        ahead, left = cosine * east + sine * north, cosine * north - sine * east
        for step in range(25):
            seconds = (step + 1) / 5
            wanted = [ahead * seconds, left * seconds]
            assert found.trajectories[place, 0, step].tolist() == pytest.approx(wanted, abs=0.02)  # theirs are float32
        assert found.uncertainty[place] == pytest.approx(math.hypot(east, north), abs=5e-3)


def test_constant_velocity_is_right_about_a_vehicle_that_goes_straight_on(requests, truth):
    found = constant_velocity(requests)
    place = truth.scene_ids.tolist().index("made")
    errors = metrics.top1_ade(found.trajectories, found.weights, truth.targets)
    assert errors[place] == pytest.approx(0.0, abs=0.02)
    assert found.uncertainty[place] == pytest.approx(4.0, abs=5e-3)


def test_a_vehicle_that_is_not_seen_now_goes_on_as_it_was_last_seen(requests, truth):
    found = constant_velocity(requests)
    place = truth.scene_ids.tolist().index("hidden")
    assert found.uncertainty[place] == pytest.approx(6.0, abs=5e-3)
    assert found.trajectories[place, 0, -1].tolist() == pytest.approx([30.0, 0.0], abs=0.02)


def test_blocks_make_no_difference(requests, monkeypatch):
    whole = constant_velocity(requests)
    monkeypatch.setattr(answers, "BLOCK", 2)
    assert constant_velocity(requests).trajectories.tobytes() == whole.trajectories.tobytes()


@pytest.mark.parametrize("members", [1, 2, 5])
def test_systems_are_what_planning_makes_of_the_same_scores(rng, members):
    each = 3
    ensemble = Trajectories(
        rng.normal(size=(members, 6, each, 25, 2)), rng.normal(-40, 10, (members, 6, members * each))
    )
    trajectories, scores = ensemble.plans, ensemble.scores
    for system in (*planners("cloning", "BC", members), *every_planner("cloning", "BC", members)):
        chosen, weights, certain = planned(ensemble, system.settings(each))
        count, candidates = system.members, system.members * each
        of_these = planning.aggregate(scores[:count, :, :candidates], system.aggregation)
        for row in range(6):
            order = sorted(range(candidates), key=lambda plan, row=row: (-of_these[row, plan], plan))[:5]
            best = of_these[row, order]
            assert chosen[row].tobytes() == trajectories[row, order].tobytes()
            powers = np.exp(best - best.max())
            assert weights[row] == pytest.approx(powers / powers.sum(), rel=1e-9)
            again = planning.aggregate(best[:, None], system.aggregation)
            assert certain[row] == pytest.approx(-again[0], rel=1e-9)


def test_the_measure_of_plans_is_the_uncertainty_of_planning_by_the_model_average(rng):
    ensemble = Trajectories(rng.normal(size=(3, 40, 4, 25, 2)), rng.normal(-40, 10, (3, 40, 12)))
    expected = planned(ensemble, planning.Settings(plans_per_member=4))[2]
    np.testing.assert_array_equal(uncertainty(ensemble, "plan_nll"), expected)


def test_an_answer_is_the_submission_that_is_written(rng, truth, tmp_path):
    found = some(rng, len(truth))
    path = write_submission(found.submission(truth), tmp_path / "a.pb")
    again = read_submission(path)
    assert [again.name(place) for place in range(len(again))] == [truth.name(place) for place in range(len(truth))]
    assert again.counts.tolist() == [3] * len(truth)
    shape = found.trajectories.shape
    assert again.trajectories.reshape(shape) == pytest.approx(found.trajectories, rel=1e-6)
    assert again.weights.reshape(shape[:2]) == pytest.approx(found.weights, rel=1e-6)
    assert again.uncertainty == pytest.approx(found.uncertainty, rel=1e-6)


@pytest.mark.parametrize("error", ["cnll", "weighted_ade"])
def test_scores_and_measures_of_a_system_are_its_own(rng, truth, error):
    found = some(rng, len(truth))
    records, scored = scoring.records(truth, "more"), found.scored(truth, errors=[error])[error]
    own = getattr(metrics, error)(found.trajectories, found.weights, truth.targets)
    assert scored.errors == pytest.approx(own, rel=1e-9)
    assert (records.n, records.split, records.shifted) == (len(truth), "more", None)
    assert (scored.system.name, scored.system.role) == ("made up", "ensemble")
    assert scored.system.measures == ("first", "more")
    assert {name: values.tolist() for name, values in scored.uncertainty.items()} == {
        "first": found.uncertainty.tolist(), "more": found.others["more"].tolist(),
    }  # fmt: skip
    others = {"min_ade", "avg_fde", "top1_ade", "weighted_ade", "weighted_fde", "cnll"} - {error}
    assert others <= set(scored.means)
    assert error not in scored.means, "that is the mean error"


def test_a_part_of_an_answer_has_all_of_its_parts(rng):
    found = some(rng, 5)
    part = found.select([3, 0])
    assert part.uncertainty.tolist() == found.uncertainty[[3, 0]].tolist()
    assert part.others["more"].tolist() == found.others["more"][[3, 0]].tolist()
    assert part.trajectories.tobytes() == found.trajectories[[3, 0]].tobytes()
