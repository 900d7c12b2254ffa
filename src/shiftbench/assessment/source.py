"""The rows of a table that records were made from: their columns reach a report from here alone, and only on demand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from shiftbench.partition.features import Features
from shiftbench.partition.hashing import keyed_hash
from shiftbench.scores.ranking import Index


@dataclass(frozen=True)
class Source:
    """The rows of a table behind N records. The table is shared, never copied; only what is taken from it is.

    frame: all columns of T rows. ids: [T] text or whole numbers. rows: [N] the row of each record. features: the
    columns that models see. target: the column of targets. id_column: that of the ids, if they are no row numbers.
    groups: the columns of clusters and slices. system, predictions: the system whose predictions the table holds, and
    their columns. told: columns that a list of records tells in its own: answers, errors, which records are shifted.
    """

    frame: pl.DataFrame
    ids: pl.Series
    rows: Index
    features: Features = field(default_factory=Features)
    target: str = ""
    id_column: str | None = None
    groups: tuple[str, ...] = ()
    system: str = ""
    predictions: tuple[str, ...] = ()
    told: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """All columns but those of ids, targets and what is told, in the order in which people read them: groups, then
        features."""
        seen = (*self.groups, *self.features.numeric, *self.features.categorical, *self.features.dates)
        known = [name for name in dict.fromkeys((*seen, *self.frame.columns)) if name in self.frame.columns]
        return [name for name in known if name not in (self.target, self.id_column, *self.told)]

    def __len__(self) -> int:
        return len(self.rows)

    def select(self, member: Any) -> Source:
        """The records selected by the mask or the positions `member`, in their order."""
        return replace(self, rows=self.rows[member])

    def take(self, records: Any = slice(None), columns: Sequence[str] | None = None) -> pl.DataFrame:
        """The rows of these records (positions or a mask [N]; by default all), in their order, with these columns."""
        chosen = self.frame if columns is None else self.frame.select(columns)
        return chosen.select(pl.all().gather(self.rows[records]))

    def drawn(self, most: int, *, seed: int) -> Source:
        """At most so many of the records, drawn by a hash of their ids: whatever their order, the same in the same
        order."""
        hashes = keyed_hash(self.ids.gather(self.rows), seed=seed)
        kept = np.arange(len(hashes))
        if most < len(hashes):  # the rest need not be sorted
            kept = np.flatnonzero(hashes <= np.partition(hashes, most)[most])
        return self.select(kept[np.argsort(hashes[kept], kind="stable")[:most]])

    def folds(self, count: int, *, seed: int) -> Index:
        """A fold 0 … count - 1 for each record [N], by a hash of its id."""
        return (keyed_hash(self.ids.gather(self.rows), seed=seed) % np.uint64(count)).astype(np.intp)
