"""What `shiftbench show` draws of a patient."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from shiftbench.errors import PredictionsError, SettingsError, UnknownNameError
from shiftbench.io import files
from shiftbench.progress import Progress
from shiftbench.report import canvas
from shiftbench.track import MANIFEST
from shiftbench.tracks.lesions import layout, nifti, submissions
from shiftbench.tracks.lesions.patient import Patient
from shiftbench.tracks.lesions.picture.figure import patient_figure
from shiftbench.tracks.lesions.picture.gallery import view_of
from shiftbench.tracks.lesions.picture.view import Point
from shiftbench.tracks.lesions.picture.viewer import page
from shiftbench.tracks.lesions.prediction import MEASURES
from shiftbench.tracks.lesions.volumes import Volumes

ALL = "all"  # the measures that a prediction has


def show(
    source: Path, folder: Path, *, patient: str = "", truth: Path | None = None, predictions: Path | None = None,
    measure: str = "", at: str = "", viewer: bool = False, progress: Progress | None = None,
) -> dict[str, Path]:  # fmt: skip
    """Draw axial, sagittal and coronal slices of a patient into a folder, where an earlier picture is replaced.

    Args:
        source: a scan, or a folder (prepared, or in the published layout), or a table.
        folder: where to.
        patient: the id, if the source has several; of a single scan by default what its file is named after.
        truth: the lesion mask of a single scan.
        predictions: a file, or a folder with those of the patient, as `shiftbench assess` takes them.
        measure: the voxel measure below the slices; by default the first one that there is. Of several (a,b, or
            "all") the first is drawn, and the page has all.
        at: the voxel x,y,z where the planes meet, from 1; by default in the largest lesion.
        viewer: whether to write a page to scroll through the patient as well.

    Raises:
        ShiftbenchError: for files that are invalid.
        SettingsError: if several patients are there and none is named, or for an invalid voxel.
        UnknownNameError: for another patient or measure.
    """
    volumes = _volumes(source, truth, patient)
    row = _row(volumes, patient)
    name, prediction = volumes.ids[row], None
    if predictions is not None:
        named = submissions.named_by_table(volumes.patients)
        found = submissions.submission(predictions.name, predictions, volumes.ids, named=named)
        if lacking := submissions.missing([found], [name]):
            raise PredictionsError(*lacking)
        prediction, _ = found.read(name, volumes.shape(row), volumes.affine(row))
    chosen = _measures(measure, [*(prediction.maps if prediction else ())])
    view = view_of(volumes, row, prediction)
    if at:
        view = replace(view, at=_point(at, view.shape))
    path = folder / f"{files.name_of(name)}.png"
    folder.mkdir(parents=True, exist_ok=True)
    with files.replacing(path) as temporary:
        canvas.write_png(patient_figure(view, title=name, measure=chosen[0] if chosen else ""), temporary)
    if not viewer:
        return {"picture": path}
    drawn = page(view, volumes.affine(row), title=name, measures=chosen)
    return {"picture": path, "viewer": files.write_text(path.with_suffix(".html"), drawn)}


def _measures(text: str, known: list[str]) -> list[str]:
    """The measures that are named, each once."""
    chosen = known if text == ALL else [name for each in text.split(",") if (name := each.strip())]
    for name in chosen:
        if name not in known:
            raise UnknownNameError("measure", name, known or MEASURES)
    return [*dict.fromkeys(chosen)]


def _volumes(source: Path, truth: Path | None, patient: str) -> Volumes:
    if source.is_file() and source.name.endswith(nifti.SUFFIXES):
        kinds = {"flair": source, **({"gt": truth} if truth else {})}
        return Volumes((Patient(patient or submissions.patient_of(source), "", "", kinds),))
    if truth is not None:
        raise SettingsError(
            "--truth: expected with one scan, found a folder or table, which names masks itself. Drop it."
        )
    if (source / MANIFEST).is_file():
        return Volumes.open(source)
    return Volumes(layout.found(source).patients)


def _row(volumes: Volumes, patient: str) -> int:
    ids = volumes.ids
    if patient in ids:
        return ids.index(patient)
    if patient:
        raise UnknownNameError("patient", patient, ids)
    if len(ids) > 1:
        raise SettingsError(f"--patient: expected one of {', '.join(ids[:8])}, found none named. Name one.")
    return 0


def _point(text: str, shape: tuple[int, ...]) -> Point:
    found = re.fullmatch(r"\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*", text)
    places = [int(each) - 1 for each in found.groups()] if found else []
    if not places or any(not 0 <= place < size for place, size in zip(places, shape, strict=True)):
        most = ",".join(map(str, shape))
        raise SettingsError(f"--at: expected a voxel x,y,z from 1,1,1 to {most}, found {text!r}.")
    return places[0], places[1], places[2]
