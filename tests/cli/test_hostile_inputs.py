"""Inputs that once ended in a traceback, a hang or silence: refused in a sentence now, or met with a warning."""

from __future__ import annotations

import datetime
import gzip
import io
import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import ShiftbenchWarning, TableError
from shiftbench.io.fetch.download import _origin
from shiftbench.io.tables import read_table, source
from tests.cli.conftest import Shiftbench, errors_table, weather_like

ODD = {
    "lists": pl.Series([[k] for k in range(40)]),
    "arrays": pl.Series([[1.0, 2.0]] * 40, dtype=pl.Array(pl.Float64, 2)),
    "records": pl.Series([{"a": k} for k in range(40)]),
    "durations": pl.Series([datetime.timedelta(days=k) for k in range(40)]),
    "bytes": pl.Series([b"\xff%d" % k for k in range(40)]),
    "times": pl.Series([datetime.time(k % 24) for k in range(40)]),
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("option", ["--id", "--shifted", "--slice", "--cluster", "--target", "--uncertainty"])
def test_columns_of_any_type_are_used_or_refused(shiftbench: Shiftbench, kind: str, option: str) -> None:
    errors_table(40).with_columns(ODD[kind].alias("odd")).write_parquet("t.parquet")
    words = ["--answer", "answer"] if option == "--target" else []
    if kind == "times" and option in ("--slice", "--cluster", "--id", "--target"):
        return  # of which these are made; what comes after takes long
    said = shiftbench("assess", "t.parquet", option, "odd", *words, "--replicates", 10, "--out", "out")
    assert said.code == 2, said.err
    assert "odd" in said.err
    assert not Path("out").exists()


@pytest.mark.parametrize("kind", ODD)
def test_a_table_with_columns_of_any_type_is_divided_or_refused(shiftbench: Shiftbench, kind: str) -> None:
    table = weather_like(40).with_columns(ODD[kind].alias("odd"))
    table.write_parquet("t.parquet")
    words = ("partition", "t.parquet", "--group", "region", "--shifted", "hills")
    for place, more in enumerate(((), ("--cluster", "odd"), ("--by", "odd"), ("--time", "odd"), ("--id", "odd"))):
        said = shiftbench(*words, *more, "--out", f"out{place}")
        assert said.code in (0, 2), said.err
    said = shiftbench("partition", "t.parquet", "--group", "odd", "--shifted", "x", "--out", "out")
    assert said.code == 2


@pytest.mark.parametrize("pair", [(1e308, -1.7e308), (1.7e308, 1.7e308), (5e-324, -5e-324)])
def test_finite_but_extreme_uncertainties_are_scored_or_refused(
    shiftbench: Shiftbench, pair: tuple[float, float]
) -> None:
    table = errors_table(60)
    table = table.with_columns(pl.Series("uncertainty", [*pair, *table["uncertainty"][2:]]))
    table.write_csv("t.csv")
    said = shiftbench("assess", "t.csv", "--replicates", 10, "--out", "out")
    assert said.code in (0, 2), said.err
    assert "Warning" not in said.err


@pytest.mark.parametrize(
    ("column", "said"),
    [
        ("y", "column 'y': expected numbers within ±5e+74, whose squared errors can be added up, found"),
        ("x", "column 'x': expected finite numbers within ±3.4e38, found"),
    ],
)
def test_numbers_too_large_to_be_squared_are_refused_without_a_warning_of_numpy(
    shiftbench: Shiftbench, tmp_path: Path, column: str, said: str
) -> None:
    weather_like(400).with_columns(pl.col(column) * 4e299).write_parquet(tmp_path / "t.parquet")
    words = ("--group", "region", "--shifted", "hills", "--drop", "kind", "--members", 1, "--out", "out")
    refused = shiftbench("run", "t.parquet", "--target", "y", *words)
    assert refused.code == 2
    assert said in refused.err
    assert "encountered" not in refused.err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("packing", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_members_of_archives_are_told(tmp_path: Path, packing: int) -> None:
    plain, path = io.BytesIO(), tmp_path / "t.npz"
    np.savez(plain, a=np.arange(4_000), b=np.arange(4_000))
    with zipfile.ZipFile(plain) as source_, zipfile.ZipFile(path, "w", packing) as target:
        for info in source_.infolist():
            target.writestr(info.filename, source_.read(info))
    data = bytearray(path.read_bytes())
    for place in range(40, len(data) - 200, 37):
        damaged = bytearray(data)
        damaged[place : place + 8] = b"\xff" * 8
        path.write_bytes(damaged)
        try:
            read_table(path)
        except TableError as error:
            assert "t.npz" in str(error)  # noqa: PT017


@pytest.mark.parametrize("header", [b"(" * 90, b"{'descr': 'x'", b"lambda: 1", b"{'shape': (9" + b"9" * 50 + b",)}"])
def test_hostile_headers_of_arrays_are_told(tmp_path: Path, header: bytes) -> None:
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w") as archive:
        padded = header.ljust(117) + b"\n"
        archive.writestr("a.npy", b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + bytes(80))
    with pytest.raises(TableError, match=r"t\.npz"):
        read_table(path)


def test_how_much_may_be_unpacked_follows_from_the_free_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shiftbench.io.executor.memory.available", lambda: 30_000_000)
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 5_000_000, 1))
    with pytest.raises(TableError, match="at most 10,000,000 bytes once unpacked"):
        read_table(path)
    path.write_bytes(gzip.compress(b"a\n" + b"\n" * 9_000_000, 1))
    with pytest.raises(TableError, match=r"expected at most 416,666 lines, found 9,000,001|for which there is memory"):
        read_table(path)
    assert source.unpacked_limit() == 10_000_000


def test_a_csv_that_ends_inside_a_field_does_not_pass_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2.25\n3,4.")
    with pytest.warns(ShiftbenchWarning, match=r"a line end after the last record.*ends with '3,4\.'"):
        read_table(path)
    path.write_text('a,b\n1,2.25\n3,"4.')
    with pytest.raises(TableError, match="line 3: expected closed quotes"):
        read_table(path)


def test_a_key_twice_in_a_json_line_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1, "b": "x\\": y"}\n{"a": 1, "b": "2", "a": 3}\n')
    with pytest.raises(TableError, match=r"line 2: expected each key once, found more than once: 'a'"):
        read_table(path)
    path.write_text('{"error": 1}\n{"error": 15, "err\\u006fr": 99}\n')
    with pytest.raises(TableError, match=r"line 2: expected each key once, found more than once: 'error'"):
        read_table(path)
    path.write_text('{"a": {"k": 1}, "b": {"k": 2}}\n')
    assert read_table(path).columns == ["a", "b"]


@pytest.mark.parametrize("pair", ['{"a":|}', "[|]"])
def test_json_lines_nested_without_end_are_refused_at_once(tmp_path: Path, pair: str) -> None:
    path = tmp_path / "t.jsonl"
    plain = '{"error":1,"uncertainty":2}\n'
    begin, end = pair.split("|")
    path.write_text(plain + f'{{"error":1,"uncertainty":2,"x":{begin * 900}1{end * 900}}}\n' + plain)
    start = time.perf_counter()
    with pytest.raises(TableError, match=r"line 2: expected at most 32 levels of nesting, found 901\."):
        read_table(path)
    path.write_text(plain + '{"error":1,"x":' + "\n".join([begin] * 900 + ["1"] + [end] * 900) + "}\n")
    with pytest.raises(TableError, match=r"line 2: expected a JSON object, found"):
        read_table(path)
    assert time.perf_counter() - start < 5


def test_brackets_in_strings_of_json_lines_and_in_closed_lists_are_no_nesting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiftbench.io.tables.jsonl.BLOCK", 100)
    path = tmp_path / "t.jsonl"
    text = 'say \\"' + "[{" * 40 + "\\\\"
    path.write_text("".join(f'{{"k": {k}, "text": "{text}", "x": [{", ".join(["[1]"] * 50)}]}}\n' for k in range(5)))
    assert read_table(path).shape == (5, 3)
    deep = '{"a":' * 31 + "1" + "}" * 31
    path.write_text(f'{{"x": {deep}}}\n')
    assert read_table(path).shape == (1, 1)


@pytest.mark.parametrize(
    "words",
    [
        ("assess", "mine.csv", "-o", "loop"),
        ("assess", "loop", "-o", "x"),
        ("partition", "mine.csv", "--group", "season", "--shifted", "wet", "-o", "loop/out"),
        ("prepare", "motion", "loop", "-o", "x"),
    ],
)
def test_links_in_a_circle_are_refused(shiftbench: Shiftbench, words: tuple[str, ...]) -> None:
    Path("loop").symlink_to("loop")
    errors_table(60).write_csv("mine.csv")
    said = shiftbench(*words)
    assert said.code == 2, said.err
    assert said.err.startswith("error: ")
    assert "loop" in said.err
    assert sorted(path.name for path in Path().iterdir()) == ["loop", "mine.csv"]


def test_an_edited_report_is_refused_with_all_its_problems(shiftbench: Shiftbench) -> None:
    errors_table(60).write_csv("t.csv")
    assert shiftbench("assess", "t.csv", "--replicates", 10, "--out", "out").code == 0
    value = json.loads(Path("out/report.json").read_text())
    value["scores"][0]["metric"], value["systems"][0]["role"] = "nope", "nope"
    value["recipe"]["intervals"] = []
    Path("report.json").write_text(json.dumps(value))
    said = shiftbench("report", "report.json", "--out", "again")
    assert said.code == 2, said.err
    assert len(said.err.splitlines()) == 3
    assert not Path("again").exists()


def test_a_length_of_thousands_of_digits_is_no_length() -> None:
    from http.client import HTTPMessage

    headers = HTTPMessage()
    headers["Content-Length"] = "9" * 5_000
    assert _origin("http://x", headers).size is None


@pytest.mark.parametrize("rows", [10**10, 10**18, 10**400])
@pytest.mark.parametrize("what", ["table", "weather", "power", "motion"])
def test_more_rows_than_anything_holds_are_refused_at_once(shiftbench: Shiftbench, what: str, rows: int) -> None:
    said = shiftbench("example", what, "--rows", rows, "--out", "out.parquet")
    assert said.code == 2
    assert len(said.err) < 3_000
    assert not list(Path().iterdir())


@pytest.mark.parametrize("depth", [900, 100_000])
@pytest.mark.parametrize("pair", ["[]", "{}"])
def test_settings_of_endless_nesting_are_refused(shiftbench: Shiftbench, depth: int, pair: str) -> None:
    errors_table(40).write_parquet("t.parquet")
    begin, end = pair if pair == "[]" else ("{a=", "}")
    Path("s.toml").write_text(f"x = {begin * depth}{'' if pair == '[]' else 1}{end * depth}\n")
    said = shiftbench("partition", "t.parquet", "--config", "s.toml", "--out", "out")
    found = "tables or lists nested too deeply to be read"
    assert (said.code, said.err) == (2, f"error: s.toml: expected TOML, found {found}.\n")


def test_a_hundred_thousand_columns_are_no_reason_to_hang(tmp_path: Path, shiftbench: Shiftbench) -> None:
    pl.DataFrame({f"c{k}": [1, 2, 3, 4, 5] for k in range(20_000)}).write_parquet("t.parquet")
    start = time.perf_counter()
    said = shiftbench("assess", "t.parquet", "--out", "out", "--error", "nothing", "--slice", "c")
    assert said.code == 2
    assert len(said.err) < 5_000
    assert time.perf_counter() - start < 60


def test_a_panic_of_a_library_is_a_sentence_without_its_stack(tmp_path: Path) -> None:
    code = (
        "import sys, polars as pl\nfrom shiftbench.io import tables\nfrom shiftbench.cli import main\n"
        "tables.read_table = lambda *a, **k: pl.Series([2**62]).cast(pl.Date).to_frame().select("
        "pl.all().cast(pl.String))\n"
        "sys.argv = 'shiftbench partition t.csv --group a --shifted b --out o'.split()\nmain()\n"
    )
    code = code.replace("pl.Series([2**62]).cast(pl.Date)", "pl.Series([2**31 - 1], dtype=pl.Int32).cast(pl.Date)")
    environment = os.environ | {"RUST_BACKTRACE": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("error: expected values that polars can work with, found: ")
    assert len(done.stderr.splitlines()) == 1


def test_answers_beyond_64_bits_are_numbers(shiftbench: Shiftbench, tmp_path: Path) -> None:
    Path("large.jsonl").write_text(
        "".join(f'{{"target": {y}, "answer": {2**100 + y}, "uncertainty": {y}}}\n' for y in range(12)), "utf-8"
    )
    said = shiftbench("assess", "large.jsonl", "--out", "o")
    assert said.code == 0, said.err


def test_settings_of_another_encoding_are_told_as_such(shiftbench: Shiftbench, tmp_path: Path) -> None:
    Path("s.toml").write_text('table = "t.csv"\n', "utf-16")
    said = shiftbench("partition", "t.csv", "--config", "s.toml", "--out", "out")
    assert (said.code, "s.toml: expected TOML in UTF-8, found another encoding. Save it as UTF-8." in said.err) == (
        2,
        True,
    )
