"""Public tables, one after the other: `python -m benchmarks.tables FOLDER [--choose] [--only NAME …]`.

Every table is partitioned by our engine; every contender learns from train (ours stop and calibrate on dev_in) and is
scored on the other parts; results/tables.json is written once all tables are there. With `--choose` candidates for the
defaults of `boosting` are scored instead, on the dev parts alone, for results/tables_choice.json. What is in FOLDER is
not made again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import machine
from benchmarks.tables import choice
from benchmarks.tables.catalogue import CLASSES, TABLES, PublicTable
from benchmarks.tables.contenders import CONTENDERS, EVALUATED, Case
from benchmarks.tables.page import RESULTS
from benchmarks.tables.scores import Row, ratios, row, summary
from shiftbench.io import files
from shiftbench.partition import Rules, features, keys, partition

SEED = 0


def main(folder: Path, *, choose: bool, only: Sequence[str]) -> int:
    """Score what is missing in `folder`, and print what it comes to."""
    console = Console()
    known = {table.name: table for table in (*TABLES, *CLASSES)}
    names = [name for name in known if not only or name in only]
    if choose:
        cases = (case_of(table, folder / table.name) for table in TABLES if table.name in names)
        found = {"machine": machine(), **choice.choose(cases, console)}
        if not only:
            files.write_json(choice.RESULTS, found, sort_keys=False)
        return 0
    rows = {name: scored(known[name], folder / name, console) for name in names}
    for title, tables in (("regression", TABLES), ("classification", CLASSES)):
        each = [row for table in tables for row in rows.get(table.name, ())]
        if each:
            shown(console, title, each, EVALUATED[-2:])
    if not only:
        files.write_json(RESULTS, results(rows), sort_keys=False)
    return 0


def case_of(table: PublicTable, folder: Path) -> Case:
    """The table partitioned; columns that name clusters are no features."""
    frame = table.frame()
    parts = partition(frame, Rules.from_settings({key: value for key, value in table.rules(SEED).items() if value}))
    clusters = keys.parts(table.cluster, frame.columns) if table.cluster else []
    chosen = features.choose(parts.frame("train"), target=table.target, exclude=clusters, drop=table.drop)
    return Case(table, parts, chosen, folder)


def scored(table: PublicTable, folder: Path, console: Console) -> list[Row]:
    """The rows of all contenders; those of a contender are kept in a file once they are whole."""
    rows: list[Row] = []
    case: Case | None = None
    for name, contender in CONTENDERS.items():
        path = folder / f"{name}.all.json"
        if not path.exists():
            case = case or case_of(table, folder)
            with console.status(f"{table.name}: {name}"):
                answers = contender(case, EVALUATED)
                found = [row((table.name, name, part), answer, case.targets(part)) for part, answer in answers]
            files.write_json(path, [each.to_json() for each in found])
        rows += [Row(**each) for each in json.loads(path.read_text("utf-8"))]
    return rows


def results(rows: dict[str, list[Row]]) -> dict[str, Any]:
    """Everything for results/tables.json."""
    kinds = {"regression": TABLES, "classification": CLASSES}
    by_kind = {kind: [each for table in tables for each in rows[table.name]] for kind, tables in kinds.items()}
    return {
        "machine": machine(),
        "summary": {kind: {part: summary(found, part) for part in EVALUATED} for kind, found in by_kind.items()},
        "rows": [each.to_json() for found in by_kind.values() for each in found],
    }


def shown(console: Console, title: str, rows: Sequence[Row], parts: Sequence[str]) -> None:
    """Errors over the better of forest and histogram boosting, table by table, and their geometric means."""
    for part in parts:
        totals, each = summary(rows, part), {name: ratios(rows, name, part) for name in CONTENDERS}
        table = Table(
            "table", *CONTENDERS, title=f"{title}, {part}: error over the better of forest and histogram boosting"
        )
        for name in next(iter(each.values())):
            table.add_row(name, *(f"{each[contender][name]:.3f}" for contender in CONTENDERS))
        table.add_section()
        table.add_row("geometric mean", *(f"{totals[name]['error_over_best_rival']:.3f}" for name in CONTENDERS))
        console.print(table)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="where fits and scores are, or will be")
    parser.add_argument("--choose", action="store_true", help="score candidates on the dev parts")
    parser.add_argument("--only", nargs="*", default=(), metavar="NAME", help="tables to score")
    options = parser.parse_args()
    sys.exit(main(options.folder, choose=options.choose, only=options.only))
