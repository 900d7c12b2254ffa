"""A team that probes hidden labels through the server is told what the Ladder's rule says, and gains less by it."""

from __future__ import annotations

import pytest
from benchmarks import challenge_probing as probing
from benchmarks.ladder import bound


@pytest.mark.parametrize("attack", [*probing.ATTACKS])
def test_crafted_submissions_gain_less_than_the_bound_and_than_on_an_open_board(attack: str):
    found = probing.by_rule(300, 1)
    ladder, opened = (found[attack, phase.name] for phase in (probing.HIDDEN, probing.OPEN))
    assert ladder.hidden < bound(probing.RECORDS, 300)
    assert ladder.hidden < opened.hidden
    assert ladder.changes < opened.changes
    assert abs(ladder.fresh) < 0.02  # nothing is learnt that holds elsewhere


@pytest.mark.parametrize("phase", [probing.HIDDEN, probing.OPEN], ids=lambda phase: phase.name)
def test_a_server_tells_a_probing_team_what_the_rule_says(phase):
    found, otherwise = probing.served("boosting, classes", phase, 12, inside=True, records=400)
    assert otherwise <= (1 if phase.hidden else 0)  # replicates have a standard error of their own
    assert found.changes >= 8 if phase is probing.OPEN else found.changes < 6
