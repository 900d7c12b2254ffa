"""A server that takes uploads as ours does, and fails when it is told to."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from shiftbench.challenge.definition import Board, Challenge, Phase

PHASES = (Phase("open", 5), Phase("final", 9, 10, hidden=True))
CHALLENGE = Challenge("wind", "Wind", "", (Board("one", "One", "r_auc", PHASES),))


@dataclass
class World:
    """What the server holds. failures: called with method and path before an answer; a status, or None to go on."""

    failures: Callable[[str, str], int | None] = lambda _method, _path: None
    challenge: Any = field(default_factory=lambda: asdict(CHALLENGE))
    begun: list[dict[str, Any]] = field(default_factory=list)
    unfinished: Any = field(default_factory=list)
    uploads: dict[str, bytes] = field(default_factory=dict)
    done: dict[str, int] = field(default_factory=dict)
    states: list[dict[str, Any]] = field(default_factory=lambda: [{"state": "scored", "score": 1.5}])
    asked: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)


class Handler(BaseHTTPRequestHandler):
    world: World

    def log_message(self, *_: object) -> None:
        pass

    def say(self, status: int, body: Any = None, **headers: object) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {"Content_Length": len(data), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(data)

    def act(self) -> None:
        world, path = self.world, self.path.removeprefix("/api/v1")
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        world.asked.append((self.command, path))
        world.tokens.add(self.headers.get("Authorization"))
        if (status := world.failures(self.command, path)) == 0:
            self.close_connection = True
            self.connection.shutdown(2)
            return
        if status:
            self.say(status, {"problems": [f"told to fail with {status}"]}, Location="http://127.0.0.1:9/")
            return
        key = path.split("/")[2] if path.startswith("/uploads/") else ""
        if path == "/challenge":
            self.say(200, world.challenge)
        elif (self.command, path) == ("GET", "/uploads"):
            self.say(200, world.unfinished)
        elif path == "/uploads":
            world.begun.append(json.loads(data))
            world.uploads[f"key{len(world.begun)}"] = b""
            self.say(201, {"id": f"key{len(world.begun)}"})
        elif path.startswith("/submissions/"):
            self.say(200, {"id": 1, **(world.states.pop(0) if len(world.states) > 1 else world.states[0])})
        elif self.command == "DELETE":
            self.say(204 if world.uploads.pop(key, None) is not None else 404, None)
        elif key not in world.uploads:
            self.say(404, {"problems": ["expected an upload that exists"]})
        elif self.command == "HEAD":
            self.say(200, Upload_Offset=len(world.uploads[key]))
        elif self.command == "PATCH" and int(self.headers["Upload-Offset"]) != len(world.uploads[key]):
            self.say(409, {"problems": ["another offset"]})
        elif self.command == "PATCH":
            world.uploads[key] += data
            self.say(204, Upload_Offset=len(world.uploads[key]))
        else:
            found = hashlib.sha256(world.uploads[key]).hexdigest()
            assert found == json.loads(data)["sha256"]
            self.say(200, {"id": world.done.setdefault(key, len(world.done) + 1)})

    do_GET = do_POST = do_HEAD = do_PATCH = do_DELETE = act


@contextmanager
def running(world: World) -> Iterator[str]:
    """The address of a server of this world."""
    handler = type("Bound", (Handler,), {"world": world})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
