"""The first moments of a command: without room for temporary files, and with Ctrl-C before it has begun."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import shiftbench

ROOT = Path(__file__).parents[2]
WITHOUT_ROOM = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
from shiftbench.cli import main
main()
"""
INTERRUPTED_AT = """
import os, runpy, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job of a shell inherits that it is ignored

class Finder:
    def find_spec(self, name, *_):
        if name == {at!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Finder())
runpy.run_module("shiftbench", run_name="__main__", alter_sys=True)
"""


def python(code: str, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform == "win32", reason="the size of files is limited otherwise")
@pytest.mark.parametrize(("words", "told"), [("tables", "motion"), ("--version", shiftbench.__version__)])
def test_a_command_needs_no_room_for_temporary_files(words: str, told: str) -> None:
    done = python(WITHOUT_ROOM, words)
    assert (done.returncode, done.stderr, told in done.stdout) == (0, "", True), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
@pytest.mark.parametrize("at", ["shiftbench.cli", "typer", "shiftbench.track.published"])
def test_an_interrupt_while_libraries_are_imported_is_told_in_a_word(at: str) -> None:
    done = python(INTERRUPTED_AT.format(at=at), "tables", "motion")
    assert (done.returncode, done.stderr.split(";")[0].strip(), done.stdout) == (130, "interrupted", "")


def test_the_installed_command_is_the_module_that_answers_an_early_interrupt() -> None:
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["scripts"]
    assert scripts == {"shiftbench": "shiftbench.__main__:main"}
