"""Labels as organisers give them, in any format of tables, and as the scorer reads them: `truth.parquet`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.io import files

if TYPE_CHECKING:
    import polars as pl

STEM, NAME = "truth", "truth.parquet"
NEEDED = ("id", "target", "shifted")
_TABLES = (
    ".parquet",
    ".csv",
    ".tsv",
    ".txt",
    ".arrow",
    ".feather",
    ".npz",
    ".csv.gz",
    ".csv.zst",
    ".tsv.gz",
    ".tsv.zst",
)


def write(source: Path, goal: Path) -> None:
    """Write a table of labels as the scorer reads it.

    Raises:
        SettingsError, TableError: naming everything that is wrong with it.
    """
    import polars as pl

    from shiftbench.io import tables

    frame = tables.read_table(source)
    if missing := [name for name in NEEDED if name not in frame.columns]:
        raise SettingsError(
            f"{source}: expected columns id, target and shifted, found no {', '.join(missing)}. Rename or add them; "
            "shifted is 1 where the world has shifted, else 0."
        )
    if problems := _wrong(frame, source):
        raise SettingsError(*problems)
    shifted = tables.numbers(frame, "shifted", where=source.name)
    columns = [tables.native_ids(frame, "id", where=source.name).cast(pl.String).alias("id")]
    columns += [pl.Series("shifted", shifted == 1.0)]
    columns += [frame["cluster"].cast(pl.String)] if "cluster" in frame.columns else []
    tables.write_table(frame.with_columns(columns), goal)


def problems(truth: Path, *, table: bool) -> list[str]:
    """Why the scorer could not read labels; table: of an organiser's table. Other files are for their track to read."""
    from shiftbench.io import tables

    if truth.is_dir() or not (table or truth.name.endswith(_TABLES)):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = tables.read_table(truth)
            if not table:
                return []
            tables.require(frame, ["id", "target"], where=truth.name)
            return _wrong(frame, truth)
    except ShiftbenchError as error:
        return [*error.problems]


def _wrong(frame: pl.DataFrame, source: Path) -> list[str]:
    """What is wrong with a table that has the columns."""
    from shiftbench.io import tables

    found = list[str]()
    try:
        tables.native_ids(frame, "id", where=source.name)
        if "shifted" in frame.columns and not {*tables.numbers(frame, "shifted", where=source.name)} <= {0.0, 1.0}:
            found.append(f"{source}: shifted: expected 0 and 1, found other values. Correct the table.")
    except ShiftbenchError as error:
        found += error.problems
    if frame["target"].null_count():
        found.append(f"{source}: target: expected a value in each row, found none in some. Correct the table.")
    return found


def correct(place: Path, held: Mapping[str, str], *, table: bool) -> str | None:
    """Let a corrected file beside the labels of a phase take their place; what was done, or None.

    Args:
        place: the sealed folder of the phase.
        held: name → hash of its files when they were sealed. What has that hash still is what is corrected.
        table: of an organiser's table, whose labels become `truth.parquet`.

    Raises:
        ShiftbenchError: if it cannot be told which file is the corrected one, or that one is wrong.
    """
    found = sorted(path for path in place.glob("*") if path.name.split(".")[0] == STEM)
    if len(found) < 2:
        return None
    names = ", ".join(path.name for path in found)
    old = [path for path in found if path.is_file() and held.get(path.name) == files.sha256(path)]
    if len(found) != 2 or len(old) != 1:
        raise SettingsError(
            f"{place}: expected the labels that were sealed and one corrected file beside them, found {names}. Leave "
            "one file, the right one."
        )
    (new,) = (path for path in found if path not in old)
    if table and new.name != NAME:
        write(new, place / NAME)
        new.unlink()
    elif wrong := problems(new, table=table):
        raise SettingsError(*wrong)
    if table and old[0].name == NAME and new.name != NAME:
        return f"{place / NAME}: replaced by the corrected {new.name}"
    old[0].unlink()
    return f"{old[0]}: replaced by the corrected {new.name}"
