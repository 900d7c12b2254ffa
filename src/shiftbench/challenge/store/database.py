"""Transactions in SQLite and PostgreSQL alike: readers see one moment, one writer at a time.

In SQLite a writer begins with BEGIN IMMEDIATE; in PostgreSQL with the row of the clock, which all writers change.
Whatever a rule reads in such a transaction is therefore still true when it writes.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Executable, Row, create_engine, event, select, update
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, OperationalError, TimeoutError

from shiftbench.challenge.store import migrations, schema
from shiftbench.challenge.store.moments import Moments
from shiftbench.challenge.store.records import Away, CommandLine, Full, Refused, User
from shiftbench.errors import MissingExtraError, SettingsError, first_line

PATIENCE = 30  # seconds that a transaction waits for another


class Writing(NamedTuple):
    """A transaction that writes, and its moment."""

    connection: Connection
    now: int


class Database:
    """The base of every part of a ledger; safe for any number of threads, processes and machines."""

    def __init__(self, where: Path | str, *, clock: Callable[[], int]) -> None:
        """Open a SQLite file, or the database of a URL such as postgresql://user@host/name, and bring it up to date.

        Raises:
            SettingsError: if it is another program's, damaged, or of a newer version.
            MissingExtraError: without the driver of PostgreSQL.
            Away: if it cannot be reached.
        """
        self.url = address(where)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._moments = Moments(clock)
        self._gate = threading.Lock() if self.sqlite else nullcontext()  # waiting for a file's lock is not fair
        if self.sqlite and self.url.database:
            _make(Path(self.url.database))
        self.engine = _engine(self.url)
        self._writer = self.engine.execution_options(writes=True)
        with self._faults(opening=True):
            migrations.bring_up_to_date(self._writer)
            with self.engine.connect() as connection:
                seen, self._resets = connection.execute(select(schema.clock.c.seen, schema.clock.c.resets)).one()
        self._moments.raised(seen)  # a clock that is behind goes on from there

    def close(self) -> None:
        """Close idle connections; later calls open new ones."""
        self.engine.dispose()

    @contextmanager
    def _faults(self, *, opening: bool = False) -> Iterator[None]:
        """A database's faults as errors that say what to do; what it says itself is for those who open it alone."""
        try:
            yield
        except IntegrityError:
            raise
        except (DataError, UnicodeEncodeError, OverflowError):
            raise Refused("expected text and numbers that a database can hold, found others.", status=422) from None
        except OperationalError as error:
            if _full(error):
                raise Full() from error
            raise (Away(first_line(error.orig or error)) if opening else Away()) from error
        except (DBAPIError, TimeoutError) as error:
            if isinstance(error, DBAPIError) and not error.connection_invalidated:
                raise
            raise Away() from error

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with self._faults(), self.engine.connect() as connection:
            yield connection

    @contextmanager
    def _writing(self, *, quiet: bool = False) -> Iterator[Writing]:
        """A transaction that writes; a quiet one changes nothing that a board shows."""
        with self._faults(), self._gate, self._writer.begin() as connection:
            yield Writing(connection, self._moment(connection, 0 if quiet else 1))

    def _moment(self, c: Connection, changes: int) -> int:
        row = schema.clock.c
        entered = update(schema.clock).values(changes=row.changes + changes).returning(row.seen, row.resets)
        seen, resets = c.execute(entered).one()
        if resets != self._resets:  # somebody has set the clock of all
            self._moments.forget()
            self._resets = resets
        now = self._moments.raised(seen)
        if now > seen:
            c.execute(update(schema.clock).values(seen=now))
        return now

    def _rows(self, query: Executable) -> list[Row[Any]]:
        with self._reading() as c:
            return list(c.execute(query).all())

    def now(self) -> int:
        """The largest moment seen so far, also by other processes and before a restart; it is remembered."""
        with self._writing(quiet=True) as (_, now):
            return now

    def changes(self) -> int:
        """A number that grows with whatever boards show: what was made of them at an equal number is still true."""
        return int(self._rows(select(schema.clock.c.changes))[0][0])

    def ahead(self) -> int:
        """By how many microseconds the largest moment seen is ahead of the clock; 0 unless a clock was wrong."""
        return max(0, int(self._rows(select(schema.clock.c.seen))[0][0]) - self._moments.clock())

    def set_clock(self, by: User) -> None:
        """Believe the clock again after one that ran ahead, by an organiser: moments go back, once."""
        with self._writing() as (c, now):
            self._moments.forget()
            set_to = self._moments.now()
            c.execute(update(schema.clock).values(seen=set_to, resets=schema.clock.c.resets + 1))
            self._note(c, set_to, by, "set the clock", f"back by {(now - set_to) / 1e6:,.0f} s")

    def _note(self, c: Connection, now: int, by: User | CommandLine | None, action: str, subject: str) -> None:
        user, via = by.id if isinstance(by, User) else None, by.via if isinstance(by, CommandLine) else None
        c.execute(schema.audit.insert().values(at=now, user=user, action=action, subject=subject, via=via))


def address(where: Path | str) -> URL:
    """The URL of a SQLite file's path, or of a text with ://."""
    if not isinstance(where, str) or "://" not in where:
        return URL.create("sqlite", database=str(where))
    url = make_url(where.replace("postgres://", "postgresql://", 1))
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise SettingsError(
            f"expected a database sqlite:// or postgresql://, found {url.get_backend_name()}. Name another."
        )
    return url.set(drivername="postgresql+psycopg") if url.get_backend_name() == "postgresql" else url


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        made = create_engine(url, pool_size=40, max_overflow=-1, connect_args={"timeout": PATIENCE})
        event.listen(made, "connect", _settle)
        event.listen(made, "begin", _begin)
        return made
    limits = f"-c lock_timeout={PATIENCE}s -c statement_timeout={2 * PATIENCE}s"
    limits += f" -c idle_in_transaction_session_timeout={PATIENCE}s"  # a writer that hangs stops the others
    asked = url.query.get("options", "")
    try:
        return create_engine(
            url, pool_size=10, max_overflow=30, pool_timeout=PATIENCE, pool_pre_ping=True,
            connect_args={"connect_timeout": 10, "options": f"{limits} {asked}".strip()},
        )  # fmt: skip
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            f"expected {error.name} for PostgreSQL, found none. Install it: pip install 'shiftbench[postgres]'."
        ) from None


def _make(path: Path) -> None:
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
    except OSError as error:
        raise SettingsError(
            f"expected a database in a folder that can be written, found {path}: {error.strerror}. Name another."
        ) from None


def _settle(connection: Any, _: object) -> None:
    connection.isolation_level = None  # transactions begin below, not where the driver sees a statement
    for pragma in ("journal_mode = WAL", "foreign_keys = ON", "synchronous = FULL", "journal_size_limit = 67108864"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _full(error: OperationalError) -> bool:
    return "disk is full" in str(error.orig) or getattr(error.orig, "sqlstate", None) == "53100"
