"""The sets (Table 14, and 5 of the first version), and the tables of scores (4 and 5, and 6 and 7 there)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from shiftbench.report.content import Report
from shiftbench.report.digits import MISSING, count_text
from shiftbench.report.view import split_title
from shiftbench.track import published
from shiftbench.track.paper import rows
from shiftbench.track.paper.printed import columns, lookup, marks
from shiftbench.track.paper.run import BOLD, PaperSystem, origins
from shiftbench.track.paper.table import Cell, Row, Table, distance
from shiftbench.tracks.translation.paper.systems import FIRST, PAPER, TASK, Run, of, printed

KEYS = ("model", "ensemble", "dataset", "subset", "metric")  # of a cell in print


@dataclass(frozen=True)
class Layout:
    """A table of scores: its number in a paper, and what it shows; `joint`: of errors and uncertainty together."""

    number: str
    paper: str
    joint: bool = False

    @property
    def title(self) -> str:
        """A short title."""
        return "Retention and detection" if self.joint else "Translations"

    @property
    def caption(self) -> str:
        """The caption."""
        if self.joint:
            return "Errors (100 − eGLEU, acceptable up to 60) and uncertainty (NLL, mean of the beam) jointly."
        return "BLEU of the most confident hypotheses, and the expected and the highest GLEU of a beam of five."


LAYOUTS = (
    Layout("Table 4", PAPER), Layout("Table 5", PAPER, joint=True),
    Layout("Table 6", FIRST), Layout("Table 7", FIRST, joint=True),
)  # fmt: skip
SETS = {  # part → name, sentences and mean lengths (English, Russian) in Table 14, and sentences in the first version
    "train": ("WMT’20", 62_000_000, "23.9", "20.9", 70_000_000),
    "dev_in": ("NWT’19", 1997, "24.5", "24.7", 1997),
    "eval_in": ("GlobalVoices", 3000, "25.1", "24.1", 3000),
    "dev_out": ("WMT’19 MTNT Reddit", 1362, "17.2", "16.5", 1362),
    "eval_out": ("Shifts Reddit", 3063, "16.1", "16.4", 3065),
}
WORDS = (
    "Lengths of ours are words between white space; print states no unit, and one length was read with doubt (20.9)."
)


def tables(reports: Iterable[Report]) -> list[Table]:
    """The sets, then the scores of the full paper and of its first version, a table for each dataset.

    Raises:
        TableError: if there is no report by the eGLEU error, or one of another track.
    """
    runs = of(reports)
    made = [_sets(runs)]
    for layout in LAYOUTS:
        frame = printed(layout.number, layout.paper)
        made += [_scores(layout, runs, part) for part in frame.partition_by("dataset", maintain_order=True)]
    return made


def _sets(runs: Sequence[Run]) -> Table:
    rows, words = list[Row](), list[tuple[str, ...]]()
    for part, (name, sentences, english, russian, before) in SETS.items():
        rows.append(Row(f"{part}, in print: {name}"))
        words.append((count_text(sentences), english, russian, count_text(before)))
        for run in runs:
            count = run.entry("partition", "counts").get(part)
            if isinstance(count, int):
                lengths = run.entry("lengths", part)
                rows.append(Row(part, run=run.name))
                words.append((count_text(count), *(_length(lengths.get(s)) for s in ("source", "reference")), MISSING))
    return Table(
        "Table 14", PAPER, "Sets", f"Sentences of each part. {origins(runs)}", "Part", tuple(rows), task=TASK,
        heads=(
            "Sentences", "Mean length, source (English)", "Mean length, target (Russian)",
            f"Sentences, Table 5 of {FIRST}",
        ),
        words=tuple(words), notes=(WORDS,),
    )  # fmt: skip


def _length(value: object) -> str:
    return f"{value:.1f}" if isinstance(value, float) else MISSING


def _scores(layout: Layout, runs: Sequence[Run], frame: pl.DataFrame) -> Table:
    heads, found, lines = columns(frame), lookup(frame, KEYS), list(rows.lines(runs, frame, PaperSystem))
    values = [[line.printed(found, column) for column in heads] for line in lines]
    scores = [[line.score(column) for column in heads] for line in lines]
    cells = rows.cells(heads, scores, values)
    letters = marks(value for row in values for here in row for value in here)
    return Table(
        layout.number, layout.paper, f"{layout.title} ({split_title(heads[0].dataset)})",
        f"{layout.caption} {origins(runs)}", "System", tuple(line.row for line in lines), heads, cells, task=TASK,
        notes=tuple(_notes(lines, cells, letters)), marks=letters,
    )  # fmt: skip


def _notes(lines: Sequence[rows.Line], cells: Sequence[Sequence[Cell]], letters: dict[str, str]) -> Iterator[str]:
    every = [cell for row in cells for cell in row]
    if any(cell.best for cell in every):
        yield BOLD
    yield "In print an ensemble has three members, and mean ± std is over these three."
    if any(cell.low is not None for cell in every):
        yield "Brackets hold confidence intervals."
    official = [row for line, row in zip(lines, cells, strict=True) if line.run is not None and line.run.official]
    yield from distance([cell for row in official for cell in row])
    meanings = published.flags()
    yield from (f"{letter} {meanings[flag]}." for flag, letter in letters.items())
