"""Parquet files that make polars abort the process: one sentence, exit code 2, nothing left behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from shiftbench.errors import TableError
from shiftbench.io import aborts

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="an abort of Rust is no signal there")


def with_negative_count(frame: pl.DataFrame, path: Path) -> None:
    """Write a table whose first page says that it holds fewer than no values: polars asks for 2 EiB of memory."""
    frame.write_parquet(path, compression="uncompressed", statistics=False)
    data, place = bytearray(path.read_bytes()), 4
    for _ in range(3):  # the page's type and two sizes: a field of 32 bits, then its number, 7 bits a byte
        assert data[place] == 0x15
        place += 1
        while data[place] & 0x80:
            place += 1
        place += 1
    assert data[place : place + 2] == b"\x2c\x15"  # the head of a data page, whose first field is the count
    data[place + 2] ^= 1  # its sign
    path.write_bytes(data)


def run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "shiftbench", *words]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=100)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def small() -> pl.DataFrame:
    return pl.DataFrame({"a": [1.0, None, 3.0, 4.0] * 5, "s": ["x", "y", None, "z"] * 5})


def test_the_file_makes_polars_abort(tmp_path):
    with_negative_count(small(), tmp_path / "a.parquet")
    code = "import polars; polars.read_parquet('a.parquet')"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == -6
    assert "memory allocation of" in done.stderr


@pytest.mark.parametrize(
    "words",
    ["assess a.parquet --out r", "run a.parquet --target a --out r", "run a.parquet --target a --out r --overwrite"],
)
def test_a_command_answers_in_a_sentence(tmp_path, words):
    with_negative_count(small(), tmp_path / "a.parquet")
    done = run(tmp_path, *words.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: a.parquet: expected a readable file, found ")
    assert len(done.stderr.splitlines()) == 1
    assert names(tmp_path) == ["a.parquet"]


@pytest.mark.parametrize("command", ["prepare", "run"])
def test_nothing_is_left_where_the_file_is_read_while_a_folder_is_made(tmp_path, command):
    assert run(tmp_path, "example", "weather", "--rows", "1000", "--out", "good.parquet").returncode == 0
    with_negative_count(pl.read_parquet(tmp_path / "good.parquet"), tmp_path / "bad.parquet")
    data = ["--data", "bad.parquet"] if command == "run" else ["bad.parquet"]
    done = run(tmp_path, command, "weather", *data, "--out", "r")
    assert done.returncode == 2, done.stderr
    assert "error: bad.parquet: expected a readable file, found " in done.stderr
    assert "Traceback" not in done.stderr
    assert names(tmp_path) == [".good.parquet.shiftbench.json", "bad.parquet", "good.parquet"]


def test_an_abort_of_something_else_stays_one(tmp_path):
    code = "import os; from shiftbench.io import aborts\nwith aborts.answered(print): os.abort()"
    assert subprocess.run([sys.executable, "-c", code]).returncode == -6


def test_blocks_are_left_by_errors_as_ever():
    left = []

    @aborts.left
    def block():
        try:
            yield 1
        except TableError as error:
            left.append(str(error))
            raise

    with pytest.raises(TableError, match="torn"), block():
        raise TableError("torn")
    assert left == ["torn"]
    assert not aborts._OPEN
