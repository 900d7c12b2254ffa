"""Predictions in parts: the same as in one piece whoever makes them, also after a worker was killed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from shiftbench import methods
from shiftbench.errors import SettingsError, ShiftbenchError, TableError
from shiftbench.io import executor
from shiftbench.io.executor import Executor, memory
from shiftbench.methods import parts
from shiftbench.methods.trajectories import member
from tests.methods.trajectories.made_up import Dying, made_up

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
ONE = Executor("processes", 1, gpus=1)


def predicted(folder, data=ROWS, method=DYING, **more):
    return parts.predicted(method, data, folder=folder, cores=1, place=folder, **more)


def same(one, other):
    found = [
        {name: getattr(value, "tobytes", lambda value=value: value)() for name, value in vars(each).items()}
        for each in (one, other)
    ]
    return found[0] == found[1]


@pytest.mark.parametrize(
    "workers",
    [Executor("serial"), Executor("processes", 2), PROCESSES, SLURM],
    indirect=True,
    ids=["serial", "processes", "processes with GPUs", "Slurm"],
)
def test_whoever_predicts_the_bytes_are_the_same_and_nothing_is_left(fitted, workers):
    (fitted.parent / "killed").touch()
    told, before = [], sorted(fitted.iterdir())
    found = predicted(fitted, most=200, progress=lambda *words: told.append(words))
    assert same(found, DYING.predict(ROWS, folder=fitted))
    assert sorted(fitted.iterdir()) == before
    apart = workers.elsewhere or workers.gpus
    assert told == ([(done, 5, f"{done} of 5 parts") for done in range(1, 6)] if apart else [])


@pytest.mark.parametrize("workers", [ONE, SLURM], indirect=True, ids=["process", "Slurm"])
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
    assert "240" in again
    assert same(found, DYING.predict(ROWS, folder=fitted))


@pytest.mark.parametrize("workers", [PROCESSES], indirect=True, ids=[""])
def test_what_is_wrong_with_a_table_names_its_part_and_an_incomplete_fit_starts_no_worker(
    tmp_path, workers, monkeypatch
):
    column = methods.method("column")
    own = column.Settings.from_dict({"task": "regression", "column": "x"})
    folder = column.fit(ROWS, ROWS, target="y", settings=own, folder=tmp_path / "column")
    monkeypatch.setattr(parts.executor, "run", lambda job, where, progress: [parts.predict_part(job.argument, 4)])
    made = methods.dataclasses.replace(column, role="ensemble")
    endless = ROWS.with_columns(x=pl.when(pl.col("x") == 499).then(np.inf).otherwise(pl.col("x")))
    with pytest.raises(
        TableError, match=r"^part 5 of 5: table, x: expected numbers within .* found larger ones in 1 of"
    ):
        predicted(folder, endless, made)
    monkeypatch.setattr(parts.executor, "run", lambda *_, **__: pytest.fail("started"))
    with pytest.raises(TableError, match="x"):
        predicted(folder, ROWS.drop("x"), made)
    with pytest.raises(SettingsError, match="expected the folder of a fitted method"):
        predicted(tmp_path / "none", ROWS, made)


def test_records_that_were_changed_are_not_read(fitted):
    digest = parts._given(ROWS, fitted, fitted, "deep")
    (fitted / parts.GIVEN.format(digest)).write_bytes(b"others")
    told = f'{{"folder": "{fitted}", "place": "{fitted}", "parts": ["{digest}"]}}'
    with pytest.raises(ShiftbenchError, match="expected the records as they were written, found others"):
        parts.predict_part(told, 0)


# --- data sets of trajectories ----------------------------------------------------------------------------------------

REQUESTS = Dying(**vars(made_up(41, seed=3)))
TINY = {"members": 2, "epochs": 1, "batch": 20, "width": 16}
OWN = {
    "vector": {**TINY, "heads": 2, "mixing": 0, "lines": 4},
    "cloning": {**TINY, "width": 0.1, "hidden": 16, "pooling": 4, "plans_per_member": 2},
}


@pytest.fixture(scope="module")
def networks(tmp_path_factory):
    """The folder of each method of trajectories, fitted."""
    folders, train = {}, made_up(40, seed=1)
    for name, own in OWN.items():
        module, folder = methods.method(name), tmp_path_factory.mktemp(name) / "fit"
        folders[name] = module.fit(train, train, settings=module.Settings.from_dict(own), folder=folder, cores=1)
    return folders


@pytest.fixture
def small_blocks(monkeypatch):
    """Parts of the 16 requests that networks predict at a time on a CPU."""
    monkeypatch.setattr(parts, "REQUESTS", member.CPU_BLOCK)
    return member.CPU_BLOCK


def test_parts_hold_whole_blocks():
    assert parts.REQUESTS % member.CPU_BLOCK == parts.REQUESTS % member.GPU_BLOCK == 0


def same_in_memory(found, other):
    """Strides too: in the same place in memory sums have the same order."""
    return same(found, other) and all(
        array.strides == other._arrays[name].strides for name, array in found._arrays.items()
    )


@pytest.mark.parametrize("workers", [PROCESSES], indirect=True, ids=[""])
@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(("name", "ensemble"), [("cloning", "dropout"), ("vector", "deep"), ("cloning", "deep")])
def test_processes_predict_the_same_bytes_of_trajectories_and_leave_nothing(networks, workers, name, ensemble):
    told, folder, method = [], networks[name], methods.method(name)
    before = sorted(folder.iterdir())
    found = predicted(folder, REQUESTS, method, ensemble=ensemble, progress=lambda *words: told.append(words))
    assert same_in_memory(found, method.predict(REQUESTS, folder=folder, cores=2, ensemble=ensemble))
    assert sorted(folder.iterdir()) == before
    assert told == [(done, 3, f"{done} of 3 parts") for done in (1, 2, 3)]


@pytest.mark.parametrize("workers", [ONE, SLURM], indirect=True, ids=["process", "Slurm"])
@pytest.mark.usefixtures("small_blocks")
def test_after_a_worker_was_killed_the_same_call_predicts_the_missing_trajectories(networks, workers, tmp_path):
    folder, dying = networks["vector"], replace(REQUESTS, marks=tmp_path / "marks")
    before = sorted(folder.iterdir())
    dying.marks.mkdir()
    with pytest.raises(ShiftbenchError, match=r"that its (process|task) had ended .* Run again to go on"):
        predicted(folder, dying, methods.method("vector"))
    done = {path.name for path in dying.marks.glob("read-*")}
    for path in dying.marks.glob("read-*"):
        path.unlink()
    found = predicted(folder, dying, methods.method("vector"))
    again = {path.name for path in dying.marks.glob("read-*")}
    assert (len(done), len(done | again), len(done & again)) in {(1, 3, 0), (2, 3, 0)}
    assert same_in_memory(found, methods.method("vector").predict(REQUESTS, folder=folder, cores=1))
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("workers", [RAY], indirect=True, ids=["Ray"])
@pytest.mark.usefixtures("small_blocks")
def test_what_a_killed_worker_had_is_predicted_by_another_with_the_same_bytes_and_nothing_is_left(
    fitted, networks, workers, tmp_path
):
    """Parts of a table and of trajectories, in one cluster: to start one takes seconds."""
    before = sorted(fitted.iterdir())
    found = predicted(fitted, most=200)
    assert (fitted.parent / "killed").exists()
    assert same(found, DYING.predict(ROWS, folder=fitted))
    assert sorted(fitted.iterdir()) == before

    told, folder, dying = [], networks["vector"], replace(REQUESTS, marks=tmp_path / "marks")
    before = sorted(folder.iterdir())
    dying.marks.mkdir()
    found = predicted(folder, dying, methods.method("vector"), progress=lambda *words: told.append(words))
    assert (dying.marks / "killed").exists()
    assert same_in_memory(found, methods.method("vector").predict(REQUESTS, folder=folder, cores=1))
    assert sorted(folder.iterdir()) == before
    assert told == [(done, 3, f"{done} of 3 parts") for done in (1, 2, 3)]


@pytest.mark.parametrize("workers", [PROCESSES], indirect=True, ids=[""])
def test_what_does_not_fit_into_memory_starts_no_worker(fitted, networks, workers, monkeypatch):
    monkeypatch.setattr(parts.executor, "run", lambda *_, **__: pytest.fail("started"))
    each = 2 * 5 * 25 * 2 * 4 + 2 * 5 * 8  # two mixtures of five trajectories
    monkeypatch.setattr(memory, "available", lambda: memory.RESERVE + 40 * each + 1)
    with pytest.raises(
        ShiftbenchError, match=rf"41 records: expected .* for {each:,} bytes each, found .* at most 40 fit"
    ):
        predicted(networks["vector"], REQUESTS, methods.method("vector"))
    monkeypatch.setattr(memory, "available", lambda: memory.RESERVE + 499 * 32)
    with pytest.raises(ShiftbenchError, match=r"500 records: expected .* for 32 bytes each, .* at most 499 fit"):
        predicted(fitted)
