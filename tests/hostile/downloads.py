"""What servers say when they are broken or mean: odd status lines, headers, redirects, ends and compressed bodies."""

from __future__ import annotations

import json
import socket
import threading
from functools import cache
from pathlib import Path

from tests.hostile import bases
from tests.hostile.mutations import NAMES, TOKENS, Rng, damaged, json_bytes, pick

FILE = "canonical-partitioned-dataset.tar"
STATUS = (
    b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK", b"HTTP/1.1 200 OK", b"HTTP/1.1 206 Partial Content", b"HTTP/1.0 200",
    b"HTTP/1.1 999 \xff", b"HTTP/1.1 -1 x", b"HTTP/1.1 100 Continue", b"HTTP/1.1 204 No Content", b"HTTP/9.9 200 OK",
    b"HTTP/1.1 304 Not Modified", b"HTTP/1.1 404 " + b"x" * 3_000, b"HTTP/1.1 416 x", b"HTTP/1.1 503 x", b"ICY 200 OK",
    b"HTTP/1.1 " + b"2" * 70_000, b"<html>", b"",
)  # fmt: skip
REDIRECTS = (
    b"/again", b"",
    b"http://[", b"http://127.0.0.1:99999/x", b"file:///etc/passwd", b"ftp://127.0.0.1/x", b"//", b"\xff",
    b"http://\x00/", b"?" + b"x" * 5_000, b"http://user:word@127.0.0.1:9/",
)  # fmt: skip


class Server:
    """Says the same bytes to whoever asks, on a port of this machine."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.said = b""
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            connection, _ = self.socket.accept()
            try:
                with connection:
                    connection.settimeout(5)
                    connection.recv(65_536)
                    connection.sendall(self.said)
            except OSError:  # whoever asked has heard enough
                continue


@cache
def _server() -> Server:
    return Server()


def answered(whole: Path, here: Path, rng: Rng) -> list[str]:
    """A download, new or to be continued, from a server of this machine."""
    body = bases.archive("tar")
    if rng.random() < 0.4:
        body = damaged(body, rng)
    (here / "to").mkdir()
    server = _server()
    url = f"http://127.0.0.1:{server.port}/x.tar"
    start = 0
    if rng.random() < 0.4:
        start = int(rng.integers(1, len(body))) if body else 0
        note = json.dumps({"url": url, "size": len(body), "etag": '"one"', "last_modified": None}).encode()
        (here / f"to/{FILE}.part").write_bytes(body[:start])
        (here / f"to/{FILE}.part.json").write_bytes(json_bytes(note, rng) if rng.random() < 0.6 else note)
    server.said = _said(body, start if rng.random() < 0.7 else 0, rng)
    return ["fetch", "weather", "--accept-licence", "--to", "to", "--url", url, *(["--unpack"] * (rng.random() < 0.3))]


def _said(body: bytes, start: int, rng: Rng) -> bytes:
    place = f"bytes {start}-{len(body) - 1}/{len(body)}"
    headers = {"Content-Length": str(len(body) - start).encode(), "ETag": b'"one"', "Content-Range": place.encode()}
    status = b"HTTP/1.1 206 Partial Content" if start else b"HTTP/1.1 200 OK"
    for _ in range(int(rng.choice([0, 1, 1, 2, 3]))):
        token = TOKENS[rng.integers(len(TOKENS))].replace(b"\n", b"")
        match int(rng.integers(6)):
            case 0:
                status = STATUS[rng.integers(len(STATUS))]
            case 1:
                headers[pick(rng, *headers)] = token
            case 2:
                headers["Content-Length"] = pick(rng, 0, -1, 1, len(body) + 1, 10**17, "9" * 5_000, "1e3", "٣").encode()
            case 3:
                status = pick(rng, *(f"HTTP/1.1 {code} x" for code in (301, 302, 303, 307, 308, 300))).encode()
                headers["Location"] = REDIRECTS[rng.integers(len(REDIRECTS))]
            case 4:
                headers[pick(rng, "Transfer-Encoding", "Content-Encoding", "Last-Modified", "Content-Range")] = pick(
                    rng, "chunked", "gzip", "bytes 0-1/*", "bytes 5-2/1", "x" * 70_000, "identity"
                ).encode()
            case _:
                name = NAMES[rng.integers(len(NAMES))].replace("\n", "")
                headers |= {f"{name}{number}": token for number in range(int(rng.choice([1, 200])))}
    lines = [status, *(name.encode("utf-8", "replace") + b": " + value for name, value in headers.items())]
    said = b"\r\n".join(lines) + b"\r\n\r\n" + body[start:]
    return damaged(said, rng) if rng.random() < 0.2 else said
