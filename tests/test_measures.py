"""Measures: against their definitions, against the published code, and what happens to names that do not fit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, stats

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import ArrayError, SettingsError, UnknownNameError
from shiftbench.measures import MEASURES, Measure, headline, measures_for, register, uncertainty

GOLDEN = Path(__file__).parent / "golden"
EPSILON = 1e-10
# Read before any test registers one of its own.
BUILT_IN = set(MEASURES)


@pytest.fixture(scope="module")
def inputs():
    return dict(np.load(GOLDEN / "inputs_likelihood.npz"))


@pytest.fixture(scope="module")
def published():
    return dict(np.load(GOLDEN / "likelihood.npz"))


def gaussian_of(predictions: np.ndarray) -> Gaussian:
    return Gaussian(predictions[..., 0], predictions[..., 1])


@pytest.fixture
def gaussian(rng):
    return Gaussian(rng.normal(scale=2, size=(5, 40)), rng.gamma(2.0, size=(5, 40)))


@pytest.fixture
def categorical(rng):
    return Categorical(rng.dirichlet(np.full(4, 0.5), (5, 40)))


# --- golden: the published code ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["reg_preds", "single_member"])
@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("total_variance", "tvar"),
        ("data_variance", "mvar"),
        ("knowledge_variance", "varm"),
        ("expected_pairwise_cross_entropy", "epkl"),
    ],
)
def test_regression_measures_equal_the_published_code(inputs, published, case, name, theirs):
    found = uncertainty(gaussian_of(inputs[case]), name)
    assert found == pytest.approx(published[f"unc_reg.{case}.{theirs}"], rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("case", ["class_probs", "sharp_probs"])
@pytest.mark.parametrize(
    "name",
    ["entropy_of_expected", "expected_entropy", "mutual_information", "epkl", "reverse_mutual_information"],
)
def test_classification_measures_equal_the_published_code(inputs, published, case, name):
    found = uncertainty(Categorical(inputs[case]), name)
    # The published entropy of a certain prediction is -log(1 + 1e-10) = -1e-10; no entropy is negative, so ours is 0.
    assert found == pytest.approx(np.maximum(published[f"unc_cls.{case}.{name}"], 0), abs=2e-14)
    assert published["unc_cls.sharp_probs.expected_entropy"].max() < 0


def test_published_weather_confidence_has_the_wrong_sign_as_an_uncertainty(inputs, published):
    ours = uncertainty(Categorical(inputs["class_probs"]), "negated_confidence")
    # The weather code returns the confidence itself, highest where the model is most certain; the code of the lesion
    # track negates it under the same name. Ranking by the former rejects the best predictions first.
    assert ours == pytest.approx(-published["unc_cls.class_probs.confidence"], abs=1e-15)
    assert ours == pytest.approx(published["ms_unc.class_probs.confidence"], abs=1e-15)


def test_published_regression_epkl_forgets_to_subtract_the_entropies(inputs, published):
    ensemble = gaussian_of(inputs["reg_preds"])
    entropies = 0.5 * np.log(2 * np.pi * np.e * ensemble.variance)
    corrected = published["unc_reg.reg_preds.epkl"] - entropies.mean(axis=0)
    assert uncertainty(ensemble, "epkl") == pytest.approx(corrected, abs=1e-8)
    # Its size: members that agree exactly should have 0, and get the entropy of a normal distribution instead.
    agreeing = Gaussian(np.zeros((3, 1)), np.ones((3, 1)))
    assert uncertainty(agreeing, "expected_pairwise_cross_entropy") == pytest.approx(1.419, abs=5e-4)
    assert uncertainty(agreeing, "epkl") == 0


def test_published_epkl_of_zero_variances_is_an_artefact_of_its_epsilon(inputs, published):
    # KL to a distribution without spread is infinite; the published code gives var(mu) / 1e-10. We refuse the ensemble.
    artefact = inputs["zero_var"][..., 0].var(axis=0) / EPSILON
    assert published["unc_reg.zero_var.epkl"] == pytest.approx(artefact, rel=1e-8)
    with pytest.raises(ArrayError, match=r"variance: expected values > 0, found 0 \(member 0, record 0; 100 of 100\)"):
        gaussian_of(inputs["zero_var"])


# --- twins: the definitions, pair by pair -----------------------------------------------------------------------------


def slow_entropy(p):
    return -sum(value * np.log(value + EPSILON) for value in p)


def slow_cross_entropy(p, q):
    return -sum(a * np.log(b + EPSILON) for a, b in zip(p, q, strict=True))


def pairwise(members, function):
    return np.mean([function(p, q) for p in members for q in members])


SLOW_CATEGORICAL = {
    "negated_confidence": lambda ps: -max(sum(ps) / len(ps)),
    "entropy_of_expected": lambda ps: slow_entropy(sum(ps) / len(ps)),
    "expected_entropy": lambda ps: np.mean([slow_entropy(p) for p in ps]),
    "mutual_information": lambda ps: np.mean([slow_cross_entropy(p, sum(ps) / len(ps)) - slow_entropy(p) for p in ps]),
    "epkl": lambda ps: pairwise(ps, lambda p, q: slow_cross_entropy(p, q) - slow_entropy(p)),
    "reverse_mutual_information": lambda ps: np.mean(
        [slow_cross_entropy(sum(ps) / len(ps), p) - slow_entropy(sum(ps) / len(ps)) for p in ps]
    ),
}


@pytest.mark.parametrize("name", SLOW_CATEGORICAL)
def test_classification_measures_equal_their_definition_record_by_record(categorical, name):
    slow = [SLOW_CATEGORICAL[name](list(categorical.probabilities[:, n])) for n in range(categorical.records)]
    assert uncertainty(categorical, name) == pytest.approx(slow, abs=1e-13)


def slow_gaussian_cross_entropy(mean_p, variance_p, mean_q, variance_q):
    return 0.5 * np.log(2 * np.pi * variance_q) + (variance_p + (mean_p - mean_q) ** 2) / (2 * variance_q)


def slow_gaussian_kl(*pair):
    mean_p, variance_p = pair[:2]
    return slow_gaussian_cross_entropy(*pair) - slow_gaussian_cross_entropy(mean_p, variance_p, mean_p, variance_p)


@pytest.mark.parametrize(
    ("name", "slow"), [("epkl", slow_gaussian_kl), ("expected_pairwise_cross_entropy", slow_gaussian_cross_entropy)]
)
def test_pairwise_regression_measures_equal_their_definition(gaussian, name, slow):
    for n, found in enumerate(uncertainty(gaussian, name)):
        members = list(zip(gaussian.mean[:, n], gaussian.variance[:, n], strict=True))
        assert found == pytest.approx(pairwise(members, lambda p, q: slow(*p, *q)), rel=1e-7)


def test_total_variance_is_the_variance_of_the_mixture(gaussian):
    parts = gaussian.select([0])
    members = [stats.norm(m, v**0.5) for m, v in zip(parts.mean[:, 0], parts.variance[:, 0], strict=True)]
    grid = np.linspace(-30, 30, 60_001)
    density = np.mean([member.pdf(grid) for member in members], axis=0)
    mean = integrate.trapezoid(grid * density, grid)
    variance = integrate.trapezoid((grid - mean) ** 2 * density, grid)
    assert uncertainty(parts, "total_variance") == pytest.approx([variance], rel=1e-9)


# --- truths -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["knowledge_variance", "epkl", "expected_pairwise_cross_entropy", "total_variance"])
def test_regression_measures_keep_their_digits_when_the_means_are_huge(rng, name):
    # Steps of 1/8 are exact beside 1e8, so a shift of the target must not change a digit.
    mean = rng.integers(-40, 40, size=(7, 50)) / 8
    variance = rng.gamma(2.0, size=(7, 50))
    far = uncertainty(Gaussian(mean + 1e8, variance), name)
    assert far == pytest.approx(uncertainty(Gaussian(mean, variance), name), rel=1e-13)


def test_epkl_does_not_depend_on_the_unit_of_the_target(gaussian):
    unit = 1e-7
    scaled = Gaussian(gaussian.mean * unit, gaussian.variance * unit**2)
    assert uncertainty(scaled, "epkl") == pytest.approx(uncertainty(gaussian, "epkl"), rel=1e-12)


def test_the_parts_of_uncertainty_add_up(gaussian, categorical):
    total, data, knowledge = (uncertainty(gaussian, f"{part}_variance") for part in ("total", "data", "knowledge"))
    assert total == pytest.approx(data + knowledge)
    information, reverse, epkl = (
        uncertainty(categorical, name) for name in ("mutual_information", "reverse_mutual_information", "epkl")
    )
    assert epkl == pytest.approx(information + reverse)
    entropies = (uncertainty(categorical, name) for name in ("entropy_of_expected", "expected_entropy"))
    assert information == pytest.approx(np.subtract(*entropies))


def test_total_entropy_lies_between_none_and_that_of_the_uniform_distribution():
    certain, uniform = np.eye(4)[None, :1], np.full((1, 1, 4), 0.25)
    assert uncertainty(Categorical(certain), "entropy_of_expected") == 0
    assert uncertainty(Categorical(uniform), "entropy_of_expected") == pytest.approx(np.log(4), abs=1e-9)


def test_members_that_are_certain_of_different_classes_are_a_matter_of_knowledge_alone():
    ensemble = Categorical(np.eye(2)[:, None, :])
    assert uncertainty(ensemble, "expected_entropy") == 0
    assert uncertainty(ensemble, "mutual_information") == pytest.approx(np.log(2), abs=1e-9)


# --- names ------------------------------------------------------------------------------------------------------------


def test_a_misspelt_measure_is_answered_with_the_nearest(gaussian):
    with pytest.raises(UnknownNameError, match="Did you mean 'total_variance'"):
        uncertainty(gaussian, "total_varianc")


def test_a_measure_of_another_kind_is_answered_with_those_that_fit(gaussian, categorical):
    with pytest.raises(ArrayError, match=r"mutual_information: not defined for Gaussian.*knowledge_variance"):
        uncertainty(gaussian, "mutual_information")
    with pytest.raises(ArrayError, match=r"data_variance: not defined for Categorical.*expected_entropy"):
        uncertainty(categorical, "data_variance")


def test_measures_for_names_those_that_can_tell_records_apart(gaussian, categorical):
    assert BUILT_IN.intersection(measures_for(gaussian)) == {
        "total_variance", "data_variance", "knowledge_variance", "epkl", "expected_pairwise_cross_entropy",
    }  # fmt: skip
    assert BUILT_IN.intersection(measures_for(categorical)) == set(SLOW_CATEGORICAL)
    # A single model has nobody to disagree with: its knowledge measures are 0 for every record.
    assert BUILT_IN.intersection(measures_for(gaussian.member(0))) == {
        "total_variance", "data_variance", "expected_pairwise_cross_entropy",
    }  # fmt: skip
    assert not uncertainty(categorical.member(0), "mutual_information").any()


def test_headline_measures_are_those_of_the_papers(gaussian, categorical):
    assert headline(gaussian) == headline(gaussian.member(0)) == "total_variance"
    assert headline(categorical) == "negated_confidence"
    assert headline(categorical.member(0)) == "entropy_of_expected"


@pytest.fixture
def own(monkeypatch):
    def make(function):
        monkeypatch.setattr(MEASURES, "_held", dict(MEASURES))
        return register(Measure("own", "Own", "total", "mean(sd_m)", "test", {Gaussian: function}))

    return make


def test_a_registered_measure_is_found_by_its_name(own, gaussian):
    own(lambda ensemble: np.sqrt(ensemble.variance).mean(axis=0))
    assert uncertainty(gaussian, "own") == pytest.approx(np.sqrt(gaussian.variance).mean(axis=0))
    assert "own" in measures_for(gaussian)


def test_a_name_is_registered_once():
    with pytest.raises(SettingsError, match=r"expected a new name, found 'epkl'"):
        register(replace(MEASURES["epkl"], title="Another"))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda ensemble: ensemble.variance, r"own: expected one number a record, shape \(40,\), found \(5, 40\)"),
        (lambda ensemble: 1.0, r"found \(\)"),
        (lambda ensemble: np.full(ensemble.records, np.nan), "own: expected finite numbers, found NaN"),
    ],
)
def test_a_registered_measure_that_gives_no_uncertainty_is_told_so(own, gaussian, function, message):
    own(function)
    with pytest.raises(ArrayError, match=message):
        uncertainty(gaussian, "own")


def test_registering_does_not_open_the_mapping_to_writing():
    with pytest.raises(TypeError, match="assignment"):
        MEASURES["own"] = MEASURES["epkl"]
