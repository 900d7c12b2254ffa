"""What shifted: the features that moved most, with typical values and bins for their pictures."""

from __future__ import annotations

import datetime
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy import stats

from shiftbench.assessment import feature_shift
from shiftbench.assessment.scored import Records
from shiftbench.assessment.source import Source
from shiftbench.metrics.shift import kolmogorov_smirnov, total_variation
from shiftbench.partition.features import Features
from shiftbench.report import shift_figures
from shiftbench.scores.score import FeatureShift

from .report.factory import regression

N = 3_000
SHIFTED = np.arange(N) % 3 == 0
START = datetime.date(2020, 1, 1)


def records(columns: dict[str, object], features: Features, order: np.ndarray | None = None) -> Records:
    rows = np.arange(N) if order is None else order
    return Records(
        N, "eval", SHIFTED[rows], source=Source(pl.DataFrame(columns), pl.Series(np.arange(N)), rows, features)
    )


def example(rng: np.random.Generator, order: np.ndarray | None = None) -> list[FeatureShift]:
    columns = {
        "far": rng.normal(size=N) + 3.0 * SHIFTED,
        "near": rng.normal(size=N) + 0.5 * SHIFTED,
        "still": rng.normal(size=N),
        "gaps": np.where(rng.random(N) < np.where(SHIFTED, 0.5, 0.1), np.nan, 1.0),
        "day": pl.Series([START + datetime.timedelta(days=int(k)) for k in rng.integers(0, 300, N) + 200 * SHIFTED]),
        "kind": np.where(rng.random(N) < np.where(SHIFTED, 0.9, 0.2), "snow", "dry"),
    }
    features = Features(("far", "near", "still", "gaps"), ("kind",), ("day",))
    return feature_shift.moved(records(columns, features, order), seed=0)


def test_distances_are_those_of_scipy_and_of_hand(rng):
    first, other = rng.normal(size=300), rng.normal(size=170) + 0.3
    assert kolmogorov_smirnov(first, other) == pytest.approx(stats.ks_2samp(first, other).statistic)
    ties = [rng.integers(0, 4, n).astype(float) for n in (80, 50)]
    assert kolmogorov_smirnov(*ties) == pytest.approx(stats.ks_2samp(*ties).statistic)
    assert total_variation({"a": 0.5, "b": 0.5}, {"a": 0.2, "c": 0.8}) == pytest.approx(0.8)
    assert total_variation({"a": 1.0}, {"a": 1.0}) == 0.0


def test_missing_values_count(rng):
    values = np.ones(100)
    half = np.where(np.arange(100) < 50, np.nan, 1.0)
    assert kolmogorov_smirnov(values, half) == pytest.approx(0.5)
    assert kolmogorov_smirnov(half, half) == 0.0
    assert kolmogorov_smirnov(np.full(5, np.nan), values) == 1.0


def test_the_features_that_moved_most_come_first(rng):
    found = {each.feature: each for each in example(rng)}
    assert list(found)[:3] == ["far", "kind", "day"]
    assert found["far"].distance == pytest.approx(2 * stats.norm.cdf(1.5) - 1, abs=0.04)
    assert found["kind"].distance == pytest.approx(0.7, abs=0.04)
    assert found["day"].distance == pytest.approx(2 / 3, abs=0.04)
    assert found["gaps"].distance == pytest.approx(0.4, abs=0.04)
    assert (found["gaps"].missing_in, found["gaps"].missing_shifted) == pytest.approx((0.1, 0.5), abs=0.04)
    assert found["still"].distance < 0.06
    assert found["kind"].inside.endswith("% snow")
    assert found["day"].inside == "2020-01-01 to 2020-10-26"
    for each in found.values():
        if each.shares_in:  # one value has no bins
            assert sum(each.shares_in) == pytest.approx(1.0)
            assert sum(each.shares_shifted) == pytest.approx(1.0)
            assert len(each.shares_in) == len(each.labels or each.edges[1:])
    assert not found["gaps"].shares_in


def test_neither_the_order_of_the_rows_nor_that_of_the_columns_matters(monkeypatch):
    monkeypatch.setattr(feature_shift, "MOST", 500)  # a sample
    first, other = (
        example(np.random.default_rng(1), order) for order in (None, np.random.default_rng(2).permutation(N))
    )
    assert first == other


def test_ten_features_are_shown_at_most(rng):
    columns = {f"x{k:02}": rng.normal(size=N) + k * SHIFTED for k in range(14)}
    found = feature_shift.moved(records(columns, Features(tuple(columns))), seed=0)
    assert len(found) == 10
    assert {each.feature for each in found} == {f"x{k:02}" for k in range(4, 14)}


def test_without_features_or_a_shift_nothing_is_told(rng):
    assert feature_shift.moved(Records(N, shifted=SHIFTED), seed=0) == []
    one_sided = records({"x": rng.normal(size=N)}, Features(("x",))).select(SHIFTED)
    assert feature_shift.moved(one_sided, seed=0) == []


def test_odd_columns_do_no_harm(rng):
    names = [f"<b>{'long' * 50}{k}" for k in range(N)]
    columns = {"empty": np.full(N, np.nan), "huge": 1e300 * rng.normal(size=N), "many": names, "flag": SHIFTED}
    columns["cold"] = np.full(N, -3)
    features = Features(("empty", "huge", "cold"), ("many", "flag"))
    found = {each.feature: each for each in feature_shift.moved(records(columns, features), seed=0)}
    assert found["empty"].distance == 0.0
    assert found["empty"].inside == "no values"
    assert found["cold"].inside == "median −3"
    assert found["flag"].distance == 1.0
    assert found["many"].distance == pytest.approx(1.0)
    assert found["many"].labels[-1] == "2,992 others"
    assert found["many"].inside == "2,000 categories"
    assert max(map(len, found["many"].labels)) <= 60


def test_texts_that_are_dates_count_as_dates_and_flags_and_years_are_told_as_such(rng):
    years = rng.integers(1970, 1975, N) + 4 * SHIFTED
    columns = {
        "written": [f"{year}-01-01" for year in years],
        "year": [str(year) for year in years],
        "flag": (rng.random(N) < np.where(SHIFTED, 0.5, 0.25)).astype(int),
    }
    found = {
        each.feature: each
        for each in feature_shift.moved(records(columns, Features(("flag",), ("written", "year"))), seed=0)
    }
    assert (found["written"].kind, found["written"].shifted) == ("date", "1974-01-01 to 1978-01-01")
    assert found["year"].labels == tuple(map(str, range(1970, 1979)))  # nine: one left over is shown
    share = columns["flag"][SHIFTED].mean()
    assert found["flag"].shifted == f"{100 * share:.0f} % are 1"
    assert found["flag"].shares_shifted == pytest.approx((1 - share, share))


def test_the_typical_category_is_the_one_that_moved_most(rng):
    letters = np.array(["a", "b", "c"])[rng.choice(3, p=(0.5, 0.47, 0.03), size=N)]
    rare = np.where(SHIFTED & (rng.random(N) < 0.02), "yes", "no")
    columns = {"letter": np.where(SHIFTED & (letters == "a"), "b", letters), "rare": rare}
    found = {each.feature: each for each in feature_shift.moved(records(columns, Features((), tuple(columns))), seed=0)}
    inside, shifted = found["letter"].inside, found["letter"].shifted
    assert inside.endswith("% b")
    assert shifted.endswith("% b")
    assert float(shifted.split()[0]) > 90 > float(inside.split()[0])
    assert found["rare"].inside.endswith("% no")  # no count of categories, which says nothing


# --- pictures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("first", "typical"), [(-800_000, "-0221"), (4_000_000, "+12921"), (18_262, "2020")])
def test_days_of_any_year_have_a_range(first, typical):
    days = pl.Series(first + np.arange(N) % 100).cast(pl.Int32).cast(pl.Date)
    (found,) = feature_shift.moved(records({"day": days}, Features((), (), ("day",))), seed=0)
    first_day, last_day = found.inside.split(" to ")
    assert first_day.startswith(f"{typical}-")
    assert first_day < last_day


def test_every_feature_with_bins_has_a_picture():
    drawing = shift_figures.moved(regression(40), "eval")
    assert drawing is not None
    # Those of one height stand side by side, and what moved least does not come first for its height.
    assert [panel.title for panel in drawing.panels] == ["dewpoint_c: 0.82", "day: 0.60", "sky: 0.30"]
    assert drawing.panels[1].x.title == "2019-01-04 to 2019-07-23"
    assert [bar.ends[1] for bar in drawing.panels[2].bars] == [0.9, 0.6, 0.1, 0.4]


def test_bins_that_do_not_fit_are_not_drawn():
    report = regression(40)
    each = report.shifts[0]
    for bad in (
        {"shares_in": (0.5,)},
        {"edges": (0.0, 1.0, 1.0, 2.0)},
        {"edges": (0.0, 1.0, 2.0, float("nan"))},
        {"labels": ("a",)},
    ):
        assert shift_figures.moved(replace(report, shifts=(replace(each, **bad),)), "dev") is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (7.326e-5, "7.33×10⁻⁵"),
        (0.04251, "0.04251"),
        (-8.7654, "−8.765"),
        (101325.4, "101,325"),
        (3e12, "3×10¹²"),
        (1963.0, "1963"),
        (1963.5, "1,964"),
        (2500.0, "2,500"),
    ],
)
def test_typical_values_are_written_without_programmers_exponents(value, text):
    assert feature_shift._middle(np.array([value])) == f"median {text}"


@pytest.mark.parametrize("least", [5e-324, 1e300])
def test_values_that_are_a_few_numbers_apart_have_no_histogram(least: float) -> None:
    columns = {"x": least + np.random.default_rng(0).integers(0, 20, N) * np.spacing(least)}
    (found,) = feature_shift.moved(records(columns, Features(("x",), (), ())), seed=0)
    assert len(found.edges) in (0, feature_shift.BINS + 1)
