"""What the command line offers before it works: help, lists of names, and completion in a shell."""

from __future__ import annotations

import sys

import pytest

from shiftbench.cli.options import listed, separated
from shiftbench.methods import METHODS
from shiftbench.methods.presets import PRESETS
from shiftbench.scores.metric import METRICS
from shiftbench.tracks import names, track

from .conftest import Shiftbench

COMMANDS = ("run", "assess", "compare", "partition", "fit", "predict", "report", "tables", "example", "serve")
ABOUT_TRACKS = ("run", "example", "fetch", "prepare", "show")


@pytest.mark.parametrize(
    "words",
    [(), *((command,) for command in COMMANDS), *((command, name) for command in ABOUT_TRACKS for name in names())],
    ids=" ".join,
)
def test_h_is_help(shiftbench: Shiftbench, words: tuple[str, ...]) -> None:
    short, long = shiftbench(*words, "-h"), shiftbench(*words, "--help")
    assert (short.code, short.err, short.out) == (0, "", long.out)
    assert "-h, --help" in short.out


def test_run_lists_methods_presets_and_tracks_with_a_line_each(shiftbench: Shiftbench) -> None:
    said = shiftbench("run", "--list")
    assert (said.code, said.err) == (0, "")
    for name in (*PRESETS, *names()):
        assert f"\n  {name} " in said.out
    boosting = next(line for line in said.out.splitlines() if line.startswith("  boosting "))
    assert boosting.endswith(METHODS["boosting"].title)
    assert "cloning" not in said.out  # for trajectories


@pytest.mark.parametrize("name", names())
def test_a_track_lists_what_its_options_take(shiftbench: Shiftbench, name: str) -> None:
    said, chosen = shiftbench("run", name, "--list"), track(name)
    assert (said.code, said.err) == (0, "")
    for word in (*chosen.methods, *chosen.presets, *chosen.experiments, *(task.name for task in chosen.tasks)):
        assert f"\n  {word}" in said.out


@pytest.mark.parametrize("command", ["assess", "compare"])
def test_scores_are_listed_without_a_file(shiftbench: Shiftbench, command: str) -> None:
    said = shiftbench(command, "--list")
    assert (said.code, said.err) == (0, "")
    assert [name for name in METRICS if f"\n  {name} " not in said.out] == []
    assert max(map(len, said.out.splitlines())) <= 120


def test_lists_fit_a_narrow_terminal(shiftbench: Shiftbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert max(map(len, shiftbench("fit", "--list").out.splitlines())) <= 60


COMPLETED = [
    ("ru", ["run"]),
    ("run we", ["weather"]),
    ("run power --preset ", ["quick", "paper"]),
    ("run power --sh", []),
    ("example power --sh", ["--ship"]),
    ("run data.csv --method boosting,vi", ["boosting,virtual_boosting"]),
    ("run data.csv --rule e", ["exact"]),
    ("run nosuch --climate x --memb", ["--members"]),  # refused when it is run, not while it is typed
    ("fetch ", [*names()]),
    ("import ", ["argoverse2"]),
]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(("line", "wanted"), COMPLETED, ids=[line for line, _ in COMPLETED])
def test_shells_complete(
    shiftbench: Shiftbench, monkeypatch: pytest.MonkeyPatch, shell: str, line: str, wanted: list[str]
) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__package__", "")  # as an installed command
    monkeypatch.setenv("_SHIFTBENCH_COMPLETE", f"complete_{shell}")
    monkeypatch.setenv("COMP_WORDS", f"shiftbench {line}")
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" "))))
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"shiftbench {line}")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    said = shiftbench()
    assert said.err == ""
    if shell == "zsh":
        assert [word in said.out for word in wanted] == [True] * len(wanted)
        assert ("_files" in said.out) == (not wanted)
    else:
        assert [word.split("\t")[0] for word in said.out.split("\n") if word] == wanted


def test_completion_can_be_installed(shiftbench: Shiftbench) -> None:
    assert "--install-completion" in shiftbench("-h").out


@pytest.mark.parametrize(
    ("text", "separators", "wanted"),
    [
        ("a,b", ",", ["a", "b"]),
        ('"wind, m/s",b', ",", ["wind, m/s", "b"]),
        ('a, "say ""hi"", all" ', ",", ["a", 'say "hi", all']),
        ('5" pipe,b', ",", ['5" pipe', "b"]),
        ('"a+b"+c,d', "+,", ["a+b", "c", "d"]),
        ('"open, not closed', ",", ['"open', "not closed"]),
        ("a,", ",", ["a", ""]),
        ("", ",", [""]),
    ],
)
def test_names_with_separators_stand_in_quotes(text: str, separators: str, wanted: list[str]) -> None:
    assert separated(text, separators) == wanted


def test_repeated_names_are_listed_once() -> None:
    assert listed(["a,b", '"a",c']) == ("a", "b", "c")
