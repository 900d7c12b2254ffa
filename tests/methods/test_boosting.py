"""What `boosting` promises beyond what every method does: folds, linear starts, one factor, whole or not at all."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import SettingsError, TableError
from shiftbench.io import files
from shiftbench.methods.boosting import calibration, ensemble, linear, model
from shiftbench.methods.boosting.fitting import arrays
from shiftbench.methods.boosting.folds import folds
from shiftbench.methods.boosting.linear import Linear
from shiftbench.partition import features
from shiftbench.partition.features import Features
from tests.methods import catboost_fits
from tests.methods.catboost_fits import contents

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "boosting"
NAME = "boosting"
boosting = ensemble.METHOD
SETTINGS = catboost_fits.SETTINGS[NAME]
fit = partial(catboost_fits.fit, NAME)


# --- whole or not at all ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", [None, "{", '{"fit": "another", "factor": 2.0}', "[]"])
def test_a_factor_that_is_missing_damaged_or_of_another_fit_is_refused_and_found_again(
    parts, undisturbed, copied, left
):
    (copied / "calibration.json").unlink()
    if left is not None:
        (copied / "calibration.json").write_text(left)
    with pytest.raises(SettingsError, match=r"calibration\.json: expected the factor of the variances.*Fit again"):
        boosting.predict(parts.rows, folder=copied)
    assert contents(fit(parts, copied)) == contents(undisturbed)


def test_a_damaged_model_is_named_and_trained_again(parts, undisturbed, copied):
    (copied / "member_05.cbm").write_bytes(b"half")
    with pytest.raises(SettingsError, match=r"member_05\.cbm: expected .* found a changed or damaged file"):
        boosting.predict(parts.rows, folder=copied)
    assert contents(fit(parts, copied)) == contents(undisturbed)


@pytest.mark.parametrize("how", ["dies_when_loaded", "dies_when_used"])
def test_a_model_that_kills_catboost_is_refused_though_its_hash_is_right(parts, copied, how):
    (copied / "member_01.cbm").write_bytes((GOLDEN / f"{how}.cbm").read_bytes())
    note = copied / "member_01.json"
    noted = json.loads(note.read_text()) | {"sha256": files.sha256(copied / "member_01.cbm")}
    note.write_text(json.dumps(noted))
    with pytest.raises(SettingsError, match=r"member_01\.cbm: expected the model as it was .* dies of \(SIG"):
        boosting.predict(parts.rows, folder=copied)


# --- folds ------------------------------------------------------------------------------------------------------------


def test_no_fold_cuts_a_cluster_and_folds_are_about_equal():
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"city": rng.choice(60, 3000), "state": rng.choice(["a", "b"], 3000)})
    found = folds(frame, ("city", "state"), count=10, seed=3)
    of_cluster = frame.with_columns(fold=found).group_by("city", "state").agg(pl.col("fold").n_unique())
    assert of_cluster["fold"].max() == 1
    sizes = np.bincount(found)
    assert len(sizes) == 10
    assert sizes.max() - sizes.min() <= frame.group_by("city", "state").len()["len"].max()


def test_folds_of_clusters_do_not_depend_on_the_order_of_records_and_those_of_records_are_equal():
    frame = pl.DataFrame({"day": np.random.default_rng(0).choice(40, 500)})
    order = np.random.default_rng(1).permutation(500)
    found = folds(frame, ("day",), count=5, seed=0)
    np.testing.assert_array_equal(folds(frame[order], ("day",), count=5, seed=0), found[order])
    assert np.ptp(np.bincount(folds(frame, (), count=7, seed=0))) <= 1


def test_records_without_a_cluster_stand_alone_and_a_single_cluster_has_no_folds():
    frame = pl.DataFrame({"day": [None] * 20 + ["d"] * 5})
    assert np.bincount(folds(frame, ("day",), count=5, seed=0)).tolist() == [5] * 5
    assert folds(frame.tail(5), ("day",), count=5, seed=0) is None
    assert folds(frame.head(3), ("day",), count=5, seed=0).max() == 2
    with pytest.raises(TableError, match=r"train: expected a column 'dya', found none\. Did you mean 'day'"):
        folds(frame, ("dya",), count=5, seed=0)


def test_a_member_learns_from_all_folds_but_its_own_and_is_stopped_on_that(parts):
    arrays = {
        "train_numeric": np.arange(10, dtype=np.float32)[:, None], "train_numeric_names": np.array(["a"]),
        "train_categorical_names": np.array([], dtype=str), "train_target": np.arange(10.0),
        "train_folds": np.arange(10) % 5,
    }  # fmt: skip
    record = {"models": 6, "losses": ["RMSE", "RMSEWithUncertainty"], "linear_starts": False}
    pools = model.Pools(arrays, record)
    for number in range(6):
        learnt, judged, start = pools.of(number)
        assert start is None
        assert list(judged.get_label()) == [number % 3, number % 3 + 5]
        assert sorted([*learnt.get_label(), *judged.get_label()]) == list(range(10))
    assert [model.loss(record, number) for number in range(6)] == ["RMSE"] * 3 + ["RMSEWithUncertainty"] * 3


def test_a_table_of_one_cluster_is_stopped_on_dev(parts, tmp_path):
    settings = boosting.Settings("regression", members=2, iterations=20, clusters=("batch",))
    folder = fit(parts, tmp_path / "fit", settings, train=parts.train.with_columns(batch=pl.lit("one")))
    assert boosting.predict(parts.rows, folder=folder).members == 2


def test_classes_that_only_the_held_out_fold_knows_are_no_error(parts, tmp_path):
    rare = parts.train.with_columns(kind=pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("hail")).otherwise("kind"))
    settings = boosting.Settings("classification", members=3, iterations=10, folds=3)
    says = boosting.predict(parts.rows, folder=fit(parts, tmp_path / "fit", settings, target="kind", train=rare))
    assert says.classes == ("hail", "high", "low", "mid")
    np.testing.assert_allclose(says.probabilities.sum(axis=2), 1)


# --- means, variances, factor -----------------------------------------------------------------------------------------


def test_the_factor_follows_dev_in_alone_and_multiplies_variances_only(parts, undisturbed, tmp_path):
    noise = np.random.default_rng(1).normal(size=parts.dev.height) * 10
    other = fit(parts, tmp_path / "fit", dev=parts.dev.with_columns(y=parts.dev["y"] + noise))
    assert {name: data for name, data in contents(other).items() if name.endswith(".cbm")} == {
        name: data for name, data in contents(undisturbed).items() if name.endswith(".cbm")
    }
    here, there = (boosting.predict(parts.rows, folder=folder) for folder in (undisturbed, other))
    ratio = calibration.require(other) / calibration.require(undisturbed)
    assert ratio > 10
    np.testing.assert_array_equal(here.mean, there.mean)
    np.testing.assert_allclose(there.variance, here.variance * ratio)


def test_the_factor_makes_dev_in_likeliest(rng):
    from shiftbench.ensembles import Gaussian
    from shiftbench.metrics import regression

    mean, variance = rng.normal(size=(3, 400)) * 0.1, rng.uniform(0.5, 2, (3, 400))
    targets = rng.normal(size=400) * 3
    found = calibration.factor(targets, Gaussian(mean, variance))
    grid = np.exp(np.linspace(-3, 5, 2001))
    best = min(grid, key=lambda value: regression.nll(targets, Gaussian(mean, variance * value)))
    assert found == pytest.approx(best, rel=0.01)


def test_members_from_a_linear_start_go_on_beyond_the_records_they_know_and_the_others_do_not(parts, undisturbed):
    far = parts.rows.head(1).with_columns(a=pl.lit(6.0), b=pl.lit(0.0), noisy=pl.lit(0.0), colour=pl.lit("blue"))
    says = boosting.predict(far, folder=undisturbed)
    truth, known = 10 + 3 * 6, parts.train["y"].max()
    assert (says.mean[[0, 2], 0] < known).all()
    assert (says.mean[[1, 3], 0] > known).all()
    assert says.mean[[1, 3], 0] == pytest.approx(truth, abs=3)
    near = boosting.predict(far.with_columns(a=pl.lit(0.0)), folder=undisturbed)
    assert says.mean.std() > 10 * near.mean.std()


def test_its_description_tells_folds_trees_and_factor(parts, undisturbed):
    said = boosting.about(parts.rows, folder=undisturbed)
    assert re.fullmatch(
        r"4 members of CatBoost models, each stopped on a fold of its own \(RMSE, \d+ to \d+ trees\), every other one "
        r"from a linear start; as many for the variances \(\d+ to \d+ trees\), multiplied by [\d.]+",
        said,
    )  # fmt: skip


def test_a_level_of_a_tree_chooses_from_a_share_of_the_features_but_from_four_at_least(undisturbed):
    many, few = (Features(numeric=tuple(f"x{p}" for p in range(count))) for count in (40, 5))
    assert ensemble.options(SETTINGS, many) == {"rsm": 0.25}
    assert ensemble.options(SETTINGS, few) == {"rsm": 0.8}
    (first,) = model.load(undisturbed, 1)
    assert first.get_all_params()["rsm"] == 1  # of four features


# --- what makes it doubtful -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trees", "told"),
    [
        ([21, 26, 23, 400], r"Training ended suspiciously early: 3 of 4 models have 21 to 26 trees of 1,000, .* 26%"),
        ([400, 26, 23, 400], "^$"),
        ([28, 28, 28, 28], "^$"),
        (
            [990, 1000, 951, 400],
            r"Training ended at the limit of 1,000 trees in 3 of 4 models of the mean.*"
            r"set `iterations = 3000` in `\[\[methods\]\]` of the run's `run.toml`, and repeat it",
        ),
    ],
)
def test_training_that_ended_early_or_at_the_limit_is_told(undisturbed, copied, monkeypatch, trees, told):
    record = json.loads((copied / "settings.json").read_text("utf-8"))
    record["settings"] |= {"iterations": 1000, "learning_rate": 0.05, "early_stopping": 50}
    (copied / "settings.json").write_text(json.dumps(record))
    monkeypatch.setattr(model, "trees", lambda folder, models: [*trees, 1, 1, 1, 1])
    assert re.search(told, boosting.caution(folder=copied))


# --- the linear start -------------------------------------------------------------------------------------------------


def arrays_of(frame: pl.DataFrame, target: np.ndarray) -> dict[str, np.ndarray]:
    return arrays(features.matrix(frame, features.choose(frame, target="y")), "train") | {"train_target": target}


def test_a_line_is_found_whatever_is_missing_and_kept_as_json(rng):
    a, colour = rng.normal(size=400), rng.choice(["red", "blue", "rare"], 400, p=[0.5, 0.49, 0.01])
    y = 2 * a + np.where(colour == "red", 1.0, 0.0)
    gone = rng.random(400) < 0.1
    frame = pl.DataFrame({"a": pl.Series(a).set(pl.Series(gone), None), "colour": colour, "y": y})
    data = arrays_of(frame, y)
    learnt = np.arange(400) < 300
    line = linear.fit(data, ("train", learnt), ("train", ~learnt))
    usual = ~learnt & ~gone & (colour != "rare")
    np.testing.assert_allclose(line.predict(data, "train")[usual], y[usual], atol=0.15)
    again = Linear.from_json(json.loads(json.dumps(line.to_json())))
    np.testing.assert_array_equal(again.predict(data, "train"), line.predict(data, "train"))


def test_a_line_goes_on_as_far_as_the_middle_of_the_records_reaches_and_no_further(rng):
    a = np.append(rng.uniform(0, 1, 5000), 1e6)  # one wild value
    data = arrays_of(pl.DataFrame({"a": a, "y": a}), np.minimum(a, 1))
    learnt = np.arange(5001) % 5 > 0
    line = linear.fit(data, ("train", learnt), ("train", ~learnt))
    far = {"rows_numeric": np.array([[1.5], [2.0], [50.0], [1e30]], np.float32)}
    said = line.predict(far, "rows")
    assert said[:2] == pytest.approx([1.5, 2.0], abs=0.1)
    assert said[2] == said[3] == pytest.approx(2.0, abs=0.1)


def test_a_line_that_says_nothing_has_hardly_a_weight(rng):
    noise = rng.normal(size=(60, 31))
    frame = pl.DataFrame(noise[:, :30], schema=[f"x{p}" for p in range(30)]).with_columns(y=noise[:, 30])
    data = arrays_of(frame, noise[:, 30])
    learnt = np.arange(60) < 40
    line = linear.fit(data, ("train", learnt), ("train", ~learnt))
    assert np.std(line.predict(data, "train")[~learnt]) < 0.5
