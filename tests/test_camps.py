"""Members that stand apart: copies, one far from all others, two camps; and how rarely members by chance look so."""

from __future__ import annotations

import numpy as np
import pytest

import shiftbench
from shiftbench.assessment import camps, scored
from shiftbench.ensembles import Categorical, Gaussian, Means
from shiftbench.report.front import screen
from tests import small_presets

N = 400
SHIFTED = np.arange(N) % 2 == 1


@pytest.fixture(autouse=True)
def _few_replicates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of whom cautions tell does not depend on intervals."""
    small_presets.few_replicates(monkeypatch)


def members(rng: np.random.Generator, count: int = 10) -> np.ndarray:
    """Means [M, N] that differ by chance, of a target that is 0 with noise of deviation 1."""
    return rng.normal(size=N) * 0.5 + rng.normal(scale=0.2, size=(count, N))


def told(means: np.ndarray, target: np.ndarray) -> list[str]:
    """The cautions of the first screen."""
    variance = np.ones_like(means)
    report = shiftbench.assess_predictions(target, {"mine": Gaussian(means, variance)}, shifted=SHIFTED)
    return [each.text for each in screen.findings(report) if each.careful and "member" in each.text]


def test_members_that_differ_by_chance_are_no_camps(rng):
    assert told(members(rng), rng.normal(size=N)) == []


def test_two_camps_are_told_with_the_answer(rng):
    means = members(rng)
    means[[1, 3, 5, 7, 9]] += 5.0
    (text,) = told(means, rng.normal(size=N))
    assert text.startswith("the members of “mine” form two camps, 5 (")
    assert " times as far from each other as members of one camp are" in text


def test_one_member_far_from_the_rest_is_named(rng):
    means = members(rng)
    means[2] += 8.0
    (text,) = told(means, rng.normal(size=N))
    assert text.startswith("member 3 of the 10 of “mine” is ")


def test_copies_are_named_and_what_is_left_is_counted(rng):
    means = members(rng)
    means[6] = means[1]
    (text,) = told(means, rng.normal(size=N))
    assert text.startswith("members of “mine” are copies of each other (2 and 7): only 9 of 10 are different; unless")
    (text,) = told(np.repeat(means[:1], 4, axis=0), rng.normal(size=N))
    assert text.startswith("all 4 members of “mine” are copies of each other")


def test_only_some_copies_may_be_meant(rng):
    """A combination repeats members, so that all its parts weigh the same."""
    means = members(rng)
    means[6] = means[1]
    assert [each.by_weights for each in scored.means("x", Means(means), np.zeros(N)).cautions] == [True]
    assert [each.by_weights for each in scored.means("x", Means(means[[1, 6]]), np.zeros(N)).cautions] == [False]


def test_classes_of_which_half_the_members_say_the_opposite(rng):
    p = np.clip(0.05 + 0.02 * rng.random((10, N)), 0, 1)
    p[5:] = 1 - p[5:]
    system = scored.classification("x", Categorical(np.stack([1 - p, p], axis=-1)), np.zeros(N, dtype=int))
    assert len(system.cautions) == 1
    assert "form two camps, 5 (1, 2, 3, 4 and 5) against 5" in system.cautions[0].text


def test_a_distance_that_changes_no_answer_is_not_told(rng):
    means = 1e-3 * members(rng)
    means[2] += 0.1  # far from the others, but a tenth of the errors
    assert told(means, rng.normal(size=N)) == []


def test_votes_that_agree_are_no_copies(rng):
    votes = np.tile(np.eye(2)[rng.integers(0, 2, N)], (5, 1, 1))
    assert scored.classification("x", Categorical(votes), np.zeros(N, dtype=int)).cautions == ()


def test_distances_are_those_of_an_obvious_loop(rng):
    answers = rng.normal(size=(6, 2 * camps.CHUNK + 7)) + 1e3
    slow = np.array([[np.sqrt(np.mean((one - other) ** 2)) for other in answers] for one in answers])
    assert camps.distances(answers) == pytest.approx(slow, rel=1e-6, abs=1e-6)


def test_the_order_of_members_and_records_does_not_matter(rng):
    means = members(rng)
    means[:3] += 5.0
    order = rng.permutation(10)
    (one,) = scored.means("x", Means(means), np.zeros(N)).cautions
    (other,) = scored.means("x", Means(means[order][:, rng.permutation(N)]), np.zeros(N)).cautions
    assert one.text.split("(")[0] == other.text.split("(")[0]


@pytest.mark.parametrize(("count", "dimensions", "most"), [(5, 1, 0.03), (6, 1, 0.015), (8, 1, 0.01), (10, 1, 0.003),
                                                           (5, 5, 0.002), (10, 5, 0.002)])  # fmt: skip
def test_false_alarms_of_normal_members_are_rare(rng, count, dimensions, most):
    drawn = (camps.camps(camps.distances(rng.normal(size=(count, dimensions)))) for _ in range(1_500))
    assert sum(found is not None for found in drawn) <= 1_500 * most
