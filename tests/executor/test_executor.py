"""Work in pieces: all executors do the same, say what went wrong, and leave no process behind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError, UnknownNameError
from shiftbench.io import executor
from shiftbench.io.executor import Executor, Job, gpus, processes, slurm, task
from tests.executor import made_work

HERE = ("serial", "processes")


def written(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def squares(count):
    return {f"{number}.txt": str(number**2) for number in range(count)}


@pytest.mark.parametrize("name", HERE)
@pytest.mark.parametrize("workers", [None, 1, 3])
def test_every_item_is_done_whatever_the_executor(name, workers, tmp_path):
    said = []
    job, ended = Job(made_work.SQUARE, str(tmp_path), 5), []
    executor.run(
        job, Executor(name, workers), progress=lambda done, total: said.append((done, total)), ended=ended.append
    )
    assert sorted(ended) == [0, 1, 2, 3, 4]
    assert written(tmp_path) == squares(5)
    assert said == [(done, 5) for done in range(1, 6)]


@pytest.mark.parametrize("name", HERE)
def test_nothing_to_do_is_no_error(name, tmp_path):
    executor.run(Job(made_work.SQUARE, str(tmp_path), 0), Executor(name))
    assert not written(tmp_path)


@pytest.mark.parametrize("name", HERE)
def test_problems_of_all_items_are_told_in_order_and_the_others_are_done(name, tmp_path):
    with pytest.raises(ShiftbenchError, match="input 1: expected an even number") as caught:
        executor.run(Job(made_work.PICKY, str(tmp_path), 5), Executor(name, 2))
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["input 1", "1", "input 3", "3"]
    assert written(tmp_path).keys() == {"0.txt", "2.txt", "4.txt"}


def test_many_problems_are_counted(tmp_path):
    with pytest.raises(ShiftbenchError, match=r"… and 80 more\.") as caught:
        executor.run(Job(made_work.PICKY, str(tmp_path), 100), Executor("serial"))
    assert len(caught.value.problems) == executor.LISTED + 1


@pytest.mark.parametrize("name", HERE)
def test_what_is_not_the_inputs_fault_ends_the_work_at_once(name, tmp_path):
    with pytest.raises(
        ShiftbenchError, match=r"item 0: expected to be done, found No space left on device\. Make room"
    ):
        executor.run(Job(made_work.BROKEN, str(tmp_path), 100), Executor(name, 1))


@pytest.mark.parametrize("name", HERE)
def test_a_missing_library_is_told_as_such(name, tmp_path):
    with pytest.raises(MissingExtraError, match="expected OpenCV"):
        executor.run(Job(made_work.LACKING, str(tmp_path), 3), Executor(name, 1))


def test_a_dead_worker_is_told_with_its_item(tmp_path):
    with pytest.raises(ShiftbenchError, match=r"item 2: expected to be done, found .* ended .SIGKILL"):
        executor.run(Job(made_work.DEADLY, str(tmp_path), 5), Executor(workers=1))


def test_what_a_library_prints_is_no_reply(tmp_path):
    executor.run(Job(made_work.CHATTY, str(tmp_path), 2), Executor(workers=1))
    assert written(tmp_path) == squares(2)


def test_opencv_has_one_thread_in_a_worker(tmp_path):
    pytest.importorskip("cv2")
    executor.run(Job(made_work.THREADS, str(tmp_path), 1), Executor(workers=1))
    assert written(tmp_path) == {"0.txt": "1"}


def test_no_process_outlives_an_interrupted_run(tmp_path, monkeypatch):
    started = []

    class Watched(processes._Worker):
        def __init__(self, job, given):
            super().__init__(job, given)
            started.append(self.process)

    monkeypatch.setattr(processes, "_Worker", Watched)

    def interrupt(done, total):
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        executor.run(Job(made_work.SLOW, str(tmp_path), 4), Executor(workers=2), progress=interrupt)
    assert time.monotonic() - start < 30  # an item would sleep for 60 s
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc whether a process runs")
def test_workers_die_with_their_parent_even_in_the_middle_of_an_item(tmp_path):
    code = (
        "import sys\nfrom shiftbench.io import executor\nfrom tests.executor import made_work\n"
        "executor.run(executor.Job(made_work.MARKED, sys.argv[1], 1), executor.Executor())\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], env=processes.environment())
    mark = tmp_path / "0.txt"
    until(mark.exists)
    worker = int(mark.read_text())
    parent.kill()
    parent.wait()
    until(lambda: not is_running(worker))


def until(fulfilled, *, seconds=30):
    start = time.monotonic()
    while not fulfilled():
        assert time.monotonic() - start < seconds, "waited too long"
        time.sleep(0.02)


def is_running(process):
    """Whether a process is there and more than a name in a table that nobody has read yet."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_invalid_executors_and_jobs_are_refused():
    with pytest.raises(UnknownNameError, match="Unknown executor 'thread'"):
        Executor("thread")
    with pytest.raises(SettingsError, match=r"workers: expected a whole number from 1 on, found 0\."):
        Executor(workers=0)
    with pytest.raises(SettingsError, match=r"gpus: expected a whole number from 0 on, found -1\."):
        Executor(gpus=-1)
    with pytest.raises(
        SettingsError, match=r"executor serial: expected ray=HOST:PORT or ray=local .* found 'somewhere:1'"
    ):
        Executor.of("serial=somewhere:1")
    with pytest.raises(SettingsError, match=r"executor ray: expected ray=HOST:PORT or ray=local .* found 'somewhere'"):
        Executor.of("ray=somewhere")
    with pytest.raises(SettingsError, match="work: expected 'module:function', found 'square'"):
        Job("square", "", 1)
    with pytest.raises(SettingsError, match="items: expected a whole number from 0 on, found -1"):
        Job(made_work.SQUARE, "", -1)


def test_an_executor_is_written_as_its_name_or_with_the_address_of_a_cluster():
    assert Executor.of("ray", workers=2, gpus=1) == Executor("ray", 2, 1, None)
    assert Executor.of("ray=local").address == "local"
    assert Executor.of("ray=head:6379") == Executor("ray", address="head:6379")
    assert [Executor(name).elsewhere for name in executor.EXECUTORS] == [False, False, True, True]


# --- GPUs ------------------------------------------------------------------------------------------------------------


def test_processes_share_gpus_in_turn(monkeypatch, tmp_path):
    monkeypatch.setenv(gpus.VISIBLE, "0,2,5,7,9")
    seen = [gpus.environment(2, place)[gpus.VISIBLE] for place in range(3)]
    assert seen == ["0,2", "5,7", "0,2"]
    assert gpus.environment(0, 3) == {}
    with pytest.raises(SettingsError, match="gpus: expected 6 GPUs for each job, found 5 on this machine"):
        gpus.environment(6, 0)
    executor.run(Job(made_work.GPUS, str(tmp_path), 1), Executor(workers=1, gpus=1))
    assert written(tmp_path) == {"0.txt": "0"}


def test_gpus_are_counted_where_the_environment_does_not_name_them(monkeypatch, tmp_path):
    monkeypatch.delenv(gpus.VISIBLE, raising=False)
    monkeypatch.setattr(gpus, "DEVICES", tmp_path)
    for name in ("nvidia10", "nvidia2", "nvidiactl", "null"):
        (tmp_path / name).touch()
    assert gpus.visible() == ["2", "10"]
    with pytest.raises(SettingsError, match="expected 3 GPUs for each job, found 2"):
        executor.run(Job(made_work.GPUS, str(tmp_path), 1), Executor(gpus=3))


# --- Slurm -----------------------------------------------------------------------------------------------------------


def run_array(script, tasks):
    """Run the tasks of an array script here, as Slurm would, one after another."""
    environment = processes.environment()
    return [
        subprocess.run(
            ["bash", str(script)], env={**environment, "SLURM_ARRAY_TASK_ID": str(number)},
            capture_output=True, text=True, check=False,
        )
        for number in tasks
    ]  # fmt: skip


def test_the_tasks_of_an_array_share_the_items(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    script = slurm.script(
        Job(made_work.SQUARE, str(out), 5), tmp_path / "a job's folder", tasks=2, options=["--partition=cpu"]
    )
    text = script.read_text()
    assert text.startswith("#!/bin/bash\n#SBATCH --array=0-1\n")
    assert "#SBATCH --partition=cpu\n" in text
    (first,) = run_array(script, [0])
    assert (first.returncode, first.stderr) == (0, "")
    assert written(out).keys() == {"0.txt", "2.txt", "4.txt"}
    (second,) = run_array(script, [1])
    assert second.returncode == 0
    assert written(out) == squares(5)


def test_a_failing_task_fails_and_says_why(tmp_path):
    script = slurm.script(Job(made_work.PICKY, str(tmp_path), 2), tmp_path, tasks=1)
    (done,) = run_array(script, [0])
    assert done.returncode != 0
    assert "item 1: input 1: expected an even number, found 1." in done.stderr


@pytest.mark.parametrize(
    "content",
    ["[" * 100_000, "3", '{"tasks": 1e400, "work": "a:b", "argument": "", "items": 1}',
     '{"tasks": 1, "work": 3, "argument": "", "items": 1}',
     '{"tasks": 1, "work": "a:b", "argument": "", "items": "x"}'],
)  # fmt: skip
def test_a_damaged_job_is_refused(tmp_path, content):
    (tmp_path / task.JOB).write_text(content)
    with pytest.raises(SettingsError, match="expected"):
        task.array_task(tmp_path, 0)


def test_an_array_has_no_more_tasks_than_items_and_than_slurm_takes(tmp_path):
    assert "--array=0-2\n" in slurm.script(Job(made_work.SQUARE, "", 3), tmp_path, tasks=9).read_text()
    assert "--array=0-999\n" in slurm.script(Job(made_work.SQUARE, "", 5000), tmp_path).read_text()


def test_what_cannot_be_an_array_is_refused(tmp_path):
    job = Job(made_work.SQUARE, "", 3)
    with pytest.raises(SettingsError, match="options: expected such as '--partition=cpu', found"):
        slurm.script(job, tmp_path, options=["--time=1\nrm -r x"])
    with pytest.raises(SettingsError, match="tasks: expected a whole number from 1 on, found 0"):
        slurm.script(job, tmp_path, tasks=0)
    with pytest.raises(SettingsError, match="expected at least one item"):
        slurm.script(Job(made_work.SQUARE, "", 0), tmp_path)
    with pytest.raises(SettingsError, match=r"job\.json: expected the job of a Slurm array"):
        task.main([str(tmp_path), "0"])
    slurm.script(job, tmp_path)
    with pytest.raises(SettingsError, match="expected one of the tasks 0 to 2, found 3"):
        task.main([str(tmp_path), "3"])
    with pytest.raises(SettingsError, match="expected FOLDER NUMBER"):
        task.main([str(tmp_path), "one"])


def test_each_task_of_an_array_asks_for_its_gpus(tmp_path):
    assert "#SBATCH --gres=gpu:2\n" in slurm.script(Job(made_work.SQUARE, "", 3), tmp_path, gpus=2).read_text()
    assert "--gres" not in slurm.script(Job(made_work.SQUARE, "", 3), tmp_path).read_text()


def shared(work, folder, items):
    folder.mkdir(exist_ok=True)
    return Job(work, str(folder), items, (str(folder),))


def test_an_array_is_submitted_and_waited_for(made_up_slurm, tmp_path):
    out, said = tmp_path / "out", []
    executor.run(shared(made_work.SQUARE, out, 5), Executor("slurm", 2), progress=lambda done, total: said.append(done))
    assert written(out) == squares(5)
    assert said == [1, 2, 3, 4, 5]
    assert (made_up_slurm / "asked").read_text().startswith("--parsable --wait ")


def test_what_goes_wrong_in_an_array_is_told(made_up_slurm, tmp_path):
    with pytest.raises(ShiftbenchError, match="input 1: expected an even number"):
        executor.run(shared(made_work.PICKY, tmp_path / "picky", 4), Executor("slurm", 2))
    with pytest.raises(ShiftbenchError, match=r"item 2: .* its task had ended"):
        executor.run(shared(made_work.DEADLY, tmp_path / "deadly", 3), Executor("slurm", 1))
    assert not list(tmp_path.rglob(slurm.FOLDER))


def test_a_refused_array_is_told_in_the_words_of_sbatch(made_up_slurm, tmp_path):
    (made_up_slurm / "sbatch").write_text("#!/bin/bash\necho 'sbatch: error: invalid account' >&2\nexit 1\n")
    with pytest.raises(ShiftbenchError, match="expected sbatch to take the array, found: sbatch: error: invalid acc"):
        executor.run(shared(made_work.SQUARE, tmp_path / "out", 1), Executor("slurm"))


def test_an_array_that_nobody_waits_for_any_more_is_cancelled(made_up_slurm, tmp_path):
    def interrupt(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        executor.run(shared(made_work.SLOW, tmp_path / "out", 2), Executor("slurm", 1), progress=interrupt)
    assert (made_up_slurm / "cancelled").read_text() == "42\n"


def test_without_sbatch_an_array_is_refused_before_anything_starts(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SettingsError, match="executor slurm: expected the command sbatch on PATH, found none"):
        executor.require_shared(Executor("slurm"), [tmp_path])
    assert not list(tmp_path.iterdir())
