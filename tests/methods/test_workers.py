from __future__ import annotations

import os
import select
import signal
import subprocess
import sys

import pytest

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.methods import workers

TOY = "tests.methods.toy_worker"
PATIENCE_S = 30


@pytest.mark.parametrize("cores", [1, 3])
def test_every_member_is_trained_once_whatever_a_library_prints(cores):
    done: list[int] = []
    workers.train(TOY, "chatters", [4, 0, 2, 7], cores=cores, done=done.append)
    assert sorted(done) == [0, 2, 4, 7]


def test_one_core_trains_in_the_given_order():
    done: list[int] = []
    workers.train(TOY, "works", [3, 1, 2], cores=1, done=done.append)
    assert done == [3, 1, 2]


def test_members_tell_how_far_they_are_before_they_are_done():
    told: list[object] = []
    workers.train(TOY, "reports", [3, 1], cores=1, done=told.append, step=lambda *said: told.append(said))
    assert told[:3] == [(3, 1, "half of 3"), (3, 2, "all of 3 in process 0"), 3]
    assert told[3:] == [(1, 1, "half of 1"), (1, 2, "all of 1 in process 0"), 1]


def test_processes_are_numbered_so_that_each_may_have_a_gpu_of_its_own():
    told: set[str] = set()
    workers.train(TOY, "reports", [4, 6], cores=2, done=lambda member: None, step=lambda *said: told.add(said[2]))
    assert {"all of 4 in process 0", "all of 6 in process 1"} <= told


def test_a_failing_member_is_named_with_its_reason():
    with pytest.raises(ShiftbenchError, match="member 5: expected to be trained, found ValueError: no luck with 5"):
        workers.train(TOY, "fails", [5], cores=1, done=lambda member: None)


def test_a_dying_process_is_named_with_its_status_and_advice():
    with pytest.raises(ShiftbenchError, match=r"member 5: .*exit status 7.*Run again to go on"):
        workers.train(TOY, "dies", [5], cores=1, done=lambda member: None)


def test_a_process_that_cannot_start_tells_why():
    with pytest.raises(ShiftbenchError, match=r"No module named tests\.methods\.nowhere"):
        workers.train("tests.methods.nowhere", "", [0], cores=1, done=lambda member: None)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError])
def test_no_process_outlives_a_call_that_ends_early(failure, monkeypatch):
    started = []

    class Noted(subprocess.Popen):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            started.append(self)

    def interrupted(member: int) -> None:
        raise failure(member)

    monkeypatch.setattr(subprocess, "Popen", Noted)
    with pytest.raises(failure, match=r"[01]"):
        workers.train(TOY, "works", [0, 1, 2, 3], cores=2, done=interrupted)
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2


def test_workers_die_with_their_parent_even_in_the_middle_of_a_member(tmp_path):
    # The worker holds one end of a pipe while it works: the other end tells when the worker is gone.
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    code = f"from shiftbench.methods import workers\nworkers.train({TOY!r}, 'holds:{pipe}', [0], cores=1, done=print)"
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
