"""A keyed 64-bit hash of text, fully specified here, so that a draw is the same everywhere and for ever.

With all arithmetic modulo 2^64,

    mix(x):      x ^= x >> 30;  x *= 0xBF58476D1CE4E5B9;  x ^= x >> 27;  x *= 0x94D049BB133111EB;  x ^= x >> 31
    step(h, w) = mix((h ^ w) + 0x9E3779B97F4A7C15)

the hash of a text of B bytes in UTF-8 under a seed is h after

    h = step(0, seed);  h = step(h, w) for each word w;  h = step(h, B)

where the words are the bytes taken 8 at a time, least significant byte first, the last word filled with zeros.
`mix` is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014). The hash spreads ids evenly; it keeps no secrets.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.errors import PartitionError

Hashes = npt.NDArray[np.uint64]
Positions = npt.NDArray[np.intp]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
TAILS = np.array([2 ** (8 * kept) - 1 for kept in range(9)], np.uint64)  # keeps the first 0 … 8 bytes of a word
ROWS_AT_ONCE = 2**16


def keyed_hash(texts: pl.Series, *, seed: int) -> Hashes:
    """The hash of each of N texts (none missing) under `seed`, uint64 [N].

    Raises:
        PartitionError: if the seed is not a whole number of 0 … 2^64 - 1.
    """
    if not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise PartitionError(f"seed: expected a whole number of 0 … 2**64 - 1, found {seed!r}.")
    start = step(np.zeros(1, np.uint64), np.array([seed], np.uint64))
    hashes = np.empty(len(texts), np.uint64)
    # Slices that fit into the cache; a single joined text of everything would not.
    for first in range(0, len(texts), ROWS_AT_ONCE):
        rows = slice(first, first + ROWS_AT_ONCE)
        hashes[rows] = _hashed(texts[rows], start)
    return hashes


def smallest(hashes: Hashes, ids: pl.Series, size: int) -> Positions:
    """Positions of the `size` smallest of N hashes, ascending; equal hashes count in the order of their ids."""
    if size >= len(hashes):
        return np.arange(len(hashes))
    if size == 0:
        return np.arange(0)
    last = np.partition(hashes, size - 1)[size - 1]
    below, tied = np.flatnonzero(hashes < last), np.flatnonzero(hashes == last)
    tied = tied[ids.gather(tied).arg_sort().to_numpy()]
    return np.sort(np.concatenate((below, tied[: size - len(below)])))


def below(hashes: Hashes, share: float) -> npt.NDArray[np.bool_]:
    """Which of N hashes lie in the first `share` (0 … 1) of their range, bool [N]."""
    edge = int(share * 2**64)
    return np.ones(len(hashes), np.bool_) if edge >= 2**64 else hashes < np.uint64(edge)


def _hashed(texts: pl.Series, start: Hashes) -> Hashes:
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    joined: bytes = texts.str.join("").cast(pl.Binary)[0]
    data = joined + bytes(8)
    # A word may start at any byte: the view's step is one byte.
    words = np.ndarray((len(joined) + 1,), "<u8", data, strides=(1,))
    starts = np.cumsum(lengths) - lengths
    hashes = np.repeat(start, len(texts))
    shortest = lengths.min()
    rows = np.arange(len(texts))
    for offset in range(0, int(lengths.max()), 8):
        if offset + 8 <= shortest:
            hashes = step(hashes, words[starts + offset])
            continue
        rows = rows[lengths[rows] > offset]
        kept = TAILS[np.minimum(lengths[rows] - offset, 8)]
        hashes[rows] = step(hashes[rows], words[starts[rows] + offset] & kept)
    return step(hashes, lengths.astype(np.uint64))


def step(hashes: Hashes, words: Hashes) -> Hashes:
    """Take one more word into each of N hashes, as defined above."""
    mixed = (hashes ^ words) + GAMMA
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
