"""Boards: who is on them, in which order, with which number; and what counts at the end."""

from __future__ import annotations

import pytest

from .world import HIDDEN, OPEN, World, score


def test_the_best_score_of_each_team_the_best_first_and_equal_ones_share_a_rank(world: World):
    for name, values in {"A": (3.0, 1.0), "B": (2.0,), "C": (1.0, 9.0), "D": (4.0,)}.items():
        team = world.team(name)
        for value in values:
            world.scored(team, value, low=value - 1, high=value + 1)
    rows = world.ledger.board("table", "development", better="min")
    assert [(row.rank, row.team, row.score, row.low) for row in rows] == [
        (1, "A", 1.0, 0.0), (1, "C", 1.0, 0.0), (3, "B", 2.0, 1.0), (4, "D", 4.0, 3.0),
    ]  # fmt: skip
    best = world.ledger.board("table", "development", better="max")
    assert [(row.rank, row.team, row.score) for row in best] == [
        (1, "C", 9.0),
        (2, "D", 4.0),
        (3, "A", 3.0),
        (4, "B", 2.0),
    ]


def test_what_has_no_score_is_never_ranked(world: World):
    anna = world.team("Anna's")
    world.sent(anna)
    world.work(None)
    world.sent(anna)
    world.ledger.stop(2, world.user("organiser"))
    world.sent(anna)
    assert world.ledger.board("table", "development", better="min") == []


def test_references_have_no_rank_and_take_none(world: World):
    ledger = world.ledger
    ledger.reference("table", OPEN, "Mean", file=("mean.csv", 9), sha256="0" * 64)
    world.work(score(1.0))
    for name, value in (("A", 0.5), ("B", 2.0)):
        world.scored(world.team(name), value)
    rows = ledger.board("table", "development", better="min")
    assert [(row.rank, row.team, row.reference) for row in rows] == [
        (1, "A", False),
        (None, "Mean", True),
        (2, "B", False),
    ]


def test_a_disqualified_team_leaves_the_board_until_it_is_reinstated(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    world.scored(anna, 1.0)
    ledger.disqualify(anna.team, "two accounts", host)
    assert ledger.board("table", "development", better="min") == []
    assert ledger.chosen("table", "development", better="min") == []
    assert ledger.disqualified() == [("Anna's", "two accounts")]
    ledger.reinstate(anna.team, host)
    assert len(ledger.board("table", "development", better="min")) == 1
    assert [act.subject for act in ledger.audit()] == ["Anna's", "Anna's: two accounts"]


def test_a_board_shows_one_version_of_the_labels(world: World):
    anna, ben, ledger = world.team("Anna's"), world.team("Ben's"), world.ledger
    world.scored(anna, 1.0)
    world.scored(ben, 2.0)
    ledger.rescore("table", "development", world.user("organiser"))
    world.work(score(5.0, labels="labels-2"))
    one, two = (ledger.board("table", "development", better="min", labels=f"labels-{n}") for n in (1, 2))
    assert [(row.team, row.score) for row in one] == [("Anna's", 1.0), ("Ben's", 2.0)]
    assert [(row.team, row.score, row.labels) for row in two] == [("Anna's", 5.0, "labels-2")]
    newest = ledger.board("table", "development", better="min")
    assert [(row.team, row.score) for row in newest] == [("Ben's", 2.0), ("Anna's", 5.0)]


@pytest.mark.parametrize("obsolete", [False, True])
def test_labels_that_come_back_show_their_own_scores_on_a_hidden_board(world: World, obsolete: bool):
    anna, ledger, host = world.team("Anna's"), world.ledger, world.user("organiser")
    world.scored(anna, 1.0, HIDDEN)
    for labels, value in (("labels-2", 5.0), ("labels-1", 1.0)):  # corrected, which was wrong, and put back
        if obsolete and labels == "labels-2":
            ledger.obsolete("table", "final", "labels-1", host, "corrected")
        ledger.rescore("table", "final", host)
        world.work(score(value, labels=labels))
    rows = ledger.board("table", "final", better="min", hidden=True)
    assert [(row.team, row.score, row.labels) for row in rows] == [("Anna's", 1.0, "labels-1")]
    (entry,) = ledger.chosen("table", "final", better="min", hidden=True)
    assert (entry.submission, entry.labels, entry.score) == (1, "labels-1", ledger.scores(1)[0].id)


def test_versions_of_labels_are_told_with_their_first_score(world: World):
    anna, ledger, host = world.team("Anna's"), world.ledger, world.user("organiser")
    world.scored(anna, 1.0)
    before = world.clock.now
    world.clock.now += 5
    ledger.rescore("table", "development", host)
    world.work(score(2.0, labels="labels-2"))
    assert ledger.labels("table", "development") == {"labels-1": before, "labels-2": before + 5}
    assert ledger.versions("table", "development", before) == {1: ("labels-1", "scorer-1")}
    assert ledger.versions("table", "development", before + 5) == {1: ("labels-2", "scorer-1")}
    ledger.obsolete("table", "development", "labels-1", host, "corrected")
    assert [*ledger.labels("table", "development")] == ["labels-2"]


def test_the_newest_scores_of_open_phases_come_in_pages(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    numbers = [world.scored(anna, float(n)) for n in range(3)]
    world.scored(anna, 1.0, HIDDEN)
    world.sent(world.team("Ben's"))  # has no score
    first = ledger.newest_scores(limit=2)
    assert [(each.submission.id, each.labels) for each in first] == [(numbers[2], "labels-1"), (numbers[1], "labels-1")]
    (last,) = ledger.newest_scores(before=numbers[1])
    assert (last.submission.id, last.score) == (numbers[0], ledger.scores(numbers[0])[0].id)


def test_a_number_tells_caches_that_a_board_changed(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    world.sent(anna)
    before = ledger.changes()
    ledger.claim("w")
    ledger.heartbeat(1, "w", "scoring")
    ledger.bearer("token", ledger.issue("token", anna.id))
    assert ledger.changes() == before
    assert ledger.finish(1, "w", score(1.0))
    assert ledger.changes() > before


def test_without_a_choice_the_best_shown_one_counts_at_the_end(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    shown = world.scored(anna, 0.50, HIDDEN, noise=0.1)
    best = world.scored(anna, 0.45, HIDDEN, noise=0.1)  # better, but not beyond chance
    ended = {"better": "min", "hidden": True}
    assert [(each.submission, each.chosen) for each in ledger.chosen("table", "final", **ended)] == [(shown, False)]
    ledger.choose(best, anna, HIDDEN)
    assert [(each.submission, each.chosen) for each in ledger.chosen("table", "final", **ended)] == [(best, True)]


def test_submissions_are_listed_by_what_they_are(world: World):
    anna, ben, ledger = world.team("Anna's"), world.team("Ben's"), world.ledger
    numbers = [world.sent(anna), world.sent(ben), world.sent(anna, HIDDEN)]
    world.work(score(1.0))

    def found(**wanted: object) -> list[int]:
        return [each.id for each in ledger.submissions(**wanted)]

    assert found() == numbers[::-1]
    assert found(team=anna.team) == [3, 1]
    assert found(board="table", phase="final") == [3]
    assert found(states=("uploaded",), limit=1) == [3]
    assert found(before=3, states=("uploaded",)) == [2]


MADE = "id, board, phase, hidden, team, name, size, sha256, begun, queued"
SCORED = "id, submission, labels, scorer, value, shown, climbed, notes, at, receipt"
NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000)"


@pytest.mark.parametrize("better", ["min", "max"])
def test_a_board_of_a_thousand_teams_is_in_order(databases, better):
    world = World(databases.url())
    value, made = "n * 7 - 1000 * (n * 7 / 1000)", "n, 'table', 'development', false, n, 'a', 1, 'x', n, n"
    with world.ledger._writing() as (c, _):
        for table, columns, values in (
            ("teams", "id, name, code, reference", "n, 'team ' || n, 'code ' || n, false"),
            ("submissions", f"{MADE}, state, problems, chosen, tries, score", f"{made}, 'scored', '[]', false, 1, n"),
            ("scores", SCORED, f"n, n, 'l', 's', {value}, {value}, true, '[]', n, n"),
        ):
            c.exec_driver_sql(f"INSERT INTO {table} ({columns}) {NUMBERS} SELECT {values} FROM numbers")
    rows = world.ledger.board("table", "development", better=better)
    assert [row.rank for row in rows] == list(range(1, 1001))
    assert [row.score for row in rows] == sorted((row.score for row in rows), reverse=better == "max")
