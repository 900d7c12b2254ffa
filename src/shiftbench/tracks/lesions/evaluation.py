"""Patients whose truth is known: of a prepared folder, the published layout, a table, or one mask; and as records."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.assessment.scored import Labels, Records
from shiftbench.assessment.source import Source
from shiftbench.check import Vector
from shiftbench.errors import TableError, counted
from shiftbench.partition.settings import SPLITS
from shiftbench.track import MANIFEST
from shiftbench.tracks.lesions import layout, manifest, nifti
from shiftbench.tracks.lesions.patient import MEASURED, PREDICTION, Patient
from shiftbench.tracks.lesions.schema import PARTS, SHIFTED
from shiftbench.tracks.lesions.submissions import patient_of
from shiftbench.tracks.lesions.volumes import Volumes

AGES = (0, 30, 40, 50, 60, 130)  # years: groups of the column `age`
LOADS = (0.0, 5.0, 15.0, float("inf"))  # ml: groups of the lesion load
UNKNOWN = "unknown"
LOAD = "lesion load (ml)"  # column of records
MOST_GROUPS = 12  # of a column that is shown by slice


@dataclass(frozen=True)
class Evaluation:
    """Patients with a truth: where they come from, their volumes, and remarks on the data."""

    origin: str
    volumes: Volumes
    notes: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: Path) -> Evaluation:
        """The patients of a prepared folder, of a folder in the published layout, of a table, or of one lesion mask.

        Raises:
            ShiftbenchError: if it is none of these, or no patient has a lesion mask.
        """
        if (path / MANIFEST).is_file():
            held = manifest.held_in(path)
            found = cls(held["origin"], Volumes.open(path), tuple(held["notes"]))
        elif path.is_file() and path.name.endswith(nifti.SUFFIXES):
            found = cls("scans", Volumes((Patient(patient_of(path), "", "", {"gt": path}),)))
        else:
            patients = layout.found(path)
            origin = layout.origin(path) if path.is_dir() else "scans"
            notes = tuple(note for note in patients.notes if note.partition(":")[0] not in PARTS)  # of parts not there
            found = cls(origin, Volumes(patients.patients), notes)
        return found.with_truth(path)

    def with_truth(self, path: Path) -> Evaluation:
        """The patients that have a lesion mask; a note tells how many have none."""
        known = np.array(["gt" in patient.files for patient in self.volumes.patients], dtype=np.bool_)
        if not known.any():
            raise TableError(f"{path}: expected patients with a lesion mask to score predictions on, found none.")
        lost = f"{counted(np.count_nonzero(~known), 'patient')} without a lesion mask not scored"
        return Evaluation(self.origin, self.volumes.select(known), (*self.notes, *[lost] * (not known.all())))

    def splits(self) -> dict[str, Volumes]:
        """The evaluated patients of each split that has any; all of them as `all` if none has a part."""
        parts = np.array(self.volumes.parts)
        found = {split: np.isin(parts, names) for split, names in SPLITS.items()}
        if not any(member.any() for member in found.values()):
            return {"all": self.volumes}
        return {split: self.volumes.select(member) for split, member in found.items() if member.any()}


def records(volumes: Volumes, split: str, load_ml: Any) -> Records:
    """Patients as records.

    Args:
        volumes: N patients. split: `dev`, `eval`, or `all`: then the shift is unknown.
        load_ml: [N], the volume of the lesions of each in the truth.
    """
    parts = np.array(volumes.parts)
    shifted = None if split == "all" else np.isin(parts, SHIFTED)
    columns = {
        name: values
        for name, values in volumes.columns.items()
        if name not in (PREDICTION, *MEASURED) and any(value not in (None, "") for value in values)
    }
    frame = pl.DataFrame(
        {**{name: pl.Series([str(v) for v in values]) for name, values in columns.items()}, LOAD: load_ml}
    )
    source = Source(frame, pl.Series(volumes.ids), np.arange(len(volumes)))
    return Records(len(volumes), split, shifted, slices=slices(columns, load_ml), source=source)


def loads_ml(records: Records) -> Vector:
    """The volume of the lesions [N] of each patient in ml."""
    assert records.source is not None
    return records.source.take(columns=[LOAD])[LOAD].to_numpy()


def slices(columns: Mapping[str, list[object]], load_ml: Any) -> dict[str, Labels]:
    """The groups of patients: by the columns that have few values, by age and by lesion load."""
    found = {}
    for name, values in columns.items():
        if name == "age":
            found[name] = _groups(_numbers(values), AGES, "years")
        elif 1 < len({str(value) for value in values}) <= MOST_GROUPS:
            found[name] = np.array([UNKNOWN if value in (None, "") else str(value) for value in values])
    found["lesion load"] = _groups(np.asarray(load_ml, dtype=np.float64), LOADS, "ml")
    return found


def _numbers(values: list[object]) -> Any:
    def number(value: object) -> float:
        try:
            return float(str(value))
        except ValueError:
            return float("nan")

    return np.array([number(value) for value in values])


def _groups(values: Any, edges: tuple[float, ...], unit: str) -> Labels:
    """The group of each value between edges."""
    names = [f"from {low:g} to {high:g} {unit}" for low, high in itertools.pairwise(edges)]
    names[0] = f"below {edges[1]:g} {unit}"
    names[-1] = f"{edges[-2]:g} {unit} or more"
    place = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(names) - 1)
    return np.array([names[k] if np.isfinite(value) else UNKNOWN for k, value in zip(place, values, strict=True)])
