"""Queries on reports, which each report answers once."""

from __future__ import annotations

from dataclasses import replace

from shiftbench.report import view
from shiftbench.report.content import Report
from shiftbench.report.grids.listing import grids

from .factory import regression


def test_a_query_is_computed_once_for_each_report_and_each_argument():
    asked = []

    @view.once
    def query(report: Report, split: str, *, most: int = 3) -> int:
        asked.append((report.title, split, most))
        return len(asked)

    one = regression()
    other = replace(one, title="another")
    assert [query(one, "dev"), query(one, "eval"), query(one, "dev"), query(one, "dev", most=4)] == [1, 2, 1, 3]
    assert [query(other, "dev"), query(one, "dev")] == [4, 1]
    assert asked[3] == ("another", "dev", 3)


def test_what_a_report_has_answered_is_no_part_of_it():
    one = regression()
    before = one.to_json()
    assert grids(one) is grids(one)
    assert (one.to_json(), one) == (before, regression())
    changed = replace(one, scores=one.scores[:1])
    assert view.headline_scores(changed) != view.headline_scores(one)
