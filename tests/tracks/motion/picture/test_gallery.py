from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from shiftbench.errors import ArrayError, SettingsError, ShiftbenchError
from shiftbench.tracks.motion.picture import gallery, to_look_at
from shiftbench.tracks.motion.submissions.submission import Submission

from .hostile import BAD_ID, crossing


@pytest.fixture
def scenes():
    return {name: dataclasses.replace(crossing(), id=name) for name in ("a", "b", "c", BAD_ID)}


def submission(scenes, uncertainty):
    paths = np.stack([np.linspace(0, 20, 25), np.zeros(25)], axis=-1)
    modes = np.stack([paths, 1.2 * paths, 0.8 * paths])
    ids = (list(scenes), np.full(len(scenes), 7, dtype=np.uint64))
    return Submission.of(ids, np.stack([modes] * len(scenes)), np.tile([0.5, 0.3, 0.2], (len(scenes), 1)), uncertainty)


def test_a_gallery_has_a_picture_of_each_kind_with_the_requests_in_its_words(scenes):
    asked = []
    made = gallery(
        lambda name: asked.append(name) or scenes[name], submission(scenes, [1.0, 5.0, 3.0, 4.0]),
        [9.0, 20.0, 30.0, 4.0], system="RIP (K = 5)",
    )  # fmt: skip
    assert [picture.name for picture in made] == ["largest_errors", "least_certain", "confidently_wrong"]
    worst, unsure, wrong = (picture.caption for picture in made)
    assert worst.startswith("RIP (K = 5): the requests with the largest error")
    assert "1: c/7, Moscow, dry, cNLL 30 nats, uncertainty 3; 2: b/7" in worst
    assert "1: b/7, Moscow, dry, cNLL 20 nats, uncertainty 5; 2: $" in unsure
    assert "1: c/7" in wrong
    assert "b/7" not in wrong
    assert all(picture.png.startswith(b"\x89PNG") for picture in made)
    assert sorted(asked) == sorted(scenes)
    assert all(caption.isprintable() for caption in (worst, unsure, wrong))


def test_one_request_makes_a_gallery(scenes):
    alone = submission({"a": scenes["a"]}, [1.0])
    made = gallery(scenes.__getitem__, alone, [3.0], error=("weightedADE", "m"))
    assert {picture.name for picture in made} == {"largest_errors", "least_certain", "confidently_wrong"}
    assert "weightedADE 3 m" in made[0].caption


def test_a_lookup_that_finds_no_scene_says_so(scenes):
    def lookup(name):
        raise ShiftbenchError(f"scene {name}: expected it in the folder, found none.")

    with pytest.raises(ShiftbenchError, match="expected it in the folder"):
        gallery(lookup, submission(scenes, np.ones(4)), np.ones(4))


def test_what_to_look_at_is_the_worst_the_least_certain_and_the_confidently_wrong():
    rng = np.random.default_rng(5)
    errors, uncertainty = rng.exponential(size=200), rng.exponential(size=200)
    found = to_look_at(errors, uncertainty, count=6)
    assert found["largest_errors"] == sorted(range(200), key=lambda place: -errors[place])[:6]
    assert found["least_certain"] == sorted(range(200), key=lambda place: -uncertainty[place])[:6]
    worst = sorted(range(200), key=lambda place: -errors[place])[:50]
    sure = [place for place in worst if uncertainty[place] <= np.median(uncertainty)]
    assert found["confidently_wrong"] == sorted(sure, key=lambda place: uncertainty[place])[:6]


def test_of_equals_the_first_are_looked_at():
    assert to_look_at(np.ones(5), np.ones(5), count=2)["largest_errors"] == [0, 1]


def test_nobody_is_confidently_wrong_where_uncertainty_follows_the_error():
    assert "confidently_wrong" not in to_look_at(np.arange(40.0), np.arange(40.0))


@pytest.mark.parametrize(
    ("errors", "uncertainty", "count", "kind", "words"),
    [
        ([1.0], [1.0, 2.0], 6, ArrayError, r"found shapes \(1,\) and \(2,\)"),
        ([], [], 6, ArrayError, r"found shapes \(0,\) and \(0,\)"),
        ([np.nan], [1.0], 6, ArrayError, "found NaN or infinity"),
        ([1.0], [1.0], 0, SettingsError, "expected 1 to 12 requests in a picture, found 0"),
    ],
)
def test_what_cannot_be_ranked_is_refused(errors, uncertainty, count, kind, words):
    with pytest.raises(kind, match=words):
        to_look_at(errors, uncertainty, count=count)
