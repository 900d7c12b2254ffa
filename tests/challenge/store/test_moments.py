"""Clocks that jump: time never goes back, leases end, and a clock that ran ahead is forgiven when organisers say so."""

from __future__ import annotations

import pytest

from shiftbench.challenge.store import database
from shiftbench.challenge.store.moments import Moments
from shiftbench.challenge.store.records import DAY, HOUR, LEASE, SECOND, Refused

from .world import MIDNIGHT, OPEN, World


class Hands:
    """A wall clock and a steady one, set by hand."""

    def __init__(self) -> None:
        self.wall, self.pace = MIDNIGHT, 0

    def pass_by(self, time: int, jump: int = 0) -> None:
        self.wall, self.pace = self.wall + time + jump, self.pace + time


@pytest.fixture
def hands() -> Hands:
    return Hands()


@pytest.fixture
def moments(hands: Hands) -> Moments:
    return Moments(lambda: hands.wall, lambda: hands.pace)


def test_a_clock_that_is_right_is_believed(hands: Hands, moments: Moments):
    for time in (0, 1, SECOND, DAY):
        hands.pass_by(time)
        assert moments.now() == hands.wall


def test_after_a_clock_is_set_back_time_goes_on_at_its_pace(hands: Hands, moments: Moments):
    hands.pass_by(SECOND, jump=-HOUR)
    assert moments.now() == MIDNIGHT + SECOND
    hands.pass_by(SECOND)
    assert moments.now() == MIDNIGHT + 2 * SECOND


def test_a_clock_that_was_set_back_and_is_corrected_is_believed_again(hands: Hands, moments: Moments):
    for jump in (-HOUR, HOUR):
        hands.pass_by(SECOND, jump=jump)
        assert moments.now() >= MIDNIGHT
    assert moments.now() == hands.wall == MIDNIGHT + 2 * SECOND


def test_a_moment_that_another_machine_has_seen_is_not_gone_behind(hands: Hands, moments: Moments):
    assert moments.raised(MIDNIGHT + 5 * SECOND) == MIDNIGHT + 5 * SECOND
    hands.pass_by(SECOND)
    assert moments.now() == MIDNIGHT + 6 * SECOND


def test_a_clock_that_is_set_back_never_reopens_a_phase(world: World):
    anna = world.team("Anna's")
    world.clock.now = OPEN.ends
    for now in (OPEN.ends, MIDNIGHT):
        world.clock.now = now
        for ledger in (world.ledger, world.another()):  # also after a restart
            with pytest.raises(Refused, match="it is closed now"):
                ledger.begin("table", OPEN, anna, team=anna.team, file=("a.csv", 9))


def test_a_clock_that_is_set_back_gives_no_quota_back(world: World):
    anna = world.team("Anna's")
    world.clock.now = MIDNIGHT + DAY
    for _ in range(3):
        world.sent(anna)
    world.clock.now = MIDNIGHT
    with pytest.raises(Refused, match="less than 3 submissions today"):
        world.sent(anna)


def test_leases_end_while_the_clock_is_behind_also_after_a_restart(databases, hands: Hands, monkeypatch):
    monkeypatch.setattr(database, "Moments", lambda clock: Moments(clock, lambda: hands.pace))
    world = World(databases.url(), clock=lambda: hands.wall)
    number = world.sent(world.team("Anna's"))
    assert world.ledger.claim("one").id == number
    hands.pass_by(SECOND, jump=-HOUR)
    ledgers = (world.ledger, world.another())
    assert [ledger.claim("two") for ledger in ledgers] == [None, None]
    hands.pass_by(LEASE + 1)
    assert {ledger._anything() for ledger in ledgers} == {True}
    assert ledgers[1].claim("two").id == number


def test_a_clock_that_ran_ahead_is_forgiven_by_an_organiser_in_all_processes(world: World):
    host, other = world.user("organiser"), world.another()
    world.clock.now += 365 * DAY
    assert world.ledger.now() == other.now() == MIDNIGHT + 365 * DAY
    world.clock.now = MIDNIGHT + HOUR
    assert other.now() >= MIDNIGHT + 365 * DAY
    assert world.ledger.ahead() >= 364 * DAY
    world.ledger.set_clock(host)
    assert (world.ledger.now(), other.now(), world.another().now()) == (MIDNIGHT + HOUR,) * 3
    assert world.ledger.ahead() == 0
    assert world.ledger.audit()[0].action == "set the clock"


def test_a_score_in_the_order_of_moments(world: World):
    anna = world.team("Anna's")
    numbers = []
    for step in (10, -1000, 5):
        world.clock.now += step
        numbers.append(world.scored(anna, 1.0))
    moments = [world.ledger.scores(number)[0].at for number in numbers]
    assert moments == sorted(moments)
    assert world.ledger.log_size() == 3
