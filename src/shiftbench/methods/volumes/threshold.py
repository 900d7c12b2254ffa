"""Thresholds of probabilities: searched on volumes whose foreground is known, and kept beside the members."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.components import SMALL_MM3, bounding_box, large_levels, small_voxels
from shiftbench.errors import SettingsError, UnknownNameError
from shiftbench.io import files
from shiftbench.methods import fitted_folder, member_files
from shiftbench.methods.volumes.dataset import Flags
from shiftbench.methods.volumes.sums import reached
from shiftbench.metrics.segmentation.overlap import R, dice, false_weight

FILE = "calibration.json"
UNIT = (1.0, 1.0, 1.0)  # mm
GRID = np.round(np.arange(0.01, 1, 0.01), 2)

RULES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "in_domain_dev": ("trained", ("dev_in",)),
    "out_domain_train+dev": ("tested", ("train", "dev_in")),
    "out_domain_test": ("tested", ("eval_in",)),
}
"""What thresholds of models that are trained on one site and tested on another are tuned on: the site, and its parts.

The last is an oracle: it has seen the answers. Source: Shifts 2.0 (Malinin et al. 2022), Table 4.
"""


def tuned_on(rule: str, *, trained: str, tested: str) -> tuple[str, tuple[str, ...]]:
    """The site, and its parts, on whose volumes a threshold is tuned by a rule of `RULES`.

    Raises:
        UnknownNameError: for another rule.
    """
    if rule not in RULES:
        raise UnknownNameError("rule of thresholds", rule, RULES)
    whose, parts = RULES[rule]
    return trained if whose == "trained" else tested, parts


class Search:
    """Finds the threshold with the highest mean nDSC over volumes that are added one after another.

    All thresholds of the grid 0.01, 0.02, …, 0.99 are tried, each with the components removed that would be removed
    from a segmentation (`small_mm3` or less); of equal ones that nearest to 0.5 counts.
    """

    def __init__(self, small_mm3: float = SMALL_MM3) -> None:
        self.small_mm3, self.scores = small_mm3, list[npt.NDArray[np.float64]]()

    def add(self, probability: npt.NDArray[Any], truth: Flags, spacing: Any = UNIT) -> None:
        """Add a volume: the probability of its foreground, and where that truly is, both [X, Y, Z].

        spacing: the edges of a voxel [3] in mm.
        """
        self.scores.append(scores(probability, truth, spacing, small_mm3=self.small_mm3))

    @property
    def best(self) -> tuple[float, float]:
        """The threshold, and the mean nDSC with it.

        Raises:
            IndexError: if no volume was added.
        """
        mean = np.mean(self.scores, axis=0)
        tied = np.flatnonzero(mean >= mean.max() - 1e-12)
        chosen = tied[np.abs(GRID[tied] - 0.5).argmin()]
        return float(GRID[chosen]), float(mean[chosen])


def scores(
    probability: npt.NDArray[Any], truth: Flags, spacing: Any = UNIT, *, small_mm3: float = SMALL_MM3
) -> npt.NDArray[np.float64]:
    """nDSC of a volume at each threshold of the grid [99], which foreground reaches; see `Search`."""
    grid = GRID.astype(np.float32)  # as `sums.reached` compares
    box = bounding_box(reached(probability, GRID[0]))  # nothing else reaches any threshold
    level = np.searchsorted(grid, probability[box].astype(np.float32, copy=False), side="right")
    if larger_than := small_voxels(spacing, small_mm3):
        level = large_levels(level, larger_than=larger_than)
    hits = truth[box]
    true, false = (
        np.bincount(level[chosen], minlength=len(GRID) + 1)[::-1].cumsum()[::-1][1:] for chosen in (hits, ~hits)
    )
    positives = int(np.count_nonzero(truth))
    return dice(false, positives - true, positives, false_weight(positives, truth.size, R))


def write(folder: Path, found: Mapping[str, Any]) -> None:
    """Keep the thresholds of the fit in `folder`."""
    files.write_json(folder / FILE, {"fit": fitted_folder.identity(folder), **found})


def read(folder: Path) -> dict[str, Any]:
    """The thresholds of the fit in `folder`; empty if they are missing, damaged or of another fit."""
    found = fitted_folder.read_note(folder / FILE)
    return found if found.pop("fit", None) == fitted_folder.identity(folder) else {}


def require(folder: Path, ensemble: str, *, members: int, network: int = 0) -> dict[str, Any]:
    """The thresholds of an ensemble of so many members of the fit in `folder`; of this network, if they are its draws.

    Raises:
        SettingsError: if they are missing, damaged or of another fit; for a network that there is not.
    """
    found = read(folder).get(ensemble)
    if not isinstance(found, list) or not found or not all(_valid(entry, members) for entry in found):
        raise SettingsError(
            f"{folder}: {FILE}: expected the thresholds of {ensemble}, found none that are whole and of this fit. "
            f"{member_files.ADVICE}"
        )
    if not 0 <= network < len(found):
        raise SettingsError(f"network: expected 0 to {len(found) - 1} with draws of its own, found {network}.")
    return dict(found[network])


def _valid(entry: Any, count: int) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("members"), list) or len(entry["members"]) != count:
        return False
    score = entry.get("ndsc")
    values = [entry.get("threshold"), *entry["members"], 0.0 if score is None else score]
    return all(isinstance(value, float) and 0 <= value <= 1 for value in values)
