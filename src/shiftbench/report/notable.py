"""The records behind the scores, as tables and as CSV; how they are chosen: see `assessment.notable`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from shiftbench.report.content import Report
from shiftbench.report.digits import MISSING, Digits, digits_of
from shiftbench.report.grid import Cell, Column, Grid, Row
from shiftbench.report.style import sentence
from shiftbench.report.text import csv_text, harmless
from shiftbench.report.view import clean, measure_title
from shiftbench.scores.score import Notable

FILE = "records.csv"
MOST_COLUMNS = 12  # of the table that are shown on the page
LONGEST = 60  # characters of a text there
LISTS = {
    "worst": ("Largest errors", "Of equal errors first the one that the system was more certain of."),
    "confident": (
        "Wrong with confidence",
        "The largest errors, all above the median, among the least uncertain tenth of the records (and its ties).",
    ),
    "uncertain": ("Least certain", "The highest uncertainties; of equal ones first the larger error."),
}
FIELDS = (
    "system", "split", "list", "place", "id", "domain", "target", "answer", "error", "uncertainty",
)  # fmt: skip


def systems(report: Report) -> list[str]:
    """The systems with such records, the leading one first."""
    return list(dict.fromkeys(entry.system for entry in report.notable))


def grids(report: Report, system: str, *, most: int = MOST_COLUMNS) -> list[Grid]:
    """A table for each list of a system; of the columns of the records the first `most`."""
    found: dict[tuple[str, str], list[Notable]] = {}
    for entry in report.notable:
        if entry.system == system and entry.kind in LISTS:
            found.setdefault((entry.split, entry.kind), []).append(entry)
    return [_grid(report, entries, most) for entries in found.values()]


def csv(report: Report) -> str:
    """All records with all of their columns; those named like one of ours get the prefix `table.`."""
    columns = _columns(report.notable)
    lines: list[Sequence[Any]] = [
        [*FIELDS, *(harmless(f"table.{name}" if name in FIELDS else name) for name in columns)]
    ]
    for entry in report.notable:
        own = [entry.system, entry.split, entry.kind, entry.place, entry.id, _domain(entry.shifted)]
        numbers = [entry.target, entry.answer, entry.error, entry.uncertainty]
        lines.append([_field(value) for value in (*own, *numbers, *map(entry.columns.get, columns))])
    return csv_text(lines)


def _grid(report: Report, entries: Sequence[Notable], most: int) -> Grid:
    first = entries[0]
    title, rule = LISTS[first.kind]
    names = _columns(entries)
    measure = report.measure_of(first.system)
    parts: list[tuple[Column, list[Any], Digits | None]] = [
        (Column("Domain", numeric=False), [_domain(entry.shifted) for entry in entries], None)
    ] * any(entry.shifted is not None for entry in entries)
    for heading, unit, values in (
        ("Target", report.target_unit, [entry.target for entry in entries]),
        ("Answer", report.target_unit, [entry.answer for entry in entries]),
        (sentence(report.error_name), report.error_unit, [entry.error for entry in entries]),
        (
            "Uncertainty" if measure in ("", "uncertainty") else measure_title(measure),
            "",
            [e.uncertainty for e in entries],
        ),
    ):
        if any(value is not None for value in values):
            parts.append(_part(clean(heading), clean(unit), values))
    for name in names[:most]:
        parts.append(_part(clean(name)[:LONGEST], "", [entry.columns.get(name) for entry in entries]))
    rows = tuple(
        Row(_cut(entry.id), tuple(_cell(values[k], digits) for _, values, digits in parts))
        for k, entry in enumerate(entries)
    )
    hidden = f" {len(names) - most:,} more columns are in {FILE}." if len(names) > most else ""
    title = f"{title}: {clean(first.system)}"
    return Grid(
        f"records_{first.kind}", first.split, title, "Record", tuple(part[0] for part in parts), rows, rule + hidden
    )


def _part(title: str, unit: str, values: list[Any]) -> tuple[Column, list[Any], Digits | None]:
    """A column, its values, and their common format where they are fractional numbers."""
    numeric = all(
        isinstance(value, (int, float)) and not isinstance(value, bool) for value in values if value is not None
    )
    known = [value for value in values if value is not None]
    digits = digits_of(known, unit=unit) if numeric and any(isinstance(value, float) for value in known) else None
    unit = digits.unit if digits else unit
    return Column(f"{title} ({unit})" if unit else title, numeric=numeric), values, digits


def _cell(value: Any, digits: Digits | None) -> Cell:
    if value is None:
        return Cell(MISSING)
    return Cell(digits.text(value) if digits else _cut(str(value)))


def _cut(text: str) -> str:
    whole = clean(text)
    return whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 1]}…"


def _columns(entries: Sequence[Notable]) -> list[str]:
    return list(dict.fromkeys(name for entry in entries for name in entry.columns))


def _domain(shifted: bool | None) -> str:
    return "" if shifted is None else "shifted" if shifted else "in-domain"


def _field(value: Any) -> Any:
    return "" if value is None else harmless(value) if isinstance(value, str) else value
