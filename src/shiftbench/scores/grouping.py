"""Codes of groups of records without sorting records: exactly what `numpy.unique` finds, in a fraction of its time."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.scores.ranking import Index

SPARSE = 4  # how many times more possible than actual keys are counted, rather than sorted
ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio
HALF_OF_BITS = np.uint64(32)


def distinct(keys: Index) -> tuple[Index, Index]:
    """The distinct keys [K] of records, ascending, and the place of each record's key among them [N].

    Keys that are dense (codes, or pairs of codes in one number) are counted; others are sorted.
    """
    if not len(keys):
        return keys, np.empty(0, dtype=np.intp)
    low, high = int(keys.min()), int(keys.max())
    if high - low >= SPARSE * len(keys):
        found, place = np.unique(keys, return_inverse=True)
        return found, place.reshape(-1)
    there = np.zeros(high - low + 1, dtype=np.bool_)
    there[keys - low] = True
    return np.flatnonzero(there) + low, (np.cumsum(there) - 1)[keys - low]


def coded(labels: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], Index]:
    """The names [K] of the groups of records in order, and the group of each record [N].

    Text is compared by a hash of 64 bits, and again as it is: names that collide are sorted.
    """
    if labels.dtype.kind == "U" and labels.itemsize and len(labels):
        _, first, group = np.unique(_hashed(labels), return_index=True, return_inverse=True)
        order = np.argsort(labels[first])
        code = np.empty(len(order), dtype=np.intp)
        code[order] = np.arange(len(order))
        names, codes = labels[first[order]], code[group.reshape(-1)]
        if (names[codes] == labels).all():
            return names, codes
    names, codes = np.unique(labels, return_inverse=True)
    return names, codes.reshape(-1)


def _hashed(labels: npt.NDArray[np.str_]) -> npt.NDArray[np.uint64]:
    """A hash [N] of each label, from one or two characters at a time."""
    labels = np.ascontiguousarray(labels)
    parts: npt.NDArray[np.unsignedinteger[Any]] = labels.view(np.uint32 if labels.itemsize % 8 else np.uint64)
    found = np.zeros(len(labels), dtype=np.uint64)
    moved = np.empty_like(found)
    for column in parts.reshape(len(labels), -1).T:
        found ^= column
        found *= ODD
        found ^= np.right_shift(found, HALF_OF_BITS, out=moved)
    return found
