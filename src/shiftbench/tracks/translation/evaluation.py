"""Sentences whose truth is known, as records: of a prepared folder, a file of references, or the answers themselves."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.assessment.scored import Labels, Records
from shiftbench.assessment.source import Source
from shiftbench.check import Flags
from shiftbench.ensembles.ensemble import Index
from shiftbench.errors import ShiftbenchError, TableError, quoted
from shiftbench.partition import expression
from shiftbench.partition.hashing import keyed_hash
from shiftbench.partition.settings import SPLITS
from shiftbench.track import MANIFEST
from shiftbench.tracks.translation import lines, manifest, outputs, texts
from shiftbench.tracks.translation.outputs import Outputs
from shiftbench.tracks.translation.schema import ANOMALIES, SHIFTED

PART, SHIFT = "part", "shifted"
DOCUMENTS = ("document", "doc_id", "doc")
WORDS = (10, 20, 30, 40)  # of a source: groups of lengths
LENGTH = "words"
MOST_GROUPS = 12  # of a column that is shown by slice
ALL = "all"


@dataclass(frozen=True)
class Evaluation:
    """Sentences with their truth: where they come from, and remarks on them. `sentences` has references, no texts."""

    origin: str
    sentences: Outputs
    notes: tuple[str, ...] = ()

    @classmethod
    def open(cls, path: Path, *, names: lines.Names | None = None) -> Evaluation:
        """The evaluated sentences of a prepared folder, or those of a file of references, whose columns `names` tell.

        Raises:
            ShiftbenchError: if it is neither, or damaged.
        """
        if (path / MANIFEST).is_file():
            prepared = manifest.held_in(path)
            files = {part: entry["file"] for part, entry in prepared["parts"].items()}
            if not files:
                raise TableError(
                    f"{path}: expected sentences to evaluate, found train alone. Prepare other parts, too."
                )
            found = [_with_part(outputs.read(path / file), part) for part, file in files.items()]
            return cls(str(prepared["origin"]), joined(found))
        return cls(path.name, texts.read(path, names=names))

    def marked(self, condition: str) -> Evaluation:
        """The same sentences, those of them shifted for which a condition over columns holds.

        Raises:
            TableError: if there are no such columns, or it is no condition.
        """
        columns = self.sentences.columns
        frame = pl.DataFrame({name: _cells(values) for name, values in columns.items()})
        try:
            found = frame.select(expression.condition(condition, frame.schema)).to_series().to_list()
        except ShiftbenchError as error:
            wanted = f"{self.origin}: {SHIFT}: expected a column, or a condition over columns"
            raise TableError(*(f"{wanted}: {each}" for each in error.problems)) from None
        return replace(self, sentences=replace(self.sentences, columns={**columns, SHIFT: found}))

    def has(self, part: str) -> bool:
        """Whether there are sentences of a part."""
        return part in self.sentences.columns.get(PART, ())

    def splits(self) -> dict[str, Index]:
        """The rows of each split that has any; all of them as `all` if no sentence names its part.

        Raises:
            TableError: for parts that do not exist.
        """
        parts = self.sentences.columns.get(PART)
        if parts is None or all(part is None for part in parts):
            return {ALL: np.arange(len(self.sentences))}
        known = {name for names in SPLITS.values() for name in names} | {"train"}
        if strange := sorted({str(part) for part in parts} - known):
            raise TableError(
                f"{self.origin}: part: expected {', '.join(sorted(known))}, found {quoted(strange[0])}. Rename a "
                "column with another meaning."
            )
        found = {split: np.flatnonzero(np.isin(np.array(parts, dtype=str), names)) for split, names in SPLITS.items()}
        return {split: rows for split, rows in found.items() if len(rows)}

    def records(self, split: str, rows: Index) -> Records:
        """The sentences at these rows as records of a split.

        Raises:
            TableError: for flags of a shift that are neither true nor false.
        """
        chosen = self.sentences.select(rows)
        frame = pl.DataFrame(
            {
                "source": chosen.sources or [""] * len(chosen),
                "reference": [each[0] for each in chosen.references or [("",)] * len(chosen)],
                **{name: _cells(values) for name, values in chosen.columns.items() if name not in (PART, SHIFT)},
            }
        )
        ids = pl.Series(chosen.ids)
        source = Source(frame, ids, np.arange(len(chosen)), target="reference")
        return Records(
            len(chosen), split, shifted(chosen, self.origin), clusters=clusters(chosen), slices=slices(chosen),
            source=source, identity=keyed_hash(ids, seed=0),
        )  # fmt: skip


def joined(found: Sequence[Outputs]) -> Outputs:
    """Sentences of several sets as one; sources and references are kept if all sets have them."""
    names = dict.fromkeys(name for each in found for name in each.columns)
    return Outputs(
        [name for each in found for name in each.ids],
        np.zeros(sum(len(each) for each in found), np.int64),
        [],
        sources=_all([each.sources for each in found]),
        references=_all([each.references for each in found]),
        columns={
            name: [value for each in found for value in each.columns.get(name, [None] * len(each))] for name in names
        },
    )


def _all(found: Sequence[list[Any] | None]) -> list[Any] | None:
    if any(each is None for each in found):
        return None
    return [value for each in found for value in each or ()]


def _with_part(found: Outputs, part: str) -> Outputs:
    found.columns[PART] = [part] * len(found)
    return found


def _cells(values: Sequence[Any]) -> pl.Series:
    """A column of a table: numbers, flags, or text."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool} or kinds <= {int, float}:
        return pl.Series(values, strict=False)
    return pl.Series([None if value is None else str(value) for value in values])


def shifted(sentences: Outputs, origin: str) -> Flags | None:
    """Whether each record [N] is shifted, by its own flag or else by its part; None if it is unknown.

    Raises:
        TableError: for flags that are neither true nor false.
    """
    own = sentences.columns.get(SHIFT)
    if own is not None:
        odd = [k for k, value in enumerate(own) if value not in (True, False)]
        if odd:
            found = "none" if own[odd[0]] is None else quoted(own[odd[0]])
            raise TableError(
                f"{origin}: {SHIFT}: expected true or false for each sentence, found {found} for {len(odd):,} of them, "
                f"such as {quoted(sentences.ids[odd[0]])}. Add it to all, or to none."
            )
        return np.array(own, dtype=np.bool_)
    parts = sentences.columns.get(PART)
    return None if parts is None or None in parts else np.isin(np.array(parts, dtype=str), SHIFTED)


def clusters(sentences: Outputs) -> Index | None:
    """The document of each record as a code [N]; None if it is unknown. Of a part, since documents may share names."""
    column = next((sentences.columns[name] for name in DOCUMENTS if name in sentences.columns), None)
    if column is None or any(value is None for value in column):
        return None
    parts = sentences.columns.get(PART, [""] * len(sentences))
    names = [f"{part} {value}" for part, value in zip(parts, column, strict=True)]
    return np.unique(np.array(names), return_inverse=True)[1].reshape(-1)


def slices(sentences: Outputs) -> dict[str, Labels]:
    """The groups of records: by anomaly, by columns of few texts or flags, and by length."""
    found: dict[str, Labels] = {}
    for name, values in sentences.columns.items():
        if name in ANOMALIES:
            if any(value is not None for value in values):
                found[name] = np.array(["unknown" if v is None else "yes" if v else "no" for v in values])
        elif name not in (PART, SHIFT, *DOCUMENTS) and all(isinstance(v, (str, bool, type(None))) for v in values):
            labels = np.array(["unknown" if v is None else str(v) for v in values])
            if 1 < len(np.unique(labels)) <= MOST_GROUPS:
                found[name] = labels
    read = sentences.sources or [each[0] for each in sentences.references or ()]
    if read:
        found[LENGTH] = lengths(read)
    return found


def lengths(read: Sequence[str]) -> Labels:
    """The group of each text [N] by its number of words."""
    places = np.searchsorted(WORDS, [len(text.split()) for text in read], side="right")
    names = [f"{low} to {high - 1}" for low, high in itertools.pairwise(WORDS)]
    return np.array([f"below {WORDS[0]}", *names, f"{WORDS[-1]} or more"])[places]


def mean_lengths(sentences: Outputs) -> dict[str, dict[str, float]]:
    """The mean number of words of sources and references of each part, of all sentences where there are no parts."""
    parts = np.array([str(part or ALL) for part in sentences.columns.get(PART, [ALL] * len(sentences))])
    firsts = None if sentences.references is None else [each[0] for each in sentences.references]
    counts = {
        side: np.array([len(text.split()) for text in own])
        for side, own in (("source", sentences.sources), ("reference", firsts))
        if own
    }
    return {
        str(part): {side: float(own[parts == part].mean()) for side, own in counts.items()} for part in np.unique(parts)
    }


def flags(sentences: Outputs) -> dict[str, Flags]:
    """The anomalies that sentences are marked with, by name [N]; missing ones count as absent."""
    known = {name: sentences.columns[name] for name in ANOMALIES if name in sentences.columns}
    return {name: np.array([bool(value) for value in values]) for name, values in known.items()}


def together(found: Mapping[str, Flags]) -> dict[str, dict[str, int]]:
    """How many sentences have both of two anomalies, and in the diagonal one."""
    return {
        name: {other: int(np.count_nonzero(ours & theirs)) for other, theirs in found.items()}
        for name, ours in found.items()
    }
