"""The data set of volumes: of N patients their scans, lesion masks and brain masks, read one patient at a time."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench import argument, check
from shiftbench.errors import ArrayError, ShiftbenchError
from shiftbench.io import files
from shiftbench.tracks.lesions import layout, nifti
from shiftbench.tracks.lesions.nifti import Affine, Array, Scan
from shiftbench.tracks.lesions.patient import CALLED, Patient

MOST_APART = 0.5  # mm along an axis between the positions of a voxel in two files of a patient; real ones: 0.45
FEWEST_APART = 0.001  # mm above which that is reported


@dataclass(frozen=True)
class Volumes:
    """N patients. Nothing but names is held; every call reads a file, all in RAS+ orientation on the grid of the FLAIR.

    patients: in their order. channels: kinds of scans that an image has. checked: whether the files were checked by
    `prepare`: then remarks on them are not repeated, and a file that was changed since is refused.
    """

    patients: tuple[Patient, ...]
    channels: tuple[str, ...] = ("flair",)
    checked: bool = False

    @classmethod
    def open(cls, folder: Path, *, channels: Sequence[str] = ("flair",)) -> Volumes:
        """All patients of a prepared folder.

        Raises:
            TableError: if it is not one, or is damaged.
        """
        from shiftbench.tracks.lesions.manifest import patients_of

        return cls(tuple(patients_of(argument.path(folder))), _channels(channels), checked=True)

    @classmethod
    def of(cls, source: Path, *, channels: Sequence[str] = ("flair",)) -> Volumes:
        """All patients of a folder in the published layout, or of a table of paths, none of them opened yet.

        Raises:
            TableError: as `layout.found`.
        """
        return cls(layout.found(argument.path(source)).patients, _channels(channels))

    def __len__(self) -> int:
        return len(self.patients)

    @property
    def ids(self) -> list[str]:
        """The ids of the records."""
        return [patient.id for patient in self.patients]

    @property
    def parts(self) -> list[str]:
        """The part of each patient; "" where unknown."""
        return [patient.part for patient in self.patients]

    @property
    def columns(self) -> dict[str, list[object]]:
        """The site and the further columns of the patients, such as sex and age; None where missing."""
        names = dict.fromkeys(name for patient in self.patients for name in patient.columns)
        further = {name: [patient.columns.get(name) for patient in self.patients] for name in names}
        return {"site": [patient.site for patient in self.patients], **further}

    def select(self, rows: Sequence[int] | npt.NDArray[Any]) -> Volumes:
        """The patients at these positions, or with these flags.

        Raises:
            ArrayError: for positions that do not exist.
        """
        places = check.as_array("rows", rows, "integers").reshape(-1)
        if places.dtype.kind == "b" and places.shape == (len(self),):
            places = np.flatnonzero(places)
        if places.size and (places.dtype.kind not in "iu" or places.min() < 0 or places.max() >= len(self)):
            raise ArrayError(f"rows: expected positions 0 to {len(self) - 1}, found others.")
        return replace(self, patients=tuple(self.patients[int(place)] for place in places))

    def part(self, name: str) -> Volumes:
        """The patients of a part."""
        return self.select([place for place, part in enumerate(self.parts) if part == name])

    @cached_property
    def digest(self) -> str:
        """A hash of ids, parts and contents of the files; independent of where they lie."""
        digest = hashlib.sha256()
        for patient in self.patients:
            hashes = {kind: patient.hashes.get(kind) or files.sha256(path) for kind, path in patient.files.items()}
            digest.update(repr((patient.id, patient.site, patient.part, sorted(hashes.items()))).encode())
        return digest.hexdigest()

    def image(self, row: int) -> npt.NDArray[np.float32]:
        """The intensities [C, X, Y, Z] of a patient's scans as stored.

        Raises:
            ShiftbenchError: as `nifti.read_image`; if a scan is missing, on another grid, or changed since `prepare`.
        """
        return np.stack([self._need(row, kind) for kind in self.channels])

    def truth(self, row: int) -> npt.NDArray[np.bool_] | None:
        """The lesion mask [X, Y, Z] of a patient, if there is one; raises as `image`."""
        lesions: npt.NDArray[np.bool_] | None = self._read(row, "gt")
        return lesions

    def brain(self, row: int) -> npt.NDArray[np.bool_]:
        """The brain mask [X, Y, Z] of a patient: a file, or FLAIR ≠ 0, or everything; raises as `image`."""
        own: npt.NDArray[np.bool_] | None = self._read(row, "brain")
        if own is not None:
            return own
        return derived_brain(self._read(row, "flair"), self.shape(row))

    def shape(self, row: int) -> tuple[int, int, int]:
        """The shape (X, Y, Z) of a patient's volumes."""
        return nifti.geometry(self._patient(row).reference)[0]

    def affine(self, row: int) -> Affine:
        """The affine [4, 4] of a patient's volumes in mm."""
        return nifti.geometry(self._patient(row).reference)[1]

    def spacing(self, row: int) -> npt.NDArray[np.float64]:
        """The sides of a patient's voxels [3] in mm."""
        return nifti.spacing_of(self.affine(row))

    def _patient(self, row: int) -> Patient:
        return self.patients[argument.whole("row", row, 0, len(self) - 1, error=ArrayError)]

    def _need(self, row: int, kind: str) -> Array:
        found: Array | None = self._read(row, kind)
        if found is None:
            raise ShiftbenchError(f"{self._patient(row).id}: expected a {CALLED[kind]}, found none among its files.")
        return found

    def _read(self, row: int, kind: str) -> Any:
        patient = self._patient(row)
        path = patient.files.get(kind)
        if path is None:
            return None
        if self.checked and (known := patient.hashes.get(kind)) and files.sha256(path) != known:
            raise ShiftbenchError(
                f"{path}: expected the file that was prepared, found another. Prepare the data again."
            )
        scan = read(path, kind)
        notes = () if self.checked else scan.notes
        for note in notes:
            warnings.warn(nifti.ScanWarning(f"{path}: {note}"), stacklevel=4)
        if problems := grid_problems(scan, path, patient.reference):
            raise ShiftbenchError(*problems)
        return scan.array


def read(path: Path, kind: str) -> Scan:
    """A patient's file of a kind."""
    return nifti.mask(path) if kind in ("gt", "brain") else nifti.image(path)


def grid_problems(scan: Scan, path: Path, reference: Path) -> list[str]:
    """What is wrong if a scan has another shape than the reference file, or lies elsewhere."""
    shape, affine = nifti.geometry(reference)
    if scan.array.shape != shape:
        return [
            f"{path}: expected the shape {_shown(shape)} of {reference.name}, found {_shown(scan.array.shape)}. Is it "
            "of another patient, or not resampled?"
        ]
    if (apart := nifti.displacement(scan.affine, affine, shape)) > MOST_APART:
        return [
            f"{path}: expected the position of {reference.name}, found it {apart:.3g} mm away along an axis (up "
            f"to {MOST_APART:g} mm is accepted). Register them, or correct the affine."
        ]
    return []


def _shown(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))


def derived_brain(flair: Array | None, shape: Sequence[int]) -> npt.NDArray[np.bool_]:
    """FLAIR ≠ 0, as the images are skull-stripped; everything where there is no FLAIR."""
    return np.ones(shape, dtype=np.bool_) if flair is None else flair != 0


def _channels(names: Sequence[str]) -> tuple[str, ...]:
    return tuple(argument.several("channels", names, str))
