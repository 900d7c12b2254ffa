"""Whether the records and the systems of a report belong together, whoever has made them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.assessment.scored import MOST_NAMED, Records, Scored
from shiftbench.errors import ArrayError, counted, quoted
from shiftbench.partition.settings import SPLITS

Splits = Sequence[tuple[Records, Sequence[Scored]]]
Ids = Sequence[Any] | npt.NDArray[Any]


def require_consistent(splits: Splits) -> None:
    """Refuse records that are in two splits of a data set, and systems on other records than those of their split.

    Ids are compared as text, and only where they are given: `Records.ids` and `Scored.ids`.

    Raises:
        ArrayError: listing all problems.
    """
    problems = [*_repeated(splits)]
    problems += [
        f"{records.prefix}{system.system.name}: {problem}"
        for records, systems in splits
        for system in systems
        for problem in _misfits(records, system)
    ]
    if problems:
        raise ArrayError(*problems)


def _repeated(splits: Splits) -> Iterator[str]:
    """Records of one split of a data set that are in another, too; further test sets number theirs as they like."""
    named = {
        records.split: {*_texts(records.ids)}
        for records, _ in splits
        if records.split in SPLITS and records.ids is not None
    }
    for first, second in combinations(named, 2):
        if twice := named[first] & named[second]:
            yield (
                f"{first}, {second}: ids: expected each record in one part, found {counted(len(twice), 'id')} in both "
                f"({_shown(twice)}). Give every record an id of its own, over all parts: predictions are matched by it."
            )


def _misfits(records: Records, system: Scored) -> Iterator[str]:
    """Why a system is not one on these records."""
    answered = system.answered
    rows = records.n if answered is None or len(answered) != records.n else int(np.count_nonzero(answered))
    sizes = {"errors": system.errors, **{f"uncertainty {name!r}": each for name, each in system.uncertainty.items()}}
    for name, values in sizes.items():
        if len(values) != rows:
            yield (
                f"{name}: expected those of {counted(rows, 'record')}, found {len(values):,}. Score the predictions of "
                "these records alone."
            )
    if system.ids is not None and records.ids is not None:
        own = np.asarray(records.ids)
        yield from _other_ids(_texts(own if answered is None else own[answered]), _texts(system.ids))


def _other_ids(own: list[str], found: list[str]) -> Iterator[str]:
    if own == found:
        return
    lacking, foreign = {*own} - {*found}, {*found} - {*own}
    parts = [
        f"{counted(len(lacking), 'record')} without a prediction ({_shown(lacking)})" if lacking else "",
        f"{counted(len(foreign), 'prediction')} of other records ({_shown(foreign)})" if foreign else "",
    ]
    what = " and ".join(filter(None, parts)) or "them in another order, or some twice"
    yield (
        f"ids: expected those of the records in their order, found {what}. Line the predictions up with the records: "
        "`Predictions.line_up(ids)`."
    )


def _texts(ids: Ids | None) -> list[str]:
    return [] if ids is None else [str(each) for each in np.asarray(ids).tolist()]


def _shown(ids: set[str]) -> str:
    return ", ".join(map(quoted, sorted(ids)[:MOST_NAMED])) + (", …" if len(ids) > MOST_NAMED else "")
