"""`shiftbench show`: what it draws, and what it says of bad input."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from shiftbench.cli import app
from shiftbench.errors import PredictionsError, SettingsError, ShiftbenchError, TableError, UnknownNameError
from shiftbench.io.output import MARK

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "motion"
SCENE = GOLDEN / "synthetic_scene_1.pb"

pytestmark = pytest.mark.usefixtures("drawn")


@pytest.fixture
def show(monkeypatch, tmp_path, capsys):
    """Run the command in an empty folder; errors come through as they are."""
    monkeypatch.chdir(tmp_path)

    def run(*words):
        app(["show", *(str(word) for word in words)], standalone_mode=False)
        return capsys.readouterr().out

    return run


def files(folder="shiftbench-show"):
    return sorted(path.name for path in Path(folder).iterdir() if path.name != MARK)


def test_a_scene_becomes_a_picture_and_an_animation(show):
    said = show("motion", SCENE)
    assert files() == ["synthetic_scene_1.gif", "synthetic_scene_1.png"]
    assert "picture:     shiftbench-show/synthetic_scene_1.png" in said
    assert "animation:   shiftbench-show/synthetic_scene_1.gif" in said


def test_a_request_is_drawn_with_its_feature_map_and_predictions(show, tmp_path):
    import numpy as np

    from shiftbench.tracks.motion.submissions.submission import Submission, write_submission

    ways = np.zeros((2, 2, 25, 2))
    ids = (["synthetic1", "another"], np.array([1000, 1000], dtype=np.uint64))
    made = write_submission(Submission.of(ids, ways, np.full((2, 2), 0.5), np.ones(2)), tmp_path / "made.parquet")
    said = show(
        "motion", SCENE, "--request", 1000, "--feature-map", "--no-gif", "--predictions", made, "--out", tmp_path / "o"
    )
    assert files(tmp_path / "o") == ["synthetic_scene_1-1000-feature-map.png", "synthetic_scene_1-1000.png"]
    assert "feature map: " in said


def test_pictures_drawn_again_replace_their_like_and_leave_others(show):
    shutil.copy(SCENE, "other.pb")
    show("motion", SCENE, "--no-gif")
    show("motion", "other.pb", "--no-gif")
    show("motion", SCENE, "--no-gif")
    assert files() == ["other.png", "synthetic_scene_1.png"]


@pytest.mark.parametrize(
    ("words", "kind", "says"),
    [
        (["moton", SCENE], UnknownNameError, "Unknown track 'moton'. Did you mean 'motion'"),
        (["weather", SCENE], SettingsError, "weather does not support show"),
        (["motion", "none.pb"], TableError, r"none\.pb: expected a file, found nothing there"),
        (["motion", "."], TableError, r"\.: expected a file, found a folder there"),
        (["motion", SCENE, "--request", 100], UnknownNameError, r"Did you mean '100\d'\? Known: 1000, 1001"),
        (["motion", SCENE, "--feature-map"], SettingsError, "Requests of this scene: 1000, 1001"),
        (["motion", SCENE, "--predictions", SCENE], PredictionsError, r"synthetic_scene_1\.pb: "),
        (
            ["motion", SCENE, "--predictions", GOLDEN / "submission.pb"],
            PredictionsError,
            r"submission\.pb: expected predictions for scene synthetic1, found none among 60 requests",
        ),
        (["motion", GOLDEN / "submission.pb"], ShiftbenchError, r"submission\.pb: expected one serialised Scene"),
        (["motion", SCENE, "--out", SCENE], SettingsError, "expected a folder to write to, found a file"),
    ],
)
def test_bad_input_is_named_and_nothing_is_written(show, words, kind, says):
    with pytest.raises(kind, match=says):
        show(*words)
    assert not Path("shiftbench-show").exists()
