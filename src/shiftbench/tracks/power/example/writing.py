"""Example data as frames, and a folder of them written whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from shiftbench import files
from shiftbench.errors import TableError
from shiftbench.tables import problem
from shiftbench.tracks.power import schema
from shiftbench.tracks.power.example.chance import Values
from shiftbench.tracks.power.example.minutes import Columns

RECORDS, GENERALIZATION = "records.parquet", "generalization.parquet"
DIGITS = 6  # after the point, as in the official synthetic files
ROW_BYTES = 110  # of both files together, rather too many


def frame(columns: Columns, power_kw: Values) -> pl.DataFrame:
    """Index, inputs and power in their published order and types, to six digits after the point."""
    values = {**columns, schema.POWER: power_kw}
    return pl.DataFrame(  # + 0: no -0.0
        {name: pl.Series(values[name].round(DIGITS) + 0.0).cast(kind) for name, kind in schema.TYPES.items()}
    )


def write_frame(path: Path, table: pl.DataFrame, origin: str) -> None:
    """Parquet that says in its metadata under `shiftbench` what it is."""
    table.write_parquet(path, compression="zstd", compression_level=3, metadata={"shiftbench": origin})


@contextmanager
def replacing(folder: Path, rows: int) -> Iterator[Path]:
    """Yield a new folder beside `folder`; it takes its place if the block succeeds and is removed if not.

    What a killed run left of it goes first.

    Raises:
        TableError: if `folder` holds anything but an earlier example, cannot be written, or has no room for `rows`.
    """
    aside: Path | None = None
    try:
        _require_ours(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = folder.parent / f".{folder.name}.part"
        shutil.rmtree(aside, ignore_errors=True)
        files.require_room(folder, rows * ROW_BYTES, what=f"{rows:,} rows")
        aside.mkdir()
        yield aside
        if folder.exists():
            shutil.rmtree(folder)
        aside.rename(folder)
    except (OSError, *problem.POLARS) as error:
        raise TableError(
            f"{folder}: expected to write an example of {rows:,} rows, found: {problem.first_line(error)}. "
            "Check that the folder may be written to and has room; nothing was left behind."
        ) from None
    finally:
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)


def _require_ours(folder: Path) -> None:
    found = sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []
    if others := [name for name in found if name not in (RECORDS, GENERALIZATION)]:
        raise TableError(
            f"{folder}: expected a new folder, an empty one or one of an earlier example, found {others[0]!r} in it. "
            "Choose another."
        )
