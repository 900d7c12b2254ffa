from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import TableError
from shiftbench.methods import targets


def frame(values) -> pl.DataFrame:
    return pl.DataFrame({"y": pl.Series(values, strict=False)})


GOOD = frame([float(value) for value in range(10)])


def test_numbers_are_given_as_they_are():
    train, dev = targets.numbers(GOOD, GOOD.head(2), target="y")
    assert train.tolist() == GOOD["y"].to_list()
    assert dev.tolist() == [0.0, 1.0]


def test_all_problems_of_both_partitions_are_reported_at_once():
    holes = frame([1.0, None, np.nan, np.inf])
    with pytest.raises(TableError) as caught:
        targets.numbers(holes, frame(["much"]), target="y")
    text = str(caught.value)
    assert "train: expected at least 10 records, found 4" in text
    assert "train, y: expected a finite target in every record, found 3 of 4 missing or infinite" in text
    assert "expected numbers, found 'much'" in text


def test_an_empty_partition_is_an_error():
    with pytest.raises(TableError, match="dev_in: expected at least 1 record, found 0"):
        targets.numbers(GOOD, GOOD.head(0), target="y")


@pytest.mark.parametrize(("value", "found"), [(5.0, "5 everywhere"), (1e200, "1e\\+200 everywhere")])
def test_a_target_that_never_varies_is_an_error(value, found):
    with pytest.raises(TableError, match=f"train, y: expected a target that varies within range, found {found}"):
        targets.numbers(frame([value] * 10), GOOD, target="y")


def test_a_target_whose_variance_overflows_is_an_error():
    with pytest.raises(TableError, match=r"found a standard deviation of inf, .* Rescale it to a larger unit\."):
        targets.numbers(frame([1e300, -1e300] * 5), GOOD, target="y")


def test_a_target_whose_variance_underflows_is_to_be_rescaled():
    with pytest.raises(TableError, match=r"deviation of 0, from -1e-165 to 1e-165\. Rescale it to a smaller unit\."):
        targets.numbers(frame([1e-165, -1e-165] * 5), GOOD, target="y")


def test_classes_are_sorted_as_numbers_where_all_are_and_as_text_where_not():
    assert targets.classes_of(targets.labels(frame([10, 9, 100]), "y", where="t")) == ("9", "10", "100")
    assert targets.classes_of(targets.labels(frame(["10", "9", "b"]), "y", where="t")) == ("10", "9", "b")
    assert targets.classes_of(targets.labels(frame([True, False]), "y", where="t")) == ("false", "true")


def test_whole_numbers_keep_their_label_when_a_missing_value_makes_them_floats():
    assert targets.labels(frame([3.0, None, np.nan]), "y", where="t").to_list() == ["3", None, None]
    assert targets.labels(frame([3.0, 2.5]), "y", where="t").to_list() == ["3.0", "2.5"]


def test_codes_are_positions_in_the_classes():
    train, dev = frame(["b", "a"] * 5), frame(["b", "b"])
    codes, dev_codes, names = targets.classes(train, dev, target="y")
    assert (codes[:2].tolist(), dev_codes.tolist(), names) == ([1, 0], [1, 1], ("a", "b"))
    codes, dev_codes, names = targets.classes(train, dev, target="y", known=["z", "b", "a"])
    assert (codes[:2].tolist(), dev_codes.tolist(), names) == ([1, 2], [1, 1], ("z", "b", "a"))


def test_every_class_that_train_lacks_is_named_with_its_count():
    with pytest.raises(TableError) as caught:
        targets.classes(frame(["b", "a"] * 5), frame(["c", "d", "c", "a"]), target="y")
    (problem,) = caught.value.problems
    assert problem.startswith(
        "dev_in, y: expected a class among a, b, found 'c' in 2 records and 'd' in 1 record. None of them occurs"
    )


def test_a_label_outside_the_listed_classes_is_an_error_in_train_too():
    with pytest.raises(TableError, match=r"train, y: .* among a, c, found 'b' in 5 records\. Add them to `classes`"):
        targets.classes(frame(["b", "a"] * 5), frame(["a"]), target="y", known=["a", "c"])


@pytest.mark.parametrize(("values", "found"), [(["a"] * 10, "only 'a'"), ([None] * 10, "none")])
def test_fewer_than_two_classes_are_an_error(values, found):
    with pytest.raises(TableError, match=f"train, y: expected two or more classes, found {found}"):
        targets.classes(frame(values), frame(["a"]), target="y")


def test_a_misspelt_target_names_the_nearest():
    with pytest.raises(TableError, match="'why'"):
        targets.classes(GOOD, GOOD, target="why")


def test_of_many_odd_labels_a_few_are_named():
    problems = targets.absent(
        pl.Series("y", [f"k{i:02}" for i in range(30)]), ["a" * 999], where="eval_in", advice="Go."
    )
    assert len(problems) == 1  # the classes, which may have long names, are listed once
    assert problems[0].endswith(" and 'k04' in 1 record and 25 more labels. Go.")
