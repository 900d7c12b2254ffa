"""What is decided about a phase: choices of teams, and the final ranking and what organisers do about it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, func, insert, select, update

from shiftbench.challenge.definition import Phase
from shiftbench.challenge.store import schema
from shiftbench.challenge.store.boards import counting
from shiftbench.challenge.store.log import Log
from shiftbench.challenge.store.records import (
    WAITING,
    Act,
    Announcement,
    Better,
    CommandLine,
    Entry,
    Final,
    Refused,
    User,
)
from shiftbench.errors import counted

_S = schema.submissions.c


class Ends(Log):
    """Choices, final rankings, disqualifications, announcements, releases and the audit."""

    def choose(self, number: int, user: User, phase: Phase, *, chosen: bool = True) -> None:
        """Let a submission of one's own team count at the end, or no longer, while its phase is open.

        Raises:
            Refused: unless the phase is open, the team has chosen less than `phase.entries` and the submission has, or
                may still get, a score.
        """
        table = schema.submissions
        with self._writing() as (c, now):
            found = c.execute(select(table).where(table.c.id == number, table.c.team == user.team)).first()
            if found is None or found.phase != phase.name:
                raise Refused("expected a submission of your team to this phase.", status=404)
            if not phase.open(now):
                raise Refused(f"expected a choice while the phase {phase.name} is open: it is closed now.")
            if chosen and found.state not in (*WAITING, "scored"):
                raise Refused(f"expected a submission with a score, or in the queue, found one that is {found.state}.")
            ours = and_(_S.board == found.board, _S.phase == found.phase, _S.team == found.team, _S.chosen)
            others = c.execute(select(_S.id).where(ours, _S.id != number, _S.state.in_((*WAITING, "scored")))).scalars()
            if chosen and len(known := sorted(others)) >= phase.entries:
                raise Refused(
                    f"expected at most {phase.entries} chosen submissions, found {', '.join(map(str, known))}. "
                    "Take one back first."
                )
            c.execute(update(table).where(_S.id == number).values(chosen=chosen))

    def conclude(
        self, board: str, phase: Phase, ranking: Any, by: User | CommandLine, *, better: Better = "min",
        entries: Sequence[Entry] | None = None,
    ) -> None:  # fmt: skip
        """Store the final ranking, which is JSON, of a phase that has ended and has nothing in the queue.

        Each submission ranked gets a line of the log with its final score and rank, which its receipt then shows.
        Uploads on their way are over. A later ranking takes its place, as after a disqualification; the audit tells of
        each. entries: what was ranked, of which nothing may have changed meanwhile.
        """
        with self._writing() as (c, now):
            _require_ended(phase, now)
            _require_idle(c, board, phase)
            if entries is not None and _others(c, board, phase, better, entries):
                raise Refused(
                    "expected the teams, submissions and scores of which the ranking was made, found others: something "
                    "changed meanwhile. Conclude again."
                )
            text = json.dumps(ranking, allow_nan=False)
            c.execute(insert(schema.finals).values(board=board, phase=phase.name, at=now, ranking=text))
            told = ranking if isinstance(ranking, dict) else {}  # its versions: a newer score may be obsolete
            made = {name: told[name] for name in ("labels", "scorer") if name in told}
            for row in ranking.get("rows", ()) if isinstance(ranking, dict) else ():
                self._log_final(c, row, {**made, "at": now})
            _end_uploads(c, _to(board, phase))
            self._note(c, now, by, "concluded", f"{board}, {phase.name}")

    def require_over(self, board: str, phase: Phase) -> None:
        """Refuse a phase that goes on, or has something in the queue."""
        now = self.now()
        with self._reading() as c:
            _require_ended(phase, now)
            _require_idle(c, board, phase)

    def _log_final(self, c: Connection, row: dict[str, Any], made: dict[str, Any]) -> None:
        score, team = schema.scores, schema.teams.c.name.label("team")
        query = select(_S.id.label("submission"), _S.board, _S.phase, _S.sha256, team, score.c.labels, score.c.scorer)
        joined = query.join(schema.teams, schema.teams.c.id == _S.team).join(score, score.c.id == _S.score)
        found = c.execute(joined.where(_S.id == row["submission"])).first()
        if found is not None:
            closing = {"final": True, "rank": row["rank"], "score": row["score"]}
            number = self._append(c, {**found._mapping, **closing, **made})
            newest = select(_S.score).where(_S.id == found.submission).scalar_subquery()
            c.execute(update(score).where(score.c.id == newest).values(receipt=number))

    def final(self, board: str, phase: str) -> Final | None:
        """The final ranking of a phase, once there is one."""
        table = schema.finals.c
        query = select(table.at, table.ranking).where(table.board == board, table.phase == phase)
        found = self._rows(query.order_by(table.id.desc()).limit(1))
        return Final(found[0].at, json.loads(found[0].ranking)) if found else None

    def release(self, board: str, phase: Phase, by: User | CommandLine) -> None:
        """Make the labels of a phase that has ended public; uploads on their way are over."""
        table = schema.releases
        with self._writing() as (c, now):
            _require_ended(phase, now)
            known = select(table.c.id).where(table.c.board == board, table.c.phase == phase.name)
            if c.execute(known).first() is None:
                _end_uploads(c, _to(board, phase))
                c.execute(insert(table).values(board=board, phase=phase.name, at=now))
                self._note(c, now, by, "released labels", f"{board}, {phase.name}")

    def released(self, board: str, phase: str) -> int | None:
        """When the labels of a phase became public; None if they are sealed."""
        table = schema.releases.c
        found = self._rows(select(table.at).where(table.board == board, table.phase == phase))
        return int(found[0].at) if found else None

    def disqualify(self, team: int, reason: str, by: User) -> None:
        """Take a team off all boards and refuse its uploads, with a reason that everybody reads."""
        self._set_reason(team, reason, by, "disqualified")

    def reinstate(self, team: int, by: User) -> None:
        """Let a disqualified team take part again."""
        self._set_reason(team, None, by, "reinstated")

    def _set_reason(self, team: int, reason: str | None, by: User, action: str) -> None:
        table = schema.teams
        with self._writing() as (c, now):
            changed = update(table).where(table.c.id == team).values(disqualified=reason)
            name = c.execute(changed.returning(table.c.name)).scalar()
            if name is None:
                raise Refused("expected a team that exists.", status=404)
            if reason is not None:
                _end_uploads(c, schema.uploads.c.team == team)
            self._note(c, now, by, action, name if reason is None else f"{name}: {reason}")

    def disqualified(self) -> list[tuple[str, str]]:
        """Name and reason of each disqualified team."""
        table = schema.teams.c
        query = select(table.name, table.disqualified).where(table.disqualified.is_not(None)).order_by(table.name)
        return [(row.name, row.disqualified) for row in self._rows(query)]

    def announce(self, text: str, by: User) -> None:
        """Tell everybody."""
        with self._writing() as (c, now):
            c.execute(insert(schema.announcements).values(at=now, text=text))
            self._note(c, now, by, "announced", text[:200])

    def announcements(self) -> list[Announcement]:
        """What was announced, the newest first."""
        table = schema.announcements
        return [Announcement(**row._mapping) for row in self._rows(select(table).order_by(table.c.id.desc()))]

    def noted(self, action: str, subject: str, by: User | CommandLine | None) -> None:
        """Write an act that changes nothing here, such as a checkpoint, into the audit."""
        with self._writing(quiet=True) as (c, now):
            self._note(c, now, by, action, subject)

    def audit(self, limit: int = 1_000) -> list[Act]:
        """What was done by whom, the newest first."""
        table = schema.audit.c
        query = (
            select(table.at, table.user, table.action, table.subject, table.via).order_by(table.id.desc()).limit(limit)
        )
        return [Act(**row._mapping) for row in self._rows(query)]


def _to(board: str, phase: Phase) -> ColumnElement[bool]:
    return and_(schema.uploads.c.board == board, schema.uploads.c.phase == phase.name)


def _end_uploads(c: Connection, which: ColumnElement[bool]) -> None:
    """Uploads on their way are over: their bytes could be chosen now that more is known."""
    table = schema.uploads
    c.execute(update(table).where(which, table.c.submission.is_(None)).values(touched=0))


def _others(c: Connection, board: str, phase: Phase, better: Better, entries: Sequence[Entry]) -> bool:
    """Whether others than these count now."""
    return counting(c, board, phase.name, better=better, hidden=phase.hidden) != [*entries]


def _require_idle(c: Connection, board: str, phase: Phase) -> None:
    where = and_(_S.board == board, _S.phase == phase.name, _S.state.in_(WAITING))
    if waiting := c.execute(select(func.count()).select_from(schema.submissions).where(where)).scalar_one():
        raise Refused(
            f"expected an empty queue of the phase {phase.name}, found {counted(waiting, 'submission')}. Wait."
        )


def _require_ended(phase: Phase, now: int) -> None:
    if phase.ends is None or now < phase.ends:
        raise Refused(f"expected a phase that has ended, found {phase.name} open or to come. Wait for its end.")
