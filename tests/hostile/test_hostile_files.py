"""Whatever lies in the files that are read: exit code 0 or 2, no traceback, nothing left behind, no hang.

`python -m tests.hostile.meeting FIRST COUNT` meets any number of other files.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.hostile import formats, meeting

CASES = int(os.environ.get("HOSTILE_CASES", "2000"))  # `make hostile` meets more
REGRESSIONS = [
    ("arrow, damaged", 479),  # a date out of range: a panic of polars
    ("counts", 35),  # ten billion rows
    ("fit of mean", 354),  # a record without its variance
    ("fit of mean", 610),  # a record without its settings, of which the cost is told
    ("fit of mlp", 393),  # weights that are text
    ("fit of mlp", 453),  # weights that are a number
    ("jsonl, other columns", 507),  # a column called "*"
    ("npz, other members", 75),  # a header that is no Python
    ("settings", 325),  # thousands of tables in each other
    ("settings", 516),
    ("fit of column", 101_377),  # a record without its settings
    ("fit of boosting", 103_026),  # 10^400 members
    ("begun fit", 9),  # a checkpoint whose best weights are a number
    ("climates", 20),  # codes that are lists
    ("http answers", 203_451),  # half of a character in a note
    ("http answers", 205_082),  # a redirect to what is no address
    ("predictions", 3_240),  # targets that are records
    ("forecasts", 9_449),  # a column of which two numbers add up to infinity
    ("fetched tar", 160),  # a record of thousands of lists in each other
]
"""Cases that something broke on once."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return meeting.made(tmp_path_factory.mktemp("hostile") / "whole")


def test_no_hostile_file_breaks_anything(whole: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [*REGRESSIONS, *((name, seed) for seed, name in enumerate(formats.names(CASES)))]
    met = meeting.meet(cases, whole, tmp_path)
    with capsys.disabled():
        print(f"\n{meeting.summary(met)}")  # noqa: T201
    assert len(met) == len(cases)
    assert [(one.case, one.words, one.problems, one.said[-300:]) for one in met if one.problems] == []
    assert {name for name, _ in cases} == set(formats.FORMATS)


def test_the_same_seed_gives_the_same_files(whole: Path, tmp_path: Path) -> None:
    for name in ("csv, damaged", "parquet, other columns", "settings", "options", "lesion scans"):
        made = []
        for turn in ("a", "b"):
            (here := tmp_path / f"{name}-{turn}").mkdir()
            words = formats.make(name, 7, whole, here)
            made.append((words, {path.name: path.read_bytes() for path in here.rglob("*") if path.is_file()}))
        assert made[0] == made[1], name
