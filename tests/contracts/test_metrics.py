"""What every metric must do, tested for each one in METRICS; and that somebody else's needs no change in any module."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench import report as reports
from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.scored import Records, Scored
from shiftbench.assessment.source import Source
from shiftbench.ensembles import Categorical, Gaussian, Quantiles
from shiftbench.metrics.modes import Modes, mixture_scores
from shiftbench.metrics.segmentation import correlation
from shiftbench.metrics.segmentation.scores import METRICS as OF_VOLUME_SCORES
from shiftbench.partition.features import Features
from shiftbench.report.content import Report
from shiftbench.scores.intervals import Settings
from shiftbench.scores.metric import METRICS, Metric
from shiftbench.scores.ranking import Ranking
from shiftbench.scores.resampling import SetTerms, Terms, set_curve

DOCS = Path(__file__).parents[2] / "docs" / "metrics.md"
N = 600
SHIFTED = np.arange(N) % 2 == 1

# Read before any test registers one of its own.
OF_VOLUMES = [
    "ndsc_raac_entropy_of_expected", "dsc_raac_their_own", "lesion_f1_18_50_one_to_one_no_overlap",
    "lesion_detected_10_100", "ndsc_load_spearman", "ndsc_load_pearson",
]  # fmt: skip
OF_A_FAMILY = ["coverage_80", "width_80", "pinball_0.1", "pinball_0.9", *OF_VOLUMES]
every_metric = pytest.mark.parametrize("name", [*METRICS, *OF_A_FAMILY])


def regression(rng: np.random.Generator, quality: float) -> Scored:
    """Of quality 1: small errors, about as large on shifted data, and a variance that knows of both; of 0: neither."""
    targets = rng.normal(20, 2, N)
    noise = np.exp(rng.normal(-1.0, 1.0, N)) + 0.2 * SHIFTED
    wrong = np.where(SHIFTED, 6.0, 2.0)
    error = rng.normal(size=N) * (noise if quality else wrong)
    variance = noise**2 if quality else np.exp(rng.normal(size=N))
    return scored.regression("made up", Gaussian((targets + error)[None], variance[None]), targets, role="model")


def quantile_forecast(rng: np.random.Generator, quality: float) -> Scored:
    targets = rng.normal(20, 2, N)
    noise = np.exp(rng.normal(-1.0, 1.0, N)) + 0.2 * SHIFTED
    error = rng.normal(size=N) * (noise if quality else np.where(SHIFTED, 6.0, 2.0))
    width = noise if quality else np.exp(rng.normal(size=N))
    values = (targets + error)[:, None] + width[:, None] * np.array([-1.2816, 0.0, 1.2816])
    return scored.quantiles("made up", Quantiles(values[None], (0.1, 0.5, 0.9)), targets)


def classification(rng: np.random.Generator, quality: float) -> Scored:
    """Of quality 1: often right, and less sure where it is wrong and on shifted data; of 0: sure of anything."""
    targets = rng.integers(0, 3, N)
    logits = rng.normal(size=(N, 3)) * (1.0 if quality else 6.0)
    logits[np.arange(N), targets] += 3.0 if quality else 4.0 * ~SHIFTED
    logits *= np.where(SHIFTED, 0.6 if quality else 1.0, 1.0)[:, None]
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    ensemble = Categorical((powers / powers.sum(axis=1, keepdims=True))[None])
    return scored.classification("made up", ensemble, targets, role="model")


def trajectories(rng: np.random.Generator, quality: float) -> Scored:
    targets = rng.normal(size=(N, 10, 2)).cumsum(axis=1)
    modes = Modes.of(np.full(N, 4))
    spread = np.exp(rng.normal(0.0, 0.7, N)) * (0.25 if quality else 1.0 + SHIFTED)
    off = rng.normal(size=(4 * N, 10, 2)) * spread[modes.owner, None, None]
    found = mixture_scores(targets[modes.owner] + off, np.full(4 * N, 0.25), modes, targets)
    uncertainty = spread + 0.2 * SHIFTED if quality else rng.random(N)
    return replace(scored.given("made up", found["cnll"], {"uncertainty": uncertainty}), means=found)


def generation(rng: np.random.Generator, quality: float) -> Scored:
    """Of quality 1: an uncertainty that knows of the errors, and nothing grows with length; of 0: all does."""
    length, errors = rng.integers(3, 40, N).astype(float), rng.gamma(2.0, 5.0, N)
    uncertainty = errors + 4 * SHIFTED if quality else length + rng.normal(size=N)
    system = scored.given("made up", errors if quality else errors + 0.3 * length, {"uncertainty": uncertainty})
    return replace(system, length=length)


def segmentation(rng: np.random.Generator, quality: float) -> Scored:
    """Of quality 1: masks that overlap, lesions that are found, on shifted data a little less."""
    good = np.clip(rng.normal(0.8 if quality else 0.5, 0.2, N) - (0.01 if quality else 0.2) * SHIFTED, 0.0, 1.0)
    fewer_is_better = {"hausdorff_95", "surface_distance"} | {name for name in OF_VOLUMES if "raac" in name}
    of_sets = ("lesion_detected", "ndsc_load")
    names = [metric.name for metric in OF_VOLUME_SCORES] + [name for name in OF_VOLUMES if not name.startswith(of_sets)]
    found = {name: 1 - good if name in fewer_is_better else good for name in names}
    true = rng.integers(0, 9, N).astype(float)
    detected = {"lesion_detected_10_100": SetTerms(Terms(amounts=np.stack((true * good, true), axis=1)))}
    loads = rng.gamma(2.0, 5.0, N) + (0 if quality else 20 * good)
    sets = {**detected, **correlation.all_terms(loads, {"ndsc": good})}
    uncertainty = {"uncertainty": 1 - good + 0.2 * SHIFTED + 0.1 * rng.random(N) if quality else rng.random(N)}
    return replace(scored.given("made up", 4 * (1 - good), uncertainty), means=found, sets=sets)


def texts(rng: np.random.Generator, quality: float) -> Scored:
    """Of quality 1: texts that agree with their references, on shifted data a little less."""
    good = np.clip(rng.normal(0.8 if quality else 0.5, 0.1, N) - (0.02 if quality else 0.2) * SHIFTED, 0.05, 1.0)
    means = dict.fromkeys(("egleu", "maxgleu", "gleu", "quality"), 100 * good) | {"exact_match": (good > 0.7) * 1.0}
    sets = {name: SetTerms(found(good), found(np.ones(N))) for name, found in of_texts.items()}
    uncertainty = {"uncertainty": 1 - good + 0.2 * SHIFTED + 0.1 * rng.random(N) if quality else rng.random(N)}
    return replace(scored.given("made up", 4 * (1 - good), uncertainty), means=means, sets=sets)


def bleu_terms(share: np.ndarray) -> Terms:
    """Texts of 20 tokens, of whose n-grams this share [N] agrees."""
    every = np.broadcast_to([20.0, 19.0, 18.0, 17.0], (len(share), 4))
    return Terms(amounts=np.concatenate([np.full((len(share), 2), 20.0), share[:, None] * every, every], axis=1))


def chrf_terms(share: np.ndarray) -> Terms:
    """Texts of 60 characters, of whose n-grams this share [N] agrees."""
    sizes = np.arange(60.0, 54.0, -1.0)
    each = np.broadcast_to(np.stack([sizes, sizes, sizes], axis=1), (len(share), 6, 3)) * 1.0
    each[..., 2] *= share[:, None]
    return Terms(amounts=each.reshape(len(share), 18))


of_texts = {"bleu": bleu_terms, "chrf": chrf_terms}


def source(rng: np.random.Generator) -> Source:
    return Source(pl.DataFrame({"x": rng.normal(size=N)}), pl.Series(np.arange(N)), np.arange(N), Features(("x",)))


@cache
def pairs() -> list[Report]:
    """Reports of two systems each, of which one is better in every respect."""
    rng, before = np.random.default_rng(11), np.random.default_rng(12)
    # Both sides are among the in-domain development records, so that regions hold over all records.
    records, developed = (
        Records(N, split, flags, slices={"half": np.arange(N) // 4 % 2}, source=source(before))
        for split, flags in (("all", SHIFTED), ("dev", np.arange(N) // 2 % 2 == 1))
    )
    found = []
    makers = (regression, classification, trajectories, quantile_forecast, segmentation, generation, texts)
    for make in makers:
        systems, development = [], []
        for name, quality in (("better", 1.0), ("worse", 0.0)):
            system = make(rng, quality)
            systems.append(replace(system, system=replace(system.system, name=name)))
            # Conformal regions are calibrated here: what was as good before does not hold for the worse one.
            development.append(replace(make(before, 1.0), system=replace(system.system, name=name)))
        threshold = 0.5 if make is classification else 1.0
        options = Options(threshold=threshold, intervals=Settings(replicates=2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found.append(build([(developed, development), (records, systems)], options))
    return found


def values(name: str) -> list[tuple[float, float, int]]:
    """Of each report that has this metric: its value of the better system, of the worse one, and which report."""
    found = []
    for place, report in enumerate(pairs()):
        if any(score.metric == name for score in report.scores):
            both = (
                report.score(name, system=system, split="all", subset="full").value for system in ("better", "worse")
            )
            found.append((*both, place))
    assert found, f"say here what a better and a worse system are, so that {name} is tested"
    return found


@every_metric
def test_the_better_of_two_systems_has_the_better_score(name):
    metric = METRICS[name]
    for better, worse, _ in values(name):
        if metric.better == "nominal":
            assert abs(better - metric.nominal) < abs(worse - metric.nominal), (better, worse)
        else:
            assert (better < worse) == (metric.better == "min"), (better, worse)


@every_metric
def test_scores_are_in_their_range(name):
    for better, worse, place in values(name):
        least, most = METRICS[name].range(classes=place == 1)
        assert least <= min(better, worse) <= max(better, worse) <= most


@every_metric
def test_scores_depend_on_the_uncertainty_as_is_said(name):
    (score, *_) = (score for report in pairs() for score in report.scores if score.metric == name)
    assert bool(score.measure) == METRICS[name].uses_uncertainty


@every_metric
def test_says_what_it_is(name):
    metric = METRICS[name]
    assert metric.name == name
    assert metric.better in {"min", "max"} or (
        metric.better == "nominal" and metric.least < metric.nominal < metric.most
    )
    assert metric.scale in {"percent", "points", "fraction", "target", "error", "plain"}
    assert all((metric.title, metric.formula, metric.source))
    assert not metric.area or metric.of_sums, "what is no function of sums has the retention of records"
    assert not metric.area or METRICS[metric.area].uses_uncertainty


@every_metric
def test_the_documentation_has_its_line(name):
    metric = METRICS[name]
    better = {"min": "lower", "max": "higher", "nominal": f"{metric.nominal:g}"}[metric.better]
    formula = metric.formula.replace("|", "\\|")
    line = f"| `{name}` | {metric.title} | {better} | {formula} | {metric.source} |"
    if name in METRICS.names():
        assert line in DOCS.read_text("utf-8").splitlines(), f"add to docs/metrics.md: {line}"


# --- somebody else's --------------------------------------------------------------------------------------------------


def worst_mean(sums: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """The largest mean error of a group, from counts and summed errors [P, G, 2]; groups not drawn do not count."""
    count, total = sums[..., 0], sums[..., 1]
    return np.divide(total, count, out=np.zeros_like(total), where=count > 0).max(axis=-1)


def pooled_dice(sums: np.ndarray, whole: np.ndarray) -> np.ndarray:
    right, false, missed = np.moveaxis(sums, -1, 0)
    return 2.0 * right / (2.0 * right + false + missed)


THEIRS = (
    Metric(
        "worst_group", "Worst group", "min", "error", "largest mean error of a group", "a test",
        compared=True, of_sums=worst_mean, area="worst_group_r_auc",
    ),
    Metric(
        "worst_group_r_auc", "Worst group, R-AUC", "min", "error", "area under its retention curve", "a test",
        uses_uncertainty=True, compared=True,
    ),
    Metric(
        "dice", "Dice, pooled", "max", "percent", "2 TP / (2 TP + FP + FN) of all voxels", "a test",
        most=1.0, compared=True, of_sums=pooled_dice, area="dice_auc",
    ),
    Metric(
        "dice_auc", "Dice, area", "max", "percent", "area under its retention curve", "a test",
        most=1.0, uses_uncertainty=True, compared=True,
    ),
)  # fmt: skip


@pytest.fixture
def theirs(monkeypatch):
    monkeypatch.setattr(METRICS, "_held", dict(METRICS))
    for metric in THEIRS:
        METRICS.register(metric)


def volumes(rng: np.random.Generator, name: str, skill: float) -> Scored:
    """N segmented volumes of four hospitals: `skill` of the voxels of each are found, and the uncertainty knows."""
    hospital, size = np.arange(N) // 2 % 4, rng.integers(50, 500, N).astype(float)
    found = np.clip(skill - 0.1 * SHIFTED - 0.05 * hospital + 0.1 * rng.normal(size=N), 0.05, 0.95)
    right, false = np.round(found * size), rng.integers(0, 20, N).astype(float)
    missed = size - right
    error, nothing = 1.0 - 2 * right / (2 * right + false + missed), np.zeros(N)
    counts = Terms(amounts=np.stack((right, false, missed), axis=1))
    ideal = Terms(amounts=np.stack((size, nothing, nothing), axis=1))
    groups = (Terms((hospital,), (4,), np.stack((np.ones(N), each), axis=1)) for each in (error, nothing))
    system = scored.given(name, error, {"uncertainty": error + 0.05 * rng.normal(size=N)})
    return replace(system, sets={"dice": SetTerms(counts, ideal), "worst_group": SetTerms(*groups)})


@pytest.mark.parametrize("kind", ["studentised", "percentile", "bca", "normal"])
@pytest.mark.parametrize("clustered", [False, True], ids=["records", "clusters"])
def test_somebody_elses_scores_of_sets_have_intervals_tests_and_retention(theirs, rng, kind, clustered, tmp_path):
    systems = [volumes(rng, "ours", 0.85), volumes(rng, "simple", 0.6)]
    clusters = np.arange(N) // 12 if clustered else None
    settings = Settings(replicates=200, kind=kind)
    report = build(
        [(Records(N, shifted=SHIFTED, clusters=clusters), systems)], Options(threshold=0.3, intervals=settings)
    )
    sums = systems[0].sets["dice"].found.amounts.sum(axis=0)
    place = {"system": "ours", "split": "all", "subset": "full"}
    assert report.score("dice", **place).value == pytest.approx(2 * sums[0] / (2 * sums[0] + sums[1] + sums[2]))
    by_hospital = [systems[0].errors[np.arange(N) // 2 % 4 == code].mean() for code in range(4)]
    assert report.score("worst_group", **place).value == pytest.approx(max(by_hospital))
    for metric in THEIRS:
        for subset in ("in", "shifted", "full"):
            score = report.score(metric.name, system="ours", split="all", subset=subset)
            assert score.low < score.value < score.high, score
            assert score.high - score.low < 0.3 * score.value
            (compared,) = (c for c in report.comparisons if (c.metric, c.subset) == (metric.name, subset))
            assert (compared.difference < 0) == (metric.better == "min")
            assert compared.p_adjusted < 0.05
            assert not compared.low <= 0 <= compared.high
            ranked = {r.system: r.rank for r in report.ranks if (r.metric, r.subset) == (metric.name, subset)}
            assert ranked == {"ours": 1, "simple": 2}
    ends = {
        (curve.kind, curve.order): (curve.y[0], curve.y[-1])
        for curve in report.curves
        if (curve.system, curve.subset) == ("ours", "full")
    }
    for order in ("uncertainty", "random"):
        assert ends["dice_retention", order] == pytest.approx((1.0, report.score("dice", **place).value))
        assert ends["worst_group_retention", order] == pytest.approx((0.0, max(by_hospital)))
    # With the most uncertain answered ideally, less is wrong.
    assert report.score("dice_auc", **place).value > report.score("dice", **place).value
    assert report.score("worst_group_r_auc", **place).value < report.score("worst_group", **place).value
    assert Report.from_json(report.to_json()).scores == report.scores
    if kind == "normal":
        written = reports.write(report, tmp_path / "report")
        assert all("Dice, pooled" in written[form].read_text("utf-8") for form in ("markdown", "html"))
        assert "Dice, pooled retention (all records)" in written["html"].read_text("utf-8")


def test_the_interval_of_a_score_of_a_set_covers_it_as_often_as_is_said(theirs):
    """Pooled Dice of records drawn anew 200 times, against what it is in the long run."""
    rng = np.random.default_rng(3)
    truth = np.array([9.0, 2.0, 1.0])
    inside = 0
    records = Records(60)
    for _ in range(200):
        size = np.exp(rng.normal(0.0, 0.5, 60))[:, None]
        amounts = size * rng.gamma(truth, 1.0, (60, 3))
        system = replace(
            scored.given("m", np.ones(60), {"u": rng.random(60)}), sets={"dice": SetTerms(Terms(amounts=amounts))}
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            report = build([(records, [system])], Options(intervals=Settings(replicates=20, kind="normal")))
        score = report.score("dice", system="m", split="all", subset="full")
        inside += score.low <= 18 / 21 <= score.high
        assert not any(other.metric == "dice_auc" for other in report.scores), "no ideal answers, no retention"
    assert 200 * 0.95 - 4 * math.sqrt(200 * 0.95 * 0.05) < inside


@pytest.mark.parametrize(("n", "points"), [(3, 4), (256, 257), (1024, 257)])
def test_the_points_of_an_area_lie_where_the_page_says(rng, n, points):
    errors, ranks = rng.random(n), rng.permutation(n)
    columns = [np.stack([np.ones(n), each], axis=1) for each in (errors, np.zeros(n))]
    terms = SetTerms(*(Terms((np.arange(n) % 2,), (2,), each) for each in columns))
    found = set_curve(THEIRS[0], terms, Ranking.of(ranks.astype(float)))
    assert len(found) == points
    for k in range(points):
        own = ranks < k * n // (points - 1)  # the most certain records keep their answers
        expected = max((errors * own)[np.arange(n) % 2 == group].mean() for group in (0, 1))
        assert found[k] == pytest.approx(expected)


def test_systems_of_which_one_alone_has_a_score_are_compared_by_the_others(theirs, rng):
    one, other = volumes(rng, "ours", 0.85), replace(volumes(rng, "simple", 0.6), sets={})
    report = build([(Records(N), [one, other])], Options(intervals=Settings(replicates=20, kind="normal")))
    assert report.score("dice", system="ours", split="all", subset="full").value > 0.5
    assert {entry.metric for entry in report.comparisons} == {"mean_error", "r_auc"}
