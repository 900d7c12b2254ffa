"""The track as one value: its tasks are the errors that are scored, and its example holds what it says."""

from __future__ import annotations

from shiftbench.io import executor
from shiftbench.tracks import TRACKS, track
from shiftbench.tracks.motion import example
from shiftbench.tracks.motion.baselines import presets
from shiftbench.tracks.motion.definition import TRACK
from shiftbench.tracks.motion.prepared import preparation
from shiftbench.tracks.motion.submissions.scoring import ERRORS, options


def test_the_track_is_found_by_its_name():
    assert TRACK.name in TRACKS
    assert track("motion") is TRACK


def test_tasks_are_the_errors_with_their_units_and_thresholds():
    assert [(task.name, task.unit, task.threshold) for task in TRACK.tasks] == [
        ("cnll", "nats", 25.0), ("weighted_ade", "m", 1.0),
    ]  # fmt: skip
    for task in TRACK.tasks:
        said = options(task.name, title="", task=task.name)
        assert (said.threshold, said.error_unit, said.error_name) == (task.threshold, task.unit, task.title)
        assert ERRORS[task.name].title == task.title


def test_the_usual_names_come_first():
    assert (next(iter(TRACK.presets)), TRACK.experiments[0]) == ("quick", "canonical")
    assert TRACK.methods == tuple(entry["name"] for entry in presets.methods("paper"))


def test_an_executor_is_handed_on_to_preparing(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(executor, "run", lambda _job, where, **_words: asked.append(where))
    monkeypatch.setattr(preparation, "_finish", lambda work: work)
    source = example.write(tmp_path / "towns", example.FEWEST_ROWS, 1)
    TRACK.prepare(source, tmp_path / "p", experiment="canonical", executor="ray", workers=3)
    assert asked == [executor.Executor("ray", 3)]
