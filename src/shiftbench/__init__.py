"""shiftbench: does a model stay good when the world shifts, and does it know when it does not?

The names below are the public interface; each is imported when first used, so that importing the package is fast.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shiftbench import metrics
    from shiftbench.assessment.arrays import assess, assess_predictions
    from shiftbench.assessment.assess import Options
    from shiftbench.assessment.predictions import Predictions
    from shiftbench.ensembles import Categorical, Gaussian, Means, Quantiles
    from shiftbench.errors import ShiftbenchError, ShiftbenchWarning
    from shiftbench.measures import MEASURES, uncertainty
    from shiftbench.partition import Rules
    from shiftbench.report import Report
    from shiftbench.scores.detection import pr_auc, roc_auc
    from shiftbench.scores.retention import (
        error_retention,
        f1_at,
        f1_auc,
        f1_auc_normalised,
        f1_retention,
        r_auc,
        rejection_ratio,
    )

_HOMES = {
    "assess": "assessment.arrays",
    "assess_predictions": "assessment.arrays",
    "Options": "assessment.assess",
    "Report": "report",
    "error_retention": "scores.retention",
    "f1_retention": "scores.retention",
    "r_auc": "scores.retention",
    "f1_auc": "scores.retention",
    "f1_auc_normalised": "scores.retention",
    "f1_at": "scores.retention",
    "rejection_ratio": "scores.retention",
    "roc_auc": "scores.detection",
    "pr_auc": "scores.detection",
    "Gaussian": "ensembles",
    "Categorical": "ensembles",
    "Means": "ensembles",
    "Quantiles": "ensembles",
    "MEASURES": "measures",
    "uncertainty": "measures",
    "Rules": "partition",
    "Predictions": "assessment.predictions",
    "ShiftbenchError": "errors",
    "ShiftbenchWarning": "errors",
}

__version__ = "0.19.0"  # the one source: pyproject.toml reads it, too

__all__ = [
    "MEASURES",
    "Categorical",
    "Gaussian",
    "Means",
    "Options",
    "Predictions",
    "Quantiles",
    "Report",
    "Rules",
    "ShiftbenchError",
    "ShiftbenchWarning",
    "assess",
    "assess_predictions",
    "error_retention",
    "f1_at",
    "f1_auc",
    "f1_auc_normalised",
    "f1_retention",
    "metrics",
    "pr_auc",
    "r_auc",
    "rejection_ratio",
    "roc_auc",
    "uncertainty",
]


def __getattr__(name: str) -> Any:
    if name == "metrics":
        return importlib.import_module("shiftbench.metrics")
    if name in _HOMES:
        return getattr(importlib.import_module(f"shiftbench.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'shiftbench' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
