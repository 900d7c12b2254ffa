"""Scores on boards read well, however large the worst of them are."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from shiftbench.challenge.web import numbers
from shiftbench.scores.metric import METRICS


@dataclass(frozen=True)
class Row:
    score: float | None
    low: float | None = None
    high: float | None = None


@pytest.mark.parametrize(
    ("scores", "wanted"),
    [
        ((12.34, 15.2, 3.1e8), ["12.3", "15.2", "3.10×10⁸"]),
        ((3e8,), ["3.00×10⁸"]),
        ((-3.2e7, None), ["−3.20×10⁷", "–"]),
        ((123_456.0, 140_000.0), ["123,456", "140,000"]),
        ((0.5123, 0.61, 2e12), ["0.512", "0.61", "2.00×10¹²"]),
    ],
)
def test_huge_scores_have_their_own_power_of_ten_and_leave_the_others_readable(scores, wanted):
    found = numbers.of(METRICS["cnll"], map(Row, scores))
    assert [found.text(each) for each in scores] == wanted
    assert found.unit == ""


def test_numbers_of_the_ladder_get_no_zeros_that_it_has_not_told():
    found = numbers.of(METRICS["cnll"], [Row(1.25), Row(2.5), Row(61.0)])
    assert [found.text(each) for each in (1.25, 2.5, 61.0, 100.0)] == ["1.25", "2.5", "61", "100"]


def test_the_intervals_of_the_better_half_decide_on_the_decimals():
    rows = [Row(12.345, 12.3, 12.4), Row(3e8, 1e8, 5e8)]
    found = numbers.of(METRICS["cnll"], rows)
    assert [found.text(each) for each in (rows[0].score, rows[0].low, rows[1].high)] == ["12.345", "12.300", "5.00×10⁸"]
