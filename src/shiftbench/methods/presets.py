"""Lists of methods by name, so that one word runs a whole comparison.

Each entry is a table as in `[[methods]]` of a settings file: the method's `name`, the `title` of its system, and those
of its settings that are not the default.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftbench.errors import UnknownNameError

Entries = tuple[Mapping[str, Any], ...]

CATBOOST, VIRTUAL, TRANSFORMER, DROPOUT = "CatBoost", "CatBoost-virtual", "FT-Transformer", "FT-Transformer-dropout"
TABM, BOTH = "TabM", "CatBoost+FT-Transformer"

DERIVED: Entries = (
    {"name": "mc_dropout", "title": DROPOUT, "of": TRANSFORMER},
    {"name": "combination", "title": BOTH, "of": [CATBOOST, TRANSFORMER]},
)

# Widths and steps so that on two cores all neural methods together take minutes, whatever the number of rows.
QUICK: Entries = (
    {"name": "boosting", "title": CATBOOST, "members": 5, "iterations": 1000},
    {"name": "virtual_boosting", "title": VIRTUAL, "iterations": 1000},
    {"name": "ft_transformer", "title": TRANSFORMER, "members": 5, "blocks": 2, "width": 32},
    {"name": "tabm", "title": TABM, "members": 1},
    *DERIVED,
)

FULL: Entries = (
    {"name": "boosting", "title": CATBOOST, "members": 10},
    {"name": "virtual_boosting", "title": VIRTUAL},
    {"name": "ft_transformer", "title": TRANSFORMER, "members": 10},
    {"name": "tabm", "title": TABM, "members": 1},
    *DERIVED,
)

PRESETS: Mapping[str, Entries] = {"quick": QUICK, "full": FULL}


def preset(name: str) -> Entries:
    """The methods of a preset.

    Raises:
        UnknownNameError: if there is no preset of this name.
    """
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    return PRESETS[name]
