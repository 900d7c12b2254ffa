"""The tree of RFC 9162: its published roots, proofs of every entry and every growth, and every forgery refused."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.challenge.merkle import Tree, grew, includes
from shiftbench.errors import SettingsError

# Entries and roots of the test tree that implementations of certificate transparency share.
ENTRIES = [
    bytes.fromhex(text)
    for text in ("", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f")
]
ROOTS = {
    0: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    1: "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    2: "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    3: "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    8: "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
}
LARGEST = 20


def tree(size: int) -> Tree:
    made = Tree()
    for number in range(size):
        assert made.append(f"entry {number}".encode()) == number
    return made


def slow_root(entries: list[bytes]) -> bytes:
    """The definition, Section 2.1.1."""
    if len(entries) < 2:
        return hashlib.sha256(b"\x00" + entries[0] if entries else b"").digest()
    half = 1
    while 2 * half < len(entries):
        half *= 2
    return hashlib.sha256(b"\x01" + slow_root(entries[:half]) + slow_root(entries[half:])).digest()


def test_roots_are_those_of_other_implementations():
    made = Tree()
    for entry in ENTRIES:
        made.append(entry)
    assert {size: made.root(size).hex() for size in ROOTS} == ROOTS


def test_every_root_is_that_of_the_definition():
    made = tree(LARGEST)
    entries = [f"entry {number}".encode() for number in range(LARGEST)]
    assert [made.root(size) for size in range(LARGEST + 1)] == [
        slow_root(entries[:size]) for size in range(LARGEST + 1)
    ]


def test_every_entry_is_proved_to_be_in_every_tree_and_nowhere_else():
    made = tree(LARGEST)
    for size in range(1, LARGEST + 1):
        for index in range(size):
            proof = made.inclusion_proof(index, size)
            entry = f"entry {index}".encode()
            assert includes(entry, index, proof, made.root(size), size)
            assert not any(
                includes(entry, other, proof, made.root(size), size) for other in range(size) if other != index
            )
            assert not includes(b"another", index, proof, made.root(size), size)
            assert not includes(entry, index, [*proof, bytes(32)], made.root(size), size)
            assert not proof or not includes(entry, index, proof[:-1], made.root(size), size)


def test_every_growth_is_proved_and_a_rewritten_log_is_found():
    made, other = tree(LARGEST), Tree()
    for number in range(LARGEST):
        other.append(f"entry {number if number != 1 else 'changed'}".encode())
    for size in range(1, LARGEST + 1):
        assert grew(0, made.root(0), size, made.root(size), [])
        for first in range(1, size + 1):
            proof = made.consistency_proof(first, size)
            assert grew(first, made.root(first), size, made.root(size), proof)
            assert not grew(first, made.root(first), size, made.root(size), [*proof, bytes(32)])
            if first > 1:
                assert not grew(first, made.root(first), size, other.root(size), other.consistency_proof(first, size))


@given(st.integers(1, 300), st.data())
def test_damaged_proofs_prove_nothing(size, data):
    made = tree(size)
    first = data.draw(st.integers(1, size))
    for proof, proves in (
        (
            made.inclusion_proof(first - 1),
            lambda p: includes(f"entry {first - 1}".encode(), first - 1, p, made.root(), size),
        ),
        (made.consistency_proof(first), lambda p: grew(first, made.root(first), size, made.root(), p)),
    ):
        assert proves(proof)
        if proof:
            place, bit = data.draw(st.integers(0, len(proof) - 1)), data.draw(st.integers(0, 255))
            damaged = bytearray(proof[place])
            damaged[bit // 8] ^= 1 << bit % 8
            assert not proves([*proof[:place], bytes(damaged), *proof[place + 1 :]])


def test_what_is_not_in_the_log_is_refused():
    made = tree(3)
    with pytest.raises(SettingsError, match="index: expected a whole number from 0 to 2, found 3"):
        made.inclusion_proof(3)
    with pytest.raises(SettingsError, match="size: expected a whole number from 0 to 3, found 4"):
        made.root(4)
    with pytest.raises(SettingsError, match="first: expected a whole number from 1 to 3, found 0"):
        made.consistency_proof(0)
