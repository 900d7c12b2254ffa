"""Arrays are checked in one place: what is accepted, and what every refusal says."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch

import shiftbench
from shiftbench import check
from shiftbench.errors import ArrayError
from shiftbench.metrics import classification, regression
from shiftbench.scores import detection, retention, selective

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
    "minus infinity": (
        [-math.inf, 2],
        r"errors: expected finite numbers, found -infinity \(1 of 2, first at index 0\)",
    ),
    "both infinities": ([-math.inf, math.inf], r"errors: expected finite numbers, found infinity \(2 of 2"),
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
        ([0, 1, 2], r"shifted: expected only 0 and 1, found 2 \(1 of 3, first at index 2\). Say .*=\(values == 2\)."),
        (
            np.array(["2026-01-01", "2026-03-05"], dtype="datetime64[us]"),
            r"or 0 and 1, found dates. Say which are true, as in shifted=\(values >= np.datetime64\('2026-03-05'\)\)",
        ),
        ([0, 1, 0.5], "shifted: expected only 0 and 1, found 0.5"),
        ([0, 1, math.nan], "shifted: expected finite numbers, found NaN"),
        ([0, 1], "shifted: expected 3 records like the others, found 2"),
        ([True, False], r"shifted: expected shape \[3\], found \(2,\)"),
        ([[True, False, True]], r"shifted: expected shape \[3\], found \(1, 3\)"),
        (["yes", "no", "no"], "shifted: expected booleans, or 0 and 1, found 'no', 'yes'"),
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
    with pytest.raises(ArrayError, match=r"threshold: expected a finite number >= 0, found.* Give the largest"):
        check.threshold(value)


# --- values of other libraries: by label, never silently by position --------------------------------------------------

LEFT = pd.Series([1.0, 2.0, 3.0], index=["a", "b", "c"])


def test_series_in_another_order_are_lined_up_by_their_labels():
    left, right = check.vectors(errors=LEFT, uncertainty=pd.Series([30.0, 10.0, 20.0], index=["c", "a", "b"]))
    assert left.tolist() == [1.0, 2.0, 3.0]
    assert right.tolist() == [10.0, 20.0, 30.0]


def test_rows_of_a_multi_index_are_lined_up_like_others():
    rows = pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)])
    found = check.aligned({"targets": pd.Series([1, 2, 3], rows), "slices": pd.DataFrame({"z": [3, 2, 1]}, rows[::-1])})
    assert found["slices"]["z"].tolist() == [1, 2, 3]


def test_labels_with_another_number_of_levels_are_another_index():
    plain, pairs = pd.Series([1.0, 2.0]), pd.Series(1.0, pd.MultiIndex.from_tuples([("x", 1), ("x", 2)]))
    for first, second in ((plain, pairs), (pairs, plain)):
        with pytest.raises(ArrayError, match="uncertainty: expected the index of errors, found another: 2 of 2 labels"):
            check.vectors(errors=first, uncertainty=second)
    with pytest.raises(ArrayError, match="found: errors has 1, uncertainty has 2"):
        check.vectors(errors=pairs[:1], uncertainty=plain)


def test_the_same_labels_in_the_same_order_need_not_be_unique():
    twice = pd.Series([1.0, 2.0], index=[5, 5])
    assert [values.tolist() for values in check.vectors(errors=twice, uncertainty=twice)] == [[1.0, 2.0]] * 2


UNALIGNED = {
    "other labels": (
        {"uncertainty": pd.Series([1.0, 2.0, 3.0])},
        "uncertainty: expected the index of errors, found another: 3 of 3 labels are not in it, first 0. Select",
    ),
    "one other label": (
        {"uncertainty": pd.Series([1.0, 2.0, 3.0], index=["a", "b", "d"])},
        "found another: 1 of 3 labels are not in it, first 'd'",
    ),
    "another of repeated labels": (
        {"uncertainty": pd.Series([1.0, 2.0, 3.0], index=[7, 5, 5])},
        r"found another: 3 of 3 labels are not in it, first 7, and labels repeat, first 5\. Select",
    ),
    "repeated labels": (
        {"uncertainty": pd.Series([1.0, 2.0, 3.0], index=["b", "a", "a"])},
        "found the same labels in another order, some of them repeated",
    ),
    "another order beside an array": (
        {"uncertainty": np.ones(3), "weights": LEFT[::-1]},
        "weights: expected the index of errors, found the same labels in another order, which uncertainty does not",
    ),
}


@pytest.mark.parametrize(("others", "message"), UNALIGNED.values(), ids=UNALIGNED.keys())
def test_series_that_cannot_be_lined_up_are_refused(others, message):
    with pytest.raises(ArrayError, match=message):
        check.vectors(errors=LEFT, **others)


ONES = pd.Series([0, 1, 1, 0, 1], index=list("abcde"))
OTHERS = pd.Series([0.1, 0.7, 0.3, 0.6, 0.9], index=list("abcde"))
OF_PAIRS = {
    "r_auc": (retention.r_auc, OTHERS),
    "auarc": (selective.auarc, OTHERS),
    "roc_auc": (lambda shifted, uncertainty: detection.roc_auc(uncertainty, shifted), OTHERS),
    "mae": (regression.mae, OTHERS),
    "accuracy": (classification.accuracy, ONES.where(ONES.index != "b", 0)),
    "brier": (classification.brier, pd.DataFrame({"no": 1 - OTHERS, "yes": OTHERS})),
}


@pytest.mark.parametrize(("function", "others"), OF_PAIRS.values(), ids=OF_PAIRS.keys())
def test_every_score_lines_series_up_by_their_labels(function, others):
    assert function(ONES, others[::-1]) == pytest.approx(function(ONES.to_numpy(), others.to_numpy()))
    assert function(ONES.to_numpy(), others[::-1].to_numpy()) != function(ONES.to_numpy(), others.to_numpy())
    with pytest.raises(ArrayError, match=r"expected the index of .*, found another: 5 of 5 labels are not in it"):
        function(ONES, others.reset_index(drop=True))


def test_a_first_index_of_repeated_labels_is_told():
    told = r"uncertainty: expected the index of errors \(whose labels repeat, first 0\), found another: 2 of 3 labels"
    with pytest.raises(ArrayError, match=told):
        check.vectors(errors=pd.Series([1.0, 2.0, 3.0], index=[0, 0, 0]), uncertainty=pd.Series([1.0, 2.0, 3.0]))


def test_series_with_further_labels_are_refused_with_how_to_select():
    with pytest.raises(ArrayError, match=r"uncertainty: .* 2 records of errors, found 3, .* by label \(.loc\)"):
        check.vectors(errors=LEFT[1:], uncertainty=LEFT)


def test_series_of_other_lengths_are_refused_for_their_lengths():
    with pytest.raises(ArrayError, match="errors has 3, uncertainty has 2"):
        check.vectors(errors=LEFT, uncertainty=LEFT[:2])


def test_tensors_lose_their_gradients_and_bfloat16_becomes_a_number():
    learnt = torch.tensor([1.0, 2.0], requires_grad=True)
    assert check.vector("errors", learnt * 2).tolist() == [2.0, 4.0]
    assert check.vector("errors", [learnt[0], learnt[1]]).tolist() == [1.0, 2.0]
    assert check.vector("errors", learnt.bfloat16()).tolist() == [1.0, 2.0]
    assert learnt.requires_grad


class Elsewhere:
    """A tensor on another device: NumPy cannot read it before it is copied."""

    def __init__(self, values: list[float] | None) -> None:
        self.values = values

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")

    def detach(self) -> Elsewhere:
        return self

    def cpu(self) -> torch.Tensor:
        return torch.tensor(self.values)


def test_tensors_on_another_device_are_copied():
    assert check.vector("errors", Elsewhere([1.0, 2.0])).tolist() == [1.0, 2.0]


def test_what_does_not_become_an_array_is_refused_with_its_reason():
    with pytest.raises(ArrayError, match=r"errors: expected an array of numbers, found Tensor, .*Copy it to a NumPy"):
        check.vector("errors", torch.ones(3, device="meta"))


@pytest.mark.parametrize(
    "values",
    [
        np.array([True, False], dtype=object),
        pd.Series([True, False], dtype="boolean"),
        pd.Series([1, 0], dtype="Int64"),
    ],
    ids=["objects", "nullable booleans", "nullable integers"],
)
def test_booleans_of_any_kind_are_flags(values):
    assert check.flags("shifted", values).tolist() == [True, False]


def test_words_for_flags_are_refused_with_what_to_write():
    with pytest.raises(ArrayError, match=r"found 'no', 'yes'. Say which are true, as in shifted=\(values == 'yes'\)"):
        check.flags("shifted", pd.Series(["yes", "no", "yes"]))
    with pytest.raises(ArrayError, match=r"found 'None', 'True'\. Fill missing ones"):
        check.flags("shifted", [True, None])


def test_a_query_without_values_is_refused_with_its_remedy() -> None:
    query = pl.LazyFrame({"a": [0, 1]})
    with pytest.raises(ArrayError, match=r"u: expected values, found LazyFrame, .* Give its \.collect\(\)"):
        check.vector("u", query)
    with pytest.raises(ArrayError, match=r"slices: expected values, found LazyFrame"):
        shiftbench.assess([1.0, 2.0], [1.0, 2.0], slices=query)


def test_labels_that_cannot_be_compared_are_not_missing() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise ValueError("not comparable")

        __hash__ = object.__hash__

    assert check.missing(np.array([Odd(), None, np.nan], dtype=object)).tolist() == [False, True, True]


def test_labels_of_several_parts_are_told_apart() -> None:
    pairs = pd.MultiIndex.from_tuples([(0.1, 2), (0.1, 3), (0.1, 2)])
    assert check.codes("clusters", pairs).tolist() == [0, 1, 0]
