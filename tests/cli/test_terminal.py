"""What the command line says while it works."""

from __future__ import annotations

import warnings

from shiftbench.cli import terminal
from shiftbench.errors import TableWarning


def test_a_log_gets_a_line_now_and_then(monkeypatch, capsys):
    monkeypatch.setattr(terminal, "SILENT_S", 0.0)
    with terminal.progress_bar() as progress:
        progress("fit", 3, 1_000)
    assert capsys.readouterr().err.splitlines()[0] == "fit: 3 of 1,000"
    monkeypatch.setattr(terminal, "SILENT_S", 60.0)
    with terminal.progress_bar() as progress:
        progress("fit", 4, 1_000)
    assert capsys.readouterr().err == ""


def test_warnings_of_libraries_are_not_for_the_terminal(capsys):
    with terminal.progress_bar():
        warnings.warn("overflow encountered in square", RuntimeWarning, stacklevel=1)
        warnings.warn(TableWarning("a note on a table"), stacklevel=1)
    assert capsys.readouterr().err.splitlines() == ["warning: a note on a table"]
