"""Submissions as Parquet: a row for each request.

Its columns are `scene_id` (text), `track_id` (unsigned 64-bit), `trajectories` (a list of modes, each 25 pairs x, y in
metres, float32 or float64), `weights` (a list of as many numbers), `uncertainty` (float64) and, if known, `is_ood`
(boolean).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.errors import PredictionsError, TableError, counted
from shiftbench.io import tables
from shiftbench.metrics.modes import Floats, Index
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.schema import FUTURE
from shiftbench.tracks.motion.submissions.requests import MOST_LISTED, request_name, step_problems
from shiftbench.tracks.motion.submissions.submitted import Submission

COLUMNS = ("scene_id", "track_id", "trajectories", "weights", "uncertainty")
Name = Callable[[int], str]


def table(submission: Submission) -> pl.DataFrame:
    """A submission as a table, a row for each request."""
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


def unpack(file: Path) -> tuple[dict[str, Any], list[str]]:
    """The fields of a submission, and the problems of its columns and lists.

    Invalid parts are filled, so that the rest can be checked: missing steps with 0, weights in a wrong number with
    equal ones. If a column is missing or of another type, the fields are only the ids, or nothing if these are missing.

    Raises:
        PredictionsError, TableError: if the file is too large or cannot be read.
    """
    _require_small(file)
    frame = tables.read_table(file)
    frame = frame.cast({name: pl.String for name, kind in frame.schema.items() if kind in (pl.Categorical, pl.Enum)})
    if problems := [*_column_problems(frame, file), *_type_problems(frame)]:
        return _ids(frame), problems
    frame = frame.with_columns(_lists(frame[name]) for name in ("trajectories", "weights"))
    ids = _ids(frame)

    def name(row: int) -> str:
        return request_name(ids["scene_ids"][row], ids["track_ids"][row])

    counts = frame["trajectories"].list.len().fill_null(0).to_numpy().astype(np.intp)
    weights, problems = _weights(frame, counts, name)
    full = frame.filter(pl.Series(counts > 0))
    trajectories, wrong = _positions(full["trajectories"].explode(), np.repeat(np.arange(len(counts)), counts), name)
    fields = {
        **ids,
        "trajectories": trajectories,
        "weights": weights,
        "counts": counts,
        "uncertainty": _numbers(frame["uncertainty"]),
        "is_ood": frame["is_ood"].fill_null(False).to_numpy() if "is_ood" in frame.columns else counts < 0,
    }
    return fields, problems + wrong


def _require_small(file: Path) -> None:
    """Refuse submissions beyond the limit of protobuf, which would need too much memory."""
    if file.is_file() and (size := file.stat().st_size) > protobuf.MESSAGE_BYTES:
        raise PredictionsError(
            f"expected at most {protobuf.MESSAGE_BYTES:,} bytes, found {size:,}. Split the requests."
        )


def _ids(frame: pl.DataFrame) -> dict[str, Any]:
    """The ids of the rows that have a track, or nothing if the columns are invalid."""
    kinds = frame.schema
    if kinds.get("scene_id") != pl.String or not (kinds.get("track_id") or pl.String()).is_integer():
        return {}
    found = frame.select("scene_id", pl.col("track_id").cast(pl.UInt64, strict=False)).drop_nulls("track_id")
    scenes = found["scene_id"].fill_null("").to_numpy().astype(object)
    return {"scene_ids": scenes, "track_ids": found["track_id"].to_numpy()}


def _weights(frame: pl.DataFrame, counts: Index, name: Name) -> tuple[Floats, list[str]]:
    """Weights [M], and problems of their number; equal ones for a request with a wrong number of weights."""
    weighed = frame["weights"].list.len().fill_null(0).to_numpy()
    other = np.flatnonzero(counts != weighed)
    given = _numbers(frame.filter(pl.Series((counts == weighed) & (counts > 0)))["weights"].explode())
    if not other.size:
        return given, []
    whole = np.repeat(1 / np.maximum(counts, 1), counts)
    whole[np.repeat(counts == weighed, counts)] = given
    found = ", ".join(f"{weighed[row]} for {counts[row]} in {name(row)}" for row in other[:MOST_LISTED])
    rest = f" and {len(other) - MOST_LISTED:,} more" if len(other) > MOST_LISTED else ""
    return whole, [f"weights: expected one for each mode, found {found}{rest}. Give each mode one."]


def _column_problems(frame: pl.DataFrame, file: Path) -> tuple[str, ...]:
    try:
        tables.require(frame, COLUMNS, where=str(file))
    except TableError as error:
        return error.problems
    return ()


def _type_problems(frame: pl.DataFrame) -> list[str]:
    """The problems of the types of existing columns, and invalid tracks."""
    wanted: dict[str, tuple[str, Callable[[Any], bool]]] = {
        "scene_id": ("text", lambda kind: bool(kind == pl.String)),
        "track_id": ("whole numbers", lambda kind: bool(kind.is_integer())),
        "trajectories": ("a list of modes, each a list of 25 pairs", lambda kind: _depth(kind) == 3),
        "weights": ("a list of numbers", lambda kind: _depth(kind) == 1),
        "uncertainty": ("numbers", lambda kind: bool(kind.is_numeric())),
        "is_ood": ("true or false", lambda kind: bool(kind == pl.Boolean)),
    }
    problems = [
        f"column {name!r}: expected {what}, found {frame.schema[name]}. Convert it."
        for name, (what, right) in wanted.items()
        if name in frame.columns and not right(frame.schema[name])
    ]
    return problems + _track_problems(frame)


def _track_problems(frame: pl.DataFrame) -> list[str]:
    if "track_id" not in frame.columns or not frame.schema["track_id"].is_integer():
        return []
    tracks = frame["track_id"]
    bad = tracks.filter(tracks.cast(pl.UInt64, strict=False).is_null())
    if not bad.len():
        return []
    found = "none" if bad[0] is None else repr(bad[0])
    return [f"column 'track_id': expected numbers from 0 to 2^64 - 1, found {found} in {counted(bad.len(), 'row')}."]


def _lists(column: pl.Series) -> pl.Series:
    """A column of fixed-size arrays [N, D, …] as one of lists."""
    return column.arr.to_list() if isinstance(column.dtype, pl.Array) else column


def _depth(dtype: Any) -> int:
    """The depth of lists of numbers; -1 for other types."""
    depth = 0
    while isinstance(dtype, (pl.List, pl.Array)):
        dtype, depth = dtype.inner, depth + 1
    return depth if dtype.is_numeric() else -1


def _numbers(column: pl.Series) -> Any:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _positions(modes: pl.Series, owner: Index, name: Name) -> tuple[Floats, list[str]]:
    """Positions [M, 25, 2] in the type of the file; modes of another shape become zeros and are reported."""
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
    found: dict[int, str] = {}
    for mode in np.flatnonzero(~right).tolist():
        found.setdefault(owner[mode], f"{steps[mode]}" if pairs[mode] else "points that are not pairs")
    return positions, step_problems(found, name)


def _innermost(dtype: Any) -> Any:
    while isinstance(dtype, (pl.List, pl.Array)):
        dtype = dtype.inner
    return dtype
