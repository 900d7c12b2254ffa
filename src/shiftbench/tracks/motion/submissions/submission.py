"""Submissions read and written: the official protobuf (one `Submission` message) and our Parquet."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench import argument, check
from shiftbench.check import Vector
from shiftbench.errors import PredictionsError, ShiftbenchError, TableError
from shiftbench.io import files, tables
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.submissions import columnar, packed
from shiftbench.tracks.motion.submissions.columnar import COLUMNS
from shiftbench.tracks.motion.submissions.requests import Requests
from shiftbench.tracks.motion.submissions.submitted import Submission

__all__ = ["COLUMNS", "Reading", "Submission", "read_submission", "reading", "write_submission"]

PROTOBUF = (".pb", ".proto", ".bin")


@dataclass(frozen=True, eq=False)
class Reading:
    """The contents of a file.

    submission: None if there are problems. problems: all of them, each with the name of the file. requests: of the
    file, as far as known, so that invalid predictions can still be compared with the truth. uncertainty: of these, as
    it stands in the file.
    """

    submission: Submission | None
    problems: tuple[str, ...] = ()
    requests: Requests | None = None
    uncertainty: Vector | None = None


def read_submission(path: str | os.PathLike[str]) -> Submission:
    """The submission in a file: Parquet if its name ends in `.parquet`, in capitals or not, else the official protobuf.

    Raises:
        PredictionsError: naming all problems with scenes and tracks: a file that is truncated, of another format or
            larger than 2 GiB; missing columns, steps or modes; a request listed twice; NaN; weights that are negative
            or do not sum to 1 (within 0.001).
        MissingExtraError: if protobuf is not installed and the file is not Parquet.
    """
    found = reading(path)
    if found.submission is None:
        raise PredictionsError(*found.problems)
    return found.submission


def reading(path: str | os.PathLike[str]) -> Reading:
    """A file's submission, or all its problems, as in `read_submission`.

    Raises:
        MissingExtraError: if protobuf is not installed and the file is not Parquet.
    """
    file, fields, problems = argument.path(path, error=PredictionsError), dict[str, Any](), list[str]()
    submission = None
    try:
        fields, problems = _unpacked(file)
        if "trajectories" in fields:  # either all fields exist, or only ids
            submission = Submission(**fields)
    except ImportError:
        raise
    except ShiftbenchError as error:
        problems = [*problems, *error.problems]
    held = None if problems else submission
    return Reading(held, tuple(_of_file(file, problems)), _requests(fields), fields.get("uncertainty"))


def _unpacked(file: Path) -> tuple[dict[str, Any], list[str]]:
    """The fields of a submission, as far as they exist, and the problems of its file."""
    if file.suffix.lower() == ".parquet":
        return columnar.unpack(file)
    return packed.unpack(protobuf.read_bytes(file))


def _requests(fields: dict[str, Any]) -> Requests | None:
    if not len(fields.get("scene_ids", ())):
        return None
    scenes, tracks = np.array(fields["scene_ids"], dtype=object), fields["track_ids"]
    return Requests(scenes, tracks, fields.get("is_ood", np.zeros(len(scenes), dtype=np.bool_)))


def write_submission(submission: Submission, path: str | os.PathLike[str]) -> Path:
    """Write a submission whole or not at all: Parquet if the name ends in `.parquet`, protobuf if in `.pb`.

    Protobuf holds weights and uncertainties as float32, Parquet all numbers unchanged. There are no timestamps: equal
    submissions give equal files.

    Raises:
        PredictionsError: for another ending, or more than the 2 GiB that protobuf allows.
        TableError: if the path cannot be written to.
        MissingExtraError: if protobuf is needed and not installed.
    """
    target = argument.path(path, error=PredictionsError)
    check.kind("submission", submission, Submission)
    if target.suffix == ".parquet":
        return tables.write_table(columnar.table(submission), target)
    if target.suffix not in PROTOBUF:
        raise PredictionsError(f"{target}: expected a name that ends in .parquet or .pb. Rename it.")
    columns = (submission.scene_ids, submission.track_ids, submission.uncertainty, submission.is_ood)
    requests = list(zip(*(column.tolist() for column in columns), strict=True))
    data = packed.pack(requests, submission.counts, submission.trajectories, submission.weights)
    try:
        with files.replacing(target) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise TableError(f"{target}: expected a path to write to, found: {error.strerror}. Choose another.") from None
    return target


def _of_file(file: Path, problems: list[str]) -> list[str]:
    return [problem if problem.startswith(str(file)) else f"{file}: {problem}" for problem in problems]
