"""nDSC on every site of a model that has learnt from one, its threshold tuned by three rules (Shifts 2.0, Table 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from shiftbench.check import Vector
from shiftbench.methods.volumes import threshold
from shiftbench.methods.volumes.threshold import GRID, RULES, Search
from shiftbench.progress import Progress
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.lesions.patient import Patient
from shiftbench.tracks.lesions.prediction import PROBABILITY
from shiftbench.tracks.lesions.volumes import Volumes

OTHERS = {"train": "dev_out", "dev_in": "dev_out", "eval_in": "eval_out"}  # parts of other sites, as in `partition`
TESTED = ("eval_in", "eval_out")
STAGE = "thresholds by site"

Sites = dict[str, dict[str, dict[str, float]]]
"""Rule → site → `ndsc`, `patients`, and the `threshold` where one was tuned for the site."""


@dataclass(frozen=True)
class Predicted:
    """The patients of a set, the folder of a system's predictions for them, and the nDSC of each."""

    volumes: Volumes
    folder: Path
    ndsc: Sequence[float]


@dataclass(frozen=True)
class Known:
    """A patient with the nDSC of a prediction, and that at each threshold of the grid; None without a probability."""

    patient: Patient
    ndsc: float
    curve: Vector | None


def scores(sets: Sequence[Predicted], trained: str, *, progress: Progress) -> Sites:
    """nDSC on the patients of eval of each site, by each rule of `threshold.RULES` that can be followed.

    Left out are sites of which a part to tune on has no predictions, and all tuning of systems without probabilities.
    """
    rows = [(own, row) for own in sets for row in range(len(own.volumes))]
    known = []
    for number, (own, row) in enumerate(rows):
        progress(STAGE, number, len(rows))
        known.append(Known(own.volumes.patients[row], own.ndsc[row], _curve(own, row)))
    progress(STAGE, len(rows), len(rows))
    found: Sites = {}
    for rule in RULES:
        for site in dict.fromkeys(each.patient.site for each in known):
            tested = [each for each in known if each.patient.site == site and each.patient.part in TESTED]
            if tested and (score := _score(known, tested, rule, trained)):
                found.setdefault(rule, {})[site] = {**score, "patients": len(tested)}
    return found


def _curve(own: Predicted, row: int) -> Vector | None:
    path, truth = own.folder / f"{own.volumes.ids[row]}_{PROBABILITY}.nii.gz", own.volumes.truth(row)
    if truth is None or not path.is_file():
        return None
    return threshold.scores(nifti.probabilities(path).array, truth, own.volumes.spacing(row))


def _score(known: Sequence[Known], tested: Sequence[Known], rule: str, trained: str) -> dict[str, float]:
    """Mean nDSC of the tested patients of a site by a rule; empty if it cannot be followed."""
    site = tested[0].patient.site
    if RULES[rule][0] == "trained":  # the threshold that the model has
        return {"ndsc": float(np.mean([each.ndsc for each in tested]))}
    whose, parts = threshold.tuned_on(rule, trained=trained, tested=site)
    wanted = {part if site == trained else OTHERS[part] for part in parts}
    pool = [each for each in known if each.patient.site == whose and each.patient.part in wanted]
    search, curves = Search(), [each.curve for each in tested]
    search.scores = [each.curve for each in pool if each.curve is not None]
    if {each.patient.part for each in pool} != wanted or len(search.scores) < len(pool):
        return {}
    best, _ = search.best
    place = int(np.flatnonzero(best == GRID)[0])
    return {"ndsc": float(np.mean([curve[place] for curve in curves if curve is not None])), "threshold": best}
