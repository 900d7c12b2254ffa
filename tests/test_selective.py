"""Areas of selective prediction: against plain loops over the definitions, and how they hang together."""

from __future__ import annotations

import math
from itertools import pairwise, permutations

import numpy as np
import pytest

from shiftbench.errors import ArrayError
from shiftbench.scores import retention, selective


def slow_risks(errors: list[float], order: list[int]) -> list[float]:
    return [sum(errors[i] for i in order[:k]) / k for k in range(1, len(order) + 1)]


@pytest.fixture
def data(rng):
    return rng.gamma(1.0, size=40), rng.normal(size=40)


def test_aurc_is_the_mean_risk_over_all_numbers_of_kept_records(data):
    errors, uncertainty = data
    risks = slow_risks([*errors], [*np.argsort(uncertainty)])
    assert selective.aurc(errors, uncertainty) == pytest.approx(sum(risks) / 40)
    best = slow_risks([*errors], [*np.argsort(errors)])
    assert selective.e_aurc(errors, uncertainty) == pytest.approx((sum(risks) - sum(best)) / 40)
    assert selective.e_aurc(errors, errors) == 0.0


def test_e_aurc_is_in_the_unit_of_the_errors_however_small_that_makes_it(data):
    errors, uncertainty = data
    assert selective.e_aurc(errors * 1e-12, uncertainty) == pytest.approx(1e-12 * selective.e_aurc(errors, uncertainty))


def test_aurc_weighs_errors_by_harmonic_numbers(data):
    errors, uncertainty = data
    ranked = errors[np.argsort(uncertainty)]
    weights = [retention.harmonic(40) - retention.harmonic(rank) for rank in range(40)]
    assert selective.aurc(errors, uncertainty) == pytest.approx(np.dot(ranked, weights) / 40)


def test_ties_count_by_the_mean_over_their_orders(rng):
    errors, uncertainty = rng.random(5), np.array([1.0, 2.0, 2.0, 2.0, 3.0])
    orders = [[0, *middle, 4] for middle in permutations([1, 2, 3])]
    every = [np.mean(slow_risks([*errors], order)) for order in orders]
    assert selective.aurc(errors, uncertainty) == pytest.approx(np.mean(every))


def test_augrc_of_wrong_answers_is_the_exact_r_auc(rng):
    errors, uncertainty = (rng.random(60) < 0.3).astype(float), rng.normal(size=60)
    order = np.argsort(uncertainty)
    joint = [0.0, *(errors[order][:k].sum() / 60 for k in range(1, 61))]  # P(wrong and kept)
    area = sum((a + b) / 2 for a, b in pairwise(joint)) / 60
    assert selective.augrc(errors, uncertainty) == pytest.approx(area)
    assert selective.augrc(errors, uncertainty) == retention.r_auc(errors, uncertainty, rule="exact")
    assert selective.auarc(errors, uncertainty) == pytest.approx(1 - selective.aurc(errors, uncertainty))


@pytest.mark.parametrize("share", [1.0, 0.5, 0.3])
def test_prr_is_the_gain_of_kept_quality(data, share):
    errors, uncertainty = data
    quality = 5.0 - 2.0 * errors  # any scale: the ratio stays the same
    rejected = int(share * 40)

    def area(order):  # the mean quality of those kept, for 0 … rejected - 1 rejected
        return np.mean([quality[order][: 40 - number].mean() for number in range(rejected)])

    found = (area(np.argsort(uncertainty)) - quality.mean()) / (area(np.argsort(errors)) - quality.mean())
    assert selective.prr(errors, uncertainty, max_rejection=share) == pytest.approx(found)
    assert selective.prr(errors, errors, max_rejection=share) == pytest.approx(1.0)


def test_prr_is_undefined_where_all_errors_are_equal():
    assert math.isnan(selective.prr([1.0, 1.0], [0.1, 0.2]))
    assert math.isnan(selective.prr([0.0], [0.1]))


def test_bad_input_is_refused():
    with pytest.raises(ArrayError, match="found other numbers"):
        selective.auarc([0.5, 1.0], [0.1, 0.2])
    for share in (0.0, 1.5, math.nan, "half"):
        with pytest.raises(ArrayError, match="max_rejection: expected a share above 0 and up to 1"):
            selective.prr([0.5, 1.0], [0.1, 0.2], max_rejection=share)
    with pytest.raises(ArrayError, match="errors: expected"):
        selective.aurc([-1.0, 1.0], [0.1, 0.2])
