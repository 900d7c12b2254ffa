"""Features: which columns a model sees, what it is given, and which columns give the target away."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import TableError, UnknownNameError
from shiftbench.io import tables
from shiftbench.partition import features
from shiftbench.partition.features import Features

DAY = dt.date(2020, 1, 1)


@pytest.fixture
def frame() -> pl.DataFrame:
    n = 40
    return pl.DataFrame(
        {
            "id": [f"r{i}" for i in range(n)],
            "y": np.arange(n) * 0.5,
            "x": [None if i % 7 == 0 else float(i % 5) for i in range(n)],
            "count": np.arange(n) % 3,
            "kind": [("a", "b", None)[i % 3] for i in range(n)],
            "wet": [i % 2 == 0 for i in range(n)],
            "day": [DAY + dt.timedelta(days=i) for i in range(n)],
            "at": [dt.datetime(2020, 1, 1) + dt.timedelta(hours=7 * i) for i in range(n)],
            "obs_a": np.arange(n) * 1.0,
            "obs_b": np.arange(n) * 2.0,
            "empty": [None] * n,
            "nan": [float("nan")] * n,
            "same": ["s"] * n,
            "note": [f"words {i}" if i % 4 else None for i in range(n)],
            "list": [[i] for i in range(n)],
        },
        strict=False,
    )


# -- choosing


def test_columns_that_tell_something_are_features_and_the_others_have_a_reason(frame: pl.DataFrame) -> None:
    chosen = features.choose(frame, target="y", exclude=["id"], drop=["obs_*"])
    assert chosen.numeric == ("x", "count")
    assert chosen.categorical == ("kind", "wet")
    assert chosen.dates == ("day", "at")
    assert chosen.times == ("at",)
    assert chosen.timestamps == ()
    assert chosen.left_out == {
        "id": "not a feature by its role",
        "y": "the target",
        "obs_a": "dropped by name",
        "obs_b": "dropped by name",
        "empty": "empty",
        "nan": "empty",
        "same": "constant",
        "note": "text with another value in each row, like an id",
        "list": "of type List",
    }


def test_keep_overrides_all_but_the_target(frame: pl.DataFrame) -> None:
    chosen = features.choose(frame, target="y", exclude=["id"], drop=["obs_*"], keep=["obs_b", "note", "same", "y"])
    assert "obs_b" in chosen.numeric
    assert {"note", "same"} <= set(chosen.categorical)
    assert chosen.left_out["y"] == "the target"
    with pytest.raises(TableError, match=r"'list': expected numbers, text or dates to keep, found .* List"):
        features.choose(frame, target="y", keep=["list"])


def test_a_misspelt_name_is_an_error_that_names_the_nearest(frame: pl.DataFrame) -> None:
    with pytest.raises(UnknownNameError, match=r"column to drop 'obs_c'\. Did you mean 'obs_"):
        features.choose(frame, target="y", drop=["obs_c"])
    with pytest.raises(UnknownNameError, match=r"column to keep 'knd'\. Did you mean 'kind'"):
        features.choose(frame, target="y", keep=["knd"])
    with pytest.raises(TableError, match="expected a column 'yy'") as caught:
        features.choose(frame, target="yy", exclude=["idd"])
    assert len(caught.value.problems) == 2


def test_no_feature_left_is_an_error_that_says_why(frame: pl.DataFrame) -> None:
    with pytest.raises(TableError, match=r"at least one feature, found none: .*y \(the target\)"):
        features.choose(frame, target="y", drop=["*"])


def test_a_constant_with_gaps_still_tells_something() -> None:
    frame = pl.DataFrame({"y": [1, 2, 3], "flag": [1.0, None, 1.0]})
    assert features.choose(frame, target="y").numeric == ("flag",)


def test_features_survive_json(frame: pl.DataFrame) -> None:
    chosen = features.choose(frame, target="y", exclude=["id"], timestamps=["day"])
    again = Features.from_json(json.loads(json.dumps(chosen.to_json())))
    assert again == chosen
    assert again.left_out == chosen.left_out
    with pytest.raises(TableError, match="expected features with"):
        Features.from_json({"numeric": ["x"]})


# -- inputs


def test_inputs_hold_every_record_in_order(frame: pl.DataFrame) -> None:
    chosen = features.choose(frame, target="y", exclude=["id", "day", "at"], drop=["obs_*"])
    inputs = features.matrix(frame, chosen)
    assert len(inputs) == frame.height
    assert inputs.numeric.dtype == np.float32
    assert inputs.numeric_names == ["x", "count"]
    np.testing.assert_array_equal(inputs.numeric[:, 0], np.where(np.arange(40) % 7 == 0, np.nan, np.arange(40) % 5))
    assert inputs.categorical_names == ["kind", "wet"]
    assert list(inputs.categorical[0][:3]) == ["a", "b", features.MISSING_CATEGORY]
    assert list(inputs.categorical[1][:2]) == ["true", "false"]
    part = features.matrix(frame[10:13], chosen)
    np.testing.assert_array_equal(part.numeric, inputs.numeric[10:13])


def test_the_year_is_a_circle_and_no_timestamp_is_given_unless_asked_for() -> None:
    days = [dt.date(2019, 12, 31), dt.date(2020, 1, 1), dt.date(2020, 7, 1), dt.date(2020, 12, 31), None]
    frame = pl.DataFrame({"y": range(5), "day": days})
    inputs = features.matrix(frame, features.choose(frame, target="y"))
    assert inputs.numeric_names == ["day:year_sin", "day:year_cos", "day:weekday"]
    place = inputs.numeric[:, :2]
    np.testing.assert_allclose(np.linalg.norm(place[:4], axis=1), 1, rtol=1e-6)
    assert np.linalg.norm(place[0] - place[1]) < 0.02
    assert np.linalg.norm(place[3] - place[1]) < 0.02
    assert np.linalg.norm(place[2] - place[1]) > 1.9
    np.testing.assert_array_equal(inputs.numeric[:4, 2], [2, 3, 3, 4])
    assert np.isnan(inputs.numeric[4]).all()
    asked = features.matrix(frame, features.choose(frame, target="y", timestamps=["day"]))
    assert asked.numeric_names[-1] == "day:days"
    np.testing.assert_array_equal(np.diff(asked.numeric[:4, -1]), [1, 182, 183])
    with pytest.raises(TableError, match="'y': expected a date among the features"):
        features.choose(frame, target="day", timestamps=["y"])


def test_the_hour_is_a_circle_where_there_is_a_time_of_day() -> None:
    times = [dt.datetime(2020, 1, 1, hour, minute) for hour, minute in ((0, 0), (6, 0), (12, 0), (23, 59))]
    frame = pl.DataFrame({"y": range(4), "at": times})
    inputs = features.matrix(frame, features.choose(frame, target="y"))
    assert inputs.numeric_names[-2:] == ["at:hour_sin", "at:hour_cos"]
    np.testing.assert_allclose(inputs.numeric[:, -2:], [[0, 1], [1, 0], [0, -1], [0, 1]], atol=5e-3)


def test_all_that_changed_since_training_is_said_at_once(frame: pl.DataFrame) -> None:
    chosen = features.choose(frame, target="y", exclude=["id"], drop=["obs_*"])
    other = frame.with_columns(x=pl.lit("text"), kind=pl.lit(1), day=pl.lit("yesterday"), count=pl.lit(np.inf))
    with pytest.raises(TableError, match=r"'x': expected numbers as in training, found String") as caught:
        features.matrix(other, chosen)
    text = str(caught.value)
    assert "'kind': expected text or booleans as in training, found Int32" in text
    assert "'day': expected dates as in training, found String" in text
    assert "'count': expected finite numbers within ±3.4e38, found inf in row 1 (40 such)" in text
    with pytest.raises(TableError, match="expected a column 'x'") as caught:
        features.matrix(frame.drop("x", "kind"), chosen)
    assert len(caught.value.problems) == 2


def test_a_number_too_large_for_float32_is_not_silently_infinite() -> None:
    frame = pl.DataFrame({"y": [1, 2], "x": [1.0, 1e39]})
    with pytest.raises(TableError, match=r"found 1e\+39 in row 2"):
        features.matrix(frame, Features(numeric=("x",)))


def test_a_column_without_values_may_have_any_type(frame: pl.DataFrame) -> None:
    chosen = features.choose(frame, target="y", exclude=["id"], drop=["obs_*"])
    nothing = pl.lit(None, dtype=pl.String)
    inputs = features.matrix(frame.with_columns(x=nothing, day=nothing, wet=pl.lit(None, dtype=pl.Float64)), chosen)
    assert np.isnan(inputs.numeric[:, 0]).all()
    assert set(inputs.categorical[1]) == {features.MISSING_CATEGORY}


def test_unseen_categories_pass_and_no_feature_of_a_sort_is_fine() -> None:
    frame = pl.DataFrame({"kind": ["new", "newer"]})
    inputs = features.matrix(frame, Features(categorical=("kind",)))
    assert inputs.numeric.shape == (2, 0)
    assert list(inputs.categorical[0]) == ["new", "newer"]


# -- leaks


def leaking(target: np.ndarray, column: object, task: str) -> list[features.Leak]:
    frame = pl.DataFrame({"y": target, "x": column})
    return features.leaks(frame, target="y", features=features.choose(frame, target="y", keep=["x"]), task=task)


def test_copies_and_functions_of_a_numeric_target_are_leaks(rng: np.random.Generator) -> None:
    y = rng.normal(20, 8, 5_000)
    for column, reason in (
        (y, "it equals the target"),
        (32 - 1.8 * y, "linear function"),
        (np.round(32 + 1.8 * y, 1), "linear function"),
        (y + rng.normal(0, 0.005, y.size), "linear function"),
        (np.exp(y / 3), "rises"),
        (-(y**3), "falls"),
        (np.where(rng.random(y.size) < 0.3, np.nan, 2 * y), "linear function"),
    ):
        (leak,) = leaking(y, column, "regression")
        assert reason in leak.reason
        assert leak.column == "x"
        assert leak.strength >= features.LEAK_R2


def test_a_target_that_is_any_function_of_one_column_is_given_away(rng: np.random.Generator) -> None:
    x = rng.uniform(0, 10, 5_000)
    (leak,) = leaking(np.sin(x), x, "regression")
    assert "the target is a function of it" in leak.reason
    assert leaking(np.sin(x) + rng.normal(0, 0.1, x.size), x, "regression") == []


def test_a_good_forecast_is_no_leak(rng: np.random.Generator) -> None:
    y = rng.normal(20, 8, 5_000)
    for column in (
        y + rng.normal(0, 0.5, y.size),
        np.round(y / 5) * 5,
        rng.normal(size=y.size),
        np.round(y / 5).astype(int).astype(str),
        np.arange(y.size),
    ):
        assert leaking(y, column, "regression") == []


def test_a_category_that_tells_a_numeric_target_is_a_leak(rng: np.random.Generator) -> None:
    level = rng.integers(0, 12, 2_000)
    (leak,) = leaking(level * 2.5, [f"level {i}" for i in level], "regression")
    assert "category tells the target" in leak.reason


def test_what_determines_the_class_is_a_leak(rng: np.random.Generator) -> None:
    amount = rng.gamma(1, 3, 5_000)
    label = np.array(["dry", "light", "heavy"])[np.digitize(amount, [1, 5])]
    for column in (amount, -amount, np.digitize(amount, [1, 5]), [f"kind {name}" for name in label]):
        (leak,) = leaking(label, column, "classification")
        assert leak.strength >= features.LEAK_ACCURACY
        assert "most frequent class" in leak.reason
    for column in (
        amount + rng.normal(0, 0.3, amount.size),
        rng.normal(size=amount.size),
        rng.choice(["a", "b"], 5_000),
    ):
        assert leaking(label, column, "classification") == []


def test_a_rare_class_makes_no_leak_of_noise(rng: np.random.Generator) -> None:
    label = np.where(rng.random(5_000) < 0.0005, "rare", "common")
    assert leaking(label, rng.normal(size=label.size), "classification") == []


def test_ids_and_few_records_prove_nothing(rng: np.random.Generator) -> None:
    label = rng.choice(["a", "b"], 2_000)
    assert leaking(label, [f"r{i}" for i in range(label.size)], "classification") == []
    assert leaking(label[:10], (label[:10] == "a").astype(int), "classification") == []
    assert leaking(np.ones(100), rng.normal(size=100), "regression") == []


def test_row_order_and_sampling_do_not_hide_a_leak(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "MOST_RECORDS", 1_000)
    y = np.sort(rng.normal(size=20_000))
    assert leaking(y, y * 2, "regression") == leaking(y, y * 2, "regression")
    assert len(leaking(y[::-1].copy(), y[::-1] * 2, "regression")) == 1
    assert len(leaking(y > 0, y, "classification")) == 1


def test_the_strongest_leak_comes_first_and_an_unknown_task_is_an_error(rng: np.random.Generator) -> None:
    y = rng.normal(size=3_000)
    frame = pl.DataFrame({"y": y, "noise": rng.normal(size=3_000), "near": y + rng.normal(0, 0.005, 3_000), "copy": y})
    chosen = features.choose(frame, target="y")
    found = features.leaks(frame, target="y", features=chosen, task="regression")
    assert [leak.column for leak in found] == ["copy", "near"]
    with pytest.raises(UnknownNameError, match="Unknown task 'regresion'"):
        features.leaks(frame, target="y", features=chosen, task="regresion")


def test_majority_by_value_equals_counting_one_by_one(rng: np.random.Generator) -> None:
    x, labels = rng.integers(0, 30, 400).astype(float), rng.integers(0, 4, 400)
    values, classes = features._majority_by_value(x, labels)
    expected = [int(np.argmax(np.bincount(labels[x == value], minlength=4))) for value in values]
    assert classes.tolist() == expected


@pytest.mark.needs_shared
def test_the_measured_rain_leaks_its_class_and_a_forecast_leaks_nothing(shared: Path) -> None:
    frame = tables.read_table(shared / "data" / "weather" / "nws_next_day.csv.gz")
    chosen = features.choose(frame, target="precip_class", exclude=["id", "city"])
    found = features.leaks(frame, target="precip_class", features=chosen, task="classification")
    assert [leak.column for leak in found] == ["obs_precip_mm"]
    chosen = features.choose(frame, target="obs_high_c", exclude=["id", "city"])
    assert "fc24_high_c" in chosen.numeric
    assert features.leaks(frame, target="obs_high_c", features=chosen, task="regression") == []


def test_text_that_spells_a_missing_value_is_a_category_of_its_own():
    names = ["(missing)", None, "a", '"(missing)"']
    found = features.category_texts(pl.Series("kind", names))
    assert found.to_list() == ['"(missing)"', "(missing)", "a", '"""(missing)"""']
    own = Features(numeric=(), categorical=("kind",))
    assert features.matrix(pl.DataFrame({"kind": names}), own).categorical[0].tolist() == found.to_list()


def test_columns_that_describe_records_are_those_without_a_role_that_a_model_could_take():
    frame = pl.DataFrame({
        "id": ["a", "b", "c"], "x": [1.0, 2.0, 3.0], "far": [1.0, 2.0, float("inf")], "huge": [1.0, 2.0, 1e39],
        "gaps": [1.0, None, float("nan")], "same": [1, 1, 1], "lists": [[1], [2], [3]], "sky": ["dry", "wet", "dry"],
        "day": [dt.date(2020, 1, each) for each in (1, 2, 3)], "target": [0.1, 0.2, 0.3],
    })  # fmt: skip
    found = features.described(frame, ["target", "id"])
    assert found.columns == ["x", "gaps", "sky", "day"]
    assert features.described(pl.DataFrame(np.eye(3, 2000)), []).columns == []


def test_a_class_too_rare_to_be_among_the_records_held_out_makes_no_leak(rng: np.random.Generator) -> None:
    for seed in range(8):  # of two rare records, often neither is held out
        own = np.random.default_rng(seed)
        data = pl.DataFrame({
            "y": own.permutation(["rare"] * 2 + ["usual"] * 78),
            "noise": own.normal(size=80),
            "group": own.choice(["a", "b"], size=80),
        })  # fmt: skip
        chosen = features.choose(data, target="y")
        assert features.leaks(data, target="y", features=chosen, task="classification") == []
