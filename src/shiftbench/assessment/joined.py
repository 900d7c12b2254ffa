"""Systems read from several files, lined up on the ids of the first for comparison."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shiftbench.assessment.conformal import Split, set_aside
from shiftbench.assessment.record_columns import differences
from shiftbench.assessment.scored import Records, Scored
from shiftbench.assessment.scored_table import ScoredTable
from shiftbench.errors import TableError, TableWarning, counted
from shiftbench.scores.ranking import Index


@dataclass(frozen=True)
class Joined:
    """Systems on the same records; manifests: system → hash of the manifest in its predictions; calibration: further
    records that conformal regions are calibrated on, with the same systems."""

    records: Records
    systems: list[Scored]
    task: str
    manifests: dict[str, str]
    calibration: Split | None = None


def line_up(systems: Sequence[ScoredTable]) -> Joined:
    """Systems on the same ids, in the order of the first; a system with declared gaps may lack some of them.

    Raises:
        TableError: if their ids, shifted flags or tasks differ, or two have the same name.
    """
    first = next((system for system in systems if not system.gaps), systems[0])
    names = [system.scored.system.name.strip() for system in systems]  # no reader sees blanks around them
    problems = [
        f"expected systems of different names, found {name!r} twice." for name in set(names) if names.count(name) > 1
    ]
    found = []
    place = pl.DataFrame({"id": first.ids}).with_row_index("row")
    for system in systems:
        order = _order(place, system, first, problems)
        if order is None:
            continue
        answered = order >= 0
        found.append(system.scored.select(np.maximum(order, 0)).answering(answered))
        if system.task != first.task:
            problems.append(
                f"{system.scored.system.name}: expected {first.task} like the first file, found {system.task}."
            )
        flagged, wanted = system.records.shifted, first.records.shifted
        if (
            flagged is not None
            and wanted is not None
            and not np.array_equal(flagged[order[answered]], wanted[answered])
        ):
            problems.append(
                f"{system.scored.system.name}: expected the same records to be shifted as in the first file."
            )
        name = system.scored.system.name
        held, asked = system.calibration, first.calibration
        if held is not None and asked is not None and not np.array_equal(held[order[answered]], asked[answered]):
            problems.append(f"{name}: expected to be calibrated on the same records as the first file, found others.")
        if flagged is not None and wanted is None:
            unused = f"{name}: which records are shifted is not used, since the first file does not tell"
            warnings.warn(TableWarning(f"{unused}; name this file first to score both sides"), stacklevel=2)
        problems += differences(first.described, system.described, order, first.ids, name=name, target=first.target)
    if problems:
        raise TableError(*problems)
    manifests = {s.scored.system.name: s.manifest for s in systems if s.manifest}
    split, calibration = set_aside(first.records, found, first.calibration)
    return Joined(split[0], [*split[1]], first.task, manifests, calibration)


def _order(place: pl.DataFrame, system: ScoredTable, first: ScoredTable, problems: list[str]) -> Index | None:
    """Rows of a system in the order of the first one's ids, -1 for gaps; None, and a problem, if ids differ."""
    if system.numbered != first.numbered:
        names = [each.scored.system.name for each in (first, system)]
        with_ids, without = reversed(names) if first.numbered else names
        problems.append(
            f"{without}: expected a column of ids as in {with_ids}, found none, and row numbers say nothing about ids. "
            "Give every file such a column of one name (`id`, or the one of --id), or none of them."
        )
        return None
    if system.ids.equals(first.ids):
        return np.arange(len(system.ids))
    rows = pl.DataFrame({"id": system.ids}).with_row_index("here")
    joined = place.join(rows, on="id", how="full", coalesce=True).sort("row", nulls_last=True)
    missing, surplus = joined["here"].null_count(), joined["row"].null_count()
    if surplus or (missing and not system.gaps):
        odd = joined.filter(pl.col("here").is_null() | pl.col("row").is_null())["id"].head(3).to_list()
        problems.append(
            f"{system.scored.system.name}: expected the {len(first.ids):,} ids of the first file, found {missing:,} "
            f"missing and {counted(surplus, 'other')} (such as {', '.join(map(str, odd))}). Keep the common ids in "
            "every file."
        )
        return None
    return joined["here"].cast(pl.Int64).fill_null(-1).to_numpy()
