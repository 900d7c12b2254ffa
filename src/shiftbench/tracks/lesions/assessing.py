"""Reports on predictions that somebody else made: masks, probability maps or members as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.assessment.assess import Options
from shiftbench.assessment.scored import Records, Scored
from shiftbench.components import SMALL_MM3, components, sizes_of, small_voxels
from shiftbench.errors import PredictionsError, ShiftbenchError
from shiftbench.io import files
from shiftbench.progress import Progress, silent
from shiftbench.report.picture import Picture
from shiftbench.scores.score import System
from shiftbench.track import ScoredFiles, Task
from shiftbench.tracks.lesions import checks, evaluation, population, schema, scoring
from shiftbench.tracks.lesions.evaluation import Evaluation
from shiftbench.tracks.lesions.picture.gallery import galleries, shown
from shiftbench.tracks.lesions.prediction import Prediction
from shiftbench.tracks.lesions.scoring import Reader
from shiftbench.tracks.lesions.submissions import Submission, listed, missing, named_by_table, submission
from shiftbench.tracks.lesions.volumes import Volumes

ERROR, RECORDS = "1 − nDSC", "patients"
WITHOUT = "without a probability or members there is no uncertainty to assess"


@dataclass(frozen=True)
class _Source:
    """What pictures are drawn from: the volumes of each scored split, and the systems that read predictions."""

    splits: Mapping[str, Volumes]
    readers: Sequence[Reader]
    parts: Sequence[tuple[Records, Sequence[Scored]]]


class Reading:
    """Reads a submission's predictions, and gathers remarks."""

    def __init__(self, submitted: Submission) -> None:
        self.submitted = submitted
        self.notes = dict.fromkeys(submitted.notes)
        self.bare: dict[str, None] = {}  # patients with a mask alone
        self.specks: dict[str, tuple[int, int]] = {}  # of each patient: predicted lesions, and small ones of these

    def __call__(self, volumes: Volumes, row: int) -> Prediction:
        """The prediction for the patient at a row."""
        found, notes = self.submitted.read(volumes.ids[row], volumes.shape(row), volumes.affine(row))
        self.notes |= dict.fromkeys(f"{self.submitted.name}: {note}" for note in notes)
        if not found.maps and found.members is None:
            self.bare[volumes.ids[row]] = None
        sizes = sizes_of(*components(found.mask))
        small = int(np.count_nonzero(sizes <= small_voxels(volumes.spacing(row))))
        self.specks[volumes.ids[row]] = len(sizes), small
        return found

    @property
    def remarks(self) -> list[str]:
        """Remarks on what was read, on small components, and on patients with masks alone."""
        notes = [*self.notes, *self._small()]
        if not self.bare:
            return notes
        whose = (
            "masks alone" if len(self.bare) == len(self.submitted.patients) else f"{listed([*self.bare])}: masks alone"
        )
        return [*notes, f"{self.submitted.name}: {whose}: {WITHOUT}"]

    def _small(self) -> Iterator[str]:
        every, small = (sum(each) for each in zip(*self.specks.values(), strict=True)) if self.specks else (0, 0)
        if small:
            yield (
                f"{self.submitted.name}: {small:,} of {every:,} predicted lesions are of {SMALL_MM3:g} mm³ or less: "
                "each counts as a lesion here, in lesion F1 as a false alarm unless it overlaps a true one. The "
                "published evaluation removes them first: give probabilities without a mask, or remove them with "
                "`shiftbench.metrics.segmentation.keep_large_components` (at 1 mm, larger_than=9)"
            )


def score_files(
    predictions: Mapping[str, Path], truth: Path, tasks: Sequence[Task], *, progress: Progress | None = None
) -> list[ScoredFiles]:
    """The scores of systems, each a folder of files or one file, by the error of each task; see `submissions`.

    Args:
        predictions: name → folder or file.
        truth: a prepared folder, a folder in the published layout, a table of paths, or one lesion mask. Scored is
            every split of it that predictions are about.
        tasks: whose errors they are.
        progress: called with the number of scored patients.

    Raises:
        PredictionsError: naming all that is wrong with the files, and patients without a prediction.
        ShiftbenchError: for a truth that is invalid.
    """
    held = Evaluation.open(truth)
    read, problems = list[Submission](), list[str]()
    for name, path in predictions.items():
        try:
            read.append(submission(name, path, held.volumes.ids, named=named_by_table(held.volumes.patients)))
        except ShiftbenchError as error:
            problems += error.problems
    if problems:
        raise PredictionsError(*problems)
    about = {
        split: volumes
        for split, volumes in held.splits().items()
        if any(one in each.patients for each in read for one in volumes.ids)
    }
    if not about:
        raise PredictionsError(
            f"{truth}: expected predictions of patients in dev or eval, found those of others alone."
        )
    if len(held.volumes) > 1 and (lacking := missing(read, [one for each in about.values() for one in each.ids])):
        raise PredictionsError(*lacking)
    remarks = _checked(about, progress or silent)
    reading = [Reading(each) for each in read]
    readers = [Reader(System(each.submitted.name, "model"), each) for each in reading]
    parts = [scoring.score(volumes, split, readers, progress=progress) for split, volumes in about.items()]
    recipe = _recipe(predictions, held, about, parts)
    options = report_options(f"MS lesions: {' · '.join(predictions)} on {held.origin}", recipe)
    if all(each.bare.keys() == set(each.specks) for each in reading):  # masks alone: the brain has no part in scores
        remarks = [note for note in remarks if checks.NO_BRAIN not in note]
    notes = (*held.notes, *remarks, *_left_out(held, about), *(note for each in reading for note in each.remarks))
    return [ScoredFiles(task, parts, options, notes, _Source(about, readers, parts)) for task in tasks]


def _checked(about: Mapping[str, Volumes], progress: Progress) -> list[str]:
    """Remarks on the files of the scored patients, unless `prepare` has checked them.

    Raises:
        ShiftbenchError: listing the problems of all patients.
    """
    patients = [each for volumes in about.values() if not volumes.checked for each in volumes.patients]
    notes, problems = list[tuple[str, str]](), list[str]()
    for done, patient in enumerate(patients):
        progress("check patients", done, len(patients))
        known = checks.checked(patient)
        problems += known.problems
        notes += [(patient.id, note) for note in known.notes if not note.startswith(checks.NO_FLAIR)]
    if problems:
        raise ShiftbenchError(*checks.listed(problems))
    return [*checks.gathered(notes, len(patients))]


def report_options(title: str, recipe: Mapping[str, Any]) -> Options:
    """How a report of this track is made: error 1 − nDSC from 0 to 1, without a threshold."""
    return Options(title, schema.TASK, error_name=ERROR, records_name=RECORDS, recipe=recipe)


def pictures(found: ScoredFiles) -> tuple[list[Picture], list[str]]:
    """Patients and lesions worth a look; of dev only if it is scored alone."""
    source, drawn, notes = found.source, list[Picture](), list[str]()
    for (split, volumes), (_, scored) in zip(source.splits.items(), source.parts, strict=True):
        if split == "dev" and len(source.splits) > 1:  # what one looks at is what was held back to the end
            continue
        try:
            drawn += galleries(volumes, split, [(scored[k], source.readers[k].read) for k in shown(scored)])
        except ShiftbenchError as error:
            notes.append(f"{split}: no pictures of patients: {error}")
    return drawn, notes


def _left_out(held: Evaluation, about: Mapping[str, Volumes]) -> Iterator[str]:
    for split, volumes in held.splits().items():
        if split not in about:
            yield f"{split}: not scored, since there is no prediction for any of its {len(volumes):,} patients"


def _recipe(
    predictions: Mapping[str, Path], held: Evaluation, about: Mapping[str, Volumes],
    parts: Sequence[tuple[Records, Sequence[Scored]]],
) -> dict[str, Any]:  # fmt: skip
    every = Volumes(tuple(patient for volumes in about.values() for patient in volumes.patients))
    ndsc = [
        np.concatenate([each.means[scoring.NDSC] for each in same])
        for same in zip(*(scored for _, scored in parts), strict=True)
    ]
    return {
        "track": {"name": schema.TRACK, "origin": held.origin},
        "partition": {"counts": {split: len(volumes) for split, volumes in about.items()}},
        "scores": scoring.RULES,
        "data": {split: volumes.digest for split, volumes in about.items()},
        **population.recipe_entries(every, np.concatenate([evaluation.loads_ml(records) for records, _ in parts])),
        "systems": {
            name: {
                "file": path.name,
                "sha256": files.sha256(path),
                "ndsc_by_sex": population.by_sex(every.patients, scores),
            }
            for (name, path), scores in zip(predictions.items(), ndsc, strict=True)
        },
    }
