"""The recipe of a report: as lines of text, and a one-line signature of what its numbers depend on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shiftbench.errors import shortened
from shiftbench.report.content import Report
from shiftbench.report.view import clean

HASH_DIGITS = 12  # of a manifest's hash that are shown


def signature(report: Report) -> str:
    """One line on what every number depends on: manifest, conventions, intervals, version.

    Two reports with the same signature and the same predictions hold the same numbers.
    """
    recipe = report.recipe
    intervals = recipe.get("intervals", {})
    used = "/".join(dict.fromkeys(map(str, intervals.get("used", {}).values())))
    parts = {
        "manifest": str(recipe.get("manifest", ""))[:HASH_DIGITS],
        "rule": report.rule,
        "error": clean(report.error_name),
        "threshold": "" if report.threshold is None else f"{report.threshold:g}",
        "intervals": f"{used} {intervals.get('level', '')} by {intervals.get('resampled', '')}" if used else "",
        "replicates": str(intervals.get("replicates", "")),
        "seed": str(intervals.get("seed", "")),
        "shiftbench": str(recipe.get("versions", {}).get("shiftbench", "")),
    }
    return " | ".join(f"{name}: {shortened(value)}" for name, value in parts.items() if value)


def flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Nested settings as (dotted name, text) pairs in their order; a list of plain values becomes one line."""
    return list(_walk(value, name))


def _walk(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _walk(entry, f"{name}.{clean(key)}" if name else clean(key))
    elif isinstance(value, (list, tuple)) and any(isinstance(entry, (dict, list, tuple)) for entry in value):
        for place, entry in enumerate(value):
            yield from _walk(entry, f"{name}[{place}]")
    elif isinstance(value, (list, tuple)):
        yield name, ", ".join(clean(entry) for entry in value) or "none"
    elif value is not None and value != "":
        yield name, clean(value)
