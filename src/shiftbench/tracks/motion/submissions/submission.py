"""Submissions read and written: the official protobuf (one `Submission` message) and our Parquet.

The Parquet file has one row for each request: `scene_id` (text), `track_id` (unsigned 64-bit), `trajectories` (a list
of modes, each 25 pairs x, y in metres, float32 or float64), `weights` (a list of as many numbers), `uncertainty`
(float64) and, if anything is known of it, `is_ood` (boolean).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench import files, tables
from shiftbench.errors import PredictionsError, ShiftbenchError, TableError
from shiftbench.metrics.modes import Floats
from shiftbench.tracks.motion.scenes import wire
from shiftbench.tracks.motion.schema import FUTURE
from shiftbench.tracks.motion.submissions import packed
from shiftbench.tracks.motion.submissions.submitted import Submission

__all__ = ["COLUMNS", "Submission", "read_submission", "write_submission"]

COLUMNS = ("scene_id", "track_id", "trajectories", "weights", "uncertainty")
PROTOBUF = (".pb", ".proto", ".bin")
_MOST_LISTED = 3


def read_submission(path: str | os.PathLike[str]) -> Submission:
    """The submission in a file: Parquet if its name ends in `.parquet`, in capitals or not, else the official protobuf.

    Raises:
        PredictionsError: naming all that is wrong, with scenes and tracks: a file that is truncated, foreign or larger
            than 2 GiB; columns missing; steps or modes missing; a request listed twice; NaN; weights that are
            negative or do not sum to 1 (within 0.001).
        MissingExtraError: if protobuf is not installed and the file is none of Parquet.
    """
    file = Path(path)
    problems: list[str] = []
    try:
        parts, problems = (
            _from_table(file) if file.suffix.lower() == ".parquet" else packed.unpack(wire.read_bytes(file))
        )
        submission = Submission(**parts)
    except ImportError:
        raise
    except ShiftbenchError as error:
        raise PredictionsError(*_of_file(file, [*problems, *error.problems])) from None
    if problems:
        raise PredictionsError(*_of_file(file, problems))
    return submission


def write_submission(submission: Submission, path: str | os.PathLike[str]) -> Path:
    """Write a submission whole or not at all: Parquet if the name ends in `.parquet`, protobuf if in `.pb`.

    Protobuf holds weights and uncertainties as float32, Parquet all numbers as they are. No timestamps: equal
    submissions are equal files.

    Raises:
        PredictionsError: for another ending, or more than the 2 GiB that protobuf allows.
        TableError: if the place cannot be written to.
        MissingExtraError: if protobuf is not installed and asked for.
    """
    target = Path(path)
    if target.suffix == ".parquet":
        return tables.write_table(_table(submission), target)
    if target.suffix not in PROTOBUF:
        raise PredictionsError(f"{target}: expected a name that ends in .parquet or .pb. Rename it.")
    columns = (submission.scene_ids, submission.track_ids, submission.uncertainty, submission.is_ood)
    requests = list(zip(*(column.tolist() for column in columns), strict=True))
    data = packed.pack(requests, submission.counts, submission.trajectories, submission.weights)
    try:
        with files.replacing(target) as temporary:
            temporary.write_bytes(data)
    except OSError as error:
        raise TableError(f"{target}: expected a place to write to, found: {error.strerror}. Choose another.") from None
    return target


def _of_file(file: Path, problems: list[str]) -> list[str]:
    return [problem if problem.startswith(str(file)) else f"{file}: {problem}" for problem in problems]


# --- Parquet ----------------------------------------------------------------------------------------------------------


def _table(submission: Submission) -> pl.DataFrame:
    modes = pl.DataFrame(
        {
            "owner": submission.modes.owner,
            "trajectories": submission.trajectories,
            "weights": submission.weights,
        }
    )
    lists = modes.group_by("owner", maintain_order=True).agg("trajectories", "weights")
    return pl.DataFrame(
        {
            "scene_id": pl.Series(submission.scene_ids, dtype=pl.String),
            "track_id": submission.track_ids,
            "trajectories": lists["trajectories"],
            "weights": lists["weights"],
            "uncertainty": submission.uncertainty,
            "is_ood": submission.is_ood,
        }
    )


def _from_table(file: Path) -> tuple[dict[str, Any], list[str]]:
    """The fields of a submission, and what is wrong with its lists; steps that are missing are filled with 0."""
    if file.is_file() and (size := file.stat().st_size) > wire.MESSAGE_BYTES:
        raise PredictionsError(f"expected at most {wire.MESSAGE_BYTES:,} bytes, found {size:,}. Split the requests.")
    frame = tables.read_table(file)
    tables.require(frame, COLUMNS, where=str(file))
    if problems := _type_problems(frame):
        raise PredictionsError(*problems)
    frame = frame.with_columns(_lists(frame[name]) for name in ("trajectories", "weights"))
    names: list[str] = (
        frame["scene_id"].fill_null("") + "/" + frame["track_id"].cast(pl.String).fill_null("")
    ).to_list()
    counts = frame["trajectories"].list.len().fill_null(0).to_numpy()
    weighed = frame["weights"].list.len().fill_null(0).to_numpy()
    if (other := np.flatnonzero(counts != weighed)).size:
        found = ", ".join(f"{weighed[row]} for {counts[row]} in {names[row]}" for row in other[:_MOST_LISTED])
        rest = f" and {len(other) - _MOST_LISTED:,} more" if len(other) > _MOST_LISTED else ""
        raise PredictionsError(f"weights: expected one for each mode, found {found}{rest}.")
    full = frame.filter(pl.Series(counts > 0))
    trajectories, wrong = _positions(full["trajectories"].explode(), names, np.repeat(np.arange(len(names)), counts))
    fields = {
        "scene_ids": frame["scene_id"].fill_null("").to_numpy().astype(object),
        "track_ids": frame["track_id"].cast(pl.UInt64).to_numpy(),
        "trajectories": trajectories,
        "weights": _numbers(full["weights"].explode()),
        "counts": counts.astype(np.intp),
        "uncertainty": _numbers(frame["uncertainty"]),
        "is_ood": frame["is_ood"].fill_null(False).to_numpy() if "is_ood" in frame.columns else counts < 0,
    }
    return fields, wrong


def _type_problems(frame: pl.DataFrame) -> list[str]:
    kinds = {name: frame[name].dtype for name in frame.columns}
    nested = (pl.List, pl.Array)
    wanted = {
        "scene_id": ("text", kinds["scene_id"] == pl.String),
        "track_id": ("whole numbers", kinds["track_id"].is_integer()),
        "trajectories": ("a list of modes, each a list of 25 pairs", _depth(kinds["trajectories"]) == 3),
        "weights": ("a list of numbers", isinstance(kinds["weights"], nested) and _depth(kinds["weights"]) == 1),
        "uncertainty": ("numbers", kinds["uncertainty"].is_numeric()),
        "is_ood": ("true or false", kinds.get("is_ood", pl.Boolean()) == pl.Boolean),
    }
    problems = [
        f"column {name!r}: expected {what}, found {kinds[name]}. Convert it."
        for name, (what, right) in wanted.items()
        if not right
    ]
    tracks = frame["track_id"]
    if kinds["track_id"].is_integer() and (bad := tracks.filter(tracks.cast(pl.UInt64, strict=False).is_null())).len():
        found = "none" if bad[0] is None else repr(bad[0])
        problems.append(f"column 'track_id': expected numbers from 0 to 2^64 - 1, found {found} in {bad.len():,} rows.")
    return problems


def _lists(column: pl.Series) -> pl.Series:
    """A column of as many modes in each row as one of lists: arrays [N, D, …] are written so."""
    return column.arr.to_list() if isinstance(column.dtype, pl.Array) else column


def _depth(dtype: Any) -> int:
    """How many lists a type is nested in, around numbers; -1 around anything else."""
    depth = 0
    while isinstance(dtype, (pl.List, pl.Array)):
        dtype, depth = dtype.inner, depth + 1
    return depth if dtype.is_numeric() else -1


def _numbers(column: pl.Series) -> Any:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _positions(modes: pl.Series, names: list[str], owner: Any) -> tuple[Floats, list[str]]:
    """Positions [M, 25, 2] in the type of the file; modes of another shape hold zeros and are named."""
    kind = pl.Float32 if _innermost(modes.dtype) == pl.Float32 else pl.Float64
    shaped = pl.Array(kind, (FUTURE, 2))
    if isinstance(modes.dtype, pl.Array) and modes.dtype.shape == (FUTURE, 2) and not modes.null_count():
        return modes.cast(shaped).to_numpy(), []
    lists = modes.cast(pl.List(pl.List(kind)))
    steps = lists.list.len().fill_null(0).to_numpy()
    pairs = lists.list.eval(pl.element().list.len() == 2).list.all().fill_null(False).to_numpy()
    right = pairs & (steps == FUTURE)
    positions = np.zeros((len(lists), FUTURE, 2), dtype=np.float32 if kind == pl.Float32 else np.float64)
    positions[right] = lists.filter(pl.Series(right)).cast(shaped).to_numpy()
    if right.all():
        return positions, []
    wrong = np.flatnonzero(~right).tolist()
    found = {names[owner[row]]: f"{steps[row]}" if pairs[row] else "points that are no pairs" for row in wrong[::-1]}
    shown = ", ".join(f"{text} in {name}" for name, text in list(found.items())[::-1][:_MOST_LISTED])
    rest = f" and {len(found) - _MOST_LISTED:,} more requests" if len(found) > _MOST_LISTED else ""
    return positions, [f"trajectories: expected {FUTURE} points (5 s at 5 Hz) in each mode, found {shown}{rest}."]


def _innermost(dtype: Any) -> Any:
    while isinstance(dtype, (pl.List, pl.Array)):
        dtype = dtype.inner
    return dtype
