"""Lists of methods by name, so that one word runs a whole comparison.

Each entry is a table as in `[[methods]]` of a settings file: the method's `name`, the `title` of its system, and those
of its settings that are not the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from shiftbench.errors import UnknownNameError

Entries = tuple[Mapping[str, Any], ...]

CATBOOST, VIRTUAL, TRANSFORMER, DROPOUT = "CatBoost", "CatBoost-virtual", "FT-Transformer", "FT-Transformer-dropout"
TABM, BOTH = "TabM", "CatBoost+FT-Transformer"

DERIVED: Entries = (
    {"name": "mc_dropout", "title": DROPOUT, "of": TRANSFORMER},
    {"name": "combination", "title": BOTH, "of": [CATBOOST, TRANSFORMER]},
)

# The virtual members are stages of one model, so its trees are smaller and more: they must not all be alike. A tree
# for classes is as much work as one tree for each class, so quick ones take fewer and bolder steps.
QUICK_TREES: Mapping[str, Mapping[str, Any]] = {
    "regression": {"iterations": 1000, "learning_rate": 0.05},
    "classification": {"iterations": 400, "learning_rate": 0.1},
}
# Those of `boosting` are twice as many models, so they have fewer trees.
QUICK_FOLDS: Mapping[str, Mapping[str, Any]] = {
    "regression": {"iterations": 600, "learning_rate": 0.05},
    "classification": {"iterations": 400, "learning_rate": 0.1},
}
QUICK_STAGES: Mapping[str, Mapping[str, Any]] = {
    "regression": {"iterations": 3000, "learning_rate": 0.02},
    "classification": {"iterations": 800, "learning_rate": 0.05},
}


def _quick(task: str) -> Entries:
    """On two cores all networks of both tasks of the weather track together take less than 15 minutes.

    That holds whatever the number of rows: steps have a bound. Settings were found on dev_in alone.
    """
    return (
        {"name": "boosting", "title": CATBOOST, "members": 8, **QUICK_FOLDS[task]},
        {"name": "virtual_boosting", "title": VIRTUAL, **QUICK_STAGES[task]},
        {
            "name": "ft_transformer", "title": TRANSFORMER, "members": 4, "blocks": 2, "width": 32,
            "attention_heads": 2, "attention_dropout": 0.0, "dropout": 0.1, "learning_rate": 2e-3, "batch": 128,
            "most_steps": 1200,
        },
        {
            "name": "tabm", "title": TABM, "members": 2, "submodels": 16, "blocks": 2, "width": 128, "batch": 128,
            "most_steps": 1500,
        },
        *DERIVED,
    )  # fmt: skip


def _full(_task: str) -> Entries:
    """Ensembles of ten, networks as their authors set them: hours, and a GPU."""
    return (
        {"name": "boosting", "title": CATBOOST, "members": 10},
        {"name": "virtual_boosting", "title": VIRTUAL, "iterations": 3000, "learning_rate": 0.02},
        {"name": "ft_transformer", "title": TRANSFORMER, "members": 10},
        {"name": "tabm", "title": TABM, "members": 1},
        *DERIVED,
    )


PRESETS: Mapping[str, Callable[[str], Entries]] = {"quick": _quick, "full": _full}


def preset(name: str, *, task: str) -> Entries:
    """The methods of a preset for a task, "regression" or "classification".

    Raises:
        UnknownNameError: if there is no preset of this name.
    """
    if name not in PRESETS:
        raise UnknownNameError("preset", name, PRESETS)
    return PRESETS[name](task)
