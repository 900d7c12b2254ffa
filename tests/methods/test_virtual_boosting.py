from __future__ import annotations

from pathlib import Path

import catboost
import numpy as np
import polars as pl
import pytest

from shiftbench import measures
from shiftbench.errors import SettingsError
from shiftbench.methods import fitted_folder
from shiftbench.methods.boosting import fitting, virtual
from shiftbench.methods.boosting import model as boosted
from shiftbench.methods.contract import Job
from shiftbench.partition import features
from tests.methods.conftest import TARGETS, Parts

MEMBERS = 5
virtual_boosting = virtual.METHOD
TASKS = ("regression", "classification")


def settings(task: str, **changed) -> virtual.Settings:
    own = {"members": MEMBERS, "iterations": 120, "depth": 4, "learning_rate": 0.2, "early_stopping": 20}
    return virtual_boosting.Settings(task, **{**own, **changed})


def fit(parts: Parts, folder: Path, task: str, **changed) -> Path:
    return virtual_boosting.fit(
        parts.train, parts.dev, features=parts.features, target=TARGETS[task], settings=settings(task, **changed),
        folder=folder,
    )  # fmt: skip


def values(ensemble) -> np.ndarray:
    return ensemble.mean if hasattr(ensemble, "mean") else ensemble.probabilities


@pytest.fixture(scope="module", params=TASKS)
def fitted(request, parts, tmp_path_factory) -> tuple[str, Path]:
    return request.param, fit(parts, tmp_path_factory.mktemp("virtual") / "fit", request.param)


def trees(folder: Path) -> list[int]:
    """How many trees each member has, by the definition."""
    whole = boosted.trees(folder, 1)[0]
    step = whole // (2 * MEMBERS)
    return [whole - step * left for left in reversed(range(MEMBERS))]


def test_members_are_truncated_sums_of_trees_grown_back_by_what_later_trees_shrank(parts, fitted):
    task, folder = fitted
    record = fitted_folder.read(folder)
    model = boosted.load(folder, 1)[0]
    options = model.get_all_params()
    assert options["model_shrink_rate"] == pytest.approx(1 / (2 * parts.train.height))
    shrunk = 1 - options["model_shrink_rate"] * options["learning_rate"]
    pool = boosted.pool(fitting.arrays(features.matrix(parts.rows, parts.features), "rows"), "rows")
    says, total = virtual_boosting.predict(parts.rows, folder=folder), model.tree_count_
    for m, count in enumerate(trees(folder)):
        raw = model.predict(pool, prediction_type="RawFormulaVal", ntree_end=count) * shrunk ** (count - total)
        if task == "regression":
            np.testing.assert_allclose(says.mean[m], raw[:, 0] * record["scale"] + record["center"], rtol=1e-5)
            np.testing.assert_allclose(says.variance[m], np.exp(2 * raw[:, 1]) * record["scale"] ** 2, rtol=1e-5)
        else:
            odds = np.exp(raw)
            np.testing.assert_allclose(says.probabilities[m], odds / odds.sum(axis=1, keepdims=True), rtol=1e-5)


def test_a_member_is_the_model_that_stood_there_while_it_was_trained(parts, fitted):
    task, folder = fitted
    record = fitted_folder.read(folder)
    job = Job(
        parts.train,
        parts.dev,
        parts.features,
        TARGETS[task],
        settings(task),
        folder,
        cores=1,
        libraries={"catboost": ""},
    )
    data = virtual_boosting.prepare(job).data
    first = trees(folder)[0]
    stopped = catboost.CatBoost(
        {
            **boosted.FIXED, **record["options"], "loss_function": boosted.loss(record, 0), "depth": 4,
            "learning_rate": 0.2, "iterations": first, "use_best_model": False, "best_model_min_trees": 1,
            "random_seed": boosted.load(folder, 1)[0].get_all_params()["random_seed"],
        }
    )  # fmt: skip
    stopped.fit(boosted.pool(data, "train"))
    kind = "RMSEWithUncertainty" if task == "regression" else "Probability"
    alone = fitting.ensemble(
        parts.rows, record, members=1, outputs=lambda pool, _: [stopped.predict(pool, prediction_type=kind)]
    )
    says = virtual_boosting.predict(parts.rows, folder=folder)
    np.testing.assert_allclose(values(says)[0], values(alone)[0], atol=1e-3)
    assert np.abs(values(says)[0] - values(says)[-1]).max() > 0.02


def test_the_last_member_is_the_whole_model(parts, fitted):
    task, folder = fitted
    record, model = fitted_folder.read(folder), boosted.load(folder, 1)[0]
    kind = "RMSEWithUncertainty" if task == "regression" else "Probability"
    whole = fitting.ensemble(
        parts.rows, record, members=1, outputs=lambda pool, _: [model.predict(pool, prediction_type=kind)]
    )
    np.testing.assert_allclose(values(virtual_boosting.predict(parts.rows, folder=folder))[-1], values(whole)[0])


def test_dev_in_stops_the_model(parts, fitted):
    _, folder = fitted
    note = boosted.files_in(folder).note(0)
    assert 2 * MEMBERS <= note["trees"] < 120
    about = virtual_boosting.about(parts.rows, folder=folder)
    assert about.startswith("5 virtual members of one CatBoost model (SGLB, ")
    assert about.endswith(f"): its first {trees(folder)[0]} to all {note['trees']} trees")


def test_a_model_that_would_stop_at_once_still_has_trees_for_all_members(parts, tmp_path):
    noise = pl.col("y").shuffle(seed=1)
    useless = Parts(parts.train.with_columns(y=noise), parts.dev.with_columns(y=noise), parts.rows, parts.features)
    folder = fit(useless, tmp_path / "fit", "regression", learning_rate=1.0)
    assert boosted.trees(folder, 1) == [2 * MEMBERS]
    says = virtual_boosting.predict(parts.rows, folder=folder)
    assert len(np.unique(says.mean, axis=0)) == MEMBERS


def test_members_disagree_more_where_no_data_were(parts, tmp_path):
    folder = fit(parts, tmp_path / "fit", "regression", learning_rate=0.05, iterations=600, early_stopping=100)
    known = parts.rows.filter(pl.col("a").abs() < 1)
    far = known.with_columns(a=pl.col("a") + 3)
    near_by, far_off = (
        measures.uncertainty(virtual_boosting.predict(rows, folder=folder), "knowledge_variance").mean()
        for rows in (known, far)
    )
    assert far_off > 2 * near_by


def test_too_few_trees_for_the_members_are_an_error_before_training():
    with pytest.raises(SettingsError, match="expected at least 20") as caught:
        virtual_boosting.Settings("regression", members=10, iterations=19, early_stopping=10)
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["iterations", "early_stopping"]
    with pytest.raises(SettingsError, match="members: expected a whole number from 1 to 1,000, found 0"):
        virtual_boosting.Settings("regression", members=0)


def test_a_damaged_model_is_named_and_trained_again(parts, fitted):
    task, folder = fitted
    path = folder / "member_00.cbm"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(SettingsError, match=r"member_00\.cbm: .*damaged.* Fit again"):
        virtual_boosting.predict(parts.rows, folder=folder)
    fit(parts, folder, task)
    assert path.read_bytes() == whole
