"""Messages stay short and harmless, whatever the input holds."""

from __future__ import annotations

import datetime
import time

import pytest

from shiftbench import errors
from shiftbench.errors import ShiftbenchError, ShiftbenchWarning, UnknownNameError


@pytest.mark.parametrize(
    "value",
    ["x" * 2_000_000, "x " * 1_000_000, "'" * 2_000_000, "\x1b[31m" * 400_000, "é\n" * 1_000_000, ["a"] * 500_000],
)
def test_a_message_about_megabytes_is_short(value):
    for text in (
        f"t.csv: expected a number, found {value}. Correct it.",
        f"t.csv: expected a number, found {value!r}.",
    ):
        start = time.perf_counter()
        for said in (str(ShiftbenchError(text)), str(ShiftbenchWarning(text))):
            assert said.startswith("t.csv: expected a number, found ")
            assert len(said) < 10_000
        assert time.perf_counter() - start < 2


def test_ordinary_messages_stay_as_they_are():
    text = "t.csv: line 3: expected 'a' or \"b\", found 'c'. " * 4
    assert ShiftbenchError(text).problems == (text,)


def test_the_middle_of_a_long_word_is_left_out_and_the_advice_kept():
    said = str(ShiftbenchError(f"expected a number, found {'x' * 3_000!r}. Correct it."))
    assert said.endswith("'. Correct it.")
    assert " … " in said


def test_no_message_steers_a_terminal():
    assert str(ShiftbenchError("found \x1b[31m\u202ered\x00\r.\nnext")) == "found \\x1b[31m\\u202ered\\x00\\r.\nnext"


def test_any_value_can_be_quoted():
    assert errors.quoted("a\nb") == "'a\\nb'"
    assert len(errors.quoted("x" * 1000)) == 40
    assert errors.quoted(datetime.datetime(2021, 6, 30, 12, tzinfo=datetime.UTC)) == "2021-06-30T12:00:00+00:00"
    assert errors.quoted(datetime.time(12)) == "12:00:00"
    assert errors.quoted(10**5000) == "int of thousands of digits or levels"
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    assert errors.quoted(deep) == "list of thousands of digits or levels"


def test_many_known_names_are_not_listed_beside_the_nearest():
    many = [f"score_{k:02}" for k in range(30)]
    assert str(UnknownNameError("score", "scoer_07", many)).endswith("score_07, … (30 in all).")
    assert "Did you mean" in str(UnknownNameError("score", "scoer_07", many))
    assert str(UnknownNameError("score", "?", many)).endswith("score_28, score_29.")


def test_the_nearest_of_very_many_or_very_long_names_is_found_in_no_time():
    start = time.process_time()
    assert errors.nearest("colum", ["column", *(f"c{k}" for k in range(1_000_000))]) == "column"
    assert errors.nearest("x" * 1_000_000, ["x" * 1_000_000]) is None
    assert "Did you mean 'wind'" in str(UnknownNameError("column", "wnd", ["wind", "x" * 100_000]))
    assert time.process_time() - start < 2
