from __future__ import annotations

import dataclasses

import numpy as np

from shiftbench.tracks.motion.picture.gallery import galleries
from shiftbench.tracks.motion.submissions.submitted import Submission

from .hostile import crossing


def test_pictures_of_several_systems_have_names_of_their_own_on_every_disk():
    scenes = {name: dataclasses.replace(crossing(), id=name) for name in "ab"}
    ids, path = (list(scenes), np.full(2, 7, dtype=np.uint64)), np.linspace(0, 20, 50).reshape(1, 1, 25, 2)
    one = Submission.of(ids, np.repeat(path, 2, axis=0), np.ones((2, 1)), [1.0, 2.0])
    names = ["RIP (K = 5)", "rip (k = 5)", "é" * 200, "é" * 201]
    systems = [(name, one, np.array([3.0, 4.0])) for name in names]
    made = galleries(scenes.__getitem__, systems, error=("cNLL", "nats"), split="eval")
    files = [each.name.lower() for each in made]
    assert len(set(files)) == len(files) >= 2 * len(names)
    assert made[0].name == "eval-RIP__K___5_-largest_errors"
    assert made[0].title == "Largest errors: RIP (K = 5)"
    assert made[0].caption.startswith("RIP (K = 5), eval: the requests with the largest error")
    assert "1: b/7, Moscow, dry, cNLL 4 nats" in made[0].caption
