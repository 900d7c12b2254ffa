"""Metrics of translations: sentence GLEU of hypotheses (Wu et al. 2016), its mean and maximum over those of a record.

Texts are split at white space. BLEU and chrF of a whole set are sacreBLEU's.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench import check
from shiftbench.check import Vector
from shiftbench.ensembles import ragged
from shiftbench.errors import ArrayError

_LONGEST = 4  # tokens of an n-gram
_BLOCK_TOKENS = 1 << 14  # so that vocabulary and n-grams stay in the cache
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
    if isinstance(hypothesis, str) and isinstance(reference, str):
        return float(_gleu([hypothesis], [reference])[0])
    hypotheses, references = _listed("hypothesis", hypothesis), _listed("reference", reference)
    if len(hypotheses) != len(references):
        raise ArrayError(
            f"expected as many records of hypotheses as references, found {len(hypotheses)} and {len(references)}."
        )
    if hypotheses and not any(isinstance(each, str) for each in hypotheses):
        return _of_records(hypotheses, references)
    _require_texts("hypothesis", hypotheses)
    _require_texts("reference", references)
    return _gleu(hypotheses, references)


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


def _of_records(hypotheses: Sequence[Any], references: Sequence[Any]) -> npt.NDArray[np.float64]:
    """GLEU [N, H] of the hypotheses of each record."""
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
    return _gleu(flat, [text for text in references for _ in range(count)]).reshape(len(rows), count)


def _per_record(name: str, values: Any) -> npt.NDArray[np.float64]:
    found = check.as_array(name, values).astype(np.float64)
    if found.ndim not in (1, 2) or not found.size:
        raise ArrayError(f"{name}: expected shape [H] or [N, H], found {list(found.shape)}.")
    if not np.isfinite(found).all():
        raise ArrayError(f"{name}: expected numbers, found {int((~np.isfinite(found)).sum())} NaN or infinite.")
    return found


# --- counting n-grams -------------------------------------------------------------------------------------------------


def _gleu(hypotheses: Sequence[str], references: Sequence[str]) -> Vector:
    """GLEU of each text [N] against its reference."""
    blocks = [_block(hypotheses[rows], references[rows]) for rows in _blocks(hypotheses, references)]
    return np.concatenate(blocks) if blocks else np.zeros(0)


def _blocks(hypotheses: Sequence[str], references: Sequence[str]) -> Iterator[slice]:
    """Rows with about `_BLOCK_TOKENS` tokens, or of one longer pair."""
    start = room = 0
    for at, (one, other) in enumerate(zip(hypotheses, references, strict=True)):
        size = (len(one) + len(other)) // 4 + 1
        if at > start and room + size > _BLOCK_TOKENS:
            yield slice(start, at)
            start, room = at, 0
        room += size
    if start < len(hypotheses):
        yield slice(start, len(hypotheses))


def _block(hypotheses: Sequence[str], references: Sequence[str]) -> Vector:
    count = len(hypotheses)
    places = defaultdict[str, int](itertools.count().__next__)
    rows = np.fromiter(map(places.__getitem__, itertools.chain(hypotheses, references)), np.int64, 2 * count)
    tokens = [text.split() for text in places]  # each text once: hypotheses of a record share their reference
    numbers = defaultdict[str, int](itertools.count().__next__)
    codes = np.fromiter(map(numbers.__getitem__, itertools.chain.from_iterable(tokens)), np.int64)
    sizes = np.fromiter(map(len, tokens), np.int64, len(tokens))
    shared = _shared(codes[ragged.places(sizes, rows)], sizes[rows], count, len(numbers))
    grams = np.maximum(sizes[rows, None] - np.arange(_LONGEST), 0).sum(axis=1)
    longer = np.maximum(grams[:count], grams[count:])
    return np.asarray(100.0 * (shared / np.maximum(longer, 1)))


def _shared(codes: Index, lengths: Index, count: int, vocabulary: int) -> Index:
    """How many n-grams text i and text count + i have both, as often as both have them [count].

    An n-gram of both begins with one of both that is a token shorter, so that only these go on.
    """
    owner = np.repeat(np.arange(2 * count), lengths)
    ends = np.repeat(np.cumsum(lengths), lengths)  # of the text of each token
    starts, groups = np.arange(len(codes)), owner % count
    shared = np.zeros(count, np.int64)
    for size in range(1, _LONGEST + 1):
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
        shared += np.bincount(texts[firsts] % count, weights=fewer, minlength=count).astype(np.int64)
        both = fewer[groups] > 0
        starts, groups = starts[both], groups[both]
    return shared
