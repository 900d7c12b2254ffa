"""Ranks at the end of a phase: consistent with every finding, whatever the tests find."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.challenge.ranks import ranked


@st.composite
def phases(draw):
    """Losses of some entries, which are references, and findings that follow the losses."""
    count = draw(st.integers(0, 9))
    losses = np.array(draw(st.lists(st.integers(0, 6), min_size=count, max_size=count)), dtype=float)
    reference = draw(st.lists(st.booleans(), min_size=count, max_size=count))
    pairs = [(a, b) for a in range(count) for b in range(count) if losses[a] < losses[b] and a != b]
    found = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return losses, reference, [(a, b) for a, b in found if not (reference[a] and reference[b])]


@settings(max_examples=300, deadline=None)
@given(phase=phases())
def test_no_team_stands_below_one_that_it_was_found_better_than(phase):
    losses, reference, found = phase
    ranks, order = ranked(found, reference, losses)
    assert sorted(order) == list(range(len(losses)))
    at = {k: position for position, k in enumerate(order)}
    for better, worse in found:
        if not reference[better] and not reference[worse]:
            assert ranks[better] < ranks[worse]
            assert at[better] < at[worse]


@settings(max_examples=300, deadline=None)
@given(phase=phases())
def test_within_a_rank_teams_stand_by_arrival_and_ranks_grow(phase):
    losses, reference, found = phase
    ranks, order = ranked(found, reference, losses)
    teams = [k for k in order if not reference[k]]
    assert teams == sorted(teams, key=lambda k: (ranks[k], k))


@settings(max_examples=300, deadline=None)
@given(phase=phases())
def test_references_change_neither_ranks_nor_order_of_teams(phase):
    losses, reference, found = phase
    ranks, order = ranked(found, reference, losses)
    teams = [k for k, is_reference in enumerate(reference) if not is_reference]
    own = [(teams.index(a), teams.index(b)) for a, b in found if a in teams and b in teams]
    alone, alone_order = ranked(own, [False] * len(teams), losses[teams])
    assert [ranks[k] for k in teams] == alone
    assert all((rank is None) == is_reference for rank, is_reference in zip(ranks, reference, strict=True))
    assert [k for k in order if not reference[k]] == [teams[k] for k in alone_order]


@settings(max_examples=300, deadline=None)
@given(phase=phases())
def test_a_reference_contradicts_a_finding_only_between_teams_of_which_each_place_contradicts_one(phase):
    losses, reference, found = phase
    order = ranked(found, reference, losses)[1]

    def wrong(standing, k):
        at = {each: position for position, each in enumerate(standing)}
        return sum(at[better] > at[worse] for better, worse in found if k in (better, worse))

    for k in (k for k, is_reference in enumerate(reference) if is_reference):
        others = [each for each in order if each != k]
        fewest = min(wrong([*others[:p], k, *others[p:]], k) for p in range(len(order)))
        assert wrong(order, k) == fewest


def test_better_than_what_is_better_counts_without_a_test_of_its_own():
    losses = np.array([3.0, 2.0, 1.0])  # the last to come beats the second, which beats the first
    assert ranked([(2, 1), (1, 0)], [False] * 3, losses) == ([3, 2, 1], [2, 1, 0])
    crossed = ranked([(3, 2), (2, 1), (0, 1)], [False] * 4, np.array([1.5, 3.0, 2.0, 1.0]))
    assert crossed == ([1, 4, 2, 1], [0, 3, 2, 1])


def test_a_reference_that_is_not_told_apart_stands_by_its_score():
    assert ranked([], [True, False, False], np.array([2.0, 1.0, 3.0]))[1] == [1, 0, 2]
    assert ranked([], [True, False], np.array([np.nan, 1.0]))[1] == [1, 0]
