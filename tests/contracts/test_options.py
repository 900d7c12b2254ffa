"""Options of tracks: the names that they may not take are those of the commands, and helps tell exact defaults."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from shiftbench import tracks
from shiftbench.cli import forms, preparing
from shiftbench.errors import SettingsError
from shiftbench.track import Example, Import, Option, Show, Track
from shiftbench.track.contract import COMMANDS, TAKEN, TAKEN_WORDS
from shiftbench.track.option import written


@pytest.fixture
def widest(monkeypatch: pytest.MonkeyPatch) -> Track:
    """The only track: none of its commands lacks an option that any track's has, and it has no option of its own."""
    own = dataclasses.replace(
        tracks.track("motion"),
        name="widest",
        options={},
        example=Example(lambda path, rows, seed, progress: path, "widest.npz"),
        prepare=lambda source, folder, **own: own["made"],
        run=lambda prepared, tasks, options, **how: [],
        spreads=("prepare", "run", "import"),
        gpus=True,
        test_sets="table",
        experiments=("usual", "other"),
        imports=(Import("foreign", "scenes", lambda source, folder, **own: []),),
        show=Show(lambda file, folder, **own: {}, "a file"),
    )
    monkeypatch.setattr(tracks, "track", {"widest": own}.__getitem__)
    monkeypatch.setattr(tracks, "names", lambda: ("widest",))
    return own


def built(command: str) -> Any:
    """The class of a command that is built for each track."""
    return next(kind for name, _, kind in forms.commands() if name == command)


@pytest.mark.parametrize("command", COMMANDS)
def test_names_that_options_may_not_take_are_those_of_the_command(widest: Track, command: str) -> None:
    name = widest.imports[0].name if command == "import" else widest.name
    assert sorted(inspect.signature(built(command).form(name)).parameters) == sorted(TAKEN[command])
    made = built(command)(name=command, callback=lambda: None).built(name)
    words = {word for param in made.params for word in (*param.opts, *param.secondary_opts) if word.startswith("-")}
    assert words <= {*TAKEN_WORDS, *map(written, TAKEN[command])}


@pytest.mark.parametrize(
    ("option", "found"),
    [
        (Option("id", str, "Ids", flag="--data"), "'--data'"),
        (Option("list", str, "Names"), "'--list'"),
        (Option("list_names", bool, "Names"), "'list_names'"),
        (Option("help", bool, "Help"), "'--help'"),
    ],
)
def test_an_option_that_would_hide_one_of_the_command_is_refused(option: Option, found: str) -> None:
    with pytest.raises(SettingsError, match=f"options of run: expected new names, found {found}, here twice"):
        dataclasses.replace(tracks.track("power"), options={"run": (option,)})


def test_an_option_that_is_the_opposite_of_a_switch_is_refused() -> None:
    switch = Option("gif", bool, "Draw an animation")
    own = dataclasses.replace(tracks.track("motion"), options={})
    assert switch.words == ("--gif", "--no-gif")
    with pytest.raises(SettingsError, match="options of show: expected new names, found '--no-gif', here twice"):
        dataclasses.replace(
            own,
            show=Show(lambda file, folder, **own: {}, "a file"),
            options={"show": (switch, Option("no_gif", bool, "Draw none"))},
        )
    with pytest.raises(SettingsError, match="'x': flag: expected one such as --what, found '-x'"):
        Option("x", int, "Help", flag="-x")


@pytest.mark.parametrize(
    ("drawn", "found"),
    [(None, "None"), ({"scene": "scene.png"}, r"\{'scene': 'scene.png'\}"), ([Path("a")], r"\[.*\]")],
)
def test_what_a_track_draws_is_a_mapping_of_paths(
    widest: Track, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, drawn: Any, found: str
) -> None:
    shown = dataclasses.replace(widest, show=Show(lambda file, folder, **own: drawn, "a file"))
    (tmp_path / "scene").touch()
    says = f"track 'widest': show: expected `draw` to return what it drew → path, found {found}"
    with pytest.raises(SettingsError, match=says):
        preparing.show(shown, tmp_path / "scene", tmp_path / "out")


def told_defaults(command: str, act: Any) -> str:
    """The help of the option that says where a command writes; empty if it has none."""
    option = inspect.signature(act).parameters.get("to" if command == "fetch" else "out")
    return option.annotation.__metadata__[0].help if option else ""


def test_help_tells_where_each_command_writes() -> None:
    for command, act, _ in forms.commands():
        assert re.search(r"default: \S+|\[shiftbench-\S+\]|^$", told_defaults(command, act)), command


@pytest.mark.parametrize("name", tracks.names())
def test_help_on_a_track_leaves_nothing_of_the_default_open(name: str) -> None:
    for command, _, kind in forms.commands():
        if kind is not None and command != "import":
            told = re.findall(r"default: (\S+?)\.?(?= |$)", told_defaults(command, kind.form(name)))
            assert len(told) == 1, command
            assert not re.search("[A-Z]{4}", Path(told[0]).name)
