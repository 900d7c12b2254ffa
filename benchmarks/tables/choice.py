"""Which defaults of `boosting` are best on the dev parts: `python -m benchmarks.tables FOLDER --choose`.

No record of eval is scored: members learn from folds of train, and are scored on dev_in, of which they know no more
than one factor of all variances, and on dev_out, of which they know nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.tables.contenders import Case, method
from benchmarks.tables.scores import CLOSE, Row, row
from shiftbench.io import files
from shiftbench.methods.boosting import ensemble as boosting
from shiftbench.methods.boosting import model

RESULTS = Path(__file__).resolve().parents[2] / "results" / "tables_choice.json"
DEV = ("dev_in", "dev_out")
MEMBERS = 4  # instead of ten, since there are many fits
TREES = 1000


@dataclass(frozen=True)
class Candidate:
    """What may become the default: the share of the features by their number, and the most trees."""

    name: str
    share: Callable[[int], float]
    trees: int = TREES


def _quarter(count: int) -> float:
    return max(0.25, 4 / count)


CANDIDATES = (
    Candidate("a quarter, at least 4", _quarter),
    Candidate("a quarter, at least 8", lambda count: max(0.25, 8 / count)),
    Candidate("all of 8, falling to a quarter of 20", lambda count: float(np.interp(count, (8, 20), (1, 0.25)))),
    Candidate("a half, at least 4", lambda count: max(0.5, 4 / count)),
    Candidate("all", lambda _count: 1.0),
    Candidate("a quarter, at least 4; 600 trees", _quarter, 600),
    Candidate("a quarter, at least 4; 300 trees", _quarter, 300),
)


def scored(candidate: Candidate, case: Case) -> list[Row]:
    """Its rows of the dev parts; candidates that come to the same models are fitted once."""
    share = min(1.0, candidate.share(boosting.inputs(case.features)))
    folder = case.folder / f"share_{share:.4f}"
    trees = candidate.trees if candidate.trees < _enough(folder) else TREES
    path = folder / f"trees_{trees}.json"
    if not path.exists():
        answers = method(boosting.METHOD.name, members=MEMBERS, iterations=trees, feature_share=share)(
            replace(case, folder=folder / f"trees_{trees}"), DEV
        )
        found = [row((case.table.name, "", part), answer, case.targets(part)) for part, answer in answers]
        files.write_json(path, [each.to_json() for each in found])
    return [Row(**{**each, "contender": candidate.name}) for each in json.loads(path.read_text("utf-8"))]


def _enough(folder: Path) -> float:
    """The trees with which every model that was fitted with the most of them would have ended as it did."""
    if not (folder / f"trees_{TREES}.json").exists():
        return np.inf
    most = max(model.trees(folder / f"trees_{TREES}" / boosting.METHOD.name, 2 * MEMBERS))
    return most + boosting.Settings("regression").early_stopping


def summary(rows: Sequence[Row], part: str) -> dict[str, dict[str, Any]]:
    """Candidate → what it comes to on a part beside the first candidate.

    error: geometric mean of the ratios of RMSEs. better, worse: tables where the ratio is below or above 1 by 3 %. nll:
    mean of the difference in nats. coverage: mean of central intervals of nominally 90 %.
    """
    own = [each for each in rows if each.part == part]
    first = {each.table: each for each in own if each.contender == own[0].contender}
    found = {}
    for name in dict.fromkeys(each.contender for each in own):
        of_name = [each for each in own if each.contender == name]
        ratios = np.array([each.error / first[each.table].error for each in of_name])
        found[name] = {
            "tables": len(of_name),
            "error": round(float(np.exp(np.log(ratios).mean())), 4),
            "better": int((ratios < 1 / (1 + CLOSE)).sum()),
            "worse": int((ratios > 1 + CLOSE).sum()),
            "nll": round(float(np.mean([each.nll - first[each.table].nll for each in of_name])), 4),
            "coverage": round(float(np.mean([each.coverage for each in of_name])), 4),
        }
    return found


def choose(cases: Iterable[Case], console: Console) -> dict[str, Any]:
    """Score all candidates on the dev parts; everything for results/tables_choice.json.

    Tables with as few features as a level may always choose from are left out: there all shares are one.
    """
    rows = []
    for case in cases:
        if boosting.inputs(case.features) <= boosting.FEWEST_FEATURES:
            continue
        for candidate in CANDIDATES:
            with console.status(f"{case.table.name}: {candidate.name}"):
                rows += scored(candidate, case)
    found = {part: summary(rows, part) for part in DEV}
    _show(console, found)
    return {"members": MEMBERS, "summary": found, "rows": [each.to_json() for each in rows]}


def _show(console: Console, found: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> None:
    table = Table("candidate", "part", *next(iter(found["dev_in"].values())))
    for name in found["dev_in"]:
        for part in DEV:
            table.add_row(name, part, *map(str, found[part][name].values()))
    console.print(table)
