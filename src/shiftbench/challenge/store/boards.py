"""What is known of submissions: their scores, beside each other, and the boards made of them."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, select, true

from shiftbench.challenge.store import schema
from shiftbench.challenge.store.log import Log
from shiftbench.challenge.store.records import (
    NO_SUBMISSION,
    Better,
    Entry,
    Ladder,
    Newest,
    Refused,
    Row,
    Score,
    Submission,
)

_S, _C, _T = schema.submissions.c, schema.scores.c, schema.teams.c
_SUBMISSIONS = (
    select(
        _S.id, _S.board, _S.phase, _S.team, _T.name.label("team_name"), _S.name, _S.size, _S.sha256, _S.begun,
        _S.hidden, _S.state, _S.fault, _S.problems, _S.chosen, _C.shown.label("score"), _C.climbed, _C.obsolete,
    )
    .select_from(schema.submissions)
    .join(schema.teams, _T.id == _S.team)
    .outerjoin(schema.scores, _C.id == _S.score)
)  # fmt: skip


def _submission(row: Any) -> Submission:
    plain = {name: row._mapping[name] for name in Submission.__dataclass_fields__}
    return Submission(**{**plain, "problems": tuple(json.loads(row.problems))})


def climbed(c: Connection, board: str, phase: str, team: int, labels: str) -> Ladder:
    """The Ladder of a team: the newest of its submissions that climbed, with these labels.

    Scores that are obsolete do not count: where labels come back that were obsolete once, a Ladder begins anew.
    """
    counts = and_(_C.labels == labels, _C.climbed, _C.obsolete.is_(None))
    where = and_(_S.board == board, _S.phase == phase, _S.team == team, counts)
    joined = schema.scores.join(schema.submissions, _S.id == _C.submission)
    found = c.execute(select(_C.shown, _C.submission).select_from(joined).where(where).order_by(_C.id.desc())).first()
    return Ladder(found.shown, found.submission) if found else Ladder(None, None)


class Boards(Log):
    """Submissions, scores and boards."""

    def submission(self, number: int) -> Submission:
        """The submission of this number."""
        if not (found := self._rows(_SUBMISSIONS.where(_S.id == number))):
            raise Refused(NO_SUBMISSION, status=404)
        return _submission(found[0])

    def submissions(
        self, *, team: int | None = None, board: str | None = None, phase: str | None = None,
        states: Sequence[str] = (), before: int | None = None, limit: int = 1_000,
    ) -> list[Submission]:  # fmt: skip
        """Submissions, the newest first: of a team, board, phase or of some states; `before` a number."""
        wanted = [(_S.team, team), (_S.board, board), (_S.phase, phase)]
        conditions: list[ColumnElement[bool]] = [column == value for column, value in wanted if value is not None]
        conditions += [_S.state.in_(states)] if states else []
        conditions += [_S.id < before] if before is not None else []
        query = _SUBMISSIONS.where(true(), *conditions).order_by(_S.id.desc()).limit(limit)
        return [_submission(row) for row in self._rows(query)]

    def newest_scores(self, *, before: int | None = None, limit: int = 1_000) -> list[Newest]:
        """Submissions to open phases that are scored, the newest first; `before` a number."""
        conditions = [_S.state == "scored", ~_S.hidden, _S.score.is_not(None)]
        conditions += [_S.id < before] if before is not None else []
        query = _SUBMISSIONS.add_columns(_C.id.label("newest"), _C.labels).where(*conditions).order_by(_S.id.desc())
        return [Newest(_submission(row), int(row.newest), row.labels) for row in self._rows(query.limit(limit))]

    def scores(self, submission: int) -> list[Score]:
        """All scores of a submission, the newest first; what is in them is sealed while its hidden phase is open."""
        query = select(schema.scores).where(_C.submission == submission).order_by(_C.id.desc())
        return [Score(**{**row._mapping, "notes": tuple(json.loads(row.notes))}) for row in self._rows(query)]

    def ladder(self, board: str, phase: str, team: int, labels: str) -> Ladder | None:
        """What a team sees of a phase with these labels, and its best submission; None before one climbed."""
        with self._reading() as c:
            found = climbed(c, board, phase, team, labels)
        return None if found.best is None else found

    def board(
        self, board: str, phase: str, *, better: Better, hidden: bool = False, labels: str | None = None
    ) -> list[Row]:
        """The best score of each team, the best first; equal ones share a rank.

        hidden: show what the Ladder let through, without intervals. labels: a version of the labels, by default each
        submission's newest score that is not obsolete. What has no score, and disqualified teams, are not on it.
        References have no rank.
        """
        rows = self._rows(_best(board, phase, better, hidden, labels))
        sign = 1 if better == "min" else -1
        teams = sorted(sign * row.counted for row in rows if not row.reference)
        ranks = (None if row.reference else 1 + bisect_left(teams, sign * row.counted) for row in rows)
        return [_row(row, rank, hidden) for row, rank in zip(rows, ranks, strict=True)]

    def chosen(
        self, board: str, phase: str, *, better: Better, hidden: bool = False, labels: str | None = None
    ) -> list[Entry]:
        """The submissions that count at the end, by arrival: those that teams chose, else the best; references, too.

        hidden: as of the phase, so that without a choice the best one is that of the Ladder.
        """
        with self._reading() as c:
            return counting(c, board, phase, better=better, hidden=hidden, labels=labels)

    def labels(self, board: str, phase: str) -> dict[str, int]:
        """The versions of the labels behind scores that count, and when the first score of each was made."""
        query = select(_C.labels, func.min(_C.at).label("first")).join(schema.submissions, _S.id == _C.submission)
        ours = query.where(_S.board == board, _S.phase == phase, _C.obsolete.is_(None)).group_by(_C.labels)
        return {row.labels: int(row.first) for row in self._rows(ours.order_by(func.min(_C.at)))}

    def versions(self, board: str, phase: str, until: int) -> dict[int, tuple[str, str]]:
        """Labels and scorer of each submission's newest score at a moment."""
        query = select(_C.submission, _C.labels, _C.scorer).join(schema.submissions, _S.id == _C.submission)
        rows = self._rows(query.where(_S.board == board, _S.phase == phase, _C.at <= until).order_by(_C.id))
        return {row.submission: (row.labels, row.scorer) for row in rows}


def counting(
    c: Connection, board: str, phase: str, *, better: Better, hidden: bool = False, labels: str | None = None
) -> list[Entry]:
    """The submissions that count at the end, see `Boards.chosen`."""
    newest = _newest(board, phase, labels).subquery()
    own = c.execute(select(newest).where(newest.c.place == 1, newest.c.chosen, newest.c.value.is_not(None))).all()
    deciding = {row.team for row in own}
    best = [row for row in c.execute(_best(board, phase, better, hidden, labels)) if row.team not in deciding]
    current = {row.submission: row for row in c.execute(select(newest).where(newest.c.place == 1))}
    entries = [_entry(current[row.submission], chosen=row.team in deciding) for row in [*own, *best]]
    return sorted(entries, key=lambda entry: (entry.begun, entry.submission))  # its first byte counts


def _newest(board: str, phase: str, labels: str | None) -> Select[Any]:
    """All scores that count, numbered by `place` from the newest one of each submission."""
    labelled = true() if labels is None else _C.labels == labels
    place = func.row_number().over(partition_by=_C.submission, order_by=_C.id.desc()).label("place")
    current = func.first_value(_C.labels).over(partition_by=_S.team, order_by=_C.id.desc()).label("current")
    columns = (_S.team, _T.name.label("team_name"), _T.reference, _S.begun, _S.chosen, place, current)
    joined = schema.scores.join(schema.submissions, _S.id == _C.submission).join(schema.teams, _T.id == _S.team)
    counts = and_(_C.obsolete.is_(None), _T.disqualified.is_(None), labelled)
    return (
        select(*schema.scores.c, *columns)
        .select_from(joined)
        .where(_S.board == board, _S.phase == phase, counts)
    )  # fmt: skip


def _best(board: str, phase: str, better: Better, hidden: bool, labels: str | None) -> Select[Any]:
    """What each team is ranked by, the best first, as `counted`: of hidden boards what the Ladder let through last.

    That is the Ladder of the labels of the team's newest score: labels may come back that were corrected before.
    """
    scores = _newest(board, phase, labels).subquery()
    counted = scores.c.shown if hidden else scores.c.value
    sign = counted if better == "min" else -counted
    order = (scores.c.id.desc(),) if hidden else (sign, scores.c.begun, scores.c.id)
    first = func.row_number().over(partition_by=scores.c.team, order_by=order).label("first")
    through = and_(scores.c.climbed, scores.c.labels == scores.c.current) if hidden else scores.c.place == 1
    counts = and_(counted.is_not(None), through)
    best = select(*scores.c, counted.label("counted"), sign.label("sign"), first).where(counts).subquery()
    return select(best).where(best.c.first == 1).order_by(best.c.sign, best.c.begun, best.c.id)


def _row(row: Any, rank: int | None, hidden: bool) -> Row:
    low, high = (None, None) if hidden else (row.low, row.high)
    return Row(
        rank, row.team_name, row.counted, low, high, row.submission, row.begun, row.reference, row.labels, row.scorer
    )  # fmt: skip


def _entry(row: Any, *, chosen: bool) -> Entry:
    return Entry(
        row.submission, row.team, row.team_name, row.begun, row.reference, chosen, row.id, row.labels, row.scorer,
        row.at,
    )  # fmt: skip
