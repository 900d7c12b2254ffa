"""Work in pieces: all executors do the same, say what went wrong, and leave no process behind."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from shiftbench import executor
from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError, UnknownNameError
from shiftbench.executor import Job, processes, ray, slurm, task
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
    executor.run(
        Job(made_work.SQUARE, str(tmp_path), 5),
        name=name, workers=workers, progress=lambda done, total: said.append((done, total)),
    )  # fmt: skip
    assert written(tmp_path) == squares(5)
    assert said == [(done, 5) for done in range(1, 6)]


@pytest.mark.parametrize("name", HERE)
def test_nothing_to_do_is_no_error(name, tmp_path):
    executor.run(Job(made_work.SQUARE, str(tmp_path), 0), name=name)
    assert not written(tmp_path)


@pytest.mark.parametrize("name", HERE)
def test_problems_of_all_items_are_told_in_order_and_the_others_are_done(name, tmp_path):
    with pytest.raises(ShiftbenchError, match="input 1: expected an even number") as caught:
        executor.run(Job(made_work.PICKY, str(tmp_path), 5), name=name, workers=2)
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["input 1", "1", "input 3", "3"]
    assert written(tmp_path).keys() == {"0.txt", "2.txt", "4.txt"}


def test_many_problems_are_counted(tmp_path):
    with pytest.raises(ShiftbenchError, match=r"… and 80 more\.") as caught:
        executor.run(Job(made_work.PICKY, str(tmp_path), 100), name="serial")
    assert len(caught.value.problems) == executor.LISTED + 1


@pytest.mark.parametrize("name", HERE)
def test_what_is_not_the_inputs_fault_ends_the_work_at_once(name, tmp_path):
    with pytest.raises(ShiftbenchError, match=r"item 0: expected to be done, found OSError: .*No space left"):
        executor.run(Job(made_work.BROKEN, str(tmp_path), 100), name=name, workers=1)


@pytest.mark.parametrize("name", HERE)
def test_a_missing_library_is_told_as_such(name, tmp_path):
    with pytest.raises(MissingExtraError, match="expected OpenCV"):
        executor.run(Job(made_work.LACKING, str(tmp_path), 3), name=name, workers=1)


def test_a_dead_worker_is_told_with_its_item(tmp_path):
    with pytest.raises(ShiftbenchError, match=r"item 2: expected to be done, found .* ended .SIGKILL"):
        executor.run(Job(made_work.DEADLY, str(tmp_path), 5), workers=1)


def test_what_a_library_prints_is_no_reply(tmp_path):
    executor.run(Job(made_work.CHATTY, str(tmp_path), 2), workers=1)
    assert written(tmp_path) == squares(2)


def test_opencv_has_one_thread_in_a_worker(tmp_path):
    pytest.importorskip("cv2")
    executor.run(Job(made_work.THREADS, str(tmp_path), 1), workers=1)
    assert written(tmp_path) == {"0.txt": "1"}


def test_no_process_outlives_an_interrupted_run(tmp_path, monkeypatch):
    started = []

    class Watched(processes._Worker):
        def __init__(self, job):
            super().__init__(job)
            started.append(self.process)

    monkeypatch.setattr(processes, "_Worker", Watched)

    def interrupt(done, total):
        raise KeyboardInterrupt

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        executor.run(Job(made_work.SLOW, str(tmp_path), 4), workers=2, progress=interrupt)
    assert time.monotonic() - start < 30  # an item would sleep for 60 s
    assert len(started) == 2
    assert all(process.poll() is not None for process in started)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="asks /proc whether a process runs")
def test_workers_die_with_their_parent_even_in_the_middle_of_an_item(tmp_path):
    code = (
        "import sys\nfrom shiftbench import executor\nfrom tests.executor import made_work\n"
        "executor.run(executor.Job(made_work.MARKED, sys.argv[1], 1))\n"
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


def test_settings_of_no_use_are_refused(tmp_path):
    job = Job(made_work.SQUARE, str(tmp_path), 1)
    with pytest.raises(UnknownNameError, match="Unknown executor 'thread'"):
        executor.run(job, name="thread")
    with pytest.raises(SettingsError, match=r"workers: expected a whole number from 1 on, found 0\."):
        executor.run(job, workers=0)
    with pytest.raises(SettingsError, match="address: expected none"):
        executor.run(job, name="serial", address="somewhere")
    with pytest.raises(SettingsError, match="work: expected 'module:function', found 'square'"):
        Job("square", "", 1)
    with pytest.raises(SettingsError, match="items: expected a whole number from 0 on, found -1"):
        Job(made_work.SQUARE, "", -1)


def test_without_ray_the_extra_is_named(monkeypatch, tmp_path):
    def absent(name):
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(ray, "import_module", absent)
    with pytest.raises(MissingExtraError, match=r"shiftbench\[ray\]"):
        executor.run(Job(made_work.SQUARE, str(tmp_path), 1), name="ray")


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


# --- Ray, a made-up one: what is done with what it answers ------------------------------------------------------------


class MadeUpRay:
    """Ray's few functions that are used, in this process."""

    class exceptions:
        class RayError(Exception):
            pass

    def __init__(self, dying=None):
        self.dying, self.waiting, self.most, self.ended = dying, {}, 0, False

    def is_initialized(self):
        return False

    def init(self, **settings):
        if settings.get("address"):
            raise ConnectionError("nobody answers")
        self.settings = settings

    def cluster_resources(self):
        return {"CPU": 2.0}

    def remote(self, **resources):
        def made(function):
            self.function = function
            return SimpleNamespace(remote=lambda *arguments: arguments)

        return made

    def wait(self, references, *, num_returns):
        self.most = max(self.most, len(references))
        return references[-1:], references[:-1]

    def get(self, reference):
        if self.dying == reference[-1]:
            raise self.exceptions.RayError("The worker died.\nAnd more.")
        return self.function(*reference)

    def shutdown(self):
        self.ended = True


@pytest.fixture
def made_up_ray(monkeypatch):
    made = MadeUpRay()
    monkeypatch.setattr(ray, "import_module", lambda name: made)
    return made


def test_ray_is_given_no_more_than_it_can_start(made_up_ray, tmp_path):
    said = []
    job = Job(made_work.SQUARE, str(tmp_path), 20)
    executor.run(job, name="ray", workers=2, progress=lambda done, total: said.append(done))
    assert written(tmp_path) == squares(20)
    assert said == list(range(1, 21))
    assert made_up_ray.most == 2 * ray.AHEAD
    assert made_up_ray.ended
    assert made_up_ray.settings["_node_ip_address"] == "127.0.0.2"
    assert made_up_ray.settings["num_cpus"] == 2


def test_problems_come_back_from_ray(made_up_ray, tmp_path):
    with pytest.raises(ShiftbenchError, match="input 1: expected an even number") as caught:
        executor.run(Job(made_work.PICKY, str(tmp_path), 4), name="ray")
    assert len(caught.value.problems) == 4
    made_up_ray.dying = 2
    with pytest.raises(ShiftbenchError, match="item 2: expected to be done, found RayError: The worker died"):
        executor.run(Job(made_work.SQUARE, str(tmp_path), 4), name="ray")
    assert made_up_ray.ended


def test_a_cluster_that_is_not_there_is_told(made_up_ray, tmp_path):
    with pytest.raises(SettingsError, match="address: expected a Ray cluster at 'ray://nowhere', found: nobody"):
        executor.run(Job(made_work.SQUARE, str(tmp_path), 1), name="ray", address="ray://nowhere")
