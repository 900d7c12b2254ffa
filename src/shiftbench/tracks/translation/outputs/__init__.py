"""Stored outputs of systems that generate text: read, checked and written without running the system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from shiftbench import argument
from shiftbench.errors import TableError, quoted
from shiftbench.progress import Progress, silent
from shiftbench.tracks.translation import lines
from shiftbench.tracks.translation.outputs import fairseq, jsonl, published, table
from shiftbench.tracks.translation.outputs.jsonl import write
from shiftbench.tracks.translation.outputs.reader import listed
from shiftbench.tracks.translation.outputs.record import Outputs

__all__ = ["Outputs", "read", "read_systems", "write"]

Named = Mapping[str, str | Sequence[str]] | lines.Names | None

HEAD = 200  # lines that tell what a file is


def read(path: Path, *, names: Named = None, system: str | None = None, progress: Progress | None = None) -> Outputs:
    """The outputs of one system, from whichever form they are stored in.

    Args:
        path: JSON lines (also published submissions and references), a table with a column for each system, what
            fairseq's generate printed, or a folder of text files that the published scripts make of it; packed with
            gzip or not.
        names: name that is expected → name in the file, of keys of JSON lines or columns of a table; of references
            and uncertainties also several.
        system: the system, if the table has several.
        progress: called with "read", the lines so far, and 0.

    Raises:
        TableError: naming every problem with its line and id; or naming the systems if there are several.
    """
    path = argument.path(path, error=TableError)
    found = read_systems(path, names=names, progress=progress)
    if system is not None:
        return found[argument.choice("system", system, found)]
    if len(found) > 1:
        raise TableError(f"{path}: expected one system, found {len(found):,}: {listed([*found])}. Name one.")
    return next(iter(found.values()))


def read_systems(path: Path, *, names: Named = None, progress: Progress | None = None) -> dict[str, Outputs]:
    """The outputs of all systems, by name: "" for the only one of a file without names; see `read`."""
    path, names = argument.path(path, error=TableError), lines.Names.checked(names)
    argument.callback("progress", progress)
    if path.is_dir():
        if not published.is_folder(path):
            raise TableError(f"{path}: expected a folder with {published.TEXTS}, found none. Name the file itself.")
        _require_unnamed(path, names)
        return {"": published.read_folder(path)}
    say = progress or silent
    match _form(path):
        case "jsonl":
            return {"": jsonl.read(path, names=names, progress=say)}
        case "fairseq":
            _require_unnamed(path, names)
            return {"": fairseq.read(path, progress=say)}
        case _:
            return table.read_systems(path, names=names, progress=say)


def _require_unnamed(path: Path, names: lines.Names) -> None:
    """Refuse names for a form that has no keys or columns.

    Raises:
        TableError: naming them.
    """
    if names.of and names.met is None:
        raise TableError(
            f"{path}: expected keys or columns to be called {', '.join(map(quoted, names))}, found a form that has "
            "neither. Drop the names."
        )


def _form(path: Path) -> str:
    """The form of a file, by its first lines."""
    suffix = lines.suffix(path)
    if suffix in (".jsonl", *table.BINARY):
        return "jsonl" if suffix == ".jsonl" else "table"
    for number, line in lines.of(path):
        if line.lstrip().startswith(b"{"):
            return "jsonl"
        if fairseq.LINE.fullmatch(line):
            return "fairseq"
        if number == HEAD:
            break
    return "table"
