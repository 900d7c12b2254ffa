from __future__ import annotations

import math

import pytest

from shiftbench.report.content import Report
from shiftbench.report.digits import Digits, digits_of, half_width, p_in_sentence, p_text
from shiftbench.report.grids.listing import grids
from shiftbench.report.text import rows
from shiftbench.scores.score import Count, Score, System


def test_a_value_and_its_interval_have_two_digits_of_the_half_width():
    digits = digits_of([1.9234], [0.0712])
    assert digits.cell(1.9234, low=1.8522, high=1.9946) == ("1.923", "[1.852, 1.995]")


def test_without_an_interval_three_significant_digits_are_shown():
    assert digits_of([0.61372]).cell(0.61372) == ("0.614", "")
    assert digits_of([52.3]).cell(52.3) == ("52.3", "")
    assert digits_of([5230.0]).cell(5230.0) == ("5,230", "")


def test_numbers_at_the_ends_of_what_a_float_holds_are_written():
    """No power of ten overflows, and what eight decimals do not show has a power of its own."""
    for value in (1e-310, 2e-309, 1e300, 1e308):
        assert any(digit in "123456789" for digit in digits_of([value]).text(value))
    shared = digits_of([1.2e-5], among=[1.2e-5, 3e7, 4e7, 5e7])
    value, interval = shared.cell(1.2e-5, low=1e-5, high=1.4e-5)
    assert float(value.replace("−", "-")) == pytest.approx(1.2e-5 * shared.factor)
    assert "0.00000000" not in interval


def test_percentages_are_shown_times_one_hundred():
    assert digits_of([0.8734], [0.012], factor=100.0).cell(0.8734, low=0.86, high=0.884) == ("87.3", "[86.0, 88.4]")


@pytest.mark.parametrize("value", [math.nan, math.inf, None])
def test_what_is_no_number_is_a_dash(value):
    assert Digits().text(value) == "–"


def test_an_undefined_score_has_no_interval_beside_it():
    assert Digits().cell(math.nan, low=1.0, high=2.0) == ("–", "")


def test_a_standard_deviation_stands_where_the_interval_would():
    assert Digits(decimals=2).cell(2.05, low=1.0, high=3.0, std=0.021) == ("2.05", "± 0.02")


def test_a_number_much_smaller_than_its_column_keeps_its_digits():
    digits = digits_of([140.0, 150.0, 0.0012], [10.0, 12.0, 0.0002])
    assert digits.decimals == 0
    assert digits.cell(0.0012, low=0.001, high=0.0014) == ("0.00120", "[0.00100, 0.00140]")


def test_large_errors_carry_a_power_of_ten_in_their_unit():
    digits = digits_of([1.234e6, 2.0e6], [4.0e4, 5.0e4], unit="kW²")
    assert digits.unit == "×10⁶ kW²"
    assert digits.cell(1.234e6, low=1.2e6, high=1.27e6) == ("1.234", "[1.200, 1.270]")


def test_one_outlier_does_not_change_the_unit_of_the_others():
    digits = digits_of([1.9, 2.4, 3.0e12], [0.1, 0.2, 1e11], unit="°C")
    assert digits.unit == "°C"
    assert digits.text(1.9) == "1.90"
    assert digits.text(3.0e12) == "3e+12"


def test_the_power_of_ten_is_that_of_all_that_is_held_against_each_other():
    one, other = [8.4e5, 9.2e5], [1.2e6, 3.1e6]
    digits = [digits_of(values, [2e4], unit="kW²", among=one + other) for values in (one, other)]
    assert [entry.unit for entry in digits] == ["×10⁶ kW²"] * 2
    assert [entry.text(9.2e5) for entry in digits] == ["0.920"] * 2
    assert digits_of([], unit="kW²", among=one + other).unit == "×10⁶ kW²"


def test_zero_never_has_a_sign():
    assert Digits(decimals=1).text(-0.001) == "0.0"
    assert Digits(decimals=1).text(-0.26) == "−0.3"


def test_a_half_width_needs_both_ends():
    assert half_width(1.0, 3.0) == 1.0
    assert half_width(1.0, None) is None
    assert half_width(None, None, 0.5) == 0.5


@pytest.mark.parametrize(("p", "text"), [(0.0, "< 0.001"), (0.0123, "0.012"), (1.0, "1.000"), (math.nan, "–")])
def test_p_values_are_never_shown_as_zero(p, text):
    assert p_text(p) == text


def test_a_p_value_in_a_sentence_is_an_equation():
    assert [p_in_sentence(p) for p in (0.0, 0.002)] == ["p < 0.001", "p = 0.002"]


def test_two_of_the_largest_numbers_have_a_format():
    assert digits_of([1.5e308, 1.7e308]).text(1.5e308)


def test_a_deviation_that_is_small_by_chance_adds_one_decimal_at_most():
    assert Digits(decimals=2).cell(1.6533, std=0.00067) == ("1.653", "± 0.001")
    assert Digits(decimals=2).cell(1.6533, std=0.4) == ("1.65", "± 0.40")
    assert Digits(decimals=2).cell(1.6533, std=0.00002) == ("1.653", "± < 0.001")
    assert Digits(decimals=2).cell(1.6533, std=0.0) == ("1.65", "± 0.00")


def shares(**values: float) -> Report:
    """A report of one system with these scores, without intervals."""
    found = tuple(Score("m", "eval", "full", name, value, 20) for name, value in values.items())
    return Report("Masks", "errors", "exact", None, systems=(System("m", "model"),), counts=(COUNT,), scores=found)


COUNT = Count("eval", "full", 20)


def test_a_share_has_one_unit_in_every_table_however_small():
    """A gain of 0.00007 stood as 73 (×10⁻⁶) in one table and as 0.00007 in another."""
    report = shares(lppv_gain=7.3e-5, lppv_gain_lesion_structural=7.3e-5, lppv_gain_optimal=0.031)
    found = {grid.kind: grid for grid in grids(report)}
    headline, rows = found["joint"], found["within_predicted_lesions"]
    assert "×10" not in "".join(column.group for column in (*headline.columns, *rows.columns))
    assert headline.rows[0].cells[0].text == "0.00007"
    assert [row.cells[0].text for row in rows.rows] == ["0.0001", "0.0310"]


def test_a_small_percentage_without_an_interval_does_not_look_like_a_fraction():
    """0.964 under the heading of percent, beside fractions, was read as 96 %."""
    report = shares(lesion_f1=0.00964, lesion_recall=0.0004)
    (answers,) = (grid for grid in grids(report) if grid.kind == "answers")
    assert [cell.text for cell in answers.rows[0].cells] == ["1.0", "0.0400"]
    units = {row["metric"]: (row["value"], row["scale"]) for row in rows(report)}
    assert units["lesion_f1"] == (0.00964, "fraction")


def test_a_score_that_is_the_same_in_all_replicates_has_no_interval() -> None:
    assert Digits().cell(18.38, low=18.38, high=18.38) == ("18.38", "")
