"""The data (Table 6), correlations with lesion load (Table 8) and main results (Tables 9 to 11) of Shifts 2.0 on
lesions, printed values beside those of runs.

The others (cross-site, leave-one-site-out, sub-populations) are not filled yet; `shiftbench tables lesions --metric
ndsc` lists what is printed in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.metrics.segmentation.correlation import KINDS
from shiftbench.report.content import Report
from shiftbench.report.digits import MISSING, count_text
from shiftbench.report.view import clean
from shiftbench.scores.score import Score
from shiftbench.track import published
from shiftbench.track.paper import run
from shiftbench.track.paper.output import Paper
from shiftbench.track.paper.printed import columns, lookup, marks, values
from shiftbench.track.paper.run import BOLD, leaders, origins
from shiftbench.track.paper.table import Cell, Column, Row, Table
from shiftbench.tracks.lesions import schema

PAPER = "Shifts 2.0"
MODELS = {"unet": "UNET", "unetr": "UNETR"}  # method → in print
AREA, OF_ONE = "ndsc_raac_reverse_mutual_information", "ndsc_raac_entropy_of_expected"
KEYS = ("model", "ensemble", "dropout", "dataset", "subset", "metric")  # of a cell in print
CORRELATIONS = "Table 8"
TABLES = {
    CORRELATIONS: (
        "Scores and the volume of lesions",
        "DSC and nDSC, and their correlation with the volume of a patient's lesions. In print it is Spearman's by the "
        "text and Pearson's by the caption; both of ours stand beside it.",
    ),
    "Table 9": ("Segmentation", "nDSC, a mean over patients."),
    "Table 10": ("Lesions", "Lesion F1, a mean over patients; connectivity 6, IoU 0.25, as in the published code."),
    "Table 11": (
        "Errors and uncertainty of voxels jointly",
        "Areas above the nDSC retention curves, by reverse mutual information; of single networks by entropy.",
    ),
}


@dataclass(frozen=True)
class Slot(run.Slot):
    """A system of the paper."""

    dropout: str

    @property
    def title(self) -> str:
        """The system in words."""
        kind = {"single": "single", "deep_ensemble": "ensemble", "mcdp": "MC dropout"}[self.ensemble]
        return f"{self.model} {kind}" + (f", dropout {self.dropout}" if float(self.dropout) else "")


@dataclass(frozen=True)
class Run(run.Run):
    """A report of this track."""

    @cached_property
    def slots(self) -> dict[str, run.Slot | None]:
        """The slot of each system; None for systems that the paper does not have, without their single models."""
        found: dict[str, run.Slot | None] = {}
        for system in self.report.systems:
            settings = self.settings(system)
            alone = system.role == "single" or settings.get("members") == 1
            slot = _slot(str(settings.get("method")), settings, alone=alone)
            if slot is not None or system.role != "single":
                found[system.name] = slot
        return found


def _slot(method: str, settings: dict[str, object], *, alone: bool) -> Slot | None:
    model, dropout = MODELS.get(method), float(str(settings.get("dropout", 0.0)))
    if model is None:
        return None
    if settings.get("ensemble") == "mc_dropout":  # print has the mean over networks, each an ensemble of its own draws
        return Slot(model, "mcdp", f"{dropout:.1f}") if alone else None
    if alone:
        return Slot(model, "single", f"{dropout:.1f}")
    return None if dropout else Slot(model, "deep_ensemble", "0.0")


def tables(reports: Iterable[Report]) -> list[Table]:
    """Table 6, then Tables 8 to 11.

    Raises:
        TableError: if there is no report of this track, or one of another.
    """
    runs = run.of_track(reports, Run, track=schema.TRACK, tasks=(schema.TASK,))
    return [_data(runs), *(_table(number, runs) for number in TABLES)]


def printed(number: str) -> pl.DataFrame:
    """The printed values of a table, with the names of subsets and scores as in reports."""
    frame = values(number, track=schema.TRACK, paper=PAPER)
    frame = frame.with_columns(
        subset=pl.col("subset").replace("out", "shifted"), metric=pl.col("metric").replace("r_auc", AREA)
    )
    return _correlations(frame) if number == CORRELATIONS else frame


def _correlations(frame: pl.DataFrame) -> pl.DataFrame:
    """Table 8 with its system named as elsewhere, and with every correlation twice, as print gives it two names."""
    name, told = pl.col("metric"), pl.col("metric").str.extract("^corr_(.+)_lesion_load$")
    frame = frame.with_columns(
        ensemble=pl.col("ensemble").replace("ensemble", "deep_ensemble"), dropout=pl.lit("0.0"),
        unit=pl.col("unit").fill_null(""),
    )  # fmt: skip
    each = [frame.with_columns(metric=pl.coalesce(told + f"_load_{kind}", name)) for kind in KINDS]
    return pl.concat(each).unique(maintain_order=True)


def _data(runs: Sequence[Run]) -> Table:
    """How many patients each part has and how much of them is lesion, in print and in the data of runs."""
    rows, words = [], []
    for part, told in schema.TABLE_6.items():
        rows.append(Row(f"{part}, in print"))
        words.append(
            (MISSING, f"{told['volume_ml']:.2f} ± {told['volume_sd_ml']:.2f}", count_text(int(told["lesions"])))
        )
        for own in runs:
            held = own.report.recipe.get("lesions")
            found = held.get(part) if isinstance(held, dict) else None
            if isinstance(found, dict) and {"patients", "volume_ml"} <= found.keys():
                spread = f" ± {found['volume_sd_ml']:.2f}" if "volume_sd_ml" in found else ""
                rows.append(Row(f"{part}, {own.name}"))
                words.append((count_text(found["patients"]), f"{found['volume_ml']:.2f}{spread}", _counts(found)))
    return Table(
        "Table 6", PAPER, "Data", f"Lesions of each part. {origins(runs)}", "Part", tuple(rows), task=schema.TASK,
        heads=("Patients", "Volume of lesions (ml), mean ± sd", "Lesions"), words=tuple(words),
        notes=("Numbers of lesions depend on the connectivity, which the paper does not state: ours by each.",),
    )  # fmt: skip


def _counts(found: Mapping[str, Any]) -> str:
    """Numbers of lesions by connectivity."""
    held = found.get("lesions")
    if not isinstance(held, dict) or not all(isinstance(count, int) for count in held.values()):
        return MISSING
    return " · ".join(f"{clean(each)}: {count_text(count)}" for each, count in held.items()) or MISSING


def _table(number: str, runs: Sequence[Run]) -> Table:
    frame, (title, caption) = printed(number), TABLES[number]
    heads, found = columns(frame), lookup(frame, KEYS)
    entries = list(_entries(runs, frame))
    scores = [[_score(own, row.own, slot, column) for column in heads] for row, slot, own in entries]
    kept = [at for at, (_, slot, own) in enumerate(entries) if slot is not None or own is None or any(scores[at])]
    entries, scores = [entries[at] for at in kept], [scores[at] for at in kept]
    first = [leaders([row[place] for row in scores]) for place in range(len(heads))]
    cells = tuple(
        tuple(
            Cell.of(
                here[1] if (here := scores[r][c]) else None, column,
                found.get((slot.model, slot.ensemble, slot.dropout, *column.place), ()) if slot else (),
                best=r in first[c],
            )
            for c, column in enumerate(heads)
        )
        for r, (_, slot, _) in enumerate(entries)
    )  # fmt: skip
    letters = marks(value for row in cells for cell in row for value in cell.printed)
    return Table(
        number, PAPER, title, f"{caption} {origins(runs)}", "System", tuple(row for row, *_ in entries), heads, cells,
        task=schema.TASK, notes=(*_notes(cells), *_flags(letters)), marks=letters,
    )  # fmt: skip


Entry = tuple[Row, Slot | None, Run | None]


def _entries(runs: Sequence[Run], frame: pl.DataFrame) -> Iterator[Entry]:
    """The systems of print in its order, filled by each run that has them, then all others."""
    for names in frame.select("model", "ensemble", "dropout").unique(maintain_order=True).iter_rows():
        slot = Slot(*names)
        filled = [(own, name) for own in runs for name in own.named(slot)]
        for own, name in filled:
            yield Row(slot.title, name, own.name), slot, own
        if not filled:
            yield Row(slot.title), slot, None
    for own in runs:
        for name, taken in own.slots.items():
            if taken is None:
                yield Row(clean(name), name, own.name), None, own


def _score(own: Run | None, name: str, slot: Slot | None, column: Column) -> tuple[Run, Score] | None:
    """Our score for a column, and whose it is; the area of single networks is by their entropy."""
    if own is None:
        return None
    single = slot is not None and slot.ensemble == "single"
    metric = OF_ONE if column.metric == AREA and single else column.metric
    score = own.score(name, (column.dataset, column.subset, metric))
    return (own, score) if score is not None else None


def _notes(cells: Sequence[Sequence[Cell]]) -> Iterator[str]:
    every = [cell for row in cells for cell in row]
    if any(cell.best for cell in every):
        yield BOLD
    if any(cell.std is not None for cell in every):
        yield "± is the standard deviation over networks; of MC dropout over networks, each with draws of its own."
    if any(cell.low is not None for cell in every):
        yield "Brackets hold confidence intervals, by patient."


def _flags(letters: dict[str, str]) -> list[str]:
    """What the letters after printed values mean."""
    meanings = published.flags()
    return [f"{letter} {meanings[flag]}" for flag, letter in letters.items()]


def figures(_reports: Sequence[Report], _folder: Path) -> list[Path]:
    """No figures yet."""
    return []


LESIONS = Paper("The lesion tables of Shifts 2.0", tables, figures)
