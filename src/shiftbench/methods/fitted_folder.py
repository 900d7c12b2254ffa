"""The folder of a fitted method: a record of what was fitted, on which data; a folder belongs to one fit only."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy.typing as npt

from shiftbench.errors import SettingsError, ShiftbenchError, first_line
from shiftbench.io import files, output

FORMAT = "shiftbench fitted method 1"
RECORD = "settings.json"
INPUTS = ".inputs.npz.training.part"  # what members learn from, while they do: after a kill a part of a file
DIGEST_ROWS = 1 << 14  # whose bytes are copied at a time
# What fits leave in a folder; files of others under these names are never touched.
OURS = (RECORD, "member_*.cbm", "member_*.pt", "member_*.ckpt", "member_*.json", "calibration.json")


def claim(folder: str | os.PathLike[str], record: Mapping[str, Any], *, overwrite: bool = False) -> Path:
    """Make `folder` that of the fit which `record` describes, or go on with the same fit begun there earlier.

    Raises:
        SettingsError: if another fit (other settings, features, data or library versions) is there, files of others
            have the names of ours, or the folder cannot be written to. With `overwrite` another fit is deleted instead,
            if its own notes list all that there is of it.
    """
    place = Path(folder)
    wanted = json.loads(json.dumps({"format": FORMAT, **record}, allow_nan=False))
    try:
        place.mkdir(parents=True, exist_ok=True)
        for left in [path for pattern in (*OURS, "inputs.npz") for path in place.glob(f".{pattern}.*.part")]:
            if output.PART.fullmatch(left.name):  # of a process that was killed while it wrote
                left.unlink(missing_ok=True)
        if overwrite or not (place / RECORD).exists():
            earlier = [path for pattern in OURS for path in place.glob(pattern)]
            _require_known(place, earlier)
            for path in sorted(earlier, key=lambda path: (path.name == RECORD, path.suffix == ".json")):  # notes last
                path.unlink()
        if not (place / RECORD).exists():
            files.write_json(place / RECORD, wanted)
    except OSError as error:
        raise SettingsError(f"{place}: expected a folder to write to, found: {error}. Choose another.") from None
    if different := _differences(read(place), wanted):
        raise SettingsError(
            f"{place}: expected a fresh folder or this same fit begun earlier, found another fit "
            f"({'; '.join(different)}). Choose another folder, or overwrite this one (overwrite=True)."
        )
    return place


def _require_known(folder: Path, paths: Sequence[Path]) -> None:
    """Refuse to delete files that no finished fit in the folder has noted, with their hashes."""
    known: set[Path] = set()
    if folder / RECORD in paths:
        read(folder)
        known.add(folder / RECORD)
        fit = identity(folder)
        for note in (path for path in paths if path.suffix == ".json" and path.name != RECORD):
            value = read_note(note)
            if value.get("fit") == fit:
                written = [path for path in paths if path.stem == note.stem and path != note]
                known |= {note, *(path for path in written if files.sha256(path) == value.get("sha256"))}
    if others := sorted(path.name for path in paths if path not in known):
        more = f" and {len(others) - 3:,} more" if len(others) > 3 else ""
        raise SettingsError(
            f"{folder}: expected no files with the names of a fit, or those of a finished one as it wrote them, found "
            f"{', '.join(map(repr, others[:3]))}{more}. Choose another folder, or remove them yourself; nothing was "
            "removed."
        )


def identity(folder: Path) -> str:
    """The identity of the fit in `folder`: the hash of its record."""
    return files.sha256(folder / RECORD)


def read_note(path: Path) -> dict[str, Any]:
    """The values of a JSON file that a fit wrote; none if it is missing or damaged."""
    try:
        value = json.loads(files.read_text(path))
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def read(folder: str | os.PathLike[str], *methods: str) -> dict[str, Any]:
    """The record in `folder`, which must be of one of these methods if any are named.

    Raises:
        SettingsError: if there is none, or it is damaged, of another format or of another method.
    """
    path = Path(folder) / RECORD
    try:
        value = json.loads(files.read_text(path))
    except (FileNotFoundError, NotADirectoryError):
        raise SettingsError(
            f"{folder}: expected the folder of a fitted method, found no {RECORD}. Fit first."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: expected JSON, found: {error}. Fit again into a fresh folder.") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        found = value.get("format") if isinstance(value, dict) else type(value).__name__
        raise SettingsError(f"{path}: expected the format {FORMAT!r}, found {found!r}. Fit again into a fresh folder.")
    if methods and value.get("method") not in methods:
        wanted = " or ".join(methods)
        raise SettingsError(
            f"{path}: expected the method {wanted}, found {value.get('method')!r}. Name its own folder."
        )
    return value


@contextmanager
def using(folder: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what a method or its library raises over damaged files of a fit into an error that names the folder.

    Files can be odd though their hashes are right: changed by hand together with these, or of a changed library. What
    no content of a file can cause (a name or an attribute of a module that does not exist, a failed import) is a bug,
    and passes unchanged.

    Raises:
        SettingsError: instead of such errors; not instead of our own, or those of the system (disk, memory).
    """
    try:
        yield
    except (ShiftbenchError, OSError, MemoryError, NameError, ImportError, NotImplementedError, Warning):
        raise
    except Exception as error:
        if isinstance(error, AttributeError) and isinstance(error.obj, ModuleType):
            raise
        raise SettingsError(
            f"{folder}: expected what a fit wrote there, found files that cannot be used ({type(error).__name__}: "
            f"{first_line(error)}). Fit again into a fresh folder."
        ) from error


def digest(arrays: Mapping[str, npt.NDArray[Any]]) -> str:
    """The SHA-256 of named arrays: their names, types, shapes and values."""
    total = hashlib.sha256()
    for name, array in arrays.items():
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        for start in range(0, len(array), DIGEST_ROWS):
            total.update(array[start : start + DIGEST_ROWS].tobytes())
    return total.hexdigest()


def _differences(found: Mapping[str, Any], wanted: Mapping[str, Any], prefix: str = "") -> list[str]:
    differences = []
    for key in sorted(found.keys() | wanted.keys()):
        here, there = wanted.get(key), found.get(key)
        if isinstance(here, dict) and isinstance(there, dict):
            differences += _differences(there, here, f"{prefix}{key}.")
        elif here != there:
            differences.append(f"{prefix}{key}: {_brief(there)} there, {_brief(here)} here")
    return differences


def _brief(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else text[:18] + " … " + text[-18:]
