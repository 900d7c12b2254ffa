"""A web server on this machine that answers by a script, also wrongly."""

from __future__ import annotations

import io
import re
import tarfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[["Handler"], None]


class Handler(BaseHTTPRequestHandler):
    """One request; which answer it gets is the server's business."""

    server: WebServer

    def do_GET(self) -> None:
        self.server.asked.append({"path": self.path, **{key.lower(): value for key, value in self.headers.items()}})
        answers = self.server.answers
        (answers.pop(0) if len(answers) > 1 else answers[0])(self)

    def log_message(self, *_: object) -> None:
        pass

    def say(self, status: int, body: bytes = b"", **headers: object) -> None:
        """Send a status, headers (underscores for hyphens) and a body, true or not."""
        self.send_response(status)
        for name, value in ({"Content_Length": len(body)} | headers).items():
            if value is not None:
                self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(body)


class WebServer(ThreadingHTTPServer):
    """`answers` are used one after the other, the last for ever; `asked` holds path and headers of each request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[Answer] = []
        self.asked: list[dict[str, str]] = []

    def url(self, path: str = "data.tar") -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


@contextmanager
def running() -> Iterator[WebServer]:
    with WebServer() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


def a_tar(size: int = 100_000, fill: bytes = b"x", name: str = "folder/train.csv") -> bytes:
    """A tar that holds one file."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        info = tarfile.TarInfo(name)
        info.size = size
        tar.addfile(info, io.BytesIO(fill * size))
    return packed.getvalue()


def rightly(body: bytes, etag: str | None = '"one"', **headers: object) -> Answer:
    """As a good server answers: the whole, or the rest under If-Range."""

    def answer(handler: Handler) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        start = int(wanted[1]) if wanted and handler.headers.get("If-Range") == etag else 0
        if start >= len(body):
            handler.say(416, Content_Range=f"bytes */{len(body)}")
        elif start:
            place = f"bytes {start}-{len(body) - 1}/{len(body)}"
            handler.say(206, body[start:], ETag=etag, Content_Range=place, **headers)
        else:
            handler.say(200, body, ETag=etag, **headers)

    return answer


def breaking_off(body: bytes, after: int, etag: str | None = '"one"', **headers: object) -> Answer:
    """Promises the whole (whatever was asked) and closes the connection after so many bytes."""
    return lambda handler: handler.say(200, body[:after], ETag=etag, Content_Length=len(body), **headers)


def breaking_off_the_rest(body: bytes, start: int, after: int) -> Answer:
    """Promises the rest from `start` on and closes the connection after so many bytes of it."""
    place = f"bytes {start}-{len(body) - 1}/{len(body)}"
    headers = {"ETag": '"one"', "Content_Range": place, "Content_Length": len(body) - start}
    return lambda handler: handler.say(206, body[start : start + after], **headers)


def simply(status: int, body: bytes = b"", **headers: object) -> Answer:
    return lambda handler: handler.say(status, body, **headers)


def silently(seconds: float) -> Answer:
    """Takes the request and says nothing for so long."""
    return lambda _: time.sleep(seconds)
