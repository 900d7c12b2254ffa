"""Layouts of the paper's tables: their rows, the measures they name, the training sets they compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from shiftbench.tracks.weather.partitions import EXPERIMENTS

RANDOM = "random order"  # its name in reports


@dataclass(frozen=True)
class Layout:
    """A table of the paper: its number and its rows.

    by_dataset: whether development and evaluation have separate tables. others: whether to include measures, and
    measures of systems, that are not in the paper's table.
    """

    number: str
    version: str
    title: str
    rows: Literal["systems", "measures", "experiments"]
    caption: str
    by_dataset: bool = False
    others: bool = False


_ERRORS = "Error levels."
_ROBUST = "Error levels in-domain, under shift, and over both together."
_JOINT = "Errors and uncertainty jointly: areas under the retention curves, and F1 when 95 % are kept."
_MEASURES = "Measures of uncertainty by their use: finding errors (F1-AUC), finding shifted records (ROC-AUC)."
LAYOUTS = (
    Layout("Table 2", "v1", "Robustness", "systems", _ERRORS),
    Layout("Table 3", "v1", "Retention", "systems", _JOINT),
    Layout("Table 4", "v1", "Measures of uncertainty", "measures", _MEASURES),
    Layout("Table 1", "full", "Robustness, headline", "systems", _ROBUST, by_dataset=True),
    Layout("Table 2", "full", "Retention, headline", "systems", _JOINT),
    Layout("Table 3", "full", "Measures of uncertainty, headline", "measures", _MEASURES),
    Layout("Table 9", "full", "Robustness", "systems", _ROBUST, by_dataset=True),
    Layout("Table 10", "full", "Retention", "systems", _JOINT),
    Layout("Table 11", "full", "Measures of uncertainty", "measures", _MEASURES, others=True),
    Layout(
        "Table 13",
        "full",
        "Other training sets",
        "experiments",
        "The remaining shift if the training data include records of the other climates, of later months, or of both.",
        by_dataset=True,
    ),
)


def training_sets() -> Iterator[tuple[str, str, str, str]]:
    """The rows of Table 12: an experiment's letter, its training and development set, and the remaining shift."""
    for letter, pools in EXPERIMENTS.items():
        train = " + ".join(["train", *(f"train_{pool}" for pool in pools)])
        dev = " + ".join(["dev_in", *(f"dev_{pool}" for pool in pools)])
        remains = [shift for shift, pool in (("time", "xtime"), ("climate", "xclim")) if pool not in pools]
        yield letter, train, dev, " and ".join(remains) or "none"


@dataclass(frozen=True)
class Reading:
    """A measure as a row: our name, its key in print ("" if it was not printed), and the sign shown.

    sign: "printed" converts ours to the wrong sign in print, "corrected" converts the print to ours.
    """

    title: str
    measure: str
    key: str = ""
    sign: Literal["", "printed", "corrected"] = ""


READINGS = {
    "regression": (
        Reading("Total variance", "total_variance", "tvar"),
        Reading("Data variance", "data_variance", "mvar"),
        Reading("Knowledge variance", "knowledge_variance", "varm"),
        Reading("EPKL (published)", "expected_pairwise_cross_entropy", "epkl"),
        Reading("EPKL (corrected)", "epkl"),
        Reading("Random order", RANDOM, "random"),
    ),
    "classification": (
        Reading("Confidence (sign as printed)", "negated_confidence", "confidence", "printed"),
        Reading("Negated confidence (corrected)", "negated_confidence", "confidence", "corrected"),
        Reading("Entropy of expected", "entropy_of_expected", "entropy"),
        Reading("Mutual information", "mutual_information", "mi"),
        Reading("EPKL", "epkl", "epkl"),
        Reading("Reverse mutual information", "reverse_mutual_information", "rmi"),
    ),
}
