"""The way of a submission through the queue, and the Ladder of its team."""

from __future__ import annotations

import math
import threading
from dataclasses import replace

import pytest

from shiftbench.challenge.store.records import ENDED_WORKERS, LEASE, MOST_TRIES, Ladder, Refused
from shiftbench.errors import SettingsError

from .world import HIDDEN, OPEN, World, score


def test_the_oldest_is_claimed_first_and_once(world: World):
    anna, ben = world.team("Anna's"), world.team("Ben's")
    numbers = [world.sent(anna), world.sent(ben), world.sent(anna)]
    claimed = [world.ledger.claim("w") for _ in range(4)]
    assert [each and each.id for each in claimed] == [*numbers, None]
    assert claimed[0] == replace(world.ledger.submission(numbers[0]), state="validating")


def test_many_workers_never_take_one_job_twice(world: World):
    anna = world.team("Anna's")
    numbers = [world.sent(anna, HIDDEN) for _ in range(3)] + [world.sent(anna) for _ in range(3)]
    found: list[int] = []

    def work(name: str) -> None:
        ledger = world.another()
        while (claimed := ledger.claim(name)) is not None or len(found) < len(numbers):
            if claimed is not None:
                found.append(claimed.id)
                assert ledger.finish(claimed.id, name, score(1.0))
        ledger.close()

    threads = [threading.Thread(target=work, args=(f"w{n}",)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == numbers
    assert [len(world.ledger.scores(number)) for number in numbers] == [1] * 6


def test_of_a_team_and_a_hidden_phase_one_is_worked_on_at_a_time(world: World):
    anna, ben, ledger = world.team("Anna's"), world.team("Ben's"), world.ledger
    first, second, other = world.sent(anna, HIDDEN), world.sent(anna, HIDDEN), world.sent(ben, HIDDEN)
    assert [ledger.claim("w").id, ledger.claim("w").id, ledger.claim("w")] == [first, other, None]
    assert ledger.finish(first, "w", score(1.0))
    assert ledger.claim("w").id == second


def test_a_lease_that_ends_gives_the_job_to_another_and_the_first_can_finish_nothing(world: World):
    number, ledger = world.sent(world.team("Anna's")), world.ledger
    assert ledger.claim("one").id == number
    world.clock.now += LEASE
    assert ledger.heartbeat(number, "one", "scoring")
    world.clock.now += LEASE + 1
    assert ledger.claim("two").id == number
    assert not ledger.heartbeat(number, "one", "scoring")
    assert not ledger.finish(number, "one", score(1.0))
    assert not ledger.fail(number, "one", "ours", ["x"])
    assert ledger.finish(number, "two", score(2.0))
    assert not ledger.finish(number, "two", score(3.0))
    assert ledger.submission(number).score == 2.0


def test_a_worker_that_was_cut_off_goes_on_if_nobody_took_its_job(world: World):
    number, ledger = world.sent(world.team("Anna's")), world.ledger
    ledger.claim("one")
    world.clock.now += 2 * LEASE
    assert not ledger.finish(number, "one", score(1.0))
    assert ledger.heartbeat(number, "one", "scoring")
    assert ledger.finish(number, "one", score(1.0))


def test_what_ends_its_workers_again_and_again_counts_as_a_failure_and_the_organiser_is_told(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    number = world.sent(anna)
    for _ in range(MOST_TRIES):
        assert ledger.claim("w").id == number
        world.clock.now += LEASE + 1
    assert ledger.claim("w") is None
    found = ledger.submission(number)
    assert (found.state, found.fault, found.problems) == ("failed", "submission", (ENDED_WORKERS,))
    quota = ledger.quota("table", OPEN, anna.team)
    assert (quota.used, quota.failures) == (0, 1)
    assert [(act.user, act.action, act.subject.partition(":")[0]) for act in ledger.audit()] == [
        (None, "gave up", f"submission {number}")
    ]
    ledger.requeue(number, world.user("organiser"))
    assert ledger.quota("table", OPEN, anna.team).failures == 0


def test_a_worker_that_finds_nothing_writes_nothing(world: World):
    before = world.ledger._rows(_everything())
    world.clock.now += 10
    assert world.ledger.claim("w") is None
    assert world.ledger._rows(_everything()) == before


def _everything():
    from sqlalchemy import select

    from shiftbench.challenge.store import schema

    return select(schema.clock)


def test_a_team_takes_back_what_waits_and_nothing_else(world: World):
    anna, ben, ledger = world.team("Anna's"), world.team("Ben's"), world.ledger
    number = world.sent(anna)
    with pytest.raises(Refused, match="of your team that waits"):
        ledger.cancel(number, ben)
    ledger.cancel(number, anna)
    assert (ledger.submission(number).state, ledger.claim("w")) == ("cancelled", None)
    claimed, done = world.sent(anna), world.sent(anna)
    ledger.claim("w")
    for other in (claimed, number):
        with pytest.raises(Refused, match="of your team that waits"):
            ledger.cancel(other, anna)
    assert world.work(score(1.0)) == done
    ledger.rescore("table", "development", world.user("organiser"))
    with pytest.raises(Refused, match="of your team that waits"):  # it has a score already
        ledger.cancel(done, anna)


def test_organisers_end_and_requeue_and_the_worker_notices(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    number = world.sent(anna)
    ledger.claim("w")
    ledger.stop(number, host)
    assert not ledger.finish(number, "w", score(1.0))
    ledger.requeue(number, host)
    assert world.work(score(1.0)) == number
    with pytest.raises(Refused, match="that failed or waits"):
        ledger.requeue(number, host)
    with pytest.raises(Refused, match="in the queue"):
        ledger.stop(number, host)
    assert [act.action for act in ledger.audit()] == ["requeued", "ended"]


def test_other_labels_and_another_scorer_make_scores_beside_the_old_ones(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    number = world.scored(anna, 1.0)
    assert ledger.rescore("table", "development", host) == 1
    assert [row.score for row in ledger.board("table", "development", better="min")] == [1.0]
    world.work(score(2.0, labels="labels-2"))
    assert [(each.value, each.labels) for each in ledger.scores(number)] == [(2.0, "labels-2"), (1.0, "labels-1")]
    assert ledger.submission(number).score == 2.0


def test_new_submissions_do_not_wait_for_what_is_scored_again(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    old = world.scored(anna, 1.0)
    ledger.rescore("table", "development", host)
    new = world.sent(anna)
    assert [world.work(score(1.0)), world.work(score(1.0))] == [new, old]


def test_obsolete_scores_leave_the_board_and_stay_in_the_ledger(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    number = world.scored(anna, 1.0)
    assert ledger.obsolete("table", "development", "labels-1", host, "two labels were swapped") == 1
    assert ledger.board("table", "development", better="min") == []
    assert ledger.scores(number)[0].obsolete == ledger.submission(number).obsolete == "two labels were swapped"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_an_undefined_score_is_stored_as_none_and_never_ranked(world: World, value):
    anna, ledger = world.team("Anna's"), world.ledger
    number = world.scored(anna, value)
    assert (ledger.submission(number).state, ledger.submission(number).score) == ("scored", None)
    world.scored(anna, value, HIDDEN)
    assert ledger.board("table", "development", better="min") == []
    assert ledger.board("table", "final", better="min", hidden=True) == []


# The Ladder


def test_a_hidden_phase_answers_only_improvements_beyond_chance(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    numbers = [world.scored(anna, value, HIDDEN, noise=0.05) for value in (0.512, 0.511, 0.48, 0.41, 0.60)]
    shown = [ledger.submission(number).score for number in numbers]
    assert shown == pytest.approx([0.51, 0.51, 0.51, 0.41, 0.41])
    assert [ledger.submission(number).climbed for number in numbers] == [True, False, False, True, False]
    assert ledger.ladder("table", "final", anna.team, "labels-1") == Ladder(pytest.approx(0.41), numbers[3])
    (row,) = ledger.board("table", "final", better="min", hidden=True)
    assert (row.score, row.submission, row.low, row.high) == (pytest.approx(0.41), numbers[3], None, None)


def test_larger_is_better_where_the_metric_says_so(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    for value in (0.5, 0.9, 0.7):
        world.scored(anna, value, HIDDEN, noise=0.01, better="max")
    assert ledger.ladder("table", "final", anna.team, "labels-1").shown == pytest.approx(0.9)
    assert [row.score for row in ledger.board("table", "final", better="max", hidden=True)] == pytest.approx([0.9])


def test_every_team_and_every_version_of_the_labels_has_a_ladder_of_its_own(world: World):
    anna, ben, ledger = world.team("Anna's"), world.team("Ben's"), world.ledger
    number = world.scored(anna, 0.5, HIDDEN)
    assert ledger.ladder("table", "final", ben.team, "labels-1") is None
    assert ledger.ladder("table", "final", anna.team, "labels-2") is None
    ledger.rescore("table", "final", world.user("organiser"))
    world.work(score(0.7, labels="labels-2"))
    assert ledger.ladder("table", "final", anna.team, "labels-2") == Ladder(0.7, number)


def test_scoring_the_same_labels_again_tells_nothing_new(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    number = world.scored(anna, 0.5123, HIDDEN, noise=0.01)
    ledger.rescore("table", "final", world.user("organiser"))
    world.work(score(0.5100, noise=0.01))
    assert [(each.shown, each.climbed) for each in ledger.scores(number)] == [(0.51, False), (0.51, True)]


def test_a_phase_that_shows_everything_rounds_nothing(world: World):
    anna = world.team("Anna's")
    number = world.scored(anna, 0.123456, OPEN, noise=10.0)
    assert world.ledger.submission(number).score == 0.123456


def test_noise_that_is_no_number_stores_nothing(world: World):
    number, ledger = world.sent(world.team("Anna's"), HIDDEN), world.ledger
    ledger.claim("w")
    with pytest.raises(SettingsError, match="noise"):
        ledger.finish(number, "w", score(1.0, noise=math.nan))
    assert (ledger.submission(number).state, ledger.scores(number), ledger.log_size()) == ("validating", [], 0)
