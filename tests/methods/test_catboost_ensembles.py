"""What `boosting` and `likelihood_boosting` promise alike: whole or not at all, and the same on any number of cores."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench import methods
from shiftbench.methods.boosting import model
from tests.methods.catboost_fits import SETTINGS, contents, fit, interrupted

MODELS = {"boosting": 8, "likelihood_boosting": 4}


@pytest.fixture(scope="module", params=sorted(SETTINGS))
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def module(name: str) -> Any:
    return methods.method(name)


def test_the_number_of_cores_changes_no_byte(name, module, parts, undisturbed, tmp_path):
    assert contents(fit(name, parts, tmp_path / "fit", cores=1)) == contents(undisturbed)
    one, two = (module.predict(parts.rows, folder=undisturbed, cores=cores) for cores in (1, 2))
    np.testing.assert_array_equal(one.mean, two.mean)
    np.testing.assert_array_equal(one.variance, two.variance)


def test_a_fit_killed_in_the_middle_goes_on_and_ends_as_if_undisturbed(name, parts, undisturbed, tmp_path):
    folder, models = tmp_path / "fit", MODELS[name]
    assert interrupted(name, folder).startswith("member ")
    finished = {path: path.stat().st_mtime_ns for path in folder.glob("member_*.json")}
    assert 0 < len(finished) < models
    assert not (folder / "calibration.json").exists()
    (folder / ".member_03.cbm.abcd1234.part").write_bytes(b"half of a member")
    messages: list[str] = []
    fit(name, parts, folder, progress=lambda done, total, message: messages.append(f"{done}/{total} {message}"))
    assert contents(folder) == contents(undisturbed)
    total = 60 * models
    assert messages[0] == f"{60 * len(finished)}/{total} {len(finished)} of {models} members were trained before"
    assert messages[-1].startswith(f"{total}/{total} member ")
    assert sum(message.endswith(" trees") for message in messages) == models - len(finished)
    assert {path: path.stat().st_mtime_ns for path in finished} == finished


def test_overwriting_leaves_nothing_of_the_fit_before(name, module, parts, copied):
    (copied / "notes.txt").write_text("mine")
    fit(name, parts, copied, module.Settings("regression", members=1, iterations=5), overwrite=True)
    models = {f"member_0{model}.{suffix}" for model in range(MODELS[name] // 4) for suffix in ("cbm", "json")}
    factor = {"calibration.json"} if name == "boosting" else set()
    assert set(contents(copied)) == {"settings.json", "notes.txt"} | models | factor


def test_members_differ_and_neighbouring_seeds_share_none(name, module, parts, undisturbed, tmp_path):
    settings = module.Settings.from_dict({**SETTINGS[name].to_dict(), "seed": 1})
    folders = undisturbed, fit(name, parts, tmp_path / "fit", settings)
    rows = np.concatenate([module.predict(parts.rows, folder=folder).mean for folder in folders])
    assert len(np.unique(rows, axis=0)) == 8


def test_mean_and_variance_are_those_of_the_data(module, parts, undisturbed):
    rows = parts.rows.drop_nulls(["a", "colour"])
    says = module.predict(rows, folder=undisturbed)
    noisy = rows["noisy"].to_numpy() == 1
    residuals = np.abs(rows["y"].to_numpy() - says.answers())
    for part, deviation in ((noisy, 2.0), (~noisy, 0.5)):
        assert np.sqrt(np.median(says.variance[:, part])) == pytest.approx(deviation, rel=0.4)
        # Half of a normal distribution lies within 0.6745 standard deviations.
        assert np.median(residuals[part]) / 0.6745 == pytest.approx(deviation, rel=0.4)


def test_the_unit_of_the_target_never_matters(name, module, parts, undisturbed, tmp_path):
    scale = 2.0**20  # a power of two, so that the arithmetic is exact
    train, dev = (frame.with_columns(pl.col("y") * scale) for frame in (parts.train, parts.dev))
    scaled = module.predict(parts.rows, folder=fit(name, parts, tmp_path / "fit", train=train, dev=dev))
    says = module.predict(parts.rows, folder=undisturbed)
    np.testing.assert_allclose(scaled.mean, says.mean * scale, rtol=1e-12)
    np.testing.assert_allclose(scaled.variance, says.variance * scale**2, rtol=1e-9)


@pytest.mark.parametrize(
    ("trees", "told"), [([21, 26, 23, 400], "have 21 to 26 trees of 1,000"), ([21, 21, 400, 21], "have 21 trees of")]
)
def test_training_that_ended_early_is_told(name, copied, monkeypatch, trees, told):
    record = json.loads((copied / "settings.json").read_text("utf-8"))
    record["settings"] |= {"iterations": 1000, "learning_rate": 0.05, "early_stopping": 50}
    (copied / "settings.json").write_text(json.dumps(record))
    monkeypatch.setattr(model, "trees", lambda folder, models: [*trees, 1, 1, 1, 1][:models])
    assert told in methods.method(name).caution(folder=copied)


def test_equal_numbers_of_trees_are_told_once(module, parts, undisturbed, monkeypatch):
    monkeypatch.setattr(model, "trees", lambda folder, models: [1000] * models)
    about = module.about(parts.rows, folder=undisturbed)
    assert "1,000 trees" in about
    assert " to " not in about
