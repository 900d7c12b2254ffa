"""A keyed 64-bit hash of ids, fully specified here so that draws are the same everywhere and in every version.

With all arithmetic modulo 2^64,

    mix(x):      x ^= x >> 30;  x *= 0xBF58476D1CE4E5B9;  x ^= x >> 27;  x *= 0x94D049BB133111EB;  x ^= x >> 31
    step(h, w) = mix((h ^ w) + 0x9E3779B97F4A7C15)

the hash of a text of B bytes in UTF-8 under a seed is h after

    h = step(0, seed);  h = step(h, w) for each word w;  h = step(h, B)

where the words are the bytes taken 8 at a time, least significant byte first, the last word padded with zeros.
A whole number has the hash of its decimal text ("7", "-12"), so the column type of ids does not matter.
`mix` is the finaliser of SplitMix64 (Steele, Lea and Flood, 2014). The hash is uniform, but not cryptographic.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.errors import PartitionError
from shiftbench.partition import counting

Hashes = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]
Positions = npt.NDArray[np.intp]

GAMMA = np.uint64(0x9E3779B97F4A7C15)
TAILS = np.array([2 ** (8 * kept) - 1 for kept in range(9)], np.uint64)  # keeps the first 0 … 8 bytes of a word
MOST = 10**19 - 1  # the largest number whose digits are computed; 2^63 - 1 is below it
FOUR_DIGITS = np.array([int.from_bytes(b"%04d" % number, "little") for number in range(10_000)], np.uint64)


def keyed_hash(ids: pl.Series, *, seed: int) -> Hashes:
    """The hash of each of N texts or whole numbers (without nulls) under `seed`, uint64 [N].

    Raises:
        PartitionError: if the seed is not a whole number of 0 … 2^64 - 1.
    """
    if not isinstance(seed, int) or not 0 <= seed < 2**64:
        raise PartitionError(f"seed: expected a whole number of 0 … 2**64 - 1, found {seed!r}.")
    start = step(np.zeros(1, np.uint64), np.array([seed], np.uint64))
    hashed = _hashed_numbers if ids.dtype.is_integer() else _hashed
    hashes = np.empty(len(ids), np.uint64)
    # In slices that fit into the cache; one joined text would not.
    for rows in counting.slices(len(ids)):
        hashes[rows] = hashed(ids[rows], start)
    return hashes


def smallest(hashes: Hashes, ids: pl.Series, size: int, *, rows: Positions | None = None) -> Flags:
    """Whether each of N hashes is among the `size` smallest, bool [N]; ties are ordered by the ids as text.

    rows: positions of the N records in `ids`; None means all in order.
    """
    if size >= len(hashes) or size == 0:
        return np.full(len(hashes), size > 0)
    # Hashes are uniform, so those below this bound nearly always suffice.
    near = hashes[below(hashes, (size + 10 * size**0.5) / len(hashes))]
    candidates = near if len(near) >= size else hashes
    last = np.partition(candidates, size - 1)[size - 1]
    chosen: Flags = hashes < last
    tied = np.flatnonzero(hashes == last)
    in_order = ids.gather(tied if rows is None else rows[tied]).cast(pl.String).arg_sort().to_numpy()
    chosen[tied[in_order[: size - np.count_nonzero(chosen)]]] = True
    return chosen


def below(hashes: Hashes, share: float) -> Flags:
    """Whether each of N hashes lies in the first `share` (0 … 1) of their range, bool [N]."""
    edge = int(share * 2**64)
    return np.ones(len(hashes), np.bool_) if edge >= 2**64 else hashes < np.uint64(edge)


def _hashed(texts: pl.Series, start: Hashes) -> Hashes:
    lengths = texts.str.len_bytes().to_numpy().astype(np.int64)
    joined: bytes = texts.str.join("").cast(pl.Binary)[0]
    data = joined + bytes(8)
    # A word may start at any byte: the view has a stride of one byte.
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


def _hashed_numbers(numbers: pl.Series, start: Hashes) -> Hashes:
    """The same as `_hashed` of the decimal texts, by arithmetic."""
    values = numbers.to_numpy()
    low, high = int(values.min()), int(values.max())
    if low < 0 or high > MOST:
        return _hashed(numbers.cast(pl.String), start)
    values = values.astype(np.uint64)
    shortest, longest = len(str(low)), len(str(high))
    if shortest == longest:
        return _of_digits(values, shortest, start)
    hashes = np.empty(len(values), np.uint64)
    for digits in range(shortest, longest + 1):
        # The smallest number with `digits` digits; for one digit it is 0, not 1.
        least = np.uint64(10 ** (digits - 1) if digits > 1 else 0)
        rows = np.flatnonzero((values >= least) & (values < np.uint64(10**digits)))
        hashes[rows] = _of_digits(values[rows], digits, start)
    return hashes


def _of_digits(values: Hashes, digits: int, start: Hashes) -> Hashes:
    """Hashes of numbers [N] that all have this number of digits; a word holds eight digits, from the left."""
    hashes = start
    for left in range(digits, 0, -8):
        held = min(8, left)
        part, values = _parted(values, 10 ** (left - held))
        upper, lower = _parted(part, 10_000)
        word = FOUR_DIGITS[upper] | FOUR_DIGITS[lower] << np.uint64(32)
        hashes = step(hashes, word >> np.uint64(8 * (8 - held)))  # leading zeros lie in the lowest bytes
    return step(hashes, np.array([digits], np.uint64))


def _parted(values: Hashes, unit: int) -> tuple[Hashes, Hashes]:
    """Quotient and remainder of numbers [N]; numpy's own remainder is much slower."""
    whole = values // np.uint64(unit)
    return whole, values - whole * np.uint64(unit)


def step(hashes: Hashes, words: Hashes) -> Hashes:
    """Add one word to each of N hashes, as defined above."""
    mixed = (hashes ^ words) + GAMMA
    mixed ^= mixed >> np.uint64(30)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    mixed ^= mixed >> np.uint64(27)
    mixed *= np.uint64(0x94D049BB133111EB)
    mixed ^= mixed >> np.uint64(31)
    return mixed
