"""Fingerprints of (id, target) pairs: the same through every file format, another for any other pair."""

from __future__ import annotations

import hashlib
import io

import numpy as np
import polars as pl
import pytest

from shiftbench.assessment.fingerprints import fingerprints, of_table, require_same
from shiftbench.errors import TableError


def table(records: int = 500) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=records).astype(np.float32)
    return pl.DataFrame({"id": np.arange(1, records + 1), "y": numbers, "kind": rng.choice(["a", "b", "ç"], records)})


@pytest.mark.parametrize(("column", "task"), [("y", "regression"), ("kind", "classification")])
def test_fingerprints_are_the_same_from_csv_and_parquet_in_any_order(column: str, task: str) -> None:
    frame = table()
    again = pl.read_csv(io.StringIO(frame.sample(fraction=1.0, shuffle=True, seed=1).write_csv()))
    first = dict(zip(frame["id"], fingerprints(frame["id"], frame[column], task=task), strict=True))
    second = dict(zip(again["id"], fingerprints(again["id"].cast(pl.String), again[column], task=task), strict=True))
    assert first == second


@pytest.mark.parametrize(("column", "task"), [("y", "regression"), ("kind", "classification")])
def test_other_ids_or_targets_have_other_fingerprints(column: str, task: str) -> None:
    frame = table()
    own = fingerprints(frame["id"], frame[column], task=task)
    assert own.n_unique() == len(frame)
    assert not (own == fingerprints(frame["id"] + 1, frame[column], task=task)).any()
    moved = frame[column].shift(1, fill_value=frame[column][-1])
    other = (moved != frame[column]).to_numpy()
    assert ((own != fingerprints(frame["id"], moved, task=task)).to_numpy() == other).all()


def test_missing_targets_have_no_fingerprint_and_signs_of_zero_the_same() -> None:
    targets = pl.Series("y", [0.0, -0.0, None, float("nan"), 2.0])
    found = fingerprints(pl.Series(["a", "a", "a", "a", "a"]), targets, task="regression")
    assert found.is_null().to_list() == [False, False, True, True, False]
    assert found[0] == found[1] != found[4]
    assert of_table(targets.to_frame(), pl.Series(range(5)), "z", task="regression") is None
    assert of_table(pl.DataFrame({"y": ["x", "y"]}), pl.Series(range(2)), "y", task="regression") is None


def test_fingerprints_stay_what_they_are() -> None:
    found = fingerprints(table()["id"], table()["y"], task="regression")
    assert hashlib.sha256(found.to_numpy().tobytes()).hexdigest()[:16] == "9b43ce52705cd9f1"


def test_pairs_that_differ_are_counted_and_named() -> None:
    frame = table(10)
    recorded = fingerprints(frame["id"], frame["y"], task="regression")
    require_same(frame["id"], recorded, frame["y"], task="regression", where="t.csv")
    unknown = recorded.to_frame().select(pl.when(pl.int_range(10) == 4).then(None).otherwise(pl.all())).to_series()
    wrong = frame.with_columns(y=pl.when(pl.col("id").is_in([2, 5, 7])).then(9.0).otherwise("y"))["y"]
    with pytest.raises(TableError, match=r"t.csv: .* in column 'y' for 2 of 9 records \(ids '2', '7'\)"):
        require_same(frame["id"], unknown, wrong, task="regression", where="t.csv")


@pytest.mark.parametrize("values", [[[1.0], [2.0]], [{"a": 1.0}, None]])
def test_targets_that_are_no_numbers_have_no_fingerprints(values):
    ids, targets = pl.Series(["a", "b"]), pl.Series("y", values)
    assert fingerprints(ids, targets, task="regression").to_list() == [None, None]
