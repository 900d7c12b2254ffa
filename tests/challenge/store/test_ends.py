"""Choices, and what organisers do about a phase that has ended; every act is in the audit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import pytest

from shiftbench.challenge.store.records import Announcement, CommandLine, Final, Refused, User

from .world import HIDDEN, MIDNIGHT, OPEN, World, score

RANKING = [{"rank": 1, "team": "Anna's", "low": 0.1, "tied": []}]


def test_a_team_chooses_as_many_as_the_phase_takes(world: World):
    anna, ledger, two = world.team("Anna's"), world.ledger, replace(OPEN, entries=2)
    numbers = [world.sent(anna) for _ in range(3)]
    for number in (*numbers[:2], numbers[0]):
        ledger.choose(number, anna, two)
    with pytest.raises(Refused, match=r"expected at most 2 chosen submissions, found 1, 2\. Take one back first"):
        ledger.choose(numbers[2], anna, two)
    ledger.choose(numbers[0], anna, two, chosen=False)
    ledger.choose(numbers[2], anna, two)
    assert [ledger.submission(number).chosen for number in numbers] == [False, True, True]


def test_a_choice_that_failed_makes_room_for_another(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    failed = world.sent(anna)
    ledger.choose(failed, anna, OPEN)
    world.work(None)
    ledger.choose(world.scored(anna, 1.0), anna, OPEN)
    with pytest.raises(Refused, match="found one that is failed"):
        ledger.choose(failed, anna, OPEN)
    assert [each.submission for each in ledger.chosen("table", "development", better="min")] == [2]


def test_nobody_chooses_for_others_in_another_phase_or_after_the_end(world: World):
    anna, ben, ledger = world.team("Anna's"), world.team("Ben's"), world.ledger
    number = world.sent(anna)
    for user, phase in ((ben, OPEN), (anna, HIDDEN)):
        with pytest.raises(Refused, match="expected a submission of your team to this phase"):
            ledger.choose(number, user, phase)
    world.clock.now = OPEN.ends
    with pytest.raises(Refused, match="it is closed now"):
        ledger.choose(number, anna, OPEN)


def test_a_phase_is_concluded_after_its_end_with_an_empty_queue(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    world.sent(anna)
    with pytest.raises(Refused, match="expected a phase that has ended, found development open"):
        ledger.conclude("table", OPEN, RANKING, host)
    world.clock.now = OPEN.ends
    with pytest.raises(Refused, match="expected an empty queue of the phase development, found 1 submission"):
        ledger.conclude("table", OPEN, RANKING, host)
    world.work(score(1.0))
    assert ledger.final("table", "development") is None
    ledger.conclude("table", OPEN, RANKING, host)
    assert ledger.final("table", "development") == Final(OPEN.ends, RANKING)
    ledger.conclude("table", OPEN, [], host)
    assert ledger.final("table", "development") == Final(OPEN.ends, [])
    assert [act.action for act in ledger.audit()] == ["concluded", "concluded"]


@pytest.mark.parametrize("act", ["conclude", "release"])
def test_an_upload_begun_in_time_is_over_once_more_is_known(world: World, act: str):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    assert anna.team is not None
    upload = ledger.begin("table", HIDDEN, anna, team=anna.team, file=("answers.csv", 9))
    other = ledger.begin("table", replace(OPEN, ends=None), anna, team=anna.team, file=("answers.csv", 9))
    world.clock.now = HIDDEN.ends
    {"conclude": lambda: ledger.conclude("table", HIDDEN, [], host),
     "release": lambda: ledger.release("table", HIDDEN, host)}[act]()  # fmt: skip
    assert not ledger.received(upload.id, 0, 9)
    with pytest.raises(Refused, match="expected an upload that is not over"):
        ledger.complete(upload.id, "0" * 64)
    assert ledger.forgotten() == sorted([upload.id, other.id])  # the other one rested for days


def test_final_scores_and_ranks_are_lines_of_the_log_that_receipts_show(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    number = world.scored(anna, 1.2345, HIDDEN, noise=0.5)
    before = ledger.scores(number)[0].receipt
    world.clock.now = HIDDEN.ends
    ledger.conclude("table", HIDDEN, {"rows": [{"submission": number, "rank": 1, "score": 1.2345}]}, host)
    after = ledger.scores(number)[0].receipt
    told, final = (json.loads(ledger.log(place, 1)[0]) for place in (before, after))
    assert (after, told["score"], final["score"], final["rank"], final["final"]) == (before + 1, 1.2, 1.2345, 1, True)
    assert {name: final[name] for name in ("board", "phase", "team", "sha256", "labels")} == {
        name: told[name] for name in ("board", "phase", "team", "sha256", "labels")
    }


def test_a_reference_has_no_rank_in_the_log(world: World):
    host, ledger = world.user("organiser"), world.ledger
    ledger.reference("table", HIDDEN, "Mean", file=("mean.csv", 9), sha256="0" * 64)
    number = world.work(score(1.0))
    world.clock.now = HIDDEN.ends
    row = {"submission": number, "rank": None, "score": 1.0}
    ledger.conclude("table", HIDDEN, {"rows": [row], "scorer": "scorer-2"}, host)
    line = json.loads(ledger.log(1, 1)[0])
    assert (line["final"], line["rank"], line["scorer"]) == (True, None, "scorer-2")  # of whom the final score is


def test_a_final_line_names_the_labels_of_its_ranking_though_a_newer_score_is_obsolete(world: World):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    world.scored(anna, 1.0, HIDDEN)
    ledger.rescore("table", "final", host)
    world.work(score(2.0, labels="labels-2"))  # which were wrong: the first ones are sealed again
    ledger.obsolete("table", "final", "labels-2", host, "wrong")
    world.clock.now = HIDDEN.ends
    entries = ledger.chosen("table", "final", better="min", hidden=True)
    assert [each.labels for each in entries] == ["labels-1"]
    ranking = {"rows": [{"submission": 1, "rank": 1, "score": 1.0}], "labels": "labels-1", "scorer": "scorer-1"}
    ledger.conclude("table", HIDDEN, ranking, host, entries=entries)
    line = json.loads(ledger.log(2, 1)[0])
    assert (line["final"], line["labels"], line["score"]) == (True, "labels-1", 1.0)


def _disqualified(world: World, team: User) -> None:
    world.ledger.disqualify(int(team.team or 0), "two accounts", world.user("organiser"))


def _scored_again(world: World, _team: User) -> None:
    world.ledger.rescore("table", "final", world.user("organiser"))
    world.work(score(2.0, labels="labels-2"))


def _obsolete(world: World, _team: User) -> None:
    world.ledger.obsolete("table", "final", "labels-1", world.user("organiser"), "wrong")


@pytest.mark.parametrize("act", [_disqualified, _scored_again, _obsolete])
def test_a_ranking_of_what_changed_while_it_was_made_is_not_stored(world: World, act: Callable[[World, User], None]):
    anna, host, ledger = world.team("Anna's"), world.user("organiser"), world.ledger
    world.scored(anna, 1.0, HIDDEN)
    world.clock.now = HIDDEN.ends
    entries, size = ledger.chosen("table", "final", better="min", hidden=True), ledger.log_size()
    ranking = {"rows": [{"submission": entries[0].submission, "rank": 1, "score": 1.0}]}
    act(world, anna)
    with pytest.raises(Refused, match=r"something changed meanwhile\. Conclude again"):
        ledger.conclude("table", HIDDEN, ranking, host, entries=entries)
    assert ledger.final("table", "final") is None
    assert ledger.log_size() - size == (act is _scored_again)  # no line of a final score
    now = ledger.chosen("table", "final", better="min", hidden=True)
    ledger.conclude("table", HIDDEN, {"rows": []}, host, entries=now)


def test_a_phase_without_end_is_never_concluded_nor_released(world: World):
    host, endless = world.user("organiser"), replace(OPEN, ends=None)
    for act in (
        lambda: world.ledger.conclude("table", endless, [], host),
        lambda: world.ledger.release("table", endless, host),
    ):
        with pytest.raises(Refused, match="expected a phase that has ended"):
            act()


def test_labels_are_released_once_after_the_end(world: World):
    host, ledger = world.user("organiser"), world.ledger
    with pytest.raises(Refused, match="expected a phase that has ended"):
        ledger.release("table", OPEN, host)
    assert ledger.released("table", "development") is None
    world.clock.now = OPEN.ends
    ledger.release("table", OPEN, host)
    world.clock.now += 1
    ledger.release("table", OPEN, host)
    assert ledger.released("table", "development") == OPEN.ends
    assert [act.action for act in ledger.audit()] == ["released labels"]


def test_announcements_the_newest_first(world: World):
    host, ledger = world.user("organiser"), world.ledger
    ledger.announce("We begin.", host)
    ledger.announce("Two labels were swapped.", host)
    assert ledger.announcements() == [
        Announcement(2, MIDNIGHT, "Two labels were swapped."),
        Announcement(1, MIDNIGHT, "We begin."),
    ]


def test_every_act_of_an_organiser_is_in_the_audit(world: World):
    anna, host, admin, ledger = world.team("Anna's"), world.user("organiser"), world.user("admin"), world.ledger
    number = world.sent(host, team=anna.team)
    world.work(None)
    ledger.requeue(number, host)
    ledger.stop(number, host)
    ledger.rescore("table", "development", host)
    ledger.obsolete("table", "development", "labels-1", host, "wrong")
    ledger.disqualify(anna.team, "why", host)
    ledger.reinstate(anna.team, host)
    ledger.announce("text", host)
    ledger.invite("participant", host)
    ledger.revoke_invitation(ledger.invitations()[0].number, host)
    ledger.set_role(host.id, "organiser", admin)
    ledger.noted("published a checkpoint", "size 0", None)
    world.clock.now = OPEN.ends
    ledger.conclude("table", OPEN, [], host)
    ledger.release("table", OPEN, host)
    ledger.set_clock(host)
    assert [act.action for act in reversed(ledger.audit())] == [
        "submitted for another team", "requeued", "ended", "scored again", "made scores obsolete", "disqualified",
        "reinstated", "announced", "invited", "revoked an invitation", "set a role", "published a checkpoint",
        "concluded", "released labels", "set the clock",
    ]  # fmt: skip
    assert {act.user for act in ledger.audit()} == {host.id, admin.id, None}


def test_what_the_command_line_does_is_not_told_as_an_accounts(world: World):
    world.user("admin")
    ledger, by = world.ledger, CommandLine("anna")
    world.clock.now = OPEN.ends
    ledger.conclude("table", OPEN, [], by)
    ledger.release("table", OPEN, by)
    ledger.noted("sealed", "manifest 1abe15", by)
    assert {(act.user, act.via) for act in ledger.audit()} == {(None, "command line (anna)")}
    assert [act.action for act in ledger.audit()] == ["sealed", "released labels", "concluded"]


def test_entries_stand_in_the_order_of_their_first_bytes(world: World):
    slow, quick, ledger = world.team("Slow"), world.team("Quick"), world.ledger
    early = ledger.begin("table", HIDDEN, slow, team=slow.team, file=("a.csv", 9))
    world.clock.now += 1
    second = world.scored(quick, 1.0, HIDDEN)
    assert ledger.received(early.id, 0, 9)
    first = ledger.complete(early.id, "0" * 64)
    assert world.work(score(1.0)) == first
    assert [entry.submission for entry in ledger.chosen("table", HIDDEN.name, better="min", hidden=True)] == [
        first, second,
    ]  # fmt: skip
