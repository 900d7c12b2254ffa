from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from functools import partial

import catboost
import numpy as np
import polars as pl
import pytest

from shiftbench import methods
from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError, TableError
from shiftbench.methods import member_files
from shiftbench.methods.boosting import fitting, likelihood
from shiftbench.partition.features import Features
from tests.methods import catboost_fits
from tests.methods.catboost_fits import contents

NAME = "likelihood_boosting"
likelihood_boosting = likelihood.METHOD
fit = partial(catboost_fits.fit, NAME)


@pytest.mark.usefixtures("new_workers")
def test_a_killed_worker_ends_the_call_with_advice_and_calling_again_ends_as_if_undisturbed(
    parts, undisturbed, tmp_path, monkeypatch
):
    started = []

    class Noted(subprocess.Popen):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            started.append(self)

    def kill(done: int, total: int, message: str) -> None:
        for process in started:
            os.kill(process.pid, signal.SIGKILL)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    with pytest.raises(ShiftbenchError, match=r"SIGKILL.*Run again to go on"):
        fit(parts, tmp_path / "fit", progress=kill)
    monkeypatch.undo()
    assert not list((tmp_path / "fit").glob("*inputs*"))
    assert contents(fit(parts, tmp_path / "fit")) == contents(undisturbed)


def test_truncated_foreign_and_missing_members_are_named_and_trained_again(parts, undisturbed, copied):
    whole = (copied / "member_00.cbm").read_bytes()
    (copied / "member_00.cbm").write_bytes(whole[: len(whole) // 2])
    for suffix in ("cbm", "json"):
        shutil.copy(copied / f"member_02.{suffix}", copied / f"member_01.{suffix}")
    (copied / "member_03.json").write_text("{")
    for use in (likelihood_boosting.predict, likelihood_boosting.about):
        with pytest.raises(SettingsError, match="Fit again with the same settings") as caught:
            use(parts.rows, folder=copied)
        named = [problem.split(": ")[1] for problem in caught.value.problems]
        assert named == ["member_00.cbm", "member_01.cbm", "member_03.cbm"]
    assert contents(fit(parts, copied)) == contents(undisturbed)


def test_a_folder_of_other_settings_or_data_is_refused_and_left_as_it_is(parts, undisturbed, copied):
    other = likelihood_boosting.Settings("regression", members=4, iterations=61)
    with pytest.raises(SettingsError, match=r"settings.iterations: 60 there, 61 here.*overwrite"):
        fit(parts, copied, other)
    with pytest.raises(SettingsError, match=r"data.sha256: .* there, .* here"):
        fit(parts, copied, train=parts.train.reverse())
    assert contents(copied) == contents(undisturbed)


def test_training_leaves_nothing_but_members_behind(undisturbed):
    members = {f"member_{m:02d}.{suffix}" for m in range(4) for suffix in ("cbm", "json")}
    assert set(contents(undisturbed)) == {"settings.json"} | members


def test_unseen_categories_and_missing_values_are_answered(parts, undisturbed):
    strange = parts.rows.head(2).with_columns(
        colour=pl.Series(["ultraviolet", None]), a=pl.Series([None, 1e6], dtype=pl.Float64)
    )
    says = likelihood_boosting.predict(strange, folder=undisturbed)
    assert np.isfinite(says.mean).all()
    assert (says.variance > 0).all()


def test_blocks_of_rows_change_nothing_and_errors_name_the_row_of_the_table(parts, undisturbed, monkeypatch):
    whole = likelihood_boosting.predict(parts.rows, folder=undisturbed)
    monkeypatch.setattr(fitting, "BLOCK_ROWS", 90)
    pieces = likelihood_boosting.predict(parts.rows, folder=undisturbed)
    np.testing.assert_array_equal(pieces.mean, whole.mean)
    np.testing.assert_array_equal(pieces.variance, whole.variance)
    odd = parts.rows.with_columns(b=parts.rows["b"].scatter([200, 399], np.inf))
    with pytest.raises(TableError, match=r"'b': .* found inf in row 201 \(2 such\)"):
        likelihood_boosting.predict(odd, folder=undisturbed)


def test_catboost_names_the_columns_of_the_table(parts, undisturbed):
    model = catboost.CatBoost().load_model(str(undisturbed / "member_00.cbm"))
    assert sorted(model.feature_names_) == sorted(["a", "b", "noisy", "colour"])
    assert model.get_param("thread_count") == 1


def test_a_listed_class_that_train_lacks_gets_probability_zero(parts, tmp_path):
    dev = parts.dev.with_columns(kind=pl.when(pl.int_range(pl.len()) < 5).then(pl.lit("hail")).otherwise("kind"))
    settings = likelihood_boosting.Settings("classification", ("low", "hail", "mid", "high"), members=2, iterations=20)
    says = likelihood_boosting.predict(
        parts.rows, folder=fit(parts, tmp_path / "fit", settings, target="kind", dev=dev)
    )
    assert says.classes == ("low", "hail", "mid", "high")
    assert (says.probabilities[:, :, 1] == 0).all()
    assert np.mean(says.labels() == parts.rows["kind"].to_numpy()) > 0.7


def test_a_class_of_dev_that_train_lacks_is_named_with_its_count(parts, tmp_path):
    settings = likelihood_boosting.Settings("classification", members=1)
    train = parts.train.filter(pl.col("kind") != "mid")
    count = (parts.dev["kind"] == "mid").sum()
    with pytest.raises(TableError, match=rf"dev_in, kind: .*high, low, found 'mid' in {count} records.*`classes`"):
        fit(parts, tmp_path / "fit", settings, target="kind", train=train)
    assert not (tmp_path / "fit").exists()


def test_dev_without_any_class_of_train_is_an_error(parts, tmp_path):
    settings = likelihood_boosting.Settings("classification", ("low", "mid", "high", "hail"), members=1)
    with pytest.raises(TableError, match="dev_in, kind: expected a class that occurs in train, found none"):
        fit(parts, tmp_path / "fit", settings, target="kind", dev=parts.dev.with_columns(kind=pl.lit("hail")))


def test_features_that_say_nothing_are_an_error(parts, tmp_path):
    with pytest.raises(TableError, match="expected features that vary, found none"):
        fit(parts, tmp_path / "fit", features=Features())
    constant = parts.train.with_columns(a=1.0, b=2.0, noisy=0.0, colour=pl.lit("red"))
    with pytest.raises(TableError, match=r"found only constant ones \(.*noisy.*colour\)"):
        fit(parts, tmp_path / "fit", train=constant)


def test_without_catboost_the_message_says_what_to_install(parts, undisturbed, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "catboost", None)
    for use in (
        lambda: fit(parts, tmp_path / "fit"),
        lambda: likelihood_boosting.predict(parts.rows, folder=undisturbed),
    ):
        with pytest.raises(MissingExtraError, match=r"pip install 'shiftbench\[boosting\]'"):
            use()


def test_a_full_disk_is_told_with_the_room_needed(parts, tmp_path, monkeypatch):
    def full(*arguments, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(member_files.np, "savez", full)
    with pytest.raises(SettingsError, match=r"expected room for [\d,]+ bytes .* No space left on device"):
        fit(parts, tmp_path / "fit")
    assert set(contents(tmp_path / "fit")) == {"settings.json"}


@pytest.mark.parametrize(
    ("task", "paper"),
    [
        ("regression", {"members": 10, "iterations": 20_000, "depth": 8, "learning_rate": 0.3}),
        ("classification", {"members": 10, "iterations": 10_000, "depth": 6, "learning_rate": 0.4}),
    ],
)
def test_the_settings_of_the_paper_are_in_range(task, paper):
    settings = likelihood_boosting.Settings.from_dict({"task": task, **paper})
    assert settings.to_dict().items() >= paper.items()


def test_a_gpu_that_is_not_there_is_told_before_anything_is_written(parts, tmp_path, monkeypatch):
    monkeypatch.setattr("catboost.utils.get_gpu_device_count", lambda: 0)
    with pytest.raises(SettingsError, match=r"expected a GPU that CatBoost can use, found 0.*gpu = false"):
        fit(parts, tmp_path / "fit", likelihood_boosting.Settings("regression", members=1, gpu=True))
    assert not (tmp_path / "fit").exists()
    with pytest.raises(SettingsError, match="gpu: expected true or false, found 1"):
        likelihood_boosting.Settings("regression", gpu=1)


def test_choosing_a_method_imports_no_library():
    code = "import sys, shiftbench.methods; sys.exit('catboost' in sys.modules or 'polars' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_fitted_method_is_known_by_its_folder(undisturbed):
    assert methods.fitted(undisturbed) is likelihood_boosting


def test_what_it_is_tells_members_and_trees(parts, undisturbed):
    assert likelihood_boosting.about(parts.rows, folder=undisturbed).startswith(
        "4 CatBoost models that differ by seed (RMSEWith"
    )
