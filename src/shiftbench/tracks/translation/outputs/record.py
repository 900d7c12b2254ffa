"""Outputs of one system: for each record one or several texts, and whatever is known of them and of the truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from itertools import repeat
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.check import Flags, Vector
from shiftbench.ensembles import Hypotheses, ragged
from shiftbench.ensembles.ensemble import Array, Index
from shiftbench.errors import ArrayError, quoted
from shiftbench.measures.hypotheses import hypothesis_weights

SUM_TOLERANCE = 1e-5
"""By how much the confidences of a record may miss 1, as in the published scorer."""


@dataclass(frozen=True, eq=False, repr=False)
class Outputs:
    """Outputs of a system for N records: H texts in all, record by record, with L tokens in all.

    Attributes:
        ids: [N], each once.
        counts: integers [N], the number of texts of each record; all 0 where only errors are known.
        texts: [H].
        sources: [N], or None if they are unknown; as all that follow.
        references: one or several of each record [N].
        confidences: [H], at least 0, summing to 1 over the texts of a record.
        scores: [H], the log-likelihood of a text divided by the number of its tokens, in nats (fairseq's H- lines).
        log_likelihoods: [H], sums over tokens.
        lengths: integers [H], at least 1, tokens of each text.
        log_probabilities: [M, L] of the tokens under each of M members, in nats.
        tokens: [L], the text of each.
        sampled: whether the texts are samples, which weigh the same.
        samples: samples of the same records beside the texts that are answers, as outputs of their own.
        uncertainties: by name, [N]; higher is less certain.
        error: [N], lower is better. quality: [N], 0 to 100, higher is better. correct: [N].
        columns: anything else that is known, by name [N]; None where it is missing.

    Raises:
        ArrayError: naming everything that does not fit.
    """

    ids: list[str]
    counts: Index
    texts: list[str]
    sources: list[str] | None = None
    references: list[tuple[str, ...]] | None = None
    confidences: Vector | None = None
    scores: Vector | None = None
    log_likelihoods: Vector | None = None
    lengths: Index | None = None
    log_probabilities: Array | None = None
    tokens: list[str] | None = None
    sampled: bool = False
    samples: Outputs | None = None
    uncertainties: dict[str, Vector] = field(default_factory=dict)
    error: Vector | None = None
    quality: Vector | None = None
    correct: Flags | None = None
    columns: dict[str, list[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if problems := _type_problems(self) or _length_problems(self) or _value_problems(self):
            raise ArrayError(*problems)

    def __len__(self) -> int:
        return len(self.ids)

    def mean_log_likelihoods(self) -> Vector | None:
        """The log-likelihood of each text divided by the number of its tokens [H], from whatever tells it.

        The scores; else the means over tokens of the log of the members' mean probability; else the log-likelihoods
        divided by the lengths. None if it is unknown.
        """
        if self.scores is not None or self.lengths is None:
            return self.scores
        if self.log_probabilities is not None:
            tokens = np.logaddexp.reduce(self.log_probabilities, axis=0) - np.log(len(self.log_probabilities))
            return np.asarray(np.add.reduceat(tokens, ragged.offsets(self.lengths)[:-1]) / self.lengths)
        return None if self.log_likelihoods is None else self.log_likelihoods / self.lengths

    def weights(self) -> Vector:
        """The weight of each text [H], summing to 1 over those of a record.

        The confidences; else the softmax of the mean log-likelihoods, or where lengths are unknown of the
        log-likelihoods; else, and of samples, equal ones.
        """
        if self.confidences is not None and not self.sampled:
            return self.confidences
        logs = self.mean_log_likelihoods()
        logs = self.log_likelihoods if logs is None else logs
        if logs is None or self.sampled or not len(logs):
            return np.repeat(1.0 / np.maximum(self.counts, 1), self.counts)
        return hypothesis_weights(logs, self.counts)

    def best(self) -> Index:
        """The place [N] of the text of each record that weighs most, of equal ones the first.

        Raises:
            ArrayError: if there are records without a text.
        """
        if not self.counts.all():
            raise ArrayError("texts: expected one for each record, found records without any.")
        weights, starts = self.weights(), ragged.offsets(self.counts)[:-1]
        highest = np.repeat(np.maximum.reduceat(weights, starts), self.counts) if len(self) else weights
        places = np.flatnonzero(weights == highest)
        return places[np.searchsorted(places, starts)]

    def answers(self) -> list[str]:
        """The text of each record that weighs most [N]; raises as `best` does."""
        return [self.texts[place] for place in self.best()]

    def hypotheses(self) -> Hypotheses | None:
        """The log-probabilities of the tokens, as an ensemble; None if they are unknown."""
        if self.log_probabilities is None or self.lengths is None:
            return None
        return Hypotheses(self.log_probabilities, self.lengths, self.counts)

    def select(self, rows: slice | Sequence[int] | npt.NDArray[Any]) -> Outputs:
        """These records, each at most once, in this order; rows as NumPy takes them.

        Raises:
            ArrayError: for rows that are not there, or more than once.
        """
        try:
            records = np.arange(len(self))[rows]
        except (IndexError, TypeError, ValueError, OverflowError):
            records = np.zeros((0, 0), np.int64)
        if records.ndim != 1:
            raise ArrayError(f"rows: expected numbers below {len(self):,} or flags [N], found {quoted(rows)}.")
        texts = _at(self.counts, records)
        tokens = texts if self.lengths is None else _at(self.lengths, texts)
        places = {"N": records, "H": texts, "L": tokens}
        chosen: dict[str, Any] = {
            name: _chosen(getattr(self, name), places[axis])
            for axis, names in AXES.items()
            for name in names
            if getattr(self, name) is not None
        }
        if self.log_probabilities is not None:
            chosen["log_probabilities"] = self.log_probabilities[:, tokens]
        if self.samples is not None:
            chosen["samples"] = self.samples.select(records)
        chosen["uncertainties"] = {name: values[records] for name, values in self.uncertainties.items()}
        chosen["columns"] = {name: _chosen(values, records) for name, values in self.columns.items()}
        return replace(self, **chosen)


AXES = {
    "N": ("ids", "counts", "sources", "references", "error", "quality", "correct"),
    "H": ("texts", "confidences", "scores", "log_likelihoods", "lengths"),
    "L": ("tokens",),
}
"""Axis → the fields that have a value for each place on it."""
ARRAYS = {
    "counts": ("iu", "N"), "lengths": ("iu", "H"), "correct": ("b", "N"), "log_probabilities": ("f", "M, L"),
    **dict.fromkeys(("confidences", "scores", "log_likelihoods"), ("f", "H")),
    **dict.fromkeys(("error", "quality"), ("f", "N")),
}  # fmt: skip
"""Field → the kinds of its numbers, and its axes."""


def _at(lengths: Index, records: Index) -> Index:
    places = ragged.places(lengths, records)
    return np.arange(lengths.sum())[places] if isinstance(places, slice) else places


def _chosen(values: Any, places: Index) -> Any:
    return [values[place] for place in places] if isinstance(values, list) else values[places]


def _type_problems(outputs: Outputs) -> list[str]:
    """Fields of other types than those of `Outputs`."""
    problems = []
    for name, (kinds, axes) in ARRAYS.items():
        value = getattr(outputs, name)
        if not _is_array(value, kinds, axes) and not (value is None and name != "counts"):
            problems.append(f"{name}: expected an array [{axes}], found {quoted(value)}.")
    for name in ("ids", "texts", "sources", "tokens"):
        value = getattr(outputs, name)
        if not _is_list(value, str) and not (value is None and name in ("sources", "tokens")):
            problems.append(f"{name}: expected a list of texts, found {quoted(value)}.")
    if outputs.references is not None and not (
        _is_list(outputs.references, tuple) and all(map(_is_list, map(list, outputs.references), repeat(str)))
    ):
        problems.append(f"references: expected a list of texts in tuples, found {quoted(outputs.references)}.")
    if not (_is_mapping(outputs.uncertainties) and all(_is_array(v, "f", "N") for v in outputs.uncertainties.values())):
        problems.append(f"uncertainties: expected arrays [N] by name, found {quoted(outputs.uncertainties)}.")
    if not (_is_mapping(outputs.columns) and all(isinstance(each, list) for each in outputs.columns.values())):
        problems.append(f"columns: expected lists [N] by name, found {quoted(outputs.columns)}.")
    if not isinstance(outputs.sampled, bool):
        problems.append(f"sampled: expected true or false, found {quoted(outputs.sampled)}.")
    if not isinstance(outputs.samples, Outputs | None):
        problems.append(f"samples: expected outputs, found {quoted(outputs.samples)}.")
    return problems


def _is_array(value: Any, kinds: str, axes: str) -> bool:
    return isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.ndim == len(axes.split(","))


def _is_list(value: Any, kind: type) -> bool:
    return isinstance(value, list) and set(map(type, value)) <= {kind}


def _is_mapping(value: Any) -> bool:
    return isinstance(value, dict) and _is_list(list(value), str)


def _length_problems(outputs: Outputs) -> list[str]:
    texts = int(outputs.counts.sum())
    sizes = {"N": len(outputs.ids), "H": texts}
    if outputs.lengths is not None:
        sizes["L"] = int(outputs.lengths.sum())
    named = {name: (axis, getattr(outputs, name)) for axis, names in AXES.items() for name in names}
    named |= {f"uncertainties[{name!r}]": ("N", values) for name, values in outputs.uncertainties.items()}
    named |= {f"columns[{name!r}]": ("N", values) for name, values in outputs.columns.items()}
    if outputs.log_probabilities is not None:
        named["log_probabilities"] = ("L", outputs.log_probabilities[0] if len(outputs.log_probabilities) else [])
    if outputs.samples is not None:
        named["samples"] = ("N", outputs.samples.ids)
    known = {name: (axis, values) for name, (axis, values) in named.items() if values is not None}
    problems = [
        f"{name}: expected lengths as well, found none." for name, (axis, _) in known.items() if axis not in sizes
    ]
    return problems + [
        f"{name}: expected {sizes[axis]:,} values [{axis}], found {len(values):,}."
        for name, (axis, values) in known.items()
        if axis in sizes and len(values) != sizes[axis]
    ]


def _value_problems(outputs: Outputs) -> list[str]:
    problems = [
        f"{name}: expected numbers of at least {least}, found {values.min()}."
        for name, least, values in (("counts", 0, outputs.counts), ("lengths", 1, outputs.lengths))
        if values is not None and values.size and values.min() < least
    ]
    if len(set(outputs.ids)) < len(outputs.ids):
        problems.append("ids: expected each once, found some more than once.")
    if len(outputs.counts) and outputs.counts.max() > 0 and outputs.counts.min() < 1:
        problems.append("counts: expected a text for each record, or for none, found some without.")
    found = {each.name: getattr(outputs, each.name) for each in fields(outputs)} | outputs.uncertainties
    for name, values in found.items():
        if isinstance(values, np.ndarray) and values.dtype.kind == "f" and not np.isfinite(values).all():
            problems.append(f"{name}: expected numbers, found {int((~np.isfinite(values)).sum()):,} NaN or infinite.")
    if outputs.confidences is not None and len(outputs.confidences) == outputs.counts.sum() and outputs.counts.all():
        sums = confidence_sums(outputs.confidences, outputs.counts)
        if (np.abs(sums - 1) > SUM_TOLERANCE).any() or outputs.confidences.min(initial=0) < 0:
            problems.append(
                "confidences: expected values of at least 0 that sum to 1 over the texts of a record, found other ones."
            )
    return problems


def require(outputs: Any) -> Outputs:
    """The outputs that were given.

    Raises:
        ArrayError: if they are of another type.
    """
    if not isinstance(outputs, Outputs):
        raise ArrayError(f"outputs: expected outputs of a system, found {quoted(outputs)}.")
    return outputs


def confidence_sums(confidences: Vector, counts: Index) -> Vector:
    """The sum of the confidences [H] of each record [N], each of which has some."""
    return np.asarray(np.add.reduceat(confidences, ragged.offsets(counts)[:-1])) if len(counts) else np.zeros(0)
