"""Example data take the place of earlier ones, or leave them as they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.errors import SettingsError, TableError
from shiftbench.track.intake import example_folder
from shiftbench.track.intake.prepared_folder import made_up


def write(folder: Path, text: str) -> None:
    with example_folder.replacing(folder, track="text", size=100, what="text") as place:
        (place / "data.txt").write_text(text, encoding="utf-8")


def held(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text("utf-8")
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".shiftbench.json"
    }


def test_a_new_example_takes_the_place_of_the_old_one_and_nothing_else_stays(tmp_path: Path) -> None:
    for text in ("first", "second"):
        write(tmp_path / "made", text)
    assert held(tmp_path) == {"made/data.txt": "second"}


def test_an_example_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    write(tmp_path / "made", "first")
    with (
        pytest.raises(ZeroDivisionError),
        example_folder.replacing(tmp_path / "made", track="text", size=100, what="text"),
    ):
        raise ZeroDivisionError
    assert held(tmp_path) == {"made/data.txt": "first"}


def test_a_swap_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "made", "first")
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name == "made":
            raise OSError("no")
        return rename(self, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", failing)
        with pytest.raises(TableError, match="expected to write an example of text"):
            write(tmp_path / "made", "second")
    assert held(tmp_path / "made") == {"data.txt": "first"}
    write(tmp_path / "made", "second")
    assert held(tmp_path) == {"made/data.txt": "second"}


def test_nobody_elses_files_are_replaced_or_removed(tmp_path: Path) -> None:
    for name in (".made.old/mine.txt", ".made.part/mine.txt", "made/data.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine", encoding="utf-8")
    before = held(tmp_path)
    with pytest.raises(SettingsError, match=r"found another, with 'data.txt' in it"):
        write(tmp_path / "made", "new")
    assert held(tmp_path) == before
    (tmp_path / "made/data.txt").unlink()
    write(tmp_path / "made", "new")
    assert held(tmp_path) == before | {"made/data.txt": "new"}


@pytest.mark.parametrize(
    ("example", "origin"),
    [
        ("rows=4000 seed=0", "made-up example, 4,000 rows, seed 0"),
        ("rows=all seed=7 ship=tanker", "made-up example, all rows, seed 7, ship=tanker"),
        ("by hand", "made-up example, by hand"),
    ],
)
def test_example_data_are_named_in_words(example, origin):
    assert made_up(example) == origin
