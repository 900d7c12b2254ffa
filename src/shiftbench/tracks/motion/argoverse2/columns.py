"""Columns of Argoverse's tables: there, of the right kind, and finite, or a list of what is not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.tables import read_table

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
            f"column {values.name!r}: expected {kind} in every row, found none, NaN or infinity in {bad.sum():,} rows "
            f"(first {bad.arg_max()}). Leave these rows out."
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
