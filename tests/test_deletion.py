"""A track is its folder and one line: without them everything else works."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from shiftbench.tracks import TRACKS
from tests.forked import Commands

PACKAGE = Path(__file__).resolve().parent.parent / "src/shiftbench"

# Imports every module; asks every command for help, also about each track that is left.
WHOLE = """
import contextlib, importlib, io, pkgutil, sys
given = sys.argv
import shiftbench
from shiftbench.cli import app, main
from shiftbench.tracks import names

here = shiftbench.__path__[0]
for found in pkgutil.walk_packages(shiftbench.__path__, "shiftbench."):
    if found.name != "shiftbench.__main__" and not found.name.endswith(".migrations.env"):  # a script of alembic
        assert importlib.import_module(found.name).__spec__.origin.startswith(here)

def helped(*words):
    sys.argv = ["shiftbench", *words, "--help"]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            main()
        except SystemExit as ended:
            assert not ended.code, words
    assert "Usage" in out.getvalue(), words

helped()
for command in {each.name for each in app.registered_commands}:
    helped(command)
for name in names():
    for command in ("run", "prepare", "example", "fetch", "show"):
        helped(command, name)
print(*names())
"""
# Then makes example data of a track and runs it; further words are those of the run. Figures are made, but not drawn,
# and leaks are looked for with few trees: both would be most of the work.
SMALL_RUN = """
import re
from io import StringIO
from contextlib import redirect_stdout
from pathlib import Path
from shiftbench.pipeline import leak
from shiftbench.report import canvas

track, *words = given[1:]
canvas.figure_of = lambda _: None
canvas.write_png = lambda _, to: to.write(b"") if hasattr(to, "write") else Path(to).touch()
canvas.write_svg = lambda _, to: to.write("<svg></svg>")
leak.TREES = leak.FEWEST_TREES

def said(*words):
    sys.argv = ["shiftbench", *words]
    with redirect_stdout(StringIO()) as out:
        try:
            main()
        except SystemExit as ended:
            assert not ended.code, words
    return out.getvalue()

data = re.search(r"^data: (.*)$", said("example", track, "--rows", "1500"), re.MULTILINE)[1]
print(said("run", track, "--data", data, *words))
"""
SMALL = {
    "weather": ("--method", "column", "--task", "regression"),
    "power": ("--method", "mlp", "--members", "1"),
}


@pytest.mark.parametrize("gone", TRACKS)
def test_a_track_can_be_deleted(gone: str, commands: Commands, tmp_path: Path) -> None:
    # Compiled modules come along, since making them costs seconds; not those that another process is just writing.
    copy = shutil.copytree(PACKAGE, tmp_path / "src/shiftbench", ignore=shutil.ignore_patterns("*.pyc.*"))
    shutil.rmtree(copy / "tracks" / gone)
    listed = copy / "tracks/__init__.py"
    text, lines = re.subn(rf'^    "{gone}": .*\n', "", listed.read_text("utf-8"), flags=re.MULTILINE)
    assert lines == 1
    listed.write_text(text, "utf-8")
    others = [name for name in TRACKS if name != gone]
    other = next(name for name in SMALL if name != gone)
    words = (other, "--replicates", "20", "--out", "run", *SMALL[other])
    done = commands.python(WHOLE + SMALL_RUN, *words, folder=tmp_path, path=tmp_path / "src")
    assert done.returncode == 0, done.stderr
    names, _, said = done.stdout.partition("\n")
    assert names.split() == others
    assert "report: run/regression/report/report.html" in said
