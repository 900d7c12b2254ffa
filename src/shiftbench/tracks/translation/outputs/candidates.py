"""Texts of records as they are read, with their numbers and tokens: each is checked, and all become arrays."""

from __future__ import annotations

import itertools
import math
import warnings
from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shiftbench.check import Vector
from shiftbench.ensembles import ragged
from shiftbench.ensembles.ensemble import Array, Index
from shiftbench.errors import TableWarning, quoted
from shiftbench.io.tables import problem
from shiftbench.tracks.translation import lines
from shiftbench.tracks.translation.outputs.record import SUM_TOLERANCE, confidence_sums

OF_TEXTS = {"confidence": "confidences", "score": "scores", "log_probability": "log_likelihoods", "length": "lengths"}
KNOWN = {"text", "hypothesis", *OF_TEXTS, "token_log_probabilities", "tokens"}
END = "</s>"
MISSING = math.nan
LOGARITHMS = "They look like probabilities: give their natural logarithms."


class Place(NamedTuple):
    """A line, and the id in it."""

    line: int
    id: str

    def __str__(self) -> str:
        return f"line {self.line:,} (id {quoted(self.id)})" if self.id else f"line {self.line:,}"


def _arrays() -> dict[str, array[float]]:
    return {key: array("d") for key in OF_TEXTS}


@dataclass
class Texts:
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
    unread: dict[str, None] = field(default_factory=dict)  # keys of texts that say nothing here

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
        if not value.keys() <= KNOWN:
            self.unread |= dict.fromkeys(key for key in value if key not in KNOWN)
        for key, values in self.values.items():
            values.append(number(self.problems, place, key, value[key]) if key in value else MISSING)
        scored = self._add_logs(value.get("token_log_probabilities"), place)
        self._add_tokens(value.get("tokens"), scored, place)

    def _add_tokens(self, value: Any, scored: int, place: Place) -> None:
        if value is not None and not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
            self.problems.add(place, f"tokens: expected a list of texts, found {lines.shown(value)}.", kind="tokens")
            value = None
        found = value or []
        if found and scored == len(found) + 1:  # of the end, which is rarely written
            found = [*found, END]
        self.written.append(len(found))
        self.tokens += found

    def _add_logs(self, value: Any, place: Place) -> int:
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
            fault = f"a list of numbers, or one for each member, found {lines.shown(value)}"
        elif len(sizes) > 1:
            fault = f"as many numbers of each member, found {min(sizes):,} to {max(sizes):,}"
        elif found and self.members and len(found) != len(self.members):
            fault = f"{len(self.members)} members as in the lines before, found {len(found)}"
        if fault:
            self.problems.add(place, f"{key}: expected {fault}.", kind=f"{key} {fault[:9]}")
            found = []
        self.scored.append(len(found[0]) if found else 0)
        self.members = self.members or [array("d") for _ in found]
        for member, values in zip(self.members, found, strict=False):
            member.extend(values)
        return self.scored[-1]

    def fields(self) -> dict[str, Any]:
        """What `Outputs` holds of texts; what some texts lack, and numbers out of range, are noted as problems."""
        if self.unread:
            warnings.warn(TableWarning(_unread(self.problems.path, [*self.unread])), stacklevel=2)
        found: dict[str, Any] = {"texts": self.texts, "counts": np.array(self.counts, np.int64)}
        for key, name in OF_TEXTS.items():
            found[name] = self._whole(key, np.array(self.values[key]), np.isnan(self.values[key]))
        sizes = {"token_log_probabilities": np.array(self.scored), "tokens": np.array(self.written)}
        whole = {key: self._whole(key, values, values == 0) for key, values in sizes.items()}
        found["lengths"] = self._agreed(whole | {"length": found["lengths"]})
        if whole["token_log_probabilities"] is not None:
            of_members = [np.frombuffer(each) for each in self.members]
            found["log_probabilities"] = of_members[0][None] if len(of_members) == 1 else np.array(of_members)
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
        """The number of tokens of each text; values that contradict each other are refused."""
        known = {key: np.nan_to_num(values).astype(np.int64) for key, values in found.items() if values is not None}
        for (one, ours), (other, theirs) in itertools.pairwise(known.items()):
            self._refuse(
                np.flatnonzero((ours != theirs) & (ours > 0) & (theirs > 0)),
                lambda at, a=one, b=other, x=ours, y=theirs: (  # type: ignore[misc]
                    f"{a} and {b}: expected the same number of tokens, found {x[at]} and {y[at]}."
                ),
                kind=f"{one} and {other}",
            )
        given = found["length"]
        if given is not None:
            wanted = "length: expected a whole number of tokens, at least 1, found {:g}."
            wrong = np.flatnonzero((given < 1) | (given != np.floor(given)))
            self._refuse(wrong, lambda at: wanted.format(given[at]), kind=wanted)
        return next(iter(known.values()), None)

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


def _unread(path: Path, keys: list[str]) -> str:
    """The warning about keys of texts that are not read."""
    shown = ", ".join(map(quoted, keys[: problem.MOST_LISTED])) + (", …" if len(keys) > problem.MOST_LISTED else "")
    return f"{path}: keys of texts that are not read: {shown}; those that are: {', '.join(sorted(KNOWN))}"


def number(problems: lines.Problems, place: Place, key: str, value: Any) -> float:
    """A finite number; another value is noted as a problem."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        try:
            if math.isfinite(value):
                return float(value)
        except OverflowError:
            pass
    problems.add(place, f"{key}: expected a finite number, found {lines.shown(value)}.", kind=f"{key}: number")
    return 0.0
