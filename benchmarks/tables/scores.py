"""Scores of a contender on the parts of a table, and what they come to over all tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.tables.contenders import Answer
from shiftbench.metrics import classification, regression
from shiftbench.scores import retention

NOMINAL = 0.9  # of the central intervals whose coverage is counted
PUBLISHED = "likelihood_boosting"
RIVALS = ("forest", "histogram")
CLOSE = 0.03  # a share by which an error must be larger to count as a loss


@dataclass(frozen=True)
class Row:
    """Scores of a contender on one part of a table.

    Attributes:
        table, contender: their names.
        part: "dev_in", "dev_out", "eval_in" or "eval_out".
        records: in the part.
        error: RMSE in the unit of the target, or the share of wrong classes.
        r_auc: area under the error-retention curve, of squared or 0/1 errors; None if records are not ranked.
        nll: mean negative log-likelihood in nats.
        coverage: of central intervals of nominally 90 %; None for classes.
    """

    table: str
    contender: str
    part: str
    records: int
    error: float
    r_auc: float | None
    nll: float
    coverage: float | None

    @property
    def shifted(self) -> bool:
        """Whether its records are shifted ones."""
        return self.part.endswith("out")

    def to_json(self) -> dict[str, Any]:
        """Plain values, numbers to six digits."""
        return {key: _rounded(value) if isinstance(value, float) else value for key, value in asdict(self).items()}


def row(names: tuple[str, str, str], answer: Answer, targets: npt.NDArray[Any]) -> Row:
    """The scores of (table, contender, part)."""
    said = answer.ensemble
    if hasattr(said, "variance"):
        errors = regression.squared_error(targets, said.answers())
        error, nll = float(np.sqrt(errors.mean())), regression.nll(targets, said)
        coverage = float(regression.coverage(targets, said, levels=[NOMINAL])[0])
    else:
        probabilities = said.answers()
        errors = classification.zero_one_error(targets, probabilities)
        error, nll, coverage = float(errors.mean()), classification.nll(targets, probabilities), None
    ranked = None if answer.uncertainty is None else retention.r_auc(errors, answer.uncertainty)
    return Row(*names, len(targets), error, ranked, nll, coverage)


def ratios(rows: Iterable[Row], contender: str, part: str, rivals: Sequence[str] = RIVALS) -> dict[str, float]:
    """Table → the contender's error over that of the best rival; of classes, each with one wrong record more."""
    errors = {
        (each.table, each.contender): each.error + (each.coverage is None) / each.records
        for each in rows
        if each.part == part
    }
    tables = sorted({table for table, name in errors if name == contender})
    return {table: errors[table, contender] / min(errors[table, rival] for rival in rivals) for table in tables}


def summary(rows: Sequence[Row], part: str) -> dict[str, dict[str, Any]]:
    """Contender → what it comes to over the tables.

    error_over_best_rival: geometric mean of `ratios`. better, worse: tables where it is below or above 1 by 3 %.
    coverage: mean and least over the tables. r_auc: geometric mean over that of the published ensemble, None if
    records are not ranked or it is 0 somewhere. nll: mean of the difference to the published ensemble.
    """
    found = {}
    of_part = [each for each in rows if each.part == part]
    published = {each.table: each for each in of_part if each.contender == PUBLISHED}
    for name in dict.fromkeys(each.contender for each in of_part):
        own = [each for each in of_part if each.contender == name]
        of_error = np.array(list(ratios(of_part, name, part).values()))
        covered = [each.coverage for each in own if each.coverage is not None]
        ranked = [(each.r_auc or 0.0, published[each.table].r_auc or 0.0) for each in own]
        found[name] = {
            "error_over_best_rival": _rounded(float(np.exp(np.log(of_error).mean()))),
            "better": int((of_error < 1 / (1 + CLOSE)).sum()),
            "worse": int((of_error > 1 + CLOSE).sum()),
            "coverage": {"mean": _rounded(float(np.mean(covered))), "least": min(covered)} if covered else None,
            "r_auc": _rounded(float(np.exp(np.mean([np.log(a / b) for a, b in ranked])))) if np.all(ranked) else None,
            "nll": _rounded(float(np.mean([each.nll - published[each.table].nll for each in own]))),
        }
    return found


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")
