"""The rules of quotas, as truths: what is charged, what is refunded, and that nobody slips past them."""

from __future__ import annotations

import threading

import pytest

from shiftbench.challenge.store.records import DAY, HOUR, UPLOAD_LASTS, UPLOAD_RESTS, Quota, Refused

from .world import HIDDEN, MIDNIGHT, OPEN, World, score


def used(world: World, user) -> int:
    return world.ledger.quota("table", OPEN, user.team).used


def test_a_score_and_what_waits_for_one_are_charged(world: World):
    anna = world.team("Anna's")
    world.scored(anna, 1.0)
    world.sent(anna)
    world.ledger.begin("table", OPEN, anna, team=anna.team, file=("a.csv", 9))
    assert world.ledger.quota("table", OPEN, anna.team) == Quota(
        3, 3, 0, 2, MIDNIGHT + DAY, unfinished=1, frees=MIDNIGHT + UPLOAD_RESTS
    )  # fmt: skip
    told = (
        r"less than 3 submissions today \(UTC\), found 3, 1 of them unfinished uploads\. Wait until 2023-11-15 "
        r"01:00:00 UTC, or discard an unfinished upload: the page Submissions"
    )
    with pytest.raises(Refused, match=told):
        world.sent(anna)


def test_a_discarded_upload_frees_its_quota_at_once_and_a_full_day_frees_at_midnight(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    first = ledger.begin("table", OPEN, anna, team=anna.team, file=("a.csv", 9))
    world.clock.now += HOUR // 2
    second = ledger.begin("table", OPEN, anna, team=anna.team, file=("b.csv", 9))
    world.sent(anna)
    assert [(each.id, each.ends) for each in ledger.unfinished(anna)] == [
        (second.id, world.clock.now + UPLOAD_RESTS), (first.id, MIDNIGHT + UPLOAD_RESTS),
    ]  # fmt: skip
    assert ledger.quota("table", OPEN, anna.team).frees == MIDNIGHT + UPLOAD_RESTS
    ledger.abandon(first.id)
    assert ledger.quota("table", OPEN, anna.team).frees is None
    world.sent(anna)
    ledger.abandon(second.id)
    world.sent(anna)
    assert ledger.unfinished(anna) == []
    with pytest.raises(Refused, match=r"found 3\. Wait until 2023-11-16 00:00:00 UTC\.$"):
        world.sent(anna)


def test_others_see_no_unfinished_upload_of_a_team(world: World):
    anna, ben, ledger = world.team("Anna's"), world.user(), world.ledger
    upload = ledger.begin("table", OPEN, anna, team=anna.team, file=("a.csv", 9))
    assert ledger.unfinished(ben) == ledger.unfinished(world.team("Ben's")) == []
    ledger.join(ledger.code(anna.team), ben.id)
    assert ledger.unfinished(ledger.user(ben.id)) == [upload]
    assert ledger.unfinished() == [upload]  # for organisers
    world.clock.now += UPLOAD_RESTS
    assert ledger.unfinished(anna) == ledger.unfinished() == []


def test_the_audit_tells_which_upload_of_another_team_an_organiser_gave_up(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    for by in (anna, host):
        ledger.abandon(ledger.begin("table", OPEN, anna, team=anna.team, file=("a.csv", 9)).id, by)
    ledger.abandon("nothing", host)
    assert [(act.user, act.action) for act in ledger.audit()] == [(host.id, "discarded an upload")]


def test_an_undefined_score_is_charged_too(world: World):
    anna = world.team("Anna's")
    world.scored(anna, float("nan"))
    assert used(world, anna) == 1


def test_cancelled_ones_and_our_own_faults_are_refunded(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    ledger.cancel(world.sent(anna), anna)
    ledger.stop(world.sent(anna), host)
    number = world.sent(anna)
    assert ledger.claim("w").id == number
    assert ledger.fail(number, "w", "ours", ["the scorer stopped"])
    assert ledger.quota("table", OPEN, anna.team) == Quota(0, 3, 0, 2, MIDNIGHT + DAY)


def test_failures_cost_no_quota_and_have_a_cap_of_their_own_for_an_hour(world: World):
    anna = world.team("Anna's")
    for _ in range(2):
        world.sent(anna)
        world.work(None)
    assert world.ledger.quota("table", OPEN, anna.team) == Quota(0, 3, 2, 2, MIDNIGHT + DAY, 0, MIDNIGHT + HOUR)
    with pytest.raises(
        Refused, match=r"less than 2 failures in the last hour, found 2\. Wait until 2023-11-15 01:00:00 UTC\."
    ):
        world.sent(anna)
    world.clock.now += HOUR
    assert world.sent(anna)


def test_a_submission_counts_for_the_day_of_its_first_byte(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    world.clock.now = MIDNIGHT + DAY - 1
    upload = ledger.begin("table", OPEN, anna, team=anna.team, file=("a.csv", 9))
    assert used(world, anna) == 1
    world.clock.now = MIDNIGHT + DAY
    assert ledger.complete(upload.id, "0" * 64)
    assert used(world, anna) == 0


def test_teams_boards_and_phases_have_quotas_of_their_own(world: World):
    anna, ben, ledger = world.team("Anna's"), world.team("Ben's"), world.ledger
    for _ in range(3):
        world.sent(anna)
    assert used(world, ben) == 0
    assert ledger.quota("other", OPEN, anna.team).used == ledger.quota("table", HIDDEN, anna.team).used == 0


def test_scoring_again_charges_nothing_more_and_a_fault_then_refunds_nothing(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    number = world.scored(anna, 1.0)
    assert ledger.rescore("table", "development", host) == 1
    assert used(world, anna) == 1
    assert ledger.claim("w").id == number
    assert ledger.fail(number, "w", "ours", ["the scorer stopped"])
    assert used(world, anna) == 1


def test_references_are_free_of_quota_and_of_dates(world: World):
    world.clock.now = OPEN.ends + 1
    send = [("table", OPEN, "Mean", {"file": ("mean.csv", 9), "sha256": f"{n:064x}"}) for n in (1, 2, 3, 4, 5, 5)]
    numbers = [world.ledger.reference(*place, **what) for *place, what in send]
    assert numbers == [1, 2, 3, 4, 5, 5]  # the same content is the same submission


def test_many_uploads_at_once_do_not_slip_past(world: World):
    anna, refused = world.team("Anna's"), []

    def begin() -> None:
        try:
            world.ledger.begin("table", OPEN, anna, team=anna.team, file=("a.csv", 9))
        except Refused:
            refused.append(1)

    threads = [threading.Thread(target=begin) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (used(world, anna), len(refused)) == (3, 9)


def test_an_upload_that_rests_gives_its_place_back_and_can_never_become_a_submission(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    upload = ledger.begin("table", OPEN, anna, team=anna.team, file=("a.csv", 9))
    world.clock.now += UPLOAD_RESTS
    assert used(world, anna) == 0
    assert not ledger.received(upload.id, 0, 9)
    with pytest.raises(Refused, match="expected an upload that is not over"):
        ledger.complete(upload.id, "0" * 64)
    assert ledger.forgotten() == [upload.id]
    with pytest.raises(Refused, match="expected an upload that exists"):
        ledger.upload(upload.id)


def test_a_slow_upload_goes_on_while_bytes_come_for_a_day_at_most(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    upload = ledger.begin("table", OPEN, anna, team=anna.team, file=("a.csv", 99))
    step = UPLOAD_RESTS - 1
    for n in range(UPLOAD_LASTS // step):
        world.clock.now += step
        assert ledger.received(upload.id, n, 1)
    world.clock.now += step
    assert not ledger.received(upload.id, n + 1, 1)


def test_a_submission_given_back_to_the_queue_is_charged_once(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    number = world.sent(anna)
    world.work(None)
    ledger.requeue(number, host)
    assert used(world, anna) == 1
    assert world.work(score(1.0)) == number
    assert used(world, anna) == 1


def test_a_disqualified_team_is_told_all_reasons(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    for _ in range(3):
        world.sent(anna)
    ledger.disqualify(anna.team, "two accounts", host)
    with pytest.raises(Refused, match="found it disqualified: two accounts\nexpected less than 3 submissions today"):
        world.sent(anna)
