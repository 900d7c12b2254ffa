from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from shiftbench import methods
from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.io import executor
from shiftbench.io.executor import Executor
from shiftbench.methods import workers

pytestmark = pytest.mark.usefixtures("new_workers")
TOY = "tests.methods.toy_worker"
PATIENCE_S = 30


@pytest.mark.parametrize("cores", [1, 3])
def test_every_member_is_trained_once_whatever_a_library_prints(cores, tmp_path):
    done: list[int] = []
    workers.train(TOY, "chatters", [4, 0, 2, 7], folder=tmp_path, cores=cores, done=done.append)
    assert sorted(done) == [0, 2, 4, 7]


def test_one_core_trains_in_the_given_order(tmp_path):
    done: list[int] = []
    workers.train(TOY, "works", [3, 1, 2], folder=tmp_path, cores=1, done=done.append)
    assert done == [3, 1, 2]


def test_members_tell_how_far_they_are_before_they_are_done(tmp_path):
    told: list[object] = []
    workers.train(
        TOY, "reports", [3, 1], folder=tmp_path, cores=1, done=told.append, step=lambda *said: told.append(said)
    )
    assert told[:3] == [(3, 1, "half of 3"), (3, 2, "all of 3 in process 0"), 3]
    assert told[3:] == [(1, 1, "half of 1"), (1, 2, "all of 1 in process 0"), 1]


def test_processes_are_numbered_so_that_each_may_have_a_gpu_of_its_own(tmp_path):
    told: set[str] = set()
    workers.train(
        TOY, "reports", [4, 6], folder=tmp_path, cores=2, done=lambda member: None, step=lambda *said: told.add(said[2])
    )
    assert {"all of 4 in process 0", "all of 6 in process 1"} <= told


def test_kept_processes_train_the_members_of_the_next_fit_and_end_with_the_block(tmp_path):
    def processes() -> set[str]:
        told: set[str] = set()
        workers.train(
            TOY, "names", [1], folder=tmp_path, cores=1, done=lambda member: None, step=lambda *said: told.add(said[2])
        )
        return told

    with workers.kept():
        first = processes()
        assert processes() == first
        os.kill(int(*first), signal.SIGKILL)  # as when memory is short
        os.waitid(os.P_PID, int(*first), os.WEXITED | os.WNOWAIT)
        second = processes()
        assert second != first
    with pytest.raises(ProcessLookupError):
        os.kill(int(*second), 0)
    assert processes() != second


def test_a_failing_member_is_named_with_its_reason(tmp_path):
    with pytest.raises(ShiftbenchError, match="member 5: expected to be trained, found ValueError: no luck with 5"):
        workers.train(TOY, "fails", [5], folder=tmp_path, cores=1, done=lambda member: None)


def test_a_dying_process_is_named_with_its_status_and_advice(tmp_path):
    with pytest.raises(ShiftbenchError, match=r"member 5: .*exit status 7.*Run again to go on"):
        workers.train(TOY, "dies", [5], folder=tmp_path, cores=1, done=lambda member: None)


def test_a_process_that_cannot_start_tells_why(tmp_path):
    with pytest.raises(ShiftbenchError, match=r"No module named .tests\.methods\.nowhere"):
        workers.train("tests.methods.nowhere", "", [0], folder=tmp_path, cores=1, done=lambda member: None)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError])
def test_no_process_outlives_a_call_that_ends_early(failure, monkeypatch, tmp_path):
    started = []

    class Noted(subprocess.Popen):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            started.append(self)

    def interrupted(member: int) -> None:
        raise failure(member)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    with pytest.raises(failure, match=r"[01]"):
        workers.train(TOY, "works", [0, 1, 2, 3], folder=tmp_path, cores=2, done=interrupted)
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2


def test_workers_die_with_their_parent_even_in_the_middle_of_a_member(tmp_path):
    # The worker holds one end of a pipe while it works: the other end tells when the worker is gone.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    code = (
        "from pathlib import Path\nfrom shiftbench.methods import workers\n"
        f"workers.train({TOY!r}, 'holds:{pipe}', [0], folder=Path(), cores=1, done=print)"
    )
    path = os.pathsep.join(sys.path)
    parent = subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path})
    try:
        assert select.select([end], [], [], PATIENCE_S)[0], "the worker never started"
        assert os.read(end, 100) == b"at work"
        assert not select.select([end], [], [], 0)[0]
        parent.kill()
        assert select.select([end], [], [], PATIENCE_S)[0], "the worker lives on without its parent"
        assert os.read(end, 100) == b""
    finally:
        parent.kill()
        parent.wait()
        os.close(end)


def test_all_cores_of_this_process_are_used_unless_told():
    assert workers.available(None) >= 1
    assert workers.available(3) == 3


@pytest.mark.parametrize("cores", [0, -1, 1.5, "two"])
def test_cores_must_be_a_whole_number_above_zero(cores):
    with pytest.raises(SettingsError, match="cores: expected a whole number >= 1, found"):
        workers.available(cores)


def test_members_are_jobs_of_a_cluster(made_up_slurm, tmp_path):
    done: list[int] = []
    with executor.using(Executor.of("slurm", workers=2)):
        workers.train(TOY, f"notes:{tmp_path}", [5, 3], folder=tmp_path, cores=1, done=done.append)
    assert sorted(done) == [3, 5]
    assert {path.name for path in tmp_path.iterdir()} - {"bin"} == {"member-3", "member-5"}


@pytest.mark.parametrize(
    ("name", "own"),
    [("boosting", {"members": 3, "iterations": 20}), ("ft_transformer", {"members": 1, "blocks": 1, "most_steps": 15})],
)
def test_members_that_an_array_trains_are_the_same_bytes(name, own, parts, made_up_slurm, monkeypatch, tmp_path):
    method = methods.method(name)

    def fit(folder):
        method.fit(
            parts.train, parts.dev, features=parts.features, target="y", folder=folder, cores=1,
            settings=method.Settings.from_dict({"task": "regression", **own}),
        )  # fmt: skip
        return {path.name: path.read_bytes() for path in folder.iterdir()}

    monkeypatch.chdir(tmp_path)
    here = fit(tmp_path / "here")
    with executor.using(Executor("slurm", 2)):
        assert fit(Path("there")) == here
        max((tmp_path / "there").glob("member_*.json")).unlink()
        assert fit(Path("there")) == here  # the same command goes on with what is missing
    assert (made_up_slurm / "asked").exists()


def test_a_member_whose_worker_is_killed_is_trained_again_by_ray(tmp_path):
    pytest.importorskip("ray")
    done: list[int] = []
    with executor.using(Executor.of("ray=local", workers=1)):
        workers.train(TOY, f"killed once:{tmp_path}", [5, 3], folder=tmp_path, cores=1, done=done.append)
    assert sorted(done) == [3, 5]
    assert (tmp_path / "killed").exists()


def test_members_here_share_the_gpus(monkeypatch, tmp_path):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "4,6")
    told: set[str] = set()
    with executor.using(Executor(gpus=1)):
        workers.train(
            TOY, "gpus", [1, 2], folder=tmp_path, cores=2, done=lambda member: None,
            step=lambda member, steps, text: told.add(text),
        )  # fmt: skip
    assert told == {"1 on 4", "2 on 6"}
