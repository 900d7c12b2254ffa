"""Dates and numbers written in several ways are read, or refused with their rows; categories stay categories."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from shiftbench.errors import TableError
from shiftbench.io import tables
from shiftbench.report.content import Report
from tests.cli.conftest import Shiftbench, errors_table

DAYS = [dt.date(2021, 1, 1) + dt.timedelta(days=day) for day in range(173)]
WAYS: list[Callable[[dt.date], str]] = [
    lambda day: day.isoformat(),
    lambda day: day.strftime("%d/%m/%Y"),
    lambda day: day.strftime("%b %d, %Y"),
    lambda day: f"{day.day} {day.strftime('%B %Y')}",
    lambda day: day.strftime("%Y/%m/%d"),
    lambda day: day.strftime("%Y%m%d"),
]


def written(frame: pl.DataFrame, path: Path) -> Path:
    if path.suffix == ".csv":
        frame.write_csv(path)
    else:
        tables.write_table(frame, path)
    return path


def read(frame: pl.DataFrame, path: Path) -> tuple[pl.DataFrame, list[str]]:
    with tables.reading_notes() as notes:
        found = tables.read_table(written(frame, path))
    return found, notes


def fault(values: list[str | None], *, label: bool = False) -> str:
    """What is wrong with a column of these values, "" if nothing is."""
    frame = pl.DataFrame({"c": values})
    try:
        tables.require_uniform(frame, [] if label else ["c"], labels=["c"] if label else [], where="t.csv")
    except TableError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_dates_in_many_ways_are_the_days_they_mean(tmp_path: Path, suffix: str) -> None:
    texts = [way(day) for day in DAYS for way in WAYS]
    found, notes = read(pl.DataFrame({"day": texts, "x": range(len(texts))}), tmp_path / f"t{suffix}")
    assert found["day"].to_list() == [day for day in DAYS for _ in WAYS]
    assert any("'day'" in note and "the day before the month where '/' stands" in note for note in notes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2021-1-5", dt.datetime(2021, 1, 5)),
        ("2021.01.05 07:08", dt.datetime(2021, 1, 5, 7, 8)),
        ("Jan 5, 2021 3:45 PM", dt.datetime(2021, 1, 5, 15, 45)),
        ("5th January 2021, 12:30 am", dt.datetime(2021, 1, 5, 0, 30)),
        ("5-Jan-2021 07:08:09.5", dt.datetime(2021, 1, 5, 7, 8, 9, 500_000)),
        ("2021/01/05T01:00:00+02:00", dt.datetime(2021, 1, 4, 23)),
        ("31/01/2021", dt.datetime(2021, 1, 31)),
        ("01/31/2021", dt.datetime(2021, 1, 31)),
        ("05.05.2021", dt.datetime(2021, 5, 5)),
        ("03/04/2021", None),  # which of both is the month?
        ("2021-02-30", None),
        ("31/01/21", None),
        ("Jan 5, 2021 13:00 PM", None),
        ("20210131", None),  # alone, a number like any other
        ("1.2.3", None),
        ("may be", None),
    ],
)
def test_what_one_text_means(text: str, expected: dt.datetime | None) -> None:
    assert tables.dates.moments(pl.Series([text])).to_list() == [expected]


def test_the_order_of_day_and_month_needs_evidence_that_nothing_contradicts() -> None:
    open_ones = [f"0{day}/0{month}/2021" for day in range(1, 10) for month in range(1, 9) if day != month]
    assert tables.dates.moments(pl.Series(open_ones)).null_count() == len(open_ones)
    shown = [*open_ones, *(f"{day}/01/2021" for day in range(13, 32))]
    assert tables.dates.moments(pl.Series(shown))[0] == dt.datetime(2021, 2, 1)
    against = tables.dates.moments(pl.Series([*shown, "01/31/2021"]))
    assert against.drop_nulls().is_empty()
    one_of_many = tables.dates.moments(pl.Series([*open_ones, "31/01/2021"]))  # may itself be the mistake
    assert one_of_many.drop_nulls().is_empty()


def test_dates_of_open_order_are_refused_with_rows() -> None:
    said = fault([None, "05/05/2021", "03/04/2021", "06/07/2021"])
    assert "column 'c': expected dates" in said
    assert "'03/04/2021' (2 such, rows 3, 4)" in said
    assert "Write dates as 2021-01-31" in said
    assert "(1 such, row 2)" in fault(["2021-01-31", "soon", "2021-02-01"])


def test_one_way_of_writing_dates_is_enough_for_a_label() -> None:
    assert not fault(["03/04/2021", "05/06/2021"], label=True)
    assert "rows 2" in fault(["2021-01-31", "03/04/2021"], label=True).replace("row 2", "rows 2")
    assert "'31/01/2021'" in fault(["31/01/2021", "01/31/2021"], label=True)  # one day, or two?


@pytest.mark.parametrize(
    ("odd", "said"),
    [
        (["n.a."], "Leave missing numbers empty"),
        (["-"], "Leave missing numbers empty"),  # zero, in many a spreadsheet
        (["1,234"], "without separators of thousands"),
        (["1,234.5", "1,000,000"], "without separators of thousands"),
        (["1,5"], "with a decimal point"),
        (["1.234,5"], "with a decimal point"),
        (["12%"], "per cent"),
        (["$12.50"], "currency"),
        ([f"\u2212{number}.5" for number in range(60)], "negative numbers with a hyphen"),  # as typeset text has it
    ],
)
def test_what_is_not_a_number_among_numbers_is_refused_with_rows(odd: list[str], said: str) -> None:
    found = fault([*map(str, range(100)), *odd])
    assert f"found {odd[0]!r} (" in found
    assert "101" in found
    assert said in found


@pytest.mark.parametrize(
    "values",
    [
        ["1", "2", "A"] * 50,
        [*map(str, range(36, 48)), "S", "M", "XL"] * 20,  # sizes
        [*(f"{code}.{code % 9}" for code in range(200)), *(f"V{code}" for code in range(20))],  # codes of diseases
        [*(f"0{code}" for code in range(100)), "none"],  # postcodes
        [*map(str, range(1000, 1100))],  # codes, stored as text in a format with types
        ["red", "green", None] * 10,
        ["1 room", "2 rooms", "10.5.3"] * 9,
    ],
)
def test_real_categories_stay_categories(values: list[str | None]) -> None:
    assert not fault(values)
    assert not fault(values, label=True)


@pytest.mark.parametrize("word", ["n/a", "NA", "?", ".", "null", "NaT", "#N/A"])
def test_words_for_missing_are_missing_and_counted(tmp_path: Path, word: str) -> None:
    texts = [word if row % 50 == 0 else f"{row}.5" for row in range(1_000)]
    found, notes = read(pl.DataFrame({"x": texts, "y": texts}), tmp_path / "t.csv")
    assert found.schema == {"x": pl.Float64, "y": pl.Float64}
    assert found["x"].null_count() == 20
    assert notes == [f"taken as missing: {word!r} (40 in x, y)"]


def test_numbers_as_text_in_parquet_are_refused(tmp_path: Path) -> None:
    found, _ = read(pl.DataFrame({"x": [*(f"{row}.5" for row in range(99)), "n/a"]}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"found them as text \('0.5'; no numbers in row 100\). Store them as numbers"):
        tables.require_uniform(found, ["x"], where="t.parquet")


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("others", ["2020-01-02T05:00:00+02:00", "3 January 2020 5:00 pm+0200"])
def test_times_without_an_offset_among_others_are_told(tmp_path: Path, suffix: str, others: str) -> None:
    times = ["2020-01-01T00:00:00Z", "2020-01-01T07:00:00", None, others, "2020-01-05"]
    found, notes = read(pl.DataFrame({"t": times, "x": [1, 2, 3, 4, 5]}), tmp_path / f"t{suffix}")
    assert found["t"][1] == dt.datetime(2020, 1, 1, 7)
    said = "column 't': 2 of 4 times have no offset from UTC, as the others have, and were read as UTC (rows 2, 5)"
    assert notes.count(said) == 1
    for alike in ("Z", ""):
        times = [f"2020-01-0{day}T07:00:00{alike}" for day in range(1, 6)]
        assert not read(pl.DataFrame({"t": times}), tmp_path / f"t{suffix}")[1]


def test_midnights_of_which_some_have_an_offset_are_told(tmp_path: Path) -> None:
    found, notes = read(pl.DataFrame({"t": ["2020-01-01T00:00:00Z", "2020-01-02T00:00:00"]}), tmp_path / "t.jsonl")
    assert found["t"].to_list() == [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]
    assert any("1 of 2 times have no offset from UTC" in note for note in notes)


def test_times_of_day_in_a_label_are_told() -> None:
    times = pl.datetime_range(dt.datetime(2021, 1, 1), dt.datetime(2021, 1, 3), "6h", eager=True).alias("when")
    with pytest.warns(UserWarning, match="9 different times on 3 days"):
        tables.require_uniform(times.to_frame(), [], labels=["when"], where="t")


# -- through the door


def three_ways(frame: pl.DataFrame, days: int) -> pl.DataFrame:
    texts = [WAYS[row % 3](DAYS[row * 7 % days]) for row in range(frame.height)]
    return frame.with_columns(day=pl.Series(texts))


def test_a_cluster_of_dates_in_three_ways_counts_days(shiftbench: Shiftbench, tmp_path: Path) -> None:
    three_ways(errors_table(600), 173).select("error", "uncertainty", "shifted", "day").write_csv(tmp_path / "t.csv")
    said = shiftbench("assess", "t.csv", "--cluster", "day", "--out", "r", "--replicates", 25)
    assert said.code == 0, said.err
    report = Report.load(tmp_path / "r/report.json")
    assert next(count.clusters for count in report.counts if count.subset == "full") == 173
    assert any("were read from text such as" in note for note in report.warnings)


def test_a_cluster_of_dates_that_cannot_be_read_is_refused(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = errors_table(100).with_columns(day=pl.Series(["2021-03-04", "03/04/2021"] * 50))
    table.write_csv(tmp_path / "t.csv")
    said = shiftbench("assess", "t.csv", "--cluster", "day", "--out", "r", "--replicates", 25)
    assert said.code == 2
    assert "'03/04/2021' (50 such, rows 2, 4, 6, 8, 10, …)" in said.err
    said = shiftbench("partition", "t.csv", "--by", "day", "--id", "id", "--out", "p")
    assert said.code == 2
    assert "t.csv: column 'day': " in said.err
    assert "rows 2, 4, 6, 8, 10" in said.err


def test_a_feature_with_odd_numbers_is_refused_unless_it_is_kept_or_dropped(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    table = errors_table(100).select("id", "target", x=pl.Series([*(f"{row}.5" for row in range(98)), "1,234.5", "-"]))
    table.write_csv(tmp_path / "t.csv")
    words = ("run", "t.csv", "--target", "target", "--method", "mean", "--out", "r")
    said = shiftbench(*words)
    assert said.code == 2
    assert "column 'x': expected numbers" in said.err
    assert "rows 99, 100" in said.err
    assert "--keep" in said.err
    for option in ("--keep", "--drop"):
        assert "expected numbers" not in shiftbench(*words, option, "x").err


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
@pytest.mark.parametrize("form", ["%d-%m-%y", "%y-%m-%d", "%d/%m/%y", "%y-%m-%d %H:%M", "%y-%m-%dT%H:%M:%SZ"])
def test_years_of_two_digits_are_read_by_no_format(tmp_path: Path, suffix: str, form: str) -> None:
    texts = [day.strftime(form) for day in DAYS]
    found, _ = read(pl.DataFrame({"day": [*texts, None]}), tmp_path / f"t{suffix}")
    assert found["day"].to_list() == [*texts, None]
    message = r"'day': expected dates, as .* in some of which day and month or the century are open"
    with pytest.raises(TableError, match=message):
        tables.require_uniform(found, ["day"], where="t")


@pytest.mark.parametrize("text", ["12-05-03", "-012-05-03", "+2021-05-03", "2021-+5-03", "12021-05-03", "2021-05-+3"])
def test_a_date_has_four_digits_for_its_year_and_no_sign(tmp_path: Path, text: str) -> None:
    for suffix in (".csv", ".parquet", ".jsonl"):
        found, _ = read(pl.DataFrame({"day": ["2021-01-31", text, None]}), tmp_path / f"t{suffix}")
        assert found["day"].to_list() == ["2021-01-31", text, None]


def test_a_partition_by_days_with_short_years_is_refused(shiftbench: Shiftbench, tmp_path: Path) -> None:
    days = [dt.date(2019, 1, 1) + dt.timedelta(days=3 * place) for place in range(400)]
    when = [day.strftime("%d-%m-%y") for day in days]
    table = pl.DataFrame({"id": range(400), "when": when, "x": range(400), "y": range(400)})
    path = written(table, tmp_path / "d.csv")
    said = shiftbench("partition", path, "--time", "when", "--target", "y", "--out", tmp_path / "dp")
    assert said.code == 2
    assert "'when': expected dates" in said.err
    assert "Write dates as 2021-01-31" in said.err


@pytest.mark.parametrize("unit", ["us", "ms"])
def test_a_time_that_nobody_can_write_is_missing_in_a_report_that_names_its_row(
    shiftbench: Shiftbench, tmp_path: Path, unit: Any
) -> None:
    far = 9_000_000_000_000_000_000 if unit == "us" else 9_000_000_000_000_000
    when = pl.Series([far, *range(59)]).cast(pl.Datetime(unit))
    errors_table(60).with_columns(when=when).sort("error", descending=True).write_parquet(tmp_path / "a.parquet")
    words = ("assess", "a.parquet", "--replicates", 20, "--out", "r")
    said = shiftbench(*words)
    assert said.code == 0, said.err
    assert "1970-01-01" in (tmp_path / "r/records.csv").read_text()
    said = shiftbench(*words, "--overwrite", "--slice", "when")
    assert said.code == 0, said.err
    assert "expected dates of the years 1 to 9999 in column 'when', found others in row" in (
        tmp_path / "r/report.json"
    ).read_text("utf-8")
    said = shiftbench("assess", "a.parquet", "--shifted", "when", "--out", "s")
    assert said.code == 2
    assert "in column 'when', found Datetime(" in said.err
