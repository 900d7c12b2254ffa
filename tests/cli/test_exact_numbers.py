"""Numbers at the ends of double precision: whole numbers beyond 2^53, and differences whose squares vanish."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench import Gaussian
from shiftbench.assessment import scored
from shiftbench.assessment.predictions import Predictions
from shiftbench.errors import ArrayError
from shiftbench.io import tables
from shiftbench.io.tables import exact
from shiftbench.report.content import Report
from tests.cli.conftest import Shiftbench

QUICK = ("--replicates", 25, "--out", "r")
FAR = [1_700_000_000_000_000_000 + place * 1_000_003 for place in range(30)]


def rmse(folder: Path) -> float:
    return Report.load(folder / "r/report.json").score("rmse", system="t", split="all", subset="full").value


def table(target: list[Any], answer: list[Any]) -> pl.DataFrame:
    return pl.DataFrame({"target": target, "answer": answer, "uncertainty": [float(k) for k in range(len(target))]})


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_whole_numbers_are_subtracted_before_they_are_rounded(
    shiftbench: Shiftbench, tmp_path: Path, suffix: str
) -> None:
    frame = table(FAR, [value + 100 for value in FAR])
    {".csv": frame.write_csv, ".jsonl": frame.write_ndjson, ".parquet": frame.write_parquet}[suffix](
        tmp_path / f"t{suffix}"
    )
    said = shiftbench("assess", f"t{suffix}", *QUICK)
    assert said.code == 0, said.err
    assert rmse(tmp_path) == 100.0


def test_decimals_and_two_types_of_whole_numbers_are_subtracted_exactly() -> None:
    target = pl.Series("t", [2**63 + 5, 2**63 + 9], dtype=pl.UInt64)
    assert exact.differences(pl.Series("a", [2**63 - 1, 2**63 - 2]), target).tolist() == [-6, -11]
    prices = pl.Series("p", [Decimal("12345678901234567.25")])
    assert exact.differences(prices, pl.Series("q", [12345678901234567])).tolist() == [0.25]
    huge = pl.Series("h", [10**38, -(10**38)], dtype=pl.Int128)
    assert exact.differences(huge, huge.reverse()).tolist() == [2e38, -2e38]


@given(st.lists(st.tuples(st.integers(-(2**63), 2**63 - 1), st.floats(-1e20, 1e20)), min_size=1))
def test_differences_are_the_nearest_to_the_true_ones(pairs: list[tuple[int, float]]) -> None:
    whole, broken = (list(values) for values in zip(*pairs, strict=True))
    found = exact.differences(pl.Series(whole, dtype=pl.Int64), pl.Series(broken, dtype=pl.Float64))
    assert found.tolist() == [float(Fraction(a) - Fraction(b)) for a, b in pairs]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_uncertainties_that_would_become_ties_are_refused(shiftbench: Shiftbench, tmp_path: Path, suffix: str) -> None:
    frame = pl.DataFrame({"error": range(30), "uncertainty": [2**60 + place for place in range(30)]})
    tables.write_table(frame, tmp_path / "t.parquet") if suffix == ".parquet" else frame.write_csv(tmp_path / "t.csv")
    said = shiftbench("assess", f"t{suffix}", *QUICK)
    assert said.code == 2
    assert f"t{suffix}: column 'uncertainty': expected numbers that double precision distinguishes, found 30" in (
        text := " ".join(said.err.split())
    )
    assert (
        "different ones, some beyond 2^53, that become 1. Subtract what they have in common, or write their ranks."
        in text
    )


def test_large_uncertainties_that_stay_apart_are_taken(shiftbench: Shiftbench, tmp_path: Path) -> None:
    frame = pl.DataFrame({"error": range(30), "uncertainty": [2**60 + 2**10 * place for place in range(30)]})
    frame.write_csv(tmp_path / "t.csv")
    assert shiftbench("assess", "t.csv", *QUICK).code == 0


def test_targets_beyond_double_precision_are_noted_beside_predictions(shiftbench: Shiftbench, tmp_path: Path) -> None:
    pl.DataFrame({"id": [f"r{place}" for place in range(30)], "y": FAR}).write_csv(tmp_path / "truth.csv")
    mean = np.array([FAR], dtype=np.float64) + 256
    ensemble = Gaussian(mean, np.linspace(1, 2, 30)[None])
    Predictions(np.array([f"r{place}" for place in range(30)]), ensemble).save(tmp_path / "t.parquet")
    said = shiftbench("assess", "t.parquet", "--truth", "truth.csv", "--target", "y", *QUICK)
    assert said.code == 0, said.err
    notes = Report.load(tmp_path / "r/report.json").warnings
    assert any(note.startswith("truth.csv: column 'y': numbers beyond 2^53 are rounded") for note in notes)


@pytest.mark.parametrize(("target", "answer"), [(3e-170, 1e-170), (3e-160, 1e-160)])
def test_differences_whose_squares_vanish_are_refused(
    shiftbench: Shiftbench, tmp_path: Path, target: float, answer: float
) -> None:
    table([target] * 30, [answer] * 30).write_csv(tmp_path / "t.csv")
    said = shiftbench("assess", "t.csv", *QUICK)
    assert said.code == 2
    text = " ".join(said.err.split())
    assert "t.csv: difference of columns 'target' and 'answer': expected the largest >= 1.5e-154 (or all 0)" in text
    assert "Rescale targets and answers" in text
    with pytest.raises(ArrayError, match=r"differences of targets and answers: expected the largest >= 1\.5e-154"):
        scored.regression("a", Gaussian([[answer, answer]], [[1.0, 1.0]]), [target, target])


def test_no_difference_and_a_tiny_one_beside_others_are_taken(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table([3e-170] * 30, [3e-170] * 30).write_csv(tmp_path / "t.csv")
    assert shiftbench("assess", "t.csv", *QUICK).code == 0
    table([3e-170] * 29 + [0.0], [1e-170] * 29 + [30.0]).write_csv(tmp_path / "t.csv")
    assert shiftbench("assess", "t.csv", *QUICK, "--overwrite").code == 0
    assert rmse(tmp_path) == pytest.approx(np.sqrt(30.0), rel=1e-12)
