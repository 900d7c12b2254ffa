"""`manifest.json` of a prepared folder: its patients, their files with hashes, and what was found in them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from shiftbench.errors import TableError, quoted
from shiftbench.track import read_manifest
from shiftbench.tracks.lesions.patient import KINDS, Patient
from shiftbench.tracks.lesions.schema import PARTS

FORMAT = "shiftbench lesions data 1"
MADE = "made"  # folder of the volumes that `prepare` has written itself
_TEXT = ("id", "site", "part")


def held_in(folder: Path) -> dict[str, Any]:
    """The manifest of a prepared folder.

    Raises:
        TableError: if it is not one, listing all that is damaged.
    """
    path = folder / "manifest.json"
    held = read_manifest(folder)
    if held.get("format") != FORMAT:
        raise TableError(f"{path}: expected {FORMAT!r}, found {quoted(held.get('format'))}. Prepare the data again.")
    if problems := list(_problems(held)):
        raise TableError(*(f"{path}: {problem}" for problem in problems[:5]), f"{path}: prepare the data again.")
    return held


def patients_of(folder: Path) -> list[Patient]:
    """The patients of a prepared folder; their files are looked for only when they are read.

    Raises:
        TableError: as `held_in`.
    """
    held = held_in(folder)
    return [_patient(entry, folder, Path(held["source"])) for entry in held["patients"]]


def entry_of(
    patient: Patient, hashes: Mapping[str, str], facts: Mapping[str, Any], roots: tuple[Path, Path]
) -> dict[str, Any]:
    """A patient as an entry of the manifest; roots: the prepared folder, and the source.

    Files below either are named relative to it, so that both can be moved together with their manifest.
    """
    return {
        "id": patient.id, "site": patient.site, "part": patient.part, "columns": dict(patient.columns), **facts,
        "files": {kind: {"file": _named(path, roots), "sha256": hashes[kind]} for kind, path in patient.files.items()},
    }  # fmt: skip


def _named(path: Path, roots: tuple[Path, Path]) -> str:
    """The name of a file below `made` of the prepared folder, or below the source; else its absolute path."""
    folder, source = (root.absolute() for root in roots)
    absolute = path.absolute()
    if absolute.is_relative_to(folder / MADE):
        return absolute.relative_to(folder).as_posix()
    below = absolute.is_relative_to(source) and not absolute.is_relative_to(source / MADE)
    return absolute.relative_to(source).as_posix() if below else absolute.as_posix()


def _patient(entry: Mapping[str, Any], folder: Path, source: Path) -> Patient:
    def path(name: str) -> Path:
        return (folder if PurePosixPath(name).parts[0] == MADE else source) / name

    files = entry["files"]
    return Patient(
        entry["id"],
        entry["site"],
        entry["part"],
        {kind: path(files[kind]["file"]) for kind in KINDS if kind in files},
        entry["columns"],
        {kind: files[kind]["sha256"] for kind in KINDS if kind in files},
    )


def _problems(held: Mapping[str, Any]) -> Iterator[str]:
    kinds = {"source": str, "origin": str, "notes": list, "counts": dict, "patients": list}
    wrong = [name for name, kind in kinds.items() if not isinstance(held.get(name), kind)]
    yield from (f"{name}: expected {kinds[name].__name__}, found {quoted(held.get(name))}." for name in wrong)
    if wrong:
        return
    experiment = held.get("experiment", {})
    if not isinstance(experiment, dict) or not all(isinstance(site, str) for site in experiment.values()):
        yield f"experiment: expected the name of a site, found {quoted(experiment)}."
    if not all(isinstance(note, str) for note in held["notes"]):
        yield f"notes: expected texts, found {quoted(held['notes'])}."
    for number, entry in enumerate(held["patients"]):
        if fault := _fault(entry):
            yield f"patient {number}: {fault}"
    if not wrong and held["counts"] != counts(held["patients"]):
        yield "counts: expected the number of patients of each part, found others."


def counts(entries: list[Any]) -> dict[str, int]:
    """The number of patients of each part."""
    parts = [entry.get("part") if isinstance(entry, dict) else None for entry in entries]
    return {name: parts.count(name) for name in PARTS}


def _fault(entry: Any) -> str:
    if not isinstance(entry, dict) or not all(isinstance(entry.get(key), str) for key in _TEXT):
        return f"expected an id, a site and a part, found {quoted(entry)}."
    files = entry.get("files")
    if not isinstance(entry.get("columns"), dict) or not isinstance(files, dict) or not {"flair", "gt"} & files.keys():
        return f"expected columns and files, found {quoted(entry)}."
    lesions = entry.get("lesions", {})
    if not isinstance(lesions, dict) or not all(type(count) is int for count in lesions.values()):
        return f"expected numbers of lesions, found {quoted(lesions)}."
    for file in files.values():
        names = file if isinstance(file, dict) else {}
        if not all(isinstance(names.get(key), str) and names[key] for key in ("file", "sha256")):
            return f"expected files with their hashes, found {quoted(file)}."
        if ".." in PurePosixPath(names["file"]).parts or "\0" in names["file"] or names["file"] in (".", "/"):
            return f"expected a file below the source, found {quoted(names['file'])}."
    return ""
