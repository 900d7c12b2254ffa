"""Where results are written: an earlier one is there until the new one is whole, and nobody else's is touched."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

from shiftbench.errors import SettingsError, TableError
from shiftbench.io import files
from shiftbench.io.executor import slurm
from shiftbench.io.output import MARK, adding, alone, mark, merge, read_mark, writing
from shiftbench.io.tables import single_file
from shiftbench.io.tables.single_file import require_file
from tests.output.killing import kill, killed_later
from tests.tracks.motion.made_parts import tree


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of an earlier result, in the current one."""
    monkeypatch.chdir(tmp_path)
    make(Path("r"), "earlier")
    return Path("r")


def make(folder: Path, text: str, name: str = "a.txt", *, overwrite: bool = False, resumes: bool = False) -> None:
    with writing(folder, "assess", overwrite=overwrite, resumes=resumes) as place:
        write(place, text, name)


def write(folder: Path, text: str, name: str = "a.txt") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)


def broken_off(folder: Path, made_by: str = "assess", *, overwrite: bool = False) -> dict[str, str]:
    """Begin a result and break off; what was found where it was to be made."""
    found: dict[str, str] = {}
    with suppress(ZeroDivisionError), writing(folder, made_by, overwrite=overwrite, resumes=True) as place:
        found = {path.name: path.read_text() for path in place.iterdir()} if place.exists() else {}
        write(place, "half")
        raise ZeroDivisionError
    return found


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_the_mark_lists_what_a_folder_holds(earlier: Path) -> None:
    value = json.loads((earlier / MARK).read_text())
    sha256 = hashlib.sha256(b"earlier").hexdigest()
    assert value["made_by"] == "assess"
    assert value["files"] == {"a.txt": {"size": 7, "sha256": sha256}}


def test_a_new_result_takes_the_place_of_the_earlier_one_once_it_is_whole(earlier: Path) -> None:
    with writing(earlier, "assess", overwrite=True) as place:
        assert not place.exists(), "nothing of the earlier one is mixed into it"
        write(place, "new", "other.txt")
        assert names(earlier) == [MARK, "a.txt"]
    assert names(Path()) == ["r"]
    assert names(earlier) == [MARK, "other.txt"]


ERRORS = [TableError("refused"), OSError("the disk is full"), RuntimeError("a bug"), KeyboardInterrupt("Ctrl-C")]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("overwrite", [True, False])
def test_what_fails_leaves_the_earlier_result_and_nothing_else(
    earlier: Path, error: BaseException, overwrite: bool
) -> None:
    before = tree(Path())
    folder = earlier if overwrite else Path("deep/new")

    def fail() -> None:
        with writing(folder, "assess", overwrite=overwrite) as place:
            write(place, "half")
            raise error

    with pytest.raises(type(error), match=str(error)):
        fail()
    assert tree(Path()) == before
    assert names(Path()) == ["r"]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_what_resumes_finds_what_was_left_where_it_failed(earlier: Path, error: BaseException) -> None:
    told: list[str] = []

    def fail() -> None:
        with writing(earlier, "assess", overwrite=True, resumes=True, tell=told.append) as place:
            write(place, "half")
            raise error

    with pytest.raises(type(error), match=str(error)):
        fail()
    assert told == ["note: what was made so far is kept in .r.making; the same command goes on"]
    assert (earlier / "a.txt").read_text() == "earlier"
    for overwrite in (False, True):  # the earlier one was allowed to go, so either word is enough
        assert broken_off(earlier, overwrite=overwrite) == {"a.txt": "half"}
    make(earlier, "whole", "b.txt", overwrite=True, resumes=True)
    assert names(earlier) == [MARK, "a.txt", "b.txt"]
    assert names(Path()) == ["r"]


@pytest.mark.parametrize("killed_before", [False, True])
def test_what_refuses_its_input_before_it_made_anything_of_worth_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed_before: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    told: list[str] = []

    def make_and_raise(error: BaseException, more: tuple[str, ...]) -> None:
        with writing(Path("r"), "run", resumes=True, costless=("run.toml", "part/*"), tell=told.append) as place:
            for name in ("run.toml", "part/deep/a.txt", *more):
                write((place / name).parent, "made", Path(name).name)
            (place / "model").mkdir(exist_ok=True)
            raise error

    def act(error: BaseException, *more: str) -> None:
        with pytest.raises(type(error), match="why"):
            make_and_raise(error, more)

    if killed_before:
        act(KeyboardInterrupt("why"))
        assert names(Path()) == [".r.making", ".r.shiftbench"]
    act(TableError("why"))
    assert (names(Path()), len(told)) == ([], int(killed_before))
    act(TableError("why"), "model/member.txt")
    assert told[-1] == "note: what was made so far is kept in .r.making; the same command goes on"
    assert (tmp_path / ".r.making/model/member.txt").read_text() == "made"


def test_overwriting_with_other_settings_begins_anew(earlier: Path) -> None:
    assert broken_off(earlier, overwrite=True) == {}
    with writing(earlier, "assess", overwrite=True, resumes=True, settings="others") as place:
        assert not place.exists()
        write(place, "whole", "b.txt")
    assert names(earlier) == [MARK, "b.txt"]


def test_what_another_command_has_begun_is_not_thrown_away_unasked(earlier: Path) -> None:
    assert broken_off(Path("n"), "run") == {}
    with pytest.raises(SettingsError, match=r"an interrupted `shiftbench run` has left in \.n\.making"):
        make(Path("n"), "new")
    assert (Path(".n.making") / "a.txt").read_text() == "half"
    make(Path("n"), "new", overwrite=True)
    assert names(Path()) == ["n", "r"]


@pytest.mark.parametrize("overwrite", [True, False])
@pytest.mark.parametrize("resumes", [True, False])
def test_a_folder_of_others_is_refused_by_the_names_of_what_is_in_it(
    earlier: Path, overwrite: bool, resumes: bool
) -> None:
    """A project with its own report.json, a web app with its own manifest.json, settings in the folder of a run."""
    for name in ("report.json", "manifest.json", "run.toml", "settings.json", "thesis.txt"):
        write(Path("mine"), "mine", name)
    before = tree(Path())
    with pytest.raises(SettingsError, match=r"mine: .*'manifest.json', 'report.json', 'run.toml' and 2 more in it"):
        make(Path("mine"), "new", overwrite=overwrite, resumes=resumes)
    assert tree(Path()) == before


def test_a_folder_of_others_is_refused_without_a_look_into_its_folders(
    earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may be the root of a disk, with folders that take hours or may not be read."""
    write(Path("mine/deep"), "mine")
    write(Path("mine"), "mine", "b.txt")
    listed = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "deep":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(SettingsError, match=r"mine: expected a new folder, .* found another, with 'b.txt', 'deep' in"):
        make(Path("mine"), "new", overwrite=True)


def test_a_result_of_another_command_is_refused(earlier: Path) -> None:
    before = tree(Path())
    with (
        pytest.raises(SettingsError, match=r"found one of `shiftbench assess`"),
        writing(earlier, "partition", overwrite=True),
    ):
        pass
    with pytest.raises(SettingsError, match=r"found an earlier result. Choose another --out, or --overwrite"):
        make(earlier, "new")
    assert tree(Path()) == before


def test_what_was_added_or_changed_is_refused_by_name(earlier: Path) -> None:
    (earlier / "mine" / "deep").mkdir(parents=True)
    write(earlier / "mine" / "deep", "mine", "x.txt")
    Path("elsewhere").mkdir()
    write(Path("elsewhere"), "mine")
    (earlier / "link").symlink_to("../elsewhere")
    (earlier / "empty").mkdir()
    write(earlier, "edited")
    before = tree(Path())
    told = r"found 'a.txt', 'empty', 'link' and 1 more in it, added or changed since. Move it away"
    with pytest.raises(SettingsError, match=told):
        make(earlier, "new", overwrite=True)
    with pytest.raises(SettingsError, match=r"found 'a.txt' in it, added or changed since"):
        make(earlier, "new", resumes=True)
    assert tree(Path()) == before
    assert (earlier / "link").is_symlink()


def test_an_edit_that_keeps_size_and_time_is_noticed(earlier: Path) -> None:
    state = (earlier / "a.txt").stat()
    write(earlier, "EARLIER")
    os.utime(earlier / "a.txt", ns=(state.st_atime_ns, state.st_mtime_ns))
    with pytest.raises(SettingsError, match=r"found 'a.txt' in it"):
        make(earlier, "new", overwrite=True)


def test_what_is_added_while_a_result_is_made_is_not_lost(earlier: Path) -> None:
    def late(folder: Path, *, resumes: bool) -> None:
        with writing(folder, "assess", overwrite=True, resumes=resumes) as place:
            write(place, "new")
            write(folder, "mine", "late.txt")

    with pytest.raises(SettingsError, match=r"expected nothing but what was there at the beginning, found 'late.txt'"):
        late(earlier, resumes=False)
    assert {name: (earlier / name).read_text() for name in ("a.txt", "late.txt")} == {
        "a.txt": "earlier", "late.txt": "mine",
    }  # fmt: skip
    assert names(Path()) == ["r"]
    with pytest.raises(SettingsError, match=r"found 'late.txt'"):
        late(Path("n"), resumes=True)
    assert (Path("n") / "late.txt").read_text() == "mine"
    (Path("n") / "late.txt").unlink()
    make(Path("n"), "more", "b.txt", overwrite=True, resumes=True)
    assert names(Path("n")) == [MARK, "a.txt", "b.txt"]


@pytest.mark.parametrize("how", ["killed", "broken off"])
def test_a_file_moved_away_before_a_resumed_result_goes_on_does_not_come_back(earlier: Path, how: str) -> None:
    write(earlier, "mine", "notes.txt")
    stop = killed_later(Path()) if how == "killed" else suppress(ZeroDivisionError)
    with stop, writing(earlier, "assess", resumes=True) as place:
        write(place, "half", "b.txt")
        if how == "killed":
            kill()
        raise ZeroDivisionError
    (earlier / "notes.txt").rename("notes.txt")
    make(earlier, "more", "c.txt", resumes=True)
    assert "notes.txt" not in names(earlier)
    assert "notes.txt" not in json.loads((earlier / MARK).read_text())["files"]
    assert Path("notes.txt").read_text() == "mine"
    assert names(Path()) == ["notes.txt", "r"]


def test_a_file_added_while_a_result_goes_on_stays_the_users(earlier: Path) -> None:
    with writing(earlier, "assess", resumes=True) as place:
        write(earlier, "mine", "late.txt")
        write(place, "new", "b.txt")
    assert names(earlier) == [MARK, "a.txt", "b.txt", "late.txt"]
    assert sorted(json.loads((earlier / MARK).read_text())["files"]) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
@pytest.mark.parametrize("name", [".r.making", ".r.earlier", ".r.shiftbench"])
def test_what_bears_the_name_of_something_of_ours_is_left_alone(earlier: Path, kind: str, name: str) -> None:
    if kind == "folder":
        write(Path(name), "years of work", "thesis.txt")
    elif kind == "file":
        Path(name).write_text("years of work")
    else:
        write(Path("mine"), "")
        Path(name).symlink_to("mine")
    before = tree(Path())
    for resumes in (True, False):
        with pytest.raises(SettingsError, match=rf"\{name}: expected nothing there, .* Move it away"):
            make(earlier, "new", overwrite=True, resumes=resumes)
    assert tree(Path()) == before


def test_the_folder_of_an_array_of_a_killed_command_is_removed_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slurm's own files lie in the unfinished result; the command may go on without Slurm."""
    monkeypatch.chdir(tmp_path)
    with suppress(KeyboardInterrupt), writing(Path("r"), "fit", resumes=True) as place:
        write(place / "model", "weights", "member.pt")
        write(place / "model" / slurm.FOLDER, "#!/bin/bash", "array.sh")
        raise KeyboardInterrupt
    with writing(Path("r"), "fit", resumes=True) as place:
        assert (place / "model" / "member.pt").is_file()
    assert sorted(tree(Path("r"))) == [MARK, "model/member.pt"]


@pytest.mark.parametrize("below", ["a", "a/b/c"])
def test_a_path_below_a_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("years of work")
    path = Path("file") / below
    found = r"file: expected a folder, found a file\. Choose another --out than .*file/a"
    with pytest.raises(SettingsError, match=found), writing(path, "fit"):
        pass
    with pytest.raises(SettingsError, match=found), adding(path, "report"):
        pass
    with pytest.raises(SettingsError, match=found), single_file.replacing(path, "predict", overwrite=False):
        pass
    with pytest.raises(TableError, match=r"file: expected a folder, found a file"), alone(path):
        pass
    assert tree(Path()) == {"file": tree(Path())["file"]}


@pytest.mark.parametrize("content", ["years of work", ""])
@pytest.mark.parametrize(
    "name",
    [
        ".shiftbench.lock", ".shiftbench.making/x", ".shiftbench.adding/x", ".shiftbench.earlier/x",
        f".{MARK}.abcdefgh.part", ".a.txt.abcdefgh.part",
    ],
)  # fmt: skip
def test_what_bears_such_a_name_in_a_result_belongs_to_the_user_too(earlier: Path, name: str, content: str) -> None:
    """No command has worked in this folder: it lies where it can be moved."""
    write((earlier / name).parent, content, Path(name).name)
    before = tree(Path())
    for resumes in (True, False):
        with pytest.raises(SettingsError, match=rf"as it wrote it, found '{re.escape(name)}' in it, added or changed"):
            make(earlier, "new", overwrite=True, resumes=resumes)
    assert tree(Path()) == before
    with adding(earlier, "report") as place:
        write(place, "figure", "b.txt")
    make(earlier, "more", "c.txt", resumes=True)
    assert tree(earlier)[name] == before[f"r/{name}"]
    (earlier / MARK).unlink()
    with pytest.raises(SettingsError, match=rf"found another, with '{re.escape(name.split('/')[0])}'"):
        make(earlier, "new", overwrite=True)


IN_ANOTHER_PROCESS = """
from pathlib import Path
from shiftbench.io.output import writing
with writing(Path('r'), 'assess', overwrite=True):
    print('in')
"""


def test_one_process_at_a_time_writes_into_a_folder(earlier: Path) -> None:
    with writing(earlier, "assess", overwrite=True) as place:
        write(place, "new")
        other = subprocess.run([sys.executable, "-c", IN_ANOTHER_PROCESS], capture_output=True, text=True, check=False)
        assert "r: expected a folder that nobody else writes to, found another process writing to it" in other.stderr
        assert "in" not in other.stdout.split()
    assert names(Path()) == ["r"]
    assert (earlier / "a.txt").read_text() == "new"


def test_a_link_to_a_folder_stays_one(earlier: Path) -> None:
    link = Path("link")
    link.symlink_to(earlier.resolve())
    make(link, "new", overwrite=True)
    assert link.is_symlink()
    assert (earlier / "a.txt").read_text() == "new"
    assert names(Path()) == ["link", "r"]


def test_what_is_read_is_never_overwritten(earlier: Path) -> None:
    before = tree(earlier)
    with (
        pytest.raises(SettingsError, match=r"expected --out elsewhere than the data, found r/a\.txt in it"),
        writing(earlier, "assess", overwrite=True, inputs=(Path("other.csv"), earlier / "a.txt")),
    ):
        pass
    assert tree(earlier) == before


@pytest.mark.parametrize("inside", [False, True], ids=["the current folder", "a mount"])
def test_a_folder_that_cannot_be_moved_is_filled_file_by_file(
    earlier: Path, monkeypatch: pytest.MonkeyPatch, inside: bool
) -> None:
    with writing(earlier, "assess", overwrite=True) as place:
        write(place, "earlier")
        write(place / "figures", "earlier", "old.svg")
    number = earlier.stat().st_ino
    if inside:
        monkeypatch.setattr(Path, "is_mount", lambda self: self.name == "r")
        make(Path("r"), "new", overwrite=True)
    else:
        with monkeypatch.context() as patched:
            patched.chdir(earlier)
            make(Path(), "new", overwrite=True)
    assert (earlier.stat().st_ino, names(earlier)) == (number, [MARK, "a.txt"])
    assert (earlier / "a.txt").read_text() == "new"
    write(earlier, "mine", "mine.txt")
    with pytest.raises(SettingsError, match=r"found 'mine.txt' in it"):
        make(earlier, "new", overwrite=True)
    assert names(Path()) == ["r"]


@pytest.mark.parametrize("where", ["os.mkdir", "os.rename", "os.ftruncate", "shiftbench.io.files.write_text"])
@pytest.mark.parametrize("resumes", [True, False])
def test_a_full_or_forbidden_disk_leaves_the_earlier_result_and_the_same_command_goes_on(
    earlier: Path, monkeypatch: pytest.MonkeyPatch, where: str, resumes: bool
) -> None:
    before = tree(earlier)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "somewhere")

    with monkeypatch.context() as patched:
        patched.setattr(where, full)
        with pytest.raises((OSError, SettingsError), match="No space left"):
            make(earlier, "new", overwrite=True, resumes=resumes)
    assert tree(earlier) == before
    make(earlier, "new", overwrite=True, resumes=resumes)
    assert (earlier / "a.txt").read_text() == "new"
    assert names(Path()) == ["r"]


# -- files added to a folder


def test_files_are_added_and_those_of_an_earlier_result_replaced(earlier: Path) -> None:
    def add(text: str, *, figure: str) -> None:
        with adding(earlier, "assess") as place:
            write(place, text)
            write(place / "figures", text, figure)

    add("new", figure="a.svg")
    write(earlier, "mine", "mine.txt")
    write(earlier / "figures", "mine", "mine.svg")
    add("newer", figure="b.svg")
    assert sorted(tree(earlier)) == [MARK, "a.txt", "figures/b.svg", "figures/mine.svg", "mine.txt"]
    mark = read_mark(earlier)
    assert mark is not None
    assert sorted(mark.files) == ["a.txt", "figures/b.svg"]
    write(earlier, "edited")
    before = tree(earlier)
    with pytest.raises(SettingsError, match=r"as it wrote it, found 'a.txt', 'figures/mine.svg', added or changed"):
        add("newest", figure="mine.svg")
    assert tree(earlier) == before
    assert names(Path()) == ["r"]


def test_files_added_to_a_folder_in_a_result_stay_its_own(earlier: Path) -> None:
    with writing(Path("run"), "run") as place:
        write(place, "model")
        write(place / "report", "old", "report.md")
    with adding(Path("run/report"), "assess") as place:
        write(place, "new", "report.md")
    assert not Path("run/report", MARK).exists()
    with writing(Path("run"), "run", overwrite=True) as place:
        write(place, "anew")
    assert names(Path("run")) == [MARK, "a.txt"]


def test_files_added_to_a_new_folder_in_a_result_do_not_keep_it_from_being_replaced(earlier: Path) -> None:
    for text in ("one", "two"):
        with adding(earlier / "pictures" / "new", "show", prunes=False) as place:
            write(place, text, f"{text}.png")
    mark = read_mark(earlier)
    assert mark is not None
    assert {*mark.files} == {"a.txt", "pictures/new/one.png", "pictures/new/two.png"}
    make(earlier, "new", overwrite=True)
    assert [name for name, _ in sorted(tree(earlier).items())] == [MARK, "a.txt"]


def test_a_single_file_takes_the_place_of_no_input_and_of_no_part_of_a_result(earlier: Path) -> None:
    Path("t.csv").write_text("mine")
    with pytest.raises(SettingsError, match=r"t.csv: expected a new file, found one"):
        require_file(Path("t.csv"), "x", overwrite=False)
    with pytest.raises(SettingsError, match=r"t.csv: expected --out elsewhere than the data"):
        require_file(Path("t.csv"), "x", overwrite=True, inputs=[Path("t.csv").resolve()])
    with pytest.raises(SettingsError, match=r"one of the result of `shiftbench assess`"):
        require_file(earlier / "a.txt", "x", overwrite=True)
    with pytest.raises(SettingsError, match=r"r: expected a name for a file, found a folder"):
        require_file(earlier, "x", overwrite=True)
    with pytest.raises(SettingsError, match=r"t.csv: expected a new file, or one that this command wrote"):
        require_file(Path("t.csv"), "x", overwrite=True, inputs=[earlier / "a.txt", Path("gone")])


@pytest.mark.skipif(sys.platform == "win32", reason="no time of status there")
def test_a_file_is_hashed_once_in_a_command_and_again_after_any_change(
    earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashed, sha256 = [], files.sha256
    monkeypatch.setattr(files, "sha256", lambda path: (hashed.append(Path(path).name), sha256(path))[1])
    monkeypatch.setattr(mark, "SETTLED_NS", 20_000_000)
    path, before = earlier / "a.txt", (earlier / "a.txt").stat()
    time.sleep(0.05)
    held, old = read_mark(earlier), path.read_bytes()
    assert held is not None
    assert (held.foreign(earlier), held.foreign(earlier), hashed) == ([], [], ["a.txt"])
    path.write_bytes(old[::-1])
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert path.stat().st_mtime_ns == before.st_mtime_ns
    for _ in range(2):
        assert held.foreign(earlier) == ["a.txt"]
    path.write_bytes(old)
    assert held.foreign(earlier) == []
    time.sleep(0.05)
    hashed.clear()
    make(earlier, "new", overwrite=True)
    assert hashed == ["a.txt", "a.txt"], "the earlier file and the new one"


@pytest.mark.parametrize("whole", [True, False], ids=["whole file", "open file"])
def test_a_full_disk_is_named_by_the_place_that_was_written_to(tmp_path: Path, whole: bool) -> None:
    def fill() -> None:
        with writing(tmp_path / "r", "run") as place, files.replacing(place / "a.txt") if whole else nullcontext():
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left on device") as caught:
        fill()
    assert caught.value.filename == str(tmp_path / ("r/a.txt" if whole else "r"))


OUTSIDE = ("../victim.txt", "a/../../victim.txt", "{root}/victim.txt", "../r/a.txt", "./a.txt", "", ".", "\0", "\ud800")


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("part", ["files", "coming"])
def test_a_mark_that_lists_files_outside_its_folder_is_refused(
    earlier: Path, monkeypatch: pytest.MonkeyPatch, name: str, part: str
) -> None:
    Path("victim.txt").write_text("mine")
    list_too(earlier, name.format(root=Path.cwd()), Path("victim.txt"), part)
    before = tree(Path())
    for place in (".", ".."):  # files are moved one by one, or the folder is
        monkeypatch.chdir(earlier if place == "." else "..")
        folder = Path("." if place == "." else "r")
        with pytest.raises(SettingsError, match=r"\.shiftbench\.json: expected the list of what a command"):
            make(folder, "new", "other.txt", overwrite=True)
        with pytest.raises(SettingsError, match="expected the list of"), adding(folder, "report") as made:
            write(made, "new", "other.txt")
    assert tree(Path()) == before


def test_nothing_is_removed_through_a_link(earlier: Path) -> None:
    Path("mine").mkdir()
    Path("mine/victim.txt").write_text("mine")
    (earlier / "sub").symlink_to("../mine")
    list_too(earlier, "sub/victim.txt", Path("mine/victim.txt"))
    write(Path("made"), "new", "other.txt")
    merge.move(earlier, Path("made"), mark.listing(Path("made")), made_by="assess", stale=["a.txt", "sub/victim.txt"])
    assert not (earlier / "a.txt").exists()
    for name in ("sub/victim.txt", "../mine/victim.txt"):
        with pytest.raises(ValueError, match="expected the name of a file in r"):
            merge.remove(earlier, name)
    assert Path("mine/victim.txt").read_text() == "mine"


def list_too(folder: Path, name: str, file: Path, part: str = "files") -> None:
    """Add a file to the mark of a folder."""
    value = json.loads((folder / MARK).read_text())
    value.setdefault(part, {})[name] = {"size": file.stat().st_size, "sha256": files.sha256(file)}
    (folder / MARK).write_text(json.dumps(value))


@pytest.mark.parametrize("text", ['{"format": "shiftbench output folder 2", "mine": 1}', "mine", "[]", None])
@pytest.mark.parametrize("beside", [True, False], ids=["beside a file", "alone"])
def test_a_mark_of_somebody_else_is_refused_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, beside: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("r").mkdir()
    if text is None:
        Path("r", MARK).symlink_to("nowhere")
    else:
        Path("r", MARK).write_text(text)
    if beside:
        Path("r/a.txt").write_text("mine")
    before = tree(Path())
    refused = r"^r/\.shiftbench\.json: expected the list of what a command of this version wrote, found something else"
    for overwrite, resumes in ((False, False), (True, False), (False, True), (True, True)):
        with pytest.raises(SettingsError, match=refused):
            make(Path("r"), "new", "new.txt", overwrite=overwrite, resumes=resumes)
    with pytest.raises(SettingsError, match=refused), adding(Path("r"), "report") as made:
        write(made, "new", "new.txt")
    assert tree(Path()) == before


@pytest.mark.skipif(sys.platform == "win32", reason="its limits are others")
def test_a_journal_for_which_there_is_no_room_is_named_and_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "ftruncate", full)
        with pytest.raises(SettingsError, match=r"^r: expected a place that can be written to, found: No space left"):
            make(Path("r"), "new")
    assert names(Path()) == []
