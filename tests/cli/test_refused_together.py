"""A folder that would be refused is reported together with whatever else is wrong with a command."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.io.output import Mark
from tests.cli.conftest import Shiftbench, errors_table, weather_like

THERE = "r: expected a new folder, found an earlier result. Choose another --out, or --overwrite."
OTHER = "r: expected a new folder, or one that `shiftbench run"


@pytest.fixture
def there(tmp_path: Path) -> Path:
    """A folder `r` that an earlier `assess` made, and tables."""
    (tmp_path / "r").mkdir()
    Mark("assess", {}).write(tmp_path / "r")
    errors_table(40).drop("uncertainty").write_csv(tmp_path / "a.csv")
    errors_table(40).drop("error", "target").write_csv(tmp_path / "b.csv")
    weather_like(60).write_csv(tmp_path / "w.csv")
    return tmp_path


ASSESS = ("assess", "a.csv", "--out", "r")
NO_UNCERTAINTY = "a.csv: expected columns whose names begin with `uncertainty`"
RUN = ("run", "w.csv", "--out", "r", "--time", "date")
CASES = {
    "a column": (ASSESS, [THERE, NO_UNCERTAINTY]),
    "columns and options": (
        (*ASSESS, "--rule", "odd", "--threshold", "nan"), [THERE, NO_UNCERTAINTY, "threshold: expected", "odd"],
    ),
    "a task": ((*ASSESS, "--task", "odd"), [THERE, "Unknown task 'odd'"]),
    "both files": (
        ("compare", "a.csv", "b.csv", "--name", "one", "--out", "r"),
        ["r: expected a new folder, or one that `shiftbench compare`", NO_UNCERTAINTY, "b.csv: expected a column",
         "--name: expected 2 names"],
    ),
    "one file": (("compare", "a.csv", "--out", "r"), ["expected two or more files", "r: expected a new folder"]),
    "a track's options": (
        (*ASSESS, "--track", "weather", "--cluster", "city", "--task", "odd"),
        [THERE, "weather does not support --cluster", "Unknown task 'odd'", "--data: expected the ground truth"],
    ),
    "a track's predictions": (
        ("assess", "w.csv", "--out", "r", "--track", "translation"), [THERE, "w.csv: "],
    ),
    "columns to partition by": (
        ("partition", "w.csv", "--out", "r", "--time", "date", "--target", "z", "--cluster", "town"),
        ["r: expected a new folder, or one that `shiftbench partition", "a column 'z'", "a column 'town'"],
    ),
    "parts to fit to": (
        ("fit", "parts", "--out", "r", "--target", "y", "--method", "mean"),
        ["r: expected a new folder, or one that `shiftbench fit", "parts/manifest.json: expected a manifest"],
    ),
    "a target": ((*RUN, "--target", "z"), [OTHER, "expected a column 'z'"]),
    "rules": ((*RUN, "--target", "y", "--fractions", "9/9"), [OTHER, "fractions"]),
    "settings": ((*RUN, "--target", "y", "--method", "odd"), [OTHER, "Unknown method 'odd'"]),
    "a track's data": (
        ("run", "weather", "--data", "none", "--method", "odd", "--out", "r"),
        [OTHER, "none: expected the track's data", "Unknown method 'odd'"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_refused_folder_and_other_problems_are_told_at_once(shiftbench: Shiftbench, there: Path, case: str) -> None:
    words, told = CASES[case]
    said = shiftbench(*words)
    assert said.code == 2
    assert [text for text in told if text not in said.err] == []
    assert sorted(path.name for path in there.iterdir()) == ["a.csv", "b.csv", "r", "w.csv"]
    assert [path.name for path in (there / "r").iterdir()] == [".shiftbench.json"]


def test_problems_of_options_and_files_are_told_at_once(shiftbench: Shiftbench, there: Path) -> None:
    said = shiftbench("compare", "a.csv", "b.csv", "--out", "new", "--threshold", "nan")
    assert said.code == 2
    for text in (NO_UNCERTAINTY, "b.csv: expected a column", "threshold: expected"):
        assert text in said.err
    assert not (there / "new").exists()


def test_a_folder_of_another_run_is_told_with_what_is_wrong_with_the_table(shiftbench: Shiftbench, there: Path) -> None:
    assert shiftbench(*RUN[:3], "f", *RUN[4:], "--target", "y", "--method", "mean").code == 0
    said = shiftbench(*RUN[:3], "f", *RUN[4:], "--target", "x", "--method", "mean", "--keep", "odd")
    assert said.code == 2
    assert "a run whose settings differ in" in said.err
    assert "odd" in said.err.replace("differ", "")
