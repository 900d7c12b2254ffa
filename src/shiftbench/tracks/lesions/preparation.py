"""From scans to a prepared folder: find, check, compare, resample where wanted, and list all in a manifest.

Volumes stay where they are; only what is made here (resampled, corrected) is written.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.io import files
from shiftbench.progress import Progress, silent
from shiftbench.track import MANIFEST, Prepared
from shiftbench.tracks.lesions import bias_field as field
from shiftbench.tracks.lesions import checks, layout, manifest, nifti, resampling
from shiftbench.tracks.lesions.checks import Checked
from shiftbench.tracks.lesions.partition import Experiment
from shiftbench.tracks.lesions.patient import CALLED, Patient
from shiftbench.tracks.lesions.schema import PARTS

STAGE, MAKING = "check patients", "write patients"


def prepare(
    source: Path,
    folder: Path,
    *,
    resample: bool = False,
    bias_field: bool = False,
    train_on: str = "",
    leave_out: str = "",
    progress: Progress | None = None,
) -> Prepared:
    """Check all scans of a source, and write the manifest of a prepared folder.

    Args:
        source: a folder in the published layout, or a table of paths; see `layout`.
        folder: a new or empty folder.
        resample: whether to write all volumes at 1 mm below the folder; else they stay as and where they are.
        bias_field: whether to remove the bias field of all images by N4, before they are resampled.
        train_on, leave_out: a site to learn from alone, or to leave out of train; see `partition.Experiment`.
        progress: called with the number of finished patients.

    Raises:
        TableError: if the source is no such data, or is a prepared folder; for a site that cannot be learnt from.
        SettingsError, UnknownNameError: for two sites, or one that there is not.
        ShiftbenchError: listing the problems of all patients.
        MissingExtraError: if nibabel or SciPy is not installed, or SimpleITK for `bias_field`.
    """
    experiment = Experiment(train_on, leave_out)
    say = progress or silent
    if (source / MANIFEST).is_file():
        raise TableError(f"{source}: expected data to prepare, found a folder that is already prepared.")
    if bias_field:
        field.simple_itk()
    found = layout.found(source)
    found = replace(found, patients=experiment.parts(found.patients))
    how = {"resample": resample, "bias_field": bias_field}
    entries, notes = _checked(found.patients, folder, source, say, **how)
    if resample or bias_field:
        entries = _remade(found.patients, folder, source, say, **how)
    if bias_field:
        found = replace(found, notes=(*found.notes, "the bias field of all images was removed by N4"))
    if resample:
        notes = [(name, note) for name, note in notes if "voxels of" not in note]
        found = replace(found, notes=(*found.notes, "all volumes were resampled to 1 mm"))
    all_notes = [*found.notes, *filter(None, [experiment.note]), *checks.gathered(notes, len(entries))]
    _write(folder, source, entries, all_notes, experiment)
    return open_prepared(folder)


def _checked(
    patients: Sequence[Patient], folder: Path, source: Path, say: Progress, *, resample: bool, bias_field: bool
) -> tuple[list[dict[str, Any]], list[tuple[str, str]]]:
    """The entries of the manifest, and notes by patient.

    Raises:
        ShiftbenchError: listing the problems of all patients.
    """
    entries, notes, problems = list[dict[str, Any]](), list[tuple[str, str]](), list[str]()
    for done, patient in enumerate(patients):
        say(STAGE, done, len(patients))
        known = checks.checked(patient)
        problems += known.problems or [
            *(resampling.problems(known.scans, patient.id) if resample else ()),
            *(field.problems(known.scans, known.brain, patient.id) if bias_field else ()),
        ]
        notes += [(patient.id, note) for note in known.notes]
        if not known.problems:
            entries.append(_entry(known, folder, source))
    say(STAGE, len(patients), len(patients))
    problems += _copies(entries)
    if problems:
        raise ShiftbenchError(*checks.listed(problems))
    return entries, notes


def _remade(
    patients: Sequence[Patient], folder: Path, source: Path, say: Progress, *, resample: bool, bias_field: bool
) -> list[dict[str, Any]]:
    """Write the volumes that change below the folder; the entries of the manifest with these."""
    entries = []
    for done, patient in enumerate(patients):
        say(MAKING, done, len(patients))
        made = _made(patient, folder / manifest.MADE, resample=resample, bias_field=bias_field)
        entries.append(_entry(checks.checked(made), folder, source))
    say(MAKING, len(patients), len(patients))
    return entries


def _made(patient: Patient, folder: Path, *, resample: bool, bias_field: bool) -> Patient:
    """Write the volumes of a patient that change to a folder; returns the patient with these files."""
    known = checks.checked(patient)
    scans = field.without_it(known.scans, known.brain) if bias_field else known.scans
    scans = resampling.all_resampled(scans) if resample else scans
    paths = {
        kind: nifti.write(folder / f"{patient.id}_{kind}.nii.gz", scan.array, scan.affine)
        for kind, scan in scans.items()
        if scan is not known.scans[kind]
    }
    return replace(patient, files={**patient.files, **paths})


def open_prepared(folder: Path) -> Prepared:
    """The contents of a prepared folder.

    Raises:
        TableError: if it is not one, or its manifest is damaged.
    """
    held = manifest.held_in(Path(folder))
    counts = {name: held["counts"][name] for name in PARTS}
    return Prepared(Path(folder), held["origin"], counts, tuple(held["notes"]))


def _entry(known: Checked, folder: Path, source: Path) -> dict[str, Any]:
    patient: Patient = known.patient
    hashes = {kind: files.sha256(path) for kind, path in patient.files.items()}
    return manifest.entry_of(patient, hashes, checks.facts(known), (folder, _root(source)))


def _root(source: Path) -> Path:
    return source if source.is_dir() else source.parent


def _copies(entries: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Files of two patients with the same content; empty lesion masks are alike without being copies."""
    seen: dict[tuple[str, str], list[str]] = defaultdict(list)
    for entry in entries:
        for kind, file in entry["files"].items():
            if kind != "brain" and not (kind == "gt" and not entry["lesions_ml"]):
                seen[kind, file["sha256"]].append(entry["id"])
    for (kind, _), ids in seen.items():
        if len(ids) > 1:
            yield (
                f"{', '.join(map(repr, ids[:4]))}: expected a {CALLED[kind]} of each, found the same content. Is a "
                "patient listed twice, or was a file copied to the wrong place?"
            )


def _write(folder: Path, source: Path, entries: list[dict[str, Any]], notes: list[str], experiment: Experiment) -> None:
    files.write_json(
        folder / MANIFEST,
        {
            "format": manifest.FORMAT,
            "source": _root(source).absolute().as_posix(),
            "origin": layout.origin(source),
            "counts": manifest.counts(entries),
            "experiment": {name: site for name, site in asdict(experiment).items() if site},
            "notes": notes,
            "patients": entries,
        },
    )
