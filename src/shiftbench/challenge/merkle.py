"""A Merkle tree over an append-only log: proofs that an entry is in it, and that it only grew.

Whoever keeps an old root hash can check both without trusting the host and without seeing other entries.

Source: RFC 9162, Certificate Transparency Version 2.0, Section 2.1.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from shiftbench import argument

Hash = bytes  # 32 bytes, SHA-256


def leaf_hash(entry: bytes) -> Hash:
    """The hash of an entry; its prefix differs from that of nodes, so that neither can pass for the other."""
    return hashlib.sha256(b"\x00" + entry).digest()


def _node(left: Hash, right: Hash) -> Hash:
    return hashlib.sha256(b"\x01" + left + right).digest()


def _split(size: int) -> int:
    """The largest power of two below `size`, for sizes above 1."""
    return 1 << (size - 1).bit_length() - 1


class Tree:
    """The tree over the entries of a log, in their order; it only grows. Not safe for several threads at a time."""

    def __init__(self, leaves: Iterable[Hash] = ()) -> None:
        """A tree over these leaf hashes."""
        self._levels: list[list[Hash]] = [[]]  # of complete subtrees of 1, 2, 4, … entries
        for leaf in leaves:
            self._append(leaf)

    def __len__(self) -> int:
        """The number of entries."""
        return len(self._levels[0])

    def append(self, entry: bytes) -> int:
        """Add an entry; returns its index, from 0."""
        self._append(leaf_hash(entry))
        return len(self) - 1

    def root(self, size: int | None = None) -> Hash:
        """The root hash of the first `size` entries, by default of all (Section 2.1.1).

        Raises:
            SettingsError: if the log has fewer.
        """
        size = self._size("size", size)
        return self._hash(0, size) if size else hashlib.sha256().digest()

    def inclusion_proof(self, index: int, size: int | None = None) -> list[Hash]:
        """Proof that entry `index` is among the first `size` entries (Section 2.1.3.1).

        Raises:
            SettingsError: if it is not.
        """
        size = self._size("size", size)
        index = argument.whole("index", index, 0, size - 1)
        path, start, end = [], 0, size
        while end - start > 1:
            middle = start + _split(end - start)
            if index < middle:
                path.append(self._hash(middle, end))
                end = middle
            else:
                path.append(self._hash(start, middle))
                start = middle
        return path[::-1]

    def consistency_proof(self, first: int, size: int | None = None) -> list[Hash]:
        """Proof that the first `size` entries begin with the first `first` ones (Section 2.1.4.1).

        Raises:
            SettingsError: unless 0 < first <= size.
        """
        size = self._size("size", size)
        first = argument.whole("first", first, 1, size)
        proof, start, end, known = [], 0, size, True  # known: whether the verifier has the hash of the whole subtree
        while first < end:
            middle = start + _split(end - start)
            if first <= middle:
                proof.append(self._hash(middle, end))
                end = middle
            else:
                proof.append(self._hash(start, middle))
                start, known = middle, False
        return [*([] if known else [self._hash(start, end)]), *proof[::-1]]

    def _size(self, name: str, size: int | None) -> int:
        return len(self) if size is None else argument.whole(name, size, 0, len(self))

    def _append(self, leaf: Hash) -> None:
        level, hashed = 0, leaf
        self._levels[0].append(hashed)
        while len(self._levels[level]) % 2 == 0:
            hashed = _node(*self._levels[level][-2:])
            level += 1
            if level == len(self._levels):
                self._levels.append([])
            self._levels[level].append(hashed)

    def _hash(self, start: int, end: int) -> Hash:
        """The hash of the entries from `start` to `end`, a subtree of some tree of the log."""
        size = end - start
        if size & (size - 1) == 0:
            return self._levels[size.bit_length() - 1][start // size]
        middle = start + _split(size)
        return _node(self._hash(start, middle), self._hash(middle, end))


def includes(entry: bytes, index: int, proof: Sequence[Hash], root: Hash, size: int) -> bool:
    """Whether the proof shows that `entry` is number `index` of the `size` entries under `root` (Section 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    place, last, hashed = index, size - 1, leaf_hash(entry)
    for other in proof:
        if last == 0:
            return False
        if place % 2 or place == last:
            hashed = _node(other, hashed)
            while place % 2 == 0 and place:
                place, last = place >> 1, last >> 1
        else:
            hashed = _node(hashed, other)
        place, last = place >> 1, last >> 1
    return last == 0 and hashed == root


def grew(first: int, old: Hash, size: int, new: Hash, proof: Sequence[Hash]) -> bool:
    """Whether the proof shows that the log of `first` entries under `old` became that of `size` entries under `new`.

    By Section 2.1.4.2; a log of no entries becomes any other.
    """
    if not 0 <= first <= size:
        return False
    if first == size or first == 0:
        return not proof and (old == new if first else old == hashlib.sha256().digest())
    path = list(proof) if first & (first - 1) else [old, *proof]
    if not path:
        return False
    place, last = first - 1, size - 1
    while place % 2:
        place, last = place >> 1, last >> 1
    before = after = path[0]
    for other in path[1:]:
        if last == 0:
            return False
        if place % 2 or place == last:
            before, after = _node(other, before), _node(other, after)
            while place % 2 == 0 and place:
                place, last = place >> 1, last >> 1
        else:
            after = _node(after, other)
        place, last = place >> 1, last >> 1
    return last == 0 and before == old and after == new
