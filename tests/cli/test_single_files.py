"""Output that is one file takes the place of what the same command wrote, and of nothing else."""

from __future__ import annotations

import errno
import re
import shutil
import sys
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from shiftbench.assessment import predictions
from shiftbench.io import files
from shiftbench.io.tables import single_file
from tests.output.killing import every_kill, kill, killed_later
from tests.tracks.motion.made_parts import tree

COMMANDS = {
    "table.parquet": ("example", "table", "--rows", "400"),
    "table.csv": ("example", "table", "--rows", "400"),
    "weather.parquet": ("example", "weather", "--rows", "1000"),
    "weather.csv": ("example", "weather", "--rows", "1000"),
    "printed.csv": ("tables", "motion", "--metric", "cnll"),
    "printed.csv.gz": ("tables", "motion", "--metric", "cnll"),
    "printed.parquet": ("tables", "motion", "--metric", "cnll"),
    "printed.jsonl": ("tables", "motion", "--metric", "cnll"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_replaces_its_own_file_only(shiftbench, tmp_path, name):
    words = (*COMMANDS[name], "--out", name)
    assert shiftbench(*words).code == 0
    assert shiftbench(*words).code == 2
    again = shiftbench(*words, "--overwrite")
    assert again.code == 0, again.err
    path = tmp_path / name
    if path.suffix == ".parquet":
        metadata = pl.read_parquet_metadata(path)  # an editor that keeps it
        del metadata["ARROW:schema"]
        pl.read_parquet(path).with_columns(mine=1).write_parquet(path, metadata=metadata)
    else:
        path.write_bytes(path.read_bytes() + b"mine")
    before = path.read_bytes()
    refused = shiftbench(*words, "--overwrite")
    assert refused.code == 2
    assert f"error: {name}: expected a new file, or one that this command wrote" in refused.err
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["weather.csv", "printed.csv", "printed.parquet", "table.csv"])
def test_a_file_of_somebody_else_stays(shiftbench, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"mine")
    refused = shiftbench(*COMMANDS[name], "--out", name, "--overwrite")
    assert refused.code == 2
    assert f"error: {name}: expected a new file, or one that this command wrote" in refused.err
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {name: b"mine"}


def test_one_command_does_not_replace_the_file_of_another(shiftbench, tmp_path):
    assert shiftbench(*COMMANDS["weather.parquet"], "--out", "a.parquet").code == 0
    before = (tmp_path / "a.parquet").read_bytes()
    for name in ("table.parquet", "printed.parquet"):
        assert shiftbench(*COMMANDS[name], "--out", "a.parquet", "--overwrite").code == 2
    assert (tmp_path / "a.parquet").read_bytes() == before


def test_a_link_and_a_note_of_somebody_else_stay(shiftbench, tmp_path):
    words = (*COMMANDS["table.csv"], "--out", "table.csv")
    assert shiftbench(*words).code == 0
    note = tmp_path / ".table.csv.shiftbench.json"
    kept = note.read_text()
    note.write_text("mine")
    refused = shiftbench(*words, "--overwrite")
    assert refused.code == 2
    assert ".table.csv.shiftbench.json: expected nothing there" in refused.err
    assert note.read_text() == "mine"
    note.write_text(kept)
    shutil.move(tmp_path / "table.csv", tmp_path / "other.csv")
    (tmp_path / "table.csv").symlink_to("other.csv")
    assert shiftbench(*words, "--overwrite").code == 2
    assert (tmp_path / "table.csv").is_symlink()


def test_predictions_take_the_place_of_predictions_only(shiftbench, tmp_path):
    assert shiftbench("example", "table", "--rows", "400", "--out", "t.parquet").code == 0
    assert shiftbench("partition", "t.parquet", "--config", "t.toml", "--out", "parts").code == 0
    fitted = shiftbench("fit", "parts", "--config", "t.toml", "--method", "mean", "--out", "model")
    assert fitted.code == 0, fitted.err
    words = ("predict", "model", "parts/eval_out.parquet", "--id", "id", "--out", "p.parquet")
    assert shiftbench(*words).code == 0
    assert shiftbench(*words, "--overwrite").code == 0
    shutil.copy(tmp_path / "t.parquet", tmp_path / "p.parquet")
    refused = shiftbench(*words, "--overwrite")
    assert refused.code == 2
    assert "error: p.parquet: expected a new file, or one that this command wrote" in refused.err
    assert (tmp_path / "p.parquet").read_bytes() == (tmp_path / "t.parquet").read_bytes()


def test_predictions_that_a_user_saved_stay(shiftbench, tmp_path):
    """Also those that carry the metadata of predictions that the command wrote."""
    assert shiftbench("example", "table", "--rows", "400", "--out", "t.parquet").code == 0
    assert shiftbench("partition", "t.parquet", "--config", "t.toml", "--out", "parts").code == 0
    assert shiftbench("fit", "parts", "--config", "t.toml", "--method", "mean", "--out", "model").code == 0
    words = ("predict", "model", "parts/eval_out.parquet", "--id", "id", "--out")
    assert shiftbench(*words, "p.parquet").code == 0
    made = predictions.load("p.parquet")
    own = predictions.Predictions(made.ids, made.ensemble, {"method": "no example table"})
    again = predictions.Predictions(made.ids, made.ensemble, made.metadata)
    for each, command in ((own, words), (again, words), (own, ("example", "table", "--out"))):
        before = each.save("mine.parquet").read_bytes()
        refused = shiftbench(*command, "mine.parquet", "--overwrite")
        assert refused.code == 2
        assert "error: mine.parquet: expected a new file, or one that this command wrote" in refused.err
        assert (tmp_path / "mine.parquet").read_bytes() == before


FEW = ("tables", "power", "--task", "synthetic", "--metric", "rmse", "--model", "MC dropout", "--subset")
KILLED = {
    "table.csv": (COMMANDS["table.csv"], ("example", "table", "--rows", "500")),
    "printed.csv": ((*FEW, "in"), (*FEW, "shifted")),
    "weather.csv": (("example", "weather", "--rows", "1000"), ("example", "weather", "--rows", "1001")),
    "p.parquet": (("predict", "../model", "../t.parquet"), ("predict", "../model", "../other.parquet")),
}


@pytest.fixture
def fitted(shiftbench, tmp_path, monkeypatch):
    """Fitted means, with two tables to predict, in the folder above the current one."""
    assert shiftbench("example", "table", "--rows", "500", "--out", "t.parquet").code == 0
    assert shiftbench("partition", "t.parquet", "--config", "t.toml", "--out", "parts").code == 0
    assert shiftbench("fit", "parts", "--config", "t.toml", "--method", "mean", "--out", "model").code == 0
    pl.read_parquet("t.parquet").head(450).write_parquet("other.parquet")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def results(folder: Path) -> dict[str, bytes]:
    """The files in a folder but what they took to make, which differs each time."""
    return {name: content for name, content in tree(folder).items() if name != "p-cost.json"}


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)], ids=["new", "overwriting"])
@pytest.mark.parametrize("name", KILLED)
@pytest.mark.usefixtures("fitted")
def test_a_kill_at_any_call_leaves_a_whole_file_and_the_same_command_goes_on(shiftbench, monkeypatch, overwrite, name):
    """A file made with other arguments, so that the new one differs from it, is replaced if there is one."""
    words, other = ((*each, "--out", name) for each in KILLED[name])
    here = Path.cwd()
    assert shiftbench(*words).code == 0
    result = results(here)

    def begin() -> Path:
        for path in here.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if overwrite:
            assert shiftbench(*other).code == 0
        return here

    begin()
    before = tree(here).get(name)
    assert before != result[name]
    kills = 0
    for kills, _ in every_kill(lambda: shiftbench(*words, *overwrite), begin):  # noqa: B007
        assert tree(here).get(name) in (before, result[name])
        again = shiftbench(*words, *overwrite)
        assert results(here) == result, again.err
        assert {path.name for path in here.iterdir()} - {"p-cost.json"} == set(result), "nothing else is left"
        assert again.code == 0 or (not overwrite and "expected a new file, found one" in again.err), again.err
    assert kills > 5


def test_what_a_killed_command_has_left_is_told_from_files_of_others(shiftbench, tmp_path):
    """The parts of killed commands lie in a folder of their own; what others keep there or beside it stays."""
    words = (*COMMANDS["table.csv"], "--out", "table.csv")
    beside, making = tmp_path / ".table.csv.abcdefgh.part", tmp_path / ".table.csv.making"
    beside.write_text("mine")
    making.mkdir()
    (making / ".table.csv.abcdefgh.part").write_text("mine")
    refused = shiftbench(*words)
    assert (refused.code, "error: .table.csv.making: expected nothing there" in refused.err) == (2, True), refused.err
    assert (making / ".table.csv.abcdefgh.part").read_text() == "mine"
    shutil.rmtree(making)
    with killed_later(tmp_path), single_file.replacing(Path("table.csv"), "x", overwrite=False):
        files.write_text("table.csv", "half")
        assert making.is_dir()
        kill()
    (making / "thesis.txt").write_text("mine")
    refused = shiftbench(*words)
    assert (refused.code, "error: .table.csv.making: expected nothing but temporary files" in refused.err) == (2, True)
    (making / "thesis.txt").rename(tmp_path / "thesis.txt")
    Path("table.csv").unlink()
    said = shiftbench(*words)
    assert said.code == 0, said.err
    assert sorted(tree(tmp_path)) == [
        ".table.csv.abcdefgh.part", ".table.csv.shiftbench.json", "table.csv", "table.toml", "thesis.txt",
    ]  # fmt: skip


def test_one_process_at_a_time_writes_a_file(shiftbench, tmp_path):
    with single_file.replacing(Path("table.csv"), "x", overwrite=False):
        refused = shiftbench(*COMMANDS["table.csv"], "--out", "table.csv")
        assert (refused.code, "table.csv: expected a file that nobody else writes to" in refused.err) == (2, True)
    assert tree(tmp_path) == {}


@pytest.mark.parametrize(
    ("name", "failing"), [("table.csv", "note"), ("table.csv", "settings"), ("printed.jsonl", "note")]
)
def test_a_disk_that_is_full_leaves_what_was_there(shiftbench, tmp_path, monkeypatch, name, failing):
    wanted = f".{name}.shiftbench.json" if failing == "note" else "table.toml"
    words, written = (*COMMANDS[name], "--out", name), files.write_text

    def full(path, text):
        if Path(path).name == wanted:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return written(path, text)

    with monkeypatch.context() as patched:
        patched.setattr(files, "write_text", full)
        said = shiftbench(*words)
        assert (said.code, "No space left on device" in said.err, wanted in said.err) == (2, True, True), said.err
    assert tree(tmp_path) == {}
    assert shiftbench(*words).code == 0
    before = tree(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(files, "write_text", full)
        assert shiftbench(*words, "--overwrite").code == 2
    assert tree(tmp_path)[name] == before[name]
    assert shiftbench(*words, "--overwrite").code == 0
    assert tree(tmp_path) == before


@pytest.mark.parametrize("size", ["1e999", "-1e999", "[]", "null"])
def test_a_note_that_makes_no_sense_is_somebody_elses(shiftbench, tmp_path, size):
    words = (*COMMANDS["table.csv"], "--out", "table.csv")
    assert shiftbench(*words).code == 0
    note = tmp_path / ".table.csv.shiftbench.json"
    note.write_text(re.sub(r'"size": \d+', f'"size": {size}', note.read_text()))
    refused = shiftbench(*words, "--overwrite")
    assert (refused.code, ".table.csv.shiftbench.json: expected nothing there" in refused.err) == (2, True)


@pytest.mark.skipif(sys.platform == "win32", reason="the size of files is limited otherwise")
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "csv.gz", "parquet"])
def test_a_file_that_cannot_be_written_is_named_with_the_reason(shiftbench, tmp_path, suffix):
    import resource

    with limited(resource.RLIMIT_FSIZE, 1_000):
        said = shiftbench("tables", "motion", "--metric", "cnll", "--out", f"o.{suffix}")
    assert said.code == 2
    assert f"error: o.{suffix}: expected to write 168 rows, found: [Errno 27] File too large: 'o.{suffix}'" in said.err
    assert tree(tmp_path) == {}


@pytest.mark.skipif(sys.platform == "win32", reason="the size of files is limited otherwise")
@pytest.mark.parametrize("missing", [1, 10, 100, 1_000, 10_000])
def test_parquet_that_ends_anywhere_is_named_with_the_reason(shiftbench, tmp_path, missing):
    """Also the partitions, which polars writes all at once."""
    import resource

    words = ("example", "table", "--rows", "3000", "--out")
    assert shiftbench(*words, "t.parquet").code == 0
    before = tree(tmp_path)
    with limited(resource.RLIMIT_FSIZE, Path("t.parquet").stat().st_size - missing):
        made, parted = shiftbench(*words, "o.parquet"), shiftbench("partition", "t.parquet", "--time", "date")
    told = "error: o.parquet: expected to write 3,000 rows, found: [Errno 27] File too large: 'o.parquet'"
    assert (made.code, told in made.err) == (2, True), made.err
    assert parted.code == 0, parted.err
    with limited(resource.RLIMIT_FSIZE, Path("shiftbench-t-partition/train.parquet").stat().st_size - missing):
        parted = shiftbench("partition", "t.parquet", "--time", "date", "--out", "p")
    told = "error: p/train.parquet: expected to write 1,252 rows, found: [Errno 27] File too large: 'p/train.parquet'"
    assert (parted.code, told in parted.err) == (2, True), parted.err
    shutil.rmtree("shiftbench-t-partition")
    assert tree(tmp_path) == before


@pytest.mark.skipif(sys.platform == "win32", reason="the size of files is limited otherwise")
def test_an_error_of_polars_that_names_no_reason_is_one_of_the_disk_only_where_that_is_full(tmp_path):
    import resource

    vague = pl.exceptions.ComputeError("parquet: File out of specification: Invalid thrift: transport error")
    with pytest.raises(pl.exceptions.ComputeError, match="transport"), files.replacing(tmp_path / "o.parquet"):
        raise vague
    with (
        limited(resource.RLIMIT_FSIZE, 1_000),
        pytest.raises(OSError, match=r"\[Errno 27\] File too large: .*o\.parquet"),
        files.replacing(tmp_path / "o.parquet"),
    ):
        raise vague
    assert tree(tmp_path) == {}


@contextmanager
def limited(what, limit):
    import resource
    import signal

    ignored, before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.getrlimit(what)
    resource.setrlimit(what, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(what, before)
        signal.signal(signal.SIGXFSZ, ignored)
