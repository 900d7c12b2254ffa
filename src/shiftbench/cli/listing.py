"""What `--list` prints: the names that the options of a command take, with one line on each."""

from __future__ import annotations

import importlib
import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from shiftbench.cli.terminal import say

if TYPE_CHECKING:
    from shiftbench.track import Track

Rows = Mapping[str, str]  # name → one line on it
OF_TABLES = ("regression", "classification")


def of_runs() -> None:
    """Methods and presets for tables, and the tracks."""
    from shiftbench.methods.presets import PRESETS

    methods = _methods()  # before tracks register theirs
    from shiftbench import tracks

    every = map(tracks.track, tracks.names())
    _print(
        ("methods (--method)", methods),
        ("presets (--preset)", {name: _entries(made) for name, made in PRESETS.items()}),
        ("tracks (`shiftbench run TRACK --list`)", {each.name: _tasks(each) for each in every}),
    )


def of_track(track: Track) -> None:
    """Tasks, presets, methods and partitions of a track."""
    from shiftbench.methods import METHODS

    importlib.import_module("shiftbench.tracks")  # tracks register their own methods
    known = {name: METHODS[name].title if name in METHODS else "" for name in track.methods}
    experiments = {name: "the usual one" if place == 0 else "" for place, name in enumerate(track.experiments)}
    _print(
        ("tasks (--task)", {task.name: task.title for task in track.tasks}),
        ("presets (--preset), the usual one first", {name: ", ".join(held) for name, held in track.presets.items()}),
        ("methods (--method)", known),
        ("partitions of the data (--experiment)", experiments),
    )


def of_fits() -> None:
    """Methods for tables."""
    _print(("methods (--method)", _methods()))


def of_assessments() -> None:
    """Scores and measures of uncertainty."""
    from shiftbench.measures import MEASURES
    from shiftbench.scores.metric import METRICS

    better = {"min": "lower is better", "max": "higher is better", "nominal": "should be as nominal"}
    _print(
        ("scores", {each.name: f"{each.title} ({better[each.better]}): {each.formula}" for each in METRICS.values()}),
        ("measures of uncertainty", {each.name: f"{each.title} ({each.kind})" for each in MEASURES.values()}),
    )


def _methods() -> Rows:
    from shiftbench import methods

    return {name: methods.METHODS[name].title for name in methods.names(*OF_TABLES)}


def _entries(made: Callable[[str], object]) -> str:
    """The methods of a preset, each as name × members."""
    entries = made(OF_TABLES[0])
    assert isinstance(entries, tuple)
    counted = [(entry["name"], entry.get("members", 1)) for entry in entries]
    return ", ".join(f"{name} ×{members}" if members > 1 else str(name) for name, members in counted)


def _tasks(track: Track) -> str:
    return ", ".join(f"{task.title} ({task.name})" for task in track.tasks)


def _print(*sections: tuple[str, Rows]) -> None:
    """Sections of names, each with its line, in the width of the terminal."""
    for number, (title, rows) in enumerate(section for section in sections if section[1]):
        say(f"{chr(10) * bool(number)}{title}")
        for line in _lines(rows, max(shutil.get_terminal_size((80, 24)).columns, 40)):
            say(line)


def _lines(rows: Rows, width: int) -> Iterator[str]:
    wide = max(map(len, rows))
    indent = " " * (wide + 4) if wide + 4 <= width // 2 else " " * 6
    for name, about in rows.items():
        head = f"  {name:{wide}}  " if wide + 4 <= width // 2 else f"  {name}  "
        yield from textwrap.wrap(head + about, width, subsequent_indent=indent, drop_whitespace=True) or [head.rstrip()]
