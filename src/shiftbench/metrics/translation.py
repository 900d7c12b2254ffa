"""Metrics of translations: sentence GLEU (Wu et al. 2016), its mean and maximum over the hypotheses of a record, chrF.

GLEU splits texts at white space; chrF takes their characters without it, as sacreBLEU does.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shiftbench import check
from shiftbench.check import Vector
from shiftbench.ensembles import ragged
from shiftbench.errors import ArrayError

_LONGEST = 4  # tokens of an n-gram of GLEU
_ORDER, _BETA = 6, 2  # of chrF: characters of an n-gram; recall counts BETA² times as much as precision
_BLOCK_CHARACTERS = 1 << 16  # so that vocabulary and n-grams stay in the cache
_SUM_TOLERANCE = 1e-4  # of the weights of a record, which may come in single precision

Index = npt.NDArray[np.int64]


def sentence_gleu(hypothesis: Any, reference: Any) -> Any:
    """GLEU of hypotheses against one reference each, 0 to 100: the share of n-grams of 1 to 4 tokens that agree.

    Args:
        hypothesis: a text; or texts [N]; or those of the hypotheses of N records [N, H].
        reference: a text; or for several records, texts [N].

    Returns:
        100 times the number of n-grams that both have (as often as both have them), over the number of n-grams of
        the longer text: a float; or float64 [N] or [N, H]. Two texts without a token have 0.

    Raises:
        ArrayError: if these are no texts, or numbers of texts differ.

    Source: Wu et al. 2016, Section 7.4.
    """
    return _scored(hypothesis, reference, _gleu)


def egleu(gleu: Any, weights: Any) -> Any:
    """Expected GLEU: the mean over hypotheses by their weights.

    Args:
        gleu: [H] or [N, H], 0 to 100. weights: of the same shape, at least 0, summing to 1 over a record's hypotheses.

    Returns:
        A float, or float64 [N].

    Raises:
        ArrayError: for other shapes or values.

    Source: Malinin et al. 2021, Section 4.
    """
    values, shares = _per_record("gleu", gleu), _per_record("weights", weights)
    problems = []
    if values.shape != shares.shape:
        problems.append(f"weights: expected the shape of gleu {values.shape}, found {shares.shape}.")
    if (shares < 0).any() or (np.abs(shares.sum(axis=-1) - 1) > _SUM_TOLERANCE).any():
        found = shares.sum(axis=-1).ravel()
        worst = found[np.abs(found - 1).argmax()]
        problems.append(
            f"weights: expected values of at least 0 that sum to 1 over hypotheses, found a least one of "
            f"{shares.min():g} and a sum of {worst:g}. Normalise them, for example by a softmax."
        )
    if problems:
        raise ArrayError(*problems)
    found = (values * shares).sum(axis=-1)
    return float(found) if found.ndim == 0 else found


def max_gleu(gleu: Any) -> Any:
    """The highest GLEU of a record's hypotheses.

    Args:
        gleu: [H] or [N, H], 0 to 100.

    Returns:
        A float, or float64 [N].

    Raises:
        ArrayError: for other shapes or values.

    Source: Malinin et al. 2021, Section 4.
    """
    found = _per_record("gleu", gleu).max(axis=-1)
    return float(found) if found.ndim == 0 else found


def sentence_chrf(hypothesis: Any, reference: Any) -> Any:
    """chrF of hypotheses against one reference each, 0 to 100: F2 of the n-grams of 1 to 6 characters.

    Args, Returns and Raises as `sentence_gleu`; equal to sacreBLEU's sentence chrF.

    Source: Popović 2015.
    """
    return _scored(hypothesis, reference, lambda one, other: chrf(chrf_statistics(one, other)))


def chrf_statistics(hypotheses: Sequence[str], references: Sequence[str]) -> Index:
    """What texts [N] and a reference each add to chrF: integers [N, 18], whose sums are those of a corpus.

    For n-grams of 1 to 6 characters, each: how many the text has, the reference has, and both have; the text's do not
    count where the reference is shorter than that. In the order of sacreBLEU.

    Raises:
        ArrayError: if these are no texts, or numbers of texts differ.
    """
    hypotheses, references = _pairs(hypotheses, references)
    _require_texts("hypothesis", hypotheses)
    _require_texts("reference", references)
    found = _counts(hypotheses, references, _characters, _ORDER)
    texts = np.where(found.references > 0, found.texts, 0)
    return np.stack([texts, found.references, found.shared], axis=-1).reshape(len(hypotheses), 3 * _ORDER)


def chrf(statistics: Any) -> Vector:
    """chrF [...], 0 to 100, from `chrf_statistics` [..., 18] of texts, or from their sums over a corpus.

    Precision and recall are means over the sizes of n-grams that both have.

    Source: Popović 2015, Equation 1; effective orders as in sacreBLEU.
    """
    texts, references, shared = np.moveaxis(np.reshape(statistics, (*np.shape(statistics)[:-1], _ORDER, 3)), -1, 0)
    known = (texts > 0) & (references > 0)
    orders = np.maximum(known.sum(axis=-1), 1)
    precision, recall = (
        np.divide(shared, each, out=np.zeros(each.shape), where=known).sum(axis=-1) / orders
        for each in (texts, references)
    )
    below = np.asarray(_BETA**2 * precision + recall)
    found = np.divide((1 + _BETA**2) * precision * recall, below, out=np.zeros(below.shape), where=below > 0)
    return np.asarray(100.0 * found)


# --- input ------------------------------------------------------------------------------------------------------------


def _listed(name: str, texts: Any) -> list[Any]:
    if isinstance(texts, (str, bytes)) or not hasattr(texts, "__iter__"):
        raise ArrayError(f"{name}: expected texts, as many as of the other argument, found {type(texts).__name__}.")
    return list(texts)


def _require_texts(name: str, texts: Sequence[Any]) -> None:
    odd = [at for at, text in enumerate(texts) if not isinstance(text, str)]
    if odd:
        first = type(texts[odd[0]]).__name__
        raise ArrayError(f"{name}: expected texts, found {len(odd)} other values, the first a {first} at {odd[0]}.")


OfPairs = Callable[[Sequence[str], Sequence[str]], Vector]


def _scored(hypothesis: Any, reference: Any, score: OfPairs) -> Any:
    """The score of a text, of texts [N], or of the hypotheses of N records [N, H]."""
    if isinstance(hypothesis, str) and isinstance(reference, str):
        return float(score([hypothesis], [reference])[0])
    hypotheses, references = _pairs(hypothesis, reference)
    if hypotheses and not any(isinstance(each, str) for each in hypotheses):
        return _of_records(hypotheses, references, score)
    _require_texts("hypothesis", hypotheses)
    _require_texts("reference", references)
    return score(hypotheses, references)


def _pairs(hypothesis: Any, reference: Any) -> tuple[list[Any], list[Any]]:
    hypotheses, references = _listed("hypothesis", hypothesis), _listed("reference", reference)
    if len(hypotheses) != len(references):
        raise ArrayError(
            f"expected as many records of hypotheses as references, found {len(hypotheses)} and {len(references)}."
        )
    return hypotheses, references


def _of_records(hypotheses: Sequence[Any], references: Sequence[Any], score: OfPairs) -> npt.NDArray[np.float64]:
    """The score [N, H] of the hypotheses of each record."""
    rows = [_listed(f"hypothesis {at}", row) for at, row in enumerate(hypotheses)]
    each = {len(row) for row in rows}
    if len(each) > 1 or not rows or 0 in each:
        raise ArrayError(
            f"hypothesis: expected the same number of hypotheses for each record, at least one, found "
            f"{min(each, default=0)} to {max(each, default=0)}. Score them one by one, with a reference each."
        )
    flat = [text for row in rows for text in row]
    _require_texts("hypothesis", flat)
    _require_texts("reference", references)
    count = each.pop()
    return score(flat, [text for text in references for _ in range(count)]).reshape(len(rows), count)


def _per_record(name: str, values: Any) -> npt.NDArray[np.float64]:
    found = check.as_array(name, values).astype(np.float64)
    if found.ndim not in (1, 2) or not found.size:
        raise ArrayError(f"{name}: expected shape [H] or [N, H], found {list(found.shape)}.")
    if not np.isfinite(found).all():
        raise ArrayError(f"{name}: expected numbers, found {int((~np.isfinite(found)).sum())} NaN or infinite.")
    return found


# --- counting n-grams -------------------------------------------------------------------------------------------------


class _Counts(NamedTuple):
    """Numbers of n-grams by their size [N, S]: of texts, of their references, and of those that both have."""

    texts: Index
    references: Index
    shared: Index


def _gleu(hypotheses: Sequence[str], references: Sequence[str]) -> Vector:
    """GLEU of each text [N] against its reference."""
    found = _counts(hypotheses, references, _words, _LONGEST)
    longer = np.maximum(found.texts.sum(axis=1), found.references.sum(axis=1))
    return np.asarray(100.0 * (found.shared.sum(axis=1) / np.maximum(longer, 1)))


def _words(texts: Iterable[str]) -> tuple[Index, Index]:
    """The words of texts as numbers, one text after the other, and how many each has."""
    tokens = [text.split() for text in texts]
    numbers = defaultdict[str, int](itertools.count().__next__)
    codes = np.fromiter(map(numbers.__getitem__, itertools.chain.from_iterable(tokens)), np.int64)
    return codes, np.fromiter(map(len, tokens), np.int64, len(tokens))


def _characters(texts: Iterable[str]) -> tuple[Index, Index]:
    """The same of the characters of texts but for white space."""
    bare = ["".join(text.split()) for text in texts]
    codes = np.frombuffer("".join(bare).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.int64)
    return codes, np.fromiter(map(len, bare), np.int64, len(bare))


Units = Callable[[Iterable[str]], tuple[Index, Index]]


def _counts(hypotheses: Sequence[str], references: Sequence[str], units: Units, longest: int) -> _Counts:
    """N-grams of 1 to `longest` units."""
    parts = [_block(hypotheses[rows], references[rows], units, longest) for rows in _blocks(hypotheses, references)]
    if not parts:
        return _Counts(*np.zeros((3, 0, longest), np.int64))
    return _Counts(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _blocks(hypotheses: Sequence[str], references: Sequence[str]) -> Iterator[slice]:
    """Rows with about `_BLOCK_CHARACTERS` characters, or of one longer pair."""
    start = room = 0
    for at, (one, other) in enumerate(zip(hypotheses, references, strict=True)):
        size = len(one) + len(other) + 4
        if at > start and room + size > _BLOCK_CHARACTERS:
            yield slice(start, at)
            start, room = at, 0
        room += size
    if start < len(hypotheses):
        yield slice(start, len(hypotheses))


def _block(hypotheses: Sequence[str], references: Sequence[str], units: Units, longest: int) -> _Counts:
    count = len(hypotheses)
    places = defaultdict[str, int](itertools.count().__next__)
    rows = np.fromiter(map(places.__getitem__, itertools.chain(hypotheses, references)), np.int64, 2 * count)
    codes, sizes = units(places)  # each text once: hypotheses of a record share their reference
    grams = np.maximum(sizes[rows, None] - np.arange(longest), 0)
    shared = _shared(codes[ragged.places(sizes, rows)], sizes[rows], count, longest)
    return _Counts(grams[:count], grams[count:], shared)


def _shared(codes: Index, lengths: Index, count: int, longest: int) -> Index:
    """The number of n-grams of each size that text i and text count + i share, with multiplicity [count, longest].

    An n-gram of both begins with one of both that is a unit shorter, so that only these go on.
    """
    owner = np.repeat(np.arange(2 * count), lengths)
    ends = np.repeat(np.cumsum(lengths), lengths)  # of the text of each unit
    starts, groups = np.arange(len(codes)), owner % count
    vocabulary = codes.max(initial=0) + 1
    shared = np.zeros((count, longest), np.int64)
    for size in range(1, longest + 1):
        kept = starts + size <= ends[starts]
        starts = starts[kept]
        if not len(starts):
            break
        keys = groups[kept] * vocabulary + codes[starts + size - 1]
        order = np.argsort(keys)
        starts, keys = starts[order], keys[order]
        fresh = np.concatenate([[True], keys[1:] != keys[:-1]])
        firsts, groups = np.flatnonzero(fresh), np.cumsum(fresh) - 1
        texts = owner[starts]
        ours = np.add.reduceat((texts < count).astype(np.int64), firsts)
        fewer = np.minimum(ours, np.diff(firsts, append=len(starts)) - ours)
        shared[:, size - 1] = np.bincount(texts[firsts] % count, weights=fewer, minlength=count)
        both = fewer[groups] > 0
        starts, groups = starts[both], groups[both]
    return shared
