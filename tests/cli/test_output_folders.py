"""Commands and their output folders: nobody else's files are touched, and what was killed or refused costs nothing."""

from __future__ import annotations

import errno
import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.errors import SettingsError, TableError
from shiftbench.io import files
from shiftbench.methods import member_files
from shiftbench.methods.combination import METHOD as COMBINATION
from shiftbench.pipeline import settings
from shiftbench.report import Report, plots
from tests.cli.conftest import Shiftbench, errors_table, weather_like
from tests.output.killing import killed_at
from tests.tracks.motion.made_parts import tree

QUICK = ("--replicates", 5)
PARTITION = ("--group", "region", "--shifted", "hills")


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


@pytest.fixture(autouse=True)
def quick_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which figures a report has is of no concern here, and drawing them takes ten times as long as all the rest."""

    def save(report: Report, folder: Path) -> list[Path]:
        return [files.write_text(folder / f"full_summary.{kind}", "<svg></svg>") for kind in ("png", "svg")]

    monkeypatch.setattr(plots, "save", save)


@pytest.fixture
def inputs(shiftbench: Shiftbench) -> Path:
    """A file to assess, a table, partitions of it, and settings, in the current folder."""
    for name in ("a.csv", "b.csv"):
        errors_table().write_csv(name)
    weather_like().write_parquet("t.parquet")
    Path("s.toml").write_text('table = "t.parquet"\ntarget = "y"\n[partition]\ngroup = "region"\nshifted = ["hills"]\n')
    assert shiftbench("partition", "t.parquet", *PARTITION, "--out", "parts").code == 0
    return Path()


COMMANDS: dict[str, tuple[object, ...]] = {
    "assess": ("assess", "a.csv", *QUICK),
    "compare": ("compare", "a.csv", "b.csv", *QUICK),
    "partition": ("partition", "t.parquet", *PARTITION),
    "fit": ("fit", "parts", "--target", "y", "--method", "mean"),
    "run": ("run", "--config", "s.toml", "--method", "mean", *QUICK),
    "power": ("example", "power", "--rows", 1_000),
    "motion": ("example", "motion", "--rows", 20),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("overwrite", [("--overwrite",)], ids=["overwrite"])
def test_a_folder_with_files_that_bear_our_names_is_refused_by_name(
    shiftbench: Shiftbench, inputs: Path, command: str, overwrite: tuple[str, ...]
) -> None:
    """A project with a report.json, a web app with a manifest.json, a folder of models, a --config inside --out."""
    Path("mine/train").mkdir(parents=True)
    for name in (
        "report.json", "manifest.json", "run.toml", "track.toml", "settings.json", "member_09.pt", "origin.toml",
        "records.parquet", "train/a.pb",
    ):  # fmt: skip
        Path("mine", name).write_text("mine")
    shutil.copy("s.toml", "mine/run.toml")
    words = tuple("mine/run.toml" if word == "s.toml" else word for word in COMMANDS[command])
    before = tree(Path())
    said = shiftbench(*words, "--out", "mine", *overwrite)
    assert said.code == 2, said.err
    if not (command == "run" and overwrite):  # which sees first that its settings lie in the folder
        assert "mine: expected a new folder" in said.err
        assert "found another, with 'manifest.json', 'member_09.pt', 'origin.toml' and 6 more in it" in said.err
    assert tree(Path()) == before


@pytest.mark.parametrize("command", ["assess", "fit"])
def test_what_the_user_added_or_edited_is_refused_by_name(shiftbench: Shiftbench, inputs: Path, command: str) -> None:
    words = (*COMMANDS[command], "--out", "r")
    assert shiftbench(*words).code == 0
    held = next(path for path in sorted(Path("r").rglob("*.*")) if path.is_file() and path.name != ".shiftbench.json")
    held.write_bytes(held.read_bytes() + b" ")
    Path("r/notes.txt").write_text("mine")
    before = tree(Path())
    said = shiftbench(*words, "--overwrite")
    assert (said.code, "added or changed since" in said.err) == (2, True), said.err
    assert repr(held.relative_to("r").as_posix()) in said.err
    assert "'notes.txt'" in said.err
    assert tree(Path()) == before


def test_folders_beside_an_example_are_nobodys_but_their_owners(shiftbench: Shiftbench) -> None:
    for name in (".e.old", ".e.part", ".e.earlier.d"):
        Path(name).mkdir()
        Path(name, "thesis.txt").write_text("mine")
    before = tree(Path())
    words = ("example", "power", "--rows", 1_000, "--out", "e")
    assert shiftbench(*words).code == 0
    assert shiftbench(*words, "--seed", 2, "--overwrite").code == 0
    assert {name: text for name, text in tree(Path()).items() if not name.startswith("e/")} == before


def test_a_fit_that_refuses_deletes_nothing(shiftbench: Shiftbench, inputs: Path) -> None:
    words = (*COMMANDS["fit"], "--out", "r")
    assert shiftbench(*words).code == 0
    for name in ("member_07.pt", "member_08.cbm", "member_09.json", "inputs.npz", ".x.part"):
        Path("r", name).write_text("mine")
    before = tree(Path())
    for more in ((), ("--overwrite",)):
        said = shiftbench(*words, "--target", "x", *more)
        assert said.code == 2, said.err
        assert {name: text for name, text in tree(Path()).items() if "making" not in name} == before


@pytest.mark.parametrize(
    ("command", "overwrite"), [("assess", True), ("assess", False), ("partition", True), ("fit", True), ("power", True)]
)
def test_what_was_killed_costs_nothing_and_the_same_command_goes_on(
    shiftbench: Shiftbench, inputs: Path, command: str, overwrite: bool
) -> None:
    """At some of the calls that write; `tests/output/test_killed.py` tries every one of the folder's own."""
    words: tuple[object, ...] = (*COMMANDS[command], "--out", "r")
    if overwrite:
        assert shiftbench(*words).code == 0
        words = (*words, "--overwrite")
    before = tree(Path())
    for number in (2, 6, 14):
        with killed_at(number, Path().absolute()):
            shiftbench(*words)
        assert before.items() <= tree(Path()).items() or Path(".r.earlier").exists()
    said = shiftbench(*words)
    assert said.code == 0, said.err
    assert names(Path()) == ["a.csv", "b.csv", "parts", "r", "s.toml", "t.parquet"]


@pytest.mark.parametrize("command", ["assess", "partition", "fit"])
def test_a_file_that_is_put_there_after_a_kill_is_not_lost_on_the_rerun(
    shiftbench: Shiftbench, inputs: Path, command: str
) -> None:
    words = (*COMMANDS[command], "--out", "r")
    assert shiftbench(*words).code == 0
    for number in (2, 6, 12, 18):
        with killed_at(number, Path().absolute()):
            shiftbench(*words, "--overwrite")
        Path("r").mkdir(exist_ok=True)
        mine = Path("r", f"mine_{number}.txt")
        mine.write_text("mine")
        said = shiftbench(*words, "--overwrite")
        assert mine.exists(), f"lost after a kill at call {number}"
        assert (said.code, mine.name in said.err) == (2, True), said.err
        mine.unlink()


def test_a_report_for_which_there_is_no_room_can_be_written_when_there_is(
    shiftbench: Shiftbench, inputs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written, before = files.write_text, tree(Path())

    def full(path: Path, text: str) -> Path:
        if path.name == "report.md":
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return written(path, text)

    with monkeypatch.context() as patched:
        patched.setattr(files, "write_text", full)
        said = shiftbench("assess", "a.csv", *QUICK, "--out", "r")
        assert (said.code, "r/report.md: expected to read and write there, found: No space left" in said.err) == (
            2,
            True,
        )
    assert tree(Path()) == before
    assert shiftbench("assess", "a.csv", *QUICK, "--out", "r").code == 0


def test_tables_pictures_and_reports_replace_nothing_but_their_own(shiftbench: Shiftbench, inputs: Path) -> None:
    assert shiftbench("assess", "a.csv", *QUICK, "--out", "r").code == 0
    assert shiftbench("report", "r", "--out", "again").code == 0
    assert shiftbench("report", "r", "--out", "again").code == 0
    assert shiftbench("assess", "a.csv", *QUICK, "--out", "r", "--overwrite").code == 0, "report keeps the mark true"
    for name in ("mine/report.md", "again/report.md"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_text("mine")
        said = shiftbench("report", "r", "--out", Path(name).parent)
        assert (said.code, "found 'report.md', added or changed" in said.err) == (2, True), said.err
        assert Path(name).read_text() == "mine"
    Path("x.csv").write_text("mine")
    said = shiftbench("tables", "weather", "--out", "x.csv")
    assert (said.code, "x.csv: expected a new file, found one" in said.err) == (2, True), said.err
    said = shiftbench("tables", "weather", "--out", "x.csv", "--overwrite")
    assert (said.code, "or one that this command wrote" in said.err) == (2, True), said.err
    assert Path("x.csv").read_text() == "mine"
    for words in ((), ("--overwrite",)):
        assert shiftbench("tables", "weather", "--out", "y.csv", *words).code == 0


@pytest.mark.parametrize("linked", [False, True])
def test_a_result_that_the_user_put_where_ours_stands_aside_is_not_touched(
    shiftbench: Shiftbench, inputs: Path, linked: bool
) -> None:
    assert shiftbench("assess", "a.csv", *QUICK, "--out", "o").code == 0
    Path("o").rename("kept" if linked else ".o.earlier")
    if linked:
        Path(".o.earlier").symlink_to("kept")
    before = tree(Path())
    said = shiftbench("assess", "a.csv", *QUICK, "--out", "o")
    assert (said.code, ".o.earlier: expected nothing there" in said.err) == (2, True), said.err
    assert tree(Path()) == before


def test_a_journal_of_an_unknown_step_is_not_believed(shiftbench: Shiftbench, inputs: Path) -> None:
    state = {"step": 5, "made_by": "assess", "inputs": "", "earlier": "nothing", "adding": False}
    Path(".o.shiftbench").write_text(json.dumps({"format": "shiftbench output folder in the making 1", **state}))
    Path(".o.making").mkdir()
    Path(".o.making/mine.txt").write_text("mine")
    said = shiftbench("assess", "a.csv", *QUICK, "--out", "o")
    assert (said.code, Path(".o.making/mine.txt").read_text()) == (2, "mine"), said.err


def test_predictions_replace_neither_their_table_nor_a_part_of_their_model(
    shiftbench: Shiftbench, inputs: Path
) -> None:
    assert shiftbench(*COMMANDS["fit"], "--out", "m").code == 0
    before = tree(Path())
    for out in ("t.parquet", "m/settings.json"):
        said = shiftbench("predict", "m", "t.parquet", "--out", out, "--overwrite")
        assert said.code == 2, said.err
    assert tree(Path()) == before


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
    words = ("t.parquet", "--target", "y", "--group", "region", "--out", "r", "--method", "mean", *QUICK)
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


@pytest.mark.parametrize("command", ["run", "fit"])
def test_a_command_that_is_refused_late_keeps_what_was_fitted_and_nothing_else(
    shiftbench: Shiftbench, inputs: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    """After the partition was made, a method cannot learn from it; or the second one cannot, after the first."""
    chosen = COMMANDS[command]
    words = (*chosen[: chosen.index("--method")], "--members", 1, "--out", "r")

    real = member_files.inputs

    def fails(folder: Path, data: Any) -> Any:
        if folder.name == "likelihood_boosting":
            return real(folder, data)
        raise TableError("nothing to learn from")

    before = tree(Path())
    with monkeypatch.context() as patched:
        patched.setattr("shiftbench.methods.member_files.inputs", fails)
        said = shiftbench(*words, "--method", "boosting")
        assert (said.code, "nothing to learn from" in said.err, "goes on" in said.err) == (2, True, False), said.err
        assert tree(Path()) == before
        if command == "run":
            said = shiftbench(*words, "--method", "likelihood_boosting,boosting", *QUICK)
            assert (said.code, "kept in .r.making; the same command goes on" in said.err) == (2, True), said.err
    if command == "run":
        assert shiftbench(*words, "--method", "likelihood_boosting,boosting", *QUICK).code == 0
        assert names(Path()) == ["a.csv", "b.csv", "parts", "r", "s.toml", "t.parquet"]


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)], ids=["new", "overwriting"])
@pytest.mark.parametrize("option", ["--slice", "--cluster", "--baseline", "--id", "--group", "--time"])
def test_a_column_that_is_not_there_is_refused_before_a_model_is_fitted(
    shiftbench: Shiftbench, inputs: Path, monkeypatch: pytest.MonkeyPatch, option: str, overwrite: tuple[str, ...]
) -> None:
    chosen, fitted, before = COMMANDS["run"], list[object](), tree(Path())
    words = (*chosen[: chosen.index("--method")], "--members", 1, "--method", "boosting", "--out", "r", *QUICK)

    def fits(*named: object, **_: object) -> None:
        fitted.append(named)
        raise TableError("fitted")

    monkeypatch.setattr("shiftbench.methods.member_files.inputs", fits)
    said = shiftbench(*words, option, "nope", *overwrite)
    assert (said.code, "'nope'" in said.err, "goes on" in said.err) == (2, True, False), said.err
    assert fitted == []
    assert tree(Path()) == before
    assert shiftbench(*words).code == 2
    assert len(fitted) == 1, "this is where a model would have been fitted"


def test_settings_of_somebody_else_are_not_overwritten_by_those_of_an_example(shiftbench: Shiftbench) -> None:
    Path("mine.toml").write_text("mine = true")
    said = shiftbench("example", "table", "--rows", 500, "--out", "mine.parquet")
    assert (said.code, "mine.toml: expected a new file, found one" in said.err) == (2, True), said.err
    assert names(Path()) == ["mine.toml"]
    said = shiftbench("example", "table", "--rows", 500, "--out", "mine.parquet", "--overwrite")
    assert (said.code, "mine.toml: expected the settings of an example as it was written" in said.err) == (2, True)
    assert (names(Path()), Path("mine.toml").read_text()) == (["mine.toml"], "mine = true")


def test_an_example_takes_the_place_of_its_own_settings_unless_they_were_edited(shiftbench: Shiftbench) -> None:
    words = ("example", "table", "--out", "t.csv")
    assert shiftbench(*words, "--rows", 500).code == 0
    assert shiftbench(*words, "--rows", 400, "--seed", 2, "--overwrite").code == 0
    edited = Path("t.toml").read_text().replace("members = 10", "members = 3")
    Path("t.toml").write_text(edited)
    before = tree(Path())
    said = shiftbench(*words, "--overwrite")
    assert (said.code, "t.toml: expected the settings of an example as it was written" in said.err) == (2, True)
    assert tree(Path()) == before
    Path("t.toml").rename("mine")
    Path("t.toml").symlink_to("mine")
    assert shiftbench(*words, "--overwrite").code == 2
    assert Path("mine").read_text() == edited


PLACES = ("beside", "the current folder", "a mount", "a parent that may not be written to")


@pytest.fixture(params=PLACES)
def out(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, inputs: Path) -> tuple[Path, Path]:
    """Where to, as the user calls it, and how they call the folder of the inputs."""
    if request.param != "beside":
        Path("r").mkdir()
    if request.param == "the current folder":
        monkeypatch.chdir("r")
        return Path(), Path("..")
    if request.param == "a mount":
        monkeypatch.setattr(Path, "is_mount", lambda self: self.name == "r")
    if request.param == "a parent that may not be written to":
        parent = Path().resolve()
        monkeypatch.setattr(
            "os.access", lambda path, mode, **_: not (mode & os.W_OK and Path(path).resolve() == parent)
        )
    return Path("r"), Path()


def test_paths_in_a_result_are_right_at_its_final_place(shiftbench: Shiftbench, out: tuple[Path, Path]) -> None:
    folder, here = out
    table, more = (here / "t.parquet").resolve(), (here / "more.parquet").resolve()
    weather_like(seed=1).write_parquet(more)
    words = ("run", "--config", here / "s.toml", "--method", "mean", "--test-set", f"more={here / 'more.parquet'}")
    for again in ((), (), ("--overwrite",)):
        said = shiftbench(*words, *QUICK, "--out", folder, *again)
        assert said.code == 0, said.err
        assert f'table = "../{table.name}"' in (folder / "run.toml").read_text()
        found = settings.read(folder / "run.toml")
        assert (Path(found["table"]).resolve(), Path(found["test_sets"]["more"]).resolve()) == (table, more)
        assert_names_no_folder_in_the_making(folder)


def test_a_combination_finds_its_parts_beside_its_final_place(shiftbench: Shiftbench, out: tuple[Path, Path]) -> None:
    from shiftbench.io.output import writing

    folder, here = out
    for name in ("one", "two"):
        assert shiftbench("fit", here / "parts", "--target", "y", "--method", "mean", "--out", here / name).code == 0
    table, own = weather_like().drop_nulls(), COMBINATION.Settings("regression", of=("one", "two"))
    for overwrite in (False, True):
        with writing(folder, "fit", overwrite=overwrite) as place:
            COMBINATION.fit(table, table, target="y", settings=own, folder=place)
            with pytest.raises(SettingsError, match="expected other fitted methods to combine, found itself"):
                COMBINATION.fit(table, table, target="y", settings=replace(own, of=("one", "r")), folder=place)
        assert_names_no_folder_in_the_making(folder)
    said = shiftbench("predict", folder, here / "t.parquet", "--out", here / "p.parquet")
    assert said.code == 0, said.err


def test_data_that_are_prepared_inside_a_result_are_named_where_they_end(out: tuple[Path, Path]) -> None:
    """As `run` does on data of a track that are not prepared yet."""
    from shiftbench.io.output import final, writing

    folder, here = out
    for overwrite in (False, True):
        with writing(folder, "run", overwrite=overwrite) as place:
            with writing(place / "data", "prepare") as within:
                files.write_text(within / "t.csv", "x,y")
                files.write_text(within / "beside.txt", str(final(within)))
            sets = {"new": str(place / "data/t.csv"), "other": str(here / "t.parquet")}
            chosen = settings.Settings(table=str(place / "data" / "t.csv"), target="y", test_sets=sets)
            settings.write(chosen, place / "task" / "run.toml")
        found = settings.read(folder / "task" / "run.toml")
        assert Path(found["table"]).samefile(folder / "data" / "t.csv")
        assert Path(found["test_sets"]["new"]).samefile(folder / "data" / "t.csv")
        assert Path(found["test_sets"]["other"]).samefile(here / "t.parquet")
        assert (folder / "data" / "beside.txt").read_text() == str((folder / "data").resolve())
        assert_names_no_folder_in_the_making(folder)


def assert_names_no_folder_in_the_making(folder: Path) -> None:
    """No file of a result holds the name of a folder that is there only while it is made."""
    for path in folder.rglob("*"):
        if path.is_file():
            assert not {name for name in (b".making", b".adding") if name in path.read_bytes()}, path
