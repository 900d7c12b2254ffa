"""Commands, and the processes that they start, that need not import anything: each is forked from one that has.

`python -m tests.forked SOCKET` is that process. It only imports: its threads are those that libraries start when
imported. Each request comes over a connection of its own, which is kept by a process of its own, too.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import importlib.util
import json
import os
import pkgutil
import runpy
import select
import selectors
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import IO, Any, NoReturn

import pytest

import shiftbench
from shiftbench import cli
from shiftbench.io.executor import child, job, ray
from shiftbench.report import page
from tests import small_presets

ROOT = Path(__file__).resolve().parent.parent
LIBRARIES = ("catboost", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg", "polars", "torch")


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


class Commands:
    """Runs commands, one after the other."""

    def __init__(self, scratch: Path) -> None:
        self.scratch, self._stack, self._environment = scratch, ExitStack(), dict(os.environ)

    @cached_property
    def place(self) -> str:
        """The socket of the process that forks, which is started now, in the environment that this one began with."""
        path = os.pathsep.join(filter(None, [str(ROOT), str(ROOT / "src"), self._environment.get("PYTHONPATH")]))
        place = f"{self._stack.enter_context(TemporaryDirectory())}/s"  # a short path, which is all that sockets take
        server = self._stack.enter_context(subprocess.Popen(
            [sys.executable, "-m", "tests.forked", place], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            env={**self._environment, **job.ONE_THREAD, "PYTHONPATH": path},
        ))  # fmt: skip
        assert server.stdout is not None
        server.stdout.readline()  # it listens
        return place

    def run(self, *words: object, folder: Path | None = None, path: Iterable[Path] = (), small: bool = False) -> Done:
        """Run a command in a folder, here if none is named.

        path: where modules are looked for before all other places. small: methods of tracks learn for a moment only,
        and pictures are blank.
        """
        return self._ended("shiftbench", words, folder=folder, path=path, small=small)

    def python(self, code: str, *words: object, folder: Path, path: Path) -> Done:
        """Run code in a folder; the package is imported anew, from `path`."""
        return self._ended("", [code, *words], folder=folder, path=[path])

    def _ended(
        self, module: str, words: Iterable[object], *, folder: Path | None, path: Iterable[Path], small: bool = False
    ) -> Done:
        request = {"module": module, "words": [str(word) for word in words], "folder": str(folder or Path.cwd()),
                   "path": [str(place) for place in path], "small": small}  # fmt: skip
        told = [self.scratch / "stdout", self.scratch / "stderr"]
        with Path(os.devnull).open() as nothing, told[0].open("w") as out, told[1].open("w") as err:
            code = Forked(self.place, request, [nothing.fileno(), out.fileno(), err.fileno()]).wait()
        return Done(code, *(each.read_text("utf-8") for each in told))

    @contextmanager
    def workers(self) -> Iterator[None]:
        """Meanwhile the processes that this one starts to train, predict or try models are forked, too."""
        with pytest.MonkeyPatch.context() as patch:
            fork_workers(patch, lambda: self.place)
            yield

    def close(self) -> None:
        """End the process that forks, if there is one; it ends with its input."""
        self._stack.close()


class Forked:
    """A process that is forked, and its keeper's connection: a line with its id, and one with its exit code."""

    def __init__(self, place: str, request: Mapping[str, Any], handles: Sequence[int]) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(place)
            socket.send_fds(connection, [b"."], handles)
            connection.sendall(json.dumps(request).encode() + b"\n")
            self._told = connection.makefile()
        self.pid, self._lock, self._code = int(self._told.readline()), threading.Lock(), -1

    def kill(self) -> None:
        if not self._told.closed:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        with self._lock:
            if not self._told.closed:
                self._code = int(self._told.readline())
                self._told.close()
        return self._code

    def poll(self) -> int | None:
        """The exit code, or None as long as it runs."""
        if not self._told.closed and not select.select([self._told], [], [], 0)[0]:
            return None
        return self.wait()


class Worker(Forked):
    """As much of a `Popen` as `executor.child` needs."""

    def __init__(self, place: str, command: Sequence[str], *, stderr: IO[bytes], env: Mapping[str, str]) -> None:
        module, *words = command[command.index("-m") + 1 :]
        (given, to), (answers, back) = os.pipe(), os.pipe()
        request = {"module": module, "words": words, "folder": str(Path.cwd()), "environment": dict(env)}
        super().__init__(place, request, [given, back, stderr.fileno()])
        os.close(given)
        os.close(back)
        self.stdin, self.stdout = os.fdopen(to, "w", encoding="utf-8"), os.fdopen(answers, encoding="utf-8")


def fork_workers(patch: pytest.MonkeyPatch, place: Callable[[], str]) -> None:
    """From now on workers are forked by the process that listens at a place, which is asked for when there are any."""

    def popen(command: Sequence[str], *, stderr: IO[bytes], env: Mapping[str, str], **given: Any) -> Any:
        if ray.DRIVER in command:  # starts servers and threads of its own
            return subprocess.Popen(command, stderr=stderr, env=env, **given)
        return Worker(place(), command, stderr=stderr, env=env)

    patch.setattr(child, "subprocess", SimpleNamespace(Popen=popen, PIPE=subprocess.PIPE))


# --- the process that listens -----------------------------------------------------------------------------------------


def _import_everything() -> None:
    for name in LIBRARIES:
        if importlib.util.find_spec(name.partition(".")[0]):
            importlib.import_module(name)
    for module in pkgutil.walk_packages(shiftbench.__path__, "shiftbench."):
        if not module.name.endswith(".migrations.env"):  # a script of alembic
            importlib.import_module(module.name)
    cli._command()
    for path in Path(page.__file__).parent.joinpath("templates").glob("*.html"):
        page.template(path.name)


def _serve(place: str) -> None:
    """Fork a keeper for each connection until stdin ends; returns in what these fork, which does what is requested."""
    with socket.socket(socket.AF_UNIX) as listener, selectors.DefaultSelector() as waiting:
        listener.bind(place)
        listener.listen()
        waiting.register(listener, selectors.EVENT_READ)
        waiting.register(0, selectors.EVENT_READ)
        print(flush=True)  # noqa: T201
        while all(key.fileobj is listener for key, _ in waiting.select()):
            connection, _ = listener.accept()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:  # keepers that have ended
                    pass
            if not os.fork():
                break
            connection.close()
        else:
            return
    _keep(connection, place)


def _keep(connection: socket.socket, place: str) -> None:
    """Fork a process, and tell its id and exit code; returns in that process."""
    _, handles, _, _ = socket.recv_fds(connection, 1, 3)
    request = json.loads(connection.makefile().readline())
    if pid := os.fork():
        for handle in handles:
            os.close(handle)
        connection.sendall(f"{pid}\n".encode())
        status = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)  # its id stays its own while somebody may kill it
        assert status is not None
        code = status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
        with suppress(OSError):
            connection.sendall(f"{code}\n".encode())
            connection.recv(1)
        os.waitpid(pid, 0)
        os._exit(0)
    connection.close()
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
        os.close(handle)
    try:
        _become(request, place)
    except SystemExit as end:
        if end.code is not None and not isinstance(end.code, int):
            raise  # its words, which the interpreter prints
        _end(end.code or 0)
    _end(0)


def _end(code: int) -> NoReturn:
    """End as the interpreter does, but free no objects: that would copy all memory that they share, in 0.3 s."""
    threading._shutdown()  # type: ignore[attr-defined]  # waits for threads
    atexit._run_exitfuncs()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        raise SystemExit(code) from None  # nobody reads any more
    os._exit(code & 0xFF)


def _become(request: Mapping[str, Any], place: str) -> None:
    """Do what is requested: a command, a module of a worker, or code for which the package is imported anew."""
    os.chdir(request["folder"])
    pytest.MonkeyPatch().setattr(os, "fsync", lambda _: None)  # of no concern to a kill, and slow
    module, sys.argv = request["module"], [request["module"] or "-c", *request["words"]]
    if environment := request.get("environment"):
        os.environ.clear()
        os.environ.update(environment)
        sys.path[:] = environment["PYTHONPATH"].split(os.pathsep)
    sys.path[:0] = request.get("path", [])
    if not module:
        for name in [each for each in sys.modules if each.partition(".")[0] in ("shiftbench", "tests")]:
            del sys.modules[name]
        code = sys.argv.pop(1)
        exec(compile(code, "-c", "exec", dont_inherit=True), {"__name__": "__main__"})
    elif module == "shiftbench":
        fork_workers(pytest.MonkeyPatch(), lambda: place)
        if request["small"]:
            small_presets.use(pytest.MonkeyPatch())
            small_presets.blank_pictures(pytest.MonkeyPatch())
        from shiftbench.__main__ import main

        main()
    else:
        del sys.modules[module]
        runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _import_everything()
    gc.freeze()
    _serve(sys.argv[1])
