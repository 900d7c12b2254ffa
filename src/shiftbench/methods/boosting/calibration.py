"""One factor for the variances of an ensemble, fitted to records on which no member was trained."""

from __future__ import annotations

import math
from pathlib import Path

from shiftbench.check import Vector
from shiftbench.ensembles import Gaussian
from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.methods import fitted_folder, member_files
from shiftbench.metrics import regression

FILE = "calibration.json"
LARGEST = 1e4  # factor; its inverse is the smallest
STEPS = 30  # of the search, each of which reduces the interval to 0.618
MOST_RECORDS = 100_000  # the first ones; more would hardly change the factor
GOLDEN = (math.sqrt(5) - 1) / 2


def factor(targets: Vector, ensemble: Gaussian) -> float:
    """The factor of the variances [M, N] that maximises the likelihood of the targets [N] under the mixture.

    By golden-section search (Kiefer, Proc. AMS 4, 1953) on the logarithm, from 1e-4 to 1e4.
    """
    rows = slice(MOST_RECORDS)
    targets, mean, variance = targets[rows], ensemble.mean[:, rows], ensemble.variance[:, rows]

    def loss(power: float) -> float:
        return regression.nll(targets, Gaussian(mean, variance * math.exp(power)))

    low, high = -math.log(LARGEST), math.log(LARGEST)
    for _ in range(STEPS):
        step = GOLDEN * (high - low)
        if loss(high - step) <= loss(low + step):
            high = low + step
        else:
            low = high - step
    return math.exp((low + high) / 2)


def write(folder: Path, found: float) -> None:
    """Keep the factor of the fit in `folder`."""
    files.write_json(folder / FILE, {"fit": fitted_folder.identity(folder), "factor": found})


def read(folder: Path) -> float | None:
    """The factor of the fit in `folder`; None if it is missing, damaged or of another fit."""
    value = fitted_folder.read_note(folder / FILE)
    found = value.get("factor") if value.get("fit") == fitted_folder.identity(folder) else None
    return found if isinstance(found, float) and 0 < found < math.inf else None


def require(folder: Path) -> float:
    """The factor of the fit in `folder`.

    Raises:
        SettingsError: if it is missing, damaged or of another fit.
    """
    if (found := read(folder)) is None:
        raise SettingsError(
            f"{folder}: {FILE}: expected the factor of the variances, found none that is whole and of this fit. "
            f"{member_files.ADVICE}"
        )
    return found
