"""Windows of time: cuts never part equal times, lie nearest to their fraction, and read what they show."""

from __future__ import annotations

import datetime
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.errors import PartitionError
from shiftbench.partition import Rules, windows

DAY = pl.Date()
TICK = pl.Datetime("us")


def plain_cut(times: list[int], rank: float) -> float:
    """Of all times (and one after all), the one with the number of earlier records nearest to the rank."""
    candidates = [*sorted(set(times)), math.inf]
    return min(candidates, key=lambda cut: (abs(sum(time < cut for time in times) - rank), cut))


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=40),
    st.sampled_from([(0.5, 0.25, 0.25), (0.75, 0.0, 0.25), (1.0, 0.0, 0.0)]),
)
@settings(max_examples=300, deadline=None)
def test_a_cut_is_the_change_of_time_nearest_to_its_fraction(times: list[int], fractions: tuple[float, ...]) -> None:
    found = windows.cuts(pl.Series(times), fractions)
    ranks = np.cumsum(fractions)[:-1] * len(times)
    for cut, rank in zip(found, ranks, strict=True):
        best = abs(sum(time < plain_cut(times, rank) for time in times) - rank)
        assert abs(sum(time < cut for time in times) - rank) == best


def test_a_tie_between_two_cuts_goes_to_the_earlier() -> None:
    assert windows.cuts(pl.Series([1, 1, 2, 2, 3, 3]), [0.5, 0.5]) == [2]


def test_distinct_times_are_cut_to_the_record() -> None:
    times = pl.Series(np.random.default_rng(0).permutation(10_000))
    assert windows.cuts(times, [0.6, 0.1, 0.15, 0.15]) == [6_000, 7_000, 8_500]


def test_row_order_never_moves_a_cut(rng: np.random.Generator) -> None:
    times = rng.integers(0, 50, 1_000)
    fractions = [0.6, 0.1, 0.15, 0.15]
    assert windows.cuts(pl.Series(times), fractions) == windows.cuts(pl.Series(rng.permutation(times)), fractions)


def test_evaluation_first_exchanges_the_two_shifted_windows() -> None:
    times = pl.Series(np.arange(100))
    straight = windows.edges(times, Rules(time="t", fractions=(0.5, 0.1, 0.3, 0.1)), pl.Int64())
    exchanged = windows.edges(times, Rules(time="t", fractions=(0.5, 0.1, 0.3, 0.1), eval_first=True), pl.Int64())
    assert straight == {"in_domain": (-math.inf, 50), "dev_out": (60, 90), "eval_out": (90, math.inf)}
    assert exchanged == {"in_domain": (-math.inf, 50), "eval_out": (60, 70), "dev_out": (70, math.inf)}


@pytest.mark.parametrize(
    ("gap", "dtype", "expected"),
    [
        ("7d", DAY, 7.0),
        ("36h", DAY, 1.5),
        ("1w", TICK, 7 * 86_400e6),
        ("90m", pl.Datetime("ms"), 5_400e3),
        ("1.5s", pl.Datetime("ns"), 1.5e9),
        (3, pl.Int64(), 3),
        (0.5, pl.Float64(), 0.5),
    ],
)
def test_a_gap_is_read_in_the_unit_of_the_column(gap: str | float, dtype: pl.DataType, expected: float) -> None:
    assert windows.duration(gap, dtype) == expected


@pytest.mark.parametrize(
    ("gap", "dtype"), [("7", DAY), ("seven days", TICK), (7, DAY), ("-7d", DAY), ("7d", pl.Int64())]
)
def test_a_gap_of_the_wrong_kind_is_refused(gap: str | float, dtype: pl.DataType) -> None:
    with pytest.raises(PartitionError, match="gap: expected a"):
        windows.duration(gap, dtype)


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([datetime.date(1969, 12, 30), datetime.date(2021, 1, 31)]),
        pl.Series([datetime.datetime(2021, 1, 31, 12, 30, 1, 5)]),
        pl.Series([datetime.datetime(2021, 1, 31, 12)]).cast(pl.Datetime("ns")),
        pl.Series([datetime.datetime(2021, 7, 31, 12)]).dt.replace_time_zone("Europe/Berlin"),
        pl.Series([3, -4]),
        pl.Series([0.25]),
    ],
)
def test_a_time_is_read_as_it_is_shown(column: pl.Series) -> None:
    times = windows.physical(column)
    for time in times:
        text = windows.shown(time, column.dtype)
        rules = Rules(time="t", windows={"in_domain": (text, None)})
        assert windows.edges(times, rules, column.dtype)["in_domain"] == (time, math.inf)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dev_out": (5, 3), "eval_out": (6, 7)}, "windows.dev_out: expected a start before the end"),
        ({"dev_out": (3, 6), "eval_out": (5, 7)}, "found an overlap"),
        ({"dev_out": (3, 6), "eval_out": ("2020-01-01", None)}, "windows.eval_out: expected a number"),
    ],
)
def test_windows_that_contradict_are_refused(given: dict[str, tuple[object, object]], message: str) -> None:
    with pytest.raises(PartitionError, match=message):
        windows.edges(pl.Series(np.arange(9)), Rules(time="t", windows=given), pl.Int64())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        (3, "an ISO date like"),
        ("soon", "an ISO date such"),
        ("5/6/2021", "an ISO date such"),
        ("2020-01-01T12:00", "without a time"),
        ("20200101T12", "without a time"),
    ],
)
def test_an_edge_that_is_no_date_is_refused_for_dates(edge: object, message: str) -> None:
    rules = Rules(time="t", windows={"in_domain": (None, edge)})  # type: ignore[dict-item]
    with pytest.raises(PartitionError, match=message):
        windows.edges(pl.Series(np.arange(9)), rules, DAY)


def test_without_an_in_domain_window_it_ends_where_the_first_shifted_one_starts() -> None:
    rules = Rules(time="t", windows={"dev_out": (7, None), "eval_out": (5, 7)})
    assert windows.edges(pl.Series(np.arange(9)), rules, pl.Int64())["in_domain"] == (-math.inf, 5)


def test_a_cut_off_divides_time_in_two_and_its_own_moment_is_shifted() -> None:
    days = pl.Series(["2021-06-29", "2021-06-30", "2021-07-01"]).str.to_date()
    edges = windows.edges(windows.physical(days), Rules(time="day", shifted_from="2021-06-30"), days.dtype)
    assert windows.inside(windows.physical(days), edges, 0.0).tolist() == [1, 6, 6]
    numbers = pl.Series([1, 2, 3])
    edges = windows.edges(numbers, Rules(time="year", shifted_from=2.5), numbers.dtype)
    assert windows.inside(numbers, edges, 0.0).tolist() == [1, 1, 6]
    with pytest.raises(PartitionError, match="shifted_from: expected an ISO date like the time column, found 2\\.5"):
        windows.edges(windows.physical(days), Rules(time="day", shifted_from=2.5), days.dtype)


@pytest.mark.parametrize("cut", ["2021-6-30", "2021/6/30", "June 30, 2021", "30 June 2021", "20210630"])
def test_a_cut_off_may_be_written_as_dates_of_tables_are(cut: str) -> None:
    days = pl.Series(["2021-06-29", "2021-06-30", "2021-07-01"]).str.to_date()
    for times in (days, days.cast(pl.Datetime), days.cast(pl.Datetime).dt.replace_time_zone("Asia/Tokyo")):
        found = windows.edges(windows.physical(times), Rules(time="day", shifted_from=cut), times.dtype)
        assert windows.inside(windows.physical(times), found, 0.0).tolist() == [1, 6, 6]


def test_a_time_with_an_offset_is_that_moment_in_any_notation() -> None:
    times = pl.Series(["2021-06-30T00:00", "2021-06-30T09:00"]).str.to_datetime().dt.replace_time_zone("Asia/Tokyo")
    for cut in ("2021-06-30T00:00:00Z", "2021-6-30 00:00:00Z", "2021-6-30 09:00", "2021-6-30 02:00+02:00"):
        found = windows.edges(windows.physical(times), Rules(time="day", shifted_from=cut), times.dtype)
        assert found["dev_out"][0] == windows.physical(times)[1], cut


def test_a_gap_removes_shifted_records_on_both_sides() -> None:
    bits = windows.inside(pl.Series(np.arange(10)), {"in_domain": (4, 6)}, gap=2)
    assert [bool(bit & 2) for bit in bits] == [True] * 3 + [False] * 4 + [True] * 3
    assert [bool(bit & 1) for bit in bits] == [False] * 4 + [True] * 2 + [False] * 4


def test_text_is_no_time() -> None:
    with pytest.raises(PartitionError, match=r"expected dates, times or numbers, found '31\.1\.2021' in row 1"):
        windows.physical(pl.Series("when", ["31.1.2021"]))


def test_lists_are_no_times_and_are_refused_in_one_line() -> None:
    with pytest.raises(PartitionError, match=r"^time column 'when': expected dates.*, found List\. Write"):
        windows.physical(pl.Series("when", [[1, 2], [3]]))


def test_decimals_are_numbers_like_any_other_in_a_time_column() -> None:
    plain = pl.DataFrame({"hour": [float(hour) / 4 for hour in range(40)], "y": range(40)})
    decimal = plain.with_columns(pl.col("hour").cast(pl.Decimal(10, 2)))  # as databases write them
    rules = Rules(time="hour", fractions=(0.6, 0.1, 0.15, 0.15), gap=0.5)
    same = [windows.edges(windows.physical(each["hour"]), rules, each.schema["hour"]) for each in (plain, decimal)]
    assert same[0] == same[1]
    assert windows.physical(decimal["hour"]).dtype == pl.Float64
