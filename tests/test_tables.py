"""Tables: whatever a person has, read right or refused with the reason."""

from __future__ import annotations

import datetime as dt
import errno
import gzip
import io
import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.errors import TableError, UnknownNameError
from shiftbench.io import tables
from shiftbench.io.tables import problem, source, writing
from shiftbench.io.tables.rows import native_ids


def written(folder: Path, data: bytes | str, name: str = "t.csv") -> Path:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


def zstd_stream(data: bytes, piece: int = 2**20) -> bytes:
    """As writers do that do not know how much is to come: the frame declares no size."""
    packed = pa.BufferOutputStream()
    with pa.CompressedOutputStream(packed, "zstd") as stream:
        for start in range(0, len(data), piece):
            stream.write(data[start : start + piece])
    return packed.getvalue().to_pybytes()


def problems(path: Path, **options: Any) -> str:
    with pytest.raises(TableError, match="expected") as caught:
        tables.read_table(path, **options)
    # Every message says what was expected, what was found, and names the file.
    assert "found" in str(caught.value)
    assert path.name in str(caught.value)
    return str(caught.value)


# -- what a CSV may look like


@pytest.mark.parametrize(
    "data",
    [
        "id,x,when\na,1.5,2020-01-02\nb,,2020-01-03\n",
        "\ufeffid,x,when\na,1.5,2020-01-02\nb,,2020-01-03\n",
        "id;x;when\na;1,5;2020-01-02\nb;;2020-01-03\n",
        "id;x;when\na;1.5;2020-01-02\nb;NA;2020-01-03\n",
        "id\tx\twhen\r\na\t1,5\t2020-01-02\r\nb\t\t2020-01-03\r\n",
        "id|x|when\na|1.5|2020-01-02\nb|nan|2020-01-03",
        'id,x,when\n"a","1.5","2020-01-02"\n"b","","2020-01-03"\n',
        "id,x,when\na,1.5,2020-01-02\n\nb,,2020-01-03\n\n\n",
    ],
    ids=["plain", "BOM", "decimal comma", "semicolon", "tab CRLF", "bar, no last newline", "quoted", "blank lines"],
)
@pytest.mark.parametrize("pack", ["plain", "gzip", "zstd"])
def test_the_same_table_is_read_however_its_csv_is_written(tmp_path: Path, data: str, pack: str) -> None:
    if pack == "plain":
        path = written(tmp_path, data)
    elif pack == "gzip":
        path = written(tmp_path, gzip.compress(data.encode()), "t.csv.gz")
    else:
        path = written(tmp_path, zstd(data.encode()), "t.csv.zst")
    frame = tables.read_table(path)
    assert frame.schema == {"id": pl.String, "x": pl.Float64, "when": pl.Date}
    assert frame.rows() == [("a", 1.5, dt.date(2020, 1, 2)), ("b", None, dt.date(2020, 1, 3))]


def test_types_follow_from_all_values_not_only_the_first(tmp_path: Path) -> None:
    late = 5_000
    rows = [f"{i},{i}.5,{i},2020-01-01,true" for i in range(late)] + ["x,y,7.5,late,maybe"]
    frame = tables.read_table(written(tmp_path, "a,b,c,d,e\n" + "\n".join(rows) + "\n"))
    assert frame.schema == {"a": pl.String, "b": pl.String, "c": pl.Float64, "d": pl.String, "e": pl.String}
    assert frame.row(0) == ("0", "0.5", 0.0, "2020-01-01", "true")
    assert frame.row(late) == ("x", "y", 7.5, "late", "maybe")


def test_missing_words_are_missing_among_numbers_and_text_among_text(tmp_path: Path) -> None:
    data = "n,f,country,day,flag\n1,1.5,NA,2020-01-01,true\nNA,nan,DE,NA,NA\n,NA,null,,\n3,2.5,,2020-01-02,FALSE\n"
    frame = tables.read_table(written(tmp_path, data))
    assert frame["n"].to_list() == [1, None, None, 3]
    assert frame["f"].to_list() == [1.5, None, None, 2.5]
    assert frame["country"].to_list() == ["NA", "DE", "null", None]
    assert frame["day"].to_list() == [dt.date(2020, 1, 1), None, None, dt.date(2020, 1, 2)]
    assert frame["flag"].to_list() == [True, None, None, False]


def test_nan_far_down_a_float_column_is_missing_too(tmp_path: Path) -> None:
    rows = [f"{i}.5" for i in range(3_000)] + ["nan", "NA"]
    for cut in (3_001, 3_002):  # with and without the word that polars cannot parse
        column = tables.read_table(written(tmp_path, "x\n" + "\n".join(rows[:cut]) + "\n"))["x"]
        assert column.dtype == pl.Float64
        assert column.null_count() == cut - 3_000
        assert not column.is_nan().any()


def test_spaces_and_nan_among_whole_numbers_leave_them_whole(tmp_path: Path) -> None:
    for odd in ("nan", " 3 ", "NA", ""):
        column = tables.read_table(written(tmp_path, f"n,x\n1,1\n2,1\n{odd},1\n"))["n"]
        assert column.to_list() == [1, 2, 3 if "3" in odd else None]
        assert column.dtype == pl.Int64


@pytest.mark.parametrize("code", ["007", "-012", "12345678901234567890123"])
def test_ids_that_look_like_numbers_stay_text_wherever_they_stand(tmp_path: Path, code: str) -> None:
    rows = [str(i) for i in range(1, 3_000)] + [code]
    frame = tables.read_table(written(tmp_path, "id,x\n" + "".join(f"{row},1\n" for row in rows)))
    assert frame["id"].to_list() == rows


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2020-01-01 10:30", dt.datetime(2020, 1, 1, 10, 30)),
        ("2020-01-01T10:30:05", dt.datetime(2020, 1, 1, 10, 30, 5)),
        ("2020-01-01T10:30:05.25", dt.datetime(2020, 1, 1, 10, 30, 5, 250_000)),
        ("2020-01-01T10:30:00Z", dt.datetime(2020, 1, 1, 10, 30)),
        ("2020-01-01T10:30:00+02:00", dt.datetime(2020, 1, 1, 8, 30)),
        ("01/02/2020 10:30", "01/02/2020 10:30"),
        ("2020-13-01", "2020-13-01"),
    ],
)
def test_iso_times_become_times_in_utc_and_nothing_else_does(tmp_path: Path, text: str, expected: Any) -> None:
    frame = tables.read_table(written(tmp_path, f"t,x\n{text},1\n{text},2\n"))
    assert frame["t"].to_list() == [expected, expected]


def test_separators_and_line_ends_inside_quotes_are_text(tmp_path: Path) -> None:
    data = 'id,"note, ""long""\n",z\n1,"a, b",\n2,"c\nd",5\n3,"say ""x"", y",\n'
    frame = tables.read_table(written(tmp_path, data))
    note = 'note, "long"\n'
    assert frame.columns == ["id", note, "z"]
    assert tables.read_table(tmp_path / "t.csv", columns=[note]).columns == [note]
    assert frame[note].to_list() == ["a, b", "c\nd", 'say "x", y']
    assert frame["z"].to_list() == [None, 5, None]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.floats(allow_nan=False, width=64)),
            st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)),
            st.one_of(
                st.none(), st.text(st.characters(exclude_characters="\r\0", exclude_categories=["Cs"]), min_size=1)
            ),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_what_is_written_is_read_again(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    folder = tmp_path_factory.mktemp("round")
    # The first row fixes each column's type, as a table of one sort would.
    frame = pl.DataFrame(
        [(1.5, 1, "word"), *rows], schema={"f": pl.Float64, "n": pl.Int64, "t": pl.String}, orient="row"
    )
    for name in ("t.csv", "t.csv.gz", "t.parquet", "t.jsonl"):
        again = tables.read_table(tables.write_table(frame, folder / name))
        if name.endswith("jsonl"):  # JSON has no infinity
            finite = pl.when(pl.col("f").is_finite()).then(pl.col("f"))
            assert again.equals(frame.with_columns(finite))
        else:
            assert again.equals(frame), name


def test_columns_come_alone_and_in_the_order_asked_for(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["x", "y, z"], "c": [0.5, None]})
    npz = tmp_path / "t.npz"
    np.savez(npz, a=[1, 2], b=np.array(["x", "y, z"]), c=[0.5, np.nan])
    arrow = tmp_path / "t.arrow"
    frame.write_ipc(arrow)
    for path in [npz, arrow] + [tables.write_table(frame, tmp_path / n) for n in ("t.csv", "t.parquet", "t.jsonl")]:
        found = tables.read_table(path, columns=["b", "a"])
        assert found.rows() == [("x", 1), ("y, z", 2)], path
        message = problems(path, columns=["a", "bb", "zzz"])
        assert "expected a column 'bb', found none. Did you mean 'b'?" in message
        assert "'zzz'" in message


# -- what is refused


def test_text_with_a_lone_carriage_return_stays_in_its_row(tmp_path: Path) -> None:
    frame = pl.DataFrame({"id": [1, 2], "note": ["a\rb", "plain"], "x": [1.5, None]})
    for name in ("t.csv", "t.csv.gz"):
        path = tables.write_table(frame, tmp_path / name)
        again = pd.read_csv(path)
        assert (again.shape, again["note"].tolist()) == ((2, 3), ["a\rb", "plain"])
        assert tables.read_table(path).equals(frame)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "0 bytes"),
        (b"a,b\n", "at least one row"),
        (b"a,b", "at least one row"),
        (b"a,b,a\n1,2,3\n", "more than once: 'a'"),
        (b"a,,b,\n1,2,3,4\n", "column 2, 4 has none. Name the columns."),
        (b",a,b\n1,2,3\n", "(`index=False`, `row.names=FALSE`), or name this column, such as id."),
        (b"\n\na,b\n1,2\n", "blank line"),
        (b"\xef\xbb\xbf\n", "blank lines"),
        (b"a,b\n1," + b"x" * 200_000 + b"\n", "field limit"),
        (b"a,b\n1,2\n3,4,5\n6,7\n8\n", "line 3: expected 2 fields as in the header, found 3"),
        (b"a,b\n1,2\n3,4,5\n6,7\n8\n", "line 5: expected 2 fields as in the header, found 1"),
        (b'a,b,c\n1,"x\ny",\n3,"p,q"\n', "line 4: expected 3 fields as in the header, found 2"),
        (b'a,b\n1,"x\n2,y\n3,z\n', "closed quotes"),
        (b'a,b\n1,2\n"p, q",x"y\n4,5\n', "line 3: expected quotes around whole fields, found one inside a field"),
        (b'a,b\n1,5" pipe\n2,6" pipe\n3,4\n', "line 3: expected quotes around whole fields"),
        (b'a,b\n1,2\n3,x"y,z"w\n', "line 3: expected 2 fields as in the header, found 3"),
        (b"a,b\n1,2\nx,caf\xe9\n", "line 3: expected UTF-8 text, found byte 0xe9 at offset 13"),
        ("a,b\n1,2\n".encode("utf-16"), "found UTF-16. Save it as UTF-8."),
        ("a,b\n1,2\n".encode("utf-32"), "found UTF-32. Save it as UTF-8."),
        (b"a,b\r1,2\r", "found CR alone"),
        (bytes(range(256)) * 10, "binary data"),
        (b"PK\x03\x04rest of a workbook", "ZIP archive or workbook"),
        (b"PAR1rest", "found Parquet"),
        # A time in the header would give each worker of pytest-xdist another name of the test.
        (gzip.compress(b"", mtime=0), "0 bytes once unpacked"),
        (gzip.compress(b"a,b\n" + b"1,2\n" * 9_000, mtime=0)[:-20], "cut off or damaged"),
    ],
)
def test_a_bad_csv_is_refused_with_the_reason(tmp_path: Path, data: bytes, said: str) -> None:
    assert said in problems(written(tmp_path, data))


@pytest.mark.parametrize("late", [0, 400])
def test_points_among_decimal_commas_are_refused_with_their_rows(tmp_path: Path, late: int) -> None:
    rows = b"0,5;700\n" * late
    said = "expected numbers with a decimal comma, as elsewhere in this file, found"
    path = written(tmp_path, b"a;b\n" + rows + b"0,5;1.200\n0,7;700\n")
    assert f"column 'b': {said} '1.200' (1 such, row {late + 1})" in problems(path)
    path = written(tmp_path, b"a;b\n" + rows + b"0,5;7\n1.234;8\n")
    assert f"column 'a': {said} '1.234' (1 such, row {late + 2})" in problems(path)
    assert tables.read_table(written(tmp_path, b"a;b\n1.2;3\n1.234;5\n")).rows() == [(1.2, 3), (1.234, 5)]
    kept = tables.read_table(written(tmp_path, b"a;b\n1,5;v1.2\n.;01.02.2021\n"))
    assert kept.rows() == [(1.5, "v1.2"), (None, "01.02.2021")]


@pytest.mark.parametrize("columns", [None, ["b"]])
def test_a_decimal_comma_far_down_makes_points_no_decimal_signs(tmp_path: Path, columns: list[str] | None) -> None:
    path = written(tmp_path, "a;b;c\n" + "1;1.234;x\n" * 400 + "1,5;2.345;x\n")
    said = "column 'b': expected numbers with a decimal comma, as elsewhere in this file, found '1.234' (401 such"
    assert said in problems(path, columns=columns)
    path = written(tmp_path, "a;b;c\n" + "1;7;x\n" * 400 + "1,5;8;x\n")
    assert tables.read_table(path)["a"].to_list() == [1.0] * 400 + [1.5]
    path = written(tmp_path, "a;b;c\n" + "1;1.234;x\n" * 400 + "1;2.345;x,y\n")  # a comma in text says nothing
    assert tables.read_table(path, columns=columns)["b"].to_list() == [1.234] * 400 + [2.345]


@pytest.mark.parametrize("late", [0, 400])
def test_commas_that_may_separate_thousands_are_told(tmp_path: Path, late: int) -> None:
    path = written(tmp_path, "a;b\n" + "7;8\n" * late + "7;1,200\n")
    with tables.reading_notes() as notes:
        assert tables.read_table(path)["b"][-1] == 1.2
    told = "column 'b': '1,200' was read as 1.200, with a decimal comma, like all numbers with a comma"
    assert [note.startswith(f"{told} (1 such, row {late + 1})") for note in notes] == [True]
    for settled in ("0,200", "1,2", "1200,123"):
        with tables.reading_notes() as notes:
            tables.read_table(written(tmp_path, "a;b\n" + "7;8\n" * late + f"7;1,200\n7;{settled}\n"))
        assert notes == []


def test_invalid_utf8_far_down_is_found_with_its_line(tmp_path: Path) -> None:
    body = "".join(f"{i},word{i}\n" for i in range(200_000)).encode()
    message = problems(written(tmp_path, b"a,b\n" + body + b"1,\xff\n"))
    assert "line 200,002" in message
    assert "0xff" in message


@pytest.mark.parametrize("columns", [None, ["a"]])
@pytest.mark.parametrize("quoted", [False, True])
def test_one_short_row_among_many_with_missing_last_values_is_found(
    tmp_path: Path, columns: list[str] | None, quoted: bool
) -> None:
    rows = [f"{i},{chr(34) + 'p,q' + chr(34) if quoted else 'p'}," for i in range(4_000)]
    whole = tables.read_table(written(tmp_path, "a,b,c\n" + "\n".join(rows) + "\n"), columns=columns)
    assert whole.height == 4_000
    rows[2_999] = rows[2_999].removesuffix(",")
    message = problems(written(tmp_path, "a,b,c\n" + "\n".join(rows) + "\n"), columns=columns)
    assert "line 3,001: expected 3 fields as in the header, found 2" in message


def test_quotes_inside_fields_that_mislead_nobody_are_text(tmp_path: Path) -> None:
    frame = tables.read_table(written(tmp_path, 'a,b\n1,5" x 3" pipe\n\n2,\n'))
    assert frame.rows() == [(1, '5" x 3" pipe'), (2, None)]


def test_only_the_first_bad_lines_are_listed_and_the_rest_counted(tmp_path: Path) -> None:
    message = problems(written(tmp_path, "a,b\n" + "1\n" * 40))
    assert message.count("line ") == problem.MOST_LISTED
    assert "35 more" in message


def test_a_missing_file_names_its_nearest_neighbour(tmp_path: Path) -> None:
    written(tmp_path, "a\n1\n", "weather.csv")
    assert "Did you mean 'weather.csv'?" in problems(tmp_path / "wether.csv")
    assert "found a folder" in problems(tmp_path)
    assert "found '.xlsx'" in problems(written(tmp_path, "x", "book.xlsx"))


@pytest.mark.parametrize("cut", [3, 8, 200, -1])
def test_a_truncated_parquet_or_arrow_file_is_refused(tmp_path: Path, cut: int) -> None:
    frame = pl.DataFrame({"a": np.arange(100.0), "b": [str(i) for i in range(100)]})
    whole = tables.write_table(frame, tmp_path / "whole.parquet").read_bytes()
    problems(written(tmp_path, whole[:cut], "t.parquet"))
    frame.write_ipc(tmp_path / "whole.arrow")
    problems(written(tmp_path, (tmp_path / "whole.arrow").read_bytes()[: min(cut, 200)], "t.arrow"))


@pytest.mark.parametrize("name", ["t.parquet", "t.arrow", "t.feather", "t.npz"])
def test_text_under_a_binary_suffix_is_refused(tmp_path: Path, name: str) -> None:
    assert "as its suffix says" in problems(written(tmp_path, "a,b\n1,2\n", name))


def test_parquet_of_others_is_read_and_a_folder_name_adds_no_column(tmp_path: Path) -> None:
    folder = tmp_path / "year=2020"
    folder.mkdir()
    pd.DataFrame({"a": [1.5, None], "b": ["x", None]}).to_parquet(folder / "t.parquet")
    frame = tables.read_table(folder / "t.parquet")
    assert frame.rows() == [(1.5, "x"), (None, None)]
    assert frame.columns == ["a", "b"]


def test_names_with_glob_signs_are_read_literally(tmp_path: Path) -> None:
    written(tmp_path, "a,b\n9,9\n", "t1.csv")
    assert tables.read_table(written(tmp_path, "a,b\n1,2\n", "t[1].csv"))["a"].to_list() == [1]


# -- NPZ and JSON lines


def test_npz_arrays_become_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    np.savez_compressed(
        path, id=np.array(["007", "b"]), x=np.array([1.5, np.nan], ">f8"), k=np.array([True, False]),
        day=np.array(["2020-01-01", "2020-01-02"]), half=np.array([1, 2], np.float16),
    )  # fmt: skip
    frame = tables.read_table(path)
    assert frame["id"].to_list() == ["007", "b"]
    assert frame["day"].dtype == pl.Date
    assert frame["x"][0] == 1.5
    assert frame["half"].cast(pl.Float64).to_list() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        (
            {"a": np.array([{}, {}], object)},
            "text, found Python objects (dtype object). Save it with .astype(float) or .astype(str).",
        ),
        ({"a": np.zeros((2, 2))}, r"shape (2, 2)"),
        ({"a": np.zeros(2), "b": np.zeros(3)}, "arrays of one length"),
        ({"a": np.zeros(2, complex)}, "found complex128"),
        ({"a": np.zeros(0)}, "at least one row"),
    ],
)
def test_a_bad_npz_is_refused_without_unpickling(tmp_path: Path, arrays: dict[str, Any], said: str) -> None:
    path = tmp_path / "t.npz"
    np.savez(path, **arrays)
    assert said in problems(path)


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "t.npz"
    np.savez_compressed(path, a=np.zeros(2_000_000))
    packed = written(tmp_path, gzip.compress(b"a,b\n" + b"1,2\n" * 4_000_000), "t.csv.gz")
    monkeypatch.setattr(source, "unpacked_limit", lambda: 10_000_000)
    monkeypatch.setattr(np.lib.format, "read_array", lambda *a, **k: pytest.fail("it was unpacked"))
    assert path.stat().st_size < 50_000
    assert "at most 10,000,000 bytes once unpacked, found 16,000,1" in problems(path)
    assert "at most 10,000,000 bytes once unpacked" in problems(packed)


@pytest.mark.parametrize("pack", [zstd, zstd_stream])
@pytest.mark.parametrize("bomb", [b"1,2\n" * 4_000_000, b"1," + b"0" * 16_000_000], ids=["rows", "one line"])
def test_a_zstd_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pack: Callable[[bytes], bytes], bomb: bytes
) -> None:
    path = written(tmp_path, pack(b"a,b\n") + pack(bomb), "t.csv.zst")
    monkeypatch.setattr(source, "unpacked_limit", lambda: 10_000_000)
    monkeypatch.setattr(pl, "read_lines", lambda *a, **k: pytest.fail("it was unpacked"))
    assert path.stat().st_size < 50_000
    assert "at most 10,000,000 bytes once unpacked, found up to 16," in problems(path)


def test_a_zstd_frame_that_declares_too_small_a_size_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = zstd(b"1,2\n" * 4_000_000)
    assert honest.count((16_000_000).to_bytes(4, "little")) == 1
    path = written(tmp_path, honest.replace((16_000_000).to_bytes(4, "little"), bytes(4)), "t.csv.zst")
    monkeypatch.setattr(source, "unpacked_limit", lambda: 10_000_000)
    assert "at most 10,000,000 bytes once unpacked" in problems(path)


@pytest.mark.parametrize("pack", [zstd, zstd_stream])
def test_the_bound_on_what_zstd_unpacks_to_holds_and_is_tight(
    pack: Callable[[bytes], bytes], rng: np.random.Generator
) -> None:
    texts = [
        rng.bytes(300_000),
        b"0" * 5_000_000,
        b"1,2\n" * 200_000,
        ",".join(map(str, rng.normal(size=50_000))).encode(),
    ]
    skipped = b"\x5a\x2a\x4d\x18" + (5).to_bytes(4, "little") + b"hello"
    bounds = [source._zstd_bound(pack(text)) for text in texts]
    for text, bound in zip(texts, bounds, strict=True):
        assert len(text) <= bound <= len(text) + 2**18
    assert source._zstd_bound(skipped.join(map(pack, texts))) == sum(bounds)


def test_a_truncated_zstd_file_is_refused_wherever_it_is_cut(tmp_path: Path) -> None:
    whole = zstd(b"a,b\n" + b"".join(b"%d,%d\n" % (i, i * i) for i in range(3_000)))
    for cut in (4, 5, 9, 12, len(whole) // 2, len(whole) - 1):
        assert "cut off or damaged" in problems(written(tmp_path, whole[:cut], "t.csv.zst"))


def test_an_npz_whose_header_promises_more_than_it_holds_is_refused(tmp_path: Path) -> None:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**12,)})
    path = tmp_path / "t.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", header.getvalue() + bytes(80))
    assert "the size given in its header" in problems(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", b"no array")
    problems(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('{"a": 1}\n{"a": NaN}\n', "line 2: expected a JSON object, found: NaN, which is not JSON"),
        ('{"a": 1}\n[1, 2]\n', "line 2: expected a JSON object, found a list. Write each record as"),
        ("null\n", "line 1: expected a JSON object, found null. Write each record as"),
        ('{"a": 1}\n{"a":\n', "line 2: expected a JSON object"),
        ("no json at all\n", "line 1"),
        ('{"a": 1}\n{"a": 1e400}\n', "line 2: expected a JSON object, found: 1e400, which is larger than any float"),
        ('{"a": 1}\n{"a": ' + "1" * 60 + "}\n", "line 2: expected a JSON object, found: a whole number of 60 digits"),
        ('{"a": 1}\r{"a": 2}\r', "line 1: expected lines that end in LF or CRLF, found CR alone. Convert"),
        (
            '{"a": 1}\r\n{"a": 1}\r{"a": 2}\r\n',
            "line 2: expected lines that end in LF or CRLF, found CR alone. Convert",
        ),
        ('{"a": 1}\n{"a": x}\n', "line 2: expected a JSON object, found: Expecting value at character 7. Correct"),
        (
            '{"a": 1} {"a": 2}\n',
            "line 1: expected a JSON object, found: Extra data at character 10. Write each object on a",
        ),
        (
            '{"a": 1.5}\n\n{"a": null}\n{"a": true}\n{"a": 2}\n',
            "key 'a': expected values of one type, found a number in line 1 and true or false in line 4. Write them",
        ),
        (
            '{"t": 1, "a": {"b": [true]}}\n{"t": "x", "a": {"b": [2]}}\n',
            "key 'a.b[]': expected values of one type, found true or false in line 1 and a number in line 2. Write",
        ),
    ],
)
def test_bad_json_lines_are_named_by_line(tmp_path: Path, data: str, said: str) -> None:
    assert said in problems(written(tmp_path, data, "t.jsonl"))


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-16", "expected UTF-8 text, found UTF-16"),
        ("utf-16-be", "expected UTF-8 text, found UTF-16"),
        ("utf-32", "expected UTF-8 text, found UTF-32"),
        ("latin-1", "line 1: expected UTF-8 text, found byte 0xe9 at offset 7"),
    ],
)
def test_json_lines_in_another_encoding_are_refused_in_one_line(tmp_path: Path, encoding: str, said: str) -> None:
    path = written(tmp_path, ('{"a": "é"}\n' * 9).encode(encoding), "t.jsonl")
    assert problems(path) == f"{path}: {said}. Save it as UTF-8."


def test_half_a_character_in_an_npz_is_refused_with_its_array(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", a=np.array(["b", "\ud800"]))
    assert "array 'a': expected text in Unicode, found half of a character" in problems(tmp_path / "t.npz")


def test_types_of_healthy_parquet_that_polars_cannot_read_are_named(tmp_path: Path) -> None:
    columns = {
        "empty": pa.array([[]], pa.list_(pa.float64(), 0)),
        "time": pa.array([0], pa.timestamp("us", "Mars/Olympus")),
    }
    columns["wide"] = pa.array([1], pa.decimal256(60, 5))
    told_of = {"empty": "zero width FixedSizeList", "time": "time zone: 'Mars/Olympus'", "wide": "1 and 38, got 60."}
    for name, found in told_of.items():
        pa.parquet.write_table(pa.table({"a": [1], name: columns[name]}), tmp_path / "t.parquet")
        told = problems(tmp_path / "t.parquet")
        assert found in told
        assert told.endswith("Write it without this column, or with another type.")


UNREAD = {
    "`month_day_nano_interval`": pa.array([pa.MonthDayNano([1, 2, 3])]),
    "primitive `Int256`": pa.array([1], pa.decimal256(60, 5)),
    "Arrow datatype Union": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])]),
    "not yet implemented": pa.array([[1]], pa.list_view(pa.int64())),
}


@pytest.mark.parametrize("found", UNREAD)
def test_healthy_arrow_that_polars_cannot_read_is_not_called_damaged(tmp_path: Path, found: str) -> None:
    pa.feather.write_feather(pa.table({"a": UNREAD[found]}), tmp_path / "t.arrow", compression="uncompressed")
    told = problems(tmp_path / "t.arrow")
    assert f"expected columns of types that polars can read, found: {found}. Write it" in told


def test_json_keeps_its_own_types(tmp_path: Path) -> None:
    rows = [{"id": "7", "x": 1, "when": "2020-01-01"}, {"id": "8", "x": 1.5, "when": None}, {"id": "9"}]
    path = written(tmp_path, "\n".join(map(json.dumps, rows)), "t.jsonl")
    assert tables.read_table(path).rows() == [("7", 1.0, dt.date(2020, 1, 1)), ("8", 1.5, None), ("9", None, None)]


# -- writing


def test_metadata_travels_in_parquet_and_only_there(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1]})
    path = tables.write_table(frame, tmp_path / "t.parquet", metadata={"made": "by é", "k": "{}"})
    assert tables.read_metadata(path) == {"made": "by é", "k": "{}"}
    with pytest.raises(TableError, match=r"expected \.parquet, which can hold metadata"):
        tables.write_table(frame, tmp_path / "t.csv", metadata={"a": "b"})
    with pytest.raises(TableError, match=r"found '\.xls'"):
        tables.write_table(frame, tmp_path / "t.xls")
    with pytest.raises(TableError, match="a Parquet file, found another format"):
        tables.read_metadata(written(tmp_path, "no", "bad.parquet"))


def test_the_same_table_gives_the_same_bytes(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": np.arange(1000.0), "b": [f"r{i}" for i in range(1000)]})
    for name in ("t.csv.gz", "t.parquet"):
        first = tables.write_table(frame, tmp_path / f"1{name}").read_bytes()
        assert tables.write_table(frame, tmp_path / f"2{name}").read_bytes() == first


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet", "t.jsonl"])
def test_a_full_disk_is_an_error_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path = tables.write_table(pl.DataFrame({"a": [1]}), tmp_path / name)

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(writing, "write", full)
    with pytest.raises(TableError, match="No space left on device"):
        tables.write_table(pl.DataFrame({"a": [2]}), path)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]
    assert tables.read_table(path)["a"].to_list() == [1]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs the device that is always full")
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".parquet", ".jsonl"])
def test_polars_tells_of_a_full_disk_in_a_way_we_catch(suffix: str) -> None:
    with pytest.raises((OSError, pl.exceptions.PolarsError), match=r"(?i)no space"):
        writing.write(pl.DataFrame({"a": range(100_000)}), Path("/dev/full"), suffix, None)


def test_an_unwritable_place_is_an_error(tmp_path: Path) -> None:
    blocked = written(tmp_path, "a file, not a folder", "blocked")
    with pytest.raises(TableError, match="expected to write 1 rows, found"):
        tables.write_table(pl.DataFrame({"a": [1]}), blocked / "t.csv")


def test_what_csv_cannot_hold_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="expected to write"):
        tables.write_table(pl.DataFrame({"a": [[1, 2]]}), tmp_path / "t.csv")


# -- ids


def test_ids_are_text_and_row_numbers_stand_in_for_them() -> None:
    frame = pl.DataFrame({"n": [3, 1], "t": ["a", "b"]})
    assert tables.ids(frame, "n", where="t").to_list() == ["3", "1"]
    assert tables.ids(frame, None, where="t").to_list() == ["1", "2"]


def test_native_ids_are_numbers_where_they_are_whole_numbers() -> None:
    frame = pl.DataFrame({"n": pl.Series([3, 1], dtype=pl.Int16), "t": ["a", "b"], "z": ["07", "8"]})
    assert native_ids(frame, "n", where="t").to_list() == [3, 1]
    assert native_ids(frame, None, where="t").to_list() == [1, 2]
    assert native_ids(frame, "t", where="t").to_list() == ["a", "b"]
    assert native_ids(frame, "z", where="t").to_list() == ["07", "8"]
    beyond = pl.DataFrame({"n": pl.Series([2**64 - 1, 5], dtype=pl.UInt64)})
    assert native_ids(beyond, "n", where="t").to_list() == ["18446744073709551615", "5"]


def test_rows_meet_by_id_as_numbers_or_as_text() -> None:
    frame = pl.DataFrame({"id": [3, 1, 2]})
    for wanted in (pl.Series([1, 2, 3]), ["1", "2", "3"], pl.Series(["1", "2", "3"])):
        assert tables.line_up(frame, wanted, column="id", where="t")["id"].to_list() == [1, 2, 3]
    texts = pl.DataFrame({"id": ["3", "1"]})
    assert tables.line_up(texts, pl.Series([1, 3]), column="id", where="t")["id"].to_list() == ["1", "3"]
    with pytest.raises(TableError, match=r"found none for 1 \(7\)"):
        tables.line_up(frame, pl.Series([1, 2, 3, 7]), column="id", where="t")


def test_all_that_is_wrong_with_ids_is_said_at_once() -> None:
    frame = pl.DataFrame({"id": ["a", "b", None, "a", " ", "b", "a"], "f": np.arange(7.0)})
    with pytest.raises(TableError, match="found none in 2 of 7 rows, first rows 3, 5") as caught:
        tables.ids(frame, "id", where="t.csv")
    assert "2 ids more than once: 'a' in rows 1, 4, 7, 'b' in rows 2, 6" in caught.value.problems[1]
    with pytest.raises(TableError, match=r"t\.csv: expected a column 'idd', found none. Did you mean 'id'"):
        tables.ids(frame, "idd", where="t.csv")
    with pytest.raises(TableError, match="as text or whole numbers, found Float64"):
        tables.ids(frame, "f", where="t.csv")


def test_ids_whose_hashes_collide_are_still_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl.Series, "hash", lambda series: pl.Series([7] * len(series), dtype=pl.UInt64))
    assert tables.ids(pl.DataFrame({"id": ["a", "b", "c"]}), "id", where="t").to_list() == ["a", "b", "c"]
    with pytest.raises(TableError, match="found 1 id more than once: 'a' in rows 1, 3"):
        tables.ids(pl.DataFrame({"id": ["a", "b", "a"]}), "id", where="t")


def test_rows_are_lined_up_by_id_whatever_their_order(rng: np.random.Generator) -> None:
    names = [f"r{i}" for i in range(500)]
    frame = pl.DataFrame({"id": names, "x": np.arange(500)})
    wanted = list(rng.permutation(names))
    found = tables.line_up(frame.sample(fraction=1, shuffle=True, seed=1), wanted, column="id", where="t")
    assert found["id"].to_list() == wanted
    assert found["x"].to_list() == [int(name[1:]) for name in wanted]
    part = tables.line_up(frame, wanted[:7], column="id", where="t", extra="drop")
    assert part["id"].to_list() == wanted[:7]


def test_missing_surplus_and_double_ids_are_reported_together() -> None:
    frame = pl.DataFrame({"id": ["a", "a", "b", "z"]})
    with pytest.raises(TableError, match="found 1 id more than once: 'a' in rows 1, 2") as caught:
        tables.line_up(frame, ["a", "b", "c", "d", "d"], column="id", where="t")
    assert len(caught.value.problems) == 4
    assert "more than once" in caught.value.problems[1]
    assert "found none for 2 ('c', 'd')" in caught.value.problems[2]
    assert "found 1 ('z') besides" in caught.value.problems[3]
    with pytest.raises(TableError, match="found none for 1"):
        tables.line_up(frame[2:], ["b", "c"], column="id", where="t", extra="drop")


# -- columns


def test_patterns_give_columns_in_table_order() -> None:
    columns = ["id", "obs_b", "obs_a", "x[1]", "x1", "Obs_c"]
    assert tables.expand(["x1", "obs_*", "obs_a"], columns, what="column") == ["obs_b", "obs_a", "x1"]
    assert tables.expand(["x[1]"], columns, what="column") == ["x[1]"]
    assert tables.expand([], columns, what="column") == []
    with pytest.raises(UnknownNameError, match=r"Unknown column to drop 'obs_bb'. Did you mean 'obs_b'"):
        tables.expand(["obs_bb"], columns, what="column to drop")


def test_numbers_are_floats_with_nan_for_missing() -> None:
    frame = pl.DataFrame({"i": [1, None], "b": [True, None], "t": ["1.5", "NA"], "n": [None, None]})
    found = tables.number_columns(frame, ["i", "b", "t", "n"], where="t")
    assert all(values.dtype == np.float64 for values in found.values())
    np.testing.assert_array_equal(
        np.stack(list(found.values())), [[1, np.nan], [1, np.nan], [1.5, np.nan], [np.nan] * 2]
    )
    np.testing.assert_array_equal(tables.numbers(frame, "i", where="t"), [1, np.nan])


def test_the_problems_of_all_columns_are_reported_together() -> None:
    frame = pl.DataFrame({"a": ["1", "x", "y"], "d": [dt.date(2020, 1, 1)] * 3, "l": [[1]] * 3})
    with pytest.raises(TableError, match=r"column 'a': expected numbers, found 'x' \(2 such, rows 2, 3\)") as caught:
        tables.number_columns(frame, ["a", "d", "l"], where="t")
    assert len(caught.value.problems) == 3
    with pytest.raises(TableError, match="'q'") as caught:
        tables.require(frame, ["q", "a", "r"], where="t")
    assert len(caught.value.problems) == 2


# -- against others


def test_a_mixed_table_equals_what_pandas_reads(tmp_path: Path, rng: np.random.Generator) -> None:
    frame = pd.DataFrame(rng.normal(size=(2_000, 12)).round(6)).rename(columns=lambda j: f"f{j}")
    frame = frame.mask(rng.random(frame.shape) < 0.1)
    frame.insert(0, "id", [f"r{i}" for i in range(2_000)])
    frame["count"] = rng.integers(-5, 5, 2_000)
    frame["kind"] = rng.choice(["a, b", 'quo"te', "é"], 2_000)
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    found = tables.read_table(path)
    assert found.columns == list(frame.columns)
    for name in frame.columns:
        expected = frame[name].to_numpy()
        if found[name].dtype == pl.Float64:
            np.testing.assert_allclose(tables.numbers(found, name, where="t"), expected, rtol=1e-15)
        else:
            assert found[name].to_list() == expected.tolist()


@pytest.mark.needs_shared
def test_real_forecasts_are_read_whole(shared: Path) -> None:
    frame = tables.read_table(shared / "data" / "weather" / "nws_next_day.csv.gz")
    assert frame.shape == (73_636, 30)
    assert frame["valid_date"].dtype == pl.Date
    assert frame["obs_precip_mm"].null_count() == 249
    assert tables.ids(frame, "id", where="nws").n_unique() == 73_636


@pytest.mark.parametrize("name", ["^error$", "*"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "arrow", "npz"])
@pytest.mark.parametrize("value", [0.5, "NaN"])
def test_a_name_that_stands_for_many_columns_is_refused_before_anything_is_read(
    tmp_path: Path, suffix: str, name: str, value: float | str
) -> None:
    path = tmp_path / f"t.{suffix}"
    frame = pl.DataFrame({"id": [1, 2], name: [value, value], "b": [1.0, float("nan")]})
    match suffix:
        case "csv":
            frame.write_csv(path)
        case "jsonl":
            path.write_text(json.dumps({"id": 1, name: value}) + "\n")
        case "parquet":
            frame.write_parquet(path)
        case "arrow":
            frame.write_ipc(path)
        case _:
            with zipfile.ZipFile(path, "w") as archive:
                for column in frame:
                    buffer = io.BytesIO()
                    np.save(buffer, column.to_numpy().astype("U" if column.dtype == pl.String else float))
                    archive.writestr(f"{column.name}.npy", buffer.getvalue())
    for columns in (None, ["id"]):
        with pytest.raises(TableError, match=rf"{suffix}: expected names .* found {re.escape(repr(name))}, .* Rename"):
            tables.read_table(path, columns=columns)


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
def test_columns_of_arrows_extension_types_are_what_they_hold(tmp_path: Path, suffix: str) -> None:
    flags = pa.ExtensionArray.from_storage(pa.bool8(), pa.array([0, 1, 2, None], pa.int8()))
    texts = pa.ExtensionArray.from_storage(pa.json_(), pa.array(["{}", "1", None, "a"]))
    held, path = pa.table({"flag": flags, "text": texts}), tmp_path / f"t.{suffix}"
    (pyarrow.parquet.write_table if suffix == "parquet" else pyarrow.feather.write_feather)(held, path)
    found = tables.read_table(path)
    assert found.to_dict(as_series=False) == {"flag": [False, True, True, None], "text": ["{}", "1", None, "a"]}
    assert found.schema == {"flag": pl.Boolean, "text": pl.String}


def test_a_folder_in_place_of_a_table_is_named(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").mkdir()
    with pytest.raises(TableError, match=r"expected a Parquet file, found a folder"):
        tables.read_metadata(tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"expected a file, found a folder\. Check the path"):
        tables.read_table(tmp_path / "t.parquet")


def test_another_format_is_not_called_a_damaged_parquet_file(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"expected a Parquet file, found another format"):
        tables.read_metadata(written(tmp_path, "id,mean\n1,2\n"))


def test_categories_that_spell_dates_become_dates_and_others_stay_categories(tmp_path: Path) -> None:
    """As pandas and Arrow write a column of few different texts."""
    frame = pd.DataFrame({"day": ["2021-01-31", "2021-02-01", None], "id": ["2021-01-31"] * 3, "town": ["é", "b", "b"]})
    for name in ("table.parquet", "table.feather"):
        coded = frame.astype("category")
        coded.to_parquet(tmp_path / name) if name.endswith("parquet") else coded.to_feather(tmp_path / name)
        read = tables.read_table(tmp_path / name)
        assert read["day"].to_list() == [dt.date(2021, 1, 31), dt.date(2021, 2, 1), None]
        assert read["id"].cast(pl.String).to_list() == ["2021-01-31"] * 3
        assert read.columns == ["day", "id", "town"]
        assert isinstance(read.schema["town"], pl.Categorical)


def test_missing_categories_of_pandas_in_feather_are_read_or_told_from_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pd.DataFrame({"town": pd.Categorical(["b", None, "a"]), "x": [1, 2, 3]}).to_feather(tmp_path / "table.feather")
    assert tables.read_table(tmp_path / "table.feather")["town"].cast(pl.String).to_list() == ["b", None, "a"]
    monkeypatch.setattr("shiftbench.io.tables.reading.find_spec", lambda name: None)
    with pytest.raises(TableError, match=r"categories with missing values.*Install pyarrow"):
        tables.read_table(tmp_path / "table.feather")


def test_ids_that_look_like_dates_stay_names_without_a_note(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("id,day\n2014/01/01,2014/01/01\n2014/01/13,2014/01/13\n")
    with tables.reading_notes() as notes:
        found = tables.read_table(path)
    assert found.schema == {"id": pl.String, "day": pl.Date}
    assert [note.partition(":")[0] for note in notes] == ["column 'day'"]
    assert tables.notes_without(notes, ["day"]) == []
