from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import catboost
import numpy as np
import polars as pl
import pytest

from shiftbench import methods
from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError, TableError
from shiftbench.features import Features
from shiftbench.methods import catboost_data, likelihood_boosting, member_files
from tests.methods.conftest import Parts

SETTINGS = likelihood_boosting.Settings(
    "regression", members=4, iterations=60, depth=4, learning_rate=0.2, early_stopping=10
)
# Fits for ever if left alone: after the first member it waits for an input that never comes.
INTERRUPTED = """
import sys
from pathlib import Path
from tests.methods.conftest import cut
from tests.methods.test_likelihood_boosting import SETTINGS
from shiftbench.methods import likelihood_boosting

def wait(done, total, message):
    if " of " in message:  # a tree, and no member
        return
    sys.stdout.write(message + "\\n")
    sys.stdout.flush()
    sys.stdin.read()

parts = cut()
likelihood_boosting.fit(parts.train, parts.dev, features=parts.features, target="y", settings=SETTINGS,
             folder=sys.argv[1], cores=2, progress=wait)
"""


def fit(parts: Parts, folder: Path, settings: likelihood_boosting.Settings = SETTINGS, **changed) -> Path:
    arguments = {"features": parts.features, "target": "y", "cores": 2, **changed}
    train, dev = arguments.pop("train", parts.train), arguments.pop("dev", parts.dev)
    return likelihood_boosting.fit(train, dev, settings=settings, folder=folder, **arguments)


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


@pytest.fixture(scope="module")
def undisturbed(parts, tmp_path_factory) -> Path:
    return fit(parts, tmp_path_factory.mktemp("undisturbed") / "fit")


@pytest.fixture
def copied(undisturbed, tmp_path) -> Path:
    return Path(shutil.copytree(undisturbed, tmp_path / "fit"))


def test_the_number_of_cores_changes_no_byte(parts, undisturbed, tmp_path):
    assert contents(fit(parts, tmp_path / "fit", cores=1)) == contents(undisturbed)
    one, two = (likelihood_boosting.predict(parts.rows, folder=undisturbed, cores=cores) for cores in (1, 2))
    np.testing.assert_array_equal(one.mean, two.mean)
    np.testing.assert_array_equal(one.variance, two.variance)


def test_a_fit_killed_in_the_middle_goes_on_and_ends_as_if_undisturbed(parts, undisturbed, tmp_path):
    folder = tmp_path / "fit"
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    first = process.stdout.readline()
    process.kill()
    process.communicate()
    assert first.startswith("member ")
    assert not {path.name for path in undisturbed.iterdir()} <= {path.name for path in folder.iterdir()}
    (folder / ".member_03.cbm.abcd1234.part").write_bytes(b"half of a member")

    finished = {path: path.stat().st_mtime_ns for path in folder.glob("member_*.json")}
    messages: list[str] = []
    fit(parts, folder, progress=lambda done, total, message: messages.append(f"{done}/{total} {message}"))
    assert contents(folder) == contents(undisturbed)
    assert messages[0] == f"{60 * len(finished)}/240 {len(finished)} of 4 members were trained before"
    assert re.fullmatch(r"240/240 member \d: \d+ trees", messages[-1])
    assert sum(message.endswith(" trees") for message in messages) == 4 - len(finished)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished


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
    assert not (tmp_path / "fit/inputs.npz").exists()
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


def test_overwriting_leaves_nothing_of_the_fit_before(parts, copied):
    (copied / "notes.txt").write_text("mine")
    fit(parts, copied, likelihood_boosting.Settings("regression", members=1, iterations=5), overwrite=True)
    assert set(contents(copied)) == {"settings.json", "member_00.cbm", "member_00.json", "notes.txt"}


def test_training_leaves_nothing_but_members_behind(undisturbed):
    members = {f"member_{m:02d}.{suffix}" for m in range(4) for suffix in ("cbm", "json")}
    assert set(contents(undisturbed)) == {"settings.json"} | members


def test_mean_and_variance_are_those_of_the_data(parts, undisturbed):
    rows = parts.rows.drop_nulls(["a", "colour"])
    says = likelihood_boosting.predict(rows, folder=undisturbed)
    noisy = rows["noisy"].to_numpy() == 1
    residuals = np.abs(rows["y"].to_numpy() - says.answers())
    for part, deviation in ((noisy, 2.0), (~noisy, 0.5)):
        assert np.sqrt(np.median(says.variance[:, part])) == pytest.approx(deviation, rel=0.4)
        # Half of a normal distribution lies within 0.6745 standard deviations.
        assert np.median(residuals[part]) / 0.6745 == pytest.approx(deviation, rel=0.4)


def test_the_unit_of_the_target_never_matters(parts, undisturbed, tmp_path):
    scale = 2.0**20  # a power of two, so that the arithmetic is exact
    train, dev = (frame.with_columns(pl.col("y") * scale) for frame in (parts.train, parts.dev))
    scaled = likelihood_boosting.predict(parts.rows, folder=fit(parts, tmp_path / "fit", train=train, dev=dev))
    says = likelihood_boosting.predict(parts.rows, folder=undisturbed)
    np.testing.assert_allclose(scaled.mean, says.mean * scale, rtol=1e-12)
    np.testing.assert_allclose(scaled.variance, says.variance * scale**2, rtol=1e-12)


def test_members_differ_and_neighbouring_seeds_share_none(parts, undisturbed, tmp_path):
    settings = likelihood_boosting.Settings.from_dict({**SETTINGS.to_dict(), "seed": 1})
    folders = undisturbed, fit(parts, tmp_path / "fit", settings)
    rows = np.concatenate([likelihood_boosting.predict(parts.rows, folder=folder).mean for folder in folders])
    assert len(np.unique(rows, axis=0)) == 8


def test_unseen_categories_and_missing_values_are_answered(parts, undisturbed):
    strange = parts.rows.head(2).with_columns(
        colour=pl.Series(["ultraviolet", None]), a=pl.Series([None, 1e6], dtype=pl.Float64)
    )
    says = likelihood_boosting.predict(strange, folder=undisturbed)
    assert np.isfinite(says.mean).all()
    assert (says.variance > 0).all()


def test_blocks_of_rows_change_nothing_and_errors_name_the_row_of_the_table(parts, undisturbed, monkeypatch):
    whole = likelihood_boosting.predict(parts.rows, folder=undisturbed)
    monkeypatch.setattr(catboost_data, "BLOCK_ROWS", 90)
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
    assert methods.fitted(undisturbed) is methods.METHODS["likelihood_boosting"]


def test_what_it_is_tells_members_and_trees(parts, undisturbed):
    assert likelihood_boosting.about(parts.rows, folder=undisturbed).startswith(
        "4 CatBoost models that differ by seed (RMSEWith"
    )
