"""A ledger with a clock that tests set, two phases, and teams that send files."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import Any

from shiftbench.challenge.definition import Phase
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import DAY, NewScore, User

MIDNIGHT = 1_700_006_400_000_000  # microseconds; begins a day in UTC
OPEN = Phase("development", MIDNIGHT, MIDNIGHT + 10 * DAY, per_day=3, failures_per_hour=2)
HIDDEN = Phase("final", MIDNIGHT, MIDNIGHT + 10 * DAY, per_day=100, hidden=True)


@dataclass
class Clock:
    now: int = MIDNIGHT

    def __call__(self) -> int:
        return self.now


@dataclass
class World:
    """What a test needs of a server."""

    url: str
    clock: Clock = field(default_factory=Clock)
    numbers: Any = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        self.ledger = self.another()

    def another(self) -> Ledger:
        """The ledger as another process of the server sees it."""
        return Ledger(self.url, clock=self.clock)

    def user(self, role: str = "participant") -> User:
        return self.ledger.sign_up(f"{role}{next(self.numbers)}@example.org", "hash", role=role)

    def team(self, name: str) -> User:
        """The only member of a new team."""
        made = self.user()
        self.ledger.found(name, made.id)
        return self.ledger.user(made.id)

    def sent(self, user: User, phase: Phase = OPEN, *, team: int | None = None) -> int:
        """The number of a submission whose file has arrived."""
        wanted = user.team if team is None else team
        assert wanted is not None
        upload = self.ledger.begin("table", phase, user, team=wanted, file=("answers.csv", 9))
        assert self.ledger.received(upload.id, 0, 9)
        return self.ledger.complete(upload.id, f"{next(self.numbers):064x}")

    def work(self, score: NewScore | None) -> int:
        """What a worker does with the next submission: a score, or a failure of the submission."""
        claimed = self.ledger.claim("worker")
        assert claimed is not None
        if score is None:
            assert self.ledger.fail(claimed.id, "worker", "submission", ["line 3: expected a number, found x"])
        else:
            assert self.ledger.finish(claimed.id, "worker", score)
        return claimed.id

    def scored(self, user: User, value: float, phase: Phase = OPEN, **more: Any) -> int:
        """The number of a submission that has a score."""
        number = self.sent(user, phase)
        assert self.work(score(value, **more)) == number
        return number


def score(value: float, **more: Any) -> NewScore:
    """A score with labels and scorer."""
    return replace(NewScore("labels-1", "scorer-1", value), **more)
