"""Strips of scores on one axis, and what a person's browser reads where a request is refused before any page."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from shiftbench.challenge.web import figure
from shiftbench.scores.metric import METRICS

from .world import World


class Row(NamedTuple):
    score: float | None
    low: float | None = None
    high: float | None = None
    reference: bool = False


def places(row: str) -> list[float]:
    """Where the dot is, and the ends of its interval, in percent."""
    range_ = re.search(r'class="range" x1="([\d.-]+)%" x2="([\d.-]+)%"', row)
    dot = re.search(r'cx="([\d.-]+)%"', row)
    return [float(each) for found in (dot, range_) if found for each in found.groups()]


def test_scores_lie_on_one_axis_in_proportion() -> None:
    found = figure.strips(METRICS["r_auc"], [Row(1.0, 0.5, 1.5), Row(2.0, 1.5, 2.5), Row(3.0)])
    (a, low, high), (b, *_), (c,) = map(places, found.rows)
    assert b - a == pytest.approx(c - b, abs=0.11)
    assert low < a < high
    assert all(0 < each < 100 for row in found.rows for each in places(row))
    assert ">2.0</text>" in found.axis


def test_a_reference_far_off_is_an_arrow_unless_the_whole_is_wanted() -> None:
    rows = [Row(1.0, 0.9, 1.1), Row(1.2, 1.1, 1.3), Row(50.0, 40.0, 60.0, reference=True)]
    found = figure.strips(METRICS["r_auc"], rows)
    assert "→" in found.rows[2]
    assert places(found.rows[2]) == []
    assert places(found.rows[1])[0] - places(found.rows[0])[0] > 20
    whole = figure.strips(METRICS["r_auc"], rows, whole=True)
    assert len(places(whole.rows[2])) == 3


@pytest.mark.parametrize("rows", [[], [Row(None)], [Row(float("inf"))]])
def test_nothing_to_draw_is_nothing(rows: list[Row]) -> None:
    found = figure.strips(METRICS["r_auc"], rows)
    assert (found.axis, found.rows) == ("", [""] * len(rows))


def test_a_file_too_large_for_a_form_is_told_to_a_person_on_a_page_and_to_a_program_as_json(world: World) -> None:
    client = world.roles["participant"].client
    body = {"content": b"x", "headers": {"Content-Length": str(2**40), "Accept": "text/html,*/*"}}
    page = client.post("/boards/table/submit", **body)
    assert page.status_code == 413
    assert "<h1>This did not work</h1>" in page.text
    assert "script-src 'self'" in page.headers["content-security-policy"]
    assert client.post("/boards/table/submit", **{**body, "headers": {"Content-Length": str(2**40)}}).json()["problems"]
