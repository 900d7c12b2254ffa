"""Ranks: one more than the number of systems that a test finds better; the same in tables, verdict and paper."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench import Gaussian, Quantiles, assess_predictions
from shiftbench.assessment import comparison, scored
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.scored import Records
from shiftbench.errors import ShiftbenchWarning
from shiftbench.report.content import Report
from shiftbench.report.grids.listing import grids
from shiftbench.report.verdict import verdict
from shiftbench.scores.intervals import Settings
from shiftbench.scores.metric import METRICS

examples = settings(max_examples=60, deadline=None, derandomize=True)
NORMAL = Settings(kind="normal")


def better(systems: int, *pairs: tuple[int, int]) -> np.ndarray:
    found = np.zeros((systems, systems), dtype=bool)
    for a, b in pairs:
        found[a, b] = True
    return found


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        (((0, 1), (0, 2), (1, 2)), [1, 2, 3]),
        (((2, 1), (2, 0), (1, 0)), [3, 2, 1]),
        ((), [1, 1, 1]),
        (((0, 2),), [1, 1, 2]),  # 0 like 1, 1 like 2: the last is not lifted by its neighbour
        (((0, 1), (0, 2)), [1, 2, 2]),
        (((0, 2), (1, 2)), [1, 1, 3]),
    ],
)
def test_a_rank_is_one_more_than_the_number_of_systems_found_better(pairs, expected):
    assert comparison.ranks(better(3, *pairs)) == expected


@examples
@given(st.integers(1, 6), st.randoms(use_true_random=False))
def test_ranks_do_not_depend_on_the_order_of_the_systems(systems, random):
    found = better(systems, *((a, b) for a in range(systems) for b in range(a) if random.random() < 0.5))
    order = list(random.choice(list(permutations(range(systems)))))
    assert comparison.ranks(found[np.ix_(order, order)]) == [comparison.ranks(found)[k] for k in order]


def chain(settings: Settings = NORMAL, *, systems: int = 9, n: int = 300):
    """Systems that are each a little worse than the one before on the same records, and one far worse."""
    rng = np.random.default_rng(3)
    scales = [*(1.0 + 0.12 * k for k in range(systems - 1)), 3.0]
    base = rng.chisquare(1, n)
    systems = [
        scored.given(f"s{k}", scale * (0.2 * base + 0.8 * rng.chisquare(1, n)), {"u": rng.random(n)}, root=True)
        for k, scale in enumerate(scales)
    ]
    options = Options(threshold=1.0, intervals=settings)
    return build([(Records(n, shifted=np.arange(n) % 2 == 0), systems)], options)


@pytest.fixture(scope="module")
def report():
    return chain()


def test_ranks_are_those_of_the_comparisons(report):
    """The slow twin: count the comparisons that a system lost by its adjusted p."""
    for place in {(entry.subset, entry.metric) for entry in report.comparisons}:
        mine = [entry for entry in report.comparisons if (entry.subset, entry.metric) == place]
        lost = dict.fromkeys((system.name for system in report.systems), 0)
        for entry in mine:
            if entry.p_adjusted < 0.05:
                first_is_better = (entry.difference < 0) == (METRICS[place[1]].better == "min")
                lost[entry.b if first_is_better else entry.a] += 1
        found = {rank.system: rank.rank for rank in report.ranks if (rank.subset, rank.metric) == place}
        assert found == {name: 1 + count for name, count in lost.items()}


def test_the_mean_squared_error_ranks_systems_as_its_root_does():
    rng = np.random.default_rng(5)
    found = 0
    for _ in range(6):
        base = rng.chisquare(1, 60) ** 2
        systems = [
            scored.given(
                f"s{k}", (1 + 0.25 * k) * (0.5 * base + 0.5 * rng.chisquare(1, 60) ** 2), {"u": base}, root=True
            )
            for k in range(4)
        ]
        report = build([(Records(60), systems)], Options(intervals=Settings(replicates=200)))
        ranks = {(rank.metric, rank.system): rank.rank for rank in report.ranks}
        for k in range(4):
            assert ranks["mean_error", f"s{k}"] == ranks["rmse", f"s{k}"]
        found += len({rank for (metric, _), rank in ranks.items() if metric == "rmse"}) > 1
    assert found  # some are told apart


def test_a_chain_of_likenesses_lifts_no_system_that_is_found_worse(report):
    found = {rank.system: rank.rank for rank in report.ranks if (rank.subset, rank.metric) == ("full", "rmse")}
    assert found["s0"] == found["s1"] == 1
    assert found["s7"] > 1  # each is like its neighbour, but the first is better than the last
    assert found["s8"] == 9


def test_bold_and_verdict_name_systems_of_rank_one(report):
    first = {rank.system for rank in report.ranks if (rank.subset, rank.metric) == ("full", "rmse") and rank.rank == 1}
    (grid,) = (grid for grid in grids(report) if grid.kind == "answers")
    (place,) = (k for k, c in enumerate(grid.columns) if (c.group, c.title) == ("RMSE ↓", "Full"))
    bold = {row.label for row in grid.rows if row.cells[place].best}
    mine = {name: report.score("rmse", system=name, split="all", subset="full") for name in first}
    top = min(mine.values(), key=lambda score: score.value)
    assert bold == {name for name, score in mine.items() if score.value <= top.high}
    for subset, words in (("in", "in-domain"), ("shifted", "on shifted data")):
        here = [rank.system for rank in report.ranks if (rank.subset, rank.metric, rank.rank) == (subset, "rmse", 1)]
        (told,) = (
            text for text in verdict(replace(report, task="regression")) if text.startswith(f"Lowest RMSE {words}")
        )
        others = [name for name in here if f"{words}: “{name}”," not in told]
        counted = len(others) > 3 and f"; {len(others)} of the 8 others share rank 1 with it" in told
        assert counted or all(f"“{name}”" in told.partition(";")[2] for name in others)


def test_without_replicates_enough_for_a_test_nothing_is_ranked_or_bold():
    report = chain(Settings(replicates=15), systems=3)  # 1 / 16 > 0.05
    assert report.ranks == ()
    assert any("none is ranked" in text for text in report.warnings)
    assert not any(cell.best for grid in grids(report) for row in grid.rows for cell in row.cells)
    told = [text for text in verdict(replace(report, task="regression")) if text.startswith("Lowest RMSE")]
    assert told
    assert all("; without a test this may be chance." in text for text in told)


def test_a_score_without_a_test_has_no_rank():
    """Of a single record nothing can be resampled."""
    systems = [scored.given(name, [error], {"u": [1.0]}) for name, error in (("a", 1.0), ("b", 2.0))]
    assert build([(Records(1), systems)], Options()).ranks == ()


def test_errors_of_zero_and_one_beside_others_are_compared():
    """Accuracy by retention is a score of the former alone."""
    rng = np.random.default_rng(0)
    sure = scored.given("sure", np.zeros(60), {"u": rng.random(60)})
    other = scored.given("other", rng.random(60), {"u": rng.random(60)})
    report = build([(Records(60), [sure, other])], Options(task="errors", intervals=Settings(replicates=50)))
    assert {score.system for score in report.scores if score.metric == "auarc"} == {"sure"}
    assert {(each.a, each.b) for each in report.comparisons} == {("sure", "other")}


def test_scores_that_two_of_three_systems_have_are_compared_between_these(rng):
    target, n = rng.normal(size=200), 200
    ends = np.array([-1.6, 0.0, 1.6])
    near, far = (target[:, None] + rng.normal(size=(n, 1)) * sd + ends for sd in (0.3, 2.0))
    levels, others = (0.05, 0.5, 0.95), (0.1, 0.5, 0.9)
    both = {"near": Quantiles(near[None], levels), "far": Quantiles(far[None], levels)}
    third = {"forecast": target + rng.normal(size=n), "elsewhere": Quantiles(near[None], others)}
    options = Options(intervals=Settings(replicates=60))
    wanted, *found = (
        assess_predictions(target, both | more, shifted=np.arange(n) % 2, options=options)
        for more in ({}, *({name: each} for name, each in third.items()))
    )

    def by(report: Report) -> dict[str, tuple[str, str, float]]:
        return {
            each.subset: (each.a, each.b, each.difference) for each in report.comparisons if each.metric == "pinball"
        }

    assert by(wanted).keys() == {"in", "shifted", "full"}
    for report in found:
        assert by(report).keys() == by(wanted).keys()
        for subset, (a, b, difference) in by(report).items():
            assert (a, b) == ("near", "far")
            assert difference == pytest.approx(by(wanted)[subset][2])
        placed = [rank for rank in report.ranks if (rank.metric, rank.subset) == ("pinball", "full")]
        assert {rank.system: rank.rank for rank in placed} == {"near": 1, "far": 2}
        assert len([each for each in report.comparisons if (each.metric, each.subset) == ("rmse", "full")]) == 3


def test_gaussians_beside_a_point_forecast_are_ranked_by_their_likelihood(rng):
    target, n = rng.normal(size=200), 200
    forecasts = {name: target + rng.normal(size=n) * sd for name, sd in (("near", 0.3), ("far", 2.0), ("raw", 1.0))}
    systems = {name: Gaussian(each[None], np.ones((1, n))) for name, each in forecasts.items() if name != "raw"}
    with pytest.warns(ShiftbenchWarning, match="ranks nothing"):
        report = assess_predictions(
            target, systems | {"raw": forecasts["raw"]}, options=Options(intervals=Settings(replicates=60))
        )
    assert {rank.system: rank.rank for rank in report.ranks if rank.metric == "nll"} == {"near": 1, "far": 2}
