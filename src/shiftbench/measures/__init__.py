"""Measures of uncertainty: one number per record from an ensemble; higher always means less certain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shiftbench import check
from shiftbench.check import Vector
from shiftbench.ensembles import (
    Categorical,
    Ensemble,
    Gaussian,
    Hypotheses,
    Lesions,
    Masks,
    Means,
    Mixture,
    Patients,
    Posteriors,
    Quantiles,
    Texts,
    Trajectories,
)
from shiftbench.errors import ArrayError
from shiftbench.registry import Registry


@dataclass(frozen=True)
class Measure:
    """A definition of uncertainty, with one function for each kind of ensemble that it is defined for.

    kind: "total", "data" (noise that more data cannot remove) or "knowledge" (disagreement of the members).
    functions: kind of ensemble → a function of it that returns one number per record [N]. It must treat each record
    independently, because it is called on blocks of records.
    """

    name: str
    title: str
    kind: Literal["total", "data", "knowledge"]
    formula: str
    source: str
    functions: Mapping[type[Any], Callable[[Any], Vector]]
    needs: str = ""

    def fits(self, ensemble: Ensemble) -> bool:
        """Whether the measure is defined for this ensemble."""
        return type(ensemble) in self.functions and not (self.needs and getattr(ensemble, self.needs) is None)


_KINDS = ("gaussian", "quantiles", "categorical", "trajectories", "hypotheses", "texts", "masks")
MEASURES = Registry(
    "measure", Measure, "shiftbench.measures", homes=[f"shiftbench.measures.{kind}:MEASURES" for kind in _KINDS]
)
register = MEASURES.register


def uncertainty(ensemble: Ensemble, name: str) -> Vector:
    """The uncertainty of each record [N] by a measure of `MEASURES`; higher always means less certain.

    Raises:
        UnknownNameError: no measure of this name; the message suggests the closest one.
        ArrayError: the measure is not defined for this kind of ensemble, or did not give N finite numbers.
    """
    check.kind("ensemble", ensemble, Ensemble)
    measure = MEASURES[name]
    if not measure.fits(ensemble):
        fitting = ", ".join(entry.name for entry in MEASURES.values() if entry.fits(ensemble))
        without = f" without {measure.needs}" if type(ensemble) in measure.functions else ""
        kind = type(ensemble).__name__
        raise ArrayError(f"{name}: not defined for {kind} ensembles{without}. Those that are: {fitting or 'none'}.")
    function = measure.functions[type(ensemble)]
    values = np.empty(ensemble.records)
    for rows, block in ensemble.blocks():
        with np.errstate(over="ignore", invalid="ignore"):  # infinity and NaN are refused below
            found = np.asarray(function(block))
        if found.shape != (block.records,):
            raise ArrayError(f"{name}: expected one number a record, shape ({block.records},), found {found.shape}.")
        values[rows] = found
    return check.vector(name, values)


def measures_for(ensemble: Ensemble) -> tuple[str, ...]:
    """Names of the measures that apply to this ensemble; knowledge uncertainty needs at least two members."""
    check.kind("ensemble", ensemble, Ensemble)
    return tuple(
        measure.name
        for measure in MEASURES.values()
        if measure.fits(ensemble) and (ensemble.members > 1 or measure.kind != "knowledge")
    )


_HEADLINES: Mapping[type[Any], str] = {
    Gaussian: "total_variance",
    Means: "total_variance",
    Quantiles: "interval_width",
    Categorical: "negated_confidence",
    Trajectories: "plan_nll",
    Mixture: "cross_entropy",
    Hypotheses: "score_pe",
    Posteriors: "score_pe",
    Texts: "text_disagreement_gleu",
    Masks: "voxel_entropy",
    Lesions: "lesion_structural",
    Patients: "patient_structural",
}
_SINGLES: Mapping[type[Any], str] = {  # where the headline is disagreement, or another one is usual
    Categorical: "entropy_of_expected",
    Lesions: "lesion_mean_entropy_of_expected",
    Patients: "voxel_entropy",
}


def headline(ensemble: Ensemble) -> str:
    """The measure behind the headline scores, that of the papers if they name one.

    For a single model's class probabilities, of records or of voxels, it is the entropy.

    Raises:
        ArrayError: if no measure is defined for this kind and number of members.

    Source: Shifts 1.0 (Malinin et al. 2021), Section 3.
    """
    check.kind("ensemble", ensemble, Ensemble)
    singles = _SINGLES if ensemble.members == 1 else {}
    if name := singles.get(type(ensemble), _HEADLINES.get(type(ensemble))):
        return name
    if not (fitting := measures_for(ensemble)):
        raise ArrayError(
            f"headline: expected a measure for {ensemble!r}, found none. Register one; those of knowledge uncertainty "
            "need two members."
        )
    return fitting[0]
