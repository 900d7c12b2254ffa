"""A patient's files, and where they were found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

MEASURED = ("load_ml",)  # columns that are made of lesion masks
PREDICTION = "prediction"  # the column of a table with the name of a patient's predictions, where it is not the id
KINDS = ("flair", "gt", "brain", "t1")
CALLED = {"flair": "FLAIR", "gt": "lesion mask", "brain": "brain mask", "t1": "T1"}


@dataclass(frozen=True)
class Patient:
    """One scan of a patient.

    id: of the record, `<site>-<number>` in the published layout, where numbers repeat between sites. part: "" where
    unknown. files: kind (`KINDS`) → path, of those that there are. columns: further columns, such as sex and age.
    hashes: kind → SHA-256 of its file, where known.
    """

    id: str
    site: str
    part: str
    files: Mapping[str, Path]
    columns: Mapping[str, object] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)

    @property
    def reference(self) -> Path:
        """The file whose grid the others have: the FLAIR, else the first one."""
        return next(self.files[kind] for kind in KINDS if kind in self.files)
