"""Tables 16 to 18: intervals of the true wind speed, and the records of the canonical partition in each."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shiftbench.partition.settings import SPLITS
from shiftbench.report.digits import MISSING, count_text
from shiftbench.track.paper.run import origins
from shiftbench.track.paper.table import Row, Table
from shiftbench.tracks.power.paper.systems import REAL, SOURCE, Run
from shiftbench.tracks.power.partitions import INTERVAL
from shiftbench.tracks.power.schema import COUNTS, INTERVALS

NUMBERS = {"synthetic": "Table 17", REAL: "Table 18"}
ROWS = ("train", "dev_in", "dev_out", "dev", "eval_in", "eval_out", "eval")
WHOLE = ("train", *SPLITS)  # together all records
TOTAL = 0  # the column of all intervals together, before those of each by its number
COLUMNS = (TOTAL, *(entry.number for entry in INTERVALS))

Counts = Mapping[tuple[str, int], int]
"""(partition or split, TOTAL or number of the interval) → records."""


def tables(runs: Sequence[Run]) -> list[Table]:
    """Table 16, and Tables 17 (synthetic) and 18 (real) if a run belongs to them."""
    kinds = [kind for kind in NUMBERS if any(run.kind == kind for run in runs)]
    return [_intervals(), *(_counts(kind, [run for run in runs if run.kind == kind]) for kind in kinds)]


def _intervals() -> Table:
    words = []
    for entry in INTERVALS:
        end = f" ≤ w < {entry.high_kn:g}" if math.isfinite(entry.high_kn) else " ≤ w"
        where = [name for name, counts in COUNTS["synthetic"].items() if counts[entry.number - 1]]
        words.append((f"{entry.low_kn:g}{end}", entry.beaufort, ", ".join(where)))
    return Table(
        number="Table 16",
        paper=SOURCE,
        title="Wind intervals",
        caption="Intervals of the true wind speed w that define the canonical partition, as printed.",
        label="Interval",
        rows=tuple(Row(str(entry.number)) for entry in INTERVALS),
        heads=("True wind speed (kn)", "Beaufort", "Where"),
        words=tuple(words),
    )


def _counts(kind: str, runs: Sequence[Run]) -> Table:
    named = {"printed": printed(kind)} | {"ours" if len(runs) == 1 else run.name: ours(run) for run in runs}
    titles = ("All", *(f"Interval {number}" for number in COLUMNS[1:]), "Share (%)")
    return Table(
        number=NUMBERS[kind],
        paper=SOURCE,
        title=f"Records of the canonical partition ({kind} data)",
        caption=f"Records of each partition, by interval of the true wind speed. {origins(runs)}",
        label="Partition",
        rows=tuple(Row(name) for name in ROWS),
        heads=tuple(f"{title}, {name}" for title in titles for name in named),
        words=tuple(tuple(_words(name, list(named.values()))) for name in ROWS),
        notes=tuple(_notes(kind, runs)),
    )


def _words(row: str, every: Sequence[Counts]) -> Iterator[str]:
    for column in COLUMNS:
        yield from (count_text(counts.get((row, column))) for counts in every)
    for counts in every:
        known = [counts[name, TOTAL] for name in WHOLE if (name, TOTAL) in counts]
        share = len(known) == len(WHOLE) and row in WHOLE and sum(known) > 0
        yield f"{100 * counts[row, TOTAL] / sum(known):.1f}" if share else MISSING


def printed(kind: str) -> Counts:
    """The counts of Table 17 or 18; totals are sums of the intervals."""
    found: dict[tuple[str, int], int] = {}
    for name, counts in COUNTS[kind].items():
        found |= dict(zip(((name, column) for column in COLUMNS), (sum(counts), *counts), strict=True))
    return _with_splits(found)


def ours(run: Run) -> Counts:
    """The counts in a report: those of its recipe, and by interval those of its slices."""
    recipe = _inner(run.report.recipe, "partition")
    found = {(name, TOTAL): count for name, count in _inner(recipe, "counts").items()}
    for name, counts in _inner(_inner(recipe, "rules"), "drawn").items():
        if isinstance(counts, (list, tuple)):
            found |= {(name, number): count for number, count in zip(COLUMNS[1:], counts, strict=False)}
    labels = {entry.label: entry.number for entry in INTERVALS}
    for part in run.report.slices:
        if part.column == INTERVAL and part.split in SPLITS and part.group in labels:
            found[part.split, labels[part.group]] = part.n
    # A report may be edited or of other origin: invalid counts are left out.
    return _with_splits({place: count for place, count in found.items() if isinstance(count, int)})


def _inner(recipe: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A part of a recipe; empty if it is missing or not a mapping."""
    found = recipe.get(name)
    return found if isinstance(found, Mapping) else {}


def _with_splits(found: Mapping[tuple[str, int], int]) -> Counts:
    """The counts with those of dev and eval, if both of their partitions are known."""
    sums = {
        (split, column): sum(found[name, column] for name in parts)
        for split, parts in SPLITS.items()
        for column in COLUMNS
        if all((name, column) in found for name in parts)
    }
    return {**found, **sums}


def _notes(kind: str, runs: Sequence[Run]) -> Iterator[str]:
    """Notes on whether the counts of official data are the printed ones."""
    theirs = printed(kind)
    for run in runs:
        known = {place: count for place, count in ours(run).items() if place in theirs}
        if run.official and known:
            other = dict.fromkeys(place[0] for place, count in known.items() if count != theirs[place])
            outcome = f"others in {', '.join(other)}" if other else "all as printed"
            yield f"{run.name}: {outcome} ({len(known)} counts compared)."
