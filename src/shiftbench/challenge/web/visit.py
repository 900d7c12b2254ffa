"""One request of a browser, and where it goes next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from shiftbench.challenge.store.records import Refused, User
from shiftbench.challenge.web.server import Server

MOST_NAME = 60
MOST_TEXT = 4_000


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
    chosen: Sequence[str] = ()  # values of the query's `entry`, which may come several times
    form: Mapping[str, str] = field(default_factory=dict)
    file: File | None = None
    address: str = ""  # from where

    @property
    def account(self) -> User:
        """The account; pages for those who have signed in have one."""
        if self.user is None:
            raise Refused("expected an account. Sign in first.", status=401)
        return self.user

    def field(self, name: str, most: int = MOST_NAME) -> str:
        """A field of the form, one line.

        Raises:
            Refused: if it is empty, too long, or has control characters.
        """
        value = self.form.get(name, "").strip()
        if not 1 <= len(value) <= most or not value.isprintable():
            raise Refused(
                f"expected {name} of 1 to {most} printable characters, found another. Correct it.", status=422
            )
        return value

    def text(self, name: str) -> str:
        """A field of the form, of several lines."""
        return readable(self.form.get(name, ""), name)

    def number(self, name: str = "number") -> int:
        """The number in the path."""
        return whole(self.path[name])


def whole(text: str) -> int:
    """A number of an address.

    Raises:
        Refused: with status 404, if it is none.
    """
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise Refused("expected a number that exists.", status=404)
    return int(text)


def readable(text: str, name: str = "text") -> str:
    """Text of several lines without control characters.

    Raises:
        Refused: if it is empty or too long, or cannot be read.
    """
    found = text.replace("\r\n", "\n").strip()
    if not 1 <= len(found) <= MOST_TEXT or not found.replace("\n", "").replace("\t", "").isprintable():
        raise Refused(
            f"expected {name} of 1 to {MOST_TEXT:,} printable characters, found another. Correct it.", status=422
        )
    return found


@dataclass(frozen=True)
class Next:
    """Where the browser goes, and its new cookie ("" removes it, None keeps it); or a secret to show once."""

    address: str
    cookie: str | None = None
    token: str | None = None
    invitation: str | None = None
    renewal: str | None = None
