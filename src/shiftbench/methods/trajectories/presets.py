"""Lists of methods by name: a preset runs a whole comparison.

Each entry holds the method's `name`, the `title` of its system, and those of its settings that are not the default.
"""

from __future__ import annotations

from collections.abc import Mapping

from shiftbench.errors import UnknownNameError
from shiftbench.methods.presets import Entries

# The middle 64 pixels at full size and not all 128 at half: the agent's own speed shows only in the few pixels of its
# box. About 1,500 requests to train on, 128 pixels: some 12 minutes on two cores. The least scale bounds the likelihood
# of parked vehicles: positions are not known to 2 cm. Conditioned on their own samples, networks learn too slowly.
QUICK_PLANNER = {
    "width": 0.25, "hidden": 64, "crop": 64, "batch": 64, "learning_rate": 2e-3, "epochs": 20, "patience": 20,
    "least_scale_m": 0.02, "dropout": 0.1, "weight_decay": 1e-4,
}  # fmt: skip

PRESETS: Mapping[str, Entries] = {
    "paper": (
        {"name": "cloning", "title": "BC"},
        {"name": "imitative", "title": "DIM"},
        {"name": "vector", "title": "Vector"},
    ),
    "quick": (
        {"name": "cloning", "title": "BC", "generation": "teacher_forcing", **QUICK_PLANNER},
        {"name": "imitative", "title": "DIM", **QUICK_PLANNER},
        {
            "name": "vector", "title": "Vector", "width": 64, "heads": 4, "mixing": 0, "layers": 2, "lines": 64,
            "batch": 64, "learning_rate": 1e-3, "epochs": 30, "patience": 10,
        },
    ),
}  # fmt: skip


def preset(name: str) -> Entries:
    """The methods of a preset: "paper" as published (hours, and a GPU), or "quick".

    Raises:
        UnknownNameError: if there is no preset of this name.
    """
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    return PRESETS[name]
