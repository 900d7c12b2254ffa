"""Columns that name groups, alone or together."""

from __future__ import annotations

import polars as pl

from shiftbench.assessment.column_values import cluster_codes
from shiftbench.partition import keys

FRAME = pl.DataFrame({"city": ["Ulm", "Ulm", None], "state": ["A", "B", "B"], "a+b": [1, 2, 3]})


def test_a_plus_joins_columns_unless_one_has_that_very_name() -> None:
    assert keys.parts("city+state", FRAME.columns) == ["city", "state"]
    assert keys.parts("a+b", FRAME.columns) == ["a+b"]
    assert keys.key(FRAME, "a+b").to_list() == [1, 2, 3]


def test_a_column_with_a_plus_can_be_one_of_several() -> None:
    assert keys.parts("city+a+b+state", FRAME.columns) == ["city", "a+b", "state"]
    assert keys.parts("a+c", FRAME.columns) == ["a", "c"]  # unknown ones are for the message


def test_cities_of_the_same_name_in_two_states_are_two_and_missing_stays_missing() -> None:
    joined = keys.key(FRAME, "city+state")
    assert joined.to_list() == ["Ulm, A", "Ulm, B", None]
    assert joined.name == "city+state"


def test_combinations_of_texts_with_commas_and_quotes_stay_apart() -> None:
    frame = pl.DataFrame({"a": ["x, y", "x", 'x"'], "b": ["z", "y, z", "z"], "c": [1, 1, 1]})
    assert keys.key(frame.clear(), "a+b").to_list() == []
    assert keys.key(frame, "a+b").to_list() == ['"x, y", z', 'x, "y, z"', '"x""", z']
    assert keys.key(frame.cast({"a": pl.Categorical}), "a+b").to_list() == ['"x, y", z', 'x, "y, z"', '"x""", z']
    assert keys.key(frame, "a").to_list() == ["x, y", "x", 'x"']
    assert sorted(cluster_codes(frame, ["a", "b"])) == [0, 1, 2]


def test_two_columns_are_combined_even_where_a_third_has_their_joint_name() -> None:
    frame = pl.DataFrame({"a": [1, 1], "b": [1, 2], "a+b": [7, 7]})
    assert keys.combined(frame, ["a", "b"]).to_list() == ["1, 1", "1, 2"]
    assert cluster_codes(frame, ["a", "b"]).tolist() == [0, 1]
