"""Submissions of others against prepared data, scenes and files of the ground truth: the same numbers, all problems."""

from __future__ import annotations

import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import PredictionsError, ShiftbenchError, TableError
from shiftbench.io import files
from shiftbench.metrics import motion as metrics
from shiftbench.track import RunOptions, Task, assessing
from shiftbench.tracks.motion.definition import TRACK
from shiftbench.tracks.motion.prepared import preparation
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.motion.submissions.submission import write_submission
from shiftbench.tracks.motion.submissions.submitted import Submission
from tests.tracks.motion import made_parts

CNLL, ADE = Task("cnll", "cNLL", "trajectories", "nats", 25.0), Task("weighted_ade", "weightedADE", "trajectories", "m")
OPTIONS = RunOptions("quick", replicates=20)
SUBSETS = ("in", "shifted", "full")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder of scenes, and what is prepared of it."""
    folder = tmp_path_factory.mktemp("assessing")
    made_parts.write(folder / "source")
    preparation.prepare(folder / "source", folder / "prepared", executor="serial")
    return folder


def guess(store: Store, rng: np.random.Generator, *, kept=slice(None)) -> Submission:
    """Two modes about the truth for the evaluated requests, in another order."""
    part = store.select(np.flatnonzero(store.requests["partition"] != "train")[::-1][kept])
    modes = part.targets[:, None] + rng.normal(0, 0.5, (len(part), 2, 1, 2))
    ids = (part.requests["scene_id"].to_numpy().astype(object), part.requests["track_id"].to_numpy())
    return Submission.of(ids, modes, np.tile([0.75, 0.25], (len(part), 1)), rng.random(len(part)))


def assess(data, given, task=CNLL):
    return result(data, given, task).report


def result(data, given, task):
    (found,) = assessing.assess(TRACK, given, data, [task], OPTIONS, cores=1)
    return found


def test_every_split_with_predictions_is_scored_whatever_their_order(made, rng, tmp_path):
    store = Store.open(made / "prepared")
    one = guess(store, rng)
    report = assess(made / "prepared", {"mine": write_submission(one, tmp_path / "mine.pb")})
    assert report.splits == ("dev", "eval")
    for split in report.splits:
        part = store.select(store.requests["partition"].str.starts_with(split).to_numpy())
        place = {one.name(row): row for row in range(len(one))}
        rows = [place[name] for name in part.requests["id"]]
        modes = one.trajectories.reshape(len(one), 2, 25, 2)[rows]
        own = metrics.cnll(modes.astype(np.float64), np.tile([0.75, 0.25], (len(rows), 1)), part.targets)
        said = report.score("mean_error", system="mine", split=split, subset="full")
        assert said.value == pytest.approx(own.mean(), rel=1e-4)
        assert said.n == len(part)


def test_scenes_and_a_file_of_the_ground_truth_give_what_prepared_data_give(made, rng, tmp_path):
    store = Store.open(made / "prepared")
    part = store.select(store.requests["partition"].str.starts_with("eval").to_numpy())
    one = guess(store, rng)
    mine = {"mine": write_submission(one.select(_rows(one, part)), tmp_path / "mine.parquet")}
    ids = (part.requests["scene_id"].to_numpy().astype(object), part.requests["track_id"].to_numpy())
    shifted = part.requests["shifted"].to_numpy()
    truth = Submission.of(ids, part.targets[:, None], np.ones((len(part), 1)), np.zeros(len(part)), is_ood=shifted)
    for file in part.requests["file"]:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(made / "source" / file, tmp_path / file)
    reports = {
        "eval": assess(made / "prepared", mine, ADE),
        "a file": assess(write_submission(truth, tmp_path / "truth.pb"), mine, ADE),
        "scenes": assess(tmp_path / "eval", mine, ADE),
    }
    values = [
        [report.score("mean_error", system="mine", split=report.splits[0], subset=name).value for name in SUBSETS]
        for report in reports.values()
    ]
    assert values[0] == pytest.approx(values[1], rel=1e-6)
    assert values[0] == pytest.approx(values[2], rel=1e-6)


def _rows(one: Submission, part: Store) -> list[int]:
    place = {one.name(row): row for row in range(len(one))}
    return [place[name] for name in part.requests["id"]]


def test_several_submissions_stand_beside_each_other(made, rng, tmp_path):
    store = Store.open(made / "prepared")
    one = guess(store, rng)
    worse = replace(one, trajectories=one.trajectories + np.float32(3))
    given = {name: write_submission(each, tmp_path / f"{name}.pb") for name, each in (("a", one), ("b", worse))}
    report = assess(made / "prepared", given)
    assert [system.name for system in report.systems] == ["a", "b"]
    scores = [report.score("mean_error", system=name, split="eval", subset="full").value for name in "ab"]
    assert scores[0] < scores[1]
    assert len(report.comparisons) > 0


def test_missing_and_surplus_predictions_are_named_with_their_file(made, rng, tmp_path):
    store = Store.open(made / "prepared")
    short = write_submission(guess(store, rng, kept=slice(1, None)), tmp_path / "short.pb")
    with pytest.raises(PredictionsError, match=r"short\.pb: expected a prediction for each request, found none for"):
        assess(made / "prepared", {"short": short})
    one = guess(store, rng, kept=slice(0, 1))
    foreign = replace(one, scene_ids=np.array(["elsewhere"], dtype=object))
    with pytest.raises(PredictionsError, match=r"expected predictions for requests of .*, found none"):
        assess(made / "prepared", {"f": write_submission(foreign, tmp_path / "f.pb")})
    with pytest.raises(PredictionsError, match=r"found none.*train: not scored.*name .*train as the data"):
        assess(made / "source", {"f": tmp_path / "f.pb"})
    with pytest.raises(TableError, match="expected prepared data, scenes or a file of the ground truth, found nothing"):
        assess(tmp_path / "nowhere", {"short": short})


def test_what_is_wrong_with_data_and_with_every_file_is_told_together(made, rng, tmp_path):
    store = Store.open(made / "prepared")
    one = guess(store, rng)
    given = {}
    for name, field in (("a", "uncertainty"), ("b", "weights")):
        frame = pl.read_parquet(write_submission(one, tmp_path / f"{name}.parquet"))
        places = pl.int_range(pl.len())
        spoilt = frame.with_columns(
            pl.when(places == 0).then(None).otherwise(pl.col(field)).alias(field),
            pl.when(places == 1).then(pl.lit("elsewhere")).otherwise(pl.col("scene_id")).alias("scene_id"),
        )
        spoilt.write_parquet(tmp_path / f"{name}.parquet")
        given[name] = tmp_path / f"{name}.parquet"
    with pytest.raises(PredictionsError, match=r"a\.parquet: uncertainty: expected finite numbers") as caught:
        assess(made / "prepared", given)
    told = caught.value.problems
    assert any("b.parquet: weights: expected one for each mode, found 0 for 2" in each for each in told)
    for name in given:
        assert any(f"{name}.parquet: expected scenes of the ground truth, found 1 other (else" in each for each in told)
        assert any(f"{name}.parquet: expected a prediction for each request, found none" in each for each in told)
    (tmp_path / "scenes").mkdir()
    (tmp_path / "scenes/broken.pb").write_bytes(b"\x0a")
    with pytest.raises(ShiftbenchError, match=r"broken\.pb: expected one serialised Scene") as both:
        assess(tmp_path / "scenes", given)
    assert {name for name in given for each in both.value.problems if f"{name}.parquet" in each} == {"a", "b"}


def test_predictions_in_another_frame_or_unit_are_doubted(made, rng, tmp_path):
    one = guess(Store.open(made / "prepared"), rng)
    far = replace(one, trajectories=one.trajectories + np.float32(10_000))
    given = {name: write_submission(each, tmp_path / f"{name}.pb") for name, each in (("right", one), ("world", far))}
    report = assess(made / "prepared", given)
    doubts = [text for text in report.warnings if "agent's frame" in text]
    assert [text.split(":")[0] for text in doubts] == ["world, dev", "world, eval"]
    assert "are more than 30 m off (median 14,142 m). Are they in the agent's frame, in metres" in doubts[0]


def test_a_split_without_predictions_is_named_in_the_report_and_its_recipe(made, rng, tmp_path):
    store = Store.open(made / "prepared")
    one, part = guess(store, rng), store.select(store.requests["partition"].str.starts_with("eval").to_numpy())
    mine = {"mine": write_submission(one.select(_rows(one, part)), tmp_path / "mine.pb")}
    count = len(store.select(store.requests["partition"].str.starts_with("dev").to_numpy()))
    report = assess(made / "prepared", mine)
    assert report.splits == ("eval",)
    assert f"dev: not scored, since there is no prediction for any of its {count:,} requests" in report.warnings
    told = report.recipe["partition"]
    assert (told["counts"], told["not_scored"]) == ({"eval": len(part)}, {"dev": count})
    assert told["unused"] == store.manifest["unused"]


def test_the_recipe_tells_files_of_one_name_apart_and_which_requests_were_scored(made, rng, tmp_path):
    one = guess(Store.open(made / "prepared"), rng)
    given = {}
    for name, uncertainty in (("a", one.uncertainty), ("b", -one.uncertainty)):
        (tmp_path / name).mkdir()
        given[name] = write_submission(replace(one, uncertainty=uncertainty), tmp_path / name / "same.pb")
    recipe = assess(made / "prepared", given).recipe
    assert [recipe["systems"][name] for name in "ab"] == [
        {"file": "same.pb", "sha256": files.sha256(path)} for path in given.values()
    ]
    ids = assess(made / "prepared", given, ADE).recipe["partition"]["ids"]
    assert ids == recipe["partition"]["ids"]
    assert len(set(ids.values())) == 2


def test_a_report_on_scenes_shows_requests_to_look_at_and_one_on_a_file_says_why_not(made, rng, tmp_path):
    store = Store.open(made / "prepared")
    given = {"mine": write_submission(guess(store, rng), tmp_path / "mine.pb")}
    found = result(made / "prepared", given, ADE)
    kinds = {picture.name.removeprefix("eval-mine-") for picture in found.pictures}
    assert {"largest_errors", "least_certain"} <= kinds <= {"largest_errors", "least_certain", "confidently_wrong"}
    assert all("weightedADE" in picture.caption for picture in found.pictures)
    part = store.select(store.requests["partition"].str.starts_with("eval").to_numpy())
    ids = (part.requests["scene_id"].to_numpy().astype(object), part.requests["track_id"].to_numpy())
    truth = Submission.of(ids, part.targets[:, None], np.ones((len(part), 1)), np.zeros(len(part)))
    write_submission(truth, tmp_path / "truth.pb")
    bare = result(tmp_path / "truth.pb", {"same": tmp_path / "truth.pb"}, ADE)
    assert not bare.pictures
    assert any("no pictures of requests: truth.pb has no scenes" in warning for warning in bare.report.warnings)


def test_scenes_that_are_gone_cost_their_pictures_only(made, rng, tmp_path):
    shutil.copytree(made / "source", tmp_path / "source")
    preparation.prepare(tmp_path / "source", tmp_path / "prepared", executor="serial")
    given = {"mine": write_submission(guess(Store.open(tmp_path / "prepared"), rng), tmp_path / "mine.pb")}
    shutil.rmtree(tmp_path / "source")
    found = result(tmp_path / "prepared", given, CNLL)
    assert not found.pictures
    assert any("eval: no pictures of requests" in warning for warning in found.report.warnings)
