"""Streams that are closed, full or no longer read: the exit code stays, and nothing lands where it does not belong."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have other devices and descriptors")

MISSING = ("report", "missing.json")  # a complaint


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def shell(redirected: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command with redirections, in a shell."""
    line = f'exec "$@" {redirected}'
    command = ["sh", "-c", line, "sh", sys.executable, "-m", "shiftbench", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def unread(*words: str) -> subprocess.CompletedProcess[bytes]:
    """A command whose output nobody reads from the start."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "shiftbench", *words]
    try:
        return subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, check=False)
    finally:
        os.close(writer)


@pytest.mark.parametrize(("words", "code"), [(("--help",), 141), (("tables", "motion"), 141), (MISSING, 2)])
def test_a_closed_pipe_ends_as_shells_expect(words: tuple[str, ...], code: int) -> None:
    done = unread(*words)
    assert (done.returncode, b"Traceback" in done.stderr, b"Exception" in done.stderr) == (code, False, False)


@pytest.mark.parametrize(
    ("redirected", "words", "code"),
    [
        ("2>/dev/full", MISSING, 2),
        ("2>/dev/full", ("nonsense",), 2),
        ("2>&-", MISSING, 2),
        (">&-", MISSING, 2),
        (">&- 2>&- <&-", MISSING, 2),
        (">&- 2>&- <&-", ("--version",), 0),
        (">/dev/full", ("--version",), 2),
    ],
)  # fmt: skip
def test_a_stream_that_cannot_be_written_leaves_the_exit_code(
    redirected: str, words: tuple[str, ...], code: int
) -> None:
    done = shell(redirected, *words)
    assert (done.returncode, done.stdout) == (code, "")
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_first_file_that_is_opened_is_no_standard_stream(number: int) -> None:
    code = (
        "import os, sys\nfrom shiftbench import __main__\n__main__._open_standard_streams()\n"
        f"told = [os.readlink('/proc/self/fd/{number}'), os.open('opened', os.O_CREAT | os.O_RDWR) > 2]\n"
        f"open('told', 'w').write(repr([*told, sys.stderr is not None, os.get_inheritable({number})]))\n"
    )
    line = f'exec "$@" {number}{"<" if number == 0 else ">"}&-'
    subprocess.run(["sh", "-c", line, "sh", sys.executable, "-c", code], check=True)
    assert Path("told").read_text("utf-8") == "['/dev/null', True, True, True]"
