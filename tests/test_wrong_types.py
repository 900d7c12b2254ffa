"""Arguments of another type than expected are refused with what was found, wherever they are given."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import shiftbench
from shiftbench import Categorical, Gaussian, Means, Options, Predictions, Quantiles
from shiftbench.errors import ArrayError, ShiftbenchError
from shiftbench.metrics import motion, quantiles
from shiftbench.scores.intervals import Settings
from tests import public_calls

N = 6
PROBABILITIES, VALUES = np.full((2, N, 2), 0.5), np.tile([0.0, 1.0], (1, N, 1))
GAUSSIAN, MEANS = Gaussian(np.zeros((2, N)), np.ones((2, N))), Means(np.zeros((2, N)))
QUANTILES = Quantiles(VALUES, levels=(0.1, 0.9))
MODES = (np.zeros((N, 1, 3, 2)), np.ones((N, 1)), np.zeros((N, 3, 2)))


class Classifier:
    """A fitted classifier that tells its classes in an odd way."""

    def __init__(self, classes: Any) -> None:
        self.classes_ = classes

    def predict_proba(self, _: Any) -> Any:
        return PROBABILITIES[0]


CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "score": (lambda: report().score(None, system=5, split="all", subset="full"), "Unknown score"),  # type: ignore[arg-type]
    "measure": (lambda: shiftbench.uncertainty(GAUSSIAN, ["total_variance"]), "Unknown measure"),  # type: ignore[arg-type]
    "title": (lambda: Options(title=5, error_unit=None), "title: expected text, found 5"),  # type: ignore[arg-type]
    "recipe": (lambda: Options(recipe=[]), "recipe: expected a mapping"),  # type: ignore[arg-type]
    "unit": (lambda: shiftbench.assess_predictions(np.zeros(N), GAUSSIAN, unit=5), "unit: expected text"),  # type: ignore[arg-type]
    "classes": (lambda: Categorical(PROBABILITIES, classes=5), "classes: expected a sequence of names"),  # type: ignore[arg-type]
    "listed classes": (lambda: Categorical(PROBABILITIES, classes=([1], [2])), "classes: expected a sequence of names"),
    "classes of members": (
        lambda: Categorical.from_members(PROBABILITIES, classes=5),  # type: ignore[arg-type]
        "classes: expected a sequence of names",
    ),
    "classes of a model": (lambda: Categorical.from_members(Classifier(5), np.zeros((N, 1))), "in classes_, found 5"),
    "other classes of a model": (
        lambda: Categorical.from_members([Classifier(["a"]), Classifier(["a", "b"])], np.zeros((N, 1))),
        "one name for each of 2 classes in classes_, found 1",
    ),
    "targets": (
        lambda: shiftbench.assess_predictions([{1}] * N, Categorical(PROBABILITIES)),
        "targets: expected a sequence of names",
    ),
    "numbers of another library": (
        lambda: shiftbench.r_auc(pl.Series([1] * N, dtype=pl.Int128), np.arange(N)),
        "errors: expected an array of numbers, found Series",
    ),
    "bytes for groups": (
        lambda: shiftbench.assess(np.ones(N), np.arange(N), clusters=pl.Series([b"\xff"] * N)),
        "clusters: expected labels that are text, found bytes",
    ),
    "text that is not Unicode": (
        lambda: shiftbench.assess(np.ones(N), np.arange(N), slices={"c": ["\ud800"] * N}),
        "expected text that is Unicode",
    ),
    "dates for ids": (lambda: Predictions(np.arange(N).astype("M8[D]"), GAUSSIAN), "expected ids"),  # type: ignore[arg-type]
    "levels": (lambda: Quantiles(VALUES, levels=(10**400, 0.5)), "levels: expected numbers between 0 and 1"),
    "threshold": (
        lambda: shiftbench.f1_at(np.ones(N), np.arange(N), threshold=10**400),
        "threshold: expected a finite number",
    ),
    "pinball": (lambda: quantiles.pinball_losses(np.zeros(N), GAUSSIAN), "expected Quantiles, found Gaussian"),  # type: ignore[arg-type]
    "crps": (lambda: quantiles.crps_of_members(np.zeros(N), QUANTILES), "expected Means, found Quantiles"),  # type: ignore[arg-type]
    "member scores": (lambda: quantiles.member_scores(np.zeros(N), VALUES), "expected Means, found ndarray"),  # type: ignore[arg-type]
    "logits": (lambda: motion.softmax_weights(np.zeros((2, 0))), "logits: expected numbers"),
    "words for logits": (lambda: motion.softmax_weights(["a"]), "logits: expected numbers"),
    "sigma": (lambda: motion.cnll(*MODES, sigma_m="x"), "sigma_m: expected a standard deviation"),  # type: ignore[arg-type]
    "most": (lambda: motion.cnll(*MODES, most=None), "most: expected a whole number of modes >= 1"),  # type: ignore[arg-type]
    "metadata": (lambda: Predictions(list("abcdef"), GAUSSIAN, {5: 5}), "metadata: expected names that are text"),  # type: ignore[arg-type,dict-item]
}


def report() -> shiftbench.Report:
    options = Options(intervals=Settings(replicates=2))
    return shiftbench.assess(np.ones(N), np.arange(N), options=options)


@pytest.mark.parametrize("name", CALLS)
def test_a_value_of_another_type_is_refused_with_what_was_found(name: str) -> None:
    call, message = CALLS[name]
    with pytest.raises(ShiftbenchError, match=message):
        call()


def test_names_of_classes_may_be_numbers() -> None:
    assert Categorical(PROBABILITIES, classes=[1, 2]).classes == (1, 2)
    with pytest.raises(ArrayError, match="expected different names"):
        Categorical(PROBABILITIES, classes=[1, 1])


def test_dates_of_any_unit_may_be_columns_of_a_table() -> None:
    days = np.array(["2021-01-01"] * N, dtype="M8[s]")
    found = shiftbench.assess_predictions(np.zeros(N), GAUSSIAN, table={"when": days, "month": days.astype("M8[M]")})
    assert found.counts


def test_targets_in_extended_precision_are_numbers() -> None:
    found = shiftbench.assess_predictions(np.arange(N).astype(np.longdouble), GAUSSIAN)
    assert found.score("mae", system="model", split="all", subset="full").value == 2.5


# --- every public function --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", public_calls.CALLS)
def test_whatever_is_given_in_place_of_an_argument_is_used_or_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert public_calls.mistakes(public_calls.CALLS[name]) == []


def test_every_public_function_is_called() -> None:
    called = {name.rpartition(".")[2] for name in public_calls.CALLS}
    assert public_calls.public() - called - public_calls.ELSEWHERE.keys() == set()
