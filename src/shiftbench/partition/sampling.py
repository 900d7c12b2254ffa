"""Drawing records by the hash of their ids: by shares, to exact sizes, or whole groups at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from shiftbench.errors import PartitionError
from shiftbench.partition import counting
from shiftbench.partition.hashing import Hashes, Positions, below, keyed_hash, smallest

Draw = dict[str, Positions]  # partition → positions [K] in the table, ascending


@dataclass(frozen=True)
class Sampler:
    """Draws from given rows of a table [N], by the ids [N] or, if groups [N] stay whole, by groups."""

    ids: pl.Series
    groups: pl.Series | None
    seed: int

    def by_shares(self, rows: Positions, shares: Mapping[str, float]) -> Draw:
        """Divide the rows among the shares (which sum to 1)."""
        if self.groups is None:
            parts = divided(self._hashes(rows), shares)
        else:
            parts = whole_groups(self.groups.gather(rows), shares, seed=self.seed)
        return {name: rows[part] for name, part in parts.items()}

    def to_sizes(self, rows: Positions, sizes: Mapping[str, int]) -> Draw:
        """Give each name in turn its number of the remaining rows, those with the smallest hashes.

        Raises:
            PartitionError: if there are too few rows.
        """
        if (total := sum(sizes.values())) > len(rows):
            listed = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
            raise PartitionError(
                f"sizes: expected at most {len(rows):,} in-domain records, found {total:,} ({listed})."
            )
        drawn: Draw = {}
        hashes = self._hashes(rows)
        taken, reached = np.zeros(len(rows), np.bool_), 0
        for name, size in sizes.items():
            reached += size
            within = smallest(hashes, self.ids, reached, rows=rows)
            drawn[name] = rows[within & ~taken]
            taken = within
        return drawn

    def smallest(self, rows: Positions, size: int) -> Positions:
        """The `size` rows with the smallest hashes."""
        if size >= len(rows):
            return rows
        return rows[smallest(self._hashes(rows), self.ids, size, rows=rows)]

    def _hashes(self, rows: Positions) -> Hashes:
        if not self.ids.dtype.is_integer():
            return keyed_hash(self.ids.gather(rows), seed=self.seed)
        numbers = self.ids.to_numpy()
        hashes = np.empty(len(rows), np.uint64)
        for part in counting.slices(len(rows)):  # without materialising a long column for hashing
            hashes[part] = keyed_hash(pl.Series(numbers[rows[part]]), seed=self.seed)
        return hashes


def divided(hashes: Hashes, shares: Mapping[str, float]) -> Draw:
    """Divide N records: each name takes the next part of the hash range, in proportion to its share."""
    drawn: Draw = {}
    *names, last = shares
    taken, reached = np.zeros(len(hashes), np.bool_), 0.0
    for name in names:
        reached += shares[name]
        within = below(hashes, reached)
        drawn[name] = np.flatnonzero(within & ~taken)
        taken = within
    drawn[last] = np.flatnonzero(~taken)
    return drawn


def whole_groups(groups: pl.Series, shares: Mapping[str, float], *, seed: int) -> Draw:
    """Divide N records so that no group is cut.

    The groups, ordered by their hashes, are laid out on a line, each with a length of its number of records; a group
    goes to the name whose section of the line contains its middle. So shares are met as closely as the groups allow.
    """
    counted = groups.alias("group").value_counts(name="records")
    ordered = counted.with_columns(hash=keyed_hash(counted["group"], seed=seed)).sort("hash", "group")
    records = ordered["records"].to_numpy()
    middles = (np.cumsum(records) - records / 2) / len(groups)
    part = np.searchsorted(np.cumsum(list(shares.values()))[:-1], middles, side="right")
    places = groups.replace_strict(ordered["group"], pl.Series(part), return_dtype=pl.Int64).to_numpy()
    return {name: np.flatnonzero(places == place) for place, name in enumerate(shares)}
