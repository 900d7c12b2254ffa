"""Every registered score: its interval holds it and keeps its range, on the data that make this hardest."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator

import numpy as np
import pytest

from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.scored import Records, Scored
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.report.content import Report
from shiftbench.scores.intervals import KINDS, Settings
from shiftbench.scores.metric import METRICS
from shiftbench.scores.resampling import SetTerms
from shiftbench.scores.score import Score, System
from tests.contracts.test_metrics import of_texts

SELECTIVE = {metric.name for metric in METRICS.values() if metric.table == "selective"}
WITHOUT = {"ece"}  # points alone: nothing of it is resampled
# Made of the errors, the order or the classes; what else is registered is a mean over records.
DERIVED = {
    "mean_error", "rmse", "macro_f1", "macro_f1_area", "acceptable", "shift_ratio", "r_auc", "f1_auc",
    "f1_auc_normalised", "f1_at_95", "rejection_ratio", "roc_auc", "bleu", "bleu_area", "chrf", "chrf_area",
} | WITHOUT | SELECTIVE  # fmt: skip
N = 48
EXTREMES = {
    "all at the lower end": lambda rng: np.zeros(N),
    "all at the upper end": lambda rng: np.ones(N),
    "all but one at the upper end": lambda rng: (np.arange(N) > 0).astype(float),
    "one at the upper end": lambda rng: (np.arange(N) == 7).astype(float),
    "half and half": lambda rng: (np.arange(N) % 4 < 2).astype(float),
    "close to the upper end": lambda rng: 1.0 - 0.01 * rng.random(N),
    "heavy tails": lambda rng: np.minimum(1e-9 * np.exp(3.0 * rng.normal(size=N) ** 2), 1.0),
}


def systems(places: np.ndarray, rng: np.random.Generator) -> Iterator[Scored]:
    """Systems whose scores per record lie at such places of their ranges, 0 … 1."""
    means = {}
    for name, metric in METRICS.items():
        if name not in DERIVED:
            least = metric.least if math.isfinite(metric.least) else -1e6
            most = metric.most if math.isfinite(metric.most) else 1e6
            means[name] = least + places * (most - least)
    uncertainties = {"the errors": places, "reversed": -places, "constant": np.zeros(N), "luck": rng.random(N)}
    for place, (name, uncertainty) in enumerate(uncertainties.items()):
        own = means if place == 0 else {}  # means are the same in any order
        yield Scored(System(name, "model", "u", ("u",)), 1e6 * places, {"u": uncertainty}, own, root=True)
    sets = {name: SetTerms(terms(places), terms(np.ones(N))) for name, terms in of_texts.items()}
    yield Scored(System("texts", "model", "u", ("u",)), 1e6 * places, {"u": 1.0 - places}, sets=sets)
    right = np.where(rng.random(N) < 0.5, 1e-12, 0.5 * rng.random(N))
    sure = np.where(places > 0.5, right, 1.0 - right)  # of the second class, which is the target
    targets = np.ones(N, dtype=int)
    yield scored.classification("classes", Categorical(np.stack((1.0 - sure, sure), axis=1)[None]), targets)
    yield scored.regression("trees", Gaussian(np.zeros((1, N)), np.full((1, N), 1e-3)), 1e3 * places)


def reports(kind: str, places: np.ndarray, *, clustered: bool) -> Iterator[Report]:
    rng = np.random.default_rng(4)
    clusters = np.arange(N) % 24 if clustered else None  # clusters 0, 2, 4 … are in-domain
    group = np.array(["a", "b"])[(np.arange(N) // 2) % 2]
    records = Records(N, shifted=np.arange(N) % 2 == 1, clusters=clusters, slices={"group": group})
    settings = Settings(replicates=20, kind=kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for system in systems(places, rng):
            yield build([(records, [system])], Options(threshold=1.0, intervals=settings))


def limits(score: Score) -> tuple[float, float]:
    return METRICS[score.metric].range(classes=score.system == "classes")


@pytest.mark.parametrize("clustered", [False, True], ids=["records", "clusters"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "auto"])
@pytest.mark.parametrize("places", EXTREMES.values(), ids=EXTREMES.keys())
def test_every_interval_holds_its_score_and_keeps_its_range(kind, places, clustered):
    for report in reports(kind, places(np.random.default_rng(5)), clustered=clustered):
        for score in report.scores:
            if score.low is None or score.high is None:
                continue
            least, most = limits(score)
            rounding = 1e-9 * max(abs(score.value), 1e-6)
            assert score.low <= score.value <= score.high, score
            assert least - rounding <= score.low, score
            assert score.high <= most + rounding, score
            assert score.low < score.high or least < score.value < most, score
        for entry in report.slices:
            assert entry.low is None or entry.low <= entry.mean_error <= entry.high


def test_every_registered_score_has_been_tried():
    """A score registered tomorrow needs an interval here, or a place among those without."""
    places = EXTREMES["half and half"](np.random.default_rng(5))
    found = reports("studentised", places, clustered=False)
    with_interval = {score.metric for report in found for score in report.scores if score.low is not None}
    assert with_interval == set(METRICS) - WITHOUT
