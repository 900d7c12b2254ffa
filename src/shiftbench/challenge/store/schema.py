"""The tables of a ledger; secrets are stored as hashes, moments as microseconds since 1970 UTC.

What changes here needs a revision in `migrations/versions`, and its name as `VERSION`; a test compares the two.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeEngine

VERSION = "0002"
WHOLE: TypeEngine[int] = BigInteger().with_variant(Integer(), "sqlite")  # SQLite numbers rows by Integer alone
metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
    }
)


def _id() -> Column[int]:
    return Column("id", WHOLE, Identity(), primary_key=True)


def _whole(name: str, to: str | None = None, **more: Any) -> Column[Any]:
    return Column(name, WHOLE, *([ForeignKey(f"{to}.id")] if to else []), **{"nullable": False} | more)


def _text(name: str, **more: Any) -> Column[Any]:
    return Column(name, Text, **{"nullable": False} | more)


def _flag(name: str) -> Column[Any]:
    return Column(name, Boolean, nullable=False, default=False)


clock = Table(  # one row; every transaction that writes changes it first
    "clock", metadata, _whole("one", primary_key=True, autoincrement=False), _whole("seen"), _whole("resets"),
    _whole("changes"),
)  # fmt: skip
users = Table(
    "users", metadata, _id(), _text("email", unique=True), _text("password"), _text("role"), _whole("made"),
)  # fmt: skip
secrets = Table(  # kind: session, token, link or invitation; the latter for a role and perhaps an address
    "secrets", metadata, _text("hash", primary_key=True), _text("kind"), _whole("user", "users", nullable=True),
    _whole("ends", nullable=True), _text("name"), _whole("number"), _text("role", nullable=True),
    _text("email", nullable=True),
)  # fmt: skip
teams = Table(
    "teams", metadata, _id(), _text("name", unique=True), _text("code", unique=True), _flag("reference"),
    _text("disqualified", nullable=True),
)  # fmt: skip
members = Table("members", metadata, _whole("user", "users", primary_key=True), _whole("team", "teams"))
uploads = Table(  # touched: when its last byte came
    "uploads", metadata, _text("id", primary_key=True), _text("board"), _text("phase"), _flag("hidden"),
    _whole("team", "teams"), _whole("user", "users"), _text("name"), _whole("size"), _whole("received"),
    _whole("begun"), _whole("touched"), _whole("submission", "submissions", nullable=True),
    Index("ix_uploads_team", "team", "board", "phase"),
)  # fmt: skip
submissions = Table(  # score: its newest one; queued: since when it waits
    "submissions", metadata, _id(), _text("board"), _text("phase"), _flag("hidden"), _whole("team", "teams"),
    _whole("user", "users", nullable=True), _text("name"), _whole("size"), _text("sha256"), _whole("begun"),
    _whole("queued"), _text("state"), _text("fault", nullable=True), _text("problems", default="[]"),
    _whole("score", nullable=True), _flag("chosen"), _text("worker", nullable=True), _whole("lease", nullable=True),
    _whole("tries", default=0), Index("ix_submissions_state", "state", "queued"),
    Index("ix_submissions_board", "board", "phase", "team"),
)  # fmt: skip
scores = Table(
    "scores", metadata, _id(), _whole("submission", "submissions"), _text("labels"), _text("scorer"),
    Column("value", Float(53)), Column("low", Float(53)), Column("high", Float(53)), Column("shown", Float(53)),
    _flag("climbed"), _text("notes"), _whole("at"), _whole("receipt", unique=True), _text("obsolete", nullable=True),
    Index("ix_scores_submission", "submission"),
)  # fmt: skip
log = Table(  # entry: canonical JSON; numbers are 0, 1, 2, … without a gap
    "log", metadata, _whole("number", primary_key=True, autoincrement=False), _text("entry"),
)  # fmt: skip
finals = Table(  # the newest of a phase counts
    "finals", metadata, _id(), _text("board"), _text("phase"), _whole("at"), _text("ranking"),
)  # fmt: skip
releases = Table(
    "releases", metadata, _id(), _text("board"), _text("phase"), _whole("at"),
    UniqueConstraint("board", "phase"),
)  # fmt: skip
announcements = Table("announcements", metadata, _id(), _whole("at"), _text("text"))
audit = Table(  # via: the command line of the server's machine, and whose; user: None there, and for the server itself
    "audit", metadata, _id(), _whole("at"), _whole("user", "users", nullable=True), _text("action"), _text("subject"),
    _text("via", nullable=True),
)  # fmt: skip
tries = Table(  # of passwords, by kind and whom, as a hash: the rest of an allowance at a moment, and when it is whole
    "tries", metadata, _text("key", primary_key=True), Column("rest", Float(53), nullable=False), _whole("at"),
    _whole("whole"), Index("ix_tries_whole", "whole"),
)  # fmt: skip
