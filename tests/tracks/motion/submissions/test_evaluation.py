"""What submissions are held against: which requests are scored, which are left out, and what is said of that."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from shiftbench.errors import PredictionsError, ShiftbenchError, TableError
from shiftbench.tracks.motion.prepared import preparation
from shiftbench.tracks.motion.prepared.live import LiveStore
from shiftbench.tracks.motion.prepared.request_table import NO_FUTURE, NO_PAST
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.motion.scenes.scene import scene_of, write_scene
from shiftbench.tracks.motion.submissions.evaluation import evaluation
from shiftbench.tracks.motion.submissions.submission import write_submission
from shiftbench.tracks.motion.submissions.submitted import Submission
from tests.tracks.motion import made_parts

UNKNOWN = "eval/c.pb"  # its precipitation: in no partition of prepared data


@pytest.fixture
def source(tmp_path):
    places = {name: where for name, where in made_parts.PLACES.items() if name != UNKNOWN}
    return made_parts.write(tmp_path / "source", places, tags=False)


def names(truth):
    return [truth.name(row) for row in range(len(truth))]


def test_scenes_of_several_parts_are_what_prepared_data_of_them_are(source, tmp_path):
    preparation.prepare(source, tmp_path / "prepared", executor="serial")
    prepared, scenes = evaluation(tmp_path / "prepared"), evaluation(source)
    assert list(scenes.truths) == list(prepared.truths) == ["dev", "eval"]
    for split, truth in scenes.truths.items():
        other = prepared.truths[split]
        order = np.argsort(names(truth)), np.argsort(names(other))
        assert sorted(names(truth)) == sorted(names(other))
        assert truth.targets[order[0]] == pytest.approx(other.targets[order[1]], abs=1e-4)
        assert np.array_equal(truth.shifted[order[0]], other.shifted[order[1]])
    scene = names(scenes.truths["dev"])[0].split("/")[0]
    assert scenes.scene(scene).id == prepared.scene(scene).id == scene


def test_what_is_for_learning_is_scored_only_if_it_is_named_alone(source):
    assert f"train: not scored, since it is for training. To score it, name {source / 'train'} as the data" in (
        evaluation(source).notes
    )
    alone = evaluation(source / "train")
    assert list(alone.truths) == ["all"]
    assert not any("not scored" in note for note in alone.notes)


def test_requests_nobody_could_answer_are_left_out_as_in_preparation(source):
    late = made_parts.message("late", made_parts.MOSCOW, made_parts.DRY)
    for step in late.past_vehicle_tracks:
        kept = [track for track in step.tracks if track.track_id != 7]
        del step.tracks[:]
        step.tracks.extend(kept)
    write_scene(scene_of(late), source / "eval/late.pb")
    found = evaluation(source / "eval")
    assert found.unused == {NO_FUTURE: 3, NO_PAST: 1}
    assert f"left out: 1 {NO_PAST}" in found.notes
    assert "late/7" not in names(found.truths["all"])
    live = LiveStore.of(source / "eval")
    assert names(found.truths["all"]) == live.requests["id"].to_list()


def test_the_manifest_is_that_of_these_very_scenes_wherever_they_lie(source, tmp_path):
    before = evaluation(source / "eval").manifest
    shutil.copytree(source, tmp_path / "elsewhere")
    assert evaluation(tmp_path / "elsewhere/eval").manifest == before
    assert evaluation(source).manifest != before  # dev as well
    other = made_parts.message("eval-a.pb", made_parts.MOSCOW, made_parts.RAIN)
    write_scene(scene_of(other), source / "eval/a.pb")
    assert evaluation(source / "eval").manifest != before


def test_scenes_of_one_recording_are_resampled_together_and_it_is_said(source):
    assert evaluation(source / "eval").clusters == ["scene_id"]
    line = {"recording": "drive", "scenes": ["eval-a.pb", "eval-b.pb"]}
    (source / "imported.jsonl").write_text(json.dumps(line) + "\n")
    found = evaluation(source / "eval")
    assert found.clusters == ["recording"]
    assert set(found.truths["all"].clusters) == {"drive"}
    (source / "imported.jsonl").write_text(json.dumps(line | {"scenes": ["others"]}) + "\n")
    assert evaluation(source / "eval").clusters == ["scene_id"]


def test_all_that_is_wrong_with_scenes_is_told_together(source):
    shutil.copy(source / "eval/a.pb", source / "eval/copy.pb")
    (source / "eval/broken.pb").write_bytes(b"\x0a")
    (source / "dev/empty.pb").write_bytes(b"")
    with pytest.raises(ShiftbenchError, match=r"empty\.pb: expected a serialised message") as caught:
        evaluation(source)
    assert any("broken.pb" in problem for problem in caught.value.problems)
    assert f"{source}: expected each scene once, found eval-a.pb more than once (1 such)." in caught.value.problems


def test_a_file_that_is_no_ground_truth_is_named_with_what_to_do(source, tmp_path):
    store = LiveStore.of(source / "eval")
    ids = (store.requests["scene_id"].to_numpy(), store.requests["track_id"].to_numpy())
    modes, weights = np.repeat(store.targets[:, None], 2, axis=1), np.full((len(store), 2), 0.5)
    path = write_submission(Submission.of(ids, modes, weights, np.zeros(len(store))), tmp_path / "two.pb")
    with pytest.raises(PredictionsError, match=r"two\.pb: ground truth: expected one trajectory .* Leave the one"):
        evaluation(path)
    with pytest.raises(PredictionsError, match=r"a\.pb: expected one serialised Submission .* name their folder"):
        evaluation(source / "eval/a.pb")
    with pytest.raises(TableError, match="expected prepared data, scenes or a file of the ground truth"):
        evaluation(tmp_path / "nowhere")


def test_a_prepared_folder_tells_its_own_manifest_and_what_it_left_out(source, tmp_path):
    preparation.prepare(source, tmp_path / "prepared", executor="serial")
    found, store = evaluation(tmp_path / "prepared"), Store.open(tmp_path / "prepared")
    assert found.manifest == store.manifest["requests"]["sha256"]
    assert found.unused == store.manifest["unused"]
