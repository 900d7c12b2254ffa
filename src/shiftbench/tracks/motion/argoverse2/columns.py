"""Columns of Argoverse's tables: there, of the right kind, finite, and in metres, radians and seconds, or a list of
what is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.errors import ShiftbenchError, TableError, counted
from shiftbench.io.tables import read_table
from shiftbench.tracks.motion.argoverse2.recording import HZ, Floats

REACH_M = 1000.0  # of what an ego vehicle sees: 221 m in genuine logs
TURN_RAD = 6.2832  # 2π, also after rounding to float32
FACTOR = 1.8  # below that of knots (1.94), mph (2.24), ft/s and km/h; 1.01 in a genuine scenario
PIECE = HZ  # sweeps: over a second the noise of positions counts little
PIECE_M = 2.0  # the way of half the pieces of a track that moves; the boxes of parked cars jump now and then
LEAST_PIECES = 20
LEAST_TRACKS = 3
FASTEST_MS = 1e6  # so that sums of hostile values stay finite
TEXT, NUMBER, INTEGER = "text", "a number", "an integer"
_WANTED = {TEXT: pl.String, NUMBER: pl.Float64, INTEGER: pl.Int64}
UNIT_TOLERANCE = 0.01  # of a quaternion's norm


def table(path: Path, kinds: Mapping[str, str]) -> pl.DataFrame:
    """The columns named in `kinds` of a Parquet or Feather file, as text, float64 or int64.

    Raises:
        TableError: if the file is damaged or lacks columns; for all columns of another kind or with values that are
            missing, NaN, infinite or integers beyond int64.
    """
    frame = read_table(path, columns=list(kinds))
    problems = [problem for name, kind in kinds.items() if (problem := _problem(frame[name], kind))]
    if problems:
        raise TableError(*(f"{path}: {problem}" for problem in problems))
    return frame.with_columns(pl.col(name).cast(_WANTED[kind]) for name, kind in kinds.items())


def _problem(values: pl.Series, kind: str) -> str | None:
    dtype = values.dtype
    fits = {
        TEXT: dtype == pl.String or dtype in (pl.Categorical, pl.Enum),
        NUMBER: dtype.is_numeric(),
        INTEGER: dtype.is_integer(),
    }
    if not fits[kind]:
        return f"column {values.name!r}: expected {kind}, found {dtype}. Is this a table of Argoverse 2?"
    bad = values.is_null()
    if dtype.is_float():
        bad |= ~values.is_finite().fill_null(value=False)
    if bad.any():
        return (
            f"column {values.name!r}: expected {kind} in every row, found none, NaN or infinity in "
            f"{counted(bad.sum(), 'row')} (first {bad.arg_max()}). Leave these rows out."
        )
    return _too_large(values) if kind == INTEGER else None


def _too_large(values: pl.Series) -> str | None:
    """What is wrong with integers that int64 does not hold: unsigned ones, or those of 128 bits."""
    beyond = values.cast(pl.Int64, strict=False).is_null()
    first = beyond.arg_max()
    if first is None or not beyond[first]:
        return None
    return (
        f"column {values.name!r}: expected integers of 64 bits with a sign, found {beyond.sum():,} beyond them "
        f"(first {values[first]} in row {first}). Leave these rows out."
    )


def numbers(frame: pl.DataFrame, *names: str) -> npt.NDArray[np.float64]:
    """Columns as float64 [R, number of columns]."""
    return frame.select(names).to_numpy().astype(np.float64)


def rotations(frame: pl.DataFrame, problems: list[str]) -> npt.NDArray[np.float64]:
    """The first two columns of the rotation matrices of quaternions qw, qx, qy, qz: float64 [R, 3, 2].

    Invalid quaternions (norm 0, or not about 1) are added to `problems`.
    """
    quaternion = numbers(frame, "qw", "qx", "qy", "qz")
    norm = np.linalg.norm(quaternion, axis=1, keepdims=True)
    bad = np.flatnonzero(np.abs(norm[:, 0] - 1) > UNIT_TOLERANCE)
    if bad.size:
        problems.append(
            f"quaternions qw, qx, qy, qz: expected norm 1, found {norm[bad[0], 0]:.3g} in row {bad[0]} "
            f"({bad.size:,} such rows). Leave them out."
        )
    w, x, y, z = (quaternion / np.maximum(norm, np.finfo(float).tiny)).T
    first = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)], axis=1)
    second = np.stack([2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)], axis=1)
    return np.stack([first, second], axis=2)


def twice(frame: pl.DataFrame, keys: Iterable[str], problems: list[str]) -> None:
    """Add to `problems` what stands in more than one row."""
    names = list(keys)
    found = frame.group_by(names).len().filter(pl.col("len") > 1).sort(names)
    if found.height:
        first = ", ".join(f"{name} {found[name][0]}" for name in names)
        problems.append(
            f"{' and '.join(names)}: expected each once, found {found.height:,} more than once ({first}). "
            "Remove the copies."
        )


def raise_all(source: Path, problems: Iterable[str]) -> None:
    """Raise a ShiftbenchError that names the source with every problem, if there are any."""
    found = [f"{source}: {problem}" for problem in problems]
    if found:
        raise ShiftbenchError(*found)


# --- units: refused is only what no recording can be ------------------------------------------------------------------


def check_reach(offsets: pl.DataFrame, problems: list[str]) -> None:
    """Add to `problems` if places relative to the ego vehicle (all columns, in metres) lie too far away."""
    farthest = np.abs(numbers(offsets, *offsets.columns)).max(axis=1)
    far = farthest[farthest > REACH_M]
    if far.size:
        problems.append(
            f"{', '.join(offsets.columns)}: expected places within {REACH_M:g} m of the ego vehicle, found "
            f"{far.size:,} further away (up to {far.max():.3g}). Are they in metres?"
        )


def check_headings(heading: pl.Series, problems: list[str]) -> None:
    """Add to `problems` if headings are no angles in radians."""
    size = np.abs(heading.to_numpy())
    bad = size > TURN_RAD
    if bad.any():
        problems.append(
            f"{heading.name}: expected radians within ±2π, found {counted(bad.sum(), 'other')} (up to "
            f"{size.max():.3g}). Convert degrees to radians."
        )


def check_velocities(frame: pl.DataFrame, problems: list[str]) -> None:
    """Add to `problems` if the tracks of a scenario travel another way than their velocities say.

    Compared are, over pieces of a second without a gap, the way between both ends and the sum of the velocities: the
    medians of a track's pieces, and of these the median of the tracks that move.
    """
    ratios = _ratios(frame)
    if len(ratios) < LEAST_TRACKS:
        return
    ratio = float(np.median(ratios))
    if not 1 / FACTOR <= ratio <= FACTOR:
        problems.append(
            f"velocity_x, velocity_y: expected velocities that agree with the positions, found {ratio:.3g} times the "
            f"way travelled (median of {len(ratios)} moving tracks). Are they in m/s, and the positions in metres?"
        )


def _ratios(frame: pl.DataFrame) -> list[float]:
    """For each moving track: the distance by its velocities over the distance by its positions."""
    rows = frame.sort("track_id", "timestep")
    if rows.height <= PIECE:
        return []
    velocity = np.clip(numbers(rows, "velocity_x", "velocity_y"), -FASTEST_MS, FASTEST_MS)
    expected = _between(np.cumsum(velocity, axis=0) / HZ)
    moved = _between(numbers(rows, "position_x", "position_y"))
    track, step = rows["track_id"].to_numpy(), rows["timestep"].to_numpy()
    whole = (track[PIECE:] == track[:-PIECE]) & (step[PIECE:] - step[:-PIECE] == PIECE)
    pieces = pl.DataFrame({"track": track[PIECE:], "expected": expected, "moved": moved}).filter(whole)
    medians = pieces.group_by("track").agg(pl.col("expected", "moved").median(), pieces=pl.len())
    moving = medians.filter((pl.col("moved") >= PIECE_M) & (pl.col("pieces") >= LEAST_PIECES))
    return (moving["expected"] / moving["moved"]).to_list()


def _between(values: Floats) -> Floats:
    """Distances [R - PIECE] between rows of values [R, 2] and those `PIECE` rows before."""
    change = values[PIECE:] - values[:-PIECE]
    way: Floats = np.hypot(change[:, 0], change[:, 1])
    return way
