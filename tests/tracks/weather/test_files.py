import gzip
import itertools
import tarfile
import time

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shiftbench.errors import TableError
from shiftbench.io.files import replacing
from shiftbench.track.intake import reading
from shiftbench.tracks.weather import example, files, schema
from shiftbench.tracks.weather.sources import sources

ROWS = 1_200


@pytest.fixture(scope="module")
def frame():
    return example.table(ROWS, seed=5)


def text_of(frame):
    """As in the official files: class codes written as floats, nothing where a value is missing."""
    return frame.with_columns(pl.col(schema.CLASS).cast(pl.Float64)).write_csv()


@pytest.fixture(scope="module")
def text(frame):
    return text_of(frame)


def source(path):
    """The one table that a path leads to."""
    (found,) = sources(path).tables
    return found


@pytest.fixture
def convert(tmp_path):
    def converted(text, name="train.csv", **options):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return files.convert(source(path), tmp_path / "out.parquet", **options)

    return converted


def problems(convert, text, *, name="train.csv"):
    """What is said about a table that is refused; nothing may be left behind."""
    with pytest.raises(TableError, match=r"expected") as caught:
        convert(text, name=name)
    return caught.value.problems


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr(reading, "CHUNK_BYTES", 50_000)


def field(text, row, column, value):
    """The CSV with another value in a row (from 1 after the header)."""
    lines = text.splitlines()
    fields = lines[row].split(",")
    fields[lines[0].split(",").index(column)] = value
    lines[row] = ",".join(fields)
    return "\n".join(lines) + "\n"


# What is written


def test_a_table_comes_back_as_it_was_with_ids(convert, frame, text):
    converted = convert(text)
    found = pl.read_parquet(converted.path)
    assert found.schema == {"id": pl.Int64(), **schema.TYPES}
    assert found["id"].to_list() == list(range(1, ROWS + 1))
    assert_frame_equal(found.drop("id"), frame)
    assert converted.counts["total"] == ROWS
    assert not converted.warnings


@pytest.mark.usefixtures("small_chunks")
def test_the_size_of_the_pieces_never_matters(convert, frame, text):
    found = pl.read_parquet(convert(text).path)
    assert_frame_equal(found.drop("id"), frame)
    assert found["id"].to_list() == list(range(1, ROWS + 1))


def test_the_order_of_the_columns_never_matters(convert, frame, text):
    turned = text_of(frame.select(reversed(frame.columns)))
    assert_frame_equal(pl.read_parquet(convert(turned).path).drop("id"), frame)


def test_ids_of_partitions_carry_their_name(convert, text):
    found = pl.read_parquet(convert(text, id_prefix="dev_in").path)
    assert found["id"].dtype == pl.String
    assert found["id"][[0, 16, -1]].to_list() == ["dev_in-1", "dev_in-17", f"dev_in-{ROWS}"]


@pytest.mark.parametrize("form", ["gzip", "tar", "crlf", "bom", "quoted", "no end", "blank lines", "integers"])
def test_other_ways_to_write_the_same_table_are_read_alike(convert, tmp_path, frame, text, form):
    name, data = "train.csv", text.encode()
    if form == "gzip":
        name, data = "train.csv.gz", gzip.compress(data)
    elif form == "tar":
        (tmp_path / "dev_in.csv").write_bytes(data)
        with tarfile.open(tmp_path / "in.tar", "w") as archive:
            archive.add(tmp_path / "dev_in.csv", "canonical-paritioned-dataset/shifts_canonical_dev_in.csv")
        name, data = "official.tar", (tmp_path / "in.tar").read_bytes()
    elif form == "crlf":
        data = data.replace(b"\n", b"\r\n")
    elif form == "bom":
        data = b"\xef\xbb\xbf" + data
    elif form == "quoted":
        data = frame.write_csv(quote_style="always").encode()
    elif form == "no end":
        data = data[:-1]
    elif form == "blank lines":
        head, rest = data.split(b"\n", 1)
        first, rest = rest.split(b"\n", 1)
        data = head + b"\n\n" + first + b"\n\n" + rest + b"\n\n"
    elif form == "integers":
        data = frame.write_csv().encode()
    found = pl.read_parquet(convert(data, name=name).path)
    assert_frame_equal(found.drop("id"), frame)


def test_parquet_is_read_too(tmp_path, frame):
    frame.select(reversed(frame.columns)).write_parquet(tmp_path / "eval_in.parquet")
    converted = files.convert(source(tmp_path / "eval_in.parquet"), tmp_path / "out.parquet")
    assert converted.partition == "eval_in"
    assert_frame_equal(pl.read_parquet(converted.path).drop("id"), frame)


@pytest.mark.parametrize("word", ["NA", "nan", "NaN", "inf", " "])
def test_words_for_missing_values_become_missing(convert, text, word):
    converted = convert(field(text, 3, "wrf_hail", word))
    assert pl.read_parquet(converted.path)["wrf_hail"][2] is None
    infinite = (
        "train.csv: column 'wrf_hail': expected finite numbers, found inf in line 4 (1 such value). Kept as missing."
    )
    assert [said.rsplit("/", 1)[-1] for said in converted.warnings] == [infinite] * (word == "inf")


def test_climates_are_asked_for_where_a_dump_has_none(convert, frame):
    asked = []

    def climate(latitude, longitude):
        asked.append(len(latitude))
        return np.where(np.abs(latitude) < 23.5, "tropical", "snow")

    bare = text_of(frame.drop("climate"))
    found = pl.read_parquet(convert(bare, name="dump.csv", climate=climate).path)
    assert found["climate"].to_list() == climate(*(frame[name].to_numpy() for name in ("fact_latitude",) * 2)).tolist()
    assert pl.read_parquet(convert(bare, name="dump.csv").path)["climate"].null_count() == ROWS
    assert sum(asked) == 2 * ROWS


def test_climates_that_are_there_are_kept(convert, frame, text):
    found = pl.read_parquet(convert(text, climate=lambda latitude, longitude: 1 / 0).path)
    assert_frame_equal(found.drop("id"), frame)


@pytest.mark.usefixtures("small_chunks")
def test_progress_goes_up_to_all_of_the_file(convert, text):
    told = []
    convert(text, progress=lambda done, total: told.append((done, total)))
    done = [entry[0] for entry in told]
    assert done == sorted(done)
    assert len(told) > 10
    assert told[-1] == (len(text), len(text))


# How counts compare


def test_counts_are_compared_with_the_published_ones(convert, frame, text):
    converted = convert(text)
    tropical = frame.filter(pl.col("climate") == "tropical").height
    assert converted.partition == "train"
    assert converted.notes[0] == "train: 1,200 rows, published 3,129,592"
    assert f"tropical {tropical:,} (416,310)" in converted.notes[1]
    assert not converted.official
    assert convert(text, name="dump.csv").notes == ("dump: 1,200 rows, published about 10,000,000",)


def test_the_published_counts_make_a_table_official(convert, frame, text, monkeypatch):
    by_climate = {name: frame.filter(pl.col("climate") == name).height for name in schema.CLIMATES}
    monkeypatch.setitem(schema.PARTITIONS, "train", {"total": ROWS, **by_climate})
    converted = convert(text)
    assert converted.official
    assert converted.notes == ("train: 1,200 rows, published 1,200",)


def test_units_of_a_table_with_the_published_rows_are_only_warned_of(convert, frame, monkeypatch):
    kelvin = text_of(frame.with_columns(pl.col("gfs_temperature_sea") + 273.15))
    assert "looks like kelvin" in problems(convert, kelvin)[0]
    monkeypatch.setitem(schema.PARTITIONS, "train", {"total": ROWS})
    assert "looks like kelvin" in convert(kelvin).warnings[0]


# What is refused


def test_missing_doubled_and_renamed_columns_are_all_named(convert, text):
    head, rest = text.split("\n", 1)
    head = head.replace("gfs_humidity", "gfs_humidty").replace("wrf_snow", "wrf_rain").replace("cmc_0_6_1_0,", "x,")
    said = problems(convert, f"{head}\n{rest}")
    assert len(said) == 4
    assert "expected the column 'wrf_rain' once, found it 2 times" in said[0]
    assert "expected a column 'gfs_humidity', found none. Did you mean 'gfs_humidty'?" in " ".join(said)
    assert "expected a column 'wrf_snow', found none" in " ".join(said)
    assert "expected a column 'cmc_0_6_1_0', found none" in " ".join(said)


def test_unknown_columns_are_left_out_with_a_warning(convert, frame):
    converted = convert(text_of(frame.with_columns(station=pl.lit("a, b"), note=pl.lit("x"))))
    assert "unknown columns, left out: 'station', 'note'." in converted.warnings[0]
    assert_frame_equal(pl.read_parquet(converted.path).drop("id"), frame)


@pytest.mark.usefixtures("small_chunks")
def test_all_values_that_cannot_be_are_named_with_their_lines(convert, text):
    for row, column, value in [
        (700, "fact_cwsm_class", "14.0"), (900, "fact_cwsm_class", "14.0"), (800, "fact_latitude", "-91.5"),
        (20, "fact_longitude", "181"), (333, "climate", "mild_temperate"), (1000, "gfs_humidity", "humid"),
        (1100, "fact_time", "1540000000000"), (50, "fact_cwsm_class", "10.5"),
    ]:  # fmt: skip
        text = field(text, row, column, value)
    said = "\n".join(problems(convert, text))
    codes = "0, 10, 11, 12, 13, 20, 21, 22, 23"
    assert f"'fact_cwsm_class': expected a class code among {codes}, found 14 in line 701 (2 such values)" in said
    assert "'fact_latitude': expected degrees from -90 to 90, found -91.5 in line 801 (1 such value)" in said
    assert "'fact_longitude': expected degrees from -180 to 180, found 181.0 in line 21" in said
    assert "'climate': expected one of tropical, dry, mild temperate, snow, polar, other, found 'mild_temp" in said
    assert "Did you mean 'mild temperate'?" in said
    assert "'gfs_humidity': expected numbers, found 'humid' in line 1,001 (1 such value)" in said
    assert "'fact_time': expected Unix seconds, found 1540000000000 in line 1,101 (1 such value). It looks like ms" in (
        said.replace("milliseconds", "ms")
    )
    assert "'fact_cwsm_class': expected whole numbers, found 10.5 in line 51" in said


def test_class_indices_are_told_from_codes(convert, frame):
    index = pl.col("fact_cwsm_class").replace_strict({entry.code: entry.index for entry in schema.CLASSES})
    said = problems(convert, text_of(frame.with_columns(index)))
    assert any("These look like indices 0 to 8: write the codes." in line for line in said)


def test_missing_targets_and_times_of_other_years_are_warned_of_and_kept(convert, text):
    text = field(field(text, 3, "fact_temperature", ""), 9, "fact_temperature", "nan")
    text = field(field(text, 5, "fact_cwsm_class", ""), 6, "fact_time", "1600000000")
    converted = convert(text)
    found = pl.read_parquet(converted.path)
    assert found["fact_temperature"].is_null().arg_true().to_list() == [2, 8]
    assert found["fact_cwsm_class"].is_null().arg_true().to_list() == [4]
    said = "\n".join(converted.warnings)
    assert "'fact_temperature': expected a value in each row, found nothing in line 4 (2 such values)" in said
    assert "'fact_cwsm_class': expected a value in each row, found nothing in line 6 (1 such value)" in said
    assert "expected a time from 2018-09-01 to 2019-09-01, found 1600000000 in line 7 (1 such value)" in said


@pytest.mark.usefixtures("small_chunks")
def test_short_and_long_lines_are_named_and_not_filled_up(convert, text):
    lines = text.splitlines()
    lines[100] = lines[100].rsplit(",", 2)[0]
    lines[900] += ",1"
    said = problems(convert, "\n".join(lines) + "\n")
    assert "line 101: expected 129 fields as in the header, found 127" in said[0]
    assert "line 901: expected 129 fields as in the header, found 130" in said[1]


@pytest.mark.usefixtures("small_chunks")
def test_of_many_broken_lines_the_first_are_named_and_all_counted(convert, text):
    lines = text.splitlines()
    lines[200:1000] = ["1,2,3"] * 800
    said = problems(convert, "\n".join(lines) + "\n")
    assert len(said) == 6
    assert "line 205: expected 129 fields as in the header, found 3" in said[4]
    assert said[5] == "… and 795 more like these."


@pytest.mark.parametrize("cut", [100, 101, 300])
def test_a_file_cut_off_in_mid_line_is_named(convert, text, cut):
    said = problems(convert, text[:-cut])
    assert "line 1,201: expected 129 fields as in the header, found" in said[-1]
    assert "The file is cut off here: fetch it again." in said[-1]


def test_a_last_line_without_end_is_worth_a_warning(convert, text):
    assert "its last line has no line end. Was it cut off?" in convert(text[:-1]).warnings[0]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "found an empty file"),
        (b"\n", "found an empty file"),
        (b"<html>404</html>\n", "expected names separated by commas, found '<html>404</html>'"),
        (b"\xff\xfe\x00f", "expected names in UTF-8"),
        (",".join(schema.NAMES).encode() + b"\n", "expected rows, found none below the names"),
        (",".join(schema.NAMES).encode(), "expected rows, found none below the names"),
    ],
)
def test_what_is_no_table_is_named(convert, data, said):
    assert said in problems(convert, data)[0]


def test_bytes_that_are_no_text_are_named_with_their_line(convert, text):
    data = text.encode().replace(b"tropical", b"tr\xf3pical", 1)
    line = data[: data.index(b"\xf3")].count(b"\n") + 1
    assert f"line {line:,}: expected UTF-8 text, found byte 0xf3" in problems(convert, data)[0]


def test_a_packed_table_that_is_cut_off_is_named(convert, text):
    said = problems(convert, gzip.compress(text.encode())[:-5000], name="train.csv.gz")
    assert "train.csv.gz: expected a readable CSV file, found: Compressed file ended" in said[0]
    assert "It may be cut off or damaged" in said[0]


def test_parquet_with_text_among_numbers_is_refused(tmp_path, frame):
    frame.with_columns(pl.col("gfs_humidity").cast(pl.String)).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(TableError, match="column 'gfs_humidity': expected numbers, found String"):
        files.convert(source(tmp_path / "a.parquet"), tmp_path / "out.parquet")


def test_rows_of_parquet_are_counted_from_one(tmp_path, frame):
    bad = frame.with_columns(
        pl.when(pl.int_range(pl.len()) == 4).then(15).otherwise(pl.col(schema.CLASS)).alias(schema.CLASS)
    )
    bad.write_parquet(tmp_path / "a.parquet")
    with pytest.raises(TableError, match="found 15 in row 5"):
        files.convert(source(tmp_path / "a.parquet"), tmp_path / "out.parquet")


def test_nothing_is_left_behind_where_a_table_is_refused(convert, tmp_path, text):
    (tmp_path / "out.parquet").write_text("what was there")
    problems(convert, field(text, 5, "fact_cwsm_class", "14"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.parquet", "train.csv"]
    assert (tmp_path / "out.parquet").read_text() == "what was there"


def test_an_interrupt_while_reading_is_passed_on_and_leaves_nothing(convert, tmp_path, text):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"^$"):
        convert(text, progress=stop)
    assert [path.name for path in tmp_path.iterdir()] == ["train.csv"]


def test_the_writer_makes_no_file_anew_after_reading_has_failed(tmp_path, monkeypatch):
    """Given a path, polars' writer opened it after the failure had removed it, in a tenth of all cases or more."""

    def fails(*_):
        raise TableError("damaged")
        yield

    monkeypatch.setattr(files, "_completed", fails)
    for _ in range(100):
        with pytest.raises(TableError, match="damaged"), replacing(tmp_path / "out.parquet") as temporary:
            files._write(None, temporary, id_prefix=None, climate=None)
    time.sleep(0.2)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_named(tmp_path, text):
    (tmp_path / "train.csv").write_text(text)
    (tmp_path / "file").write_text("")
    with pytest.raises(TableError, match=r"expected to write .*has enough space"):
        files.convert(source(tmp_path / "train.csv"), tmp_path / "file" / "out.parquet")


@pytest.mark.usefixtures("small_chunks")
def test_every_single_cut_of_a_line_is_noticed_or_harmless(convert, text):
    lines = text.splitlines()[:3]
    whole = "\n".join(lines) + "\n"
    for cut in itertools.chain(range(1, 8), range(12, 400, 97)):
        data = whole[:-cut]
        if data.count(",") == 3 * 128:
            assert "Was it cut off?" in " ".join(convert(data).warnings)
        else:
            assert "The file is cut off here" in problems(convert, data)[-1]


def test_missing_columns_are_told_in_words_where_no_other_name_is_near(convert, frame):
    said = problems(convert, text_of(frame.drop("gfs_humidity")))
    assert said[0].endswith("expected a column 'gfs_humidity', found none. Take the whole table.")


@pytest.mark.parametrize("column", [schema.TIME, schema.LATITUDE, schema.LONGITUDE])
def test_a_row_without_time_or_place_is_refused(convert, text, column):
    (said,) = problems(convert, field(text, 3, column, ""))
    assert f"column {column!r}: expected a value in each row, found nothing in line 4 (1 such value)" in said
