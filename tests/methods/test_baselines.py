from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

from shiftbench import methods
from shiftbench.errors import SettingsError, TableError
from shiftbench.methods import column, fitted_folder
from shiftbench.methods.column import METHOD as COLUMN
from shiftbench.methods.constant import MAJORITY, MEAN

TRAIN = pl.DataFrame(
    {
        "y": [1.0, 2.0, 3.0, 4.0, 5.0] * 2,
        "forecast": [2.0, 2.0, 5.0, 4.0, None] * 2,
        "kind": ["dry", "wet", "wet", "dry", "wet"] * 2,
        "guess": ["dry", "dry", "wet", None, "wet"] * 2,
    }
)
DEV = TRAIN.head(3)
ROWS = pl.DataFrame({"forecast": [7.0, None], "guess": [None, "dry"]})


def fitted(method, folder, task, *, target, train=TRAIN, dev=DEV, **own):
    method.fit(train, dev, target=target, settings=method.Settings(task, **own), folder=folder)
    return method.predict(ROWS, folder=folder)


def test_the_mean_comes_with_the_variance_of_the_training_targets(tmp_path):
    says = fitted(MEAN, tmp_path, "regression", target="y")
    assert says.mean.tolist() == [[3.0, 3.0]]
    assert says.variance.tolist() == [[2.0, 2.0]]


def test_the_majority_comes_with_all_class_frequencies(tmp_path):
    says = fitted(MAJORITY, tmp_path, "classification", target="kind", classes=("wet", "hail", "dry"))
    np.testing.assert_allclose(says.probabilities, [[[0.6, 0.0, 0.4]] * 2])
    assert says.labels().tolist() == ["wet", "wet"]
    assert "most frequent is wet (60.0%)" in MAJORITY.about(ROWS, folder=tmp_path)


def test_a_column_answers_as_it_stands_with_the_mean_squared_residual_as_variance(tmp_path):
    says = fitted(COLUMN, tmp_path, "regression", target="y", column="forecast")
    assert says.mean.tolist() == [[7.0, 3.0]]
    assert says.variance[0].tolist() == pytest.approx([(1 + 0 + 4 + 0) / 4] * 2)
    assert COLUMN.about(ROWS, folder=tmp_path) == (
        "the column forecast as it stands; it has a value for 1 of 2 records"
    )
    assert COLUMN.answered(ROWS, folder=tmp_path).tolist() == [True, False]


def test_a_forecast_in_another_unit_is_converted(tmp_path):
    kelvin = {"train": TRAIN.with_columns(forecast=2 * (pl.col("forecast") + 273.15)), "dev": DEV}
    own = {"column": "forecast", "scale": 0.5, "offset": -273.15}
    COLUMN.fit(**kelvin, target="y", settings=column.Settings("regression", **own), folder=tmp_path)
    rows = ROWS.with_columns(forecast=2 * (pl.col("forecast") + 273.15))
    says = COLUMN.predict(rows, folder=tmp_path)
    np.testing.assert_allclose(says.mean, [[7.0, 3.0]])
    np.testing.assert_allclose(says.variance, [[(1 + 0 + 4 + 0) / 4] * 2])
    assert COLUMN.about(rows, folder=tmp_path) == (
        "the column forecast in another unit (0.5 × forecast − 273.15); it has a value for 1 of 2 records"
    )


@pytest.mark.parametrize(
    ("task", "own", "message"),
    [
        ("regression", {"scale": 0}, "scale: expected a finite number other than 0, found 0"),
        ("regression", {"offset": np.nan}, "offset: expected a finite number, found nan"),
        ("regression", {"scale": "half"}, "scale: expected a finite number other than 0, found 'half'"),
        ("classification", {"offset": 1.0}, r"expected none for labels, found 1\.0 and 1\.0"),
    ],
)
def test_a_conversion_that_is_none_is_an_error(task, own, message):
    with pytest.raises(SettingsError, match=message):
        column.Settings(task, column="forecast", **own)


def test_a_column_of_labels_is_certain_and_filled_with_the_majority(tmp_path):
    says = fitted(COLUMN, tmp_path, "classification", target="kind", column="guess")
    assert says.classes == ("dry", "wet")
    assert says.probabilities.tolist() == [[[0.0, 1.0], [1.0, 0.0]]]
    assert "guess as it stands; it has a value for 1 of 2 records" in COLUMN.about(ROWS, folder=tmp_path)
    assert COLUMN.answered(ROWS, folder=tmp_path).tolist() == [False, True]


def test_a_column_that_equals_the_target_keeps_a_tiny_variance(tmp_path):
    says = fitted(COLUMN, tmp_path, "regression", target="y", column="forecast", train=TRAIN.with_columns(forecast="y"))
    assert says.variance.tolist() == [[pytest.approx(2e-12)] * 2]


def test_labels_that_are_no_class_are_named_with_their_counts(tmp_path):
    odd = TRAIN.with_columns(guess=TRAIN["guess"].fill_null("sunny"))
    with pytest.raises(TableError, match=r"train, guess: expected a class among dry, wet, found 'sunny' in 2 records"):
        fitted(COLUMN, tmp_path, "classification", target="kind", column="guess", train=odd)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([None] * 10, "forecast: expected numbers, found only missing values"),
        ([np.inf] * 10, "forecast: expected numbers within ±5e[+]74, .* found larger ones in 10 of 10"),
        ([1.0] * 9 + [1e160], "forecast: expected numbers within ±5e[+]74, .* found larger ones in 1 of 10"),
        (["a lot"] * 10, "expected numbers, found 'a lot'"),
    ],
)
def test_a_column_without_answers_is_an_error(values, message, tmp_path):
    train = TRAIN.with_columns(forecast=pl.Series(values, strict=False))
    with pytest.raises(TableError, match=message):
        fitted(COLUMN, tmp_path, "regression", target="y", column="forecast", train=train)


def test_a_misspelt_column_names_the_nearest(tmp_path):
    with pytest.raises(TableError, match=r"'forcast'.*'forecast'"):
        fitted(COLUMN, tmp_path, "regression", target="y", column="forcast")


def test_the_column_must_be_named():
    with pytest.raises(SettingsError, match="column: expected the name of a column, found ''"):
        column.Settings("regression")


@pytest.mark.parametrize("settings", [{}, {"settings": 3}, {"settings": {"task": [], "column": "forecast"}}])
def test_a_column_with_a_damaged_record_is_refused_by_what_has_answers(tmp_path, settings):
    fitted(COLUMN, tmp_path, "regression", target="y", column="forecast")
    path = tmp_path / fitted_folder.RECORD
    record = json.loads(path.read_text())
    del record["settings"]
    path.write_text(json.dumps(record | settings))
    with pytest.raises(SettingsError, match="expected"):
        methods.answered(ROWS, folder=tmp_path)
