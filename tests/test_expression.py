"""Conditions as text: what they select, that missing values never slip through, and that nothing else runs."""

from __future__ import annotations

import datetime
import re
import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.errors import PartitionError, ShiftbenchError, UnknownNameError
from shiftbench.partition.expression import condition

DEEPEST, LONGEST, MOST_CHARACTERS = 50, 200, 10_000  # levels of nesting, operations in a row, characters


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "wind": [3.0, 19.0, 25.0, None, float("nan")],
            "count": pl.Series([0, 1, 200, 255, None], dtype=pl.UInt8),
            "climate": ["snow", "dry", "polar", None, "snow"],
            "day": [datetime.date(2021, month, 1) for month in range(1, 6)],
            "seen": pl.Series([datetime.datetime(2021, month, 1, 12) for month in range(1, 6)]),
            "berlin": pl.Series([datetime.datetime(2021, month, 1) for month in range(1, 6)]).dt.replace_time_zone(
                "Europe/Berlin"
            ),
            "wet": [True, False, None, True, False],
            "wind, m/s": [1.0, 2.0, 3.0, 4.0, 5.0],
            "spans": [[1], [2], [3], [4], [5]],
            "class": [1, 2, 3, 4, 5],
        }
    )


def selected(table: pl.DataFrame, text: str) -> list[int]:
    found = table.select(condition(text, table.schema)).to_series()
    assert found.dtype == pl.Boolean
    assert found.null_count() == 0
    assert len(found) == len(table)
    return [int(index) for index in found.arg_true()]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("wind >= 19", [1, 2]),
        ("19 <= wind < 25", [1]),
        ("0 < wind < 25 and not wind == 19", [0]),
        ("climate in ('snow', 'polar')", [0, 2, 4]),
        ("climate not in ['snow', 'polar']", [1]),
        ("climate < 'p'", [1]),
        ("count > -1", [0, 1, 2, 3]),
        ("count < 300", [0, 1, 2, 3]),
        ("count + count > 255", [2, 3]),
        ("count in (1, 200.0, 4.5)", [1, 2]),
        ("count % 2 == 1", [1, 3]),
        ("abs(wind - 20) <= 5", [1, 2]),
        ("-wind < -20", [2]),
        ("1 / count > 0", [1, 2, 3]),
        ("not 1 / count > 0", []),
        ("day >= '2021-03-01'", [2, 3, 4]),
        ("day in ('2021-03-01', '2021-04-02')", [2]),
        ("'2021-02-01T13:00' < seen <= '2021-04-01T12:00'", [2, 3]),
        ("seen >= '2021-03-01'", [2, 3, 4]),
        ("berlin >= '2021-03-01'", [2, 3, 4]),
        ("berlin >= '2021-03-01T00:00+00:00'", [3, 4]),
        ("day < seen", [0, 1, 2, 3, 4]),
        ("wet", [0, 3]),
        ("not wet", [1, 4]),
        ("wet == True", [0, 3]),
        ("is_null(wind)", [3, 4]),
        ("not is_null(climate) and is_null(count)", [4]),
        ("col('wind, m/s') > 3", [3, 4]),
        ("(wind > 3) == wet", []),
        ("  wet or\nwind > 20", [0, 2, 3]),
    ],
)
def test_a_condition_selects_what_python_would(table: pl.DataFrame, text: str, rows: list[int]) -> None:
    if "\n" in text:
        text = f"({text})"
    assert selected(table, text) == rows


def test_a_missing_value_satisfies_neither_a_condition_nor_its_negation(table: pl.DataFrame) -> None:
    for text in ("wind > 10", "climate == 'snow'", "climate in ('dry',)", "count / count == 1", "wet"):
        known = set(selected(table, text)) | set(selected(table, f"not ({text})"))
        column = text.split()[0]
        assert known.isdisjoint(selected(table, f"is_null({column})"))


def test_an_or_with_a_missing_side_is_decided_by_the_other(table: pl.DataFrame) -> None:
    assert selected(table, "wind > 100 or climate == 'snow'") == [0, 4]
    assert selected(table, "wind > 100 or count == 255") == [3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os').system('true')", "found .*__import__"),
        ("wind.real > 1", "found 'wind.real'"),
        ("open('x') == 1", "found .*open"),
        ("(lambda: 1)() > wind", "found"),
        ("[w for w in (1, 2)] == wind", "found"),
        ("wind ** 9 > 1", r"found 'wind \*\* 9'"),
        ("wind @ wind > 1", "found 'wind @ wind'"),
        ("f'{wind}' == climate", "found"),
        ("wind if wet else count", "found"),
        ("(x := 3) > wind", "found"),
        ("wind[0] > 1", r"found 'wind\[0\]'"),
        ("col(climate) > 1", "found"),
        ("abs(wind, 3) > 1", "found"),
        ("abs(x=wind) > 1", "found"),
        ("wind is None", "is_null"),
        ("wind == None", "is_null"),
        ("wind == 1j", "below 2"),
        ("wind == 99999999999999999999", "below 2"),
        ("wind == 1e999", "below 2"),
        ("climate == b'snow'", "found"),
        ("wind in 3", "a list of values"),
        ("climate in ()", "a list of values"),
        ("climate in 'snow polar'", "a list of values"),
        ("count in (wind, 3)", "only numbers and text"),
        ("wind < 3 in (1, 2)", "not chained"),
        ("1 < 2", "mentions a column"),
        ("True", "mentions a column"),
        ("wind", "This is a number"),
        ("wind and wet", "This is a number"),
        ("wind > 'strong'", r"a number \(wind\) beside a text"),
        ("climate > 3", r"a text \(climate\) beside a number"),
        ("climate + 'x' == 'dryx'", "climate is a text"),
        ("day - 3 > 1", "day is a date"),
        ("day > 3", "a date .* beside a number"),
        ("day > 'yesterday'", "an ISO date"),
        ("seen > '2021-01-01T00:00+01:00'", "without a zone"),
        ("berlin > '2021-03-28T02:30'", "exists in Europe/Berlin"),
        ("berlin > seen", "one time zone"),
        ("wet > True", "== or !="),
        ("spans == 3", "List"),
        ("wind >", "Python's syntax"),
        ("wind > = 3", r"invalid syntax\.$"),
        ("climate = snow", 'Compare with ==: climate == "snow"$'),
        ("é='=' and wind=3", "Compare with ==: é=='=' and wind==3$"),
        ("climate == snow", "Unknown column 'snow'.* If it is text, put it in quotes: climate == \"snow\"$"),
        ("wind > 1 and climate in (é, polar)", 'in quotes: wind > 1 and climate in \\("é", "polar"\\)$'),
        ("wind ≥ 3", "Python's syntax"),
        ("wind = 3", "Python's syntax"),
        ("wind\0> 3", "Python's syntax"),
        ("", "expected a condition"),
        ("   ", "expected a condition"),
        ("9" * 5000 + " > wind", "Python's syntax"),
        ("(" * 1000 + "wet" + ")" * 1000, "Python's syntax"),
        ("not " * 2000 + "wet", "expected .*(too deeply|levels)"),
        ("not " * (DEEPEST + 1) + "wet", "levels"),
        ("-" * (DEEPEST + 1) + "wind > 3", "levels"),
        (" + ".join(["wind"] * (LONGEST + 1)) + " > 3", f"{LONGEST} operations in a row"),
        ("wet == (wet == wet) == wet", "Join two comparisons with `and`"),
        ("wind, m/s >= 20", r'stands in col\(\): col\("wind, m/s"\) >= 20$'),
        ("climate != 'wind, m/s' and 3 < wind, m/s", r"col\(\): climate != 'wind, m/s' and 3 < col\(\"wind, m/s\"\)$"),
        ("class == 3 or wind > 1", r'col\(\): col\("class"\) == 3 or wind > 1$'),
        ("wind, m/s > 'strong'", "[^)]$"),  # which col() alone would not mend
        ("wet or " * 1200 + "wet or" + " wet" * (MOST_CHARACTERS // 2), "characters"),
    ],
)
def test_everything_else_is_refused_by_name(table: pl.DataFrame, text: str, message: str) -> None:
    with pytest.raises(PartitionError, match=message):
        condition(text, table.schema)


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ("day > 2020-01-01", 'day > "2020-01-01"'),  # Python refuses it because of its zeros
        ("day > 2020-11-12", 'day > "2020-11-12"'),  # a subtraction
        ("2020-1-5 <= day < 2021/10/20", '"2020-01-05" <= day < "2021-10-20"'),
        ("day >= 2020-11-12 12:30 and name != '2020-11-12'", """day >= "2020-11-12 12:30" and name != '2020-11-12'"""),
        ("day >= 2020-11-12T12:30:00Z", 'day >= "2020-11-12T12:30:00Z"'),
    ],
)
def test_a_date_without_quotes_is_told_with_the_condition_that_was_meant(
    table: pl.DataFrame, text: str, quoted: str
) -> None:
    with pytest.raises(PartitionError, match=f"Quote the date: {re.escape(quoted)}$"):
        condition(text, table.schema)


@pytest.mark.parametrize(
    "text", ["wind > 2020 - 11 - 12", "wind > 2020-13-12", 'col("2020-11-12") > 1', "wind > 12020-11-12"]
)
def test_what_is_no_date_is_not_taken_for_one(table: pl.DataFrame, text: str) -> None:
    condition(text, {**table.schema, "2020-11-12": pl.Int64()})


def test_a_condition_that_is_not_text_is_refused(table: pl.DataFrame) -> None:
    with pytest.raises(PartitionError, match="found 19"):
        condition(19, table.schema)  # type: ignore[arg-type]


def test_an_unknown_column_names_its_nearest(table: pl.DataFrame) -> None:
    with pytest.raises(UnknownNameError, match=r"'climat'.*Did you mean 'climate'"):
        condition("climat == 'snow'", table.schema)


def test_all_problems_of_a_condition_are_reported_at_once(table: pl.DataFrame) -> None:
    with pytest.raises(PartitionError) as caught:
        condition("wind > 'a' and day > 3 and wet", table.schema)
    assert len(caught.value.problems) == 2


def test_a_long_flat_condition_is_evaluated(table: pl.DataFrame) -> None:
    assert selected(table, " or ".join(["wind == 3"] * 700)) == [0]
    assert selected(table, f"count in ({', '.join(map(str, range(1000)))})") == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "text",
    [
        " + ".join(["wind"] * 10) + " > 60",
        "-" * 10 + "wind > 60",
        "abs(" * 10 + "wind" + ")" * 10 + " > 60",
        "1 / (" * 10 + "wind" + ")" * 10 + " > 60",
        "5 % (" * 10 + "wind" + ")" * 10 + " > 60",
        "wet == (" * 10 + "wind > 60" + ")" * 10,
        " < ".join(["wind", "count"] * 10),
        "not " * 10 + "wet",
        f"count in ({', '.join(map(str, range(100)))})",
        f"wind + 1 not in ({', '.join(map(str, range(100)))})",
    ],
)
def test_no_step_writes_its_operands_out_again_at_every_level(table: pl.DataFrame, text: str) -> None:
    written = len(condition(text, table.schema).meta.root_names())
    assert written <= 2 * sum(text.count(name) for name in ("wind", "wet", "count"))


@pytest.mark.parametrize(
    "text",
    [
        "+".join(["wind"] * (LONGEST - 1)) + "<60",
        "-" * (DEEPEST - 2) + "wind<20",
        "9/(" * (DEEPEST // 2) + "wind" + ")" * (DEEPEST // 2) + "<5",
        f"count in({','.join(str(number % 1_000) for number in range(2_400))})",
        "wind<" * 1_600 + "60",
        "or ".join(["wind<60"] * 800),
    ],
)
def test_the_largest_conditions_take_no_time_to_speak_of(table: pl.DataFrame, text: str) -> None:
    start = time.perf_counter()
    selected(table, text)
    assert time.perf_counter() - start < 5


def test_membership_is_that_of_python(rng: np.random.Generator) -> None:
    frame = pl.DataFrame({"small": rng.integers(0, 250, 300), "half": rng.integers(0, 40, 300) / 2})
    frame = frame.with_columns(pl.col("small").cast(pl.UInt8), pl.col("half").cast(pl.Float32))
    values = (3, 7.0, 7.5, -1, 256 + 9, 1e18, 12.25, 19)
    for name in frame.columns:
        found = frame.select(condition(f"{name} in {values!r}", frame.schema)).to_series().to_list()
        assert found == [value in values for value in frame[name]]


@given(st.text(max_size=60))
@settings(max_examples=150, deadline=None)
def test_no_text_ends_in_anything_but_our_errors(text: str) -> None:
    frame = pl.DataFrame({"a": [1.0], "b": ["x"]})
    try:
        expr = condition(text, frame.schema)
    except ShiftbenchError:
        return
    assert frame.select(expr).to_series().dtype == pl.Boolean


@given(
    st.recursive(
        st.sampled_from(["a > 1", "b < a", "a == b", "is_null(b)"]),
        lambda inner: st.one_of(
            inner.map(lambda x: f"not ({x})"), st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
                lambda x: f"({x[0]}) {x[1]} ({x[2]})")
        ),
        max_leaves=8,
    )
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_without_missing_values_it_equals_python_itself(text: str) -> None:
    rows = [{"a": a, "b": b} for a in (0.0, 1.0, 2.0) for b in (0.0, 1.0, 2.0)]
    expected = [bool(eval(text, {"is_null": lambda value: value is None}, row)) for row in rows]
    frame = pl.DataFrame(rows)
    assert frame.select(condition(text, frame.schema)).to_series().to_list() == expected
