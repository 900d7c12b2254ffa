"""The log of scores: dense, canonical, in the transaction of each score, and never a sealed number."""

from __future__ import annotations

import json
import math

import pytest

from shiftbench.challenge import merkle

from .world import HIDDEN, MIDNIGHT, World, score


def test_every_score_has_one_entry_in_the_order_of_scoring(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    for value in (1.5, math.nan):
        world.scored(anna, value, manifest="m" * 64)
    assert (ledger.log_size(), [ledger.scores(n)[0].receipt for n in (1, 2)]) == (2, [0, 1])
    first = {
        "number": 0, "submission": 1, "board": "table", "phase": "development", "team": "Anna's", "at": MIDNIGHT,
        "sha256": ledger.submission(1).sha256, "manifest": "m" * 64, "labels": "labels-1", "scorer": "scorer-1",
        "score": 1.5,
    }  # fmt: skip
    entries = ledger.log()
    assert [json.loads(entry) for entry in entries] == [
        first,
        {**first, "number": 1, "submission": 2, "score": None, "sha256": ledger.submission(2).sha256},
    ]
    assert entries[0] == json.dumps(first, sort_keys=True, separators=(",", ":"))


def test_the_log_tells_what_the_ladder_shows_and_no_more(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    world.scored(anna, 0.5123, HIDDEN, noise=0.1)
    world.scored(anna, 0.4987, HIDDEN, noise=0.1)
    assert [json.loads(entry)["score"] for entry in ledger.log()] == pytest.approx([0.5, 0.5])


def test_pages_of_the_log_and_its_tree_grow(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    tree = merkle.Tree()
    for n in range(3):
        world.scored(anna, float(n))
        (entry,) = ledger.log(first=n)
        tree.append(entry.encode())
    assert ledger.log(first=1, limit=1) == ledger.log()[1:2]
    assert merkle.Tree(merkle.leaf_hash(entry.encode()) for entry in ledger.log()).root() == tree.root()
    assert ledger.log(first=3) == []


def test_failures_have_no_entry(world: World):
    world.sent(world.team("Anna's"))
    world.work(None)
    assert world.ledger.log_size() == 0


def test_scoring_again_appends_and_changes_nothing_before(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    world.scored(anna, 1.0)
    before = ledger.log()
    ledger.rescore("table", "development", world.user("organiser"))
    world.work(score(2.0, labels="labels-2"))
    ledger.obsolete("table", "development", "labels-1", world.user("organiser"), "wrong")
    assert ledger.log()[:1] == before
    assert ledger.log_size() == 2
