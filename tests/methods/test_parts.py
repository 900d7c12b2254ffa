"""Predictions in parts: the same as in one piece whoever makes them, also after a worker was killed."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shiftbench import methods
from shiftbench.ensembles import concatenated
from shiftbench.errors import SettingsError, ShiftbenchError, TableError
from shiftbench.io import executor
from shiftbench.io.executor import Executor
from shiftbench.methods import parts

DYING = methods.method("tests.methods.dying_method:METHOD")
ROWS = pl.DataFrame({"x": range(500), "y": np.linspace(0, 1, 500)})


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(parts, "RECORDS", 120)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")  # processes predict in parts where each has a GPU


@pytest.fixture
def fitted(tmp_path):
    own = DYING.Settings.from_dict({"task": "regression"})
    return DYING.fit(ROWS, ROWS, target="y", settings=own, folder=tmp_path / "fit")


@pytest.fixture
def workers(request, made_up_slurm):
    if request.param.name == "ray":
        pytest.importorskip("ray")
    with executor.using(request.param):
        yield request.param


PROCESSES, RAY, SLURM = Executor("processes", 2, gpus=1), Executor.of("ray=local", workers=2), Executor("slurm", 2)
NAMES = ("serial", "processes", "processes with GPUs", "Ray", "Slurm")
everywhere = pytest.mark.parametrize(
    "workers", [Executor("serial"), Executor("processes", 2), PROCESSES, RAY, SLURM], indirect=True, ids=NAMES
)


def predicted(folder, frame=ROWS, **more):
    found = parts.predictions(DYING, frame, folder=folder, cores=1, place=folder, **more)
    return concatenated([*found])


def same(one, other):
    return (one.mean.tobytes(), one.variance.tobytes(), one.draws) == (
        other.mean.tobytes(),
        other.variance.tobytes(),
        other.draws,
    )


@everywhere
def test_whoever_predicts_the_bytes_are_the_same_and_nothing_is_left(fitted, workers):
    (fitted.parent / "killed").touch()
    before = sorted(fitted.iterdir())
    assert same(predicted(fitted, most=200), DYING.predict(ROWS, folder=fitted))
    assert sorted(fitted.iterdir()) == before


@pytest.mark.parametrize("workers", [RAY], indirect=True, ids=["Ray"])
def test_a_part_whose_worker_is_killed_is_predicted_by_another(fitted, workers):
    found = predicted(fitted)
    assert (fitted.parent / "killed").exists()
    assert same(found, DYING.predict(ROWS, folder=fitted))


@pytest.mark.parametrize("workers", [Executor("processes", 1, gpus=1), SLURM], indirect=True, ids=["process", "Slurm"])
def test_after_a_worker_was_killed_the_same_call_goes_on_with_what_is_missing(fitted, workers):
    with pytest.raises(ShiftbenchError, match=r"that its (process|task) had ended .* Run again to go on"):
        predicted(fitted)
    done = {path.name.split("-")[1] for path in fitted.parent.glob("predicted-*")} - {"0"}  # 0: looked at first
    for path in fitted.parent.glob("predicted-*"):
        path.unlink()
    found = predicted(fitted)
    again = {path.name.split("-")[1] for path in fitted.parent.glob("predicted-*")}
    assert done
    assert not done & again
    assert "200" in again
    assert same(found, DYING.predict(ROWS, folder=fitted))


@pytest.mark.parametrize("workers", [PROCESSES], indirect=True, ids=[""])
def test_what_is_wrong_with_a_table_names_its_part_and_an_incomplete_fit_starts_no_worker(
    tmp_path, workers, monkeypatch
):
    column = methods.method("column")
    own = column.Settings.from_dict({"task": "regression", "column": "x"})
    folder = column.fit(ROWS, ROWS, target="y", settings=own, folder=tmp_path / "column")
    monkeypatch.setattr(parts.executor, "run", lambda job, where: [parts.predict_part(job.argument, 4)])
    made = methods.dataclasses.replace(column, role="ensemble")
    endless = ROWS.with_columns(x=pl.when(pl.col("x") == 499).then(np.inf).otherwise(pl.col("x")))
    with pytest.raises(TableError, match=r"^part 5 of 5: table, x: expected finite numbers, found infinity in 1 of"):
        list(parts.predictions(made, endless, folder=folder, cores=1, place=folder))
    monkeypatch.setattr(parts.executor, "run", lambda job, where: pytest.fail("started"))
    with pytest.raises(TableError, match="x"):
        list(parts.predictions(made, ROWS.drop("x"), folder=folder, cores=1, place=folder))
    with pytest.raises(SettingsError, match="expected the folder of a fitted method"):
        list(parts.predictions(made, ROWS, folder=tmp_path / "none", cores=1, place=tmp_path))


def test_records_that_were_changed_are_not_read(fitted):
    digest = parts._given(ROWS, fitted, fitted)
    (fitted / parts.GIVEN.format(digest)).write_bytes(b"others")
    told = f'{{"folder": "{fitted}", "place": "{fitted}", "parts": ["{digest}"]}}'
    with pytest.raises(ShiftbenchError, match="expected the records as they were written, found others"):
        parts.predict_part(told, 0)
