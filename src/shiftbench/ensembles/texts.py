"""Members that answer with texts: several systems with one each, or one system's best hypotheses or samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from shiftbench import check
from shiftbench.ensembles import ragged
from shiftbench.ensembles.ensemble import Array, Ensemble, Index, Key, hold, numbers
from shiftbench.errors import ArrayError, quoted

_SUM_TOLERANCE = 1e-4  # of the weights of a record, which may come in single precision
_WORDS = ("to", "be", "or", "not", "that", "is")

Strings = npt.NDArray[np.object_]


@dataclass(frozen=True, eq=False, repr=False)
class Texts(Ensemble):
    """The texts of N records: of each member one a record, or several with weights.

    No model is needed: hypotheses of a beam, samples, and translations by other systems can all be compared.

    Attributes:
        texts: text [M, H], those of the first record first; of one member [H], too.
        counts: integers [N], how many texts each member has for each record; by default one, so that N = H.
        weights: [M, H], at least 0, of sum 1 over a member's texts of a record; by default equal.

    Raises:
        ArrayError: naming every problem: other axes, values that are no texts, counts that do not add up to H, weights
            that do not add up to 1.
    """

    AXES: ClassVar = {"texts": "MH", "counts": "N", "weights": "MH"}

    texts: Strings
    counts: Index | None = None
    weights: Array | None = None

    def __post_init__(self) -> None:
        texts, problems = _strings(self.texts)
        known: Any = np.ones(texts.shape[1], np.int64) if self.counts is None else self.counts
        counts, of_counts = numbers("counts", known, "[N]", dtype=np.int64) if texts.size else (known, [])
        problems += of_counts or ragged.length_problems("counts", counts, texts.shape[1], "texts")
        if not problems:
            weights, problems = _weights(self.weights, texts, counts)
        if problems:
            raise ArrayError(*problems)
        hold(self, texts=texts, counts=counts, weights=weights)

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """A made-up ensemble of one or two texts a record, of up to three words."""
        counts = rng.integers(1, 3, records)
        known = [" ".join(rng.choice(_WORDS, rng.integers(1, 4))) for _ in range(12)]
        texts = np.array(known, dtype=object)[rng.integers(0, len(known), (members, counts.sum()))]
        powers = rng.gamma(1.0, size=texts.shape)
        sums = np.add.reduceat(powers, ragged.offsets(counts)[:-1], axis=1)
        return cls(texts, counts, powers / np.repeat(sums, counts, axis=1))

    @property
    def owners(self) -> Index:
        """The record of each text of a member [H]."""
        return np.repeat(np.arange(self.records), self.sizes)

    @property
    def sizes(self) -> Index:
        """The number of texts of each record [N]."""
        assert self.counts is not None, "they are set when an ensemble is made"
        return self.counts

    def _places(self, rows: Key) -> dict[str, Key]:
        return {"N": rows, "H": ragged.places(self.sizes, rows)}

    def _starts(self, values: int) -> list[int]:
        return list(ragged.block_starts((self.members * self.sizes) ** 2, values))  # pairs, which measures compare


def _strings(values: Any) -> tuple[Strings, list[str]]:
    """Texts as an array [M, H] of objects, and their problems."""
    nothing = np.empty((0, 0), dtype=object)
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        return nothing, [f"texts: expected texts [M, H], found {quoted(values)}."]
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUT":
        return nothing, [f"texts: expected texts [M, H], found an array of {values.dtype}."]
    try:
        array = np.array(values if isinstance(values, np.ndarray) else list(values), dtype=object)
    except (TypeError, ValueError) as error:
        return nothing, [f"texts: expected texts [M, H], found {type(values).__name__} ({error})."]
    array = array[None] if array.ndim == 1 else array
    if array.ndim != 2 or not array.size:
        return nothing, [f"texts: expected texts [M, H], at least one, found shape {array.shape}."]
    odd = [each for each in array.flat if not isinstance(each, str)]
    if odd:
        found = f"{len(odd):,} other values, the first a {type(odd[0]).__name__}"
        return nothing, [f"texts: expected texts alone, as many of each member, found {found}."]
    return array, []


def _weights(values: Any, texts: Strings, counts: Index) -> tuple[Array, list[str]]:
    """Weights [M, H], equal if there are none, and their problems."""
    equal = np.broadcast_to(np.repeat(1.0 / counts, counts), texts.shape)
    if values is None:
        return equal, []
    if check.as_array("weights", values).ndim == 1:
        values = [values]
    found, problems = numbers("weights", values, "[M, H]")
    if problems:
        return equal, problems
    if found.shape != texts.shape:
        return equal, [f"weights: expected one of each text, shape {texts.shape}, found {found.shape}."]
    sums = np.add.reduceat(found, ragged.offsets(counts)[:-1], axis=1)
    if found.min() < 0 or np.abs(sums - 1).max() > _SUM_TOLERANCE:
        worst = sums.flat[np.abs(sums - 1).argmax()]
        return equal, [
            f"weights: expected values of at least 0 that sum to 1 over a record's texts, found a least one of "
            f"{found.min():g} and a sum of {worst:g}. Normalise them, for example by `hypothesis_weights`."
        ]
    return found, []
