"""Handing in a file from the command line: checked here first, sent in chunks that resume, then the score.

What was sent of a file is noted in the user's state folder, so that the same command goes on after an interruption,
a lost connection or a restart of the server.
"""

from __future__ import annotations

import datetime
import hashlib
import http.client
import ipaddress
import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

from shiftbench.challenge import definition
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.errors import SettingsError, ShiftbenchError, quoted
from shiftbench.io import files
from shiftbench.progress import Progress, silent

T = TypeVar("T")
TOKEN = "SHIFTBENCH_TOKEN"
CHUNK = 4 * 2**20
MOST_ANSWER = 2**22  # bytes
WAITS_S = (0.5, 1, 2, 4, 8, 15, 30, 60)  # between attempts, until it is given up
POLLS_S = (0.3, 1, 2, 5)  # between questions for the state; the last again and again
TIMEOUT_S = 60
ENDS = ("scored", "failed", "cancelled")
PASSING = (408, 425, 429, 500, 502, 503, 504, 507)  # statuses after which the same request may succeed


class ServerError(ShiftbenchError):
    """What a server answered instead of doing what it was asked; `status` is that of HTTP, 0 without an answer."""

    def __init__(self, *problems: str, status: int = 0) -> None:
        super().__init__(*problems)
        self.status = status


def token(path: Path | None = None) -> str:
    """The token of an account: in a file, in the environment, or in the user's file of settings.

    Raises:
        SettingsError: if there is none.
    """
    usual = _home("XDG_CONFIG_HOME", ".config") / "token"
    if path is None and (found := os.environ.get(TOKEN, "").strip()):
        return _checked(found, f"${TOKEN}")
    place = path or usual
    try:
        return _checked(files.read_text(place).strip(), str(place))
    except OSError as error:
        raise SettingsError(
            f"expected a token in {place}{'' if path else f' or ${TOKEN}'}, found none ({error.strerror}). Make one on "
            "the account's page of the server, and save it there."
        ) from None


def _checked(found: str, where: str) -> str:
    if not found or not found.isascii() or not found.isprintable() or " " in found or len(found) > 200:
        raise SettingsError(
            f"expected one token in {where}, found another text. Copy it from the account's page again."
        )
    return found


def _home(variable: str, usual: str) -> Path:
    folder = os.environ.get(variable, "")
    return (Path(folder) if folder else Path.home() / usual) / "shiftbench"


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_args: Any, **_named: Any) -> None:
        return None  # the token goes to no other address


@dataclass(frozen=True)
class Server:
    """A server and the account that speaks to it. sleep: for tests."""

    address: str
    token: str = field(default="", repr=False)
    sleep: Callable[[float], None] = time.sleep

    @classmethod
    def of(cls, address: str, token: str = "", **more: Any) -> Server:
        """The server at an address such as https://example.org.

        Raises:
            SettingsError: if it is no address, or a token would cross the network in clear text.
        """
        parts = urlsplit(address if "://" in address else f"https://{address}")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.query:
            raise SettingsError(f"expected a server's address such as https://example.org, found {quoted(address)}.")
        if token and parts.scheme == "http" and not _local(parts.hostname):
            raise SettingsError(
                f"expected an address with https, found {quoted(address)}: anybody on the way could read the token. "
                "Ask the organiser for one with https."
            )
        return cls(f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}", token, **more)

    def get(self, path: str) -> Any:
        """What the API answers to a question."""
        return self._patiently("GET", path)[0]

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        """What the API answers to a change."""
        data = json.dumps(body).encode()
        return self._patiently("POST", path, data, {"Content-Type": "application/json"})[0]

    def received(self, key: str) -> int:
        """How many bytes of an upload have arrived."""
        return int(self._patiently("HEAD", f"/uploads/{quote(key, safe='')}")[1]["Upload-Offset"])

    def send(self, key: str, offset: int, data: bytes) -> int:
        """Send a chunk, once; returns how many bytes have arrived."""
        headers = {"Content-Type": "application/offset+octet-stream", "Upload-Offset": str(offset)}
        return int(self._once("PATCH", f"/uploads/{quote(key, safe='')}", data, headers)[1]["Upload-Offset"])

    def give_up(self, key: str) -> None:
        """End an upload that is not complete, so that it takes no quota."""
        self._once("DELETE", f"/uploads/{quote(key, safe='')}", None, {})

    def _patiently(
        self, method: str, path: str, data: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> tuple[Any, Mapping[str, str]]:
        return patiently(lambda: self._once(method, path, data, headers or {}), self.sleep)

    def _once(
        self, method: str, path: str, data: bytes | None, headers: Mapping[str, str]
    ) -> tuple[Any, Mapping[str, str]]:
        own = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        request = urllib.request.Request(
            f"{self.address}/api/v1{path}", data, {**headers, **own, "Accept": "application/json"}, method=method
        )
        try:
            with urllib.request.build_opener(_NoRedirects).open(request, timeout=TIMEOUT_S) as answer:
                body = answer.read(MOST_ANSWER + 1)
                return _json(body, self.address), answer.headers
        except urllib.error.HTTPError as error:
            with error:
                raise ServerError(*_problems(error), status=error.code) from None
        except (OSError, http.client.HTTPException) as error:
            why = getattr(error, "reason", error)
            raise ServerError(
                f"{self.address}: expected an answer, found: {why}. Check the address and the network; the same "
                "command goes on where this one stopped."
            ) from None


def _local(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _json(body: bytes, where: str) -> Any:
    if not body:
        return None
    try:
        if len(body) > MOST_ANSWER:
            raise ValueError
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ServerError(
            f"{where}: expected an answer of a shiftbench server, found another text. Check the address.", status=404
        ) from None


def _problems(error: urllib.error.HTTPError) -> list[str]:
    """What the server says is wrong."""
    with suppress(OSError, ValueError, KeyError, TypeError, http.client.HTTPException):
        found = json.loads(error.read(MOST_ANSWER))["problems"]
        if found and all(isinstance(each, str) for each in found):
            return list(found)
    if error.code == 401:
        return ["expected a valid token, found another. Make a new one on the account's page of the server."]
    return [f"expected the server to do it, found the answer {error.code} {error.reason}. Check the address."]


def patiently(act: Callable[[], T], sleep: Callable[[float], None]) -> T:
    """Try again, ever more slowly, while the network or the server is away."""
    for wait in (*WAITS_S, None):
        try:
            return act()
        except ServerError as error:
            if wait is None or (error.status and error.status not in PASSING):
                raise
            sleep(wait)
    raise AssertionError("the last attempt returns or raises")


def challenge(server: Server) -> Challenge:
    """The challenge that a server hosts."""
    plain = server.get("/challenge")
    try:
        boards = [{**board, "phases": [_dated(phase) for phase in board["phases"]]} for board in plain["boards"]]
        boards = [_known(board, Board) for board in boards]
        return definition.of_plain(_known({**plain, "boards": boards}, Challenge), server.address)
    except (TypeError, KeyError, OverflowError, ShiftbenchError) as error:
        found = f"found: {error}" if isinstance(error, ShiftbenchError) else "found another text"
        raise ServerError(f"{server.address}: expected a challenge, {found}. Update shiftbench.") from None


def _dated(phase: Mapping[str, Any]) -> dict[str, Any]:
    times: dict[str, datetime.datetime] = {
        key: definition.moment(phase[key]) for key in ("starts", "ends") if phase.get(key) is not None
    }
    return _known({**phase, **times}, Phase)


def _known(values: Mapping[str, Any], kind: type) -> dict[str, Any]:
    """What this version knows of what a newer server may say."""
    return {each.name: values[each.name] for each in fields(kind) if values.get(each.name) is not None}


@dataclass(frozen=True)
class Wanted:
    """What is handed in where. phase: empty for the one that is open. team: another team's name, for organisers."""

    file: Path
    board: Board
    phase: str = ""
    team: str = ""


@dataclass(frozen=True)
class Unfinished:
    """An upload that is no submission yet, and takes quota until it ends; moments are microseconds since 1970 UTC."""

    id: str
    board: str
    phase: str
    team: str
    name: str
    size: int
    received: int
    ends: int


def unfinished(server: Server) -> list[Unfinished]:
    """The unfinished uploads of the account and its team, the newest first; of all teams for organisers."""
    try:
        return [Unfinished(**_known(each, Unfinished)) for each in server.get("/uploads")]
    except (TypeError, AttributeError):
        raise ServerError(f"{server.address}: expected uploads, found another answer. Update either side.") from None


def submit(
    server: Server, wanted: Wanted, *, progress: Progress = silent, upload: str = "",
    known: Callable[[int], object] = str,
) -> int:  # fmt: skip
    """Send a file, or the rest of it; returns the number of the submission.

    Args:
        server: where to.
        wanted: what.
        progress: is told how far it is.
        upload: the unfinished upload to go on with; by default that of the same command before.
        known: is told the number of the submission, where the same command handed in the same file before and nothing
            is sent.

    Raises:
        ServerError: with the server's reasons, or if it stays away.
        SettingsError: if the file changes while it is sent.
    """
    size, sha256 = wanted.file.stat().st_size, files.sha256(wanted.file)
    noted = _Note.of(server, wanted, sha256)
    if upload:
        noted = _Note(noted.path, upload)
    if noted.submission is not None and not _there(lambda: server.get(f"/submissions/{noted.submission}")):
        noted = _Note(noted.path)  # of a server that was set up anew
    if noted.submission is None:
        key = (
            noted.upload
            if noted.upload and (upload or _there(lambda: server.received(noted.upload)))
            else _begin(server, wanted, size)
        )
        noted.keep(upload=key)
        _send(server, key, wanted.file, size, progress)
        if files.sha256(wanted.file) != sha256:
            raise SettingsError(f"{wanted.file}: expected it unchanged while it is sent, found another. Send it again.")
        path = f"/uploads/{quote(key, safe='')}/complete"
        noted.keep(submission=int(server.post(path, {"sha256": sha256})["id"]))
    else:
        known(noted.submission)
    return int(noted.submission or 0)


def forget(server: Server, wanted: Wanted) -> None:
    """Forget what was noted of a file, so that the same command hands it in anew; an unfinished upload is given up."""
    noted = _Note.of(server, wanted, files.sha256(wanted.file))
    if noted.upload and noted.submission is None:
        with suppress(ServerError):  # it ends by itself
            server.give_up(noted.upload)
    noted.path.unlink(missing_ok=True)


def _begin(server: Server, wanted: Wanted, size: int) -> str:
    more = {"phase": wanted.phase or None, "for_team": wanted.team or None}
    body = {"board": wanted.board.slug, "name": wanted.file.name[-200:], "size": size}
    return str(server.post("/uploads", body | {key: value for key, value in more.items() if value})["id"])


def _there(ask: Callable[[], object]) -> bool:
    """Whether the server knows what is asked for."""
    try:
        ask()
    except ServerError as error:
        if error.status in (403, 404, 410):
            return False
        raise
    return True


def _send(server: Server, key: str, file: Path, size: int, progress: Progress) -> None:
    """Send what has not arrived; after each failure the server says from where on."""

    def attempt() -> None:
        offset = server.received(key)
        with file.open("rb") as handle:
            while offset < size:
                progress("upload", offset, size)
                handle.seek(offset)
                if not (data := handle.read(CHUNK)):
                    raise SettingsError(f"{file}: expected {size:,} bytes, found fewer. It changed: send it again.")
                try:
                    offset, before = server.send(key, offset, data), offset
                except ServerError as error:
                    if error.status != 409:  # another process sends it, too: where is it now?
                        raise
                    offset, before = server.received(key), offset
                if offset <= before:
                    raise ServerError(f"{server.address}: expected bytes to arrive, found none did.", status=503)
        progress("upload", size, size)

    patiently(attempt, server.sleep)


def wait(server: Server, number: int, *, tell: Callable[[str], None]) -> dict[str, Any]:
    """The submission when it has ended; `tell` is called with each new state."""
    state, polls = "", 0
    while True:
        found = server.get(f"/submissions/{number}")
        if not isinstance(found, dict) or not isinstance(found.get("state"), str):
            raise ServerError(f"{server.address}: expected a submission, found another answer. Update shiftbench.")
        if found["state"] != state:
            state = found["state"]
            tell(state)
        if state in ENDS:
            return found
        server.sleep(POLLS_S[min(polls, len(POLLS_S) - 1)])
        polls += 1


@dataclass
class _Note:
    """What is known of a file that is handed in, in a private file of the user's state folder."""

    path: Path
    upload: str = ""
    submission: int | None = None

    @classmethod
    def of(cls, server: Server, wanted: Wanted, sha256: str) -> _Note:
        named = [server.address, wanted.board.slug, wanted.phase, wanted.team, sha256, str(wanted.file.resolve())]
        name = hashlib.sha256(json.dumps(named).encode()).hexdigest()[:32]
        path = _home("XDG_STATE_HOME", ".local/state") / "uploads" / f"{name}.json"
        with suppress(OSError, ValueError, KeyError, TypeError):
            plain = json.loads(files.read_text(path))
            return cls(path, str(plain["upload"]), None if plain["submission"] is None else int(plain["submission"]))
        return cls(path)

    def keep(self, **values: Any) -> None:
        for name, value in values.items():
            setattr(self, name, value)
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        files.write_json(self.path, {"upload": self.upload, "submission": self.submission})
        self.path.chmod(0o600)
