"""The tables of docs/findings/public-tables.md from results/: `python -m benchmarks.tables.page` prints them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.tables.choice import DEV
from benchmarks.tables.choice import RESULTS as CHOICE
from benchmarks.tables.scores import Row, ratios

RESULTS = Path(__file__).resolve().parents[2] / "results" / "tables.json"
SHOWN = {"boosting": "`boosting`", "likelihood_boosting": "`likelihood_boosting`", "linear": "linear"}
NAMES = {**SHOWN, "forest": "forest", "histogram": "histogram boosting"}
SPLITS = ("eval_in", "eval_out")


def page(results: Mapping[str, Any]) -> str:
    """Summary, then table by table: errors over the better of forest and histogram boosting, in-domain / shifted."""
    rows = [Row(**each) for each in results["rows"]]
    numbers = [row for row in rows if row.coverage is not None]
    classes = [row for row in rows if row.coverage is None]
    blocks = [_summary(results["summary"]["regression"]), _each(numbers)]
    if classes:
        blocks += [_classes(results["summary"]["classification"]), _each(classes)]
    return "\n\n".join(blocks)


def choice(results: Mapping[str, Any]) -> str:
    """What candidates come to on the dev parts beside the first one, in-domain / shifted."""
    inside, outside = (results["summary"][part] for part in DEV)
    heads = ["candidate", *(title for _, title, _ in _CHOICE_SCORES)]
    lines = [
        [name, *(_pair((inside[name][key], outside[name][key]), form) for key, _, form in _CHOICE_SCORES)]
        for name in inside
    ]
    return _table(heads, lines)


_CHOICE_SCORES = (
    ("error", "RMSE", ".4f"), ("better", "better by 3 %", "d"), ("worse", "worse by 3 %", "d"), ("nll", "NLL", "+.3f"),
    ("coverage", "coverage of 90 %", ".1%"),
)  # fmt: skip


def _summary(found: Mapping[str, Any]) -> str:
    """What it comes to over the regressions."""
    heads = ["system", "error", "worse by 3 %", "coverage of 90 %, mean", "least", "R-AUC", "NLL"]
    lines = []
    for name, title in NAMES.items():
        inside, outside = (found[part][name] for part in SPLITS)
        both = [(inside[key], outside[key]) for key in ("error_over_best_rival", "worse", "r_auc", "nll")]
        covered = [(inside["coverage"][key], outside["coverage"][key]) for key in ("mean", "least")]
        lines.append([
            title, _pair(both[0], ".3f"), _pair(both[1], "d"), _pair(covered[0], ".0%"), _pair(covered[1], ".0%"),
            _pair(both[2], ".3f"), _pair(both[3], ".2f"),
        ])  # fmt: skip
    return _table(heads, lines)


def _classes(found: Mapping[str, Any]) -> str:
    """What it comes to over the classifications."""
    lines = [
        [title, *(_pair([found[part][name][key] for part in SPLITS], form) for key, form in _CLASS_SCORES)]
        for name, title in NAMES.items()
    ]
    return _table(["system", "error", "worse by 3 %", "NLL"], lines)


_CLASS_SCORES = (("error_over_best_rival", ".3f"), ("worse", "d"), ("nll", ".3f"))


def _each(rows: Sequence[Row]) -> str:
    """A line for each table."""
    found = {(part, name): ratios(rows, name, part) for part in SPLITS for name in SHOWN}
    counts = {(row.table, row.part): row.records for row in rows}
    coverage = {(row.table, row.part): row.coverage for row in rows if row.contender == "boosting"}
    with_coverage = any(value is not None for value in coverage.values())
    lines = []
    for table in found["eval_in", "boosting"]:
        line = [table, _pair([counts[table, part] for part in SPLITS], ",")]
        line += [_pair([found[part, name][table] for part in SPLITS], ".3f") for name in SHOWN]
        if with_coverage:
            line.append(_pair([coverage[table, part] or 0.0 for part in SPLITS], ".0%"))
        lines.append(line)
    return _table(["table", "records", *SHOWN.values(), *["coverage"] * with_coverage], lines)


def _pair(values: Sequence[Any], form: str) -> str:
    return " / ".join("–" if value is None else format(value, form).replace("%", " %") for value in values)


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    def shown() -> Iterator[str]:
        yield "| " + " | ".join(heads) + " |"
        yield "|" + "---|" * len(heads)
        yield from ("| " + " | ".join(line) + " |" for line in lines)

    return "\n".join(shown())


if __name__ == "__main__":
    print(choice(json.loads(CHOICE.read_text("utf-8"))))
    print()
    print(page(json.loads(RESULTS.read_text("utf-8"))))
