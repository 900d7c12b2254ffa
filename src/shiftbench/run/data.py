"""The table of a run: read, its task settled, rows without a target dropped and counted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench import files, tables
from shiftbench.errors import SettingsError, TableError
from shiftbench.methods.targets import labels
from shiftbench.settings import Settings

MOST_CLASSES = 50  # more are no classes unless each has five rows or more


@dataclass(frozen=True)
class Data:
    """The rows of a table that have a target, and the settings with task and table hash settled."""

    frame: pl.DataFrame
    settings: Settings
    rows_read: int
    notes: tuple[str, ...]


def prepare(settings: Settings) -> Data:
    """Read the table, settle the task, drop and count the rows without a target."""
    where = Path(settings.table).name
    digest = _table_hash(settings)
    frame = tables.read_table(settings.table)
    named = [settings.target, *settings.baselines, *settings.clusters]
    tables.require(frame, named, where=where)
    task = task_of(frame[settings.target], settings)
    kept = with_target(frame, settings.target, task, where=where)
    if not kept.height:
        found = f"none in {frame.height:,} rows"
        raise TableError(f"{where}: expected rows with a value in {settings.target!r}, found {found}.")
    notes: tuple[str, ...] = ()
    if dropped := frame.height - kept.height:
        notes = (f"{dropped:,} of {frame.height:,} rows have no {settings.target!r} and were left out",)
    return Data(kept, replace(settings, task=task, table_sha256=digest), frame.height, notes)


def task_of(target: pl.Series, settings: Settings) -> str:
    """The task that the settings name, or else what the target's type says.

    Raises:
        TableError: numbers with a few words among them, or classes that are nearly as many as the rows.
    """
    if settings.task == "regression" or (settings.task is None and target.dtype.is_numeric()):
        return "regression"
    present = target.drop_nulls()
    if settings.task is None and present.dtype == pl.String:
        number = present.cast(pl.Float64, strict=False).is_not_null()
        if 0.5 * len(present) < number.sum() < len(present):
            odd = int(np.argmin((target.is_null() | target.cast(pl.Float64, strict=False).is_not_null()).to_numpy()))
            raise TableError(
                f"column {target.name!r}: expected numbers, as in {number.sum():,} of {len(present):,} rows, found "
                f"{target[odd]!r} in row {odd + 1}. Mend it, or say --task classification."
            )
    different = present.n_unique()
    if different > max(MOST_CLASSES, len(present) // 5):
        raise TableError(
            f"column {target.name!r}: expected classes, found {different:,} different values in {len(present):,} rows. "
            "For numbers say --task regression; otherwise choose another target."
        )
    return "classification"


def with_target(frame: pl.DataFrame, target: str, task: str, *, where: str) -> pl.DataFrame:
    """The rows that have a target; classes as text."""
    if task == "regression":
        return frame.filter(~np.isnan(tables.numbers(frame, target, where=where)))
    frame = frame.with_columns(labels(frame, target, where=where))
    return frame.filter(pl.col(target).is_not_null())


def _table_hash(settings: Settings) -> str:
    try:
        found = files.sha256(settings.table)
    except OSError as error:
        raise TableError(f"{settings.table}: expected a table, found none ({error.strerror}).") from None
    if settings.table_sha256 not in ("", found):
        raise SettingsError(
            f"{settings.table}: expected the table these settings were written for (sha256 "
            f"{settings.table_sha256[:12]}…), found another (sha256 {found[:12]}…). Take table_sha256 out of the "
            "settings to run on this one."
        )
    return found
