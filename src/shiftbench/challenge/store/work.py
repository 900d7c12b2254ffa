"""Submissions on their way to a score: uploaded → validating → scoring → scored, or failed, or cancelled."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, case, exists, insert, or_, select, update

from shiftbench.challenge.store import schema
from shiftbench.challenge.store.boards import Boards, climbed
from shiftbench.challenge.store.records import (
    ENDED_WORKERS,
    LEASE,
    MOST_TRIES,
    WAITING,
    NewScore,
    Refused,
    Submission,
    User,
)
from shiftbench.errors import counted
from shiftbench.scores.ladder import climb

WORKED_ON = ("validating", "scoring")
_ENDED = {"worker": None, "lease": None}


class Work(Boards):
    """The queue."""

    def claim(self, worker: str) -> Submission | None:
        """Take the oldest waiting submission, or one whose worker's lease has ended.

        Of a team and a hidden phase one alone is worked on, because the Ladder answers in the order of arrival. What
        was scored before waits until nothing else does.
        """
        if not self._anything():
            return None
        table, other = schema.submissions, schema.submissions.alias()
        same = and_(other.c.team == table.c.team, other.c.board == table.c.board, other.c.phase == table.c.phase)
        busy = exists().where(same, other.c.state.in_(WORKED_ON), other.c.hidden)
        again = case((table.c.score.is_(None), 0), else_=1)
        oldest = (
            select(table.c.id).where(table.c.state == "uploaded", ~busy).order_by(again, table.c.queued, table.c.id)
        )
        with self._writing(quiet=True) as (c, now):
            self._expire(c, now)
            number = c.execute(oldest.limit(1)).scalar()
            if number is not None:
                values = {"state": "validating", "worker": worker, "lease": now + LEASE, "tries": table.c.tries + 1}
                c.execute(update(table).where(table.c.id == number).values(values))
        return None if number is None else self.submission(number)

    def _anything(self) -> bool:
        """Whether a claim may find something; workers that ask again and again write nothing."""
        table, seen = schema.submissions, select(schema.clock.c.seen).scalar_subquery()
        now = self._moments.now()
        over = and_(table.c.state.in_(WORKED_ON), or_(table.c.lease < now, table.c.lease < seen))
        return bool(self._rows(select(table.c.id).where(or_(table.c.state == "uploaded", over)).limit(1)))

    def _expire(self, c: Connection, now: int) -> None:
        table = schema.submissions
        past = and_(table.c.state.in_(WORKED_ON), table.c.lease < now)
        failed = {"state": "failed", "fault": "submission", "problems": json.dumps([ENDED_WORKERS])}
        given_up = update(table).where(past, table.c.tries >= MOST_TRIES).values(**failed, **_ENDED)
        for number in sorted(c.execute(given_up.returning(table.c.id)).scalars()):
            self._note(
                c, now, None, "gave up", f"submission {number}: {MOST_TRIES} workers ended while they were at it"
            )
        c.execute(update(table).where(past).values(state="uploaded", **_ENDED))

    def heartbeat(self, number: int, worker: str, state: str) -> bool:
        """Prolong the lease and tell the state; false if the submission is somebody else's now."""
        with self._writing(quiet=True) as (c, now):
            mine = update(schema.submissions).where(_held(number, worker, 0))  # nobody else took it, so it may go on
            return c.execute(mine.values(state=state, lease=now + LEASE)).rowcount == 1

    def finish(self, number: int, worker: str, score: NewScore) -> bool:
        """Store a score and its entry in the log; false if the lease is gone, so that nothing is scored twice.

        In a hidden phase the Ladder decides here what the team sees.
        """
        table = schema.submissions
        with self._writing() as (c, now):
            found = c.execute(select(table).where(_held(number, worker, now))).first()
            if found is None:
                return False
            value = score.value if math.isfinite(score.value) else math.nan
            before = climbed(c, found.board, found.phase, found.team, score.labels)
            shown = math.nan if before.shown is None else before.shown
            rung = climb(shown, value, score.noise if found.hidden else 0.0, better=score.better)
            shown_value = rung.shown if found.hidden else value
            row = {
                "submission": number, "labels": score.labels, "scorer": score.scorer, "value": _or_none(value),
                "low": _or_none(score.low), "high": _or_none(score.high), "shown": _or_none(shown_value),
                "climbed": rung.climbed, "notes": json.dumps(list(score.notes)), "at": now,
            }  # fmt: skip
            entry = {
                "submission": number, "board": found.board, "phase": found.phase, "sha256": found.sha256,
                "team": self._name(c, found.team), "manifest": score.manifest, "labels": score.labels,
                "scorer": score.scorer, "score": _or_none(shown_value), "at": now,
            }  # fmt: skip
            made = insert(schema.scores).values(**row, receipt=self._append(c, entry)).returning(schema.scores.c.id)
            ended = {"state": "scored", "fault": None, "problems": "[]", "score": c.execute(made).scalar_one()}
            c.execute(update(table).where(table.c.id == number).values(**ended, **_ENDED))
        return True

    def _name(self, c: Connection, team: int) -> str:
        return str(c.execute(select(schema.teams.c.name).where(schema.teams.c.id == team)).scalar_one())

    def fail(self, number: int, worker: str, fault: str, problems: Sequence[str]) -> bool:
        """Store what is wrong and whose fault it is ("submission" or "ours"); false if the lease is gone."""
        values = {"state": "failed", "fault": fault, "problems": json.dumps(list(problems))}
        with self._writing() as (c, now):
            held = update(schema.submissions).where(_held(number, worker, now))
            return c.execute(held.values(**values, **_ENDED)).rowcount == 1

    def requeue(self, number: int, user: User) -> None:
        """Put a submission that failed, or hangs, into the queue again, by an organiser."""
        table = schema.submissions
        with self._writing() as (c, now):
            where = and_(table.c.id == number, table.c.state.in_((*WAITING, "failed")))
            self._again(c, where, now, tries=0, fault=None, problems="[]", what="a submission that failed or waits")
            self._note(c, now, user, "requeued", f"submission {number}")

    def _again(self, c: Connection, where: ColumnElement[bool], now: int, *, what: str, **values: object) -> None:
        changed = update(schema.submissions).where(where)
        if not c.execute(changed.values(state="uploaded", queued=now, **_ENDED, **values)).rowcount:
            raise Refused(f"expected {what}, found none of this number.")

    def cancel(self, number: int, user: User) -> None:
        """Take back a submission of one's own team that nobody works on yet: it costs no quota."""
        table = schema.submissions
        with self._writing() as (c, _):
            where = and_(table.c.id == number, table.c.team == user.team, table.c.state == "uploaded")
            cancelled = update(table).where(where, table.c.score.is_(None)).values(state="cancelled", chosen=False)
            if not c.execute(cancelled).rowcount:
                raise Refused("expected a submission of your team that waits, found none of this number.")

    def stop(self, number: int, user: User) -> None:
        """End a submission that hangs, by an organiser, as a fault of the server: it costs no quota."""
        table = schema.submissions
        problems = json.dumps(["ended by the organiser: it costs no quota"])
        with self._writing() as (c, now):
            where = and_(table.c.id == number, table.c.state.in_(WAITING))
            ended = update(table).where(where).values(state="failed", fault="ours", problems=problems, **_ENDED)
            if not c.execute(ended).rowcount:
                raise Refused("expected a submission in the queue, found none of this number.")
            self._note(c, now, user, "ended", f"submission {number}")

    def rescore(self, board: str, phase: str, by: User) -> int:
        """Queue all that has a score again, for other labels or another scorer; returns how many. Old scores stay."""
        table = schema.submissions
        with self._writing() as (c, now):
            where = and_(table.c.board == board, table.c.phase == phase, table.c.score.is_not(None))
            again = update(table).where(where, table.c.state.in_(("scored", "failed")))
            values = {"state": "uploaded", "queued": now, "tries": 0, "fault": None, "problems": "[]"}
            count = c.execute(again.values(**values, **_ENDED)).rowcount
            self._note(c, now, by, "scored again", f"{board}, {phase}: {counted(count, 'submission')}")
        return count

    def obsolete(self, board: str, phase: str, labels: str, by: User, reason: str) -> int:
        """Scores of these labels count no more, with a reason that everybody reads; returns how many."""
        table, ours = schema.scores, schema.submissions
        with self._writing() as (c, now):
            of = select(ours.c.id).where(ours.c.board == board, ours.c.phase == phase)
            where = and_(table.c.submission.in_(of), table.c.labels == labels, table.c.obsolete.is_(None))
            count = c.execute(update(table).where(where).values(obsolete=reason)).rowcount
            self._note(c, now, by, "made scores obsolete", f"{board}, {phase}, labels {labels}: {reason}")
        return count


def _held(number: int, worker: str, now: int) -> ColumnElement[bool]:
    table = schema.submissions.c
    return and_(table.id == number, table.worker == worker, table.lease >= now, table.state.in_(WORKED_ON))


def _or_none(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
