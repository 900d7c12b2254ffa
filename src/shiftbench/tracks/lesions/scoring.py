"""Scores of predictions, patient by patient: what a patient adds to every table, and the systems made of it.

Only one volume is in memory at a time, of any number of patients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.assessment.scored import Drawn, Records, Scored, Singles
from shiftbench.check import Flags, Vector
from shiftbench.components import components
from shiftbench.ensembles.structure import disagreement, lesion_overlaps, patient_overlaps
from shiftbench.errors import ShiftbenchError
from shiftbench.metrics import segmentation
from shiftbench.metrics.segmentation import correlation, retention, scores, structure
from shiftbench.progress import Progress, silent
from shiftbench.scores.resampling import SetTerms, Terms
from shiftbench.scores.score import System
from shiftbench.tracks.lesions import evaluation
from shiftbench.tracks.lesions.prediction import MEASURES, Prediction
from shiftbench.tracks.lesions.volumes import Volumes

HEADLINES = ("patient_structural", "voxel_entropy", "")  # of systems with members, with a probability, with masks alone
"""Measures of patients by their use as the one behind the headline scores."""
LESION_HEADLINES = ("lesion_structural", *(f"lesion_mean_{name}" for name in MEASURES))
"""Measures of lesions; the first that a system has stands behind its LPPV gain in the headline tables."""
LPPV_GAIN = "lppv_gain"
RULE = segmentation.LesionRule()  # the published one; all others stand in a table of their own
NDSC = "ndsc"
BY_LOAD, VOXELS = "{}_by_load", "voxel_retention"  # curves of reports: a score over the load, and nDSC of voxels
PLACES = np.r_[0, 3:200:4]  # of the published points: every fourth is drawn
RETAINED = retention.GRIDS["published"]()[PLACES]
SHOWN = ("reverse_mutual_information", "entropy_of_expected")  # measures of voxels, of which the first known is drawn


@dataclass(frozen=True)
class PatientScores:
    """Scores of one system on one patient.

    scores: metric → value. amounts: metric of a set → what the patient adds to its sums. uncertainty: measure → value;
    "" → 0 where there is none. members: the same of each member alone. curves: order → nDSC of the voxels of the brain
    at the shares `RETAINED`.
    """

    scores: Mapping[str, float]
    amounts: Mapping[str, Sequence[float]]
    uncertainty: Mapping[str, float]
    members: tuple[PatientScores, ...] = ()
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, held: Mapping[str, Any]) -> PatientScores:
        """From what `dataclasses.asdict` makes of it."""
        members = tuple(cls.from_dict(each) for each in held["members"])
        return cls(held["scores"], held["amounts"], held["uncertainty"], members, held["curves"])


@dataclass(frozen=True)
class Reader:
    """A system as scoring sees it: its name, its prediction for a row of volumes, and its scores on the patient.

    scores: (volumes, row, truth); by default those of what `read` gives.
    """

    system: System
    read: Callable[[Volumes, int], Prediction]
    scores: Callable[[Volumes, int, Case], PatientScores] | None = None

    def on(self, volumes: Volumes, row: int, case: Case) -> PatientScores:
        """The scores of a patient."""
        return self.scores(volumes, row, case) if self.scores else patient_scores(case, self.read(volumes, row))


@dataclass(frozen=True, eq=False)
class Case:
    """The truth of one patient: lesion and brain mask bool [X, Y, Z], and the sides of a voxel [3] in mm."""

    truth: Flags
    brain: Flags
    spacing: npt.NDArray[np.float64]

    @classmethod
    def of(cls, volumes: Volumes, row: int) -> Case:
        """That of a row of the volumes.

        Raises:
            ShiftbenchError: for files that are invalid, or an empty brain mask.
        """
        truth, brain = volumes.truth(row), volumes.brain(row)
        assert truth is not None
        if not brain.any():
            raise ShiftbenchError(
                f"{volumes.ids[row]}: expected a brain mask, found an empty one. Leave it out to take the voxels of "
                "the scan that are not 0."
            )
        return cls(truth, brain, volumes.spacing(row))

    @property
    def load_ml(self) -> float:
        """The volume of all lesions."""
        return float(np.count_nonzero(self.truth) * np.prod(self.spacing) / 1000)


def score(
    volumes: Volumes, split: str, readers: Sequence[Reader], *, progress: Progress | None = None
) -> tuple[Records, list[Scored]]:
    """Patients as records, and systems scored on them, reading one patient's volumes at a time."""
    say, loads = progress or silent, []
    rows: list[list[PatientScores]] = [[] for _ in readers]
    for row in range(len(volumes)):
        say(f"score {split}", row, len(volumes))
        case = Case.of(volumes, row)
        loads.append(case.load_ml)
        for reader, own in zip(readers, rows, strict=True):
            own.append(reader.on(volumes, row, case))
    say(f"score {split}", len(volumes), len(volumes))
    found = [scored(reader.system, own, np.array(loads)) for reader, own in zip(readers, rows, strict=True)]
    return evaluation.records(volumes, split, np.array(loads)), found


def scored(system: System, patients: Sequence[PatientScores], loads: Vector) -> Scored:
    """A system from its N patients, with the scores and measures that all of them have.

    loads: [N], ml, with which scores are correlated.
    """

    def shared(part: str) -> list[str]:
        """In an order that does not depend on how the scores were kept."""
        return sorted(set.intersection(*({*getattr(each, part)} for each in patients)))

    means = {name: np.array([each.scores[name] for each in patients]) for name in shared("scores")}
    sums = {name: np.array([each.amounts[name] for each in patients]) for name in shared("amounts")}
    known = shared("uncertainty")
    headline = next((name for name in HEADLINES if name in known), "")
    measures = (headline, *(name for name in known if name != headline))
    return Scored(
        replace(system, measure=headline, measures=measures if headline else ()),
        np.clip(1.0 - means[NDSC], 0.0, 1.0),
        {name: np.array([each.uncertainty.get(name, 0.0) for each in patients]) for name in measures},
        means=means,
        sets={
            **{name: SetTerms(Terms(amounts=each)) for name, each in sums.items()},
            **correlation.all_terms(loads, means),
        },
        singles=_singles(system, patients, loads),
        drawn=tuple(_drawn(patients, loads, means)),
    )


def _drawn(patients: Sequence[PatientScores], loads: Vector, means: Mapping[str, Vector]) -> Iterator[Drawn]:
    """The scores that are correlated with the load over it, and the retention of voxels."""
    for name in correlation.SCORES:
        if name in means:
            yield Drawn(BY_LOAD.format(name), loads, means[name], order="")
    for order in ("uncertainty", *retention.ORDERS):
        if all(order in each.curves for each in patients):
            yield Drawn(VOXELS, RETAINED, np.array([each.curves[order] for each in patients]), order=order)


def _singles(system: System, patients: Sequence[PatientScores], loads: Vector) -> Singles | None:
    """The members alone, if every patient has the same number of them."""
    counts = {len(each.members) for each in patients}
    if len(counts) > 1 or max(counts) < 2:
        return None
    alone = System(f"{system.name} (single)", "single")
    every = [scored(alone, [each.members[k] for each in patients], loads) for k in range(max(counts))]
    return Singles(every[0].system, len(every), lambda k: every[k])


# --- one patient -----------------------------------------------------------------------------------------------------


def patient_scores(
    case: Case, prediction: Prediction, *, member: bool = False, members: Sequence[PatientScores] | None = None
) -> PatientScores:
    """All scores and uncertainties of one patient.

    member: whether it is a member alone, which is not scored by every rule. members: the scores of its members, by
    default those of the members of the prediction.
    """
    if members is None:
        count = 0 if member or prediction.members is None else len(prediction.members)
        each = range(count if count > 1 else 0)
        members = [patient_scores(case, prediction.single(k), member=True) for k in each]
    curves = voxel_curves(case, prediction)
    return PatientScores(
        {
            **mask_scores(case, prediction.mask, usual=member),
            **{f"ndsc_raac_{name}": float(curve.area) for name, curve in curves.items()},
            **lesion_areas(case, prediction),
        },
        {} if member else lesions_by_size(case, prediction.mask),
        patient_uncertainty(case, prediction),
        tuple(members),
        shown_curves(curves),
    )


RULES = {
    "ndsc": "r = 0.001, whole volume", "retention": "published points, voxels of the brain",
    "lesion_f1": str(RULE), LPPV_GAIN: "of LSU; without members, of the mean entropy of a lesion's voxels",
}  # fmt: skip
"""How the headline scores are made, for recipes."""


def mask_scores(case: Case, mask: Flags, *, usual: bool = False) -> dict[str, float]:
    """Scores of a mask alone: overlap, distances between surfaces, and lesions by every rule, or by the usual one."""
    truth, spacing = case.truth, case.spacing
    table = [segmentation.lesion_counts(truth, mask)] if usual else segmentation.lesion_table(truth, mask)
    counts = next(each for each in table if each.rule == RULE)
    found = {
        NDSC: segmentation.ndsc(truth, mask), "dsc": segmentation.dsc(truth, mask),
        "lesion_f1": counts.f1, "lesion_precision": counts.precision, "lesion_recall": counts.recall,
        "hausdorff_95": segmentation.hausdorff_95(truth, mask, spacing=spacing),
        "surface_distance": segmentation.surface_distance(truth, mask, spacing=spacing),
        **({} if usual else scores.f1_scores(table)),
    }  # fmt: skip
    return {name: float(value) for name, value in found.items()}


def lesions_by_size(case: Case, mask: Flags) -> dict[str, list[float]]:
    """Lesions detected, and those there are, by their volume."""
    classes = segmentation.detection_by_size(case.truth, mask, spacing=case.spacing)
    return {name: each.tolist() for name, each in scores.detected_amounts(classes).items()}


def voxel_curves(case: Case, prediction: Prediction) -> dict[str, retention.Curve]:
    """nDSC retention of the voxels of the brain by each measure, of a random order and the best one."""
    if not prediction.maps:
        return {}
    truth, answers = case.truth[case.brain], prediction.mask[case.brain]
    orders = {name: values[case.brain] for name, values in prediction.maps.items()}
    return {
        name: segmentation.ndsc_retention_curve(truth, answers, by)
        for name, by in {**orders, **{name: name for name in retention.ORDERS}}.items()
    }


def shown_curves(curves: Mapping[str, retention.Curve]) -> dict[str, list[float]]:
    """The curve of the measure that is drawn, and those of other orders, at the shares `RETAINED`."""
    first = next((name for name in SHOWN if name in curves), None)
    named = {} if first is None else {"uncertainty": first, **{name: name for name in retention.ORDERS}}
    return {order: np.round(curves[name].scores[PLACES], 6).tolist() for order, name in named.items()}


def lesion_areas(case: Case, prediction: Prediction) -> dict[str, float]:
    """The retention areas of predicted lesions by each measure, of a random order and the best one; and the gains."""
    measured = lesion_uncertainty(prediction)
    if not measured:
        return {}
    counts = segmentation.lesion_counts(case.truth, prediction.mask)
    true = np.asarray(counts.matches, dtype=np.bool_)
    orders = {**measured, "random": np.zeros(len(true)), "optimal": 1.0 - true}
    found = {}
    for name, values in orders.items():
        found[f"lppv_aac_{name}"] = structure.lppv_retention_area(true, values)
        found[f"lf1_aac_{name}"] = structure.lf1_retention_area(true, values, missed=counts.missed)
        if name != "random":
            found[f"lppv_gain_{name}"] = structure.lppv_gain(true, values)
    headline = next(name for name in LESION_HEADLINES if name in measured)
    return {name: float(value) for name, value in {**found, LPPV_GAIN: found[f"lppv_gain_{headline}"]}.items()}


def lesion_uncertainty(prediction: Prediction) -> dict[str, Vector]:
    """The uncertainty of each predicted lesion [L] by measure: structural, and of its voxels the mean and log-sum."""
    labels, _ = components(prediction.mask, RULE.connectivity)
    found: dict[str, Vector] = {}
    if prediction.members is not None and len(prediction.members) > 1:
        found["lesion_structural"] = disagreement(lesion_overlaps(labels, prediction.members, RULE.connectivity))
    for name, values in prediction.maps.items():
        found[f"lesion_mean_{name}"] = structure.lesion_means(labels, values)
        if name != "negated_confidence":  # it has no logarithm
            found[f"lesion_log_sum_{name}"] = structure.lesion_log_sums(labels, values)
    return found


def patient_uncertainty(case: Case, prediction: Prediction) -> dict[str, float]:
    """The uncertainty of a patient by measure; constant, with the name "", where there is none."""
    found = {}
    if prediction.members is not None and len(prediction.members) > 1:
        overlaps = patient_overlaps(prediction.mask, prediction.members)
        found["patient_structural"] = 1.0 - float(np.mean(overlaps))
    if "entropy_of_expected" in prediction.maps:
        inside = prediction.maps["entropy_of_expected"][case.brain]
        found["voxel_entropy"] = float(inside.mean(dtype=np.float64)) if inside.size else 0.0
    return found or {"": 0.0}
