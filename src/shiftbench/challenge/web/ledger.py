"""All that a server remembers, in one SQLite file: accounts, teams, uploads, submissions and what was done by whom.

Secrets (sessions, tokens, links) are stored as hashes. All moments are microseconds since 1970 UTC; a clock that jumps
back never reopens a phase, because the largest moment seen counts.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiftbench.challenge.definition import Phase
from shiftbench.errors import ShiftbenchError

SECOND = 1_000_000
DAY = 86_400 * SECOND
SESSION_LASTS = 14 * DAY
LEASE = 120 * SECOND
MOST_TRIES = 5
OURS = "a fault of the server: it costs no quota"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS clock (one INTEGER PRIMARY KEY CHECK (one = 1), seen INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS users (
  id INTEGER PRIMARY KEY, email TEXT UNIQUE NOT NULL, password TEXT NOT NULL, role TEXT NOT NULL,
  made INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS secrets (
  hash TEXT PRIMARY KEY, kind TEXT NOT NULL, user INTEGER REFERENCES users, ends INTEGER, name TEXT, number INTEGER);
CREATE TABLE IF NOT EXISTS teams (id INTEGER PRIMARY KEY, name TEXT UNIQUE NOT NULL, code TEXT UNIQUE NOT NULL);
CREATE TABLE IF NOT EXISTS members (user INTEGER PRIMARY KEY REFERENCES users, team INTEGER NOT NULL REFERENCES teams);
CREATE TABLE IF NOT EXISTS uploads (
  id TEXT PRIMARY KEY, board TEXT NOT NULL, phase TEXT NOT NULL, team INTEGER NOT NULL REFERENCES teams,
  user INTEGER NOT NULL REFERENCES users, name TEXT NOT NULL, size INTEGER NOT NULL, received INTEGER NOT NULL,
  begun INTEGER NOT NULL, submission INTEGER);
CREATE TABLE IF NOT EXISTS submissions (
  id INTEGER PRIMARY KEY, board TEXT NOT NULL, phase TEXT NOT NULL, team INTEGER NOT NULL REFERENCES teams,
  user INTEGER NOT NULL REFERENCES users, name TEXT NOT NULL, size INTEGER NOT NULL, sha256 TEXT NOT NULL,
  begun INTEGER NOT NULL, state TEXT NOT NULL, fault TEXT, problems TEXT NOT NULL DEFAULT '[]', score REAL,
  worker TEXT, lease INTEGER, tries INTEGER NOT NULL DEFAULT 0);
CREATE INDEX IF NOT EXISTS submissions_of_board ON submissions (board, phase, state);
CREATE TABLE IF NOT EXISTS audit (
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, user INTEGER, action TEXT NOT NULL, subject TEXT NOT NULL);
"""


class Refused(ShiftbenchError):
    """A request that the rules of the challenge, or of the server, do not allow; `status` is that of HTTP."""

    def __init__(self, *problems: str, status: int = 409) -> None:
        super().__init__(*problems)
        self.status = status


@dataclass(frozen=True)
class User:
    """An account; role: participant, organiser or admin."""

    id: int
    email: str
    role: str
    team: int | None
    team_name: str | None

    @property
    def organises(self) -> bool:
        """Whether the account may act for the organiser."""
        return self.role in ("organiser", "admin")


@dataclass(frozen=True)
class Upload:
    """A file that is on its way; `submission` once it is complete."""

    id: str
    board: str
    phase: str
    team: int
    user: int
    name: str
    size: int
    received: int
    begun: int
    submission: int | None


@dataclass(frozen=True)
class Submission:
    """A team's file for a phase, its state and, at the end, its score or what is wrong with it."""

    id: int
    board: str
    phase: str
    team: int
    team_name: str
    name: str
    size: int
    sha256: str
    begun: int
    state: str
    fault: str | None
    problems: tuple[str, ...]
    score: float | None


@dataclass(frozen=True)
class Row:
    """A line of a leaderboard."""

    rank: int
    team: str
    score: float
    submission: int
    begun: int


def digest(secret: str) -> str:
    """What is stored of a secret."""
    return hashlib.sha256(secret.encode()).hexdigest()


class Ledger:
    """The database of a server. Every method is one transaction; any number of threads and processes may call them."""

    def __init__(self, path: Path, *, clock: Callable[[], int]) -> None:
        self.path, self._clock, self._local = path, clock, threading.local()
        with closing(sqlite3.connect(path, timeout=30)) as made:
            made.execute("PRAGMA journal_mode = WAL")
            made.executescript(_SCHEMA)
        path.chmod(0o600)

    def _connection(self) -> sqlite3.Connection:
        if not hasattr(self._local, "connection"):
            connection = sqlite3.connect(self.path, timeout=30, isolation_level=None)
            connection.row_factory = sqlite3.Row
            for pragma in ("foreign_keys = ON", "synchronous = FULL", "journal_size_limit = 67108864"):
                connection.execute(f"PRAGMA {pragma}")
            self._local.connection = connection
        return self._local.connection  # type: ignore[no-any-return]

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield connection
        except BaseException:
            connection.rollback()
            raise
        connection.commit()

    def _rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        return self._connection().execute(query, values).fetchall()

    def now(self) -> int:
        """The largest moment seen so far, also by other processes and before a restart."""
        with self._writing() as c:
            return self._now(c)

    def _now(self, c: sqlite3.Connection) -> int:
        raised = (
            "INSERT INTO clock VALUES (1, ?) ON CONFLICT DO UPDATE SET seen = max(seen, excluded.seen) RETURNING seen"
        )
        return int(c.execute(raised, (self._clock(),)).fetchone()[0])

    # Accounts

    def sign_up(self, email: str, password: str, *, role: str = "participant") -> User:
        """Add an account; `password` is a hash already."""
        try:
            with self._writing() as c:
                values = (email.strip().lower(), password, role, self._now(c))
                found = c.execute("INSERT INTO users (email, password, role, made) VALUES (?, ?, ?, ?)", values)
                user = int(found.lastrowid or 0)
        except sqlite3.IntegrityError:
            raise Refused(f"expected a new address, found {email!r} in use. Sign in instead.") from None
        return self.user(user)

    def user(self, user: int) -> User:
        """The account of this number."""
        query = (
            "SELECT u.id, u.email, u.role, t.id AS team, t.name AS team_name FROM users u "
            "LEFT JOIN members m ON m.user = u.id LEFT JOIN teams t ON t.id = m.team WHERE u.id = ?"
        )
        if not (found := self._rows(query, user)):
            raise Refused("expected an account that exists. Sign in again.", status=404)
        return User(**found[0])

    def password(self, email: str) -> tuple[int, str] | None:
        """The number and the hash of the password of an account."""
        found = self._rows("SELECT id, password FROM users WHERE email = ?", email.strip().lower())
        return (found[0]["id"], found[0]["password"]) if found else None

    def issue(self, kind: str, user: int | None, *, lasts: int | None = None, name: str = "") -> str:
        """A new secret of a kind ("session", "token", "link"), returned once and stored as a hash."""
        secret = secrets.token_urlsafe(32)
        with self._writing() as c:
            now = self._now(c)
            ends = None if lasts is None else now + lasts
            number = int(c.execute("SELECT coalesce(max(number), 0) + 1 FROM secrets").fetchone()[0])
            c.execute("INSERT INTO secrets VALUES (?, ?, ?, ?, ?, ?)", (digest(secret), kind, user, ends, name, number))
        return secret

    def bearer(self, kind: str, secret: str) -> User | None:
        """Whose secret this is; None if it is unknown, ended or revoked."""
        query = (
            "SELECT user FROM secrets WHERE hash = ? AND kind = ? "
            "AND (ends IS NULL OR ends > max(?, (SELECT seen FROM clock)))"
        )
        found = self._rows(query, digest(secret), kind, self._clock())
        return self.user(found[0]["user"]) if found and found[0]["user"] is not None else None

    def spend(self, kind: str, secret: str) -> bool:
        """Remove a secret; whether it was valid. Of two at once one alone succeeds."""
        with self._writing() as c:
            query = "DELETE FROM secrets WHERE hash = ? AND kind = ? AND (ends IS NULL OR ends > ?)"
            spent = c.execute(query, (digest(secret), kind, self._now(c))).rowcount == 1
            if spent and kind == "link":  # the first admin ends the links of all earlier starts
                c.execute("DELETE FROM secrets WHERE kind = 'link'")
            return spent

    def has_admin(self) -> bool:
        """Whether anybody administers this server."""
        return bool(self._rows("SELECT 1 FROM users WHERE role = 'admin' LIMIT 1"))

    def tokens(self, user: int) -> list[tuple[int, str]]:
        """Number and name of each token of an account."""
        query = "SELECT number, name FROM secrets WHERE kind = 'token' AND user = ? ORDER BY number"
        return [(row["number"], row["name"]) for row in self._rows(query, user)]

    def revoke(self, user: int, number: int) -> None:
        """End a token of an account."""
        with self._writing() as c:
            c.execute("DELETE FROM secrets WHERE kind = 'token' AND user = ? AND number = ?", (user, number))

    # Teams

    def found(self, name: str, user: int) -> str:
        """Make a team with this account as its first member; returns the code that others join with."""
        code = secrets.token_urlsafe(12)
        try:
            with self._writing() as c:
                team = c.execute("INSERT INTO teams (name, code) VALUES (?, ?)", (name, code)).lastrowid
                c.execute("INSERT INTO members VALUES (?, ?)", (user, team))
        except sqlite3.IntegrityError:
            raise Refused(f"expected a new name of a team and an account without one, found {name!r}.") from None
        return code

    def join(self, code: str, user: int) -> None:
        """Join the team of this code."""
        try:
            with self._writing() as c:
                query = "INSERT INTO members SELECT ?, id FROM teams WHERE code = ?"
                if not c.execute(query, (user, code)).rowcount:
                    raise Refused("expected the code of a team, found another. Ask a member for it.")
        except sqlite3.IntegrityError:
            raise Refused("expected an account without a team, found one in a team already.") from None

    def code(self, team: int) -> str:
        """The code that others join a team with; for its members."""
        return str(self._rows("SELECT code FROM teams WHERE id = ?", team)[0]["code"])

    def team(self, name: str) -> int:
        """The number of the team of this name."""
        if not (found := self._rows("SELECT id FROM teams WHERE name = ?", name)):
            raise Refused(f"expected the name of a team, found {name!r}. Correct it.", status=404)
        return int(found[0]["id"])

    # Uploads

    def begin(self, board: str, phase: Phase, user: User, *, team: int, file: tuple[str, int]) -> Upload:
        """Open an upload of a file (name, size); this moment decides on phase and quota."""
        name, size = file
        now = self.now()  # remembered even where this upload is refused
        with self._writing() as c:
            if problems := self._reasons(c, board, phase, team, now):
                raise Refused(*problems)
            key = secrets.token_urlsafe(16)
            values = (key, board, phase.name, team, user.id, name, size, now)
            c.execute("INSERT INTO uploads VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, NULL)", values)
            if team != user.team:
                self._note(c, now, user.id, "submitted for another team", f"team {team}, upload {key}")
        return self.upload(key)

    def _reasons(self, c: sqlite3.Connection, board: str, phase: Phase, team: int, now: int) -> list[str]:
        """Why a team may not submit now; unfinished uploads of the last hour count, so that none slip past together."""
        if not phase.open(now):
            return [f"expected a submission while the phase {phase.name} is open: it is closed now."]
        counted = "SELECT count(*) FROM submissions WHERE board = ? AND phase = ? AND team = ? AND begun > ? AND "
        charged = counted + "state IN ('uploaded', 'validating', 'scoring', 'scored')"
        failed = counted + "state = 'failed' AND fault = 'submission'"
        midnight = now - now % DAY
        waiting = (
            "SELECT count(*) FROM uploads WHERE board = ? AND phase = ? AND team = ? AND begun > ? "
            "AND submission IS NULL"
        )
        key = (board, phase.name, team)
        used = c.execute(charged, (*key, midnight - 1)).fetchone()[0]
        used += c.execute(waiting, (*key, max(midnight - 1, now - DAY // 24))).fetchone()[0]
        failures = c.execute(failed, (*key, now - DAY // 24)).fetchone()[0]
        reasons = []
        if used >= phase.per_day:
            reasons.append(
                f"expected at most {phase.per_day} submissions a day (UTC), found {used}. Wait until midnight."
            )
        if failures >= phase.failures_per_hour:
            reasons.append(f"expected at most {phase.failures_per_hour} failures an hour, found {failures}. Wait.")
        return reasons

    def upload(self, key: str) -> Upload:
        """The upload of this name."""
        if not (found := self._rows("SELECT * FROM uploads WHERE id = ?", key)):
            raise Refused("expected an upload that exists. Begin another.", status=404)
        return Upload(**found[0])

    def received(self, key: str, offset: int, count: int) -> bool:
        """Note bytes that lie on the disk; false if others came first."""
        with self._writing() as c:
            query = "UPDATE uploads SET received = ? WHERE id = ? AND received = ? AND submission IS NULL"
            return c.execute(query, (offset + count, key, offset)).rowcount == 1

    def abandon(self, key: str) -> None:
        """Forget an upload that is not complete."""
        with self._writing() as c:
            c.execute("DELETE FROM uploads WHERE id = ? AND submission IS NULL", (key,))

    def complete(self, key: str, sha256: str) -> int:
        """Turn a whole upload into a submission, once: a second call returns the same."""
        with self._writing() as c:
            known = c.execute("SELECT submission FROM uploads WHERE id = ?", (key,)).fetchone()
            if known is None:
                raise Refused("expected an upload that exists. Begin another.", status=404)
            if known[0] is not None:
                return int(known[0])
            query = (
                "INSERT INTO submissions (board, phase, team, user, name, size, sha256, begun, state) "
                "SELECT board, phase, team, user, name, size, ?, begun, 'uploaded' FROM uploads WHERE id = ?"
            )
            made = int(c.execute(query, (sha256, key)).lastrowid or 0)
            c.execute("UPDATE uploads SET submission = ? WHERE id = ?", (made, key))
        return made

    # Submissions

    def submission(self, number: int) -> Submission:
        """The submission of this number."""
        if not (found := self.submissions("s.id = ?", number)):
            raise Refused("expected a submission that exists.", status=404)
        return found[0]

    def submissions(self, condition: str = "1", *values: Any) -> list[Submission]:
        """Submissions, the newest first; `condition` is this package's own text, never a user's."""
        query = (
            "SELECT s.id, board, phase, team, t.name AS team_name, s.name, size, sha256, begun, state, fault, "
            f"problems, score FROM submissions s JOIN teams t ON t.id = s.team WHERE {condition} "
            "ORDER BY s.id DESC LIMIT 1000"
        )
        return [
            Submission(**{**row, "problems": tuple(json.loads(row["problems"]))}) for row in self._rows(query, *values)
        ]

    def board(self, board: str, phase: str, *, better: str) -> list[Row]:
        """The best score of each team, the best first; equal ones share a rank. Entries without score have none."""
        best, order = ("min", "ASC") if better == "min" else ("max", "DESC")
        query = (
            f"SELECT rank() OVER (ORDER BY score {order}) AS rank, team, score, submission, begun FROM ("
            f"SELECT t.name AS team, {best}(score) AS score, s.id AS submission, begun FROM submissions s "
            "JOIN teams t ON t.id = s.team WHERE board = ? AND phase = ? AND state = 'scored' AND score IS NOT NULL "
            f"GROUP BY s.team) ORDER BY score {order}, begun"
        )
        return [Row(**row) for row in self._rows(query, board, phase)]

    # Work

    def claim(self, worker: str) -> Submission | None:
        """Take the oldest waiting submission, or one whose worker's lease has ended."""
        with self._writing() as c:
            now = self._now(c)
            self._expire(c, now)
            query = (
                "UPDATE submissions SET state = 'validating', worker = ?, lease = ?, tries = tries + 1 WHERE id = "
                "(SELECT min(id) FROM submissions WHERE state = 'uploaded') RETURNING id"
            )
            found = c.execute(query, (worker, now + LEASE)).fetchone()
        return self.submission(found[0]) if found else None

    def _expire(self, c: sqlite3.Connection, now: int) -> None:
        past = "state IN ('validating', 'scoring') AND lease < ?"
        failed = "UPDATE submissions SET state = 'failed', fault = 'ours', problems = ? WHERE tries >= ? AND "
        c.execute(failed + past, (json.dumps([OURS]), MOST_TRIES, now))
        c.execute("UPDATE submissions SET state = 'uploaded', worker = NULL WHERE " + past, (now,))

    def heartbeat(self, number: int, worker: str, state: str) -> bool:
        """Prolong the lease and tell the state; false if the submission is somebody else's now."""
        with self._writing() as c:
            query = (
                "UPDATE submissions SET lease = ?, state = ? WHERE id = ? AND worker = ? "
                "AND state IN ('validating', 'scoring')"
            )
            return c.execute(query, (self._now(c) + LEASE, state, number, worker)).rowcount == 1

    def finish(self, number: int, worker: str, score: float) -> bool:
        """Store a score; false if the lease is gone, so that nothing is scored twice."""
        return self._end(number, worker, "scored", None, (), score)

    def fail(self, number: int, worker: str, fault: str, problems: Sequence[str]) -> bool:
        """Store what is wrong and whose fault it is ("submission" or "ours")."""
        return self._end(number, worker, "failed", fault, problems, None)

    def _end(
        self, number: int, worker: str, state: str, fault: str | None, problems: Sequence[str], score: float | None
    ) -> bool:
        with self._writing() as c:
            query = (
                "UPDATE submissions SET state = ?, fault = ?, problems = ?, score = ?, worker = NULL WHERE id = ? "
                "AND worker = ? AND lease >= ? AND state IN ('validating', 'scoring')"
            )
            values = (state, fault, json.dumps(list(problems)), score, number, worker, self._now(c))
            return c.execute(query, values).rowcount == 1

    def requeue(self, number: int, user: User) -> None:
        """Put a submission that is not scored into the queue again, by an organiser."""
        with self._writing() as c:
            query = (
                "UPDATE submissions SET state = 'uploaded', worker = NULL, fault = NULL, problems = '[]', tries = 0 "
                "WHERE id = ? AND state != 'scored'"
            )
            if not c.execute(query, (number,)).rowcount:
                raise Refused("expected a submission without a score, found none of this number.")
            self._note(c, self._now(c), user.id, "requeued", f"submission {number}")

    def cancel(self, number: int, user: User) -> None:
        """End a submission that has no score yet, as a fault of the server: it costs no quota."""
        with self._writing() as c:
            query = (
                "UPDATE submissions SET state = 'failed', worker = NULL, fault = 'ours', problems = ? "
                "WHERE id = ? AND state IN ('uploaded', 'validating', 'scoring')"
            )
            if not c.execute(query, (json.dumps(["ended by the organiser: it costs no quota"]), number)).rowcount:
                raise Refused("expected a submission in the queue, found none of this number.")
            self._note(c, self._now(c), user.id, "ended", f"submission {number}")

    def _note(self, c: sqlite3.Connection, now: int, user: int, action: str, subject: str) -> None:
        c.execute("INSERT INTO audit (at, user, action, subject) VALUES (?, ?, ?, ?)", (now, user, action, subject))

    def audit(self) -> list[tuple[int, int, str, str]]:
        """What was done by whom: moment, account, action, subject; the newest first."""
        return [tuple(row)[1:] for row in self._rows("SELECT * FROM audit ORDER BY id DESC LIMIT 1000")]
