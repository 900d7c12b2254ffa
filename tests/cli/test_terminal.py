"""What the command line says while it works."""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest

from shiftbench.cli import terminal
from shiftbench.errors import TableWarning
from tests.cli.conftest import errors_table, run_in


def test_a_log_gets_a_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "SILENT_S", 0.0)
    monkeypatch.setattr(terminal, "SILENT_SHARE", 0.0)
    with terminal.progress_bar() as progress:
        progress("fit", 3, 1_000)
        progress("read", 0, 1)
        progress("download", 70_000, 0)
    assert capsys.readouterr().err.splitlines()[:3] == [
        "0:00:00 fit: 3 of 1,000", "0:00:00 read", "0:00:00 download: 70,000",
    ]  # fmt: skip
    monkeypatch.setattr(terminal, "SILENT_S", 60.0)
    with terminal.progress_bar() as progress:
        progress("fit", 4, 1_000)
    assert capsys.readouterr().err == ""


def test_long_resampling_tells_once_that_fewer_replicates_are_faster(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "SLOW_S", -1.0)
    for total, lines in ((2_000, 1), (400, 0)):  # of 200 replicates on each of two splits
        with terminal.progress_bar() as progress:
            progress("fit", 3, 1_000)
            progress("assess", 0, total)
            progress("assess cNLL", 10, total)
            progress("assess", total - 1, total)
        assert capsys.readouterr().err.count("for a first look --replicates 200 is faster, and less exact") == lines


def test_a_log_of_a_day_has_a_few_hundred_lines_however_often_work_is_told(monkeypatch, capsys):
    clock = iter(np.arange(0, 86_400, 0.5).repeat(3).tolist())
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(clock))
    log = terminal._Log()
    with contextlib.suppress(StopIteration):
        while True:
            log("fit", 1, 9)
    lines = capsys.readouterr().err.splitlines()
    assert 60 < len(lines) < 300
    assert lines[0].startswith("0:00:30 ")
    assert lines[-1].startswith("23:")


def test_a_log_also_tells_of_work_that_reports_nothing(monkeypatch, capsys):
    for name, value in {"SILENT_S": 0.1, "SILENT_SHARE": 0.0, "BEAT_S": 0.02}.items():
        monkeypatch.setattr(terminal, name, value)
    with terminal.progress_bar() as progress:
        progress("read", 0, 1)
        before = threading.active_count()
        time.sleep(0.5)
    assert capsys.readouterr().err.splitlines()[:2] == ["0:00:00 read"] * 2
    time.sleep(0.1)
    assert threading.active_count() < before


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "env", "bars"),
    [
        (Terminal, {"TERM": "xterm"}, True),
        (Terminal, {"TERM": "xterm", "NO_COLOR": "1"}, True),
        (Terminal, {"TERM": "dumb"}, False),
        (io.StringIO, {"TERM": "xterm", "FORCE_COLOR": "1"}, False),
    ],
)
def test_bars_are_drawn_only_where_a_cursor_can_move(monkeypatch, stream, env, bars):
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stderr", file := stream())
    with terminal.progress_bar() as progress:
        for stage in range(30):
            progress(f"stage {stage}", 1, 2)
    drawn = file.getvalue()
    assert ("\x1b[" in drawn) is bars
    if not bars:
        return
    last = drawn.rpartition("stage 29")[0].rpartition("stage 22")[2]  # the last picture has eight stages
    assert "stage 23" in last
    assert "stage 21" not in last
    assert (re.search(r"\x1b\[(?:\d+;)*3\d", drawn) is None) is ("NO_COLOR" in env)


def test_warnings_of_libraries_are_not_for_the_terminal(capsys):
    with terminal.progress_bar():
        warnings.warn("overflow encountered in square", RuntimeWarning, stacklevel=1)
        warnings.warn(TableWarning("a note on a table"), stacklevel=1)
    assert capsys.readouterr().err.splitlines() == ["warning: a note on a table"]


def test_a_reader_who_has_seen_enough_ends_a_command_as_shells_expect(tmp_path):
    (tmp_path / "m.csv").write_text("error,uncertainty\n" + "".join(f"{i % 7},{i % 5}\n" for i in range(60)))
    command = [sys.executable, "-m", "shiftbench", "assess", "m.csv", "--replicates", "5", "--out", "out"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        said = process.stderr.read()
    assert (process.returncode, b"Traceback" in said) == (141, False)
    assert (tmp_path / "out/report.json").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_names_and_values_that_are_not_utf8_are_refused(shiftbench, tmp_path, monkeypatch):
    odd = os.fsdecode(b"caf\xe9")
    said = shiftbench("partition", odd + ".csv", "--group", f"a == '{odd}'", "--out", "p")
    assert said.code == 2
    assert said.err.count("expected names and values in UTF-8, found b") == 2
    (tmp_path / odd).mkdir()
    monkeypatch.chdir(tmp_path / odd)
    said = shiftbench("tables", "motion")
    assert (said.code, "caf\\xe9" in said.err) == (2, True)


SIZES = ("", "abc", "-5", "0", "1", "²", "1000000000", "9" * 5_000)


@pytest.fixture(scope="module")
def scored(tmp_path_factory):
    """The folder of a small report."""
    folder = tmp_path_factory.mktemp("scored")
    errors_table(60).write_csv(folder / "e.csv")
    said = run_in(folder, "assess", "e.csv", "--replicates", "5", "--out", "out")
    assert said.code == 0, said.err
    return folder / "out"


@pytest.mark.parametrize("size", SIZES, ids=[size[:10] for size in SIZES])
def test_any_size_of_a_terminal_shows_everything_in_a_bounded_width(shiftbench, monkeypatch, capsys, scored, size):
    for words in (("report", scored, "--full"), ("--help",)):
        for name in ("COLUMNS", "LINES"):
            monkeypatch.setenv(name, size)
        said = shiftbench(*words)
        assert (said.code, said.err) == (0, "")
        assert 20 <= max(map(len, said.out.splitlines())) <= 1_000
    monkeypatch.setenv("COLUMNS", size)
    terminal.bound_size()
    with terminal.progress_bar():
        warnings.warn(TableWarning("a note on a table"), stacklevel=1)
    assert capsys.readouterr().err.splitlines() == ["warning: a note on a table"]
