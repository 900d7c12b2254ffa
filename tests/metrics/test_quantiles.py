"""Quantile forecasts and members without variances: against loops over the definitions, and what they are worth."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from shiftbench.assessment import scored
from shiftbench.ensembles import Categorical, Gaussian, Masks, Means, Quantiles, combine
from shiftbench.errors import ArrayError, UnknownNameError
from shiftbench.measures import uncertainty
from shiftbench.metrics import quantiles, regression
from shiftbench.scores.metric import METRICS, in_order

LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


@pytest.fixture
def forecast(rng):
    return Quantiles.example(rng, members=3, records=40)


def test_the_pinball_loss_is_that_of_its_definition(forecast, rng):
    targets = rng.normal(20, 3, 40)
    found = quantiles.pinball_losses(targets, forecast)
    for n, y in enumerate(targets):
        for place, p in enumerate(LEVELS):
            q = sum(forecast.values[m, n, place] for m in range(3)) / 3
            assert found[n, place] == pytest.approx((y - q) * p if y >= q else (q - y) * (1 - p))
    scores = quantiles.scores(targets, forecast)
    assert scores["pinball"] == pytest.approx(found.mean(axis=1))
    assert scores["pinball_0.25"] == pytest.approx(found[:, 1])


def test_the_true_quantile_has_the_least_pinball_loss(rng):
    targets = rng.normal(size=20_000)
    losses = {}
    for off in (-0.3, 0.0, 0.3):
        forecast = Quantiles(np.tile([-1.2816 + off, 1.2816 + off], (1, 20_000, 1)), (0.1, 0.9))
        scores = quantiles.scores(targets, forecast)
        losses[off] = [scores[name].mean() for name in ("pinball_0.1", "pinball_0.9")]
    assert np.less(losses[0.0], losses[-0.3]).all()
    assert np.less(losses[0.0], losses[0.3]).all()


def test_intervals_are_those_of_exactly_the_levels_given(rng):
    values = np.sort(rng.normal(size=(1, 50, 5)), axis=-1)
    targets = rng.normal(size=50)
    scores = quantiles.scores(targets, Quantiles(values, (0.1, 0.15, 0.5, 0.85, 0.9)))
    assert {name for name in scores if "pinball" not in name} == {"coverage_80", "width_80", "coverage_70", "width_70"}
    inside = [values[0, n, 0] <= targets[n] <= values[0, n, 4] for n in range(50)]
    assert scores["coverage_80"].tolist() == inside
    assert scores["width_70"] == pytest.approx(values[0, :, 3] - values[0, :, 1])
    lopsided = quantiles.scores(targets, Quantiles(values[..., :3], (0.1, 0.5, 0.7)))
    assert set(lopsided) == {"pinball", "pinball_0.1", "pinball_0.5", "pinball_0.7"}


def test_quantiles_of_a_normal_distribution_score_as_that_distribution_does(rng):
    ensemble = Gaussian(rng.normal(20, 3, (1, 500)), rng.gamma(2.0, size=(1, 500)))
    targets = rng.normal(20, 3, 500)
    ends = (0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975)
    forecast = Quantiles(regression.quantiles(ensemble, levels=ends).T[None], ends)
    found = quantiles.scores(targets, forecast)
    expected = regression.inside(regression.pit(targets, ensemble)) | regression.widths(ensemble)
    for name, values in expected.items():
        assert found[name] == pytest.approx(values), name
    assert forecast.answers() == pytest.approx(ensemble.answers())


def test_levels_in_any_order_are_sorted_with_their_values():
    forecast = Quantiles([[[3.0, 1.0, 2.0]]], (0.9, 0.1, 0.5))
    assert (forecast.levels, forecast.values.tolist()) == ((0.1, 0.5, 0.9), [[[1.0, 2.0, 3.0]]])


@pytest.mark.parametrize(
    ("levels", "answer", "said"),
    [
        ((0.1, 0.5, 0.9), 2.0, "the median of the quantiles"),
        ((0.1, 0.3, 0.9), 2.5, "the midpoint of the 80 % interval, since there is no median"),
        ((0.1, 0.2, 0.8), 4.0, "the midpoint of the 60 % interval, since there is no median"),
        ((0.1, 0.3, 0.8), 4.0, "the midpoint of quantiles 0.3 and 0.8, since there is no median"),
        ((0.6, 0.7, 0.8), 1.5, "the midpoint of quantiles 0.6 and 0.7, since there is no median"),
        ((0.1, 0.2, 0.3), 4.0, "the midpoint of quantiles 0.2 and 0.3, since there is no median"),
    ],
)
def test_the_answer_is_the_median_or_what_is_nearest_and_that_is_said(levels, answer, said):
    values = {0.1: 1.0, 0.2: 2.0, 0.3: 2.0, 0.5: 2.0, 0.6: 1.0, 0.7: 2.0, 0.8: 6.0, 0.9: 4.0}
    row = np.maximum.accumulate([values[level] for level in levels])
    if levels == (0.1, 0.2, 0.3):
        row = np.array([1.0, 2.0, 6.0])
    forecast = Quantiles(row[None, None], levels)
    assert forecast.answers().tolist() == [answer]
    assert forecast.answered_by == said
    given = Quantiles(row[None, None], levels, point=[[7.0]])
    assert (given.answers().tolist(), given.answered_by) == ([7.0], "the answers given beside the quantiles")
    assert said in scored.quantiles("q", forecast, [1.0]).system.about


def test_all_problems_of_quantiles_are_told_at_once():
    with pytest.raises(ArrayError) as caught:
        Quantiles([[[1.0, np.nan], [2.0, 3.0]]], (5.0, 5.0, 95.0), point=[[1.0]])
    text = str(caught.value)
    assert "values: expected finite numbers, found NaN (1 of 4, first at index (0, 0, 1))" in text
    assert "found 5, 5, 95. Percentages? Divide by 100." in text
    assert "levels: expected each once, found 5 again" in text
    assert "levels: expected 2, one for each of the values, found 3" in text
    assert "point: expected the members and records of the values (1, 2), found (1, 1)" in text


@pytest.mark.parametrize(
    ("values", "levels", "match"),
    [
        ([[[1.0]]], (0.5,), "levels: expected two or more, found 0.5: one quantile has no width"),
        ([[[1.0, 2.0]]], (0.0, 0.5), "both excluded, found 0"),
        ([[[1.0, 2.0]]], (0.5, math.nan), "both excluded, found nan"),
        ([[[1.0, 2.0]]], ("low", "high"), "levels: expected numbers between 0 and 1"),
        ([[1.0, 2.0]], (0.1, 0.9), r"expected \[M, N, L\], found shape \(1, 2\). One model\? Use values\[None\]"),
        (
            [[[1.0, 2.0], [4.0, 3.0]]], (0.1, 0.9),
            r"found 4 at level 0.1 above 3 at 0.9 \(member 0, record 1; 1 of 2\). Correct",
        ),
        ([[[2.0, 1.0], [4.0, 3.0]]], (0.1, 0.9), "Were the two exchanged"),
    ],
)  # fmt: skip
def test_quantiles_that_are_no_forecast_are_refused(values, levels, match):
    with pytest.raises(ArrayError, match=match):
        Quantiles(values, levels)


def test_forecasts_of_other_levels_are_not_combined(forecast):
    other = Quantiles(forecast.values, (0.1, 0.2, 0.3, 0.4, 0.5))
    with pytest.raises(ArrayError, match="combine: expected the same levels in the same order"):
        combine(forecast, other)


def test_the_crps_of_members_is_that_of_all_pairs(rng):
    members, targets = rng.normal(size=(7, 30)) + 1e8, rng.normal(size=30) + 1e8
    found = quantiles.crps_of_members(targets, Means(members))
    pairs = np.abs(members[:, None] - members[None]).mean(axis=(0, 1))
    assert found == pytest.approx(np.abs(members - targets).mean(axis=0) - pairs / 2, abs=1e-7)
    narrow = Gaussian(members - 1e8, np.full((7, 30), 1e-12))
    assert found == pytest.approx(regression.crps_per_record(targets - 1e8, narrow), abs=1e-5)
    assert quantiles.crps_of_members(targets, Means(members[:1])) == pytest.approx(np.abs(members[0] - targets))


@pytest.mark.parametrize(("members", "levels"), [(5, ()), (18, ()), (19, (0.05, 0.25, 0.75, 0.95)), (39, 6)])
def test_intervals_of_members_need_enough_of_them(members, levels):
    found = quantiles.member_levels(members)
    assert (found == levels) if isinstance(levels, tuple) else (len(found) == levels)


def test_intervals_of_members_hold_a_truth_that_is_like_a_further_member(rng):
    centre = rng.normal(0, 5, 20_000)
    members, truth = centre + rng.normal(size=(39, 20_000)), centre + rng.normal(size=20_000)
    scores = quantiles.member_scores(truth, Means(members))
    for level in (50, 90, 95):
        assert scores[f"coverage_{level}"].mean() == pytest.approx(level / 100, abs=0.012)
    assert "nll" not in scores


def test_the_uncertainty_of_members_without_variances_is_their_spread(rng):
    values = rng.normal(size=(5, 30))
    assert uncertainty(Means(values), "total_variance") == pytest.approx(values.var(axis=0))
    system = scored.means("m", Means(values), rng.normal(size=30))
    assert "noise in the data is not part of it" in system.system.caution
    assert not {"nll", "coverage_90"} & system.means.keys()
    assert system.singles is not None


def test_predictions_of_every_kind_are_scored_by_one_function(rng):
    targets = rng.normal(size=30)
    for ensemble in (Quantiles.example(rng, members=1, records=30), Means.example(rng, members=3, records=30)):
        assert scored.predicted("m", ensemble, targets, role="model").root
    classes = Categorical.example(rng, members=1, records=30)
    assert not scored.predicted("m", classes, rng.integers(0, 4, 30), role="model").root
    with pytest.raises(ArrayError, match="expected one of Gaussian, Quantiles, Means, Categorical, found Masks"):
        scored.predicted("m", Masks.example(rng, members=1, records=3), targets, role="model")


# --- metrics of any level ---------------------------------------------------------------------------------------------


def test_metrics_of_any_level_are_known_by_one_name_each():
    assert METRICS["coverage_97.5"].nominal == 0.975
    assert METRICS["pinball_0.05"].title == "Pinball loss at 0.05"
    assert METRICS["coverage_90"] is METRICS["coverage_90"]
    others = ("coverage_080", "coverage_100", "coverage_0", "coverage_.", "width_1e1", "pinball_0.50", "pinball_1", "x")
    for name in others:
        assert name not in METRICS
        with pytest.raises(UnknownNameError, match=f"Unknown metric '{re.escape(name)}'"):
            METRICS[name]


def test_metrics_of_any_level_stand_among_their_relatives():
    names = ["coverage_80", "width_20", "coverage_97.5", "coverage_50", "pinball_0.9", "pinball", "pinball_0.1", "crps"]
    assert in_order([*names, "coverage_95", "width_50"]) == [
        "crps", "coverage_50", "coverage_80", "coverage_95", "coverage_97.5", "width_20", "width_50",
        "pinball", "pinball_0.1", "pinball_0.9",
    ]  # fmt: skip


def test_intervals_of_one_width_are_equally_uncertain_wherever_they_lie(rng):
    middle = rng.normal(1000.0, 300.0, 500)
    ends = np.stack([middle - 9.556261639188987, middle + 9.556261639188987], axis=-1)
    assert len(np.unique(ends[:, 1] - ends[:, 0])) > 1  # by rounding, more often where the ends are large
    found = uncertainty(Quantiles(ends[None], (0.05, 0.95)), "interval_width")
    assert len(np.unique(found)) == 1
    np.testing.assert_allclose(found, 19.112523278377974, rtol=1e-10)
