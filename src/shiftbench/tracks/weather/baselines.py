"""The systems of a weather run: presets of methods for both tasks, and the forecasts in the table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftbench.errors import UnknownNameError
from shiftbench.methods import presets

CELSIUS = -273.15  # kelvin to degrees Celsius
FORECASTS: presets.Entries = (
    {"name": "column", "title": "GFS", "column": "gfs_temperature_sea_interpolated"},
    {"name": "column", "title": "CMC", "column": "cmc_0_0_0_2_interpolated", "offset": CELSIUS},
    {"name": "column", "title": "WRF", "column": "wrf_t2_interpolated", "offset": CELSIUS},
)

# Shifts 1.0, Appendix C.4. The patience of early stopping is not printed, nor are further settings of the transformer,
# so it has its library's defaults.
PATIENCE = 500
PUBLISHED = "likelihood_boosting"
PAPER_BOOSTING: Mapping[str, Mapping[str, Any]] = {
    "regression": {"depth": 8, "iterations": 20_000, "learning_rate": 0.3},
    "classification": {"depth": 6, "iterations": 10_000, "learning_rate": 0.4},
}
PRESETS = ("quick", "paper")


def methods(preset: str, *, task: str) -> presets.Entries:
    """The methods of a preset for a task, and for the temperature also the three forecasts of the table.

    quick: minutes on two cores. paper: ensembles of ten with the printed settings, for a machine with a GPU.

    Raises:
        UnknownNameError: if there is no preset of this name.
    """
    if preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    quick = _published(presets.preset("quick", task=task), presets.QUICK_TREES[task])
    chosen = quick if preset == "quick" else _paper(task)
    return (*chosen, *(FORECASTS if task == "regression" else ()))


def _published(entries: presets.Entries, printed: Mapping[str, Any]) -> presets.Entries:
    """The entries with the paper's ensemble of CatBoost models instead of ours, as in its tables."""
    return tuple(
        {**entry, "name": PUBLISHED, **printed} if entry["name"] == "boosting" else dict(entry) for entry in entries
    )


def _paper(task: str) -> presets.Entries:
    printed = {**PAPER_BOOSTING[task], "early_stopping": PATIENCE}
    return tuple(
        {**entry, **printed} if entry["name"] == "virtual_boosting" else entry
        for entry in _published(presets.preset("full", task=task), printed)
    )


METHODS = tuple(
    dict.fromkeys(
        str(entry["name"])
        for preset in PRESETS
        for task in ("regression", "classification")
        for entry in methods(preset, task=task)
    )
)
"""The names of all methods of all presets."""
