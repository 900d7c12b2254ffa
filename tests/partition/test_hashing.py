"""The keyed hash: equal to its definition written plainly, pinned for ever, and as even as chance."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.errors import PartitionError
from shiftbench.partition import counting
from shiftbench.partition.hashing import below, keyed_hash, smallest

RANGE = 2**64


def plain_hash(text: str, seed: int) -> int:
    """The definition in the module's docstring, one byte string at a time, with Python's own integers."""

    def mix(x: int) -> int:
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 % RANGE
        x = (x ^ x >> 27) * 0x94D049BB133111EB % RANGE
        return x ^ x >> 31

    def step(state: int, word: int) -> int:
        return mix(((state ^ word) + 0x9E3779B97F4A7C15) % RANGE)

    data = text.encode()
    state = step(0, seed)
    for first in range(0, len(data), 8):
        state = step(state, int.from_bytes(data[first : first + 8], "little"))
    return step(state, len(data))


@pytest.mark.parametrize(
    ("text", "seed", "expected"),
    [
        ("", 0, 0xA706DD2F4D197E6F),
        ("a", 0, 0x90EE7AC581476B17),
        ("20210131-AK-ANCHORAGE", 1, 0x66969A9C37A372AA),
        ("Żółw", 2**64 - 1, 0x90DBE183DA57E159),
    ],
)
def test_the_hash_is_pinned(text: str, seed: int, expected: int) -> None:
    assert int(keyed_hash(pl.Series([text]), seed=seed)[0]) == expected


@given(
    st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40), max_size=20),
    st.integers(0, RANGE - 1),
)
@settings(max_examples=100, deadline=None)
def test_the_fast_hash_equals_its_plain_definition(texts: list[str], seed: int) -> None:
    fast = keyed_hash(pl.Series(texts, dtype=pl.String), seed=seed)
    assert fast.tolist() == [plain_hash(text, seed) for text in texts]


EDGES = [0, 9, 10, 99_999_999, 10**8, 10**16 - 1, 10**16, 2**63 - 1, -1, -(2**63)]


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.sampled_from(EDGES), max_size=20), st.integers(0, RANGE - 1))
@settings(max_examples=100, deadline=None)
def test_a_whole_number_has_the_hash_of_its_decimal_text(numbers: list[int], seed: int) -> None:
    for own in (numbers, [abs(number) % 2**63 for number in numbers]):
        hashes = keyed_hash(pl.Series(own, dtype=pl.Int64), seed=seed)
        assert hashes.tolist() == [plain_hash(str(number), seed) for number in own]


def test_numbers_of_every_length_have_the_hash_of_their_text() -> None:
    numbers = pl.Series([10**digits - less for digits in range(20) for less in (1, 0)], dtype=pl.UInt64)
    assert np.array_equal(keyed_hash(numbers, seed=4), keyed_hash(numbers.cast(pl.String), seed=4))


def test_slices_join_without_a_seam(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = pl.Series([f"{'x' * (number % 23)}{number}" for number in range(100)])
    whole = keyed_hash(texts, seed=3)
    monkeypatch.setattr(counting, "ROWS_AT_ONCE", 7)
    assert np.array_equal(keyed_hash(texts, seed=3), whole)


def test_one_very_long_text_among_short_ones_is_hashed() -> None:
    texts = ["a", "b" * 100_001, "c"]
    assert keyed_hash(pl.Series(texts), seed=0).tolist() == [plain_hash(text, 0) for text in texts]


def test_texts_that_differ_only_in_closing_zeros_hash_differently() -> None:
    texts = ["a", "a\0", "a\0\0", "a" + "\0" * 7, "a" + "\0" * 8, "", "\0"]
    assert len(set(keyed_hash(pl.Series(texts), seed=0).tolist())) == len(texts)


def test_hashes_of_counting_ids_are_uniform() -> None:
    hashes = keyed_hash(pl.Series(np.arange(200_000)).cast(pl.String), seed=0)
    for shift in (56, 28, 0):
        counts = np.bincount((hashes >> np.uint64(shift) & np.uint64(255)).astype(int), minlength=256)
        chi_squared = float(((counts - counts.mean()) ** 2 / counts.mean()).sum())
        assert 255 - 5 * np.sqrt(510) < chi_squared < 255 + 5 * np.sqrt(510)


def test_one_changed_bit_of_id_or_seed_changes_half_the_bits(rng: np.random.Generator) -> None:
    def bits(hashes: np.ndarray) -> np.ndarray:
        return np.unpackbits(hashes.view(np.uint8).reshape(-1, 8), axis=1)

    ids = ["".join(chr(97 + letter) for letter in rng.integers(0, 26, 12)) for _ in range(4_000)]
    original = bits(keyed_hash(pl.Series(ids), seed=5))
    for place in (0, 7, 8, 11):
        changed = [text[:place] + chr(ord(text[place]) ^ 1) + text[place + 1 :] for text in ids]
        flipped = (bits(keyed_hash(pl.Series(changed), seed=5)) != original).mean(axis=0)
        assert np.all(np.abs(flipped - 0.5) < 0.05)
    flipped = (bits(keyed_hash(pl.Series(ids), seed=4)) != original).mean(axis=0)
    assert np.all(np.abs(flipped - 0.5) < 0.05)


def test_draws_under_two_seeds_are_independent() -> None:
    ids = pl.Series(np.arange(100_000)).cast(pl.String)
    first, second = (keyed_hash(ids, seed=seed) / RANGE for seed in (0, 1))
    assert abs(np.corrcoef(first, second)[0, 1]) < 5 / np.sqrt(100_000)
    both = np.count_nonzero(below(keyed_hash(ids, seed=0), 0.1) & below(keyed_hash(ids, seed=1), 0.1))
    assert abs(both - 1_000) < 5 * np.sqrt(1_000)


@pytest.mark.parametrize("seed", [-1, 2**64, 1.0, "1"])
def test_a_seed_out_of_range_is_refused(seed: object) -> None:
    with pytest.raises(PartitionError, match="seed: expected a whole number"):
        keyed_hash(pl.Series(["a"]), seed=seed)  # type: ignore[arg-type]


def test_shares_of_the_range_are_nested_and_reach_from_none_to_all() -> None:
    hashes = np.array([0, 1, 2**63 - 1, 2**63, 2**64 - 1], np.uint64)
    assert below(hashes, 0.0).tolist() == [False] * 5
    assert below(hashes, 0.5).tolist() == [True, True, True, False, False]
    assert below(hashes, 1.0).tolist() == [True] * 5


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.data())
@settings(max_examples=100, deadline=None)
def test_the_smallest_hashes_are_taken_with_ties_by_id(values: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(0, len(values)))
    ids = data.draw(st.permutations([f"{number:03}" for number in range(len(values))]))
    found = smallest(np.array(values, np.uint64), pl.Series(ids), size)
    expected = sorted(range(len(values)), key=lambda place: (values[place], ids[place]))[:size]
    assert np.flatnonzero(found).tolist() == sorted(expected)


def test_the_smallest_of_evenly_spread_hashes_are_those_that_a_sort_puts_first(rng: np.random.Generator) -> None:
    hashes = rng.integers(0, RANGE - 1, 50_000, dtype=np.uint64)
    ids = pl.Series(np.arange(100_000, 150_000))
    rows = np.arange(50_000)[::-1].copy()
    for size in (0, 1, 700, 49_999, 50_000, 60_000):
        expected = np.zeros(50_000, np.bool_)
        expected[np.argsort(hashes)[:size]] = True
        assert np.array_equal(smallest(hashes, ids, size, rows=rows), expected)
