"""Submissions of strangers as plain arrays and back; their flags of the shift are dropped, which could ask about it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.track import Arrays, Intake, PublicRecords, Task
from shiftbench.track.parsed import OFFSETS, PartlyRead, array, pack, unpack
from shiftbench.tracks.motion.prepared import sources
from shiftbench.tracks.motion.prepared.manifest import MANIFEST
from shiftbench.tracks.motion.schema import FUTURE
from shiftbench.tracks.motion.submissions.evaluation import LEARNING, evaluation
from shiftbench.tracks.motion.submissions.submission import Reading, reading, write_submission
from shiftbench.tracks.motion.submissions.submitted import Submission

FIELDS = {"trajectories": ("f", 3), "weights": ("f", 1), "counts": ("i", 1), "uncertainty": ("f", 1)}


def parse(file: Path) -> dict[str, Any]:
    """The submission in a file, protobuf or Parquet.

    Raises:
        PartlyRead: naming every problem, with the requests and uncertainties that could be read all the same.
    """
    found = reading(file)
    if (read := found.submission) is None:
        raise PartlyRead(*found.problems, arrays=_readable(found))
    held = {name: np.asarray(getattr(read, name)) for name in FIELDS}
    return {**pack("scene_ids", read.scene_ids.tolist()), "track_ids": read.track_ids, **held}


def _readable(found: Reading) -> dict[str, Any]:
    """The requests of a file that has problems, and the finite ones of its uncertainties."""
    if found.requests is None:
        return {}
    scenes, tracks = found.requests.scene_ids.tolist(), found.requests.track_ids
    named = [place for place, scene in enumerate(scenes) if isinstance(scene, str) and scene]
    held = {**pack("scene_ids", [scenes[place] for place in named]), "track_ids": tracks[named]}
    if found.uncertainty is not None:
        held["uncertainty"] = found.uncertainty[np.isfinite(found.uncertainty)]
    return held


def restore(arrays: Arrays, folder: Path) -> Path:
    """The submission as Parquet, which holds all numbers unchanged."""
    scenes, tracks = unpack(arrays, "scene_ids"), array(arrays, "track_ids", "u", 1)
    held = {name: array(arrays, name, *form) for name, form in FIELDS.items()}
    unknown = np.zeros(len(scenes), dtype=np.bool_)
    submission = Submission(np.array(scenes, dtype=object), tracks, **held, is_ood=unknown)
    return write_submission(submission, folder / "submission.parquet")


def records(truth: Path, _task: Task) -> PublicRecords:
    """The requests of the part that is scored, as `scene/track`."""
    found = evaluation(truth).truths
    scored = [found["eval"]] if "eval" in found else found.values()
    return PublicRecords.of(_name(*key) for each in scored for key in zip(each.scene_ids, each.track_ids, strict=True))


def labels(truth: Path, _task: Task) -> dict[Path, Sequence[str]]:
    """The scenes, with their futures and tags, of the parts that are scored; or the file of the truth."""
    if not truth.is_dir():
        return {truth: ()}
    if (truth / MANIFEST).is_file():
        return {}
    parts = [part for part in sources.found(truth).parts if part.name != LEARNING] or sources.found(truth).parts
    return {path: () for part in parts for path in (*part.scenes, *([part.tags] if part.tags else []))}


def _name(scene: object, track: object) -> str:
    return f"{scene}/{track}"


def misfits(arrays: Arrays, records: PublicRecords) -> list[str]:
    """Requests without a prediction, and predictions that nobody asked for."""
    if "scene_ids" + OFFSETS not in arrays:
        return []
    scenes, tracks = unpack(arrays, "scene_ids"), array(arrays, "track_ids", "u", 1)
    return records.misfits([_name(*key) for key in zip(scenes, tracks.tolist(), strict=False)])


def example(folder: Path, records: PublicRecords | None = None) -> Path:
    """Vehicles that stay where they are; without records two made-up requests, one of them with two modes."""
    if records is None:
        steps = np.arange(1, FUTURE + 1)[:, None] * np.array([1.0, 0.1])
        submission = Submission(
            np.array(["scene-a", "scene-b"], dtype=object), np.array([1, 7], dtype=np.uint64),
            np.stack([steps, steps, 2 * steps]), np.array([1.0, 0.75, 0.25]), np.array([1, 2]), np.array([0.2, 0.9]),
            np.zeros(2, dtype=np.bool_),
        )  # fmt: skip
        return write_submission(submission, folder / "example.pb")
    count, keys = len(records.ids), [each.rpartition("/") for each in records.ids]
    submission = Submission(
        np.array([scene for scene, _, _ in keys], dtype=object),
        np.array([int(track) for _, _, track in keys], dtype=np.uint64), np.zeros((count, FUTURE, 2)), np.ones(count),
        np.ones(count, dtype=np.intp), np.linspace(0.5, 1.5, count), np.zeros(count, dtype=np.bool_),
    )  # fmt: skip
    return write_submission(submission, folder / "example.parquet")  # scenes beside it end in .pb


INTAKE = Intake(
    parse, restore, (".pb", ".parquet"),
    "The official submission (protobuf), or the same as Parquet: weighted trajectories, in metres in the frame of the "
    "vehicle asked for (where it is now, x ahead, y to its left), and an uncertainty a request.",
    example,
    records,
    misfits,
    labels,
)  # fmt: skip
