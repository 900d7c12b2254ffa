"""Downloads one file over HTTP into `NAME.part`, resuming an earlier attempt if the server still has the same file.

`NAME.part.json` records the origin of the part. A part is resumed only under If-Range with the ETag or the date that
the server gave with it, so that two versions of a file are never mixed (RFC 9110, sections 13.1.5 and 14).
"""

from __future__ import annotations

import http.client
import itertools
import json
import os
import re
import shutil
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from http.client import HTTPMessage
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from shiftbench.errors import FetchError
from shiftbench.io import files
from shiftbench.io.fetch import container
from shiftbench.io.fetch.archive import SCHEMES, Archive
from shiftbench.progress import Progress

CHUNK = 1 << 20
BROKEN = re.compile(r"\n(?![ \t])|\r(?![ \t\n])")  # a line end that terminates a header
LONGEST_WAIT_S = 60.0
PASSING = {408, 425, 429, 500, 502, 503, 504}
"""HTTP statuses after which another attempt may succeed."""


@dataclass(frozen=True)
class Patience:
    """The number of retries without progress, the first wait (then doubled), and the timeout for a byte."""

    tries: int = 6
    wait_s: float = 1.0
    timeout_s: float = 60.0
    sleep: Callable[[float], None] = time.sleep


PATIENCE = Patience()


@dataclass(frozen=True)
class Origin:
    """The file and version of a part; `size` is that of the complete file, None if the server does not state it."""

    url: str
    size: int | None
    etag: str | None
    last_modified: str | None

    @property
    def validator(self) -> str | None:
        """The value for If-Range: an ETag unless it is weak, else the date."""
        strong = self.etag is not None and not self.etag.startswith("W/")
        return self.etag if strong else self.last_modified


class _BrokenError(Exception):
    """This attempt failed; another may succeed."""


class _StaleError(_BrokenError):
    """The stored part does not belong to the server's current file."""


def download(archive: Archive, part: Path, *, patience: Patience, progress: Progress) -> Origin:
    """Complete `part`, in as many attempts as necessary while they make progress.

    Raises:
        FetchError: if `part` or its note is not ours, the server refuses, the attempts are used up, the content has
            another format or size, or the disk is too small. Bytes received so far are kept for the next call, unless
            they are useless.
    """
    _require_ours(part)
    failures, most = 0, _kept(part, archive.url)[1]
    while True:
        try:
            return _try(archive, part, patience.timeout_s, progress)
        except _BrokenError as broken:
            failures = 0 if _length(part) > most else failures + 1
            most = max(most, _length(part))
            if isinstance(broken, _StaleError):
                forget(part)
            if failures >= patience.tries:
                kept = f" ({_length(part):,} bytes are kept in {part})" if _length(part) else ""
                raise FetchError(
                    f"{archive.url}: expected the file within {patience.tries} tries, found {broken}. "
                    f"Try again later{kept}, or name another address."
                ) from None
            patience.sleep(min(patience.wait_s * 2 ** max(failures - 1, 0), LONGEST_WAIT_S))


def forget(part: Path) -> None:
    """Remove a part and the note on its origin."""
    part.unlink(missing_ok=True)
    _note(part).unlink(missing_ok=True)


def _try(archive: Archive, part: Path, timeout_s: float, progress: Progress) -> Origin:
    origin, done = _kept(part, archive.url)
    if origin is not None and origin.size == done:
        return origin
    with _answer(archive.url, origin, done, timeout_s) as response:
        if origin is not None and response.status == 206:
            origin = _continued(response.headers, origin, done)
            pieces = _pieces(response, origin.size, done)
            _foresee(archive, origin.size, done, part)
        elif response.status == 200:
            origin, done = _origin(archive.url, response.headers), 0
            pieces = _pieces(response, origin.size, done)
            _foresee(archive, origin.size, done, part)
            head = _head(pieces, origin.size)
            container.check_head(head, archive.file, archive.url)
            forget(part)  # old bytes first, then the new note, so that a note never describes other bytes
            files.write_json(_note(part), asdict(origin))
            pieces = itertools.chain([head], pieces)
        else:
            raise FetchError(f"{archive.url}: expected the file (status 200), found status {response.status}.")
        _append(pieces, part, done, origin.size, progress)
    return origin


def _require_ours(part: Path) -> None:
    """Refuse to replace files that no fetch has left: bytes without their note, or another file under its name."""
    note, origin = _note(part), _noted(part)
    problems = []
    if os.path.lexists(note) and origin is None:
        problems.append(f"{note}: expected the note that `fetch` writes beside a part, found another file.")
    fits = origin is not None and (origin.size is None or _length(part) <= origin.size)
    if os.path.lexists(part) and (part.is_symlink() or not part.is_file() or (_length(part) and not fits)):
        problems.append(
            f"{part}: expected nothing there, or what an earlier fetch has left and noted in {note.name}, found "
            "another file."
        )
    if problems:
        raise FetchError(*(f"{each} Move it away, or choose another folder; nothing was changed." for each in problems))


def _kept(part: Path, url: str) -> tuple[Origin | None, int]:
    """The origin and length of a part of an earlier attempt that can be resumed."""
    origin, done = _noted(part), _length(part)
    if origin is None or not done or origin.url != url or (origin.size is not None and done > origin.size):
        return None, 0
    return (origin, done) if origin.validator is not None or done == origin.size else (None, 0)


def _noted(part: Path) -> Origin | None:
    """The note beside a part; None if there is none of ours."""
    try:
        origin = Origin(**json.loads(files.read_text(_note(part))))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    texts = (origin.etag, origin.last_modified)
    whole = origin.size is None or (type(origin.size) is int and origin.size >= 0)
    ours = isinstance(origin.url, str) and whole and all(each is None or _is_header(each) for each in texts)
    return origin if ours and not _note(part).is_symlink() else None


def _is_header(value: object) -> bool:
    """Whether a server can have sent this value in a header, so that it can be sent back."""
    try:
        return isinstance(value, str) and value.encode("latin-1") is not None and not BROKEN.search(value)
    except UnicodeEncodeError:
        return False


def _origin(url: str, headers: HTTPMessage) -> Origin:
    header = headers.get("Content-Length", "")
    size = int(header) if re.fullmatch(r"[0-9]{1,18}", header) else None
    return Origin(url, size, headers.get("ETag"), headers.get("Last-Modified"))


def _answer(url: str, origin: Origin | None, done: int, timeout_s: float) -> http.client.HTTPResponse:
    headers = {"User-Agent": "shiftbench", "Accept-Encoding": "identity"}
    if origin is not None:
        headers |= {"Range": f"bytes={done}-", "If-Range": str(origin.validator)}
    opener = urllib.request.build_opener(_Redirects)
    try:
        response: http.client.HTTPResponse = opener.open(
            urllib.request.Request(url, headers=headers), timeout=timeout_s
        )
    except urllib.error.HTTPError as error:
        error.close()
        raise _refusal(url, error) from None
    except (OSError, http.client.HTTPException) as error:
        if isinstance(getattr(error, "reason", error), ssl.SSLCertVerificationError):
            raise FetchError(f"{url}: expected a server with a valid certificate, found: {error}.") from None
        raise _BrokenError(f"no connection ({error})") from None
    except ValueError as error:  # a redirect to an invalid address
        raise FetchError(
            f"{url}: expected the file, found an address, perhaps that of a redirect, that cannot be understood "
            f"({error}). Name the right address."
        ) from None
    return response


def _refusal(url: str, error: urllib.error.HTTPError) -> Exception:
    """The exception for an error status: retryable or final."""
    if error.code in PASSING:
        return _BrokenError(f"status {error.code} {error.reason}")
    if error.code == 416:
        return _StaleError("a file that ends before the part that is here")
    if 300 <= error.code < 400:
        place = error.headers.get("Location", "nowhere")
        return FetchError(
            f"{url}: expected the file, found a redirect to {place} that is not followed (only http and https, not "
            "from https to http, not in circles). Name the right address."
        )
    return FetchError(
        f"{url}: expected the file, found status {error.code} {error.reason}. "
        "It may have moved: look for its present address and name that."
    )


class _Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        old, new = req.type, urlsplit(newurl).scheme
        if new not in SCHEMES or (old, new) == ("https", "http"):
            raise urllib.error.HTTPError(req.full_url, code, msg, headers, fp)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _continued(headers: HTTPMessage, origin: Origin, done: int) -> Origin:
    """The origin of the rest if it belongs to the same file, from byte `done` on; otherwise the part is dropped."""
    header = headers.get("Content-Range", "")
    match = re.fullmatch(r"bytes ([0-9]{1,18})-[0-9]{1,18}/([0-9]{1,18}|\*)", header.strip())
    size = int(match[2]) if match and match[2] != "*" else origin.size
    same = headers.get("ETag", origin.etag) == origin.etag
    if match is None or int(match[1]) != done or origin.size not in (None, size) or not same:
        raise _StaleError(f"the rest of another file (asked from byte {done:,} on, got Content-Range {header!r})")
    return replace(origin, size=size)


def _foresee(archive: Archive, size: int | None, done: int, part: Path) -> None:
    """Check the size stated by the server against the published one, and the free disk space."""
    if None not in (archive.size, size) and archive.size != size:
        raise FetchError(
            f"{archive.url}: expected {archive.size:,} bytes as published, found {size:,}. The file there is "
            "another: name the address of the right one."
        )
    missing, free = (size or archive.size or 0) - done, shutil.disk_usage(part.parent).free
    if missing > free:
        raise FetchError(
            f"{part.parent}: expected {missing:,} free bytes for the rest of the file, found {free:,}. "
            "Free some space, or give a folder on another disk."
        )


def _head(pieces: Iterator[bytes], size: int | None) -> bytes:
    """Enough of the first bytes to identify the format."""
    head = b""
    while len(head) < container.HEAD and (piece := next(pieces, b"")):
        head += piece
    if not head or (size is not None and len(head) < min(size, container.HEAD)):
        raise _BrokenError(_ended(len(head), size))
    return head


def _append(pieces: Iterable[bytes], part: Path, done: int, size: int | None, progress: Progress) -> None:
    with part.open("ab") as file:
        for piece in pieces:
            file.write(piece)
            done += len(piece)
            progress("download", done, size or 0)
    if size is not None and done != size:
        raise _BrokenError(_ended(done, size))


def _ended(done: int, size: int | None) -> str:
    return f"an end after {done:,} of {'some' if size is None else f'{size:,}'} bytes"


def _pieces(response: http.client.HTTPResponse, size: int | None, done: int) -> Iterator[bytes]:
    """The bytes sent by the server as they arrive, never more than announced."""
    missing = None if size is None else size - done
    while missing is None or missing > 0:
        try:
            piece = response.read1(CHUNK if missing is None else min(CHUNK, missing))
        except (OSError, http.client.HTTPException) as error:
            raise _BrokenError(f"a broken connection ({error!r})") from None
        if not piece:
            return
        missing = None if missing is None else missing - len(piece)
        yield piece


def _note(part: Path) -> Path:
    return part.with_name(part.name + ".json")


def _length(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
