"""What pages show and what their forms do, as plain functions of a visit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from shiftbench.challenge.definition import moment
from shiftbench.challenge.store.records import DAY, SESSION_LASTS, Refused, User
from shiftbench.challenge.web.security import CHUNK
from shiftbench.challenge.web.server import Server

MOST_NAME = 60
MOST_EMAIL = 254


@dataclass(frozen=True)
class File:
    """A file of a form."""

    name: str
    size: int
    stream: BinaryIO


@dataclass(frozen=True)
class Visit:
    """One request: who asks for what. path: parameters of the path; form: fields of the form."""

    server: Server
    user: User | None
    cookie: str
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    form: Mapping[str, str] = field(default_factory=dict)
    file: File | None = None

    @property
    def account(self) -> User:
        """The account; pages for those who have signed in have one."""
        if self.user is None:
            raise Refused("expected an account. Sign in first.", status=401)
        return self.user

    def field(self, name: str, most: int = MOST_NAME) -> str:
        """A field of the form.

        Raises:
            Refused: if it is empty, too long, or has control characters.
        """
        value = self.form.get(name, "").strip()
        if not 1 <= len(value) <= most or not value.isprintable():
            raise Refused(
                f"expected {name} of 1 to {most} printable characters, found another. Correct it.", status=422
            )
        return value

    def number(self) -> int:
        """The number in the path."""
        value = self.path["number"]
        if not (value.isascii() and value.isdigit() and len(value) < 16):
            raise Refused("expected a number that exists.", status=404)
        return int(value)


@dataclass(frozen=True)
class Next:
    """Where the browser goes, and its new cookie ("" removes it, None keeps it); or a token to show once."""

    address: str
    cookie: str | None = None
    token: str | None = None


def nothing(visit: Visit) -> Mapping[str, Any]:
    """A page without values of its own."""
    return {}


def home(visit: Visit) -> Mapping[str, Any]:
    """The boards and their phases."""
    return {"boards": visit.server.challenge.boards, "moment": moment}


def board(visit: Visit) -> Mapping[str, Any]:
    """A leaderboard, the files of the board and how to submit."""
    server = visit.server
    chosen, phase = server.phase(visit.path["board"], visit.query.get("phase"))
    return {
        "board": chosen, "phase": phase, "rows": server.rows(chosen, phase), "moment": moment,
        "files": server.public_names(chosen.slug), "chunk": CHUNK,
    }  # fmt: skip


def once(visit: Visit) -> Mapping[str, Any]:
    """The form that a one-time link opens; it is spent when the form is sent."""
    return {"link": visit.path["link"]}


def account(visit: Visit) -> Mapping[str, Any]:
    """The account, its team and tokens."""
    user, ledger = visit.account, visit.server.ledger
    code = ledger.code(user.team) if user.team is not None else None
    return {"tokens": ledger.tokens(user.id), "code": code}


def submissions(visit: Visit) -> Mapping[str, Any]:
    """The submissions of the team."""
    return {"submissions": visit.server.submissions(visit.account), "moment": moment}


def submission(visit: Visit) -> Mapping[str, Any]:
    """A submission, its state and its problems."""
    return {"submission": visit.server.submission(visit.account, visit.number()), "moment": moment}


def desk(visit: Visit) -> Mapping[str, Any]:
    """The queue and what was done by whom."""
    return {
        "submissions": visit.server.ledger.submissions(), "audit": visit.server.ledger.audit(), "moment": moment,
    }  # fmt: skip


def _entered(visit: Visit, user: int) -> Next:
    """A session under a new cookie, so that one known before signing in is worth nothing."""
    if visit.user is not None:
        visit.server.ledger.spend("session", visit.cookie)
    return Next("/account", visit.server.ledger.issue("session", user, lasts=SESSION_LASTS))


def _email(visit: Visit) -> str:
    email = visit.field("email", MOST_EMAIL)
    before, at, after = email.partition("@")
    if not (before and at and "." in after) or " " in email:
        raise Refused("expected an e-mail address, found another text. Correct it.", status=422)
    return email


def sign_up(visit: Visit) -> Next:
    """Add an account and open a session."""
    hashed = visit.server.passwords.hash(visit.form.get("password", ""))
    return _entered(visit, visit.server.ledger.sign_up(_email(visit), hashed).id)


def sign_in(visit: Visit) -> Next:
    """Open a session."""
    server, email = visit.server, _email(visit)
    server.rates.take("password", email.lower(), server.limits.passwords)
    found = server.ledger.password(email)
    if not server.passwords.agree(found[1] if found else None, visit.form.get("password", "")) or not found:
        raise Refused("expected the address and password of an account, found another. Try again.", status=401)
    return _entered(visit, found[0])


def make_admin(visit: Visit) -> Next:
    """Add the admin of a new server, with the link printed at its start."""
    server, email = visit.server, _email(visit)
    hashed = server.passwords.hash(visit.form.get("password", ""))
    if not server.ledger.spend("link", visit.path["link"]):
        raise Refused("expected a link that was not used before. Start the server again for another.", status=404)
    return _entered(visit, server.ledger.sign_up(email, hashed, role="admin").id)


def sign_out(visit: Visit) -> Next:
    """End the session."""
    visit.server.ledger.spend("session", visit.cookie)
    return Next("/", "")


def found_team(visit: Visit) -> Next:
    """Found a team."""
    visit.server.ledger.found(visit.field("name"), visit.account.id)
    return Next("/account")


def join_team(visit: Visit) -> Next:
    """Join a team by its code."""
    visit.server.ledger.join(visit.field("code"), visit.account.id)
    return Next("/account")


def issue_token(visit: Visit) -> Next:
    """A token for the command line; it is shown once."""
    ledger = visit.server.ledger
    token = ledger.issue("token", visit.account.id, lasts=365 * DAY, name=visit.field("name"))
    return Next("/account", token=token)


def revoke_token(visit: Visit) -> Next:
    """End a token."""
    visit.server.ledger.revoke(visit.account.id, visit.number())
    return Next("/account")


def submit(visit: Visit) -> Next:
    """Take a whole file from a form without script."""
    if visit.file is None:
        raise Refused("expected a file, found none. Choose one.", status=422)
    server, user, file = visit.server, visit.account, visit.file
    name = file_name(file.name)
    upload = server.begin(user, visit.path["board"], visit.form.get("phase") or None, (name, file.size), None)
    while data := file.stream.read(CHUNK):
        upload = server.uploads.append(upload.id, upload.received, data)
    return Next(f"/submissions/{server.uploads.complete(upload.id)}")


def file_name(name: str) -> str:
    """The last part of a file's name, for people to read; no path is ever made of it."""
    kept = "".join(each for each in name.replace("\\", "/").rsplit("/", 1)[-1] if each.isprintable())
    return kept[-MOST_NAME:] or "file"


def requeue(visit: Visit) -> Next:
    """Score a submission again that has no score."""
    visit.server.ledger.requeue(visit.number(), visit.account)
    return Next("/desk")


def fail(visit: Visit) -> Next:
    """End a submission that hangs."""
    visit.server.ledger.stop(visit.number(), visit.account)
    return Next("/desk")
