"""Headings, cells, rows and notes that the tables of a report share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from shiftbench.report.content import Report
from shiftbench.report.digits import MISSING, Digits, count_text
from shiftbench.report.grid import ARROWS, NONE, Cell, Row
from shiftbench.report.view import clean, gaps, marked, metric_title, split_title
from shiftbench.scores.intervals import FEWEST
from shiftbench.scores.metric import Metric
from shiftbench.scores.score import SUBSETS, Score, System

ROLES = {"ensemble": "ensemble", "single": "single models", "baseline": "baseline", "model": "model"}
BOLD = (
    "Bold: of the systems of rank 1 (no adjusted paired test finds one better), the best value and those within its "
    "interval; scores without a test are never bold."
)
NO_INTERVAL = "†"


def heading(metric: Metric, digits: Digits, report: Report) -> str:
    """The heading of a metric: title, direction, unit."""
    return f"{directed(metric, metric_title(metric, report))}{bracketed(digits.unit)}"


def directed(metric: Metric, title: str) -> str:
    """A title with the direction in which the metric is better."""
    return f"{title} {ARROWS[metric.better]}".rstrip()


def bracketed(unit: str) -> str:
    """A unit in brackets, if there is one."""
    return f" ({unit})" if unit else ""


def score_cell(digits: Digits, score: Score | None, *, leaders: Collection[str] = ()) -> Cell:
    """A score as a cell; a dash for None."""
    if score is None:
        return NONE
    text, note = digits.cell(score.value, low=score.low, high=score.high, std=score.std)
    return Cell(text, note or (NO_INTERVAL if score.no_interval and text != MISSING else ""), score.system in leaders)


def system_row(system: System, cells: list[Cell]) -> Row:
    """A row of a system, with its role as the hint."""
    name = clean(system.name)
    # The role in the hint already says that these are single models.
    return Row(name.removesuffix(" (single)") if system.role == "single" else name, tuple(cells), ROLES[system.role])


def table_of(metric: Metric) -> str:
    """The table of `SCORES` that a metric belongs to."""
    return metric.table or ("joint" if metric.uses_uncertainty else "answers")


def signs(report: Report, rows: Sequence[Row]) -> list[str]:
    """The meanings of bold and of the sign for a missing interval, if they occur in these rows."""
    cells = [cell for row in rows for cell in row.cells]
    notes = [BOLD] if any(cell.best for cell in cells) else []
    if any(cell.note == NO_INTERVAL for cell in cells):
        reasons = sorted({score.no_interval for score in report.scores if score.no_interval})
        few = [reason for reason in reasons if reason.startswith("too few")]
        causes = [f"no interval and no test: {' or '.join(few)} (fewer than {FEWEST})"] if few else []
        causes += [f"no interval: {reason}" for reason in reasons if reason not in few]
        causes_text = "; or ".join(causes)
        notes.append(f"{NO_INTERVAL} {causes_text[:1].upper()}{causes_text[1:]}.")
    return notes


def gap_note(report: Report, splits: Sequence[str], names: Collection[str]) -> list[str]:
    """A sentence on the records on which systems with missing answers are scored and compared, if there are any."""
    systems, every = [], {split: gaps(report, split) for split in splits}
    for name in names:
        places = [(split, every[split].get(name, {})) for split in splits]
        parts = [_of_records(found, "" if len(splits) == 1 else split_title(split)) for split, found in places if found]
        if parts:
            systems.append(f"{marked(name)} on {', '.join(parts)}")
    if not systems:
        return []
    listed = "; ".join(systems)
    return [f"Systems with gaps are scored where they have an answer, and compared where both have one: {listed}."]


def _of_records(found: Mapping[str, tuple[int, int]], split: str) -> str:
    """The number of records that a system answers: in total and, unless several splits are listed, in each subset."""
    counts = {name: f"{count_text(n)} of {count_text(records)}" for name, (n, records) in found.items()}
    whole = f"{counts.pop('full', '0')} records"
    beside = split or ", ".join(f"{SUBSETS[name].lower()} {text}" for name, text in counts.items())
    return f"{whole} ({beside})" if beside else whole
