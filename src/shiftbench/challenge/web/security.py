"""What every request passes: limits of size, time and rate, headers of every answer, passwords and CSRF tokens."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import html
import ipaddress
import json
import math
import re
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import Allowance, Refused

COOKIE = "shiftbench"
POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
MIB = 2**20
CHUNK = 8 * MIB
SMALL = 2**16
SAFE = ("GET", "HEAD", "OPTIONS")
MINUTE_S, LONG_S, HOUR_S = 60, 600, 3_600
LEAST_PASSWORD, MOST_PASSWORD = 10, 256
_HASHES = threading.Semaphore(2)  # argon2 takes 64 MiB each


@dataclass(frozen=True)
class Limits:
    """What one address or account may ask of the server.

    whole: bytes of a file in one request. seconds: until the next bytes of a body have to come. bytes_per_s: the
    least speed of a body, over its whole length. acts, passwords: requests a minute from one address that change
    something, and that try a password. wrong: passwords of one account that may be wrong in an hour, from all addresses
    together; beyond that each address has `slowly` tries in ten minutes.
    """

    whole: int = 64 * MIB
    largest: int = 10 * 2**30
    seconds: float = 20.0
    bytes_per_s: float = 4096.0
    acts: int = 600
    passwords: int = 10
    wrong: int = 100
    slowly: int = 3


class Rates:
    """How many acts of this process in the last minute, by key; of very many keys the oldest are forgotten."""

    MOST = 100_000

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._left: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def take(self, kind: str, key: str, per_minute: int) -> None:
        """Count one act; what comes too often is not counted.

        Raises:
            Refused: with status 429, if more than `per_minute` came in a minute.
        """
        with self._lock:
            now = self._clock()
            left, then = self._left.pop((kind, key), (float(per_minute), now))
            left = min(float(per_minute), left + (now - then) * per_minute / MINUTE_S)
            self._left[kind, key] = (left - 1 if left >= 1 else left, now)
            if len(self._left) > self.MOST:
                self._left.popitem(last=False)
        if left < 1:
            raise _too_often(per_minute, "of these requests")


def _too_often(per_minute: int, what: str = "passwords or codes tried") -> Refused:
    return Refused(f"expected at most {per_minute} {what} a minute, found more. Wait a minute.", status=429)


def place(address: str) -> str:
    """Whom to count an address for: one of IPv6 with its network of 64 bits, as whoever has one has them all."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if found.version == 6 and found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else address


def count_secret(ledger: Ledger, limits: Limits, kind: str, key: str) -> None:
    """Count what may be a guess of a secret, as a password or a team's code is, for all processes of the server.

    Raises:
        Refused: with status 429, if more than `limits.passwords` came in a minute.
    """
    if ledger.take(Allowance(kind, key, limits.passwords)):
        raise _too_often(limits.passwords)


def count_try(ledger: Ledger, limits: Limits, account: str, address: str) -> Callable[[], None]:
    """Count a try of an account's password; what it returns is called if the password was right, and takes it back.

    Tries are limited for each account and address. Wrong passwords from many addresses slow all of them down, but keep
    nobody out who has the right one: each address still has a few tries.

    Raises:
        Refused: with status 429, without telling whether there is such an account.
    """
    pair = f"{place(address)} {account}"
    both = Allowance("account and address", pair, limits.passwords)
    whole, slowly = (
        Allowance("account", account, limits.wrong, HOUR_S),
        Allowance("slowly", pair, limits.slowly, LONG_S),
    )
    taken = (both, whole)
    if (empty := ledger.take(*taken)) is whole:
        taken = (both, slowly)
        empty = ledger.take(*taken)
    if empty is both:
        raise _too_often(limits.passwords)
    if empty is not None:
        raise Refused(
            f"expected at most {limits.slowly} tries in ten minutes: this account gets many wrong passwords. Wait "
            "ten minutes.",
            status=429,
            wait_s=LONG_S,
        )
    return lambda: ledger.give_back(*taken)


def csrf(cookie: str) -> str:
    """The token that forms carry for the holder of a cookie; it cannot be turned back into the cookie."""
    return hmac.new(cookie.encode(), b"shiftbench csrf", hashlib.sha256).hexdigest()


def require_csrf(cookie: str, given: str) -> None:
    """Refuse a form that does not come from a page for this cookie."""
    if not cookie or not hmac.compare_digest(csrf(cookie).encode(), given.encode("utf-8", "replace")):
        raise Refused("expected a form of this page. Load the page again, and allow its cookie.", status=403)


def new_cookie() -> str:
    """The cookie of a visitor who has not signed in."""
    return secrets.token_urlsafe(32)


class Passwords:
    """Hashes of passwords by argon2id; called in threads, two at a time."""

    def __init__(self, hasher: PasswordHasher | None = None) -> None:
        self._hasher = hasher or PasswordHasher()
        self._nobody = self._hasher.hash(secrets.token_urlsafe(16))

    def hash(self, password: str) -> str:
        """The hash that is stored.

        Raises:
            Refused: if the password is too short or too long.
        """
        if not LEAST_PASSWORD <= len(password) <= MOST_PASSWORD:
            raise Refused(
                f"expected a password of {LEAST_PASSWORD} to {MOST_PASSWORD} characters, found {len(password)}.",
                status=422,
            )
        with _HASHES:
            return self._hasher.hash(password)

    def agree(self, stored: str | None, password: str) -> bool:
        """Whether a password fits; it takes as long if there is no such account."""
        if len(password) > MOST_PASSWORD:
            return False
        try:
            with _HASHES:
                return self._hasher.verify(stored or self._nobody, password) and stored is not None
        except (VerificationError, InvalidHashError):
            return False


class Guard:
    """Innermost but the application: refuses bodies too large or too slow before and while they are read."""

    def __init__(self, app: ASGIApp, *, limits: Limits) -> None:
        self.app, self.limits = app, limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        state: dict[str, Any] = {"started": False}
        bounded = _Body(receive, self._most(scope), self.limits)

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                state["started"] = True
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if not scope["path"].startswith("/static/"):
                    headers.setdefault("Cache-Control", "no-store")
                if scope["method"] not in SAFE and not bounded.ended:  # the rest of a body is not waited for
                    headers["Connection"] = "close"
            await send(message)

        try:
            bounded.declared(scope)
            await self.app(scope, bounded, headed)
        except Refused as error:
            if not state["started"]:
                await _answer(headed, error, page=_wants_page(scope))

    def _most(self, scope: Scope) -> int:
        """How many bytes the body of this request may have."""
        if scope["method"] == "PATCH":
            return CHUNK
        if scope["method"] == "POST" and re.fullmatch(r"/boards/[^/]+/submit", scope["path"]):
            return self.limits.whole + SMALL
        return SMALL


class _Body:
    """A body that is counted and timed while it comes."""

    def __init__(self, receive: Receive, most: int, limits: Limits) -> None:
        self.receive, self.most, self.limits = receive, most, limits
        self.count, self.start, self.ended = 0, math.nan, False

    def declared(self, scope: Scope) -> None:
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if not re.fullmatch(rb"[0-9]{1,18}", length):
            raise Refused("expected a Content-Length that is a number.", status=400)
        self._require(int(length))

    def _require(self, count: int) -> None:
        if count > self.most:
            raise Refused(
                f"expected a body of at most {self.most:,} bytes, found more. Send files in chunks.", status=413
            )

    async def __call__(self) -> Message:
        if self.ended:  # waits until the client has gone
            return await self.receive()
        if math.isnan(self.start):  # what the server did before is not the client's time
            self.start = time.monotonic()
        try:
            message = await asyncio.wait_for(self.receive(), self.limits.seconds)
        except TimeoutError:
            raise Refused("expected the rest of the body, found silence. Send again.", status=408) from None
        if message["type"] == "http.request":
            self.count += len(message.get("body", b""))
            self._require(self.count)
            self.ended = not message.get("more_body", False)
            if time.monotonic() - self.start > self.limits.seconds + self.count / self.limits.bytes_per_s:
                raise Refused("expected a faster body. Send smaller chunks.", status=408)
        return message


def _wants_page(scope: Scope) -> bool:
    """Whether a person's browser asks, not a program."""
    return b"text/html" in dict(scope["headers"]).get(b"accept", b"") and not scope["path"].startswith("/api/")


async def _answer(send: Send, error: Refused, *, page: bool) -> None:
    body, kind = json.dumps({"problems": list(error.problems)}).encode(), b"application/json"
    if page:
        problems = " ".join(each[:1].upper() + each[1:] for each in error.problems)
        body, kind = _PAGE.format(problems=html.escape(problems)).encode(), b"text/html; charset=utf-8"
    headers = [
        (b"content-type", kind),
        (b"connection", b"close"),
        (b"content-length", b"%d" % len(body)),
    ]
    await send({"type": "http.response.start", "status": error.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>This did not work</title><link rel="stylesheet" href="/static/style.css"></head>
<body><main class="within"><h1>This did not work</h1><p class="notice bad">{problems}</p>
<p>Where scripts run, large files are sent in pieces; <code>shiftbench submit</code> does so, too.</p>
<p><a href="/">All boards</a></p></main></body></html>
"""
