"""`python -m benchmarks [NAME …]`: every module beside this file that has `ratios()`, as one table.

`ratios() -> list[tuple[str, float, float | None]]`: what was measured, ours divided by the yardstick (less is better),
and the bound that the ratio must keep, if there is one. A module that takes an hour says `NAMED_ONLY = True`: it runs
where it is named, and its rows stay otherwise.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import pkgutil
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import benchmarks
import shiftbench
from shiftbench.errors import UnknownNameError
from shiftbench.io import files

RESULTS = Path(__file__).resolve().parent.parent / "results" / "benchmarks.json"
LIBRARIES = ("numpy", "polars", "catboost", "torch")


def main(names: list[str]) -> int:
    """Run benchmarks, those named or all; write results/benchmarks.json (a part: its own rows); 1 if a bound breaks."""
    console = Console()
    known = sorted(module.name for module in pkgutil.iter_modules(benchmarks.__path__) if module.name != "__main__")
    if unknown := [name for name in names if name not in known]:
        console.print(str(UnknownNameError("benchmark", unknown[0], known)))
        return 2
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in names or known}
    modules = {name: module for name, module in modules.items() if names or not hasattr(module, "NAMED_ONLY")}
    rows: list[dict[str, Any]] = []
    for name, module in modules.items():
        if hasattr(module, "ratios"):
            with console.status(f"{name} …"):
                rows += measured(name, module)
    report = {"machine": machine(), "benchmarks": rows}
    console.print(table(rows), ", ".join(f"{key} {value}" for key, value in report["machine"].items()))
    before = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else report
    if before["machine"] == report["machine"]:  # what ran takes the place of its own rows
        kept = [row for row in before["benchmarks"] if row["benchmark"] in {*known} - {*modules}]
        report["benchmarks"] = sorted([*kept, *rows], key=lambda row: str(row["benchmark"]))
    if not names or before["machine"] == report["machine"]:  # a part from another machine is not kept
        files.write_json(RESULTS, report)
    return int(any(row["ok"] is False for row in rows))


def measured(name: str, module: Any) -> list[dict[str, Any]]:
    """The ratios of one module and the seconds they took together."""
    start = time.perf_counter()
    ratios = module.ratios()
    seconds = round(time.perf_counter() - start, 1)
    return [
        {
            "benchmark": name,
            "name": what,
            "ratio": round(float(ratio), 4),
            "bound": bound,
            "ok": None if bound is None else bool(ratio <= bound),
            "seconds": seconds,
            "shiftbench": shiftbench.__version__,
        }
        for what, ratio, bound in ratios
    ]


def machine() -> dict[str, str]:
    """What the ratios were measured on; nothing that names the machine itself."""
    facts = {"cores": str(os.cpu_count()), "system": f"{platform.system()} {platform.machine()}"}
    libraries = {name: version(name) for name in LIBRARIES}
    return facts | {"python": platform.python_version()} | libraries


def table(rows: list[dict[str, Any]]) -> Table:
    """The rows for people."""
    shown = Table("benchmark", "what", title="Ratios: ours / yardstick")
    for heading in ("ratio", "bound", "ok"):
        shown.add_column(heading, justify="right")
    for row in rows:
        bound = "–" if row["bound"] is None else f"{row['bound']:g}"
        verdict = {True: "yes", False: "[bold red]NO[/]", None: "–"}[row["ok"]]
        shown.add_row(row["benchmark"], row["name"], f"{row['ratio']:.3g}", bound, verdict)
    return shown


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks to run; all if none is named")
    sys.exit(main(parser.parse_args().names))
