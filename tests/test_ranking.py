"""Sorting once: tie groups, their means, and subsets without a second sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.scores.ranking import Ranking

few_values = st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=30)
examples = settings(max_examples=60, deadline=None, derandomize=True)


@examples
@given(few_values)
def test_order_is_ascending_and_tie_groups_start_where_the_value_changes(uncertainty):
    values = np.array(uncertainty)
    ranking = Ranking.of(values)
    ascending = values[ranking.order]
    assert sorted(ranking.order) == list(range(len(values)))
    assert list(ascending) == sorted(uncertainty)
    starts = range(len(values)) if ranking.starts is None else ranking.starts
    assert list(ascending[list(starts)]) == sorted(set(uncertainty))


@examples
@given(few_values)
def test_starts_are_none_exactly_where_all_values_differ(uncertainty):
    assert (Ranking.of(np.array(uncertainty)).starts is None) == (len(set(uncertainty)) == len(uncertainty))


@examples
@given(few_values, st.randoms(use_true_random=False))
def test_averaged_replaces_each_value_by_the_mean_of_its_tie_group(uncertainty, random):
    values = np.array([random.random() for _ in uncertainty])
    ranking = Ranking.of(np.array(uncertainty))
    expected = [
        np.mean([v for v, u in zip(values, uncertainty, strict=True) if u == level]) for level in sorted(uncertainty)
    ]
    np.testing.assert_allclose(ranking.averaged(values), expected, rtol=1e-14)


@examples
@given(few_values, st.randoms(use_true_random=False))
def test_a_subset_is_ranked_as_if_sorted_alone(uncertainty, random):
    values = np.array(uncertainty)
    member = np.array([random.random() < 0.6 for _ in uncertainty])
    member[random.randrange(len(member))] = True
    sub, alone = Ranking.of(values).subset(member), Ranking.of(values[member])
    np.testing.assert_array_equal(values[member][sub.order], values[member][alone.order])
    assert sorted(sub.order) == list(range(member.sum()))
    if alone.starts is None:
        assert sub.starts is None
    else:
        np.testing.assert_array_equal(sub.starts, alone.starts)
        np.testing.assert_array_equal(sub.sizes(), alone.sizes())


def test_a_subset_of_no_record_is_empty():
    assert len(Ranking.of(np.array([2.0, 1.0])).subset(np.zeros(2, dtype=bool))) == 0


@pytest.mark.parametrize(
    ("uncertainty", "starts"),
    [
        ([5.0], None),
        ([1.0, 1.0], [0]),
        ([0.0, -0.0], [0]),
        ([2.0, 1.0, 2.0], [0, 1]),
        ([np.nextafter(1, 2), 1.0], None),
    ],
)
def test_only_equal_values_tie(uncertainty, starts):
    found = Ranking.of(np.array(uncertainty)).starts
    assert (None if found is None else list(found)) == starts


def test_sizes_add_up_to_the_records():
    ranking = Ranking.of(np.array([3.0, 1.0, 3.0, 2.0, 3.0, 1.0]))
    assert list(ranking.sizes()) == [2, 1, 3]
    assert len(ranking) == 6
