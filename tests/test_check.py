"""Arrays are checked in one place: what is accepted, and what every refusal says."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

from shiftbench import check
from shiftbench.errors import ArrayError

ACCEPTED = {
    "list": [0, 1, 2],
    "tuple": (0.0, 1.0, 2.0),
    "integers": np.array([0, 1, 2]),
    "unsigned": np.array([0, 1, 2], dtype=np.uint8),
    "float32": np.array([0, 1, 2], dtype=np.float32),
    "float16": np.array([0, 1, 2], dtype=np.float16),
    "every other": np.array([0, 9, 1, 9, 2, 9])[::2],
    "pandas": pd.Series([0, 1, 2], index=[7, 8, 9]),
    "polars": pl.Series([0, 1, 2]),
}


@pytest.mark.parametrize("values", ACCEPTED.values(), ids=ACCEPTED.keys())
def test_numbers_of_any_kind_become_contiguous_float64(values):
    vector = check.vector("errors", values, length=3, nonnegative=True)
    assert vector.dtype == np.float64
    assert vector.flags.c_contiguous
    np.testing.assert_array_equal(vector, [0.0, 1.0, 2.0])


def test_booleans_are_numbers():
    np.testing.assert_array_equal(check.vector("errors", [True, False]), [1.0, 0.0])


def test_a_vector_that_is_already_right_is_not_copied():
    values = np.arange(3.0)
    assert np.shares_memory(check.vector("errors", values), values)


REFUSED = {
    "nan": ([1, math.nan, 3, math.nan], r"errors: expected finite numbers, found NaN \(2 of 4, first at index 1, 3\)"),
    "infinity": ([1, 2, math.inf], r"errors: expected finite numbers, found infinity \(1 of 3, first at index 2\)"),
    "minus infinity": ([-math.inf, 2], r"errors: expected finite numbers, found infinity \(1 of 2, first at index 0\)"),
    "negative": ([1, -2.5, -0.5], r"errors: expected values >= 0, found -2.5 \(2 of 3, first at index 1, 2\)"),
    "barely negative": ([1, -1e-9], r"errors: expected values >= 0, found -1e-09 \(1 of 2, first at index 1\)"),
    "negative integer": (np.array([3, -7]), r"errors: expected values >= 0, found -7 \(1 of 2"),
    "empty": ([], "errors: expected at least one record, found none"),
    "two-dimensional": ([[1.0, 2.0]], r"errors: expected one dimension \[N\], found shape \(1, 2\). Use .ravel"),
    "a number": (3.0, r"errors: expected one dimension \[N\], found shape \(\)"),
    "text": (["a", "b"], "errors: expected numbers, found dtype <U1. Convert to float first"),
    "numbers as text": (["1.0"], "errors: expected numbers, found dtype <U3"),
    "None among numbers": ([1.0, None], "errors: expected numbers, found dtype object"),
    "complex": ([1j], "errors: expected numbers, found dtype complex128"),
    "dates": (np.array(["2026-01-01"], dtype="datetime64[D]"), "errors: expected numbers, found dtype datetime64"),
    "ragged": ([[1.0], [1.0, 2.0]], "errors: expected an array of numbers, found a ragged sequence"),
}


@pytest.mark.parametrize(("values", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_every_refusal_says_what_was_expected_what_was_found_and_where(values, message):
    with pytest.raises(ArrayError, match=message):
        check.vector("errors", values, nonnegative=True)


def test_only_the_first_few_places_are_listed_and_the_count_is_whole():
    with pytest.raises(ArrayError, match=r"\(1,500 of 1,500, first at index 0, 1, 2\)"):
        check.vector("errors", np.full(1500, np.nan))


def test_places_in_a_matrix_are_pairs():
    matrix = np.array([[0.0, 1.0], [np.nan, 1.0]])
    assert "first at index (1, 0)" in check.value_problems("mean", matrix)[0]


def test_negative_values_are_welcome_where_no_loss_is_asked_for():
    np.testing.assert_array_equal(check.vector("uncertainty", [-1.0, -2.0]), [-1.0, -2.0])


def test_another_length_is_named():
    with pytest.raises(ArrayError, match="shifted: expected 3 records like the others, found 2"):
        check.vector("shifted", [0, 1], length=3)


def test_all_that_is_wrong_with_one_vector_is_said_at_once():
    with pytest.raises(ArrayError, match="NaN") as caught:
        check.vector("errors", [math.nan, math.inf, -1.0], length=2, nonnegative=True)
    assert [problem.split(", found")[0] for problem in caught.value.problems] == [
        "errors: expected 2 records like the others",
        "errors: expected finite numbers",
        "errors: expected finite numbers",
        "errors: expected values >= 0",
    ]


def test_all_that_is_wrong_with_several_vectors_is_said_at_once():
    with pytest.raises(ArrayError, match="errors has 3, uncertainty has 2, answers has 4") as caught:
        check.vectors(
            nonnegative=("errors",),
            errors=[1.0, -1.0, math.nan],
            uncertainty=[math.inf, 1.0],
            targets=["a"],
            answers=[1, 2, 3, 4],
        )
    wrong = [problem.split(":")[0] for problem in caught.value.problems]
    assert wrong == ["errors", "errors", "uncertainty", "targets", "expected the same number of records in each, found"]


def test_a_limit_that_must_be_passed_is_told_from_one_that_may_be_reached():
    assert check.vectors(nonnegative=("depth",), depth=[0.0, 1.0])[0].tolist() == [0, 1]
    with pytest.raises(ArrayError, match=r"depth: expected values > 0, found 0 \(1 of 2, first at index 0\)"):
        check.vectors(positive=("depth",), depth=[0.0, 1.0])


def test_values_below_a_limit_come_with_the_advice_of_the_caller():
    with pytest.raises(ArrayError, match=r"first at index 0\)\. Drop or correct these records\.$"):
        check.vector("depth", [-1.0], nonnegative=True)
    with pytest.raises(ArrayError, match=r"first at index 0\)\. Is it in m\?$"):
        check.vectors(positive=("depth",), advice="Is it in m?", depth=[0.0])


@pytest.mark.parametrize("dtype", [np.float64, np.int32])
def test_the_first_bad_value_is_told_with_its_place_and_how_many_there_are(dtype):
    values = np.array([3, 50_000, 7], dtype)
    assert check.first(values, values > 5) == "5e+04 at index 1 (2 of 3 records)"


def test_vectors_come_back_in_the_order_given():
    errors, uncertainty = check.vectors(nonnegative=("errors",), errors=[1, 2], uncertainty=[-3, -4])
    np.testing.assert_array_equal(errors, [1.0, 2.0])
    np.testing.assert_array_equal(uncertainty, [-3.0, -4.0])


@pytest.mark.parametrize("values", [[True, False, True], [1, 0, 1], [1.0, 0.0, 1.0], np.uint8([1, 0, 1])])
def test_flags_are_booleans_or_the_numbers_zero_and_one(values):
    flags = check.flags("shifted", values, length=3)
    assert flags.dtype == np.bool_
    np.testing.assert_array_equal(flags, [True, False, True])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([0, 1, 2], r"shifted: expected only 0 and 1, found 2 \(1 of 3, first at index 2\)"),
        ([0, 1, 0.5], "shifted: expected only 0 and 1, found 0.5"),
        ([0, 1, math.nan], "shifted: expected finite numbers, found NaN"),
        ([0, 1], "shifted: expected 3 records like the others, found 2"),
        ([True, False], r"shifted: expected shape \[3\], found \(2,\)"),
        ([[True, False, True]], r"shifted: expected shape \[3\], found \(1, 3\)"),
        (["yes", "no", "no"], "shifted: expected numbers, found dtype <U3"),
    ],
)
def test_flags_refuse_all_else(values, message):
    with pytest.raises(ArrayError, match=message):
        check.flags("shifted", values, length=3)


@pytest.mark.parametrize(
    "labels",
    [
        ["b", "a", "b", "c"],
        [20, 10, 20, 30],
        [2.0, 1.0, 2.0, 3.0],
        np.array(["b", "a", "b", "c"], dtype=object),
        np.array(["2026-01-02", "2026-01-01", "2026-01-02", "2026-01-03"], dtype="datetime64[D]"),
        pd.Series(["b", "a", "b", "c"]),
        pl.Series(["b", "a", "b", "c"]),
    ],
    ids=["text", "integers", "floats", "objects", "dates", "pandas", "polars"],
)
def test_labels_of_any_kind_become_codes_in_sorted_order(labels):
    codes = check.codes("clusters", labels, length=4)
    assert codes.dtype == np.int64
    np.testing.assert_array_equal(codes, [1, 0, 1, 2])


@pytest.mark.parametrize(
    "labels",
    [
        ["a", None],
        [1.0, math.nan],
        [1.0, math.inf],
        np.array(["a", math.nan], dtype=object),
        np.array(["2026-01-01", "NaT"], dtype="datetime64[D]"),
        pd.Series(["a", pd.NA], dtype="string"),
        pl.Series(["a", None]),
    ],
    ids=["None", "NaN", "infinity", "NaN among text", "NaT", "pandas.NA", "polars null"],
)
def test_a_missing_label_is_never_a_cluster_of_its_own(labels):
    with pytest.raises(ArrayError, match=r"clusters: expected a label for every record.*1 of 2, first at index 1"):
        check.codes("clusters", labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "b"], r"clusters: expected shape \[3\], found \(2,\)"),
        ([["a", "b", "c"]], r"clusters: expected shape \[3\], found \(1, 3\)"),
        ([["a"], ["b", "c"]], "clusters: expected an array of labels, found a ragged sequence"),
    ],
)
def test_codes_refuse_another_shape(labels, message):
    with pytest.raises(ArrayError, match=message):
        check.codes("clusters", labels, length=3)


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(2), "3"])
def test_a_threshold_is_a_finite_number_from_zero(value):
    assert check.threshold(value) == float(value)


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, "high", None, [1, 2]])
def test_any_other_threshold_is_refused(value):
    with pytest.raises(ArrayError, match="threshold: expected a finite number >= 0, found"):
        check.threshold(value)
