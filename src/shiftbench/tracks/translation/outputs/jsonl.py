"""Outputs as JSON lines: one record a line, those of the published submissions and references as well."""

from __future__ import annotations

import gzip
import itertools
import json
import math
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedWriter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shiftbench.check import Vector
from shiftbench.ensembles import ragged
from shiftbench.ensembles.ensemble import Array, Index
from shiftbench.errors import first_line, quoted
from shiftbench.io import files
from shiftbench.io.tables import problem
from shiftbench.progress import Progress, silent
from shiftbench.tracks.translation import lines
from shiftbench.tracks.translation.outputs.record import SUM_TOLERANCE, Outputs, confidence_sums

SEVERAL = ("hypotheses", "hypos")
SINGLE = ("hypothesis", "text")
REFERENCES = ("reference", "references", "ref")
UNCERTAINTIES = ("uncertainty", "uncertainties")
OF_TEXTS = {"confidence": "confidences", "score": "scores", "log_probability": "log_likelihoods", "length": "lengths"}
OF_TOKENS = ("token_log_probabilities", "tokens")
OF_SINGLE = ("log_probability", *OF_TOKENS)  # that may stand beside a single text
KEYS_OF_TEXTS = {*SINGLE, *OF_TEXTS, *OF_TOKENS}
RESERVED = {"id", "source", "samples", "error", "quality", "correct", *SEVERAL, *SINGLE, *REFERENCES, *UNCERTAINTIES}
MISSING = math.nan
LOGARITHMS = "They look like probabilities: give their natural logarithms."


class Place(NamedTuple):
    """A line, and the id in it."""

    line: int
    id: str

    def __str__(self) -> str:
        return f"line {self.line:,} (id {quoted(self.id)})" if self.id else f"line {self.line:,}"


def read(path: Path, *, names: Mapping[str, str] | None = None, progress: Progress = silent) -> Outputs:
    """The outputs in a file of JSON lines, plain or packed with gzip.

    Args:
        path: of the file.
        names: key that is expected → key in the file, such as {"hypothesis": "answer"}.
        progress: called with "read", the lines so far, and 0.

    Raises:
        TableError: naming every problem with its line and id, those of a kind abbreviated.
    """
    reader = _Reader(lines.Problems(path), {there: here for here, there in (names or {}).items()})
    for number, line in lines.of(path, progress=progress):
        if line.strip():
            reader.line(number, line)
    return reader.outputs()


# --- texts and their tokens -------------------------------------------------------------------------------------------


def _arrays() -> dict[str, array[float]]:
    return {key: array("d") for key in OF_TEXTS}


@dataclass
class _Texts:
    """Texts as they are read, and what is known of each; numbers that are missing are NaN, or no tokens."""

    problems: lines.Problems
    texts: list[str] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    values: dict[str, array[float]] = field(default_factory=_arrays)
    members: list[array[float]] = field(default_factory=list)
    scored: list[int] = field(default_factory=list)  # tokens with log-probabilities of each text
    tokens: list[str] = field(default_factory=list)
    written: list[int] = field(default_factory=list)  # tokens of each text with their own text

    def record(self, texts: list[Any], place: Place) -> None:
        """Add the texts of a record, each a text or an object that says more."""
        self.counts.append(len(texts))
        self.places.append(place)
        for each in texts:
            self._add(each if isinstance(each, dict) else {"text": each}, place)

    def _add(self, value: dict[str, Any], place: Place) -> None:
        text = value.get("text", value.get("hypothesis"))
        if fault := lines.text_fault(text):
            self.problems.add(place, f"text: expected {fault}.", kind="text")
        self.texts.append(text if isinstance(text, str) else "")
        for key, values in self.values.items():
            values.append(_number(self.problems, place, key, value[key]) if key in value else MISSING)
        self._add_tokens(value.get("tokens"), place)
        self._add_logs(value.get("token_log_probabilities"), place)

    def _add_tokens(self, value: Any, place: Place) -> None:
        if value is not None and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            self.problems.add(place, f"tokens: expected a list of texts, found {quoted(value)}.", kind="tokens")
            value = None
        self.written.append(len(value or ()))
        self.tokens += value or ()

    def _add_logs(self, value: Any, place: Place) -> None:
        key = "token_log_probabilities"
        several = isinstance(value, list) and value and isinstance(value[0], list)
        of_members = value if several else [value] if value is not None else []
        try:
            found = [array("d", each) for each in of_members]
        except (TypeError, OverflowError):
            found = []
        sizes = {len(each) for each in found}
        fault = ""
        if value is not None and (not found or not all(isinstance(each, list) for each in of_members)):
            fault = f"a list of numbers, or one for each member, found {quoted(value)}"
        elif len(sizes) > 1:
            fault = f"as many numbers of each member, found {sorted(sizes)}"
        elif found and self.members and len(found) != len(self.members):
            fault = f"{len(self.members)} members as in the lines before, found {len(found)}"
        if fault:
            self.problems.add(place, f"{key}: expected {fault}.", kind=f"{key} {fault[:9]}")
            found = []
        self.scored.append(len(found[0]) if found else 0)
        self.members = self.members or [array("d") for _ in found]
        for member, values in zip(self.members, found, strict=False):
            member.extend(values)

    def fields(self) -> dict[str, Any]:
        """What `Outputs` holds of texts; what some texts lack, and numbers out of range, are noted as problems."""
        found: dict[str, Any] = {"texts": self.texts, "counts": np.array(self.counts, np.int64)}
        for key, name in OF_TEXTS.items():
            found[name] = self._whole(key, np.array(self.values[key]), np.isnan(self.values[key]))
        sizes = {"token_log_probabilities": np.array(self.scored), "tokens": np.array(self.written)}
        whole = {key: self._whole(key, values, values == 0) for key, values in sizes.items()}
        found["lengths"] = self._agreed(whole | {"length": found["lengths"]})
        if whole["token_log_probabilities"] is not None:
            found["log_probabilities"] = np.array([np.frombuffer(each) for each in self.members])
            self._check_tokens(found["log_probabilities"], whole["token_log_probabilities"])
        found["tokens"] = self.tokens if whole["tokens"] is not None else None
        self._check_confidences(found["confidences"], found["counts"])
        for key, name in (("score", "scores"), ("log_probability", "log_likelihoods")):
            self._check_logs(key, found[name])
        return found

    def _refuse(self, texts: Index, what: Callable[[int], str], *, kind: str) -> None:
        """Note a problem for each of these texts."""
        for at in texts[: problem.MOST_LISTED]:
            more = len(texts) - problem.MOST_LISTED if at == texts[0] else 0
            self.problems.add(self._place(int(at)), what(int(at)), kind=kind, more=max(more, 0))

    def _place(self, text: int) -> Place:
        return self.places[int(np.searchsorted(np.cumsum(self.counts), text, side="right"))]

    def _whole(self, key: str, values: npt.NDArray[Any], absent: npt.NDArray[np.bool_]) -> Any:
        """Values of all texts; None if no text has one."""
        if absent.all():
            return None
        wanted = f"{key}: expected one for each text, or for none, found a text without."
        self._refuse(np.flatnonzero(absent), lambda at: wanted, kind=wanted)
        return values

    def _agreed(self, found: dict[str, Any]) -> Index | None:
        """The number of tokens of each text, which all that is known says alike."""
        known = {key: values.astype(np.int64) for key, values in found.items() if values is not None}
        for (one, ours), (other, theirs) in itertools.pairwise(known.items()):
            self._refuse(
                np.flatnonzero(ours != theirs),
                lambda at, a=one, b=other, x=ours, y=theirs: (  # type: ignore[misc]
                    f"{a} and {b}: expected the same number of tokens, found {x[at]} and {y[at]}."
                ),
                kind=f"{one} and {other}",
            )
        lengths = next(iter(known.values()), None)
        if lengths is not None:
            wanted = "length: expected at least one token, found {}."
            self._refuse(np.flatnonzero(lengths < 1), lambda at: wanted.format(lengths[at]), kind=wanted)
        return lengths

    def _check_tokens(self, logs: Array, lengths: Index) -> None:
        wrong = (~(logs <= 0) | np.isinf(logs)).any(axis=0)
        if not wrong.any() or lengths.sum() != logs.shape[1]:
            return
        texts, firsts = np.unique(np.repeat(np.arange(len(lengths)), lengths)[wrong], return_index=True)
        worst = dict(zip(texts, logs[:, np.flatnonzero(wrong)[firsts]].max(axis=0), strict=True))
        self._refuse_logs("token_log_probabilities", logs, texts, worst)

    def _check_logs(self, key: str, logs: Vector | None) -> None:
        if logs is not None and (wrong := np.flatnonzero(logs > 0)).size:
            self._refuse_logs(key, logs, wrong, logs)

    def _refuse_logs(self, key: str, logs: Array, texts: Index, values: Any) -> None:
        finite = logs[np.isfinite(logs)]
        hint = LOGARITHMS if finite.size and finite.min() >= 0 and finite.max() <= 1 else "Give natural logarithms."
        self._refuse(
            texts,
            lambda at: f"{key}: expected finite numbers of at most 0, found {values[at]:g}. {hint}",
            kind=f"{key} above 0",
        )

    def _check_confidences(self, confidences: Vector | None, counts: Index) -> None:
        if confidences is None or not counts.all():
            return
        key, wanted = "confidence", "expected values of at least 0 that sum to 1 over the texts of a record, found"
        self._refuse(
            np.flatnonzero(confidences < 0), lambda at: f"{key}: {wanted} {confidences[at]:g}.", kind="below 0"
        )
        sums = confidence_sums(confidences, counts)
        starts = ragged.offsets(counts)[:-1]
        found = dict(zip(starts, sums, strict=True))
        self._refuse(
            starts[np.abs(sums - 1) > SUM_TOLERANCE],
            lambda at: f"{key}: {wanted} a sum of {found[at]:.7g}. Divide by it, or drop them.",
            kind="sums",
        )


def _number(problems: lines.Problems, place: Place, key: str, value: Any) -> float:
    """A finite number; another value is noted as a problem."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            if math.isfinite(value):
                return float(value)
        except OverflowError:
            pass
    problems.add(place, f"{key}: expected a finite number, found {quoted(value)}.", kind=f"{key}: number")
    return 0.0


# --- records ----------------------------------------------------------------------------------------------------------


class _Reader:
    """The records of a file, a line at a time."""

    def __init__(self, problems: lines.Problems, names: Mapping[str, str]) -> None:
        self.problems, self.names = problems, names
        self.answers, self.samples = _Texts(problems), _Texts(problems)
        self.places: list[Place] = []
        self.ids: dict[str, int] = {}
        self.columns: dict[str, list[Any]] = {}
        self.uncertainties: dict[str, list[Any]] = {}

    def line(self, number: int, line: bytes) -> None:
        """Add the record in a line."""
        value = self._parsed(number, line)
        if value is None:
            return
        for there, here in self.names.items():
            if there in value:
                value[here] = value.pop(there)
        place = Place(number, self._id(number, value.pop("id", None)))
        self.places.append(place)
        _fill(self.columns, self._columns(value, place), len(self.places))

    def _parsed(self, number: int, line: bytes) -> dict[str, Any] | None:
        where = f"line {number:,}"
        try:
            value = json.loads(line.decode(), object_pairs_hook=_unique)
            if b"\\ud" in line.lower():
                json.dumps(value, ensure_ascii=False).encode()  # which half a surrogate pair cannot be
        except UnicodeDecodeError as error:
            found = f"byte 0x{line[error.start]:02x} at byte {error.start + 1:,}"
            self.problems.add(where, f"expected UTF-8, found {found}. Convert the file.", kind="UTF-8")
        except UnicodeEncodeError:
            self.problems.add(where, "expected text, found half a surrogate pair (\\ud…). Write UTF-8.", kind="UTF-8")
        except (ValueError, RecursionError) as error:
            self.problems.add(where, f"expected a JSON object, found: {first_line(error)}.", kind="JSON")
        else:
            if isinstance(value, dict):
                return value
            self.problems.add(where, f"expected a JSON object, found {type(value).__name__}.", kind="JSON")
        return None

    def _id(self, number: int, value: Any) -> str:
        where = f"line {number:,}"
        if not isinstance(value, (str, int)) or isinstance(value, bool) or value == "":
            found = "none" if value is None else quoted(value)
            self.problems.add(where, f"id: expected a text or a whole number, found {found}.", kind="id")
            return ""
        if (first := self.ids.setdefault(str(value), number)) != number:
            what = f"id: expected each once, found {quoted(value)}, which line {first:,} has, too."
            self.problems.add(where, what, kind="ids")
        return str(value)

    def _columns(self, value: dict[str, Any], place: Place) -> dict[str, Any]:
        """The columns of a record; its texts and its uncertainty are added where they belong."""
        self.answers.record(self._texts(value, place), place)
        samples = value.pop("samples", None)
        self.samples.record(self._listed("samples", samples, place) if samples is not None else [], place)
        given = _first(value, UNCERTAINTIES)
        found = given if isinstance(given, dict) else {"uncertainty": given} if given is not None else {}
        numbers = {name: _number(self.problems, place, f"uncertainty {name!r}", each) for name, each in found.items()}
        _fill(self.uncertainties, numbers, len(self.places))
        references = _first(value, REFERENCES)
        if references is not None:
            listed = references if isinstance(references, list) else [references]
            value["references"] = tuple(self._text("reference", each, place) for each in listed)
            if not listed:
                self.problems.add(place, "reference: expected one or several, found an empty list.", kind="references")
        if "source" in value:
            value["source"] = self._text("source", value["source"], place)
        for key in ("error", "quality"):
            if key in value:
                value[key] = _number(self.problems, place, key, value[key])
        if not 0 <= value.get("quality", 0) <= 100:
            advice = "Give scores on another scale as error, lower is better."
            found_here = f"quality: expected 0 to 100, found {value['quality']:g}. {advice}"
            self.problems.add(place, found_here, kind="quality")
        if value.get("correct", True) in (True, False):
            value |= {"correct": bool(value["correct"])} if "correct" in value else {}
        else:
            self.problems.add(
                place, f"correct: expected true or false, found {quoted(value['correct'])}.", kind="correct"
            )
        return value

    def _texts(self, value: dict[str, Any], place: Place) -> list[Any]:
        for key in SEVERAL:
            if key in value:
                return self._listed(key, value.pop(key), place)
        for key in SINGLE:
            if key in value:
                single = {"text": value.pop(key)}
                return [single | {name: value.pop(name) for name in OF_SINGLE if name in value}]
        return []

    def _listed(self, key: str, value: Any, place: Place) -> list[Any]:
        if isinstance(value, list) and value:
            return value
        self.problems.add(place, f"{key}: expected a list of texts, found {quoted(value)}.", kind=key)
        return []

    def _text(self, key: str, value: Any, place: Place) -> str:
        if fault := lines.text_fault(value):
            self.problems.add(place, f"{key}: expected {fault}.", kind=key)
            return ""
        return str(value)

    def outputs(self) -> Outputs:
        """All that was read.

        Raises:
            TableError: with all problems.
        """
        if not self.places:
            self.problems.add("", "expected at least one record, found none.")
        for column in (*self.columns.values(), *self.uncertainties.values()):
            column += [None] * (len(self.places) - len(column))
        answers = self._of_texts("hypotheses", self.answers)
        samples = self._of_texts("samples", self.samples)
        of_records = {key: self._whole(key, self.columns.pop(key, [])) for key in ("error", "quality", "correct")}
        sources = self._whole("source", self.columns.pop("source", []))
        references = self._whole("reference", self.columns.pop("references", []))
        uncertainties = {name: self._whole(f"uncertainty {name!r}", each) for name, each in self.uncertainties.items()}
        self.problems.require_none()
        ids = [place.id for place in self.places]
        found: dict[str, Any] = answers or samples or {"texts": [], "counts": np.zeros(len(ids), np.int64)}
        found |= {key: values if values is None else np.array(values) for key, values in of_records.items()}
        return Outputs(
            ids,
            **found,
            sources=sources,
            references=references,
            sampled=bool(samples and not answers),
            samples=Outputs(ids, **samples, sampled=True) if samples and answers else None,
            uncertainties={name: np.array(each) for name, each in uncertainties.items()},
            columns=self.columns,
        )

    def _of_texts(self, key: str, found: _Texts) -> dict[str, Any]:
        counts = np.array(found.counts, np.int64)
        if not counts.any():
            return {}
        self._require(key, counts > 0)
        return found.fields()

    def _whole(self, key: str, values: list[Any]) -> Any:
        """A column; None if no record has a value."""
        if not values:
            return None
        self._require(key, np.array([each is not None for each in values]))
        return values

    def _require(self, key: str, present: npt.NDArray[np.bool_]) -> None:
        absent = np.flatnonzero(~present)
        for at in absent[: problem.MOST_LISTED]:
            what = f"{key}: expected it in each line, or in none, found a line without."
            more = max(len(absent) - problem.MOST_LISTED, 0) if at == absent[0] else 0
            self.problems.add(self.places[at], what, more=more)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, _ in pairs if [other for other, _ in pairs].count(name) > 1)
        raise ValueError(f"the key {quoted(twice)} more than once")
    return found


def _first(value: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """The value of the first of several keys of the same meaning, which is removed; None if there is none."""
    return next((value.pop(key) for key in keys if key in value), None)


def _fill(columns: dict[str, list[Any]], values: Mapping[str, Any], records: int) -> None:
    """Add a record's values to columns that may begin, or go on, later."""
    for name, value in values.items():
        column = columns.setdefault(name, [])
        column += [None] * (records - 1 - len(column))
        column.append(value)


# --- writing ----------------------------------------------------------------------------------------------------------


def write(path: Path, outputs: Outputs) -> Path:
    """Write outputs as JSON lines, packed with gzip if the name ends in .gz; whole or not at all."""
    with files.replacing(path) as temporary, writing(temporary, packed=path.suffix == ".gz") as file:
        for record in records(outputs):
            file.write(json.dumps(record, ensure_ascii=False, allow_nan=False).encode() + b"\n")
    return path


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
