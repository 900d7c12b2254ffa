"""Commands in processes of their own that need not import anything: each is forked from one that has.

`python -m tests.forked` is that process. It only imports: its threads are those that libraries start when imported.
"""

from __future__ import annotations

import gc
import importlib
import importlib.util
import json
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

import shiftbench
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
        self.scratch = scratch
        path = os.pathsep.join([str(ROOT), str(ROOT / "src"), *filter(None, [os.environ.get("PYTHONPATH")])])
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.forked"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": path},
        )  # fmt: skip

    def run(self, *words: object, folder: Path | None = None, path: Iterable[Path] = (), small: bool = False) -> Done:
        """Run a command in a folder, here if none is named.

        path: where modules are looked for before all other places. small: methods of tracks learn for a moment only.
        """
        out, err = self.scratch / "stdout", self.scratch / "stderr"
        request = {"words": [str(word) for word in words], "folder": str(folder or Path.cwd()), "small": small,
                   "path": [str(place) for place in path], "out": str(out), "err": str(err)}  # fmt: skip
        _open(self._server.stdin).write(json.dumps(request) + "\n")
        _open(self._server.stdin).flush()
        code = int(_open(self._server.stdout).readline())
        return Done(code, out.read_text("utf-8"), err.read_text("utf-8"))

    def close(self) -> None:
        _open(self._server.stdin).close()
        self._server.wait()
        _open(self._server.stdout).close()


def _open(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def _import_everything() -> None:
    for name in LIBRARIES:
        if importlib.util.find_spec(name.partition(".")[0]):
            importlib.import_module(name)
    for module in pkgutil.walk_packages(shiftbench.__path__, "shiftbench."):
        importlib.import_module(module.name)


def _serve() -> None:
    """Fork a process for each command that is asked for; returns in these, which become the command."""
    replies = os.fdopen(os.dup(1), "w")
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _become(json.loads(line))
            return
        replies.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\n")
        replies.flush()


def _become(request: dict[str, Any]) -> None:
    os.chdir(request["folder"])
    for number, name in enumerate((os.devnull, request["out"], request["err"])):
        opened = os.open(name, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    sys.path[:0] = request["path"]
    if request["small"]:
        small_presets.use(pytest.MonkeyPatch())
    sys.argv = ["shiftbench", *request["words"]]
    from shiftbench.__main__ import main

    main()


if __name__ == "__main__":
    _import_everything()
    gc.freeze()
    _serve()
