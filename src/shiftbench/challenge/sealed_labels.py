"""Labels as organisers give them, in any format of tables, and as the scorer reads them: `truth.parquet`."""

from __future__ import annotations

import datetime
import shutil
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.errors import SettingsError, ShiftbenchError, counted
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

    try:
        frame = tables.read_table(source)
    except ShiftbenchError as error:
        raise SettingsError(*error.problems) from None
    if missing := [name for name in NEEDED if name not in frame.columns]:
        raise SettingsError(
            f"{source}: expected columns id, target and shifted, found no {', '.join(missing)} among "
            f"{', '.join(frame.columns[:12])}. Rename or add them; shifted is 1 where the world has shifted, else 0."
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
    import polars as pl

    from shiftbench.io import tables
    from shiftbench.track import places

    found = list[str]()
    try:
        tables.native_ids(frame, "id", where=str(source))
    except ShiftbenchError as error:
        found += error.problems
    ids, target = frame["id"].cast(pl.String, strict=False), frame["target"]
    if "shifted" in frame.columns:
        shifted = frame["shifted"]
        numbers = shifted.cast(pl.Float64, strict=False)
        if (odd := ~numbers.is_in([0.0, 1.0]).fill_null(value=False)).any():
            shown = places.values(shifted.cast(pl.String, strict=False).fill_null("nothing"), odd, ids)
            found.append(f"{source}: shifted: expected 0 and 1, found {shown}. Correct the table.")
    if (none := target.is_null()).any():
        shown = places.rows(none, ids)
        found.append(f"{source}: target: expected a value in each row, found none in {shown}. Correct the table.")
    if target.dtype.is_float() and (wrong := ~target.is_finite().fill_null(value=True)).any():
        shown = places.values(target, wrong, ids)
        found.append(f"{source}: target: expected finite numbers, found {shown}. Correct the table.")
    return found


def correct(place: Path, held: Mapping[str, str], *, table: bool, keep: Path) -> str | None:
    """Let a corrected file beside the labels of a phase take their place; what was done, or None.

    Args:
        place: the sealed folder of the phase.
        keep: where a dated copy of the old labels is kept.
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
    goal = place / NAME if table else new
    with tempfile.TemporaryDirectory(dir=place.parent) as aside:  # nothing changes before all is known to be right
        made = new
        if table and new.name != NAME:
            made = Path(aside) / NAME
            write(new, made)
        if wrong := problems(made, table=table) or (other(made, old[0], new) if table else []):
            raise SettingsError(*wrong)
        kept = _kept(old[0], keep)
        old[0].unlink()
        made.replace(goal)
        if new != goal:
            new.unlink(missing_ok=True)
    return f"{old[0]}: replaced by the corrected {new.name}; a copy of the old one is {kept}"


def other(made: Path, old: Path, new: Path) -> list[str]:
    """Why corrected labels cannot be of the same records and kind; submissions that are there are scored with them."""
    import polars as pl

    from shiftbench.io import tables

    right, before = tables.read_table(made), tables.read_table(old)
    found, target = list[str](), right["target"]
    if target.dtype.is_numeric() != before["target"].dtype.is_numeric():
        numeric = before["target"].dtype.is_numeric()
        row = int(target.cast(pl.Float64, strict=False).is_null().arg_true()[0]) if numeric else 0
        found.append(
            f"{new}: target: expected {'numbers' if numeric else 'names of classes'} as in the labels that it "
            f"corrects, found {target[row]!r} (id {right['id'][row]}). Correct the table."
        )
    ids, known = ({*each["id"].cast(pl.String)} for each in (right, before))
    if ids != known:
        some = ", ".join(sorted(ids ^ known)[:3])
        found.append(
            f"{new}: id: expected those of the labels that it corrects, found {len(known - ids):,} missing and "
            f"{counted(len(ids - known), 'other')} (such as {some}). Use the ids of {old.name}; source_ids.parquet "
            "beside it, if there, has yours. Other records are another phase."
        )
    return found


def _kept(old: Path, keep: Path) -> Path:
    """A copy of labels under the moment of now, for their owner alone."""
    keep.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy = keep / f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%S.%fZ}-{old.name}"
    shutil.copyfile(old, copy)
    copy.chmod(0o600)
    return copy
