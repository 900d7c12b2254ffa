"""Floods, slow senders and odd requests over real HTTP, and whatever schemathesis makes of the API's description."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from urllib.parse import quote

import pytest
import schemathesis
import uvicorn
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from shiftbench.challenge.web.application import application

from .world import LABEL, UNTOLD, World, copied

PATIENCE_S = 20.0


@pytest.fixture(scope="module")
def served(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, int]]:
    """A server on a port of its own, in a thread."""
    own = copied(world, tmp_path_factory.mktemp("served"))
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(application(own.server), log_level="error", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listening],))
    thread.start()
    yield own, listening.getsockname()[1]
    server.should_exit = True
    thread.join(PATIENCE_S)


def said(port: int, request: bytes, *, slowly: float = 0.0) -> bytes:
    """What the server answers to some bytes, each sent alone if slowly."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
        try:
            for at in range(0, len(request), 1 if slowly else len(request)):
                connection.sendall(request[at : at + (1 if slowly else len(request))])
                time.sleep(slowly)
        except OSError:  # it has heard enough
            pass
        found = b""
        while part := connection.recv(65536):
            found += part
            if b"\r\n\r\n" in found and not slowly:
                break
        return found


def head(path: str, length: int, *lines: str) -> bytes:
    more = "".join(f"{line}\r\n" for line in lines)
    return f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{more}\r\n".encode()


def test_a_body_that_never_comes_is_given_up(served: tuple[World, int]) -> None:
    assert said(served[1], head("/api/v1/uploads", 100, "Content-Type: application/json")).split()[1] in (
        b"400",
        b"401",
    )
    silent = said(served[1], head("/sign-in", 100, "Content-Type: application/x-www-form-urlencoded"))
    assert silent.split()[1] == b"408"


def test_a_body_in_drops_is_given_up(served: tuple[World, int]) -> None:
    began = time.monotonic()
    request = head("/sign-in", 60_000, "Content-Type: application/x-www-form-urlencoded")
    found = said(served[1], request + b"email=" + b"x" * 200, slowly=0.01)
    assert found.split()[1:2] == [b"408"]
    assert time.monotonic() - began < PATIENCE_S


@pytest.mark.parametrize(
    ("request_", "statuses"),
    [(head("/sign-in", 10**12), {b"413"}), (head("/boards/table/submit", 10**10), {b"401", b"403", b"413"}),
     (b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", {b"400"}),
     (b"GET /boards/%ff%00/x HTTP/1.1\r\nHost: x\r\n\r\n", {b"404"}),
     (b"GET /static/..%2fapplication.py HTTP/1.1\r\nHost: x\r\n\r\n", {b"404"}),
     (b"DELETE / HTTP/1.1\r\nHost: x\r\n\r\n", {b"405"})],
)  # fmt: skip
def test_odd_requests_are_refused(served: tuple[World, int], request_: bytes, statuses: set[bytes]) -> None:
    assert said(served[1], request_).split()[1] in statuses


def test_floods_of_parts_and_fields_are_refused(own_world: World) -> None:
    ben = own_world.roles["participant"]
    for count in (30, 3_000):
        fields = {f"field{n}": (None, "x") for n in range(count)}
        answer = ben.client.post("/boards/table/submit", files={"csrf": (None, ben.csrf()), **fields})
        assert answer.status_code in (400, 413), count
    files = [("file", (f"{n}.csv", b"x")) for n in range(30)]
    assert ben.client.post("/boards/table/submit", data={"csrf": ben.csrf()}, files=files).status_code == 400
    deep = b"--x\r\n" * 10_000
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    assert ben.client.post("/boards/table/submit", content=deep, headers=headers).status_code in (400, 403)
    assert own_world.server.ledger.submissions()[0].id == own_world.numbers["waiting"]


def test_many_who_knock_get_answers_and_the_server_stays(served: tuple[World, int]) -> None:
    request, found = b"GET /boards/table HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", list[bytes]()
    threads = [threading.Thread(target=lambda: found.append(said(served[1], request)[:12])) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert found == [b"HTTP/1.1 200"] * 50


@settings(max_examples=25, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(max_size=80))
def test_any_text_in_an_address_is_a_page_or_a_refusal(world: World, text: str) -> None:
    client = world.roles["visitor"].client
    for path in ("/boards/", "/submissions/", "/invitations/", "/boards/table/files/", "/api/v1/boards/table/"):
        answer = client.get(path + quote(text, safe="/"), params={"phase": text, "entry": text})
        assert answer.status_code < 500
        assert LABEL not in answer.text


@pytest.mark.parametrize("role", ["other", "admin"])
def test_whatever_the_description_of_the_api_allows_is_answered_as_described(own_world: World, role: str) -> None:
    visitor = own_world.roles[role]
    app, headers = application(own_world.server), {"X-CSRF-Token": visitor.csrf()}
    cookies = {"shiftbench": visitor.client.cookies["shiftbench"]}
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    operations = [found.ok() for found in schema.get_all_operations()]
    assert len(operations) > 40
    statuses = set[int]()
    for operation in operations:

        @settings(
            max_examples=4,
            deadline=None,
            database=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=[*HealthCheck],
        )
        @given(case=operation.as_strategy())
        def asked(case: schemathesis.Case) -> None:
            answer = case.call(headers={**(case.headers or {}), **headers}, cookies=cookies)
            statuses.add(answer.status_code)
            assert answer.status_code < 500, (case.formatted_path, answer.text)
            if answer.status_code != 405:
                case.validate_response(
                    answer,
                    checks=[
                        schemathesis.checks.not_a_server_error,
                        schemathesis.checks.response_schema_conformance,
                        schemathesis.checks.status_code_conformance,
                    ],
                )
            assert not any(word in answer.text for word in (LABEL, *UNTOLD))

        asked()
    assert statuses >= {200, 404, 422}
