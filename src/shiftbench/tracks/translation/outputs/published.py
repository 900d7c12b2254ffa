"""The published formats of the challenge: folders of text files, and submissions and references as JSON lines."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench import argument
from shiftbench.check import Vector
from shiftbench.ensembles import ragged
from shiftbench.ensembles.ensemble import numbers
from shiftbench.errors import PredictionsError, quoted
from shiftbench.io import files
from shiftbench.tracks.translation import lines
from shiftbench.tracks.translation.outputs.fairseq import MEASURES, as_number, mean
from shiftbench.tracks.translation.outputs.reader import Reader
from shiftbench.tracks.translation.outputs.record import Outputs, require

TEXTS, SCORES, OWNERS = "hypos.txt", "hypo_likelihoods.txt", "hypo_ids.txt"
REFERENCES, IDS = "refs.txt", "ref_ids.txt"
MEASURE_FILES = (
    "entropy_expected", "expected_entropy", "mutual_information", "epkl", "score", "aep_tu", "aep_du", "npmi",
    "score_npmi", "log_probs", "ep_entropy_expected", "ep_mutual_information", "ep_epkl", "ep_mkl", "mkl", "var",
    "varcombo", "logvar", "logcombo",
)  # fmt: skip
"""The files of `MEASURES`, each with a number for each hypothesis."""
MOST_HYPOTHESES = 10
WHOLE = "0|[1-9][0-9]{0,999}"  # an id that is written as a number


# --- folders of text files --------------------------------------------------------------------------------------------


def is_folder(path: Path) -> bool:
    """Whether a folder holds the files that the published scripts make of fairseq's output."""
    return (path / TEXTS).is_file()


def read_folder(folder: Path) -> Outputs:
    """The outputs in a folder of text files, one line for each hypothesis or reference.

    Without `hypo_ids.txt` each record has as many hypotheses. Measures are averaged over the hypotheses of a record,
    as in the published scripts.

    Raises:
        TableError: naming every problem: files of different lengths, invalid numbers, ids of no record.
    """
    problems = lines.Problems(folder)
    texts, ids = _lines(problems, TEXTS) or [], _lines(problems, IDS)
    columns = {"score": _column(problems, SCORES, len(texts))} | {
        name: _column(problems, f"{file}.txt", len(texts)) for file, name in zip(MEASURE_FILES, MEASURES, strict=True)
    }
    owners = _column(problems, OWNERS, len(texts))
    ids = ids or list(dict.fromkeys(owners or ()))
    references = _column(problems, REFERENCES, len(ids))
    owned = _owned(problems, ids, owners, len(texts))
    problems.require_none()
    reader = Reader(problems)
    for line, (name, places) in enumerate(owned.items(), start=1):
        reader.record(line, _record(name, places, texts, columns) | _of(references, line))
    return reader.outputs()


def _lines(problems: lines.Problems, file: str) -> list[str] | None:
    """The lines of a file; None if it is not there."""
    path = problems.path / file
    if not path.is_file():
        return None
    own = lines.Problems(path)
    found = [lines.text(own, number, line) for number, line in lines.of(path)]
    own.require_none()
    return found


def _column(problems: lines.Problems, file: str, count: int) -> list[str] | None:
    """The lines of a file, of which there should be so many."""
    found = _lines(problems, file)
    if found is not None and len(found) != count:
        problems.add(file, f"expected {count:,} lines, found {len(found):,}. Was its writing cut off?")
        return None
    return found


def _of(references: list[str] | None, line: int) -> dict[str, str]:
    return {} if references is None else {"reference": references[line - 1]}


def _owned(problems: lines.Problems, ids: list[str], owners: list[str] | None, texts: int) -> dict[str, list[int]]:
    """The places of the hypotheses of each record."""
    found: dict[str, list[int]] = {name: [] for name in ids}
    if len(found) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        problems.add(IDS, f"expected each id once, found {quoted(twice)} {ids.count(twice)} times.")
    elif owners is None and (not ids or texts % len(ids)):
        what = f"expected as many hypotheses for each of {len(ids):,} ids, found {texts:,}. Add {OWNERS}."
        problems.add(TEXTS, what)
    else:
        each = texts // len(ids) if ids else 0
        for at, name in enumerate(owners if owners is not None else np.repeat(ids, each).tolist()):
            if name in found:
                found[name].append(at)
            else:
                problems.add(
                    f"{OWNERS}: line {at + 1:,}", f"expected an id of {IDS}, found {quoted(name)}.", kind=OWNERS
                )
    return found


def _record(name: str, places: list[int], texts: list[str], columns: dict[str, list[str] | None]) -> dict[str, Any]:
    """A record as the object of a JSON line."""
    numbers = {key: [as_number(found[at]) for at in places] for key, found in columns.items() if found is not None}
    scores = numbers.pop("score", None)
    known = [{} if scores is None else {"score": score} for score in scores or [None] * len(places)]
    value: dict[str, Any] = {
        "id": name,
        "hypotheses": [{"text": texts[at]} | own for at, own in zip(places, known, strict=True)],
        "uncertainty": {key: mean(found) for key, found in numbers.items() if found},
    }
    return value


def write_folder(folder: Path, outputs: Outputs) -> Path:
    """Write outputs as a folder of text files, which `read_folder` and the published scripts read.

    Raises:
        PredictionsError: for texts of several lines.
    """
    folder = argument.path(folder)
    _require_lines(outputs)
    owners = np.repeat(outputs.ids, outputs.counts)
    found: dict[str, Any] = {TEXTS: outputs.texts, OWNERS: owners, IDS: outputs.ids}
    if outputs.references is not None:
        found[REFERENCES] = [each[0] for each in outputs.references]
    if (scores := outputs.mean_log_likelihoods()) is not None:
        found[SCORES] = scores
    for file, name in zip(MEASURE_FILES, MEASURES, strict=True):
        if name in outputs.uncertainties:
            found[f"{file}.txt"] = np.repeat(outputs.uncertainties[name], outputs.counts)
    for file, values in found.items():
        files.write_text(folder / file, "".join(f"{value}\n" for value in values))
    return folder


def _require_lines(outputs: Outputs) -> None:
    """Refuse texts that would become several lines."""
    outputs = require(outputs)
    sets = {"hypotheses": outputs.texts, "source": outputs.sources or (), "reference": outputs.references or ()}
    problems = []
    for key, texts in sets.items():
        several = [at for at, text in enumerate(texts) if "\n" in (text if isinstance(text, str) else text[0])]
        if several:
            first = quoted(texts[several[0]])
            problems.append(
                f"{key}: expected texts of one line, found {len(several):,} of several, the first {first}. Write JSON "
                "lines instead."
            )
    if problems:
        raise PredictionsError(*problems)


# --- what fairseq prints ----------------------------------------------------------------------------------------------


def write_fairseq(path: Path, outputs: Outputs) -> Path:
    """Write outputs as fairseq's generate prints them, with natural logarithms, as the published version did.

    Raises:
        PredictionsError: for texts of several lines, or without scores.
    """
    path = argument.path(path)
    _require_lines(outputs)
    scores = outputs.mean_log_likelihoods()
    if scores is None:
        raise PredictionsError("scores: expected the score of each text, found none. Write JSON lines instead.")
    return files.write_text(path, "".join(f"{line}\n" for line in _printed(outputs, scores)))


def _printed(outputs: Outputs, scores: Vector) -> Iterator[str]:
    starts = ragged.offsets(outputs.counts)
    tokens = ragged.offsets(outputs.lengths) if outputs.lengths is not None else None
    logs = outputs.log_probabilities
    for at, name in enumerate(outputs.ids):
        if outputs.sources is not None:
            yield f"S-{name}\t{outputs.sources[at]}"
        if outputs.references is not None:
            yield f"T-{name}\t{outputs.references[at][0]}"
        for text in range(starts[at], starts[at + 1]):
            yield f"H-{name}\t{scores[text]}\t{outputs.texts[text]}"
            if tokens is not None and logs is not None and len(logs) == 1:
                yield f"P-{name}\t{' '.join(map(str, logs[0, tokens[text] : tokens[text + 1]]))}"


# --- submissions and references ---------------------------------------------------------------------------------------


def write_submission(path: Path, outputs: Outputs, uncertainty: Vector) -> Path:
    """Write a submission of the challenge: JSON lines with up to ten hypotheses, the same number for each record.

    Raises:
        PredictionsError: for other numbers of hypotheses, or of uncertainties.
    """
    path, outputs = argument.path(path), require(outputs)
    uncertainty, problems = numbers("uncertainty", uncertainty, "[N]")
    found = sorted({int(count) for count in outputs.counts})
    if len(found) > 1 or not found or not 0 < found[0] <= MOST_HYPOTHESES:
        problems.append(
            f"hypotheses: expected the same number for each record, 1 to {MOST_HYPOTHESES}, found "
            f"{', '.join(map(str, found[:5])) or 'no record'}. The published scorer takes no other."
        )
    if not problems and len(uncertainty) != len(outputs):
        problems.append(f"uncertainty: expected {len(outputs):,} finite numbers, found {len(uncertainty):,}.")
    if problems:
        raise PredictionsError(*problems)
    weights, starts = outputs.weights(), ragged.offsets(outputs.counts)
    places = [range(first, last) for first, last in itertools.pairwise(starts)]
    return _write(
        path,
        (
            {
                "id": _id(name),
                "uncertainty": float(uncertainty[at]),
                "hypos": [{"text": outputs.texts[text], "confidence": float(weights[text])} for text in places[at]],
            }
            for at, name in enumerate(outputs.ids)
        ),
    )


def write_references(path: Path, outputs: Outputs) -> Path:
    """Write references of the challenge: JSON lines, the `domain` 1 where a record is shifted.

    Raises:
        PredictionsError: if there are no references.
    """
    path, outputs = argument.path(path), require(outputs)
    references, shifted = outputs.references, outputs.columns.get("shifted")
    if references is None:
        raise PredictionsError("reference: expected one of each record, found none.")
    return _write(
        path,
        (
            {"id": _id(name), "ref": references[at][0]} | ({"domain": int(shifted[at])} if shifted else {})
            for at, name in enumerate(outputs.ids)
        ),
    )


def _id(name: str) -> int | str:
    return int(name) if re.fullmatch(WHOLE, name) else name


def _write(path: Path, records: Iterator[dict[str, Any]]) -> Path:
    with files.replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
        for record in records:
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False) + "\n")
    return path
