"""Where results are written: an earlier one is there until the new one is whole, and nobody else's is touched."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import polars as pl
import pytest

from shiftbench.cli.room import room
from shiftbench.errors import SettingsError, TableError
from tests.cli.conftest import Shiftbench, errors_table, weather_like
from tests.tracks.motion.made_parts import tree

MARKER = "mark.txt"
QUICK = ("--replicates", 25)


@pytest.fixture
def earlier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of an earlier result, in the current one."""
    monkeypatch.chdir(tmp_path)
    write(Path("r"), "earlier")
    return Path("r")


def write(folder: Path, text: str, name: str = MARKER) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_new_result_takes_the_place_of_the_earlier_one_once_it_is_whole(earlier: Path) -> None:
    with room(earlier, overwrite=True, marker=MARKER):
        assert names(earlier) == [], "nothing of the earlier one is mixed into it"
        write(earlier, "new", "other.txt")
        assert (Path(".r.earlier") / MARKER).read_text() == "earlier"
    assert names(Path()) == ["r"]
    assert names(earlier) == ["other.txt"]


@pytest.mark.parametrize(
    "error", [TableError("refused"), OSError("the disk is full"), RuntimeError("a bug"), KeyboardInterrupt("Ctrl-C")]
)
def test_the_earlier_result_comes_back_if_the_new_one_fails(earlier: Path, error: BaseException) -> None:
    before = tree(earlier)

    def fail() -> None:
        with room(earlier, overwrite=True, marker=MARKER):
            write(earlier, "half")
            raise error

    with pytest.raises(type(error), match=str(error)):
        fail()
    assert tree(earlier) == before
    assert names(Path()) == ["r"]


def interrupted(folder: Path) -> None:
    with room(folder, overwrite=True, marker=MARKER, resumes=True):
        write(folder, "half")
        raise KeyboardInterrupt


def test_the_earlier_result_stands_aside_until_one_that_was_interrupted_has_gone_on(
    earlier: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):  # the second one gives up what the first has begun, and not what is whole
        with pytest.raises(SystemExit, match="130"):
            interrupted(earlier)
        told = capsys.readouterr().err
        assert "interrupted; the same command without --overwrite goes on where it stopped\n" in told
        assert "until it has come to its end, the earlier result stays in" in told
        assert (Path(".r.earlier") / MARKER).read_text() == "earlier"
    with suppress(TableError), room(earlier, overwrite=False, marker=MARKER, resumes=True):
        raise TableError("refused")
    assert names(Path()) == [".r.earlier", "r"], "what was begun can still be gone on with"
    with room(earlier, overwrite=False, marker=MARKER, resumes=True):
        write(earlier, "whole")
    assert names(Path()) == ["r"]
    assert (earlier / MARKER).read_text() == "whole"


def test_what_is_interrupted_before_it_wrote_anything_leaves_the_earlier_result(earlier: Path) -> None:
    def interrupted_at_once() -> None:
        with room(earlier, overwrite=True, marker=MARKER, resumes=True):
            raise KeyboardInterrupt

    before = tree(earlier)
    with pytest.raises(KeyboardInterrupt):
        interrupted_at_once()
    assert tree(earlier) == before
    assert names(Path()) == ["r"]


def test_the_earlier_result_comes_back_after_a_kill_where_there_is_nothing_to_go_on_with(earlier: Path) -> None:
    before = tree(earlier)
    for resumes in (False, True):
        with suppress(SystemExit):
            interrupted(earlier)
        if resumes:  # killed before anything was written
            (earlier / MARKER).unlink()
        with (
            pytest.raises(SettingsError, match="found an earlier result"),
            room(earlier, overwrite=False, marker=MARKER, resumes=False),
        ):
            pass
        assert tree(earlier) == before
        assert names(Path()) == ["r"]


def test_a_folder_without_its_mark_can_be_gone_on_with_where_an_earlier_result_stands_aside(earlier: Path) -> None:
    with suppress(SystemExit):
        interrupted(earlier)
    (earlier / MARKER).rename(earlier / "part.txt")  # killed before the mark was written
    with room(earlier, overwrite=False, marker=MARKER, resumes=True):
        assert names(earlier) == ["part.txt"]
    assert names(Path()) == ["r"]


def test_a_kill_while_the_earlier_result_is_removed_costs_no_later_one(
    earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_: Path) -> None:
        raise SystemExit(9)

    (earlier / "part").mkdir()
    with monkeypatch.context() as patched:
        patched.setattr("shiftbench.cli.room.shutil.rmtree", killed)
        with pytest.raises(SystemExit, match="9"), room(earlier, overwrite=True, marker=MARKER):
            write(earlier, "new")
    assert names(Path()) == [".r.earlier", "r"]
    with suppress(TableError), room(earlier, overwrite=True, marker=MARKER):
        raise TableError("refused")
    assert (earlier / MARKER).read_text() == "new"
    assert names(Path()) == ["r"]


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_what_bears_the_name_of_an_earlier_result_and_is_none_is_left_alone(earlier: Path, kind: str) -> None:
    aside = Path(".r.earlier")
    if kind == "folder":
        write(aside, "years of work", "thesis.txt")
    elif kind == "file":
        aside.write_text("years of work")
    else:
        write(Path("mine"), "", ".stands-aside")
        aside.symlink_to("mine")
    before = tree(Path())
    with (
        pytest.raises(SettingsError, match=r"\.r\.earlier: expected nothing there, since an earlier result"),
        room(earlier, overwrite=True, marker=MARKER),
    ):
        pass
    with room(earlier, overwrite=False, marker=MARKER, resumes=True):
        pass
    with suppress(TableError), room(earlier, overwrite=False, marker=MARKER, resumes=True):
        raise TableError("refused")
    assert tree(Path()) == before


def test_one_process_at_a_time_writes_into_a_folder(earlier: Path) -> None:
    code = "from pathlib import Path\nfrom shiftbench.cli.room import room\n"
    code += f"with room(Path('r'), overwrite=True, marker={MARKER!r}):\n    print('in')\n"
    with room(earlier, overwrite=True, marker=MARKER):
        write(earlier, "new")
        other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "expected a folder that nobody else writes to, found another process at it" in other.stderr
        assert "in" not in other.stdout.split()
    assert names(Path()) == ["r"]
    assert (earlier / MARKER).read_text() == "new"


def test_a_link_to_a_folder_stays_one(earlier: Path) -> None:
    link = Path("link")
    link.symlink_to(earlier.resolve())
    with room(link, overwrite=True, marker=MARKER):
        write(link, "new")
    assert link.is_symlink()
    assert (earlier / MARKER).read_text() == "new"
    assert names(Path()) == ["link", "r"]


def test_what_is_read_and_the_current_folder_are_never_overwritten(
    earlier: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(earlier, "mine", "mine.csv")
    before = tree(earlier)

    def take(folder: Path, *inputs: Path) -> None:
        with room(folder, overwrite=True, marker=MARKER, inputs=inputs):
            pass

    with pytest.raises(SettingsError, match=r"expected --out elsewhere than the data, found r/mine\.csv in it"):
        take(earlier, Path("other.csv"), earlier / "mine.csv")
    assert tree(earlier) == before
    monkeypatch.chdir(earlier)
    with pytest.raises(SettingsError, match="expected --out elsewhere than the current folder, found it"):
        take(Path())
    assert tree(Path()) == before


# -- commands


def test_a_report_outlives_one_that_is_refused_in_its_place(shiftbench: Shiftbench) -> None:
    errors_table().write_csv("a.csv")
    assert shiftbench("assess", "a.csv", "--out", "r", *QUICK).code == 0
    before = tree(Path("r"))
    errors_table().with_columns(error=pl.lit(-1.0)).write_csv("bad.csv")
    said = shiftbench("assess", "bad.csv", "--out", "r", "--overwrite", *QUICK)
    assert said.code == 2
    said = shiftbench("compare", "a.csv", "bad.csv", "--out", "r", "--overwrite", *QUICK)
    assert said.code == 2
    assert tree(Path("r")) == before
    assert names(Path()) == ["a.csv", "bad.csv", "r"]


def test_predictions_in_the_folder_of_their_report_are_not_lost(shiftbench: Shiftbench) -> None:
    errors_table().write_csv("a.csv")
    assert shiftbench("assess", "a.csv", "--out", "r", *QUICK).code == 0
    Path("a.csv").rename("r/a.csv")
    said = shiftbench("assess", "r/a.csv", "--out", "r", "--overwrite", *QUICK)
    assert (said.code, "expected --out elsewhere than the data, found r/a.csv in it" in said.err) == (2, True)
    assert Path("r/a.csv").exists()


def test_a_run_outlives_one_that_is_refused_in_its_place(shiftbench: Shiftbench) -> None:
    weather_like().write_parquet("t.parquet")
    words = ("t.parquet", "--target", "y", "--group", "region", "--out", "r", "--members", 2, *QUICK)
    said = shiftbench("run", *words, "--shifted", "hills")
    assert said.code == 0, said.err
    before = tree(Path("r"))
    said = shiftbench("run", *words, "--shifted", "hils", "--overwrite")
    assert (said.code, "hils" in said.err) == (2, True), said.err
    assert tree(Path("r")) == before
    Path("t.parquet").rename("r/t.parquet")
    said = shiftbench("run", "r/t.parquet", *words[1:], "--shifted", "hills", "--overwrite")
    assert (said.code, "found r/t.parquet in it" in said.err) == (2, True), said.err
    assert Path("r/t.parquet").exists()
    said = shiftbench("partition", "r/t.parquet", "--group", "region", "--shifted", "hills", "--out", "p")
    assert said.code == 0, said.err
    said = shiftbench("partition", "r/t.parquet", "--group", "region", "--shifted", "hils", "--out", "p", "--overwrite")
    assert said.code == 2
    assert Path("p/manifest.json").exists()


def test_settings_of_somebody_else_are_not_overwritten_by_those_of_an_example(shiftbench: Shiftbench) -> None:
    Path("mine.toml").write_text("mine = true")
    said = shiftbench("example", "table", "--rows", 500, "--out", "mine.parquet")
    assert (said.code, "mine.toml: expected a new file, found one" in said.err) == (2, True), said.err
    assert names(Path()) == ["mine.toml"]
    assert shiftbench("example", "table", "--rows", 500, "--out", "mine.parquet", "--overwrite").code == 0
    assert names(Path()) == ["mine.parquet", "mine.toml"]
