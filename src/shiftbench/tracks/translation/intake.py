"""Outputs of strangers as plain arrays and back: texts and what a system knows of them, and nothing about the truth."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.errors import ArrayError, PredictionsError
from shiftbench.partition.settings import SPLITS
from shiftbench.track import MANIFEST, Arrays, Intake, PublicRecords, Task
from shiftbench.track.parsed import OFFSETS, PartlyRead, array, one, pack, unpack
from shiftbench.tracks.translation import manifest, outputs
from shiftbench.tracks.translation.evaluation import Evaluation
from shiftbench.tracks.translation.outputs.reader import REFERENCES, PartlyValid
from shiftbench.tracks.translation.outputs.record import Outputs

NUMBERS = {
    "counts": ("i", 1), "confidences": ("f", 1), "scores": ("f", 1), "log_likelihoods": ("f", 1), "lengths": ("i", 1),
    "log_probabilities": ("f", 2),
}  # fmt: skip
SAMPLES = "samples_"  # before the names of the arrays of samples
TRUTH = ("error", "quality", "correct")


def parse(file: Path) -> dict[str, Any]:
    """The outputs in a file: JSON lines or a table of one system.

    Raises:
        PartlyRead: naming every problem, with the ids and uncertainties that could be read all the same; for files that
            hold errors in place of texts.
    """
    try:
        read = outputs.read(file)
    except PartlyValid as error:
        arrays = _described(error.ids, error.measures, error.uncertainties)
        raise PartlyRead(*error.problems, arrays=arrays) from None
    arrays = _described(read.ids, [*read.uncertainties], np.array([*read.uncertainties.values()]))
    problems = []
    if given := [name for name in TRUTH if getattr(read, name) is not None]:
        problems.append(f"{file.name}: expected texts alone, found {', '.join(given)} as well. Drop them.")
    if not read.counts.all():
        problems.append(f"{file.name}: expected a text for each record, found none. Add `hypotheses`.")
    if problems:
        raise PartlyRead(*problems, arrays=arrays)
    held = _arrays(read, "")
    if read.samples is not None and read.samples.counts.all():
        held |= _arrays(read.samples, SAMPLES)
    return {**arrays, **held}


def _described(ids: Sequence[str], measures: Sequence[str], uncertainties: Any) -> dict[str, Any]:
    """Ids, and the uncertainties by name."""
    rows = {"uncertainties": uncertainties} if measures else {}
    return {**pack("ids", ids), **pack("measures", measures), **rows}


def _arrays(read: Outputs, before: str) -> dict[str, Any]:
    found = {before + name: values for name in NUMBERS if (values := getattr(read, name)) is not None}
    return {**found, **pack(f"{before}texts", read.texts), f"{before}sampled": np.array([read.sampled])}


def restore(arrays: Arrays, folder: Path) -> Path:
    """The outputs as JSON lines."""
    ids, measures = unpack(arrays, "ids"), unpack(arrays, "measures")
    named: dict[str, Any] = {}
    if measures:
        rows = array(arrays, "uncertainties", "f", 2)
        if len(rows) != len(measures) or len({*measures}) < len(measures):
            raise PredictionsError("uncertainties: expected one row for each name. Upload the file again.")
        named = dict(zip(measures, rows, strict=True))
    samples = _outputs(arrays, ids, SAMPLES) if f"{SAMPLES}counts" in arrays else None
    return outputs.write(folder / "outputs.jsonl", _outputs(arrays, ids, "", samples=samples, uncertainties=named))


def _outputs(arrays: Arrays, ids: list[str], before: str, **further: Any) -> Outputs:
    held: dict[str, Any] = {
        name: array(arrays, before + name, *form) for name, form in NUMBERS.items() if before + name in arrays
    }
    if "counts" not in held:
        raise PredictionsError("counts: expected the number of texts of each record, found none. Upload it again.")
    sampled = bool(one(arrays, f"{before}sampled", "b"))
    try:
        return Outputs(ids, texts=unpack(arrays, f"{before}texts"), sampled=sampled, **held, **further)
    except ArrayError as error:
        raise PredictionsError(*error.problems) from None


def records(truth: Path, _task: Task) -> PublicRecords:
    """The sentences of the part that is scored."""
    held = Evaluation.open(truth)
    splits = held.splits()
    scored = [splits["eval"]] if "eval" in splits else splits.values()
    return PublicRecords.of(held.sentences.ids[row] for rows in scored for row in rows)


def labels(truth: Path, _task: Task) -> dict[Path, Sequence[str]]:
    """The file of references, or those of a prepared folder that are scored."""
    if not (truth / MANIFEST).is_file():
        return {truth: REFERENCES}
    parts = {part: truth / entry["file"] for part, entry in manifest.held_in(truth)["parts"].items()}
    held = [[parts[part] for part in SPLITS[split] if part in parts] for split in ("eval", "dev")]
    return dict.fromkeys(next((found for found in held if found), [*parts.values()]), REFERENCES)


def misfits(arrays: Arrays, records: PublicRecords) -> list[str]:
    """Sentences without an answer, and answers to others."""
    return records.misfits(unpack(arrays, "ids")) if "ids" + OFFSETS in arrays else []


def example(folder: Path, records: PublicRecords | None = None) -> Path:
    """The same text for each record; without records two made-up ones, one of them with two hypotheses."""
    if records is None:
        found = Outputs(
            ["1", "2"], np.array([1, 2]), ["A good day.", "No idea.", "No notion."],
            confidences=np.array([1.0, 0.6, 0.4]), uncertainties={"uncertainty": np.array([0.1, 0.7])},
        )  # fmt: skip
    else:
        count = len(records.ids)
        found = Outputs(
            [*records.ids], np.ones(count, np.int64), ["A text."] * count, confidences=np.ones(count),
            uncertainties={"uncertainty": np.linspace(0.5, 1.5, count).round(4)},
        )  # fmt: skip
    return outputs.write(folder / "example.jsonl", found)


INTAKE = Intake(
    parse, restore, (".jsonl", ".jsonl.gz", ".csv", ".tsv", ".parquet"),
    "JSON lines with `id`, `hypotheses` and `uncertainty`, as the published submissions, or a table of one system.",
    example,
    records,
    misfits,
    labels,
)  # fmt: skip
