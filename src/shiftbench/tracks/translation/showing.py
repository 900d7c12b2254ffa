"""`shiftbench show translation`: sentences of a set, or of stored outputs, as a page to read, and their anomalies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from shiftbench.errors import TableError, UnknownNameError, counted
from shiftbench.io import files
from shiftbench.partition.hashing import keyed_hash
from shiftbench.progress import Progress, silent
from shiftbench.report import canvas
from shiftbench.report.digits import count_text
from shiftbench.report.grid import Cell, Column, Grid, Row
from shiftbench.report.notable import SHADED, Card, Cards, shown
from shiftbench.report.page import template
from shiftbench.report.view import clean
from shiftbench.track import MANIFEST
from shiftbench.tracks.translation import evaluation, outputs
from shiftbench.tracks.translation.evaluation import PART, Evaluation
from shiftbench.tracks.translation.outputs import Outputs
from shiftbench.tracks.translation.paper.figures import together
from shiftbench.tracks.translation.reading import passages

ROWS = 20  # sentences that are shown
MOST_ROWS = 1_000


def show(
    source: Path, folder: Path, *, id: str = "", rows: int = ROWS, data: Path | None = None, seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, Path]:  # fmt: skip
    """Write sentences as a page, each token coloured by its probability, and a picture of anomalies if they are known.

    Args:
        source: stored outputs, a set of sentences, or a prepared folder.
        folder: where to.
        id: of one sentence to show alone.
        rows: how many to show, drawn by the hash of their ids.
        data: the truth of outputs that do not have it: a prepared folder, or a set of sentences.
        seed: of the draw.
        progress: called with the lines read.

    Raises:
        ShiftbenchError: for files that are invalid.
        UnknownNameError: for an id that is not there.
    """
    found = _found(source, data, progress or silent)
    if id and id not in found.ids:
        raise UnknownNameError("sentence", id, found.ids[:MOST_ROWS])
    chosen = [found.ids.index(id)] if id else _drawn(found, rows, seed)
    page = template("sentences.html", package="shiftbench.tracks.translation").render(
        title=source.name, facts=_facts(found), grids=[*_grids(found)], shown=_cards(found, chosen)
    )
    name = files.name_of(source.name.split(".")[0]) or "sentences"
    paths = {"page": files.write_text(folder / f"{name}.html", page)}
    if marked := evaluation.flags(found):
        with canvas.settings(), files.replacing(folder / f"{name}-anomalies.png") as temporary:
            canvas.write_png(together(evaluation.together(marked), len(found)), temporary)
        paths["anomalies"] = folder / f"{name}-anomalies.png"
    return paths


def _found(source: Path, data: Path | None, progress: Progress) -> Outputs:
    """The sentences of a source, with the truth from elsewhere if there is one."""
    if (source / MANIFEST).is_file():
        return Evaluation.open(source).sentences
    found = outputs.read(source, progress=progress)
    if data is None:
        return found
    truth = Evaluation.open(data).sentences
    places = {name: row for row, name in enumerate(truth.ids)}
    if lacking := [name for name in found.ids if name not in places]:
        raise TableError(
            f"{data}: expected the sentences of {source}, found none for {counted(len(lacking), 'id')}, such as "
            f"{lacking[0]!r}."
        )
    own = truth.select([places[name] for name in found.ids])
    sources = found.sources if own.sources is None else own.sources
    return replace(found, sources=sources, references=own.references, columns={**found.columns, **own.columns})


def _drawn(found: Outputs, rows: int, seed: int) -> list[int]:
    import polars as pl

    kept = np.argsort(keyed_hash(pl.Series(found.ids), seed=seed), kind="stable")[:rows]
    return sorted(kept.tolist())


def _facts(found: Outputs) -> str:
    counts = [f"{count_text(len(found))} sentences"]
    if found.texts:
        counts.append(f"{count_text(len(found.texts))} {'samples' if found.sampled else 'hypotheses'}")
    if found.log_probabilities is not None:
        members = len(found.log_probabilities)
        counts.append(f"token log-probabilities of {members} {'models' if members > 1 else 'model'}")
    return " · ".join(counts)


def _grids(found: Outputs) -> Iterator[Grid]:
    """The parts with their sizes and lengths, and how often each anomaly is marked in them."""
    parts = np.array([str(part or evaluation.ALL) for part in found.columns.get(PART, [evaluation.ALL] * len(found))])
    lengths, flags = evaluation.mean_lengths(found), evaluation.flags(found)
    names = list(dict.fromkeys(parts.tolist()))
    heads = ["Sentences", *(f"Words, {side}" for side in next(iter(lengths.values()), {})), *map(clean, flags)]
    rows = [
        Row(
            clean(part),
            (
                Cell(count_text(int(np.count_nonzero(parts == part)))),
                *(Cell(f"{value:.1f}") for value in lengths[part].values()),
                *(Cell(f"{100 * float(own[parts == part].mean()):.1f} %") for own in flags.values()),
            ),
        )
        for part in names
    ]
    yield Grid("sentences", "", "Parts", "Part", tuple(Column(head) for head in heads), tuple(rows), "")


def _cards(found: Outputs, rows: list[int]) -> Cards:
    reader = passages(found)
    texts: Mapping[int, tuple[object, ...]] = dict(zip(rows, reader(np.array(rows)), strict=True)) if reader else {}
    cards = tuple(Card(_heading(found, row), tuple(map(shown, texts.get(row, ())))) for row in rows)  # type: ignore[arg-type]
    note = SHADED if found.log_probabilities is not None else ""
    return Cards("Sentences", note, cards)


def _heading(found: Outputs, row: int) -> str:
    facts = [clean(found.ids[row])]
    for name, values in found.columns.items():
        if values[row] is True:
            facts.append(clean(name))
        elif values[row] not in (None, False, ""):
            facts.append(f"{clean(name)}: {clean(str(values[row]))[:60]}")
    known = {"quality": found.quality, "error": found.error, **found.uncertainties}
    facts += [f"{clean(name)} {values[row]:.4g}" for name, values in known.items() if values is not None]
    return " · ".join(facts)
