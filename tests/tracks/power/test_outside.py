"""Shares of records outside of ranges: counted in blocks, kept in metadata, shown side by side."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.tracks.power import outside
from shiftbench.tracks.power.outside import RangeTally

WHOLE = ": any of its ranges"


def test_shares_are_those_of_all_blocks_together() -> None:
    tally = RangeTally()
    tally.add({"speed": np.array([True, False]), "draft": np.array([False, False])})
    tally.add({"speed": np.array([True] * 6), "draft": np.array([True] + [False] * 5)})
    assert (tally.records, tally.shares) == (8, {"speed": 0.875, "draft": 0.125})


def test_files_tell_what_was_written_of_them(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1]})
    frame.write_parquet(tmp_path / "b.parquet", metadata=outside.metadata({"L/B ≤ 7": 0.25}))
    frame.write_parquet(tmp_path / "a.parquet")
    (tmp_path / "c.csv").write_text("x\n1\n")
    assert outside.shares_in(tmp_path) == outside.shares_in(tmp_path / "b.parquet") == {"b": {"L/B ≤ 7": 0.25}}
    assert outside.shares_in(tmp_path / "a.parquet") == outside.shares_in(tmp_path / "c.csv") == {}


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, "3", "[0.5]", '{"a": "much"}', '{"a": NaN}', '{"a": 7.0}', '{"a": [0.5]}']
)
def test_metadata_of_somebody_else_say_nothing(tmp_path: Path, text: str) -> None:
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "a.parquet", metadata={outside.KEY: text})
    assert outside.shares_in(tmp_path) == {}
    assert outside.notes(tmp_path, whole=WHOLE) == []


def test_a_note_says_how_many_records_leave_the_ranges_of_a_method(tmp_path: Path) -> None:
    shares = {"hull" + WHOLE: 0.5, "hull: slow": 0.4, "hull: wide": 0.2, "air" + WHOLE: 0.0, "screw": 1e-4}
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "mine.parquet", metadata=outside.metadata(shares))
    assert outside.notes(tmp_path / "mine.parquet", whole=WHOLE) == [
        "mine: the formulas of the labels extrapolate beyond their ranges for a share of the records: hull 50.0 %; "
        "screw < 0.1 %"
    ]


def test_lines_leave_out_ranges_that_no_record_leaves() -> None:
    shares = {"records": {"speed": 0.7144, "beam": 0.0, "draft": 0.0002}, "others": {"speed": 1.0, "draft": 0.0}}
    assert outside.lines(shares) == [
        "       records   others",
        "speed   71.4 %  100.0 %",
        "draft  < 0.1 %        –",
    ]
    assert outside.lines({"records": {"beam": 0.0}}) == outside.lines({}) == []
