"""Ensembles from fitted models and their outputs: the right members, or a clear refusal; with the real libraries."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import BayesianRidge, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from shiftbench.ensembles import Categorical, Gaussian, Means
from shiftbench.errors import ArrayError

X, Y = load_diabetes(return_X_y=True, as_frame=True)
WINE, NUMBERS = load_wine(return_X_y=True, as_frame=True)
GRAPE = NUMBERS.map({0: "barolo", 1: "grignolino", 2: "barbera"})
FOREST = RandomForestRegressor(5, random_state=0).fit(X, Y)
PARTS = [("ridge", Ridge()), ("forest", RandomForestRegressor(3, random_state=0))]
TORCH = torch.tensor(X.to_numpy(), dtype=torch.float32)

SEVERAL = {
    "forest": FOREST,
    "pipeline": make_pipeline(StandardScaler(), RandomForestRegressor(4, random_state=0)).fit(X, Y),
    "search": GridSearchCV(RandomForestRegressor(3, random_state=0), {"max_depth": [2]}, cv=2).fit(X, Y),
    "bagging of columns": BaggingRegressor(n_estimators=4, max_features=0.5, random_state=0).fit(X, Y),
    "voting": VotingRegressor(PARTS).fit(X, Y),
    "bagging of pipelines": BaggingRegressor(make_pipeline(StandardScaler(), Ridge()), 3, random_state=0).fit(X, Y),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("model", SEVERAL.values(), ids=SEVERAL.keys())
def test_the_members_of_an_ensemble_predict_on_average_what_it_predicts(model):
    ensemble = Gaussian.from_members(model, X)
    assert isinstance(ensemble, Means)
    assert ensemble.members > 1
    np.testing.assert_allclose(ensemble.answers(), model.predict(X), rtol=1e-9)
    assert ensemble.mean.std(axis=0).max() > 0
    assert ensemble.index.equals(X.index)


def test_each_tree_is_a_member():
    trees = [tree.predict(X.to_numpy()) for tree in FOREST.estimators_]
    assert np.array_equal(Gaussian.from_members(FOREST, X).mean, trees)
    unnamed = RandomForestRegressor(2, random_state=0).fit(X.to_numpy(), Y)
    assert Gaussian.from_members(unnamed, X.to_numpy()).index is None


def test_several_models_are_members_in_their_order():
    models = [HistGradientBoostingRegressor(max_iter=5, max_depth=k).fit(X, Y) for k in (1, 2)]
    found = Gaussian.from_members(models, pl.from_pandas(X))
    assert np.array_equal(found.mean, [model.predict(X) for model in models])


@pytest.mark.parametrize(
    "model", [BayesianRidge(), make_pipeline(StandardScaler(), GaussianProcessRegressor(alpha=1.0))]
)
def test_standard_deviations_that_a_model_knows_become_variances(model):
    mean, deviation = model.fit(X, Y).predict(X, return_std=True)
    found = Gaussian.from_members(model, X)
    assert isinstance(found, Gaussian)
    np.testing.assert_allclose(found.mean[0], mean)
    np.testing.assert_allclose(found.variance[0], np.asarray(deviation) ** 2)
    assert Gaussian.from_members([model, model], X).members == 2


def network(outputs: int, *last: torch.nn.Module) -> torch.nn.Sequential:
    return torch.nn.Sequential(torch.nn.Linear(10, 8), torch.nn.Dropout(), torch.nn.Linear(8, outputs), *last)


def test_modules_and_their_outputs_are_members():
    modules = [network(1).eval() for _ in range(3)]
    found = Gaussian.from_members(modules, TORCH)
    assert found.members == 3
    assert np.array_equal(Gaussian.from_members([module(TORCH) for module in modules]).mean, found.mean)
    assert np.array_equal(Gaussian.from_members(torch.stack([module(TORCH) for module in modules])).mean, found.mean)
    softmax = [network(4, torch.nn.Softmax(-1)).eval() for _ in range(2)]
    classes = Categorical.from_members(softmax, TORCH, classes=list("abcd"))
    assert (classes.members, classes.records, classes.classes) == (2, 442, ("a", "b", "c", "d"))


def test_draws_of_dropout_are_members():
    module = network(1).train()
    found = Gaussian.from_members([module(TORCH) for _ in range(4)])
    assert found.members == 4
    assert found.mean.std(axis=0).min() > 0


def test_arrays_are_members(rng):
    mean, variance = rng.normal(size=(3, 20)), rng.gamma(2.0, size=(3, 20))
    assert isinstance(Gaussian.from_members(mean), Means)
    found = Gaussian.from_members(mean, variance=variance)
    assert np.array_equal(found.variance, variance)
    assert np.array_equal(Gaussian.from_members(mean[..., None], variance=variance[..., None]).variance, variance)
    table = pd.DataFrame(mean.T, index=[f"row {k}" for k in range(20)])
    noise = pd.DataFrame(variance.T, index=table.index)
    assert np.array_equal(Gaussian.from_members(table, variance=noise[::-1]).variance, variance)
    assert np.array_equal(Gaussian.from_members(table).mean, mean)
    assert list(Gaussian.from_members(table).index) == list(table.index)


def test_series_and_tables_of_several_members_are_lined_up(rng):
    rows = pd.Index([f"r{k}" for k in range(20)])
    means = [pd.Series(rng.normal(size=20), rows) for _ in range(2)]
    found = Gaussian.from_members([means[0], means[1][::-1]])
    assert np.array_equal(found.mean, means)
    assert found.index.equals(rows)
    tables = [pd.DataFrame(rng.dirichlet(np.ones(3), 20), rows, list("cab")) for _ in range(2)]
    classes = Categorical.from_members([tables[0], tables[1][["a", "b", "c"]][::-1]])
    assert classes.classes == ("c", "a", "b")
    assert np.array_equal(classes.probabilities, tables)
    noise = [pd.Series(rng.gamma(2.0, size=20), rows) for _ in range(2)]
    for shuffled in ([noise[0][::-1], noise[1]], pd.DataFrame(noise).T[::-1]):
        assert np.array_equal(Gaussian.from_members(means, variance=shuffled).variance, noise)
    with pytest.raises(
        ArrayError, match="variance of member 1: expected the index of members, found another: 20 of 20"
    ):
        Gaussian.from_members(means, variance=[each.reset_index(drop=True) for each in noise])
    with pytest.raises(ArrayError, match="member 2: expected the index of member 1, found another: 20 of 20 labels"):
        Gaussian.from_members([means[0], means[1].reset_index(drop=True)])
    with pytest.raises(ArrayError, match=r"member 2: .* in another order, which member 3 does not have"):
        Gaussian.from_members([means[0], means[1][::-1], means[0].to_numpy()])


LEARNT = torch.ones(1, 1, requires_grad=True)
REFUSED = {
    "not fitted": (RandomForestRegressor(), X, "RandomForestRegressor instance is not fitted yet.* Fit it first"),
    "pipeline not fitted": (
        make_pipeline(StandardScaler(), Ridge()),
        X,
        "Pipeline instance is not fitted yet.*Fit it first",
    ),
    "other number of columns": (
        FOREST,
        X.iloc[:, :4],
        r"(X has 4 features|missing)[^.]*\. Give it the columns that it was fitted to",
    ),
    "other order of columns": (FOREST, X[X.columns[::-1]], "Feature names must be in the same order"),
    "no records": (
        FOREST,
        None,
        r"records: expected what the models are to predict, found none. Use from_members\(model",
    ),
    "a class": (RandomForestRegressor, X, "RandomForestRegressor: expected a model that predicts these records"),
    "classifier": (RandomForestClassifier(2).fit(WINE, GRAPE), WINE, "expected a regressor.* Use Categorical.from_mem"),
    "stages": (
        GradientBoostingRegressor(n_estimators=3).fit(X, Y),
        X,
        "found one GradientBoosting.* have no uncertainty",
    ),
    "weighted stages": (
        AdaBoostRegressor(random_state=0).fit(X, Y),
        X,
        "members of AdaBoostRegressor to predict what it",
    ),
    "stacking": (
        StackingRegressor(PARTS).fit(X, Y),
        X,
        "members of StackingRegressor to predict what it predicts on av",
    ),
    "weights": (
        VotingRegressor(PARTS, weights=[1, 9]).fit(X, Y),
        X,
        "VotingRegressor to predict what it predicts on av",
    ),
    "one model": (
        Ridge().fit(X, Y),
        X,
        "expected several models.*found one Ridge, whose numbers alone have no uncertai",
    ),
    "some variances": (
        [BayesianRidge().fit(X, Y), Ridge().fit(X, Y)],
        X,
        "deviations of all or of none, found none of R",
    ),
    "two targets": (
        RandomForestRegressor(2).fit(X, np.c_[Y, Y]),
        X,
        r"one number for each record, found shape \(442, 2\)",
    ),
    "training": (
        [network(1)],
        TORCH,
        r"module in eval mode, found one in training.* Call .eval\(\) first.* Monte Carlo",
    ),
    "table for a module": ([network(1).eval()], X, "must be Tensor, not DataFrame.* in the form that it takes"),
    "other shapes": ([network(1).eval()], TORCH[:, :3], "mat1 and mat2 shapes cannot be multiplied"),
    "two outputs": (
        [lambda x: (x[:, :1], x[:, 1:2])],
        TORCH,
        r"found shape \(2, 442, 1\).* as Gaussian\(mean, variance",
    ),
    "outputs of two": (
        [(LEARNT, LEARNT), (LEARNT, LEARNT)],
        None,
        r"mean: expected \[M, N\], found shape \(2, 2, 1, 1\)",
    ),
    "models and arrays": ([FOREST, [1.0]], X, "expected models only, or arrays only, found both"),
    "no members": (None, None, "members: expected fitted models or what they predict, found None"),
    "models by name": (
        {"ridge": Ridge()},
        X,
        "members: expected fitted models .* found a mapping. Give a list or an array",
    ),
    "one array": ([1.0, 2.0], None, r"mean: expected \[M, N\], found shape \(2,\)"),
    "text": ([["a", "b"]], None, "mean: expected numbers, found dtype <U1"),
}


@pytest.mark.parametrize(("members", "records", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_has_no_members_of_numbers_is_refused(members, records, message):
    with pytest.raises(ArrayError, match=message):
        Gaussian.from_members(members, records)


def test_variances_are_given_once(rng):
    with pytest.raises(ArrayError, match="variance: expected none, since the models predict their own"):
        Gaussian.from_members(BayesianRidge().fit(X, Y), X, variance=np.ones((1, len(X))))


@pytest.mark.parametrize("kind", [Gaussian, Categorical])
def test_what_stands_beside_predictions_is_never_ignored(rng, kind):
    predicted = rng.dirichlet(np.ones(3), size=(4, 20)) if kind is Categorical else rng.normal(size=(4, 20))
    with pytest.raises(ArrayError, match="records: expected none beside predictions, found some"):
        kind.from_members(predicted, np.ones((4, 20)))


CLASSIFIERS = {
    "forest": (RandomForestClassifier(5, random_state=0), 5),
    # So few records that members miss classes: their columns are lined up.
    "bagging": (BaggingClassifier(n_estimators=9, max_samples=3, random_state=1), 9),
    "voting": (
        VotingClassifier([("a", GaussianNB()), ("b", RandomForestClassifier(2))], voting="soft"),
        2,
    ),
    "pipeline": (make_pipeline(StandardScaler(), RandomForestClassifier(3, random_state=0)), 3),
    "boosting": (GradientBoostingClassifier(n_estimators=3), 1),
    "linear": (GaussianNB(), 1),
}


@pytest.mark.parametrize(("model", "members"), CLASSIFIERS.values(), ids=CLASSIFIERS.keys())
@pytest.mark.parametrize("targets", [GRAPE, NUMBERS + 1, NUMBERS == 0], ids=["text", "1 to 3", "booleans"])
def test_classifiers_become_members_whose_mean_is_what_they_predict(model, members, targets):
    found = Categorical.from_members(model.fit(WINE, targets), WINE)
    assert found.members == members
    assert list(found.classes) == list(model.classes_)
    np.testing.assert_allclose(found.answers(), model.predict_proba(WINE), atol=1e-9)


def test_classes_of_several_models_are_lined_up_by_name():
    some, every = GRAPE != "grignolino", np.ones(len(GRAPE), dtype=bool)
    models = [GaussianNB().fit(WINE[kept], GRAPE[kept]) for kept in (some, every)]
    found = Categorical.from_members(models, WINE)
    assert found.classes == ("barbera", "barolo", "grignolino")
    assert np.array_equal(found.probabilities[0][:, [0, 1]], models[0].predict_proba(WINE))
    assert not found.probabilities[0][:, 2].any()
    assert np.array_equal(found.probabilities[1], models[1].predict_proba(WINE))


def test_probabilities_of_one_model_are_one_member(rng):
    probabilities = rng.dirichlet(np.ones(3), 20)
    assert Categorical.from_members(probabilities).members == 1
    assert Categorical.from_members([probabilities, probabilities]).members == 2
    table = pd.DataFrame(probabilities, columns=list("abc"), index=range(5, 25))
    found = Categorical.from_members(table)
    assert found.classes == ("a", "b", "c")
    assert list(found.index) == list(table.index)


def said(*scores: float) -> list[dict[str, object]]:
    """What a pipeline says of a text, the most probable class first."""
    found = [{"label": label, "score": score} for label, score in zip(("sad", "glad"), scores, strict=False)]
    return sorted(found, key=lambda each: -each["score"])


def test_labels_with_scores_are_one_member_whatever_their_order():
    found = Categorical.from_members([said(0.9, 0.1), said(0.2, 0.8)])
    assert found.classes == ("glad", "sad")
    assert found.probabilities.tolist() == [[[0.1, 0.9], [0.8, 0.2]]]


LOGITS = torch.tensor([[2.0, -1.0], [0.5, 0.5]], requires_grad=True)
STACK = r"Two classes\? Use np.stack\(\[1 - p, p\], axis=-1\)."
REFUSED_CLASSES = {
    "logits": (LOGITS, None, r"expected values in \[0, 1\], found 2 .* Logits\? Apply a softmax first"),
    "sums": (LOGITS.sigmoid(), None, r"a sum of 1 over the classes, found 1.14.* Logits\? Apply a softmax first"),
    "one column": (LOGITS.softmax(-1)[:, :1], None, f"expected at least 2 classes on the last axis, found 1. {STACK}"),
    "modules of one column": ([lambda x: x.to_numpy()[:, :1] / 99] * 2, WINE, f"on the last axis, found 1. {STACK}"),
    "modules of vectors": ([lambda x: x.to_numpy()[:, 0] / 99] * 2, WINE, rf"found shape \(178,\). {STACK}"),
    "vectors": ([np.array([0.2, 0.3, 0.9])] * 2, None, rf"found shape \(3,\) of each. {STACK}"),
    "p of one class": (
        LOGITS.softmax(-1)[:, 0],
        None,
        r"found shape \(2,\).* Two classes\? Use np.stack\(\[1 - p, p\]",
    ),
    "answers": (["dry", "rain"], None, r"expected probabilities, found dtype <U4. Use model.predict_proba\(X\)"),
    "best labels": ([*said(0.9), *said(0.8)], None, r"the scores of all classes .* Make the pipeline with top_k=None"),
    "a best label": ([said(0.9, 0.1), said(0.9)], None, r"found \[{'label': 'sad', 'score': 0.9}\] at index 1"),
    "no probabilities": (SVC().fit(WINE, GRAPE), WINE, "SVC: expected predict_proba.* Calibrate it"),
    "not fitted": (GaussianNB(), WINE, "GaussianNB instance is not fitted yet"),
    "codes and names": (
        [GaussianNB().fit(WINE, labels) for labels in (GRAPE, NUMBERS)],
        WINE,
        r"expected models of the same classes, found \['barbera', 'barolo', 'grignolino'\] and \[0, 1, 2\]",
    ),
}


@pytest.mark.parametrize(("members", "records", "message"), REFUSED_CLASSES.values(), ids=REFUSED_CLASSES.keys())
def test_what_has_no_members_of_probabilities_is_refused(members, records, message):
    with pytest.raises(ArrayError, match=message):
        Categorical.from_members(members, records)


def test_one_column_for_two_classes_is_one_problem_whatever_the_names():
    with pytest.raises(ArrayError) as caught:
        Categorical.from_members([lambda x: x.to_numpy()[:, :1] / 99], WINE, classes=["a", "b"])
    assert len(caught.value.problems) == 1


def test_names_of_classes_that_a_model_knows_are_not_replaced():
    model = GaussianNB().fit(WINE, GRAPE)
    with pytest.raises(
        ArrayError, match="classes: expected those of the models in their order, barbera, barolo, grigno"
    ):
        Categorical.from_members(model, WINE, classes=["a", "b", "c"])


def test_no_library_of_models_is_imported():
    code = (
        "import sys, shiftbench; shiftbench.Gaussian.from_members([[1.0, 2.0], [2.0, 1.0]]);"
        "print({'torch', 'sklearn', 'pandas'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
