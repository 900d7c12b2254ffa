"""The files of each patient, found in the published folders or by a table. Pairs by patient, never by sort order.

Published: `<site>/<part>/{flair,gt,fg_mask}/<number>_FLAIR_isovox.nii.gz`, `<number>_gt_isovox.nii.gz` and
`<number>_isovox_fg_mask.nii.gz`, optional `t1/<number>_T1_isovox.nii.gz`. Ids are `<site>-<number>`; of a site whose
parts use the same numbers for different patients, `<site>-<part>-<number>`. A `patients.csv` beside the sites may add
columns by `id`, and its `part` and `site` replace those of the folders. Any other layout is a table with a line for
each patient: `patient`, `site`, `part`, `flair`, `gt`, `brain`, `t1` (paths from the table's folder), further columns.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.errors import TableError, counted
from shiftbench.io import files, tables
from shiftbench.io.tables import problem
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.lesions.patient import CALLED, KINDS, Patient
from shiftbench.tracks.lesions.schema import PARTS

FOLDERS = {"flair": "flair", "gt": "gt", "fg_mask": "brain", "t1": "t1"}
TABLE, ORIGIN = "patients.csv", "origin.toml"
DEPTH = 4  # folders between the source and those of the parts
_ENDINGS = {
    "flair": r"_flair(_isovox)?", "gt": r"_gt(_isovox)?", "brain": r"(_isovox)?_fg_mask(_isovox)?",
    "t1": r"_t1(_isovox)?",
}  # fmt: skip
_NUMBER = {kind: re.compile(rf"(.+?){ending}\.nii(\.gz)?", re.IGNORECASE) for kind, ending in _ENDINGS.items()}
_IDS = ("patient", "id")
_OWN = (*_IDS, "site", "part", *KINDS)


@dataclass(frozen=True)
class Found:
    """The patients of a source by part, site and id; and remarks on what was left out."""

    patients: tuple[Patient, ...]
    notes: tuple[str, ...] = ()


def found(source: Path) -> Found:
    """The patients of a folder in the published layout, or of a table; no image is opened.

    Raises:
        TableError: if there are none; listing files that are missing, twice, or of no patient's FLAIR, repeated
            patients, and invalid parts.
    """
    if source.is_dir():
        table = source / TABLE
        held = tables.read_table(table) if table.is_file() else None
        if held is not None and set(KINDS) & set(held.columns):
            return _checked(_of_table(held, table), [])
        patients, notes = _of_folders(source)
        return _checked(_joined(patients, held, table) if held is not None else patients, notes)
    if not source.exists():
        raise TableError(f"{source}: expected a folder of scans or a table of their paths, found nothing there.")
    return _checked(_of_table(tables.read_table(source), source), [])


def origin(source: Path) -> str:
    """The origin of the data: of an example as it says, else "scans"."""
    path = source / ORIGIN
    if not path.is_file():
        return "scans"
    try:
        text = tomllib.loads(files.read_text(path)).get("origin")
    except (OSError, ValueError, RecursionError) as error:
        raise TableError(f'{path}: expected origin = "…", found: {error}. Correct it or remove it.') from None
    if not isinstance(text, str) or not text.strip():
        raise TableError(f'{path}: expected origin = "…", found {text!r}. Correct it or remove it.')
    return " ".join(text.split())


# --- published folders -----------------------------------------------------------------------------------------------


def _of_folders(source: Path) -> tuple[list[Patient], list[str]]:
    parts = list(_part_folders(source))
    problems: list[str] = []
    patients = [patient for folder in parts for patient in _of_part(folder, problems)]
    if problems:
        raise TableError(*problem.few(problems))
    if not patients:
        raise TableError(
            f"{source}: expected scans as <site>/<part>/flair/<number>_FLAIR_isovox.nii.gz with a part among "
            f"{', '.join(PARTS)}, found none. Check the path, or give a table with the columns patient, flair and gt "
            "(paths from its folder; gt alone is enough to score predictions), and if known part, site, brain and t1."
        )
    return _apart(patients), [*_left_out(source, parts)]


def _apart(patients: list[Patient]) -> list[Patient]:
    """Patients by their ids; where parts of a site use the same numbers, as Best does, the part is in its ids too."""
    counts = Counter(patient.id for patient in patients)
    sites = {patient.site for patient in patients if counts[patient.id] > 1}
    return [
        replace(each, id=f"{each.site}-{each.part}-{each.id.removeprefix(f'{each.site}-')}")
        if each.site in sites
        else each
        for each in patients
    ]


def _part_folders(root: Path, depth: int = DEPTH) -> Iterator[Path]:
    for path in _folders(root):
        if path.name.lower() in PARTS:
            yield path
        elif depth > 1:
            yield from _part_folders(path, depth - 1)


def _folders(root: Path) -> list[Path]:
    return sorted(path for path in root.iterdir() if path.is_dir() and not path.name.startswith((".", "__MACOSX")))


def _of_part(folder: Path, problems: list[str]) -> Iterator[Patient]:
    """The patients of `<site>/<part>`."""
    held: dict[str, dict[str, Path]] = defaultdict(dict)
    for place in _folders(folder):
        if kind := FOLDERS.get(place.name.lower()):
            for number, path in _numbered(place, kind, problems):
                if kind in held[number]:
                    problems.append(
                        f"{path}: expected one {CALLED[kind]} of {number}, found {held[number][kind].name} too."
                    )
                held[number][kind] = path
    site = folder.resolve().parent.name
    for number, own in sorted(held.items()):
        if "flair" not in own and "gt" not in own:
            problems.append(
                f"{next(iter(own.values()))}: expected the FLAIR or lesion mask of {number} beside it, found none."
            )
        yield Patient(f"{site}-{number}", site, folder.name.lower(), {kind: own[kind] for kind in KINDS if kind in own})


def _numbered(folder: Path, kind: str, problems: list[str]) -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or not path.name.lower().endswith(nifti.SUFFIXES):
            continue
        if named := _NUMBER[kind].fullmatch(path.name):
            yield named[1], path
        else:
            problems.append(
                f"{path}: expected a name such as 7{_example(kind)}, found another. Rename it, or give a table."
            )


def _example(kind: str) -> str:
    return {"flair": "_FLAIR_isovox", "gt": "_gt_isovox", "brain": "_isovox_fg_mask", "t1": "_T1_isovox"}[
        kind
    ] + ".nii.gz"


def _left_out(source: Path, parts: Iterable[Path]) -> Iterator[str]:
    """Remarks on scans in folders that are no parts, and on parts that are absent."""
    parts = list(parts)
    inside = [path for part in parts for path in part.rglob("*.nii*")]
    if outside := len([*source.rglob("*.nii*")]) - len(inside):
        yield f"{counted(outside, 'scan')} {'is' if outside == 1 else 'are'} outside the folders of the parts: left out"
    held = {part.name.lower() for part in parts}
    yield from (f"{name}: not there, so nothing is scored on it" for name in PARTS if name not in held)


# --- tables ----------------------------------------------------------------------------------------------------------


def _of_table(frame: pl.DataFrame, path: Path) -> list[Patient]:
    id_column = next((name for name in _IDS if name in frame.columns), None)
    missing = [] if id_column else ["patient"]
    missing += [] if {"flair", "gt"} & set(frame.columns) else ["flair (or gt)"]
    if missing:
        shown = ", ".join(map(repr, frame.columns[:12]))
        raise TableError(f"{path}: expected columns {', '.join(missing)}, found {shown}. Rename or add them.")
    lines = list(frame.iter_rows(named=True))
    problems = [
        f"{path}: row {row}: expected an existing {CALLED[kind]}, found nothing at {line[kind]!r}. Correct the path "
        "(from the folder of the table)."
        for row, line in enumerate(lines, 1)
        for kind in KINDS
        if line.get(kind) and not (path.parent / str(line[kind])).is_file()
    ]
    problems += [
        f"{path}: row {row}: expected a FLAIR or a lesion mask, found neither."
        for row, line in enumerate(lines, 1)
        if not (line.get("flair") or line.get("gt"))
    ]
    problems += [
        f"{path}: row {row}: expected a patient, found none."
        for row, line in enumerate(lines, 1)
        if line[str(id_column)] in (None, "")
    ]
    problems += _infinite(lines, path)
    if problems:
        raise TableError(*problem.few(problems))
    return [_of_line(line, str(id_column), path.parent) for line in lines]


def _of_line(line: Mapping[str, Any], id_column: str, folder: Path) -> Patient:
    return Patient(
        str(line[id_column]),
        str(line.get("site") or ""),
        str(line.get("part") or ""),
        {kind: folder / str(line[kind]) for kind in KINDS if line.get(kind)},
        _columns(line),
    )


def _infinite(lines: Iterable[Mapping[str, Any]], path: Path) -> list[str]:
    return [
        f"{path}: row {row}: expected a number in column {name!r}, found {value}. Correct it, or leave it empty."
        for row, line in enumerate(lines, 1)
        for name, value in _columns(line).items()
        if isinstance(value, float) and not math.isfinite(value)
    ]


def _columns(line: Mapping[str, Any]) -> dict[str, object]:
    return {name: value for name, value in line.items() if name not in _OWN}


def _joined(patients: list[Patient], held: pl.DataFrame, path: Path) -> list[Patient]:
    """Patients with the columns of the table beside their folders; its `part` and `site` replace theirs."""
    column = next((name for name in _IDS if name in held.columns), None)
    if column is None:
        raise TableError(f"{path}: expected a column 'id' of patients, such as {patients[0].id!r}, found none. Add it.")
    lines = {str(line[column]): line for line in held.iter_rows(named=True)}
    known = {patient.id for patient in patients}
    problems = [f"{path}: expected each patient once, found one twice."] if len(lines) < held.height else []
    problems += [f"{path}: expected a patient of the folders, found {name!r}." for name in lines if name not in known]
    problems += [f"{path}: expected a row of {name!r}, found none." for name in sorted(known - lines.keys())]
    problems += _infinite(held.iter_rows(named=True), path)
    if problems:
        raise TableError(*problem.few(problems))
    return [
        replace(
            patient,
            site=str(lines[patient.id].get("site") or patient.site),
            part=str(lines[patient.id].get("part") or patient.part),
            columns=_columns(lines[patient.id]),
        )
        for patient in patients
    ]


def _checked(patients: Iterable[Patient], notes: Iterable[str]) -> Found:
    """Patients in the order of part, site and id.

    Raises:
        TableError: for repeated patients, unknown parts, and ids that cannot be in file names.
    """
    patients = sorted(patients, key=lambda one: (_place(one.part), one.site, _natural(one.id)))
    problems = [
        f"{name!r}: expected each patient once, found {count} of them. Give scans of one patient ids of their own."
        for name, count in Counter(patient.id for patient in patients).items()
        if count > 1
    ]
    problems += [
        f"{patient.id!r}: expected a part among {', '.join(PARTS)}, found {patient.part!r}."
        for patient in patients
        if patient.part not in ("", *PARTS)
    ]
    problems += [
        f"{patient.id!r}: expected an id that can be in a file name, found another. Rename it."
        for patient in patients
        if not re.fullmatch(r"[\w.+-]+", patient.id) or patient.id.startswith(".")
    ]
    if problems:
        raise TableError(*problem.few(problems))
    return Found(tuple(patients), tuple(notes))


def _place(part: str) -> int:
    return PARTS.index(part) if part in PARTS else len(PARTS)


def _natural(text: str) -> list[tuple[int, str]]:
    """A key that puts 7 before 19."""
    return [(int(piece), "") if piece.isdigit() else (-1, piece) for piece in re.split(r"(\d+)", text)]
