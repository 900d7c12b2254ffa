"""Batches by tokens: sequences of similar length together, so that little is computed on padding."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from shiftbench.methods.sequences.dataset import Tokens

Rows = npt.NDArray[np.int64]


def by_tokens(lengths: npt.NDArray[np.integer[Any]], most: int, *, seed: int) -> list[Rows]:
    """Rows in batches of at most `most` tokens with their padding, or of a single longer row.

    Rows are sorted by their lengths [N] or [N, S] (of S sides, the last first); those of equal lengths are in an order
    that follows from the seed. The tokens of a batch are its rows times its longest side.
    """
    sides = lengths if lengths.ndim == 2 else lengths[:, None]
    drawn = np.random.default_rng([seed, len(sides)]).permutation(len(sides))
    order = np.lexsort((drawn, *sides.T))
    longest = sides.max(axis=1)[order]
    found, start, widest = [], 0, 0
    for at, length in enumerate(longest.tolist()):
        if at > start and max(widest, length) * (at + 1 - start) > most:
            found.append(order[start:at])
            start, widest = at, 0
        widest = max(widest, length)
    return [*found, order[start:]] if len(order) else []


def padded(sequences: Sequence[Tokens], pad: int, place: torch.device, *, first: int = -1, last: int = -1) -> Tensor:
    """Sequences as one batch [B, T] filled up with `pad`; each begins with `first` and ends with `last`, if not −1."""
    before, after = [[token] if token >= 0 else [] for token in (first, last)]
    longest = max(map(len, sequences), default=0) + len(before) + len(after)
    found = np.full((len(sequences), longest), pad, np.int64)
    for row, tokens in zip(found, sequences, strict=True):
        whole = [*before, *np.asarray(tokens, np.int64).tolist(), *after]
        row[: len(whole)] = whole
    return torch.from_numpy(found).to(place)
