"""Predictions of the M members of an ensemble for N records: one contract, members first, ragged where needed."""

from shiftbench.ensembles.categorical import LOG_EPSILON, Categorical, class_probabilities
from shiftbench.ensembles.ensemble import Array, Ensemble, combine, concatenated
from shiftbench.ensembles.gaussian import Gaussian
from shiftbench.ensembles.hypotheses import Hypotheses
from shiftbench.ensembles.lesions import Lesions
from shiftbench.ensembles.masks import Masks, Patients
from shiftbench.ensembles.means import Means
from shiftbench.ensembles.posteriors import Posteriors
from shiftbench.ensembles.quantiles import Quantiles
from shiftbench.ensembles.texts import Texts
from shiftbench.ensembles.trajectories import Mixture, Trajectories

__all__ = [
    "LOG_EPSILON",
    "Array",
    "Categorical",
    "Ensemble",
    "Gaussian",
    "Hypotheses",
    "Lesions",
    "Masks",
    "Means",
    "Mixture",
    "Patients",
    "Posteriors",
    "Quantiles",
    "Texts",
    "Trajectories",
    "class_probabilities",
    "combine",
    "concatenated",
]
