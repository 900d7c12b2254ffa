"""The records behind the scores: the worst, the confidently wrong and the least certain of a system.

worst: the largest errors above 0; of equal errors first the more certain one.
confident: the largest errors, all above the median error, among the least uncertain tenth of the records and what
    ties with its last; there is no such list where that is every record.
uncertain: the highest uncertainties, of equal ones first the larger error; no list where all are equal.
What is still equal is ordered by id, so that the order of the rows never matters.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from shiftbench.assessment.scored import Records, Scored
from shiftbench.assessment.source import Source
from shiftbench.check import Vector
from shiftbench.io import tables
from shiftbench.io.tables import dates
from shiftbench.scores.ranking import Index
from shiftbench.scores.score import Notable

MOST = 20  # records of a list
CERTAIN = 0.1  # share of the records that count as certain
MOST_SYSTEMS = 8  # whose records are listed
MOST_CELLS = 30_000  # about a megabyte of `report.json`; beyond, those of fewer systems
MOST_COLUMNS = 1_000
MOST_TEXTS = 10  # records of a list that are shown with their texts
LONGEST = 300  # characters of a text or of a name


def notable(records: Records, systems: Sequence[Scored]) -> list[Notable]:
    """The lists of as many systems as stay small together, in their order; nothing without a table of the records."""
    if records.source is None:
        return []
    columns = _columns(records.source)
    most = max(1, min(MOST_SYSTEMS, MOST_CELLS // (3 * MOST * max(1, len(columns)))))
    return [entry for system in systems[:most] for entry in _lists(records, records.source, system, columns)]


def chosen(errors: Vector, uncertainty: Vector, ids: Source) -> dict[str, Index]:
    """The positions of the records of each list, in order, from errors [N], uncertainty [N] and the ids of these."""
    everywhere = np.arange(len(errors))
    found = {"worst": _first(np.flatnonzero(errors > 0), errors, -uncertainty, ids)}
    if uncertainty.min() < uncertainty.max():
        last = math.ceil(CERTAIN * len(errors)) - 1
        edge = np.partition(uncertainty, last)[last]
        if edge < uncertainty.max():
            large = np.flatnonzero((errors > np.median(errors)) & (uncertainty <= edge))
            found["confident"] = _first(large, errors, -uncertainty, ids)
        found["uncertain"] = _first(everywhere, uncertainty, errors, ids)
    if (
        found["worst"].tolist() == found.get("confident", found["worst"][:0]).tolist()
    ):  # as often with errors of 0 and 1
        del found["worst"]
    return {kind: places for kind, places in found.items() if len(places)}


def _first(among: Index, first: Vector, then: Vector, ids: Source) -> Index:
    """The positions with the highest `first`, then the highest `then`; remaining ties are broken by id."""
    if len(among) > MOST:
        edge = np.partition(first[among], -MOST)[-MOST]
        among = among[first[among] >= edge]
    among = among[np.lexsort((-then[among], -first[among]))]
    if len(among) > MOST:
        last = among[MOST - 1]
        tied = (first[among] == first[last]) & (then[among] == then[last])
        among = np.concatenate([among[: int(np.argmax(tied))], among[tied]])
    names = ids.ids.gather(ids.rows[among]).cast(pl.String).to_list()
    order = sorted(
        range(len(among)), key=lambda k: (-first[among[k]], -then[among[k]], len(names[k]), names[k])
    )  # shorter ids first: 9 before 10
    return among[order[:MOST]]


def _lists(records: Records, source: Source, system: Scored, columns: list[str]) -> Iterator[Notable]:
    answered = np.arange(records.n) if system.answered is None else np.flatnonzero(system.answered)
    if not len(answered):
        return
    if system.system.name != source.system:
        columns = [name for name in columns if name not in source.predictions]
    uncertainty = system.uncertainty[system.measure]
    for kind, places in chosen(system.errors, uncertainty, source.select(answered)).items():
        if kind != "worst" and not system.measure:  # all are equally certain
            continue
        target = [source.target] if source.target in source.frame.columns else []
        rows = source.rows[answered[places]]
        cells = [_shown(source.frame[name].gather(rows)).to_list() for name in [*columns, *target]]
        answers = _answers(system, places)
        ids = source.ids.gather(rows).cast(pl.String).to_list()
        texts = system.texts(places[:MOST_TEXTS]) if system.texts else []
        for number, place in enumerate(places):
            shifted = None if records.shifted is None else bool(records.shifted[answered[place]])
            yield Notable(
                system.system.name, records.split, kind, number + 1, ids[number][:LONGEST],
                float(system.errors[place]), float(uncertainty[place]), shifted,
                cells[-1][number] if target else None,
                answers[number],
                {name[:LONGEST]: values[number] for name, values in zip(columns, cells, strict=False)},
                texts=tuple(texts[number]) if number < len(texts) else (),
            )  # fmt: skip


def _columns(source: Source) -> list[str]:
    """The columns that are listed, in the order in which they are shown."""
    return [name for name in source.columns if tables.is_label(source.frame.schema[name])][:MOST_COLUMNS]


def _answers(system: Scored, places: Index) -> list[Any]:
    if system.answers is None:
        return [None] * len(places)
    values = system.answers[places]
    return _shown(pl.Series(values.tolist() if values.dtype == object else values, strict=False)).to_list()


def _shown(values: pl.Series) -> pl.Series:
    """Values that JSON can hold: numbers, true and false, and texts that are not too long."""
    if values.dtype.is_integer() or values.dtype == pl.Boolean:
        return values
    if values.dtype.is_numeric():
        # A number in single precision is shown with its own digits.
        found = (values.cast(pl.String) if values.dtype == pl.Float32 else values).cast(pl.Float64)
        return found.set(found.is_infinite() | found.is_nan(), None)
    far = dates.beyond(values)
    if far.any():
        known = values.set(far, None).cast(pl.String)
        return known.set(far, "out of range")
    return values.cast(pl.String, strict=False).str.head(LONGEST)
