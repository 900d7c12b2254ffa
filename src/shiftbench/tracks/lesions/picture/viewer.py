"""A page to scroll through one patient: the scan with its overlays in niivue, which lies in the page itself.

niivue (BSD-2-Clause) comes with the package as it was published; `tools/niivue.py` renews it. The page asks no server:
its policy lets run the scripts of this module and of this very version of niivue, and nothing else.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.check import Flags
from shiftbench.components import components
from shiftbench.errors import counted
from shiftbench.measures import MEASURES
from shiftbench.metrics import segmentation
from shiftbench.report.digits import MISSING
from shiftbench.report.grid import Cell, Column, Grid, Row
from shiftbench.report.page import digest, template
from shiftbench.scores.metric import METRICS
from shiftbench.tracks.lesions import nifti, scoring
from shiftbench.tracks.lesions.picture.figure import ANSWER, HEAT, SCALE_MM, TRUTH, WINDOW
from shiftbench.tracks.lesions.picture.view import Point, View, box_of, centres, numbered

PACKAGE = "shiftbench.tracks.lesions.picture"
STEPS = 21  # of a colour scale
CLEAR = 0.15  # of the highest uncertainty: below it nothing is drawn, so that the scan is seen
FOUND, FALSE, MISSED = "true", "false alarm", "missed"


@dataclass(frozen=True)
class Lesion:
    """A line of the table of lesions: its name, volume in mm³, LSU (None if unknown), what it is, a voxel of it."""

    name: str
    volume: float
    structural: float | None
    kind: str
    at: Point


def page(view: View, affine: Any, *, title: str, measures: Sequence[str] = ()) -> str:
    """The page of a patient.

    Args:
        view: what is seen; the planes meet at `view.at`.
        affine: [4, 4] of the whole volume, RAS+ in mm.
        title: the patient.
        measures: the voxel measures of overlays; by default the first one that the prediction has.
    """
    seen, box = view.cropped(), box_of(view.brain, view.spacing)
    lesions = [*_predicted(seen), *_missed(seen)]
    settings: dict[str, Any] = {
        "volumes": [*_volumes(seen, measures)],
        "bar": SCALE_MM,
        "clear": CLEAR,
        "spacing": view.spacing.tolist(),
        "first": [side.start for side in box],
        "affine": np.asarray(affine, dtype=float).tolist(),
        "at": seen.at,
        "lesions": [lesion.at for lesion in lesions],
    }
    script = files(PACKAGE).joinpath("templates/viewer.js").read_text("utf-8")
    origin = json.loads(_niivue("origin.json"))
    bundle = base64.b64encode(bytes.fromhex(origin["sha256"])).decode()
    return template("viewer.html", package=PACKAGE, scripts=(digest(script), bundle)).render(
        title=title,
        settings=json.dumps(settings).replace("<", "\\u003c"),
        viewer=script,
        niivue=base64.b64encode(_niivue("niivue.js.gz")).decode(),
        version=origin["version"],
        bar=SCALE_MM,
        overlays=settings["volumes"][1:],
        scores=_scores(view),
        lesions=_table(lesions),
    )


def _niivue(name: str) -> bytes:
    return files(PACKAGE).joinpath("niivue", name).read_bytes()


# --- volumes ---------------------------------------------------------------------------------------------------------


def _volumes(view: View, measures: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The scan (or the brain), then what lies above it, the lowest first.

    Their grids are not turned, so that planes are those of the scan; the page has its affine for positions.
    """
    affine = np.diag([*view.spacing, 1.0])
    ground = view.brain.astype(np.float32) if view.image is None else view.image
    inside = ground[view.brain] if view.brain.any() else ground.ravel()
    low, high = (0.0, 3.0) if view.image is None else (float(end) for end in np.percentile(inside, WINDOW))
    grey = [[0, 0, 0], [255, 255, 255]]
    yield _volume("Scan" if view.image is not None else "Brain", ground - min(low, 0.0), affine, grey, most=high)
    prediction = view.prediction
    maps = {} if prediction is None else prediction.maps
    for name in measures or [*maps][:1]:
        values = maps[name] - min(float(maps[name][view.brain].min(initial=0.0)), 0.0)
        title = MEASURES[name].title if name in MEASURES else name
        yield _volume(title, values, affine, _heat(), most=float(values[view.brain].max(initial=0.0)))
    if view.truth is not None:
        yield _volume("Truth", view.truth, affine, [_rgb(TRUTH)] * 2)
    if prediction is not None:
        yield _volume("Prediction", prediction.mask, affine, [_rgb(ANSWER)] * 2)


def _volume(
    title: str, values: npt.NDArray[Any], affine: Any, colors: list[list[int]], *, most: float = 1.0
) -> dict[str, Any]:
    packed = nifti.compact(values, affine, most=most)
    return {"title": title, "nifti": base64.b64encode(packed).decode(), "colors": colors, "most": most or 1.0,
            "mask": values.dtype.kind == "b"}  # fmt: skip


def _rgb(color: str) -> list[int]:
    return list(bytes.fromhex(color.removeprefix("#")))


def _heat() -> list[list[int]]:
    from matplotlib import colormaps

    return [[round(255 * float(part)) for part in color[:3]] for color in colormaps[HEAT](np.linspace(0, 1, STEPS))]


# --- tables ----------------------------------------------------------------------------------------------------------


def _predicted(view: View) -> Iterator[Lesion]:
    """The predicted lesions, numbered as in the pictures; true or not by the published rule, if the truth is known."""
    if view.prediction is None:
        return
    labels, structural = numbered(view)
    voxel = float(np.prod(view.spacing))
    flags = None if view.truth is None else _matches(view.truth, view.prediction.mask, labels)
    sizes = np.bincount(labels.ravel())[1:]
    for place, at in enumerate(centres(labels)):
        kind = "" if flags is None else FOUND if flags[place] else FALSE
        yield Lesion(str(place + 1), sizes[place] * voxel, structural[place] if structural else None, kind, at)


def _matches(truth: Flags, mask: Flags, labels: npt.NDArray[np.int32]) -> Flags:
    """Whether each numbered lesion is a true one."""
    names, places = np.unique(labels, return_index=True)
    order = components(mask, 6)[0].ravel()[places[names > 0]]
    return np.asarray(segmentation.lesion_counts(truth, mask).matches, dtype=np.bool_)[order - 1]


def _missed(view: View) -> Iterator[Lesion]:
    """The lesions of the truth that are missed, or all of them where nothing is predicted; the largest first."""
    if view.truth is None:
        return
    labels, count = components(view.truth, 6)
    lost = np.ones(count, dtype=bool)
    if view.prediction is not None:
        lost = ~np.asarray(segmentation.lesion_counts(view.truth, view.prediction.mask).detected, dtype=np.bool_)
    sizes, places = np.bincount(labels.ravel(), minlength=count + 1)[1:], centres(labels)
    kind = MISSED if view.prediction is not None else ""
    for number, place in enumerate((place for place in np.argsort(-sizes, kind="stable") if lost[place]), 1):
        volume = float(sizes[place] * np.prod(view.spacing))
        yield Lesion(f"{'T' if kind else ''}{number}", volume, None, kind, places[place])


def _table(lesions: list[Lesion]) -> Grid:
    values = {
        "Volume (mm³)": [f"{each.volume:,.0f}" for each in lesions],
        "LSU": [MISSING if each.structural is None else f"{each.structural:.2f}" for each in lesions],
        "": [each.kind or MISSING for each in lesions],
    }
    shown = {name: cells for name, cells in values.items() if any(cell != MISSING for cell in cells)}
    rows = [Row(each.name, tuple(Cell(cells[place]) for cells in shown.values())) for place, each in enumerate(lesions)]
    columns = tuple(Column(name or "Outcome", numeric=bool(name)) for name in shown)
    return Grid("lesions", "", "Lesions", "Lesion", columns, tuple(rows))


def _scores(view: View) -> Grid:
    """The scores and uncertainties of the patient, and volumes of lesions, by name."""
    facts: dict[str, str] = {}
    if view.truth is not None and view.prediction is not None:
        case = scoring.Case(view.truth, view.brain, view.spacing)
        for name, value in scoring.mask_scores(case, view.prediction.mask, usual=True).items():
            metric = METRICS[name]
            facts[metric.title] = f"{100 * value:.1f} %" if metric.scale == "percent" else f"{value:.2f}"
        for name, value in scoring.patient_uncertainty(case, view.prediction).items():
            facts |= {MEASURES[name].title: f"{value:.3g}"} if name else {}
    masks = {"truth": view.truth, "prediction": None if view.prediction is None else view.prediction.mask}
    for name, mask in masks.items():
        if mask is not None:
            volume = np.count_nonzero(mask) * np.prod(view.spacing) / 1000
            facts[f"In the {name}"] = f"{counted(components(mask, 6)[1], 'lesion')}, {volume:.2f} ml"
    rows = tuple(Row(name, (Cell(text),)) for name, text in facts.items())
    return Grid("scores", "", "Scores of this patient", "", (Column(""),), rows)
