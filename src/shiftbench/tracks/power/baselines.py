"""The systems of a run on vessel data: presets of the four networks of Shifts 2.0, Appendix D.3."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftbench.errors import UnknownNameError
from shiftbench.methods import presets
from shiftbench.tracks.power import schema

PRESETS = ("quick", "paper")
SCALES = {schema.SINCE_DRY_DOCK: 4_324_320.0}  # minutes: 8.2 years, "about 8" according to the paper's authors
PAPER: presets.Entries = (
    {"name": "mlp", "title": "DNN", "scales": SCALES},
    {"name": "mlp_dropout", "title": "MC-dropout", "scales": SCALES},
    {"name": "mlp_flipout", "title": "VI", "scales": SCALES},
    {"name": "symbolic", "title": "Symbolic"},
)
"""The other printed settings are the methods' own: ten members, and ten draws of each where draws differ."""
METHODS = tuple(str(entry["name"]) for entry in PAPER)

# The number of steps is bounded, so their length begins higher and falls to 0. Tuned on dev_in.
BOLD: Mapping[str, Any] = {"batch": 256, "learning_rate": 5e-3, "cosine": True, "most_steps": 12_000, "patience": 20}
QUICK: Mapping[str, Mapping[str, Any]] = {str(entry["name"]): BOLD for entry in PAPER} | {
    "symbolic": {**BOLD, "learning_rate": 1e-2, "most_steps": 8_000}
}


def methods(preset: str, *, task: str) -> presets.Entries:
    """The methods of a preset; `task` is "regression", the track's only one.

    quick: minutes on two cores for any number of records: fewer and larger steps. paper: the printed settings.

    Raises:
        UnknownNameError: if there is no preset or task of this name.
    """
    if preset not in PRESETS:
        raise UnknownNameError("preset", preset, PRESETS)
    if task != "regression":
        raise UnknownNameError("task", task, ["regression"])
    return tuple({**entry, **(QUICK[entry["name"]] if preset == "quick" else {})} for entry in PAPER)
