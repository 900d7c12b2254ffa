"""A small challenge with one board, its server in process, and visitors of each role."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, cast

import pytest
from argon2 import PasswordHasher
from fastapi import FastAPI
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from shiftbench.challenge import definition
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.web.application import application
from shiftbench.challenge.web.security import Limits, Passwords
from shiftbench.challenge.web.server import Server, opened

from .databases import Postgres, Sqlite

START = 1_700_000_000_000_000  # microseconds; the fake clock's first moment
SECRET = "sealed-label-7f3a"  # stands in every sealed file and may stand nowhere else
PASSWORD = "correct horse battery"
_SERVING: ContextVar[Server] = ContextVar("serving")


@dataclass
class Clock:
    now: int = START

    def __call__(self) -> int:
        return self.now


def challenge() -> Challenge:
    phases = (
        Phase("development", START - 10, START + 10**12, per_day=3, failures_per_hour=2),
        Phase("later", START + 10**12),
    )
    return Challenge("wind", "Wind <b>& weather</b>", "Predict it.", (Board("table", "Table", "r_auc", phases),))


class _Serving:
    """What passes for the server of the request that is answered: applications take a quarter of a second to make."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_SERVING.get(), name)


@cache
def _shared(limits: Limits, title: str) -> FastAPI:
    """The application of all servers that it would be made for alike."""
    return application(cast("Server", _Serving()))


def _application(server: Server) -> ASGIApp:
    context = copy_context()
    context.run(_SERVING.set, server)
    shared = context.run(_shared, server.limits, server.challenge.title)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        _SERVING.set(server)
        await shared(scope, receive, send)

    return serve


@dataclass
class Visitor:
    """A browser: keeps cookies and fills the CSRF token into forms."""

    server: Server
    address: str = "testclient"
    client: TestClient = field(init=False)

    def __post_init__(self) -> None:
        self.client = TestClient(_application(self.server), follow_redirects=False, client=(self.address, 1))

    def csrf(self) -> str:
        found = re.search(r'name="csrf" value="([0-9a-f]{64})"', self.client.get("/sign-in").text)
        assert found
        return found[1]

    def post(self, path: str, **fields: str):
        return self.client.post(path, data={"csrf": self.csrf(), **fields})

    def joined(self, email: str, team: str = "") -> Visitor:
        assert self.post("/sign-up", email=email, password=PASSWORD).status_code == 303
        if team:
            assert self.post("/teams", name=team).status_code == 303
        return self

    def token(self) -> dict[str, str]:
        found = re.search(r'<code class="secret">([\w-]{43})</code>', self.post("/tokens", name="laptop").text)
        assert found
        return {"Authorization": f"Bearer {found[1]}"}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def server(tmp_path: Path, clock: Clock) -> Server:
    folder = tmp_path / "wind"
    for name, text in {
        "public/table/inputs.csv": "id,x\n1,2\n",
        "sealed/table/truth.csv": f"id,y\n1,{SECRET}\n",
    }.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
    definition.write(folder / definition.FILE, challenge())
    cheap = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    limits = Limits(whole=2**20, largest=2**24, seconds=10, passwords=50, acts=10_000)
    return opened(folder, tmp_path / "state", clock=clock, passwords=cheap, limits=limits)


@pytest.fixture
def visitor(server: Server) -> Visitor:
    return Visitor(server)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One PostgreSQL for all tests of this process."""
    made = Postgres()
    yield made
    made.close()


@pytest.fixture(scope="session")
def sqlite(tmp_path_factory: pytest.TempPathFactory) -> Sqlite:
    return Sqlite(tmp_path_factory.mktemp("sqlite") / "ledgers")


@pytest.fixture(params=["sqlite", "postgres"])
def databases(request: pytest.FixtureRequest) -> Sqlite | Postgres:
    """Both kinds of databases in turn; `databases.url()` is that of a fresh ledger."""
    return request.getfixturevalue(request.param)
