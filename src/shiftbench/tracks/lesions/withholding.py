"""Scans as a challenge hands them out: of hidden parts without lesion masks, under ids that do not tell the site.

The truth is a table of masks with the same ids.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from shiftbench.errors import TableError
from shiftbench.io import tables
from shiftbench.partition.settings import SPLITS
from shiftbench.tracks.lesions import layout
from shiftbench.tracks.lesions.patient import KINDS, MEASURED, Patient

LABELS = ("gt", "brain")


def withhold(source: Path, split: str, inputs: Path, truth: Path | None) -> None:
    """Write what participants get of train, dev or eval, and its truth if it is hidden.

    Raises:
        TableError: if the folder or table of scans has no such part, or a hidden patient has no lesion mask.
    """
    parts = SPLITS.get(split, (split,))
    patients = [patient for patient in layout.found(source).patients if patient.part in parts]
    if not patients:
        raise TableError(f"{source}: expected scans of {' or '.join(parts)}, found none.")
    if truth is None:
        _write(inputs, {patient.id: patient for patient in patients}, KINDS, ("site", "part"))
        return
    if unknown := [patient.id for patient in patients if "gt" not in patient.files]:
        raise TableError(
            f"{source}: expected a lesion mask of each hidden patient, found none of {', '.join(unknown)}."
        )
    secrets.SystemRandom().shuffle(patients)
    named = {f"{split[0]}{n:0{len(str(len(patients)))}}": patient for n, patient in enumerate(patients, 1)}
    _write(inputs, named, [kind for kind in KINDS if kind != "gt"], ())
    _write(truth, named, LABELS, ("site", "part"))


def _write(folder: Path, named: Mapping[str, Patient], kinds: Sequence[str], described: Sequence[str]) -> None:
    """Copy files of patients by their new ids, and write the table of these."""
    rows = []
    for name, patient in named.items():
        row: dict[str, object] = {"patient": name}
        row |= {key: getattr(patient, key) for key in described}
        row |= {key: value for key, value in patient.columns.items() if described and key not in MEASURED}
        for kind in kinds:
            path = patient.files.get(kind)
            row[kind] = None if path is None else f"{name}/{kind}{''.join(path.suffixes[-2:])}"
            if path is not None:
                (folder / name).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, folder / str(row[kind]))
        rows.append(row)
    frame = pl.DataFrame(rows, infer_schema_length=None)
    empty = [kind for kind in kinds if frame[kind].null_count() == frame.height]
    tables.write_table(frame.drop(empty), folder / layout.TABLE)
