"""Outputs of strangers as plain arrays and back: texts and what a system knows of them, and nothing about the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.errors import ArrayError, PredictionsError
from shiftbench.track import Arrays, Intake
from shiftbench.track.parsed import array, one, pack, unpack
from shiftbench.tracks.translation import outputs
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
        ShiftbenchError: naming every problem; for files that hold errors in place of texts.
    """
    read = outputs.read(file)
    if given := [name for name in TRUTH if getattr(read, name) is not None]:
        raise PredictionsError(f"{file.name}: expected texts alone, found {', '.join(given)} as well. Drop them.")
    if not read.counts.all():
        raise PredictionsError(f"{file.name}: expected a text for each record, found none. Add `hypotheses`.")
    held = _arrays(read, "")
    if read.samples is not None and read.samples.counts.all():
        held |= _arrays(read.samples, SAMPLES)
    held |= pack("measures", [*read.uncertainties])
    if read.uncertainties:
        held["uncertainties"] = np.stack([*read.uncertainties.values()])
    return {**pack("ids", read.ids), **held}


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


def example(folder: Path) -> Path:
    """Two sentences, one of them with two hypotheses."""
    found = Outputs(
        ["1", "2"], np.array([1, 2]), ["A good day.", "No idea.", "No notion."],
        confidences=np.array([1.0, 0.6, 0.4]), uncertainties={"uncertainty": np.array([0.1, 0.7])},
    )  # fmt: skip
    return outputs.write(folder / "example.jsonl", found)


INTAKE = Intake(
    parse, restore, (".jsonl", ".jsonl.gz", ".csv", ".tsv", ".parquet"),
    "JSON lines with `id`, `hypotheses` and `uncertainty`, as the published submissions, or a table of one system.",
    example,
)  # fmt: skip
