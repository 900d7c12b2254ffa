"""A table of a paper as plain values: our and the printed value of each cell."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from shiftbench.report.digits import MISSING, Digits, digits_of, half_width
from shiftbench.report.grid import ARROWS
from shiftbench.report.view import finite, split_title
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import SUBSETS, Score

# Units in the notation of `shiftbench.track.published`: how they are shown, and the factor from a score.
UNITS = {
    "degC": ("°C", 1.0),
    "degC^2": ("°C²", 1.0),
    "kW": ("kW", 1.0),
    "1e5 kW^2": ("10⁵ kW²", 1e-5),
    "nats": ("nats", 1.0),
    "m": ("m", 1.0),
    "error rate": ("", 1.0),
    "fraction": ("", 1.0),
    "%": ("%", 100.0),
}


@dataclass(frozen=True)
class Printed:
    """One printed value: its exact text, its source, and its flags.

    turned: the text is 100 minus the printed value, whose sign was wrong.
    """

    text: str
    std: str
    source: str
    flags: tuple[str, ...] = ()
    turned: bool = False

    @property
    def value(self) -> float:
        """The number, in the unit of the column."""
        return float(self.text)


@dataclass(frozen=True)
class Column:
    """A metric on a subset of a dataset, in the printed unit.

    unit: in the notation of `shiftbench.track.published`, or any other text, which is shown as it is, with factor 1.
    title: the heading, if not that of the metric on the subset; the unit follows it.
    """

    dataset: str
    subset: str
    metric: str
    unit: str
    title: str = ""

    @property
    def place(self) -> tuple[str, str, str]:
        """The key of the score in a report."""
        return (self.dataset, self.subset, self.metric)

    @property
    def factor(self) -> float:
        """The factor from a score to this unit."""
        return UNITS.get(self.unit, ("", 1.0))[1]

    @property
    def unit_shown(self) -> str:
        """The unit in common notation, or an empty string."""
        return UNITS.get(self.unit, (self.unit, 1.0))[0]


@dataclass(frozen=True)
class Row:
    """A system, with its name in the paper if it has one; `own` and `run` are its names in our report."""

    system: str
    own: str = ""
    run: str = ""
    measure: str = ""
    experiment: str = ""


@dataclass(frozen=True)
class Cell:
    """Our score in the unit of its column (None if the run lacks it), and the printed values, if any.

    each: the scores of the single models behind a mean, in the same unit.
    """

    value: float | None = None
    std: float | None = None
    low: float | None = None
    high: float | None = None
    printed: tuple[Printed, ...] = ()
    best: bool = False
    each: tuple[float, ...] = ()

    @classmethod
    def of(cls, score: Score | None, column: Column, printed: tuple[Printed, ...], *, best: bool = False) -> Cell:
        """A score and its interval, scaled to the column."""
        if score is None or not finite(score.value):
            return cls(printed=printed)
        value, std, low, high = (
            number * column.factor if finite(number) else None
            for number in (score.value, score.std, score.low, score.high)
        )
        each = tuple(number * column.factor for number in score.each if finite(number))
        return cls(value, std, low, high, printed, best, each)


@dataclass(frozen=True)
class Table:
    """One table. `cells` is indexed by row and column; `words` replaces it in tables without numbers.

    experiment: the training set of rows that do not name one.
    """

    number: str
    paper: str
    title: str
    caption: str
    label: str
    rows: tuple[Row, ...]
    columns: tuple[Column, ...] = ()
    cells: tuple[tuple[Cell, ...], ...] = ()
    task: str = ""
    experiment: str = ""
    notes: tuple[str, ...] = ()
    heads: tuple[str, ...] = ()
    words: tuple[tuple[str, ...], ...] = ()
    marks: dict[str, str] = field(default_factory=dict)  # flag → the letter after a printed value

    @property
    def heading(self) -> str:
        """Number, paper and title."""
        return f"{self.number}, {self.paper}: {self.title}"

    @property
    def titles(self) -> tuple[str, ...]:
        """The headings of the columns with numbers."""
        several = len({column.dataset for column in self.columns}) > 1
        return tuple(_title(column, several) for column in self.columns)

    @cached_property
    def has_printed(self) -> bool:
        """Whether any cell holds a printed value."""
        return any(cell.printed for cells in self.cells for cell in cells)

    @cached_property
    def digits(self) -> tuple[Digits, ...]:
        """The format of our numbers in each column."""
        return tuple(
            digits_of(
                [cell.value for cell in cells if cell.value is not None],
                [half_width(cell.low, cell.high, cell.std) for cell in cells],
                factor=1.0,  # headings and printed values know of no power of ten
            )
            for cells in zip(*self.cells, strict=True)
        )

    def ours(self, row: int, place: int) -> tuple[str, str]:
        """Our number, and its interval or ± std."""
        cell, digits = self.cells[row][place], self.digits[place]
        if cell.value is None:
            return MISSING, ""
        return digits.cell(cell.value, low=cell.low, high=cell.high, std=cell.std)

    def in_print(self, row: int, place: int) -> str:
        """The printed values, with a letter for each flag."""
        texts = []
        for value in self.cells[row][place].printed:
            letters = "".join(self.marks[flag] for flag in value.flags if flag in self.marks)
            spread = f" ± {value.std}" if value.std else ""
            texts.append(f"{value.text}{spread}{'*' if value.turned else letters}")
        return " / ".join(texts) or MISSING


def _title(column: Column, several: bool) -> str:
    if column.title:
        return f"{column.title}{f' ({column.unit_shown})' if column.unit_shown else ''}"
    metric, unit = METRICS[column.metric], column.unit_shown
    where = SUBSETS[column.subset].lower()
    if several:
        split = split_title(column.dataset)
        where = split if column.subset == "full" else f"{split}, {where}"
    title = metric.title.replace("%", " %") if metric.name == "f1_at_95" else metric.title
    if metric.table == "variants":
        title = f"{title}: {metric.row}"
    return f"{' '.join(filter(None, (title, ARROWS[metric.better], f'({unit})' if unit else '')))}, {where}"


def distance(cells: Sequence[Cell]) -> Iterator[str]:
    """A sentence on the differences between our results on official data and print, if there are any to compare."""
    apart = [
        abs(cell.value / value.value - 1)
        for cell in cells
        for value in cell.printed
        if cell.value is not None and value.value
    ]
    if apart:
        middle, most = 100 * statistics.median(apart), 100 * max(apart)
        count = len(apart)
        yield f"Official data: ours and print are {middle:.1f} % apart in the median of {count}, {most:.1f} % at most."
