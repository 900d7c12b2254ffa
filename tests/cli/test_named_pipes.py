"""Named pipes, sockets and devices are no files: no command waits for what they might hold."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from shiftbench.io import files
from shiftbench.io.output import MARK
from shiftbench.pipeline import cost
from tests.cli.conftest import Shiftbench, errors_table, weather_like

PATIENCE_S = 20.0  # after which a command that waits for a writer has failed

SHIFT = ("--group", "region", "--shifted", "hills")
RUN = ("--target", "y", *SHIFT, "--method", "mean", "--replicates", 20)


@pytest.fixture(autouse=True)
def impatient(tmp_path: Path) -> Iterator[None]:
    """Fail a test that hangs: after a while, whoever waits for a writer of a pipe finds one."""
    over, waited = threading.Event(), []

    def watch() -> None:
        pause = PATIENCE_S
        while not over.wait(pause):
            pause = 0.05
            for pipe in [path for path in tmp_path.rglob("*") if path.is_fifo()]:
                with suppress(OSError):  # nobody reads it
                    handle = os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
                    waited.append(pipe.name)
                    os.write(handle, b"x")
                    os.close(handle)

    watcher = threading.Thread(target=watch)
    watcher.start()
    yield
    over.set()
    watcher.join()
    assert not waited


@pytest.fixture
def inputs(shiftbench: Shiftbench, tmp_path: Path) -> Path:
    """A folder with tables of every kind that commands read, and a pipe under the suffix of each."""
    errors_table(60).write_csv(tmp_path / "errors.csv")
    weather_like(240).write_csv(tmp_path / "table.csv")
    for suffix in ("csv", "parquet", "arrow", "npz", "jsonl", "csv.gz", "toml", "json"):
        os.mkfifo(tmp_path / f"pipe.{suffix}")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        *(("assess", f"pipe.{suffix}") for suffix in ("csv", "parquet", "arrow", "npz", "jsonl", "csv.gz")),
        ("assess", "pipe.parquet", "--truth", "table.csv", "--target", "y"),
        ("compare", "errors.csv", "pipe.csv"),
        ("partition", "pipe.csv", "--time", "date"),
        ("run", "pipe.csv", *RUN),
        ("run", "table.csv", "--config", "pipe.toml", *RUN),
        ("run", "table.csv", "--test-set", "more=pipe.csv", *RUN),
        ("report", "pipe.json"),
        ("prepare", "weather", "pipe.csv"),
        ("run", "power", "--data", "pipe.csv"),
    ],
)
def test_a_pipe_as_input_is_refused_by_every_command(
    shiftbench: Shiftbench, inputs: Path, words: tuple[object, ...]
) -> None:
    said = shiftbench(*words, "--out", "out")
    assert said.code == 2
    assert "a named pipe" in said.err
    assert "pipe." in said.err
    assert not (inputs / "out").exists()


def test_a_table_that_is_a_pipe_is_refused_with_what_to_do(shiftbench: Shiftbench, inputs: Path) -> None:
    said = shiftbench("assess", "pipe.csv")
    assert said.err == "error: pipe.csv: expected a regular file, found a named pipe. Write it to a file first.\n"


@pytest.mark.parametrize("name", ["out/.shiftbench.json", ".out.shiftbench", ".out.making", ".out.earlier"])
def test_a_pipe_in_the_place_of_our_own_notes_is_refused_and_stays(
    shiftbench: Shiftbench, inputs: Path, name: str
) -> None:
    words = ("assess", "errors.csv", "--out", "out", "--replicates", 20, "--overwrite")
    assert shiftbench(*words).code == 0
    pipe = inputs / name
    pipe.unlink(missing_ok=True)
    os.mkfifo(pipe)
    said = shiftbench(*words)
    assert (said.code, pipe.is_fifo()) == (2, True)
    assert said.err.startswith("error: ")
    assert pipe.name in said.err
    assert (inputs / "out/report.json").is_file()


def test_a_pipe_among_the_files_of_a_result_is_somebody_elses(shiftbench: Shiftbench, inputs: Path) -> None:
    words = ("assess", "errors.csv", "--out", "out", "--replicates", 20, "--overwrite")
    assert shiftbench(*words).code == 0
    pipe = inputs / "out/report.csv"
    pipe.unlink()
    os.mkfifo(pipe)
    said = shiftbench(*words)
    assert (said.code, pipe.is_fifo()) == (2, True)
    assert "'report.csv' in it, added or changed since" in said.err


@pytest.mark.parametrize("name", [".printed.csv.shiftbench.json", "printed.csv"])
def test_a_pipe_in_the_place_of_a_single_file_or_its_note_is_refused_and_stays(
    shiftbench: Shiftbench, inputs: Path, name: str
) -> None:
    os.mkfifo(inputs / name)
    said = shiftbench("tables", "motion", "--out", "printed.csv", "--overwrite")
    assert (said.code, (inputs / name).is_fifo()) == (2, True)
    assert f"error: {name}: expected" in said.err


def test_a_pipe_in_a_folder_of_partitions_or_of_a_fit_is_refused(shiftbench: Shiftbench, inputs: Path) -> None:
    assert shiftbench("partition", "table.csv", *SHIFT, "--out", "parts").code == 0
    assert shiftbench("fit", "parts", "--target", "y", "--method", "mean", "--out", "model").code == 0
    records = [path.name for path in (inputs / "model").glob("*.json") if path.name not in (MARK, cost.FILE)]
    record = min(records)
    for there, words in (
        ("parts/manifest.json", ("run", "parts", "--target", "y")),
        ("parts/train.parquet", ("run", "parts", "--target", "y")),
        (f"model/{record}", ("predict", "model", "table.csv")),
    ):
        shutil.move(inputs / there, inputs / "kept")
        os.mkfifo(inputs / there)
        said = shiftbench(*words, "--out", "out.parquet")
        assert said.code == 2
        assert "a named pipe" in said.err
        (inputs / there).unlink()
        shutil.move(inputs / "kept", inputs / there)


def test_sockets_and_devices_are_told_from_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("s")  # a short name: those of sockets may not be long
        Path("link").symlink_to("s")
        kinds = [files.irregular(path) for path in ("s", "link", "/dev/zero", tmp_path, __file__, "nothing", "\0")]
        assert kinds == ["a socket", "a socket", "a device", "", "", "", ""]
        for read in (files.read_text, files.read_bytes, files.sha256):
            with pytest.raises(OSError, match="a socket is not a regular file: write it to one first"):
                read("s")
