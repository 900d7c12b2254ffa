"""Counting by slices and cells equals sorting and counting everything."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.partition import counting

WHOLE = {pl.Int8: (-(2**7), 2**7 - 1), pl.Int32: (-(2**31), 2**31 - 1), pl.Int64: (-(2**63), 2**63 - 1),
         pl.UInt64: (0, 2**64 - 1)}  # fmt: skip


def plain_standing(values: list[Any], place: int) -> tuple[Any, int, int]:
    value = sorted(values)[place]
    return value, sum(other < value for other in values), sum(other <= value for other in values)


@given(st.sampled_from(list(WHOLE)), st.data())
@settings(max_examples=200, deadline=None)
def test_what_stands_at_a_place_is_what_a_sort_puts_there(dtype: Any, data: st.DataObject) -> None:
    low, high = WHOLE[dtype]
    numbers = st.integers(low, high) | st.integers(max(low, -3), 3) | st.sampled_from([low, high])
    values = data.draw(st.lists(numbers, min_size=1, max_size=40))
    places = data.draw(st.lists(st.integers(0, len(values) - 1), min_size=1, max_size=4))
    found = counting.standing_at(pl.Series(values, dtype=dtype), places)
    assert found == [plain_standing(values, place) for place in places]


def test_fractions_of_numbers_stand_where_a_sort_puts_them(rng: np.random.Generator) -> None:
    values = rng.normal(size=500).round(1)
    found = counting.standing_at(pl.Series(values), [0, 250, 499])
    assert found == [plain_standing(values.tolist(), place) for place in (0, 250, 499)]


@pytest.mark.parametrize("chunks", [1, 3])
def test_slices_join_without_a_seam(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, chunks: int) -> None:
    monkeypatch.setattr(counting, "ROWS_AT_ONCE", 7)
    values = rng.integers(0, 200, 100)
    column = pl.concat([pl.Series(part) for part in np.array_split(values, chunks)], rechunk=False)
    found = list(counting.parts(column))
    assert [row for rows, _ in found for row in range(rows.start, rows.stop)] == list(range(100))
    assert np.concatenate([part for _, part in found]).tolist() == values.tolist()
    assert counting.standing_at(column, [50]) == [plain_standing(values.tolist(), 50)]
