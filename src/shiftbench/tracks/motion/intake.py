"""Submissions of strangers as plain arrays and back; their flags of the shift are dropped, which could ask about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.track import Arrays, Intake
from shiftbench.track.parsed import array, pack, unpack
from shiftbench.tracks.motion.submissions.submission import read_submission, write_submission
from shiftbench.tracks.motion.submissions.submitted import Submission

FIELDS = {"trajectories": ("f", 3), "weights": ("f", 1), "counts": ("i", 1), "uncertainty": ("f", 1)}


def parse(file: Path) -> dict[str, Any]:
    """The submission in a file, protobuf or Parquet."""
    read = read_submission(file)
    held = {name: np.asarray(getattr(read, name)) for name in FIELDS}
    return {**pack("scene_ids", read.scene_ids.tolist()), "track_ids": read.track_ids, **held}


def restore(arrays: Arrays, folder: Path) -> Path:
    """The submission as Parquet, which holds all numbers unchanged."""
    scenes, tracks = unpack(arrays, "scene_ids"), array(arrays, "track_ids", "u", 1)
    held = {name: array(arrays, name, *form) for name, form in FIELDS.items()}
    unknown = np.zeros(len(scenes), dtype=np.bool_)
    submission = Submission(np.array(scenes, dtype=object), tracks, **held, is_ood=unknown)
    return write_submission(submission, folder / "submission.parquet")


def example(folder: Path) -> Path:
    """Two requests, one of them with two modes."""
    steps = np.arange(1, 26)[:, None] * np.array([1.0, 0.1])
    submission = Submission(
        np.array(["scene-a", "scene-b"], dtype=object), np.array([1, 7], dtype=np.uint64),
        np.stack([steps, steps, 2 * steps]), np.array([1.0, 0.75, 0.25]), np.array([1, 2]), np.array([0.2, 0.9]),
        np.zeros(2, dtype=np.bool_),
    )  # fmt: skip
    return write_submission(submission, folder / "example.pb")


INTAKE = Intake(
    parse, restore, (".pb", ".parquet"),
    "The official submission (protobuf), or the same as Parquet: weighted trajectories, in metres in the frame of the "
    "vehicle asked for (where it is now, x ahead, y to its left), and an uncertainty a request.",
    example,
)  # fmt: skip
