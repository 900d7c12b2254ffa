"""Outputs as JSON lines: one record a line, those of the published submissions and references as well."""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedWriter
from pathlib import Path
from typing import Any

from shiftbench import argument
from shiftbench.ensembles import ragged
from shiftbench.errors import PredictionsError, first_line, quoted
from shiftbench.io import files
from shiftbench.progress import Progress, silent
from shiftbench.tracks.translation import lines
from shiftbench.tracks.translation.outputs.candidates import OF_TEXTS
from shiftbench.tracks.translation.outputs.reader import RESERVED, Reader
from shiftbench.tracks.translation.outputs.record import Outputs, require

MOST_DIGITS = 1_000


def read(
    path: Path, *, names: lines.Names | None = None, complete: bool = False, progress: Progress = silent
) -> Outputs:
    """The outputs in a file of JSON lines, plain or packed with gzip.

    Args:
        path: of the file.
        names: what the file calls keys.
        complete: whether empty sources and references are refused.
        progress: called with "read", the lines so far, and 0.

    Raises:
        TableError: naming every problem with its line and id, those of a kind abbreviated.
    """
    reader = Reader(lines.Problems(path), names=names, complete=complete)
    for number, line in lines.of(path, progress=progress):
        if line.strip() and (value := _parsed(reader.problems, number, line)) is not None:
            reader.record(number, value)
    return reader.outputs()


def _parsed(problems: lines.Problems, number: int, line: bytes) -> dict[str, Any] | None:
    """The object in a line; a problem is noted if there is none."""
    where = f"line {number:,}"
    try:
        value = json.loads(lines.text(problems, number, line), object_pairs_hook=_unique, parse_int=_whole)
        if b"\\ud" in line.lower():
            json.dumps(value, ensure_ascii=False).encode()  # which half a surrogate pair cannot be
    except UnicodeEncodeError:
        problems.add(where, "expected text, found half a surrogate pair (\\ud…). Write UTF-8.", kind="surrogate")
    except (ValueError, RecursionError) as error:
        problems.add(where, f"expected a JSON object, found: {first_line(error)}.", kind="JSON")
    else:
        if isinstance(value, dict):
            return value
        problems.add(where, f"expected a JSON object, found {lines.kind(value)}.", kind="JSON")
    return None


def _whole(digits: str) -> int:
    """A whole number; one of thousands of digits, which Python does not convert, is refused in the words of a user."""
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a whole number of {len(digits):,} digits")
    return int(digits)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {quoted(twice)} more than once")
    return found


def write(path: Path, outputs: Outputs) -> Path:
    """Write outputs as JSON lines, packed with gzip if the name ends in .gz; whole or not at all.

    Raises:
        PredictionsError: for columns of values that JSON does not hold.
    """
    path, outputs = argument.path(path), require(outputs)
    with files.replacing(path) as temporary, writing(temporary, packed=path.suffix == ".gz") as file:
        for record in records(outputs):
            file.write(_line(record))
    return path


def _line(record: dict[str, Any]) -> bytes:
    try:
        return json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        found = f"found in {quoted(record['id'])}: {first_line(error)}"
        raise PredictionsError(f"expected texts, finite numbers, true or false, {found}.") from None


@contextmanager
def writing(path: Path, *, packed: bool) -> Iterator[BufferedWriter | gzip.GzipFile]:
    """A file to write bytes to; packed without a time in it, so that the same text is the same bytes."""
    with path.open("wb") as file:
        if not packed:
            yield file
            return
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as into:
            yield into


def records(outputs: Outputs) -> Iterator[dict[str, Any]]:
    """Each record as an object of a JSON line."""
    kept = {name: values for name, values in outputs.columns.items() if name not in RESERVED}
    texts = _objects(outputs)
    samples = _objects(outputs.samples) if outputs.samples is not None else iter(())
    for at, (name, count) in enumerate(zip(outputs.ids, outputs.counts, strict=True)):
        record: dict[str, Any] = {"id": name}
        if outputs.sources is not None:
            record["source"] = outputs.sources[at]
        if outputs.references is not None:
            record["reference"] = (
                outputs.references[at][0] if len(outputs.references[at]) == 1 else outputs.references[at]
            )
        if count:
            record["samples" if outputs.sampled else "hypotheses"] = list(itertools.islice(texts, int(count)))
        if outputs.samples is not None:
            record["samples"] = list(itertools.islice(samples, int(outputs.samples.counts[at])))
        if outputs.uncertainties:
            named = {key: float(values[at]) for key, values in outputs.uncertainties.items()}
            record["uncertainty"] = named["uncertainty"] if named.keys() == {"uncertainty"} else named
        for key in ("error", "quality", "correct"):
            if (values := getattr(outputs, key)) is not None:
                record[key] = values[at].item()
        yield record | {key: values[at] for key, values in kept.items() if values[at] is not None}


def _objects(outputs: Outputs) -> Iterator[dict[str, Any]]:
    """Each text as an object."""
    ends = ragged.offsets(outputs.lengths) if outputs.lengths is not None else None
    columns = {key: getattr(outputs, name) for key, name in OF_TEXTS.items()}
    known = {key: values for key, values in columns.items() if values is not None}
    logs = outputs.log_probabilities
    if logs is not None or outputs.tokens is not None:
        known.pop("length", None)  # is that of the tokens
    for at, text in enumerate(outputs.texts):
        found = {"text": text} | {key: values[at].item() for key, values in known.items()}
        if ends is not None:
            tokens = slice(int(ends[at]), int(ends[at + 1]))
            if logs is not None:
                found["token_log_probabilities"] = (logs[0, tokens] if len(logs) == 1 else logs[:, tokens]).tolist()
            if outputs.tokens is not None:
                found["tokens"] = outputs.tokens[tokens]
        yield found
