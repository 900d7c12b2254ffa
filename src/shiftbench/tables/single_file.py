"""Output that is one file: it takes the place of what the same command wrote, and of nothing else.

A Parquet file says in its metadata what made it. No text can say that of itself, so a hidden file beside it does, which
holds its size and its SHA-256.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shiftbench import files
from shiftbench.errors import SettingsError, TableError
from shiftbench.output.mark import Entry, read_mark
from shiftbench.tables.reading import read_metadata

KEY = "shiftbench"  # of the metadata
FORMAT = "shiftbench output file 1"
PARQUET = b"PAR1"


@contextmanager
def replacing(path: Path, made_by: str, *, overwrite: bool, inputs: Sequence[Path] = ()) -> Iterator[None]:
    """While the block runs it may write a file, in the place of an earlier one if that may be overwritten.

    Args:
        path: the file. Parquet is to have metadata `KEY` with `made_by` in it.
        made_by: what tells the files of this command from all others.
        overwrite: whether an earlier file of this command may be replaced.
        inputs: what the block reads.

    Raises:
        SettingsError: if there is a folder, a file that may not be overwritten or was not written by this command as
            it is now, one of the inputs, or a file of an output folder.
    """
    require_file(path, made_by, overwrite=overwrite, inputs=inputs)
    yield
    if not _is_parquet(path):
        content = {"format": FORMAT, "made_by": made_by, **asdict(Entry.of(path))}
        files.write_json(_note(path), content)


def require_file(path: Path, made_by: str, *, overwrite: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse what `replacing` does, without writing anything."""
    if path.is_dir():
        raise SettingsError(f"{path}: expected a name for a file, found a folder. Choose another --out.")
    note = _note(path)
    if (note.is_symlink() or note.exists()) and _noted(note) is None:
        raise SettingsError(
            f"{note}: expected nothing there, since what is noted of the file beside it has that name, found something "
            "else. Move it away, or choose another --out."
        )
    if not (path.exists() or path.is_symlink()):
        return
    if not overwrite:
        raise SettingsError(f"{path}: expected a new file, found one. Choose another --out, or --overwrite.")
    _require_alone(path, inputs)
    if not _is_ours(path, made_by):
        raise SettingsError(
            f"{path}: expected a new file, or one that this command wrote, as it wrote it, found another (or one of "
            "version 0.7 or earlier). Move it away, or choose another --out; nothing was removed."
        )


def _require_alone(path: Path, inputs: Sequence[Path]) -> None:
    place = path.resolve()
    for above in place.parents:
        mark = read_mark(above)
        if mark and place.relative_to(above).as_posix() in mark.files:
            raise SettingsError(
                f"{path}: expected a file of its own, found one of the result of `shiftbench {mark.made_by}` in "
                f"{above}. Choose another --out."
            )
    for read in inputs:
        if read.exists() and path.exists() and read.samefile(path):
            raise SettingsError(f"{path}: expected --out elsewhere than the data, found them. Choose another.")


def _is_ours(path: Path, made_by: str) -> bool:
    if path.is_symlink() or not path.is_file():
        return False
    if _is_parquet(path):
        try:
            return made_by in read_metadata(path).get(KEY, "")
        except TableError:
            return False
    noted = _noted(_note(path))
    return noted is not None and noted["made_by"] == made_by and noted["entry"].holds(path)


def _is_parquet(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(PARQUET)) == PARQUET


def _note(path: Path) -> Path:
    return path.with_name(f".{path.name}.shiftbench.json")


def _noted(note: Path) -> dict[str, Any] | None:
    """What is noted of a file, if it is a note of ours."""
    try:
        value = json.loads(note.read_bytes())
        if note.is_symlink() or value["format"] != FORMAT:
            return None
        return {"made_by": value["made_by"], "entry": Entry(int(value["size"]), str(value["sha256"]))}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None
