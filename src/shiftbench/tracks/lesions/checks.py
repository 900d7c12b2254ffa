"""Problems with the files of one patient, and notes on them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.components import NEIGHBOURS, components
from shiftbench.errors import CAREFUL, MissingExtraError, ShiftbenchError
from shiftbench.tracks.lesions import nifti, volumes
from shiftbench.tracks.lesions.nifti import Affine, Array, Scan
from shiftbench.tracks.lesions.patient import CALLED, KINDS, Patient

LEAST_INSIDE = 0.5  # share of a lesion mask in the brain; genuine ones have over 0.99
EXPECTED_INSIDE = 0.95
LEAST_SHOWN = 0.5  # share of a brain mask where the FLAIR is not 0
MOST_OF_VOLUME = 0.8  # that a brain takes
MOST_OF_BRAIN = 0.3  # that lesions take; the largest genuine load is 5 %
PAPER_MM = 1.0  # sides of voxels
NEAR_MM = 0.1
MOST_LISTED, MOST_NAMED = 20, 4  # problems of all patients, patients of a remark
NO_FLAIR, NO_BRAIN = "no FLAIR", "no brain mask"


@dataclass
class Checked:
    """The volumes of a patient that could be read, on one grid, and all remarks and problems."""

    patient: Patient
    scans: dict[str, Scan] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first of its volumes."""
        return self._first.array.shape

    @property
    def affine(self) -> Affine:
        """Its affine [4, 4]."""
        return self._first.affine

    @property
    def brain(self) -> npt.NDArray[np.bool_]:
        """Its brain mask, or FLAIR ≠ 0."""
        return (
            self.scans["brain"].array
            if "brain" in self.scans
            else volumes.derived_brain(self._array("flair"), self.shape)
        )

    @property
    def _first(self) -> Scan:
        return next(self.scans[kind] for kind in KINDS if kind in self.scans)

    def _array(self, kind: str) -> Array | None:
        return self.scans[kind].array if kind in self.scans else None


def checked(patient: Patient) -> Checked:
    """All files of a patient, read and compared.

    Raises:
        MissingExtraError: if nibabel is not installed.
    """
    found = Checked(patient)
    for kind, path in patient.files.items():
        try:
            scan = volumes.read(path, kind)
        except MissingExtraError:
            raise
        except ShiftbenchError as error:
            found.problems += error.problems
            continue
        found.notes += [f"{CALLED[kind]}: {note}" for note in scan.notes]
        found.scans[kind] = scan
    if not found.problems:
        found.problems += _grid_problems(found)
    if not found.problems:
        found.problems += _content_problems(found)
    if not found.problems:
        found.notes += _remarks(found)
    return found


def _grid_problems(found: Checked) -> Iterator[str]:
    for kind, scan in found.scans.items():
        path = found.patient.files[kind]
        yield from volumes.grid_problems(scan, path, found.patient.reference)
        if scan.array.shape == found.shape:
            apart = nifti.displacement(scan.affine, found.affine, found.shape)
            if volumes.FEWEST_APART < apart <= volumes.MOST_APART:
                found.notes.append(f"{CALLED[kind]}: its affine is {apart:.2f} mm off: taken as the same position")


def _content_problems(found: Checked) -> Iterator[str]:
    files, brain = found.patient.files, found.brain
    for kind in ("flair", "t1"):
        if (array := found._array(kind)) is not None and array.min() == array.max():
            yield f"{files[kind]}: expected an image, found {array.flat[0]:g} in every voxel. Export it again."
    if not brain.any():
        yield f"{files.get('brain', found.patient.reference)}: expected a brain, found an empty mask."
        return
    flair, lesions = found._array("flair"), found._array("gt")
    if flair is not None and "brain" in files and (shown := np.count_nonzero(flair[brain]) / brain.sum()) < LEAST_SHOWN:
        yield (
            f"{files['brain']}: expected the brain of {files['flair'].name}, found only {shown:.0%} of it where that "
            "is not 0. Is it of another patient?"
        )
    if lesions is not None and lesions.any() and (inside := lesions[brain].sum() / lesions.sum()) < LEAST_INSIDE:
        yield (
            f"{files['gt']}: expected lesions in the brain, found {inside:.0%} of their voxels there. Is it the mask "
            "of another patient?"
        )


def _remarks(found: Checked) -> Iterator[str]:
    files, brain = found.patient.files, found.brain
    flair, lesions = found._array("flair"), found._array("gt")
    sides = nifti.spacing_of(found.affine)
    if np.abs(sides - PAPER_MM).max() > NEAR_MM:
        shown = " × ".join(f"{side:.3g}" for side in sides)
        yield f"voxels of {shown} mm, not 1 mm as in the paper"
    if flair is None:
        yield f"{NO_FLAIR}: predictions can be assessed, but none made"
    if "brain" not in files:
        yield (f"{NO_BRAIN}: taken as FLAIR ≠ 0" if flair is not None else f"{CAREFUL}{NO_BRAIN}: everything is taken")
        if flair is not None and brain.mean() > MOST_OF_VOLUME:
            yield f"{CAREFUL}the brain takes {brain.mean():.0%} of the volume: is the skull stripped? Give a brain mask"
    if lesions is None:
        yield "no lesion mask: nothing can be scored"
        return
    if not lesions.any():
        yield "no lesions: an empty mask"
        return
    inside = lesions[brain].sum() / lesions.sum()
    if inside < EXPECTED_INSIDE:
        yield f"{CAREFUL}{1 - inside:.0%} of the lesions are outside the brain"
    if (share := lesions.sum() / brain.sum()) > MOST_OF_BRAIN:
        yield f"{CAREFUL}lesions take {share:.0%} of the brain"
    if flair is not None and flair[lesions].mean() < flair[brain].mean():
        yield f"{CAREFUL}lesions are darker than the brain on average: is the mask of another patient?"


def facts(found: Checked) -> dict[str, Any]:
    """What the manifest holds of a patient's volumes: shape, spacing, volumes in ml, and numbers of lesions."""
    spacing = nifti.spacing_of(found.affine)
    ml = float(spacing.prod()) / 1_000
    lesions = found._array("gt")
    entries: dict[str, Any] = {
        "shape": list(found.shape), "spacing": [round(float(side), 6) for side in spacing],
        "brain_ml": round(float(found.brain.sum()) * ml, 6),
    }  # fmt: skip
    if lesions is not None:
        entries["lesions_ml"] = round(float(lesions.sum()) * ml, 6)
        entries["lesions"] = {str(each): components(lesions, each)[1] for each in NEIGHBOURS[3]}  # by connectivity
    return entries


def gathered(notes: Iterable[tuple[str, str]], patients: int) -> Iterator[str]:
    """Remarks on patients, those that several have in common as one."""
    ids: dict[str, list[str]] = defaultdict(list)
    for patient, text in notes:
        ids[text].append(patient)
    for text, own in ids.items():
        shown = ", ".join(own) if len(own) <= MOST_NAMED else f"{len(own):,} patients"
        yield f"{'all patients' if len(own) == patients > 1 else shown}: {text}"


def listed(problems: Sequence[str]) -> Iterator[str]:
    """The first problems, and how many more there are."""
    yield from problems[:MOST_LISTED]
    if len(problems) > MOST_LISTED:
        yield f"… and {len(problems) - MOST_LISTED:,} more."
