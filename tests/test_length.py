"""The length check: fits against scikit-learn, and what reports show of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression

import shiftbench
from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.scored import Records
from shiftbench.errors import ArrayError, SettingsError, UnknownNameError
from shiftbench.report import page
from shiftbench.report.content import Report
from shiftbench.report.grids.listing import grids
from shiftbench.scores.intervals import Settings
from shiftbench.scores.length import residual, rising
from shiftbench.scores.ranking import rank_correlation

FEW = Options(intervals=Settings(replicates=40))
N = 400


@pytest.fixture
def data(rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors, an uncertainty that is mostly length, and lengths."""
    length = rng.integers(2, 30, N).astype(float)
    errors = rng.gamma(2.0, size=N)
    return errors, 3 * length + errors + rng.normal(size=N), length


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_an_isotonic_residual_is_that_of_scikit_learn(data, sign):
    _, uncertainty, length = data
    inside = length < 20
    theirs = IsotonicRegression(increasing="auto", out_of_bounds="clip")
    theirs.fit(length[inside], sign * uncertainty[inside])
    found = residual(sign * uncertainty, length, fitted_on=inside, fit="isotonic")
    np.testing.assert_allclose(found, sign * uncertainty - theirs.predict(length), atol=1e-9)


def test_a_linear_residual_is_that_of_least_squares(data):
    _, uncertainty, length = data
    inside = length < 20
    theirs = LinearRegression().fit(length[inside, None], uncertainty[inside])
    found = residual(uncertainty, length, fitted_on=inside)
    np.testing.assert_allclose(found, uncertainty - theirs.predict(length[:, None]), atol=1e-9)
    assert residual([1.0, 2.0], [5, 5]) == pytest.approx([-0.5, 0.5])


def test_rising_values_of_known_blocks():
    assert rising(np.array([1.0, 3.0, 2.0, 2.0, 5.0]), np.ones(5)).tolist() == [1.0, *[7 / 3] * 3, 5.0]
    assert rising(np.array([4.0, 1.0]), np.array([1.0, 3.0])).tolist() == [1.75, 1.75]


def test_without_length_a_ranking_by_length_becomes_one_by_error(data):
    errors, uncertainty, length = data
    report = shiftbench.assess(errors, {"sum": uncertainty}, length=length, options=FEW)
    assert report.systems[0].measures == ("sum", "sum_length_residual")
    assert report.recipe["length"] == {"fit": "linear", "fitted_on": {"all": "its own in-domain records"}}
    own, without = (value(report, "rejection_ratio", name) for name in report.systems[0].measures)
    assert own < 0.2
    assert without > 0.7
    left = residual(uncertainty, length)
    assert value(report, "length_correlation", "sum_length_residual") == rank_correlation(left, length)
    assert value(report, "error_correlation", "sum") == rank_correlation(uncertainty, errors)
    score = report.score("error_length_correlation", system="model", split="all", subset="full")
    assert score.value == rank_correlation(errors, length)
    assert score.low < score.value < score.high


def value(report: Report, metric: str, measure: str) -> float:
    return report.score(metric, system="model", split="all", subset="full", measure=measure).value


def test_the_table_shows_measures_with_and_without_length(data):
    errors, uncertainty, length = data
    report = shiftbench.assess(errors, {"sum": uncertainty, "score_pe": errors}, length=length, options=FEW)
    tables = {each.kind: each for each in grids(report)}
    labels = [row.label for row in tables["length"].rows]
    assert labels == [
        "Its errors", "sum", "sum, length residual", "Score, PE (SCR-PE) (total)",
        "Score, PE (SCR-PE), length residual",
    ]  # fmt: skip
    assert "linear fit" in tables["length"].note
    assert not any("residual" in row.label for row in tables["measures"].rows)
    without = shiftbench.assess(errors, uncertainty, options=FEW)
    assert "length" not in {each.kind for each in grids(without)}
    assert "length" not in without.recipe


def test_what_is_usual_is_fitted_on_development_records_in_domain(data):
    errors, uncertainty, length = data
    system = replace(scored.given("model", errors, {"sum": uncertainty}), length=length)
    shifted = np.arange(N) % 4 == 0
    lately = replace(system, uncertainty={"sum": uncertainty + 7 * length})
    options = replace(FEW, length_fit="isotonic")
    report = build([(Records(N, "dev", shifted), [system]), (Records(N, "eval", shifted), [lately])], options)
    assert report.recipe["length"] == {"fit": "isotonic", "fitted_on": {"dev": "dev_in", "eval": "dev_in"}}
    every = np.concatenate([uncertainty, uncertainty + 7 * length])
    both, inside = np.tile(length, 2), np.arange(2 * N) < N
    left = residual(every, both, fitted_on=inside & ~np.tile(shifted, 2), fit="isotonic")
    for split, part in (("dev", left[:N]), ("eval", left[N:])):
        place = {"system": "model", "split": split, "subset": "full", "measure": "sum_length_residual"}
        assert report.score("length_correlation", **place).value == rank_correlation(part, length)


def test_records_without_an_answer_have_no_length(data):
    errors, uncertainty, length = data
    answered = np.arange(N) % 3 > 0
    shifted = np.arange(N) % 4 == 0
    whole = replace(scored.given("whole", errors, {"sum": uncertainty}), length=length)
    gaps = replace(whole, system=replace(whole.system, name="gaps")).answering(answered)
    report = build([(Records(N, shifted=shifted), [whole, gaps])], FEW)
    found = report.score("length_correlation", system="gaps", split="all", subset="full")
    assert found.value == rank_correlation(uncertainty[answered], length[answered])
    left = residual(uncertainty[answered], length[answered], fitted_on=~shifted[answered])
    place = {"system": "gaps", "split": "all", "subset": "full", "measure": "sum_length_residual"}
    assert report.score("error_correlation", **place).value == rank_correlation(left, errors[answered])


def test_without_lengths_of_all_systems_there_is_no_check(data):
    errors, uncertainty, length = data
    plain = scored.given("plain", errors, {"sum": uncertainty})
    report = build(
        [(Records(N), [replace(plain, length=length), replace(plain, system=replace(plain.system, name="b"))])], FEW
    )
    assert "some systems have no lengths of their records: no length check" in report.warnings
    assert not any(score.metric == "length_correlation" for score in report.scores)


def test_the_order_of_the_rows_does_not_matter(data, rng):
    errors, uncertainty, length = data
    order = rng.permutation(N)
    one, other = (
        shiftbench.assess(errors[rows], {"u": np.round(uncertainty[rows])}, length=length[rows], options=FEW)
        for rows in (np.arange(N), order)
    )
    for name in ("length_correlation", "error_correlation"):
        a, b = (each.score(name, system="model", split="all", subset="full") for each in (one, other))
        assert (a.low, a.high) == (b.low, b.high)
        assert a.value == pytest.approx(b.value, abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        (([1.0, 2.0], [1.0]), ArrayError, "the same number of records"),
        (([1.0], [-1.0]), ArrayError, "lengths: expected values >= 0, found -1"),
        (([1.0], [np.nan]), ArrayError, "lengths: expected finite numbers, found NaN"),
    ],
)
def test_other_lengths_are_refused(arguments, error, told):
    with pytest.raises(error, match=told):
        residual(*arguments)


def test_other_fits_are_refused():
    with pytest.raises(UnknownNameError, match="Unknown fit 'spline'"):
        residual([1.0], [1.0], fit="spline")  # type: ignore[arg-type]
    with pytest.raises(ArrayError, match="fitted_on: expected at least one in-domain record"):
        residual([1.0], [1.0], fitted_on=[0])
    with pytest.raises(SettingsError, match="length_fit: expected linear or isotonic, found 'spline'"):
        Options(length_fit="spline")  # type: ignore[arg-type]
    with pytest.raises(ArrayError, match="length: expected 2 records like the others, found 1"):
        shiftbench.assess([1.0, 2.0], [1.0, 2.0], length=[1.0])


def test_a_measure_that_is_constant_has_no_residual(data):
    errors, uncertainty, length = data
    report = shiftbench.assess(errors, {"sum": uncertainty, "flat": 0 * errors}, length=length, options=FEW)
    assert report.systems[0].measures == ("sum", "flat", "sum_length_residual")


def test_of_many_measures_the_table_has_the_headline_and_those_that_rank_lengths(data):
    errors, uncertainty, length = data
    rng = np.random.default_rng(1)
    known = {f"m{k}": uncertainty * (k / 10) + 30 * rng.normal(size=N) for k in range(12)}
    report = shiftbench.assess(errors, known, length=length, options=FEW)
    tables = {each.kind: each for each in grids(report)}
    held = {name: abs(value(report, "length_correlation", name)) for name in known}
    others = sorted(set(known) - {"m0"}, key=lambda name: -held[name])
    shown, further = ([row.label for row in tables[kind].rows] for kind in ("length", "length_measures"))
    wanted = [name for name in known if name in ("m0", *others[:2])]
    assert shown == ["Its errors", *(f"{name}{end}" for name in wanted for end in ("", ", length residual"))]
    assert further == [f"{name}{end}" for name in known if name not in wanted for end in ("", ", length residual")]
    assert "depend most on length" in tables["length"].note
    assert "<details>" in page.html(report).split("Length check, further measures")[0][-400:]
