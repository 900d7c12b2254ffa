from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from shiftbench.assessment import predictions
from shiftbench.assessment.predictions import Predictions
from shiftbench.ensembles import Categorical, Gaussian, Means, Quantiles
from shiftbench.errors import PredictionsError, TableError

IDS = ["x3", "x1", "x2"]
MEAN = np.array([[1.0, 2.0, 3.0], [1.5, 2.5, 3.5]])
GAUSSIAN = Gaussian(MEAN, MEAN / 10)
CATEGORICAL = Categorical(
    np.array(
        [
            [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.0, 0.0, 1.0]],
            [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.5, 0.5, 0.0]],
        ]
    ),
    classes=("wet", "dry", "café"),
)
QUANTILES = Quantiles(np.sort(MEAN[..., None] + np.arange(4.0)), (0.05, 0.25, 0.75, 0.95))
BESIDE = Quantiles(QUANTILES.values, QUANTILES.levels, point=MEAN)
MEANS = Means(MEAN)
ORIGIN = {"method": "boosting", "settings": {"members": 2, "depth": 6}, "manifest": "abc", "note": "größer ✓"}


def layout(**changed) -> dict[bytes, bytes]:
    value = {"format": predictions.FORMAT, "kind": "gaussian", "members": 2, "classes": None, **changed}
    return {b"shiftbench": json.dumps(value).encode()}


def columns(**changed):
    made = {"id": IDS, "mean": MEAN.T.tolist(), "variance": (MEAN.T / 10).tolist(), **changed}
    return {name: values for name, values in made.items() if values is not None}


def written(path, metadata, **changed):
    """A file as somebody without this package would write it."""
    pq.write_table(pa.table(columns(**changed)).replace_schema_metadata(metadata), path)
    return path


@pytest.mark.parametrize(
    ("ids", "metadata", "says"),
    [
        (None, {}, "predictions: expected ids"),
        (["\udce9", "b"], {}, "predictions: expected ids"),
        (
            ["a", "b"],
            {"team": "us \ud800"},
            r"metadata: expected text in Unicode, found half of a character in .*ud800",
        ),
        (["a", "b"], None, "metadata: expected a mapping of names to values, found NoneType"),
    ],
)
def test_ids_and_metadata_of_another_kind_are_refused(ids: Any, metadata: Any, says: str) -> None:
    with pytest.raises(PredictionsError, match=says):
        Predictions(ids, Gaussian([[1.0, 2.0]], [[1.0, 1.0]]), metadata)


@pytest.mark.parametrize("ensemble", [GAUSSIAN, CATEGORICAL, QUANTILES, BESIDE, MEANS])
def test_everything_survives_the_file(ensemble, tmp_path):
    made = Predictions(IDS, ensemble, ORIGIN)
    read = predictions.load(made.save(tmp_path / "p.parquet"))
    assert (list(read.ids), read.metadata) == (IDS, made.metadata)
    assert read.metadata["settings"] == ORIGIN["settings"]
    assert getattr(read.ensemble, "classes", None) == getattr(ensemble, "classes", None)
    assert type(read.ensemble) is type(ensemble)
    for field in dataclasses.fields(ensemble):
        np.testing.assert_array_equal(getattr(read.ensemble, field.name), getattr(ensemble, field.name))


@pytest.mark.parametrize("levels", [None, "0.1", [0.1, "x"], [1, 2]])
def test_levels_of_quantiles_that_are_no_numbers_are_named(tmp_path, levels):
    made = {"kind": "quantiles", "levels": levels}
    path = written(tmp_path / "p.parquet", layout(**made), mean=None, variance=None, values=[[[1.0] * 4] * 2] * 3)
    with pytest.raises(PredictionsError, match="expected the levels of quantiles, numbers between 0 and 1, found"):
        predictions.load(path)


def test_levels_and_values_of_another_number_are_named(tmp_path):
    made = {"kind": "quantiles", "levels": [0.1, 0.5, 0.9]}
    path = written(tmp_path / "p.parquet", layout(**made), mean=None, variance=None, values=[[[1.0, 2.0]] * 2] * 3)
    with pytest.raises(PredictionsError, match="values: expected lists of 2 of lists of 3 numbers for every record"):
        predictions.load(path)


def test_draws_of_a_model_survive_the_file(tmp_path):
    drawn = Gaussian(GAUSSIAN.mean, GAUSSIAN.variance, draws=2)
    assert predictions.load(Predictions(IDS, drawn).save(tmp_path / "p.parquet")).ensemble.draws == 2


def test_equal_predictions_are_equal_files_also_after_reading(tmp_path):
    first = Predictions(IDS, CATEGORICAL, ORIGIN).save(tmp_path / "a.parquet")
    second = predictions.load(first).save(tmp_path / "b.parquet")
    assert first.read_bytes() == second.read_bytes()


def test_pandas_and_pyarrow_read_the_documented_layout(tmp_path):
    path = Predictions(IDS, CATEGORICAL, ORIGIN).save(tmp_path / "p.parquet")
    assert json.loads(pq.read_metadata(path).metadata[b"shiftbench"])["classes"] == ["wet", "dry", "café"]
    frame = pq.read_table(path).to_pandas()
    values = np.stack([np.stack(record) for record in frame["probabilities"]])
    np.testing.assert_array_equal(values, CATEGORICAL.probabilities.swapaxes(0, 1))
    frame = pq.read_table(Predictions(IDS, GAUSSIAN).save(tmp_path / "g.parquet")).to_pandas()
    np.testing.assert_array_equal(np.stack(frame["mean"]), MEAN.T)


def test_lists_written_by_pyarrow_are_read(tmp_path):
    read = predictions.load(written(tmp_path / "p.parquet", layout(team="us")))
    np.testing.assert_array_equal(read.ensemble.mean, MEAN)
    assert read.metadata["team"] == "us"


def test_lining_up_follows_the_ids_and_not_the_rows():
    lined = Predictions(IDS, GAUSSIAN, ORIGIN).line_up(["x1", "x2", "x3"])
    assert list(lined.ids) == ["x1", "x2", "x3"]
    np.testing.assert_array_equal(lined.ensemble.mean, MEAN[:, [1, 2, 0]])
    assert lined.metadata["manifest"] == "abc"


def test_lining_up_reports_all_ids_that_do_not_fit():
    made = Predictions(IDS, GAUSSIAN)
    with pytest.raises(PredictionsError) as caught:
        made.line_up(["x1", "x1", "x7"])
    text = str(caught.value)
    assert all(name in text for name in ("x1", "x7", "x2", "x3"))
    assert len(made.line_up(["x2"], extra="drop")) == 1
    with pytest.raises(PredictionsError, match=r"^theirs\.parquet: expected a row for each id, found none for 1"):
        made.line_up(["x2", "x7"], extra="drop", where=Path("theirs.parquet"))


def test_numbers_may_be_ids_and_are_held_as_text():
    assert list(Predictions(np.array([3, 1, 2]), GAUSSIAN).ids) == ["3", "1", "2"]


def test_all_that_is_wrong_with_predictions_is_reported_at_once():
    unnamed = Categorical(CATEGORICAL.probabilities)
    with pytest.raises(PredictionsError) as caught:
        Predictions(["a", "a"], unnamed, {"members": 3, "when": {1, 2}})
    text = str(caught.value)
    assert "'a'" in text
    assert "expected classes named by text, found none" in text
    assert "expected keys other than the file's own, found members" in text
    assert "expected values that JSON can hold" in text


@pytest.mark.parametrize("ids", [["a", "b"], ["a", None, "c"], ["a", "", "c"], [], [1.5, 2.5, 3.5]])
def test_ids_must_be_one_for_each_record(ids):
    with pytest.raises(PredictionsError, match=r"predictions: .*(id|record)|ids: expected"):
        Predictions(ids, GAUSSIAN)


def test_only_a_name_that_ends_in_parquet_is_written(tmp_path):
    with pytest.raises(PredictionsError, match=r"expected a name that ends in \.parquet"):
        Predictions(IDS, GAUSSIAN).save(tmp_path / "p.csv")
    assert not list(tmp_path.iterdir())


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = Predictions(IDS, GAUSSIAN).save(tmp_path / "p.parquet")
    before = path.read_bytes()

    def full(*arguments, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl.DataFrame, "write_parquet", full)
    with pytest.raises(TableError, match="No space left on device"):
        Predictions(IDS, CATEGORICAL).save(path)
    assert [(entry.name, entry.read_bytes()) for entry in tmp_path.iterdir()] == [("p.parquet", before)]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"id": None}, "expected a column 'id', found the columns mean, variance"),
        ({"variance": None}, "expected a column 'variance', found the columns id, mean"),
        ({"id": ["x1", "x1", "x2"]}, "expected each id once, found .*'x1'"),
        ({"id": ["x1", None, "x2"]}, "expected an id in each row, found none in 1 of 3"),
        ({"mean": [[1.0, float("nan")], [1.0, 2.0], [1.0, 2.0]]}, "mean: expected finite numbers, found NaN"),
        ({"mean": [[1.0, None], [1.0, 2.0], [1.0, 2.0]]}, "mean: expected finite numbers, found NaN"),
        ({"mean": [[1.0, float("inf")], [1.0, 2.0], [1.0, 2.0]]}, "mean: expected finite numbers, found infinity"),
        ({"variance": [[0.0, 1.0], [1.0, 1.0], [1.0, 1.0]]}, "variance: expected values > 0, found 0"),
        ({"mean": [[1.0] * 3] * 3}, "mean: expected lists of 2 numbers for every record, found lists of 3"),
        ({"mean": [[1.0] * 2, [1.0], [1.0] * 2]}, "mean: expected lists of 2 numbers .* found lists of 1 or 2"),
        ({"mean": ["a", "b", "c"]}, "mean: expected lists of 2 numbers for every record, found String"),
    ],
)
def test_a_damaged_column_is_named_with_what_it_holds(changed, message, tmp_path):
    path = written(tmp_path / "p.parquet", layout(), **changed)
    with pytest.raises(PredictionsError, match=rf"p\.parquet.*{message}"):
        predictions.load(path)


def test_problems_of_values_and_ids_are_reported_together(tmp_path):
    path = written(tmp_path / "p.parquet", layout(), id=["a", "a", "b"], variance=[[-1.0, 1.0]] * 3)
    with pytest.raises(PredictionsError) as caught:
        predictions.load(path)
    assert len(caught.value.problems) == 2


@pytest.mark.parametrize(
    ("metadata", "message"),
    [
        ({}, "found Parquet without the metadata key 'shiftbench'.*`shiftbench assess`"),
        ({b"shiftbench": b"{"}, "expected metadata 'shiftbench' in JSON"),
        ({b"shiftbench": b"3"}, "expected the format .* found 3"),
        (layout(format="shiftbench predictions 99"), "found 'shiftbench predictions 99'"),
        (layout(kind="poisson"), "expected the kind gaussian, categorical, quantiles, means, found 'poisson'"),
        (layout(kind={}), "expected the kind gaussian, categorical, quantiles, means, found {}"),
        (layout(kind=[]), r"expected the kind gaussian, categorical, quantiles, means, found \[\]"),
        (layout(members="2"), "expected a number of members from 1 to 2,147,483,647, found '2'"),
        (layout(members=True), "expected a number of members from 1 to .*, found True"),
        (layout(members=0), "expected a number of members from 1 to .*, found 0"),
        (layout(members=10**30), "expected a number of members from 1 to .*, found 1000"),
        (layout(members=2**31 - 1), "mean: expected lists of 2147483647 numbers for every record, found lists of 2"),
        (layout(members=3), "mean: expected lists of 3 numbers for every record, found lists of 2"),
        (layout(draws=3), "draws: expected a divisor of the 2 members, found 3"),
        (layout(draws="2"), "expected a number of draws from 1 to .*, found '2'"),
        (layout(draws=True), "expected a number of draws from 1 to .*, found True"),
        (layout(manifest={}), "expected manifest to be text or null, found {}"),
        (layout(id_column=["id"]), r"expected id_column to be text or null, found \['id'\]"),
        (layout(unanswered="no"), "expected unanswered to be a number or null, found 'no'"),
        (layout(classes=["a", "b"]), "expected classes .* null else, found"),
        (layout(kind="categorical"), "expected classes .* found None"),
        (layout(kind="categorical", classes=[1, 2]), "expected classes .* found"),
        (layout(kind="categorical", classes=[]), r"expected classes .* found \[\]"),
    ],
)
def test_damaged_metadata_is_named_with_what_it_holds(metadata, message, tmp_path):
    with pytest.raises(PredictionsError, match=message):
        predictions.load(written(tmp_path / "p.parquet", metadata))


def test_classes_may_be_left_out_of_the_metadata_of_numbers(tmp_path):
    named = {"format": predictions.FORMAT, "kind": "gaussian", "members": 2}
    read = predictions.load(written(tmp_path / "p.parquet", {b"shiftbench": json.dumps(named).encode()}))
    assert isinstance(read.ensemble, Gaussian)


@pytest.mark.parametrize("kept", [0, 4, 100, -1])
def test_a_truncated_file_is_an_error(kept, tmp_path):
    path = Predictions(IDS, GAUSSIAN).save(tmp_path / "p.parquet")
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(PredictionsError, match=r"p\.parquet: expected"):
        predictions.load(path)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(PredictionsError, match=r"nowhere\.parquet: expected"):
        predictions.load(tmp_path / "nowhere.parquet")
