"""Tries of passwords are counted for all processes, across restarts, in bounded room, and keep nobody out for long."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select

from shiftbench.challenge.store import schema
from shiftbench.challenge.store.records import DAY, SECOND, Allowance

from .world import World

PAIR, ACCOUNT = Allowance("pair", "192.0.2.1 anna@example.org", 3), Allowance("account", "anna@example.org", 5, 3_600)


def kept(world: World) -> list[tuple[str, float]]:
    with world.ledger.engine.connect() as c:
        return [tuple(row) for row in c.execute(select(schema.tries.c.key, schema.tries.c.rest))]


def test_what_one_process_counts_another_and_the_next_one_know(world: World):
    other = world.another()
    assert [each.take(PAIR) for each in (world.ledger, other, world.ledger, other)] == [None, None, None, PAIR]
    assert world.another().take(PAIR) == PAIR


def test_allowances_come_back_one_by_one(world: World):
    assert [world.ledger.take(PAIR) for _ in range(4)] == [None] * 3 + [PAIR]
    world.clock.now += 20 * SECOND
    assert [world.ledger.take(PAIR) for _ in range(2)] == [None, PAIR]
    world.clock.now += 60 * SECOND
    assert [world.ledger.take(PAIR) for _ in range(4)] == [None] * 3 + [PAIR]


def test_what_is_refused_is_not_counted_for_any(world: World):
    for _ in range(3):
        assert world.ledger.take(PAIR, ACCOUNT) is None
    before = kept(world)
    for _ in range(9):
        assert world.ledger.take(PAIR, ACCOUNT) is PAIR
    assert kept(world) == before
    assert [world.ledger.take(ACCOUNT) for _ in range(3)] == [None, None, ACCOUNT]


def test_what_is_given_back_is_there_again_and_no_more(world: World):
    assert world.ledger.take(PAIR, ACCOUNT) is None
    for _ in range(5):
        world.ledger.give_back(PAIR, ACCOUNT)
    assert [world.ledger.take(PAIR) for _ in range(4)] == [None] * 3 + [PAIR]


def test_of_many_at_once_as_many_pass_as_there_are(world: World):
    ledgers = [world.ledger, world.another()]
    wanted = Allowance("account", "anna@example.org", 7, 3_600)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda n: ledgers[n % 2].take(wanted), range(30)))
    assert found.count(None) == 7


def test_what_is_kept_is_forgotten_when_it_is_whole_and_never_grows_beyond_its_room(
    world: World, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(type(world.ledger), "MOST_TRIES_KEPT", 4)
    assert world.ledger.take(ACCOUNT) is None
    for n in range(12):
        world.clock.now += 1
        assert world.ledger.take(PAIR._replace(key=f"address {n}")) is None
        assert len(kept(world)) <= 4
    assert [world.ledger.take(ACCOUNT) for _ in range(5)] == [None] * 4 + [ACCOUNT]  # what lasts longest stays
    world.clock.now += DAY
    assert world.ledger.take(PAIR) is None
    assert len(kept(world)) == 1


def test_a_clock_that_ran_ahead_keeps_nobody_out_afterwards(world: World):
    right, host = world.clock.now, world.user("organiser")
    world.clock.now += 300 * DAY
    assert [world.ledger.take(PAIR) for _ in range(4)] == [None] * 3 + [PAIR]
    world.clock.now = right
    world.ledger.set_clock(host)
    assert [world.ledger.take(PAIR) for _ in range(4)] == [None] * 3 + [PAIR]


def test_neither_addresses_nor_accounts_are_stored_or_exported(world: World):
    world.ledger.take(PAIR, ACCOUNT)
    assert not any("anna" in key or "192" in key for key, _ in kept(world))
    assert not any('"tries"' in line for line in world.ledger.export())
