"""Worker processes: started again when they die, ended with their server, whatever ends that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from shiftbench.challenge.workers import Workers

BUSY = [sys.executable, "-c", "import time; time.sleep(600)"]
MAIN = "from shiftbench.challenge import workers; workers._end_with_parent(); import time; time.sleep(600)"


def soon(true: Callable[[], object], seconds: float = 20) -> bool:
    ends = time.monotonic() + seconds
    while not true() and time.monotonic() < ends:
        time.sleep(0.02)
    return bool(true())


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z" if Path("/proc").exists() else True


def workers(count: int, command: list[str]) -> Workers:
    return Workers(Path("state"), Path("challenge"), "", count, command=command)


def test_a_worker_that_dies_is_started_again_and_all_end_on_close():
    held = workers(2, BUSY)
    try:
        assert soon(lambda: len(held.pids) == 2)
        first = held.pids
        os.kill(first[0], signal.SIGKILL)
        assert soon(lambda: len(held.pids) == 2 and first[0] not in held.pids)
        assert first[1] in held.pids
        pids = held.pids
    finally:
        held.close()
    assert held.pids == []
    assert not any(map(alive, pids))


def test_the_password_of_a_database_is_on_no_command_line(tmp_path: Path):
    told = f"open({str(tmp_path / 'url')!r}, 'w').write(os.environ['SHIFTBENCH_DATABASE'])"
    code = f"import os, time; {told}; time.sleep(600)"
    held = Workers(
        Path("state"), Path("challenge"), "postgresql://me:secret@host/db", 1, command=[sys.executable, "-c", code]
    )
    try:
        assert soon(lambda: (tmp_path / "url").exists() and (tmp_path / "url").read_text())
        assert (tmp_path / "url").read_text() == "postgresql://me:secret@host/db"
        assert "secret" not in " ".join(held._command)
    finally:
        held.close()


def test_one_that_dies_at_once_is_not_started_all_the_time(tmp_path: Path):
    note = tmp_path / "starts"
    held = workers(1, [sys.executable, "-S", "-c", f"open({str(note)!r}, 'a').write('x')"])
    try:
        assert soon(lambda: note.exists() and len(note.read_text()) >= 3)
        time.sleep(1)
        assert len(note.read_text()) < 12
    finally:
        held.close()


def test_a_worker_ends_with_a_server_that_was_killed():
    server = subprocess.Popen([sys.executable, "-c", f"""
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", {MAIN!r}], stdin=subprocess.PIPE, start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""], stdout=subprocess.PIPE, text=True)  # fmt: skip
    assert server.stdout is not None
    child = int(server.stdout.readline())
    assert alive(child)
    server.kill()
    server.wait()
    server.stdout.close()
    assert soon(lambda: not alive(child))
