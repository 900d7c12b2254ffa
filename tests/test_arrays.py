"""Reports from predictions in memory: as step by step, by label, and refused where records cannot be matched."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_iris, load_linnerud
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import shiftbench
from shiftbench import Categorical, Gaussian, Options, assess, assess_predictions
from shiftbench.errors import ArrayError, ConstantUncertaintyWarning, ShiftbenchError, ShiftbenchWarning
from shiftbench.metrics import regression
from shiftbench.scores.intervals import Settings

FEW = Options(intervals=Settings(replicates=20))
N = 240
ROWS = pd.Index([f"r{n}" for n in range(N)])


@pytest.fixture
def table(rng):
    """A table with a target, what three members predict of it, and who is shifted; in one order."""
    x = rng.normal(size=N)
    made = {
        "y": 10 + x + 0.3 * rng.normal(size=N), "shifted": x > 0.4, "city": np.where(x > 0, "Bonn", "Ulm"), "x": x,
        **{f"m{k}": 10 + x + 0.2 * rng.normal(size=N) for k in range(3)},
    }  # fmt: skip
    return pd.DataFrame(made, index=ROWS)


def quietly(*arguments, **named):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShiftbenchWarning)
        return assess_predictions(*arguments, **{"options": FEW, **named})


def scores(report) -> dict[tuple[str, ...], float]:
    return {(row.system, row.subset, row.metric, row.measure): row.value for row in report.scores}


def test_numbers_are_scored_as_by_the_public_functions(table):
    mean = table[["m0", "m1", "m2"]].to_numpy().T
    ensemble = Gaussian(mean, np.full(mean.shape, 0.1))
    report = quietly(table["y"], ensemble, shifted=table["shifted"], threshold=0.25, unit="m")
    assert (report.title, report.task, report.threshold) == ("y", "regression", 0.25)
    assert (report.target_unit, report.error_unit) == ("m", "m²")
    assert quietly(table["y"], ensemble, options=replace(FEW, title="Mine")).title == "Mine"
    errors, uncertainty = (table["y"] - mean.mean(axis=0)) ** 2, shiftbench.uncertainty(ensemble, "total_variance")
    found = scores(report)
    assert found["model", "full", "r_auc", "total_variance"] == pytest.approx(shiftbench.r_auc(errors, uncertainty))
    assert found["model", "full", "nll", ""] == pytest.approx(regression.nll(table["y"], ensemble))
    assert found["model", "full", "roc_auc", "total_variance"] == pytest.approx(
        shiftbench.roc_auc(uncertainty, table["shifted"])
    )


def test_numbers_without_an_uncertainty_are_a_baseline_beside_the_models(table):
    means = table[["m0", "m1", "m2"]]
    report = quietly(table["y"], {"ours": Gaussian.from_members(means), "last year": table["m0"]})
    assert {system.name: system.role for system in report.systems} == {
        "ours": "ensemble", "ours (single)": "single", "last year": "baseline",
    }  # fmt: skip
    expected = np.sqrt(np.mean((table["y"] - table["m0"]) ** 2))
    assert scores(report)["last year", "full", "rmse", ""] == pytest.approx(expected)


@pytest.mark.parametrize("named", [True, False])
def test_classes_without_probabilities_are_a_baseline_and_so_are_shares_of_classes(rng, named):
    x = rng.normal(size=(N, 2))
    names = np.array(["dry", "wet"]) if named else np.array([0, 1])
    targets = pd.Series(names[(x[:, 0] + rng.normal(size=N) > 0).astype(int)], index=ROWS)
    model = Categorical.from_members(RandomForestClassifier(5, random_state=0).fit(x, targets), x).labelled(ROWS)
    shares = Categorical.from_members(DummyClassifier(strategy="prior").fit(x, targets), x).labelled(ROWS)
    rule = pd.Series(names[(x[:, 1] > 0).astype(int)], index=ROWS)
    given = {"forest": model, "shares": shares, "rule": rule.sample(frac=1, random_state=0)}
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConstantUncertaintyWarning)  # nothing red for what is constant by its nature
        report = assess_predictions(targets, given, shifted=pd.Series(x[:, 0] > 0.4, index=ROWS), options=FEW)
    assert {system.name: system.role for system in report.systems if system.role != "single"} == {
        "forest": "ensemble", "shares": "baseline", "rule": "baseline",
    }  # fmt: skip
    assert scores(report)["rule", "full", "accuracy", ""] == pytest.approx(np.mean(targets == rule))
    assert not any(system == "rule" and metric in ("nll", "ece", "r_auc") for system, _, metric, _ in scores(report))
    assert "rule" in report.to_html()


@pytest.mark.parametrize(
    ("beside", "values", "told"),
    [
        (True, ["fog"] * N, r"classes of the other predictions, 'a', 'b', found 'fog'.*DummyClassifier"),
        (True, np.ones((N, 2)), "expected one class for each record"),
        (False, ["a"] * N, r"'m': expected numbers, found text such as 'a'.*Categorical\.from_members"),
    ],
)
def test_classes_that_are_no_baseline_are_told_how_to_be_given(beside, values, told):
    model = {"ours": Categorical(np.full((2, N, 2), 0.5), ("a", "b"))} if beside else {}
    with pytest.raises(ArrayError, match=told):
        quietly(["a"] * N, {**model, "m": values})


def test_everything_with_labels_is_lined_up_by_them(table, rng):
    def report(target, shifted, means, slices, records):
        return quietly(target, Gaussian.from_members(means), shifted=shifted, slices=slices, table=records)

    parts = (table["y"], table["shifted"], table[["m0", "m1", "m2"]], table[["city"]], table[["x"]])
    same, again = report(*parts), report(*(part.iloc[rng.permutation(N)] for part in parts))
    assert scores(again) == pytest.approx(scores(same))
    assert [(row.group, row.n) for row in again.slices] == [(row.group, row.n) for row in same.slices]
    worst = {entry.id: entry.columns["x"] for entry in again.notable}
    assert worst == pytest.approx({name: table["x"][name] for name in worst})


UNMATCHED = {
    "other rows": (
        {"shifted": lambda t: t["shifted"].reset_index(drop=True)},
        "shifted: expected the index of targets",
    ),
    "some other rows": ({"slices": lambda t: t[["city"]].rename({"r3": "?"})}, r"slices 'city': .* 1 of 240 labels"),
    "another order beside an array": (
        {"clusters": lambda t: t["city"][::-1], "shifted": lambda t: t["shifted"].to_numpy()},
        "clusters: expected the index of targets, found the same labels in another order, which shifted does not have",
    ),
    "fewer flags": ({"shifted": lambda t: t["shifted"][:9]}, "shifted: expected shape .240., found"),
    "fewer groups": (
        {"slices": lambda t: {"city": list(t["city"])[:9]}},
        "column 'city': expected 240 records, found 9",
    ),
    "groups that are no columns": ({"slices": lambda t: list(t["city"])}, "slices: expected a table, or column names"),
    "columns of two names": (
        {"slices": lambda t: pd.concat({"a": t[["city"]]}, axis=1)},
        r"columns: expected names that are text, found \('a', 'city'\) \(1 of 1 .* slices.columns = slices.columns.map",
    ),
    "numbered columns": (
        {"table": lambda t: t[["city", "y"]].set_axis([0, 1], axis=1)},
        r"found 0 \(2 of 2 names are not text\). Use table.columns = table.columns.map\(str\).",
    ),
    "columns of another index": (
        {"table": lambda t: t[["city", "y"]].reset_index(drop=True)},
        r"\Atable 'city' \(and 1 more\): expected the index of targets, found another: [^\n]*\Z",
    ),
    "words for flags": ({"shifted": lambda t: t["city"]}, r"shifted=\(values == 'Ulm'\)"),
    "no options": ({"options": lambda _: {"title": "a"}}, "options: expected shiftbench.Options, found"),
    "text too long for a cell": (
        {"slices": lambda t: {"essay": ["a" * 5000, "b" * 5000] * 120}},
        "slices: column 'essay': expected names of groups of at most 1,000 characters, found one of 5,000",
    ),
}


@pytest.mark.parametrize(("others", "message"), UNMATCHED.values(), ids=UNMATCHED.keys())
def test_records_that_cannot_be_matched_are_refused(table, others, message):
    with pytest.raises(ShiftbenchError, match=message):
        quietly(
            table["y"], Gaussian.from_members(table[["m0", "m1"]]), **{k: make(table) for k, make in others.items()}
        )


def test_one_column_may_be_a_series_with_a_name(table):
    ensemble = Gaussian.from_members(table[["m0", "m1"]])
    for column in (table["city"], pl.Series("city", table["city"].to_list())):
        assert {row.column for row in quietly(table["y"], ensemble, slices=column).slices} == {"city"}
    with pytest.raises(ArrayError, match="slices: expected a table, or column names with values"):
        quietly(table["y"], ensemble, slices=table["city"].rename(None))


def test_predictions_that_do_not_fit_the_targets_are_refused(table):
    ensemble = Gaussian.from_members(table[["m0", "m1"]])
    for predictions, message in (
        ({}, "predictions: expected at least one, found none"),
        ({"": ensemble}, "predictions: expected names of 1 to 1,000 characters, found ''"),
        ({"a" * 2000: ensemble}, "predictions: expected names of 1 to 1,000 characters, found one of 2,000"),
        ({"a\ud800": ensemble}, r"predictions: expected names in Unicode, found half a character in 'a\\ud800'"),
        ({1: ensemble, 2: ensemble}, r"found 1 \(2 of 2 names are not text\). Write names as text."),
        ({"a": ensemble, "a ": ensemble}, "expected names that differ in more than blanks, found 'a' and 'a '. Rename"),
        ([ensemble, ensemble], "found a list of 2. Give a dict of names to predictions"),
        ({"a": ensemble.select(slice(9))}, "predictions 'a': expected 240 records like the targets, found 9"),
        ({"a": ensemble, "b": Categorical(np.full((1, N, 2), 0.5))}, "expected ensembles of numbers or of class"),
        ({"a": ensemble, "b": ["hot"] * N}, "predictions 'b': expected numbers, found text such as 'hot'"),
    ):
        with pytest.raises(ArrayError, match=message):
            quietly(table["y"], predictions)


def test_classes_are_met_by_name():
    flowers, kinds = load_iris(return_X_y=True, as_frame=True)
    named = kinds.map({0: "setosa", 1: "versicolor", 2: "virginica"})
    forest = RandomForestClassifier(5, max_depth=1, random_state=0).fit(flowers[::2], named[::2])
    report = quietly(named, Categorical.from_members(forest, flowers), slices=pl.DataFrame({"kind": named.to_list()}))
    assert (report.task, report.threshold) == ("classification", 0.5)
    assert scores(report)["model", "full", "accuracy", ""] == pytest.approx(forest.score(flowers, named))
    unnamed = Categorical.from_members(forest.predict_proba(flowers))
    assert scores(quietly(kinds, unnamed))["model", "full", "accuracy", ""] == pytest.approx(
        forest.score(flowers, named)
    )
    with pytest.raises(
        ArrayError, match=r"expected the classes of the predictions, 'setosa', .* found 0, 1, 2 \(150 of"
    ):
        quietly(kinds, Categorical.from_members(forest, flowers))
    with pytest.raises(ArrayError, match=r"expected the classes of the predictions, 0, 1, 2, found 1.5 \(1 of 150"):
        quietly([1.5, *kinds[1:]], unnamed)
    with pytest.raises(ArrayError, match="threshold: expected none for classes"):
        quietly(kinds, unnamed, threshold=0.5)


def test_numbers_with_many_values_are_sliced_in_ranges_and_clusters_by_name(rng):
    errors, station = rng.random(N), np.repeat(np.arange(40), 6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ShiftbenchWarning)
        report = assess(
            errors, errors, slices={"wind": rng.gamma(2, size=N), "s": station}, clusters=station, options=FEW
        )
    assert len({row.group for row in report.slices if row.column == "wind"}) == 5
    assert not [row for row in report.slices if row.column == "s"]  # forty stations of six records, not five ranges


def test_slices_may_be_named_by_columns_of_the_table(table):
    members = Gaussian.from_members([table[f"m{k}"] for k in range(3)])
    named = quietly(table["y"], members, table=table[["city", "x"]], slices=["city"])
    same = quietly(table["y"], members, table=table[["city", "x"]], slices={"city": table["city"]})
    assert {row.column for row in named.slices} == {"city"}
    assert named.to_json() == same.to_json()
    with pytest.raises(ArrayError, match=r"slices: expected columns of the table, city, x, found 'town'"):
        quietly(table["y"], members, table=table[["city", "x"]], slices=["town"])
    with pytest.raises(ArrayError, match=r"slices: expected a table, or column names with values"):
        quietly(table["y"], members, slices=["city"])


def test_members_in_the_place_of_records_are_told_as_such(table):
    turned = Gaussian.from_members(table[["m0", "m1", "m2"]].to_numpy())
    with pytest.raises(ArrayError, match=r"expected 240 records .*, found 3\. Members are the first axis: transpose"):
        quietly(table["y"], turned)


def test_names_are_text_in_every_form_of_the_report(table):
    hostile = "<img src=x onerror=alert(1)>"
    report = quietly(
        table["y"], {hostile: Gaussian.from_members(table[["m0", "m1"]])}, slices={hostile: table["city"] + hostile},
        shifted=table["shifted"], table={hostile + "!": table["city"] + hostile}, unit=hostile,
    )  # fmt: skip
    for page in (report.to_html(), report._repr_html_()):
        assert "<img src=x" not in page
        assert "&lt;img src=x" in page


def test_a_report_shows_and_gives_itself_in_a_notebook(table):
    report = quietly(table["y"], Gaussian.from_members(table[["m0", "m1"]]), shifted=table["shifted"])
    assert "RMSE" in report._repr_html_()
    assert len(repr(report)) < 120
    lines = str(report).splitlines()
    assert 5 < len(lines) <= 40
    assert max(map(len, lines)) <= 80
    assert any("RMSE" in line for line in lines)
    assert "\x1b" not in str(report)


def test_the_text_of_a_report_displays_nothing_else_in_a_notebook(table, monkeypatch):
    report, displayed = quietly(table["y"], Gaussian.from_members(table[["m0", "m1"]])), []
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    monkeypatch.setattr("rich.jupyter.display", lambda *arguments: displayed.append(arguments))
    assert "RMSE" in str(report)
    assert not displayed
    assert report.to_pandas().shape == report.to_polars().shape


def test_one_of_several_targets_is_chosen():
    physical, exercise = load_linnerud(return_X_y=True, as_frame=True)
    forest = RandomForestRegressor(3, random_state=0).fit(physical, exercise["Weight"])
    with pytest.raises(ArrayError, match=r"targets: expected one dimension .* found shape \(20, 3\)"):
        quietly(exercise, Gaussian.from_members(forest, physical))
    assert quietly(exercise["Weight"], Gaussian.from_members(forest, physical)).task == "regression"


# --- systems with scores that others lack -----------------------------------------------------------------------------


def ends(report, system: str) -> dict[tuple[str, str, str], tuple[float | None, float | None]]:
    return {(s.subset, s.metric, s.measure): (s.low, s.high) for s in report.scores if s.system == system}


def test_a_forecast_of_plain_numbers_takes_no_interval_from_the_system_beside_it(table):
    named = {"shifted": table["shifted"], "clusters": np.arange(N) // 4}  # clusters: the same draws in any order
    gaussian = Gaussian(table[["m0"]].to_numpy().T, np.full((1, N), 0.1))
    alone = quietly(table["y"], {"model": gaussian}, **named)
    beside = quietly(table["y"], {"model": gaussian, "numbers": table["m1"].to_numpy()}, **named)
    expected, found = ends(alone, "model"), ends(beside, "model")
    assert expected["in", "coverage_90", ""][0] is not None
    assert found.keys() == expected.keys()
    for label, (low, high) in expected.items():
        assert found[label] == ((None, None) if low is None else pytest.approx((low, high), rel=1e-9)), label
    assert {row.metric for row in beside.comparisons}.isdisjoint({"nll", "crps", "coverage_90", "width_90"})


def test_targets_of_probability_0_are_told(rng):
    targets = rng.integers(3, size=N)
    probabilities = np.full((N, 3), 0.25)
    probabilities[np.arange(N), targets] = 0.5
    probabilities[:7] = 0.5
    probabilities[np.arange(7), targets[:7]] = 0.0
    with pytest.warns(ShiftbenchWarning, match=r"model gives probability 0 to 7 of 240 targets: .* 23\.03 nats each"):
        assess_predictions(targets, Categorical(probabilities[None]), options=FEW)
    probabilities[np.arange(7), targets[:7]] = 1e-30
    probabilities[:7] /= probabilities[:7].sum(axis=1, keepdims=True)
    assert not any("probability 0" in told for told in quietly(targets, Categorical(probabilities[None])).warnings)


def test_classes_that_a_member_has_never_seen_are_named_in_the_report(rng):
    whole = rng.dirichlet(np.ones(3), 40)
    partial = np.column_stack([rng.dirichlet(np.ones(2), 40), np.zeros(40)])
    members = Categorical(np.stack([whole, partial, partial]), classes=("dry", "rain", "snow"))
    told = "model: classes with probability 0 for every record from some of 3 members, .*: 'snow' by 2; "
    with pytest.warns(ShiftbenchWarning, match=told):
        report = assess_predictions(np.array(["dry", "rain", "snow", "rain"] * 10), members, options=FEW)
    assert any("'snow' by 2" in text for text in report.warnings)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assess_predictions(np.arange(40) % 3, Categorical(whole[None]), options=FEW)
    assert not any("may never have seen" in str(each.message) for each in caught)


def test_a_class_without_probabilities_is_named_with_where_and_what_to_do(rng):
    members = Categorical(rng.dirichlet(np.ones(2), 40)[None], classes=("dry", "rain"))
    targets = np.array(["dry", "rain"] * 19 + ["snow", "dry"])
    told = r"found 'snow' \(1 of 40 records, the first at index 38\)\. Add its probabilities to the predictions"
    with pytest.raises(ArrayError, match=told):
        assess_predictions(targets, members, options=FEW)
