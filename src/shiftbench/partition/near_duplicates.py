"""Finds every record that has a near-duplicate in train, without comparing all pairs.

Two records are near-duplicates if each number of one differs from that of the other by at most TOLERANCE standard
deviations of its column, and all other values (text, dates, booleans, missing and infinite values) are equal. The
distance is thus the largest difference in any column, in units of that column's standard deviation over the finite
values of the partitioned records. A column whose standard deviation is zero or lost in rounding is compared exactly.

The search is a grid join (Böhm, Braunmüller, Krebs and Kriegel, "Epsilon grid order", SIGMOD 2001). A column is divided
into cells wider than the tolerance, so that a near-duplicate of a value lies in the same cell or, if the value is near
an edge, in the adjacent one; such a record is entered in both. Column by column, the most selective first, records
whose cell contains no record of the other side are dropped, until few pairs are left; these are compared in full.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shiftbench.check import Flags, Vector
from shiftbench.partition.hashing import Hashes, Positions, step

TOLERANCE = 0.01  # standard deviations
WIDE, NARROW = 20.0, 3.0  # cell widths in tolerances: wide ones duplicate few records, narrow ones split dense data
OFFSET = 0.382  # of a cell, so that zero and other frequent round numbers lie inside cells
SAMPLED = 2_000  # records used to rank columns
PAIRS_AT_ONCE = 1_000_000
FEW_PAIRS = 4  # pairs per record that are compared at once instead of narrowing them down by further columns
MOST_PAIRS = 2_000_000_000
ROUNDING = 2.0**-50


@dataclass(frozen=True)
class Twins:
    """Records with a twin in train: their rows [K], ascending, and for each the row of one twin.

    complete: whether all pairs that could be twins were compared.
    """

    rows: Positions
    twins: Positions
    complete: bool = True


@dataclass(frozen=True)
class _Column:
    """A column [N] of the table, and the tolerance between two of its values; 0 if they must be equal."""

    values: pl.Series
    tolerance: float

    def words(self, rows: Positions) -> Hashes:
        """64-bit words [K] that are equal where the values are."""
        if self.values.dtype.is_numeric():
            return _words(self.numbers(rows))
        return self.values.gather(rows).hash().to_numpy()

    def numbers(self, rows: Positions) -> Vector:
        """The values as floats, NaN where missing."""
        return self.values.gather(rows).cast(pl.Float64).fill_null(math.nan).to_numpy()

    def collisions(self, rows: Positions) -> float:
        """The share of pairs of these records that share a cell."""
        _, counts = np.unique(self.cells(rows, WIDE), return_counts=True)
        return float(np.sum((counts / len(rows)) ** 2))

    def cells(self, rows: Positions, width: float) -> Hashes:
        """The cell of each value, in cells of `width` tolerances."""
        if not self.tolerance:
            return self.words(rows)
        return _words(np.floor(self._places(rows, width)))

    def near_cells(self, rows: Positions, width: float) -> tuple[Hashes, Hashes]:
        """The first and the last cell that can contain values within the tolerance of each value."""
        if not self.tolerance:
            words = self.words(rows)
            return words, words
        places = self._places(rows, width)
        reach = np.where(np.isfinite(places), 1.0 / width + ROUNDING * np.abs(places), 0.0)
        return _words(np.floor(places - reach)), _words(np.floor(places + reach))

    def _places(self, rows: Positions, width: float) -> Vector:
        return self.numbers(rows) / (width * self.tolerance) + OFFSET

    def close(self, one: Positions, other: Positions) -> Flags:
        """Whether the values in the rows `one` [P] and `other` [P] are within the tolerance."""
        if not self.values.dtype.is_numeric():
            same: Flags = self.values.gather(one).eq_missing(self.values.gather(other)).to_numpy()
            return same
        here, there = self.numbers(one), self.numbers(other)
        equal = (here == there) | (np.isnan(here) & np.isnan(there))
        with np.errstate(invalid="ignore"):  # infinity minus infinity
            near: Flags = equal | (np.abs(here - there) <= self.tolerance)
        return near


def _words(numbers: Vector) -> Hashes:
    """The bits of floats, with one representation of zero and one of NaN."""
    return np.where(np.isnan(numbers), math.nan, numbers + 0.0).view(np.uint64)


def equal(features: pl.DataFrame, train: Positions, others: Positions) -> Twins:
    """The rows among `others` [Q] that equal a row of `train` [T] in every column, by 64-bit hashes of the rows."""
    keys = features.hash_rows().to_numpy()
    return _matched(keys[train], train, keys[others], others)


def near(features: pl.DataFrame, train: Positions, others: Positions, *, known: Twins) -> Twins:
    """The rows among `others` [Q] that have a near-duplicate in `train` [T].

    known: those that have an equal row, which need no search.
    """
    columns = _columns(features, np.concatenate([train, others]))
    left = others[~np.isin(others, known.rows)]
    join = _Join(train, left)
    join.narrow_down(columns, WIDE)
    found = [known]
    if not join.is_small:
        # Records that share a narrow cell in every column are within the tolerance; in dense data most do.
        found.append(join.in_one_cell(columns))
        join.drop(found[-1].rows)
        join.narrow_down([column for column in columns if column.tolerance], NARROW)
    compared, complete = join.compared(columns)
    found.append(compared)
    rows, twins = (np.concatenate([getattr(each, name) for each in found]) for name in ("rows", "twins"))
    order = np.argsort(rows)
    return Twins(rows[order], twins[order], complete)


def _columns(features: pl.DataFrame, rows: Positions) -> list[_Column]:
    """The columns with their tolerances, the most selective first."""
    everything = len(rows) == features.height
    columns = [_Column(values, _tolerance(values if everything else values.gather(rows))) for values in features]
    sample = rows[np.linspace(0, len(rows) - 1, min(SAMPLED, len(rows)), dtype=np.intp)]
    met = [column.collisions(sample) for column in columns]
    return [columns[place] for place in np.argsort(met, kind="stable")]


def _tolerance(values: pl.Series) -> float:
    if not values.dtype.is_numeric():
        return 0.0
    numbers = values.cast(pl.Float64).fill_nan(None)
    largest: Any = numbers.abs().max()
    if largest == math.inf:
        numbers = numbers.filter(numbers.is_finite())
        largest = numbers.abs().max()
    deviation: Any = numbers.std()
    if deviation == math.inf or (deviation is not None and math.isnan(deviation)):  # squares too large for a float
        deviation = (numbers / largest).std() * largest
    tolerance = TOLERANCE * (deviation or 0.0)
    return tolerance if tolerance > 8 * ROUNDING * (largest or 0.0) else 0.0


def _matched(train_keys: Hashes, train: Positions, keys: Hashes, rows: Positions) -> Twins:
    """The rows that share a key with a row of train, each once, and the first such row of train."""
    met = pl.Series(keys).is_in(pl.Series(train_keys).implode()).to_numpy()
    frame = pl.DataFrame({"key": keys[met], "row": rows[met]}).unique("row", maintain_order=True)
    known = pl.Series(train_keys).is_in(frame["key"].implode()).to_numpy()
    there = pl.DataFrame({"key": train_keys[known], "twin": train[known]}).group_by("key").agg(pl.col("twin").min())
    joined = frame.join(there, on="key").sort("row")
    return Twins(joined["row"].to_numpy().astype(np.intp), joined["twin"].to_numpy().astype(np.intp))


class _Join:
    """The remaining candidates on both sides: their rows, and a key of their cells so far."""

    def __init__(self, train: Positions, others: Positions) -> None:
        self.train, self.others = train, others
        self.train_keys, self.keys = np.zeros(len(train), np.uint64), np.zeros(len(others), np.uint64)
        self.pairs = len(train) * len(others)

    @property
    def is_small(self) -> bool:
        """Whether comparing the pairs costs no more than processing another column."""
        return self.pairs <= FEW_PAIRS * (len(self.train) + len(self.others)) + PAIRS_AT_ONCE // 10

    def narrow_down(self, columns: list[_Column], width: float) -> None:
        """Drop records without a candidate in their cells, column by column, while that removes many pairs."""
        most = 4 * len(self.others)
        for column in columns:
            if self.is_small or len(self.others) > most:
                return
            self._split(column, width)
            self._keep_met()

    def _split(self, column: _Column, width: float) -> None:
        self.train_keys = step(self.train_keys, column.cells(self.train, width))
        first, last = column.near_cells(self.others, width)
        double = first != last
        self.keys = np.concatenate([step(self.keys, first), step(self.keys[double], last[double])])
        self.others = np.concatenate([self.others, self.others[double]])

    def _keep_met(self) -> None:
        """Drop records whose key the other side lacks, and count the pairs that share a key."""
        met = pl.Series(self.keys).is_in(pl.Series(self.train_keys).implode()).to_numpy()
        self.keys, self.others = self.keys[met], self.others[met]
        met = pl.Series(self.train_keys).is_in(pl.Series(self.keys).implode()).to_numpy()
        self.train_keys, self.train = self.train_keys[met], self.train[met]
        named = ((self.keys, "others"), (self.train_keys, "train"))
        here, there = (pl.Series("key", keys).value_counts(name=name) for keys, name in named)
        both = here.join(there, on="key").select(pl.col("others").cast(pl.Float64) * pl.col("train"))
        self.pairs = int(both.to_series().sum())

    def in_one_cell(self, columns: list[_Column]) -> Twins:
        """Records that share a cell one tolerance wide in every column with a record of train."""
        keys = []
        for rows in (self.train, self.others):
            own = np.zeros(len(rows), np.uint64)
            for column in columns:
                own = step(own, column.cells(rows, 1.0))
            keys.append(own)
        found = _matched(keys[0], self.train, keys[1], self.others)
        sure = _close(columns, found.rows, found.twins)
        return Twins(found.rows[sure], found.twins[sure])

    def drop(self, rows: Positions) -> None:
        """Drop rows for which a near-duplicate has been found."""
        left = ~np.isin(self.others, rows)
        self.others, self.keys = self.others[left], self.keys[left]
        self._keep_met()

    def compared(self, columns: list[_Column]) -> tuple[Twins, bool]:
        """Records that are close in every column to one with the same key, and whether all pairs were compared."""
        most = len(self.train) if self.pairs <= MOST_PAIRS else MOST_PAIRS // len(self.others)
        rows, twins = [], []
        for own, other in self._chunks(most):
            close = _close(columns, own, other)
            rows.append(own[close])
            twins.append(other[close])
        if not rows:
            return Twins(np.zeros(0, np.intp), np.zeros(0, np.intp)), True
        frame = pl.DataFrame({"row": np.concatenate(rows), "twin": np.concatenate(twins)})
        first = frame.group_by("row").agg(pl.col("twin").min()).sort("row")
        found = Twins(first["row"].to_numpy().astype(np.intp), first["twin"].to_numpy().astype(np.intp))
        return found, self.pairs <= MOST_PAIRS

    def _chunks(self, most: int) -> Iterator[tuple[Positions, Positions]]:
        """Pairs of rows that share a key, at most `most` per record, in chunks that fit into memory."""
        order = np.argsort(self.train_keys, kind="stable")
        keys, train = self.train_keys[order], self.train[order]
        first = np.searchsorted(keys, self.keys, side="left")
        counts = np.minimum(np.searchsorted(keys, self.keys, side="right") - first, most)
        ends = np.cumsum(counts)
        start = 0
        while start < len(counts):
            done = int(ends[start - 1]) if start else 0
            stop = max(start + 1, int(np.searchsorted(ends, done + PAIRS_AT_ONCE, side="right")))
            own = counts[start:stop]
            place = np.arange(int(own.sum())) - np.repeat(ends[start:stop] - own - done, own)
            yield np.repeat(self.others[start:stop], own), train[np.repeat(first[start:stop], own) + place]
            start = stop


def _close(columns: list[_Column], one: Positions, other: Positions) -> Flags:
    """Whether the rows `one` [P] and `other` [P] are within the tolerance in every column."""
    left = np.arange(len(one))
    for column in columns:
        if not len(left):
            break
        left = left[column.close(one[left], other[left])]
    flags = np.zeros(len(one), np.bool_)
    flags[left] = True
    return flags
