"""Output of a single file: it replaces only a file that the same command wrote.

A hidden file beside it, its note, records the command, the size and the SHA-256. The note is written before the file is
moved into place and also lists the earlier file until the command ends: after a kill either file is known to be ours,
and the same command continues.
Temporary files are made in a folder of their own beside it, so that the next command knows what a killed one has left.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from shiftbench.errors import SettingsError
from shiftbench.io import aborts, files
from shiftbench.io.output import staging
from shiftbench.io.output.mark import Entry, read_mark

FORMAT = "shiftbench output file 1"


@aborts.left
def replacing(
    path: Path, made_by: str, *, overwrite: bool, inputs: Sequence[Path] = (), resumes: bool = False
) -> Iterator[bool]:
    """Allow the block to write a file, replacing an earlier one if that may be overwritten.

    Yields whether the block may also overwrite what belongs to the file: `overwrite`, or this command was killed here.

    Args:
        path: the file.
        made_by: an identifier of the command.
        overwrite: whether an earlier file of this command may be replaced.
        inputs: files that the block reads.
        resumes: whether the block goes on with parts of the result that one that ended early has left.

    Raises:
        SettingsError: if `path` is a folder, a file that may not be overwritten or was not written by this command or
            was changed since, one of the inputs, or a file of an output folder; if another process is writing it.
    """
    _require_no_folder(path)
    with staging(path, resumes=resumes):
        require_file(path, made_by, overwrite=overwrite, inputs=inputs)
        note = _note(path)
        before, goes_on = _noted(note), _is_unfinished(path, made_by)
        earlier = Entry.of(path) if path.exists() else None

        def announce(made: Path) -> None:
            _Noted(made_by, Entry.of(made), unfinished=True, earlier=earlier).write(note)

        try:
            with files.before_move(path, announce):
                yield overwrite or goes_on
        except BaseException:
            with suppress(OSError):  # on a full disk the note is unchanged, and lists both files
                _undo(path, note, before, earlier)
            raise
        if (announced := _noted(note)) and announced.unfinished:
            with suppress(OSError):  # as above
                replace(announced, unfinished=False, earlier=None).write(note)


def _undo(path: Path, note: Path, before: _Noted | None, earlier: Entry | None) -> None:
    """After an error, remove the new file, or restore the note of the earlier file if that still exists."""
    made = _noted(note)
    if made is None or not made.unfinished:
        return
    if earlier is None and path.exists() and made.entry.holds(path):
        path.unlink()
    if not path.exists():
        note.unlink()
    elif before and earlier and earlier.holds(path):
        before.write(note)


def require_file(path: Path, made_by: str, *, overwrite: bool, inputs: Sequence[Path] = ()) -> None:
    """Run the checks of `replacing` without writing anything."""
    _require_no_folder(path)
    note = _note(path)
    if (note.is_symlink() or note.exists()) and _noted(note) is None:
        raise SettingsError(
            f"{note}: expected nothing there, since the record of the file beside it has that name, found something "
            "else. Move it away, or choose another --out."
        )
    if not (path.exists() or path.is_symlink()):
        return
    if not overwrite and not _is_unfinished(path, made_by):
        raise SettingsError(f"{path}: expected a new file, found one. Choose another --out, or --overwrite.")
    _require_alone(path, inputs)
    if not _is_ours(path, made_by):
        raise SettingsError(
            f"{path}: expected a new file, or one that this command wrote, as it wrote it, found another (or one of "
            "version 0.8 or earlier). Move it away, or choose another --out; nothing was removed."
        )


def _require_no_folder(path: Path) -> None:
    if path.is_dir():
        raise SettingsError(f"{path}: expected a name for a file, found a folder. Choose another --out.")


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
    noted = _noted(_note(path))
    if noted is None or noted.made_by != made_by:
        return False
    return any(each.holds(path) for each in (noted.entry, noted.earlier) if each)


def _is_unfinished(path: Path, made_by: str) -> bool:
    """Whether this command was killed between moving the file into place and its end."""
    noted = _noted(_note(path))
    if noted is None or not noted.unfinished or not _is_ours(path, made_by):
        return False
    return noted.entry.holds(path) and noted.earlier != noted.entry


def _note(path: Path) -> Path:
    return path.with_name(f".{path.name}.shiftbench.json")


@dataclass(frozen=True)
class _Noted:
    """The note of a file.

    entry: the file that was, or will be, written. unfinished: whether the command has not ended. earlier: until then,
    the file that it replaces.
    """

    made_by: str
    entry: Entry
    unfinished: bool = False
    earlier: Entry | None = None

    def write(self, note: Path) -> None:
        """Write the note, whole or not at all."""
        content: dict[str, Any] = {"format": FORMAT, "made_by": self.made_by, **asdict(self.entry)}
        if self.unfinished:
            content |= {"unfinished": True, "earlier": asdict(self.earlier) if self.earlier else None}
        files.write_json(note, content)


def _noted(note: Path) -> _Noted | None:
    """The note of a file, if it is one of ours."""
    try:
        value = json.loads(files.read_text(note))
        if note.is_symlink() or value["format"] != FORMAT:
            return None
        earlier = value.get("earlier")
        return _Noted(
            str(value["made_by"]), _entry(value), value.get("unfinished") is True, _entry(earlier) if earlier else None
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _entry(value: dict[str, Any]) -> Entry:
    return Entry(int(str(value["size"])), str(value["sha256"]))
