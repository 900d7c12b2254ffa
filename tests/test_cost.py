"""What fitting and predicting take: measured over processes and jobs, kept over kills, apart from results."""

from __future__ import annotations

import csv as csv_format
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shiftbench import report as reports
from shiftbench.io import executor, metering
from shiftbench.io.executor import Executor, Job
from shiftbench.io.executor.child import Child
from shiftbench.io.executor.job import Reply
from shiftbench.io.metering import Used
from shiftbench.methods import fitted_folder
from shiftbench.pipeline import cost
from shiftbench.report import text
from shiftbench.report.content import Report
from shiftbench.report.grids.listing import grids
from shiftbench.scores.score import Cost
from tests.report.factory import HOSTILE, hostile, regression

BUSY = """
import time
held = bytearray(200_000_000)
while time.process_time() < 1.0:
    pass
print(1, flush=True)
time.sleep(60)
"""
SPENT = Cost("boosting", 2.0, 4.0, 3_000_000_000, 10**9, 0.5, 1.0, 10**9, 0, 1000)


def measured(work) -> Used:
    told: list[Used] = []
    with metering.measured(told.append):
        work()
    return told[-1]


def fitted(folder: Path, **settings: object) -> Path:
    """A folder of a fit, as far as costs need it."""
    record = {"format": fitted_folder.FORMAT, "method": "made up", "settings": settings}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / fitted_folder.RECORD).write_text(json.dumps(record))
    return folder


def fit(folder: Path, seconds: float = 0.0, **settings: object) -> Path:
    """A measured fit."""
    with cost.kept(folder, cost.FIT):
        fitted(folder, **settings)
        time.sleep(seconds)
    return folder


def stages(model: Path) -> dict[str, dict[str, float]]:
    return json.loads(cost.path_of(model).read_text())["stages"]


def test_time_and_memory_of_this_process_are_measured() -> None:
    def work() -> None:
        held, began = np.ones(30_000_000), time.process_time()
        while time.process_time() < began + 0.3:
            held.sum()

    used = measured(work)
    assert used.seconds >= 0.3
    assert 0.3 <= used.cpu_seconds < 60
    assert 200e6 < used.added_bytes <= used.peak_bytes


def test_processes_that_work_for_this_one_count(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text(BUSY)
    monkeypatch.syspath_prepend(tmp_path)

    children: list[Child] = []

    def begin() -> None:
        children.append(Child("busy"))
        children[-1].replies.readline()
        time.sleep(3 * metering.SAMPLED_S)  # time for a look

    def end() -> None:
        children[-1].end()
        children[-1].close()

    for work in (begin, lambda: (end(), begin(), end())):  # still at work, or not
        used = measured(work)
        assert 0.9 <= used.cpu_seconds < 1.8  # nothing from before the block
        assert used.peak_bytes > 250e6
    assert not metering.CHILDREN


def test_jobs_elsewhere_add_up_and_the_largest_peak_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    def replies(_job: Job, _executor: Executor) -> Iterator[Reply]:
        yield Reply(0, used=(200.0, 7e12))
        yield Reply(1, used=(300.0, 9e12))
        yield Reply(2)

    monkeypatch.setitem(executor.EXECUTORS, "slurm", replies)
    monkeypatch.setitem(executor.EXECUTORS, "processes", replies)
    job = Job("json:loads", "", 3)
    used = measured(lambda: executor.run(job, Executor("slurm")))
    assert 500 <= used.cpu_seconds < 560
    assert used.peak_bytes == 9e12
    assert used.seconds < 60
    assert measured(lambda: executor.run(job, Executor("processes"))).cpu_seconds < 60  # measured from here


def test_a_job_says_what_it_took() -> None:
    cpu_seconds, peak = Job("tests.test_cost:busy", "", 1).done(0).used
    assert cpu_seconds >= 0.2
    assert peak > 10e6


def busy(_argument: str, _number: int) -> None:
    until = time.process_time() + 0.2
    while time.process_time() < until:
        pass


def test_what_a_killed_process_spent_is_added(tmp_path: Path) -> None:
    model = tmp_path / "model/a"
    code = "import sys; from pathlib import Path; from tests.test_cost import fit; fit(Path(sys.argv[1]), 60)"
    process = subprocess.Popen([sys.executable, "-c", code, str(model)])
    deadline = time.monotonic() + 60
    while not cost.path_of(model).exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    first = stages(model)["fit"]
    assert not first["done"]
    assert first["seconds"] >= metering.REPORT_S
    (cost.path_of(model).parent / ".a.json.abcdefgh.part").touch()  # as a process leaves that is killed as it writes
    fit(model, 0.2)
    both = stages(model)["fit"]
    assert both["done"]
    assert both["seconds"] >= first["seconds"] + 0.2
    assert [path.name for path in cost.path_of(model).parent.iterdir()] == ["a.json"]


def test_what_was_measured_whole_stays_and_what_is_of_another_fit_goes(tmp_path: Path) -> None:
    model = fit(tmp_path / "model/a")
    with cost.kept(model, "predict", records=3):
        pass
    before = cost.path_of(model).read_bytes()
    fit(model, 0.05)
    with cost.kept(model, "predict", records=3):
        time.sleep(0.05)
    assert cost.path_of(model).read_bytes() == before
    with cost.kept(model, "predict", records=4):  # other records
        pass
    assert stages(model)["predict"]["records"] == 4
    fitted(model, seed=1)
    assert cost.of_system("a", model, "predict") is None
    (model / fitted_folder.RECORD).unlink()
    fit(model, seed=1)
    assert set(stages(model)) == {cost.FIT}


def test_what_it_took_before_anything_was_measured_stays_unknown(tmp_path: Path) -> None:
    model = fitted(tmp_path / "model/a")
    fit(model)
    assert cost.of_system("a", model, "predict") is None
    with cost.kept(model, "predict", records=2):
        pass
    found = cost.of_system("a", model, "predict")
    assert (found.fit_seconds, found.predicted) == (None, 2)


def test_a_fit_of_no_run_keeps_its_cost_in_its_own_folder(tmp_path: Path) -> None:
    model = tmp_path / "model"
    for _ in range(2):  # the second time there is nothing left to measure
        with cost.kept(model, cost.FIT, path=model / cost.FILE):
            fitted(model)
            time.sleep(0.05)
        spent = json.loads((model / cost.FILE).read_text())["stages"]["fit"]
        assert spent["done"]
        assert 0.05 <= spent["seconds"] < 60
        assert sorted(path.name for path in model.iterdir()) == ["cost.json", "settings.json"]
    assert not cost.path_of(model).exists()


def test_a_stage_that_fails_is_not_done(tmp_path: Path) -> None:
    model = fitted(tmp_path / "model/a")
    with pytest.raises(ZeroDivisionError, match="division"), cost.kept(model, "predict"):
        _ = 1 / 0
    assert not stages(model)["predict"]["done"]


@pytest.mark.parametrize("damaged", ["", "[]", "{}", '{"format": "shiftbench cost 1", "fit": 1, "stages": []}'])
def test_a_damaged_note_is_no_note(tmp_path: Path, damaged: str) -> None:
    model = fit(tmp_path / "model/a")
    cost.path_of(model).write_text(damaged)
    assert cost.of_system("a", model, "predict") is None
    with cost.kept(model, "predict"):
        pass
    assert stages(model)["predict"]["done"]


def test_work_goes_on_where_its_cost_cannot_be_noted(tmp_path: Path) -> None:
    (tmp_path / cost.FOLDER).write_text("a file of somebody else")
    fit(tmp_path / "model/a")
    assert (tmp_path / cost.FOLDER).read_text() == "a file of somebody else"
    assert cost.of_system("a", tmp_path / "model/a", "predict") is None


def test_a_method_made_of_others_costs_what_they_do(tmp_path: Path) -> None:
    models = [fit(tmp_path / "model/a", 0.05), fit(tmp_path / "model/b", 0.05)]
    both = fitted(tmp_path / "model/both", of=["a", "b"])
    drawn = fitted(tmp_path / "model/drawn", of="a")
    for model, seconds in ((models[0], 0.05), (models[1], 0.05), (drawn, 0.02)):
        with cost.kept(model, "predict", records=10):
            time.sleep(seconds)
    a, b = (cost.of_system(model.name, model, "predict") for model in models)
    together = cost.of_system("both", both, "predict")
    assert together is not None
    assert together.fit_seconds == a.fit_seconds + b.fit_seconds
    assert together.predict_seconds == a.predict_seconds + b.predict_seconds
    assert together.predict_bytes == max(a.predict_bytes, b.predict_bytes)
    assert together.predicted == 10
    own = cost.of_system("drawn", drawn, "predict")
    assert own.fit_seconds == a.fit_seconds
    assert 0.02 <= own.predict_seconds == stages(drawn)["predict"]["seconds"]


def test_sets_of_records_add_up_and_the_fit_counts_once() -> None:
    more = replace(SPENT, predict_seconds=1.5, predict_cpu_seconds=2.0, predict_bytes=5, predicted=3000)
    found = cost.together(SPENT, more)
    assert found == replace(SPENT, predict_seconds=2.0, predict_cpu_seconds=3.0, predicted=4000)
    assert cost.together(None, SPENT) == SPENT


# --- reports ----------------------------------------------------------------------------------------------------------


def test_times_change_no_byte_of_a_report_but_come_back_with_it(tmp_path: Path) -> None:
    plain, spent = regression(), replace(regression(), costs=(SPENT,))
    (tmp_path / "other").mkdir()
    paths = [plain.save(tmp_path / "other/report.json"), spent.save(tmp_path / "report.json")]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert text.csv(plain) == text.csv(spent)
    assert Report.load(paths[1]).costs == (SPENT,)
    assert Report.load(paths[0]).costs == ()
    replace(plain, title="another").save(tmp_path / "report.json")
    assert Report.load(tmp_path / "report.json").costs == ()  # those beside it are of the other report


@pytest.mark.parametrize("damage", ["", "[]", '{"report": 1}', None])
def test_damaged_costs_are_left_out(tmp_path: Path, damage: str | None) -> None:
    path = replace(regression(), costs=(SPENT,)).save(tmp_path / "report.json")
    beside = tmp_path / "report-cost.json"
    beside.write_text(beside.read_text().replace("4.0", '"4"') if damage is None else damage)
    assert Report.load(path).costs == ()


def test_the_table_of_costs_has_a_dash_where_nothing_was_measured() -> None:
    report = replace(regression(), costs=(SPENT, replace(SPENT, system="deep_ensemble", fit_seconds=None)))
    (grid,) = [grid for grid in grids(report) if grid.kind == "cost"]
    shown = {row.label: [cell.line for cell in row.cells] for row in grid.rows}
    assert shown["boosting"] == ["2", "4", "3,000 +1,000", "0.5", "1", "1,000 +0"]
    assert shown["deep_ensemble"][0] == "–"
    assert set(shown["mean"]) == {"–"}
    assert "boosting, one model" not in shown
    assert not [grid for grid in grids(regression()) if grid.kind == "cost"]


def test_costs_are_written_as_csv_beside_the_report(tmp_path: Path) -> None:
    report = replace(hostile(), costs=(replace(SPENT, system=HOSTILE[3]),))
    written = reports.write(report, tmp_path)
    (row,) = csv_format.DictReader(io.StringIO(written["cost"].read_text("utf-8")))
    assert row["system"] == f"'{HOSTILE[3]}"
    assert float(row["fit_cpu_seconds"]) == SPENT.fit_cpu_seconds
    assert "Cost" in written["html"].read_text("utf-8")


def test_what_a_file_of_predictions_took_is_told_of_that_very_file_alone(tmp_path: Path) -> None:
    model, file = fit(tmp_path / "run/model/a"), tmp_path / "mine.parquet"
    file.write_bytes(b"predictions")
    assert cost.of_file("a", file) is None
    cost.keep_beside(file, model, Used(2.0, 3.0, 10**9, 10**8), records=50)
    found = cost.of_file("a", file)
    assert found is not None
    assert (found.system, found.predict_seconds, found.predict_bytes, found.predicted) == ("a", 2.0, 10**9, 50)
    assert found.fit_seconds is not None
    file.write_bytes(b"others")
    assert cost.of_file("a", file) is None


def test_a_file_of_somebody_else_is_not_replaced_by_a_cost(tmp_path: Path) -> None:
    model, file = fit(tmp_path / "run/model/a"), tmp_path / "mine.parquet"
    file.write_bytes(b"predictions")
    cost.beside(file).write_text('{"price": 3}')
    cost.keep_beside(file, model, Used(2.0, 3.0, 10**9, 10**8), records=50)
    assert cost.beside(file).read_text() == '{"price": 3}'
    assert cost.of_file("a", file) is None
