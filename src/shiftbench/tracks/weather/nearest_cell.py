"""The nearest marked cell of the half-degree lattice, exact and vectorised.

Four centres surround a point. In the 1-norm, the nearest marked cell to its south-west is the nearest one to the
south-west of its south-western centre, and likewise for the other three sides. So the cell is found once for each side
of each centre, and each point compares only four.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from shiftbench.check import Flags, Vector

Whole = npt.NDArray[np.int64]
Marks = npt.NDArray[np.uint8]

ROWS, COLUMNS = 360, 720
CELL = 500_000  # half a degree in microdegrees, as whole numbers so that ties are exact
CIRCLE = COLUMNS * CELL
POINTS_AT_ONCE = 2**16

# A rank orders cells by distance, then by difference of latitude, then by side: bits 30…59, 2…29 and 0…1.
DISTANCE, LATITUDE = np.int64(30), np.int64(2)
STEP = np.int64(CELL) << DISTANCE
ROW = np.int64(CELL) << LATITUDE
NOWHERE = np.int64(1) << np.int64(61)

Side = tuple[int, int]
SIDES: tuple[Side, ...] = ((-1, -1), (-1, 1), (1, -1), (1, 1))
"""Steps to the next row and column: south-west, south-east, north-west, north-east; the first wins ties."""


class NearestCell:
    """Looks up the nearest marked cell to a point, by |Δlatitude| + |Δlongitude| in degrees.

    Longitudes wrap around, latitudes end at the poles. Coordinates are rounded to a millionth of a degree (0.1 m). Ties
    are resolved by the smaller difference of latitude, then by the southern, then by the western cell.

    values: [360, 720] of the cells, from 90° south and 180° west.
    marked: [360, 720] the cells to search, at least one.
    """

    def __init__(self, values: Marks, marked: Flags) -> None:
        self._ranks = np.stack([_ranks(marked, side) for side in SIDES])
        self._values = np.stack([_found(values, ranks, side) for ranks, side in zip(self._ranks, SIDES, strict=True)])

    def __call__(self, latitude: Vector, longitude: Vector) -> Marks:
        """The value of the nearest marked cell of each of N points, [N]."""
        found = np.empty(len(latitude), np.uint8)
        for first in range(0, len(latitude), POINTS_AT_ONCE):
            points = slice(first, first + POINTS_AT_ONCE)
            found[points] = self._nearest(latitude[points], longitude[points])
        return found

    def _nearest(self, latitude: Vector, longitude: Vector) -> Marks:
        rows, south = np.divmod(_micro(latitude) + 180 * CELL - CELL // 2, CELL)
        columns, west = np.divmod((_micro(longitude) + 360 * CELL - CELL // 2) % CIRCLE, CELL)
        best = np.full(len(rows), np.iinfo(np.int64).max)
        found = np.empty(len(rows), np.uint8)
        for place, (up, right) in enumerate(SIDES):
            node = (rows + (2 if up > 0 else 1), (columns + (right > 0)) % COLUMNS)
            vertical = CELL - south if up > 0 else south
            horizontal = CELL - west if right > 0 else west
            rank = self._ranks[place][node] + ((vertical + horizontal) << DISTANCE | vertical << LATITUDE | place)
            nearer = rank < best
            best = np.where(nearer, rank, best)
            found = np.where(nearer, self._values[place][node], found)
        return found


def _micro(degrees: Vector) -> Whole:
    return np.rint(degrees * 1e6).astype(np.int64)


def _ranks(marked: Flags, side: Side) -> Whole:
    """For each centre the rank of the nearest marked cell on this side of it, including its own row and column.

    A padding row of centres beyond each pole makes it [362, 720].
    """
    own = np.pad(np.where(marked, np.int64(0), NOWHERE), ((1, 1), (0, 0)), constant_values=NOWHERE)
    ranks = np.empty_like(own)
    for target, row in zip(_from_the_edge(ranks, side), _nearest_by_row(_from_the_edge(own, side)), strict=True):
        target[:] = row
    return ranks


def _from_the_edge(table: Whole, side: Side) -> Whole:
    """A view in which the side's cells precede their centre, in both rows and columns."""
    up, right = side
    return table[::-up, ::-right]


def _nearest_by_row(own: Whole) -> Iterator[Whole]:
    steps = np.arange(2 * COLUMNS) * STEP
    row = np.full(COLUMNS, NOWHERE)
    for cells in own:
        row = np.minimum(cells, row + (STEP + ROW))
        # Two passes around the circle of longitudes, so that every cell has seen all others.
        row = (np.minimum.accumulate(np.tile(row, 2) - steps) + steps)[COLUMNS:]
        row = np.minimum(row, NOWHERE)
        yield row


def _found(values: Marks, ranks: Whole, side: Side) -> Marks:
    """The values of the cells with these ranks, [362, 720]; arbitrary if there is no cell."""
    up, right = side
    down = (ranks >> LATITUDE & (2**28 - 1)) // CELL
    along = (ranks >> DISTANCE) // CELL - down
    rows, columns = np.indices(ranks.shape)
    found: Marks = values[np.clip(rows - 1 + up * down, 0, ROWS - 1), (columns + right * along) % COLUMNS]
    return found
