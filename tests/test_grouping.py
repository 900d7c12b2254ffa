"""Codes of groups: fast ones equal those of `numpy.unique`."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.scores import grouping
from shiftbench.scores.grouping import coded, distinct


@given(st.lists(st.integers(-(2**40), 2**40) | st.integers(0, 20)))
def test_distinct_keys_are_those_of_a_sort_dense_or_not(values: list[int]) -> None:
    keys = np.array(values, dtype=np.int64)
    found, place = distinct(keys)
    expected, inverse = np.unique(keys, return_inverse=True)
    assert found.tolist() == expected.tolist()
    assert place.tolist() == inverse.reshape(-1).tolist()


@given(st.lists(st.text(max_size=5) | st.sampled_from(["dry", "snow", "Zürich", ""])))
def test_codes_of_names_are_those_of_a_sort(values: list[str]) -> None:
    labels = np.array(values, dtype=np.str_)
    names, codes = coded(labels)
    expected, inverse = np.unique(labels, return_inverse=True)
    assert names.tolist() == expected.tolist()
    assert codes.tolist() == inverse.reshape(-1).tolist()


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["b", "a", "c", "a"])[::-2],
        np.array(["b", "a"], dtype=object),
        np.array([3, 1, 3]),
        np.array(["b", "a"], dtype=">U3"),
    ],
    ids=["strided", "objects", "numbers", "other byte order"],
)
def test_labels_of_any_kind_have_codes(labels: npt.NDArray[Any]) -> None:
    names, codes = coded(labels)
    assert names[codes].tolist() == labels.tolist()
    assert names.tolist() == sorted(set(labels.tolist()))


def test_names_whose_hashes_collide_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grouping, "_hashed", lambda labels: np.zeros(len(labels), dtype=np.uint64))
    names, codes = coded(np.array(["b", "a", "b"]))
    assert names.tolist() == ["a", "b"]
    assert codes.tolist() == [1, 0, 1]
