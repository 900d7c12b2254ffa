"""Files on their way, and how many a team may send."""

from __future__ import annotations

import secrets

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, or_, select, update

from shiftbench.challenge.definition import Phase, moment
from shiftbench.challenge.store import names, schema
from shiftbench.challenge.store.database import Database
from shiftbench.challenge.store.records import (
    DAY,
    HOUR,
    UPLOAD_LASTS,
    UPLOAD_RESTS,
    WAITING,
    Quota,
    Refused,
    Upload,
    User,
)

_GONE = "expected an upload that exists. Begin another."
_UPLOADS = select(
    *(column for column in schema.uploads.c if column.name != "hidden"), schema.teams.c.name.label("team_name")
).join(schema.teams, schema.teams.c.id == schema.uploads.c.team)


def _coming(now: int) -> ColumnElement[bool]:
    """Uploads that may still become submissions; those that rest for long, or take long, may not."""
    table = schema.uploads.c
    return and_(table.submission.is_(None), table.touched > now - UPLOAD_RESTS, table.begun > now - UPLOAD_LASTS)


def _quota(c: Connection, board: str, phase: Phase, team: int, now: int) -> Quota:
    """What a team has used; uploads on their way count, so that none slip past together.

    A submission is charged for its score, and while it waits for it.
    """
    table, coming, midnight = schema.submissions.c, schema.uploads.c, now - now % DAY
    of_day = table.begun >= midnight
    ours = and_(table.board == board, table.phase == phase.name, table.team == team)
    charged = and_(ours, of_day, or_(table.state.in_(WAITING), table.score.is_not(None)))
    failed = and_(ours, table.begun > now - HOUR, table.state == "failed", table.fault == "submission")
    on_their_way = and_(
        coming.board == board, coming.phase == phase.name, coming.team == team, coming.begun >= midnight, _coming(now)
    )
    counts = [select(func.count()).select_from(each.table).where(where).scalar_subquery() for each, where in (
        (table.id, charged), (coming.id, on_their_way), (table.id, failed),
    )]  # fmt: skip
    used, arriving, failures = c.execute(select(*counts)).one()
    frees = list[int]()
    if used + arriving >= phase.per_day:
        rows = c.execute(select(coming.touched, coming.begun).where(on_their_way)) if arriving else ()
        ends = sorted(min(touched + UPLOAD_RESTS, begun + UPLOAD_LASTS, midnight + DAY) for touched, begun in rows)
        frees.append([*ends, *[midnight + DAY] * used][used + arriving - phase.per_day])
    if failures >= phase.failures_per_hour:
        begun = c.execute(select(table.begun).where(failed).order_by(table.begun)).scalars().all()
        frees.append(begun[failures - phase.failures_per_hour] + HOUR)
    return Quota(
        used + arriving, phase.per_day, failures, phase.failures_per_hour, midnight + DAY, arriving,
        max(frees, default=None),
    )  # fmt: skip


class Arrivals(Database):
    """Uploads and quotas."""

    def begin(self, board: str, phase: Phase, user: User, *, team: int, file: tuple[str, int]) -> Upload:
        """Open an upload of a file (name, size); this moment decides on phase and quota."""
        name, size = file
        key = secrets.token_urlsafe(16)
        with self._writing(quiet=True) as (c, now):
            row = {"id": key, "board": board, "phase": phase.name, "team": team, "user": user.id, "name": name}
            row |= {"size": size, "received": 0, "begun": now, "touched": now}
            if not (problems := self._reasons(c, board, phase, team, now)):
                c.execute(insert(schema.uploads).values(**row, hidden=phase.hidden))
                made = Upload(**c.execute(_UPLOADS.where(schema.uploads.c.id == key)).one()._mapping)
                if team != user.team:
                    self._note(c, now, user, "submitted for another team", f"team {team}, upload {key}")
        if problems:  # here, so that this moment is remembered, too
            raise Refused(*problems)
        return made

    def _reasons(self, c: Connection, board: str, phase: Phase, team: int, now: int) -> list[str]:
        """Why a team may not submit now."""
        if not phase.open(now):
            when = f"begins at {moment(phase.starts):%Y-%m-%d %H:%M:%S} UTC" if now < phase.starts else "is closed now"
            return [f"expected a submission while the phase {phase.name} is open: it {when}."]
        out = c.execute(select(schema.teams.c.disqualified).where(schema.teams.c.id == team)).scalar()
        quota = _quota(c, board, phase, team, now)
        reasons = [] if out is None else [f"expected a team that takes part, found it disqualified: {out}"]
        until = f"Wait until {moment(quota.frees or now):%Y-%m-%d %H:%M:%S} UTC"
        if quota.used >= phase.per_day:
            of_them = f", {quota.unfinished} of them unfinished uploads" if quota.unfinished else ""
            instead = (
                ", or discard an unfinished upload: the page Submissions and `shiftbench submit --unfinished` list them"
                if quota.unfinished
                else ""
            )
            reasons.append(
                f"expected less than {phase.per_day} submissions today (UTC), found {quota.used}{of_them}. "
                f"{until}{instead}."
            )
        if quota.failures >= phase.failures_per_hour:
            reasons.append(
                f"expected less than {phase.failures_per_hour} failures in the last hour, found {quota.failures}. "
                f"{until}."
            )
        return reasons

    def quota(self, board: str, phase: Phase, team: int) -> Quota:
        """What a team has used of a phase today."""
        with self._reading() as c:
            seen = c.execute(select(schema.clock.c.seen)).scalar_one()
            return _quota(c, board, phase, team, self._moments.raised(seen))

    def upload(self, key: str) -> Upload:
        """The upload of this name."""
        if not (found := self._rows(_UPLOADS.where(schema.uploads.c.id == key))):
            raise Refused(_GONE, status=404)
        return Upload(**found[0]._mapping)

    def unfinished(self, user: User | None = None) -> list[Upload]:
        """Uploads of an account and of its team, or of all, that take quota and are no submissions yet.

        The newest come first.
        """
        table, now = schema.uploads.c, self._moments.now()
        query = _UPLOADS.where(_coming(now)).order_by(table.begun.desc(), table.id)
        if user is not None:
            query = query.where(or_(table.user == user.id, table.team == user.team))
        return [Upload(**row._mapping) for row in self._rows(query)]

    def received(self, key: str, offset: int, count: int) -> bool:
        """Note bytes that lie on the disk; false if others came first, or the upload is over."""
        table = schema.uploads
        with self._writing(quiet=True) as (c, now):
            where = and_(table.c.id == key, table.c.received == offset, _coming(now))
            return c.execute(update(table).where(where).values(received=offset + count, touched=now)).rowcount == 1

    def abandon(self, key: str, by: User | None = None) -> None:
        """Forget an upload that is not complete; that an organiser did so with another team's is logged."""
        table = schema.uploads
        with self._writing() as (c, now):
            gone = delete(table).where(table.c.id == key, table.c.submission.is_(None)).returning(table.c.team)
            if (team := c.execute(gone).scalar()) is not None and by is not None and by.team != team:
                self._note(c, now, by, "discarded an upload", f"team {team}, upload {key}")

    def forgotten(self) -> list[str]:
        """Names of uploads that are over and never became submissions: their bytes may go, and they are forgotten."""
        table = schema.uploads
        with self._writing(quiet=True) as (c, now):
            over = delete(table).where(table.c.submission.is_(None), ~_coming(now)).returning(table.c.id)
            return sorted(c.execute(over).scalars())

    def complete(self, key: str, sha256: str) -> int:
        """Turn a whole upload into a submission, once: a second call returns the same."""
        with self._writing() as (c, now):
            found = c.execute(select(schema.uploads).where(schema.uploads.c.id == key)).first()
            if found is None:
                raise Refused(_GONE, status=404)
            if found.submission is not None:
                return int(found.submission)
            if not c.execute(select(schema.uploads.c.id).where(schema.uploads.c.id == key, _coming(now))).first():
                raise Refused("expected an upload that is not over. Begin another.", status=410)
            row = {name: getattr(found, name) for name in _KEPT}
            made = insert(schema.submissions).values(**row, sha256=sha256, queued=now, state="uploaded", problems="[]")
            number = int(c.execute(made.returning(schema.submissions.c.id)).scalar_one())
            c.execute(update(schema.uploads).where(schema.uploads.c.id == key).values(submission=number))
        return number

    def reference(self, board: str, phase: Phase, name: str, *, file: tuple[str, int], sha256: str) -> int:
        """Queue predictions (name, size) of a reference system, once for each content; free of quota and of dates.

        Raises:
            Refused: if a team has this name.
        """
        table = schema.submissions
        with self._writing() as (c, now):
            team = self._reference_team(c, name)
            ours = and_(table.c.board == board, table.c.phase == phase.name, table.c.team == team)
            known = c.execute(select(table.c.id).where(ours, table.c.sha256 == sha256)).scalar()
            if known is not None:
                return int(known)
            row = {"board": board, "phase": phase.name, "hidden": phase.hidden, "team": team, "user": None}
            row |= {"name": file[0], "size": file[1], "sha256": sha256, "begun": now, "queued": now}
            made = insert(table).values(**row, state="uploaded", problems="[]").returning(table.c.id)
            return int(c.execute(made).scalar_one())

    def _reference_team(self, c: Connection, name: str) -> int:
        table = schema.teams
        rows = c.execute(select(table.c.id, table.c.name, table.c.reference)).all()
        found = next((row for row in rows if row.name == name), None)
        if found is None:  # nor one that looks like a team's
            found = next((row for row in rows if not row.reference and names.alike(row.name, name)), None)
        if found is None:
            made = insert(table).values(name=name, code=secrets.token_urlsafe(12), reference=True)
            return int(c.execute(made.returning(table.c.id)).scalar_one())
        if not found.reference:
            raise Refused(f"expected a name for a reference system, found that of a team: {name!r}. Rename its file.")
        return int(found.id)


_KEPT = ("board", "phase", "hidden", "team", "user", "name", "size", "begun")
