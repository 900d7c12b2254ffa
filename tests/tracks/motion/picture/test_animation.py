from __future__ import annotations

import itertools

import numpy as np
import pytest
from PIL import Image

from shiftbench.errors import UnknownNameError
from shiftbench.tracks.motion.picture import write_gif
from shiftbench.tracks.motion.picture.figure import time_text

from .hostile import crossing, forecast, scenes


@pytest.fixture(scope="module")
def gif(tmp_path_factory):
    of = crossing()
    done = []
    path = tmp_path_factory.mktemp("gif") / "scene.gif"
    write_gif(of, path, request=7, predictions={7: forecast(of)}, progress=lambda *each: done.append(each))
    return path, done


@pytest.fixture(scope="module")
def shown(gif):
    """The frames of that file."""
    return list(frames(gif[0]))


def frames(path):
    """The pixels of every frame and how long it stays, in milliseconds."""
    with Image.open(path) as image:
        for number in range(image.n_frames):
            image.seek(number)
            yield np.asarray(image.convert("RGB")).astype(np.int16), image.info["duration"]


def test_it_lasts_ten_seconds_and_stays_at_its_end(shown):
    times = [time for _, time in shown]
    assert len(times) == 50
    assert times[:-1] == [200] * 49
    assert times[-1] > 1000


def test_progress_counts_the_frames(gif):
    assert gif[1] == [(done, 50) for done in range(1, 51)]


def test_something_moves_in_every_frame_and_the_title_does_not(shown):
    pictures = [pixels for pixels, _ in shown]
    for before, after in itertools.pairwise(pictures):
        changed = np.abs(before - after).sum(axis=2) > 60
        assert changed.any()
        assert not changed[:40].any()
    assert all(picture.shape == pictures[0].shape for picture in pictures)


def test_forecasts_appear_at_the_time_of_prediction(shown):
    purple = np.array([160, 49, 124], dtype=np.int16)
    found = [int((np.abs(pixels - purple).sum(axis=2) < 90).sum()) for pixels, _ in shown]
    assert max(found[:24]) == min(found[:24])  # the legend's
    assert min(found[24:]) > max(found[:24])


def test_it_is_small_and_nothing_is_left_beside_it(gif):
    assert gif[0].stat().st_size < 3_000_000
    assert [path.name for path in gif[0].parent.iterdir()] == ["scene.gif"]


@pytest.mark.parametrize("name", ["never seen", "no requests", "absent at T = 0", "hostile id"])
def test_odd_scenes_move_as_well(name, tmp_path):
    assert sum(1 for _ in frames(write_gif(scenes()[name], tmp_path / "scene.gif"))) > 25


def test_a_refused_request_leaves_no_file(tmp_path):
    with pytest.raises(UnknownNameError, match="Unknown request of scene made 8"):
        write_gif(crossing(), tmp_path / "scene.gif", request=8)
    assert not list(tmp_path.iterdir())


def test_times_are_told_from_the_prediction_on():
    assert [time_text(step) for step in (0, 12, 24, 25, 49)] == [
        "t = −4.8 s", "t = −2.4 s", "t = 0.0 s", "t = +0.2 s", "t = +5.0 s",
    ]  # fmt: skip
