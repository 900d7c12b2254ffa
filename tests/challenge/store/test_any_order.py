"""Teams, workers and organisers in any order: the ledger does what a model of a few lines says that it should."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from shiftbench.challenge import definition
from shiftbench.challenge.store.records import DAY, HOUR, LEASE, MOST_TRIES, Refused, User

from .world import HIDDEN, OPEN, World, score

SHOWN, SEALED = PHASES = (replace(OPEN, ends=None), replace(HIDDEN, ends=None))
_NUMBERS = itertools.count()


@dataclass
class Sent:
    """What should be known of a submission."""

    number: int
    team: int
    phase: definition.Phase
    begun: int
    state: str = "uploaded"
    fault: str | None = None
    tries: int = 0
    again: bool = False
    value: float | None = None
    since: int = 0


class Challenge(RuleBasedStateMachine):
    """One board, two teams, any number of workers."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world, self.ledger = world, world.ledger
        self.sent: list[Sent] = []
        self.ladders: dict[int, tuple[float, int]] = {}

    @initialize()
    def begin(self) -> None:
        self.board = f"board-{next(_NUMBERS)}"
        self.teams: list[User] = [self.world.team(f"{self.board} {name}") for name in ("A", "B")]
        self.host = self.world.user("organiser")
        self.entries = self.ledger.log_size()

    def charged(self, team: int, phase: definition.Phase) -> int:
        midnight = self.world.clock.now - self.world.clock.now % DAY
        return sum(
            each.team == team and each.phase is phase and each.begun >= midnight
            and (each.state in ("uploaded", "validating") or each.value is not None)
            for each in self.sent
        )  # fmt: skip

    def failures(self, team: int, phase: definition.Phase) -> int:
        return sum(
            each.team == team and each.phase is phase and each.begun > self.world.clock.now - HOUR
            and (each.state, each.fault) == ("failed", "submission")
            for each in self.sent
        )  # fmt: skip

    @rule(who=st.integers(0, 1), phase=st.sampled_from(PHASES))
    def send(self, who: int, phase: definition.Phase) -> None:
        user, now = self.teams[who], self.world.clock.now
        team = int(user.team or 0)
        free = self.charged(team, phase) < phase.per_day and self.failures(team, phase) < phase.failures_per_hour
        try:
            upload = self.ledger.begin(self.board, phase, user, team=team, file=("a.csv", 9))
        except Refused:
            assert not free
        else:
            assert free
            number = self.ledger.complete(upload.id, f"{len(self.sent):064x}")
            self.sent.append(Sent(number, team, phase, now, since=now))

    @rule()
    def claim(self) -> None:
        working = {each.team for each in self.sent if each.phase is SEALED and each.state == "validating"}
        ready = [
            each for each in self.sent
            if each.state == "uploaded" and not (each.phase is SEALED and each.team in working)
        ]  # fmt: skip
        expected = min(ready, key=lambda each: (each.again, each.since, each.number), default=None)
        claimed = self.ledger.claim("worker")
        assert (claimed and claimed.id) == (expected and expected.number)
        if expected is not None:
            expected.state, expected.tries = "validating", expected.tries + 1

    @rule(value=st.sampled_from([0.1, 0.2, 0.3, None]), fault=st.sampled_from(["submission", "ours"]), data=st.data())
    def end(self, value: float | None, fault: str, data: Any) -> None:
        working = [each for each in self.sent if each.state == "validating"]
        if not working:
            return
        one = data.draw(st.sampled_from(working))
        if value is None:
            assert self.ledger.fail(one.number, "worker", fault, ["why"])
            one.state, one.fault = "failed", fault
            return
        assert self.ledger.finish(one.number, "worker", score(value, noise=0.0))
        one.state, one.fault, one.value = "scored", None, value
        self.entries += 1
        if one.phase is SEALED and value < self.ladders.get(one.team, (9.0, 0))[0]:
            self.ladders[one.team] = (value, one.number)

    @rule(who=st.integers(0, 1), data=st.data())
    def cancel(self, who: int, data: Any) -> None:
        mine = [each for each in self.sent if each.team == self.teams[who].team]
        if not mine:
            return
        one = data.draw(st.sampled_from(mine))
        try:
            self.ledger.cancel(one.number, self.teams[who])
        except Refused:
            assert one.state != "uploaded" or one.value is not None
        else:
            assert (one.state, one.value) == ("uploaded", None)
            one.state = "cancelled"

    @rule(data=st.data())
    def requeue(self, data: Any) -> None:
        failed = [each for each in self.sent if each.state in ("failed", "validating")]
        if failed:
            one = data.draw(st.sampled_from(failed))
            self.ledger.requeue(one.number, self.host)
            one.state, one.fault, one.tries, one.since = "uploaded", None, 0, self.world.clock.now
            one.again = one.value is not None

    @rule()
    def rescore(self) -> None:
        self.ledger.rescore(self.board, SHOWN.name, self.host)
        for each in self.sent:
            if each.phase is SHOWN and each.value is not None and each.state in ("scored", "failed"):
                each.state, each.fault, each.tries, each.again = "uploaded", None, 0, True
                each.since = self.world.clock.now

    @rule(time=st.sampled_from([LEASE // 2, LEASE + 1, HOUR, DAY]))
    def wait(self, time: int) -> None:
        self.world.clock.now += time
        if time > LEASE:
            self.ledger.claim("worker")  # leases end when somebody asks for work
            for each in [each for each in self.sent if each.state == "validating"]:
                failed = each.tries >= MOST_TRIES
                each.state, each.fault = ("failed", "submission") if failed else ("uploaded", None)
            for found in self.ledger.submissions(board=self.board, states=("validating",)):
                one = next(each for each in self.sent if each.number == found.id)
                one.state, one.tries = "validating", one.tries + 1
        else:
            for each in self.sent:
                if each.state == "validating":
                    assert self.ledger.heartbeat(each.number, "worker", "validating")

    @invariant()
    def states_quotas_log_and_boards_are_as_the_model_says(self) -> None:
        if not hasattr(self, "teams"):
            return
        found = {each.id: (each.state, each.fault) for each in self.ledger.submissions(board=self.board)}
        assert found == {each.number: (each.state, each.fault) for each in self.sent}
        for user in self.teams:
            for phase in PHASES:
                quota = self.ledger.quota(self.board, phase, int(user.team or 0))
                assert quota.used == self.charged(int(user.team or 0), phase)
                assert quota.failures == self.failures(int(user.team or 0), phase)
        assert self.ledger.log_size() == self.entries
        best: dict[int, float] = {}
        for each in self.sent:
            if each.phase is SHOWN and each.value is not None:
                best[each.team] = min(best.get(each.team, 9.0), each.value)
        shown = [row.score for row in self.ledger.board(self.board, SHOWN.name, better="min")]
        assert shown == sorted(best.values())
        hidden = self.ledger.board(self.board, SEALED.name, better="min", hidden=True)
        assert sorted((row.score, row.submission) for row in hidden) == sorted(self.ladders.values())

    def teardown(self) -> None:
        for each in self.ledger.submissions(board=getattr(self, "board", ""), states=("uploaded", "validating")):
            self.ledger.stop(each.id, self.host)


def test_whatever_happens_in_any_order(world: World):
    profile = settings(
        max_examples=8 if world.ledger.sqlite else 4, stateful_step_count=25, deadline=None,
        phases=(Phase.generate,), suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(lambda: Challenge(world), settings=profile)
