"""A kill at any call: the old or the new result is whole, files of others stay, and the same command goes on."""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.io.output import adding, mark, read_mark, writing
from tests.output import random_kills
from tests.output.killing import every_kill

FOREIGN = (".r.old", ".r.part", ".r.lock", ".r.earlier.txt", "r.txt")
Command = Callable[[], None]


def tree(place: Path) -> dict[str, str]:
    """Files, links and empty folders by path."""
    found = {}
    for path in sorted(place.rglob("*")):
        name = path.relative_to(place).as_posix()
        if path.is_symlink():
            found[name] = f"-> {path.readlink()}"
        elif path.is_file():
            found[name] = path.read_text("utf-8")
        elif not any(path.iterdir()):
            found[name] = "/"
    return found


def whole(place: Path) -> dict[str, str]:
    """A result without its mark, which lists just that."""
    found, mark = tree(place), read_mark(place)
    if mark is None:
        return {}
    found.pop(".shiftbench.json")
    found = {name: text for name, text in found.items() if name in mark.files or not name.startswith("mine")}
    return found if set(found) == set(mark.files) and all(mark.lists(name, place / name) for name in found) else {}


def at_once(text: str, *, overwrite: bool = True) -> Command:
    """A command that begins anew, as `assess` and `partition`."""

    def act() -> None:
        with writing(Path("r"), "assess", overwrite=overwrite, inputs=(Path("r.txt"),), settings=text) as place:
            files.write_text(place / "report.txt", text)
            files.write_text(place / "figures" / f"{text}.svg", text)

    return act


def in_steps(text: str, *, overwrite: bool = False) -> Command:
    """A command that goes on where it was, as `run` and `fit`."""

    def act() -> None:
        with writing(Path("r"), "run", overwrite=overwrite, resumes=True, settings=text) as place:
            if (place / "run.txt").exists() and (place / "run.txt").read_text() != text:
                raise SettingsError("another run")
            files.write_text(place / "run.txt", text)
            for name in ("model/a", "model/b"):
                if not (place / name).exists():
                    files.write_text(place / "checkpoint", name)
                    files.write_text(place / name, text)
            (place / "checkpoint").unlink(missing_ok=True)

    return act


def added(text: str) -> Command:
    """A command that adds files, as `report` and `show`."""

    def act() -> None:
        with adding(Path("r"), "assess") as place:
            files.write_text(place / "report.txt", text)
            files.write_text(place / "figures" / f"{text}.svg", text)

    return act


AT_ONCE = {text: {"report.txt": text, f"figures/{text}.svg": text} for text in ("old", "new")}
IN_STEPS = {text: {"run.txt": text, "model/a": text, "model/b": text} for text in ("old", "new")}


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Make an empty folder the current one, with files of others in it, and in it an earlier result."""
    numbers = itertools.count()

    monkeypatch.setattr("os.fsync", lambda _: None)  # of no concern to a kill, and slow

    def made(*before: Command, mine: bool = False) -> Path:
        root = tmp_path / str(next(numbers))
        root.mkdir()
        monkeypatch.chdir(root)
        for name in FOREIGN:
            Path(name).write_text("mine")
        for act in before:
            act()
        if mine:
            Path("outside").mkdir(exist_ok=True)
            Path("outside/mine").write_text("mine")
            Path("r/mine.txt").write_text("mine")
            Path("r/mine.link").symlink_to("../outside")
            Path("r/mine.folder").mkdir()
        return root

    return made


@pytest.mark.parametrize(
    ("before", "command", "result", "mine"),
    [
        ((), at_once("new", overwrite=False), AT_ONCE, False),
        ((at_once("old"),), at_once("new"), AT_ONCE, False),
        ((), in_steps("new"), IN_STEPS, False),
        ((in_steps("old"),), in_steps("new", overwrite=True), IN_STEPS, False),
        ((in_steps("new"),), in_steps("new"), IN_STEPS, True),
    ],
    ids=["new", "overwriting", "resuming", "overwriting and resuming", "again, beside files of the user's"],
)
def test_a_kill_at_any_call_leaves_a_whole_result_and_the_same_command_goes_on(
    begin: Callable[..., Path],
    before: tuple[Command, ...],
    command: Command,
    result: dict[str, dict[str, str]],
    mine: bool,
) -> None:
    kills = 0
    for kills, root in every_kill(command, lambda: begin(*before, mine=mine)):  # noqa: B007
        if before:
            there, aside, made = (whole(root / name) for name in ("r", ".r.earlier", ".r.making"))
            assert (there if (root / "r").exists() else aside and made) in result.values()
        else:
            assert (whole(root / "r") == result["new"]) == (root / "r").exists()
        command()
        assert whole(root / "r") == result["new"]
        assert_others_are_there(root, mine=mine)
        shutil.rmtree(root)
    assert kills > 10


def assert_others_are_there(root: Path, *, mine: bool) -> None:
    """Nothing of others is lost, and nothing of ours is left beside the result."""
    assert {path.name for path in root.iterdir()} == {*FOREIGN, "r", *(["outside"] if mine else [])}
    assert all((root / name).read_text() == "mine" for name in FOREIGN)
    if mine:
        assert tree(root / "outside") == {"mine": "mine"}
        kept = {name: text for name, text in tree(root / "r").items() if name.startswith("mine")}
        assert kept == {"mine.txt": "mine", "mine.link": "-> ../outside", "mine.folder": "/"}


@pytest.mark.parametrize("command", [at_once("new"), in_steps("new", overwrite=True)], ids=["at once", "in steps"])
def test_a_file_that_the_user_puts_there_after_a_kill_is_never_lost(
    begin: Callable[..., Path], command: Command
) -> None:
    before = at_once("old") if command.__qualname__.startswith("at_once") else in_steps("old")
    for _, root in every_kill(command, lambda: begin(before)):
        mine = root / "r" / "model" / "mine.txt"
        mine.parent.mkdir(parents=True, exist_ok=True)
        mine.write_text("mine")
        for _ in range(2):
            with pytest.raises(SettingsError, match=r"r: expected .*'model/mine\.txt'"):
                command()
            assert mine.read_text() == "mine"
        shutil.move(mine, root / "mine.txt")
        if not any(path for path in (root / "r").rglob("*") if path.is_file()):
            shutil.rmtree(root / "r")
        elif not any(mine.parent.iterdir()):
            mine.parent.rmdir()
        command()
        assert "new" in whole(root / "r").values()
        assert (root / "mine.txt").read_text() == "mine"
        assert {path.name for path in root.iterdir()} == {*FOREIGN, "r", "mine.txt"}
        shutil.rmtree(root)


@pytest.mark.parametrize("between", ["another command", "another result"])
def test_only_the_very_command_that_was_killed_replaces_its_result_unasked(
    begin: Callable[..., Path], between: str
) -> None:
    """It ends as if it had never been killed; other commands, and itself on another result, are refused as ever."""
    refused, ended = pytest.raises(SettingsError, match=r"r: expected a new folder, found an earlier result"), 0
    for _, root in every_kill(at_once("new", overwrite=False), begin):
        if whole(root / "r"):
            ended += 1
            if between == "another command":
                with refused:
                    at_once("old", overwrite=False)()
                assert whole(root / "r") == AT_ONCE["new"]
            else:
                shutil.move("r/report.txt", "r/figures/new.svg")
                (root / "r/report.txt").write_text("changed")
                mark.Mark("assess", mark.listing(root / "r")).write(root / "r")
                before = whole(root / "r")
                with refused:
                    at_once("new", overwrite=False)()
                assert whole(root / "r") == before
        shutil.rmtree(root)
    assert ended >= 2


@pytest.mark.parametrize("place", ["the current folder", "a mount", "added files"])
def test_a_kill_while_files_are_moved_one_by_one_loses_none_and_the_same_command_goes_on(
    begin: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    command = added("new") if place == "added files" else at_once("new")
    if place == "a mount":
        monkeypatch.setattr(Path, "is_mount", lambda self: self.name == "r")

    def here() -> None:
        if place != "the current folder":
            command()
            return
        with monkeypatch.context() as patched:
            patched.chdir("r")
            with writing(Path(), "assess", overwrite=True) as making:
                files.write_text(making / "report.txt", "new")
                files.write_text(making / "figures" / "new.svg", "new")

    kills = 0
    for kills, root in every_kill(here, lambda: begin(at_once("old"))):  # noqa: B007
        here()
        assert whole(root / "r") == AT_ONCE["new"]
        assert {path.name for path in (root / "r").iterdir()} == {".shiftbench.json", "report.txt", "figures"}
        assert_others_are_there(root, mine=False)
        shutil.rmtree(root)
    assert kills > 10


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_kills_from_outside_at_random_moments_cost_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert random_kills.many(12, 7, tmp_path) > 2
