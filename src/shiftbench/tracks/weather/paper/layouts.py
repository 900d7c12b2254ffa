"""What the tables of the paper look like: their rows, the measures they name, the training sets they compare."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from shiftbench.tracks.weather.partitions import EXPERIMENTS

RANDOM = "random order"  # as reports name it


@dataclass(frozen=True)
class Layout:
    """A table of the paper: where it stands and what its rows are.

    by_dataset: whether development and evaluation have a table each. others: whether measures, and measures of
    systems, that the table of the paper does not have are there, too.
    """

    number: str
    version: str
    title: str
    rows: Literal["systems", "measures", "experiments"]
    caption: str
    by_dataset: bool = False
    others: bool = False


_ERRORS = "How large the errors are."
_ROBUST = "How large the errors are in-domain, under shift, and over both together."
_JOINT = "Errors and uncertainty jointly: areas under the retention curves, and F1 when 95 % are kept."
_MEASURES = "What each measure of uncertainty is good for: finding errors (F1-AUC), finding shifted records (ROC-AUC)."
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
        "What remains of the shift when records of the other climates, of the later months, or of both are trained on.",
        by_dataset=True,
    ),
)


def training_sets() -> Iterator[tuple[str, str, str, str]]:
    """The rows of Table 12: an experiment's letter, its training and development set, and the shift that remains."""
    for letter, pools in EXPERIMENTS.items():
        train = " + ".join(["train", *(f"train_{pool}" for pool in pools)])
        dev = " + ".join(["dev_in", *(f"dev_{pool}" for pool in pools)])
        remains = [shift for shift, pool in (("time", "xtime"), ("climate", "xclim")) if pool not in pools]
        yield letter, train, dev, " and ".join(remains) or "none"


@dataclass(frozen=True)
class Reading:
    """A measure as a row: our name of it, its key in print ("" if it was not printed), and which sign is shown.

    sign: "printed" turns ours to the sign in print where that is wrong, "corrected" turns the print to ours.
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
