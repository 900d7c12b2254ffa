"""Columns that name groups, alone or together."""

from __future__ import annotations

import polars as pl

from shiftbench import keys

FRAME = pl.DataFrame({"city": ["Ulm", "Ulm", None], "state": ["A", "B", "B"], "a+b": [1, 2, 3]})


def test_a_plus_joins_columns_unless_one_has_that_very_name() -> None:
    assert keys.parts("city+state", FRAME.columns) == ["city", "state"]
    assert keys.parts("a+b", FRAME.columns) == ["a+b"]
    assert keys.key(FRAME, "a+b").to_list() == [1, 2, 3]


def test_cities_of_the_same_name_in_two_states_are_two_and_missing_stays_missing() -> None:
    joined = keys.key(FRAME, "city+state")
    assert joined.to_list() == ["Ulm, A", "Ulm, B", None]
    assert joined.name == "city+state"
