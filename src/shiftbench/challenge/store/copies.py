"""A whole ledger as lines of JSON, from one database into another, and backups while a server runs.

Tries of passwords are no part of an export: they count for minutes.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Identity, delete, func, insert, select, update
from sqlalchemy.exc import OperationalError, StatementError

from shiftbench.challenge.store import schema
from shiftbench.challenge.store.database import Database
from shiftbench.challenge.store.records import Refused
from shiftbench.errors import SettingsError

ROWS = 1_000  # at a time
READABLE = {"0001": {"audit": 5}, schema.VERSION: {}}  # version → columns that a table had, where they were less
_DAMAGED = "expected lines that an export wrote, found {}. Export again."


class Copies(Database):
    """Export, import and backup; secrets and passwords are hashes in all of them."""

    def export(self) -> Iterator[str]:
        """Every row of every table as a line of JSON, all of one moment; the first and the last line frame them."""
        tables, count = [each for each in schema.metadata.sorted_tables if each is not schema.tries], 0
        with self._reading() as c:
            if not self.sqlite:
                c.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
                c.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")  # whoever reads may be slow
            yield json.dumps({"shiftbench": "ledger", "version": schema.VERSION})
            for table in tables:
                for row in c.execution_options(yield_per=ROWS).execute(select(table).order_by(*table.primary_key)):
                    count += 1
                    yield json.dumps({"table": table.name, "row": list(row)}, allow_nan=False)
        yield json.dumps({"rows": count})

    def load(self, lines: Iterable[str]) -> int:
        """Fill an empty ledger from an export; returns the number of rows. All of it is loaded, or nothing.

        Raises:
            SettingsError: if the lines are not a whole export of this version, or of one before.
            Refused: if this ledger is not empty.
        """
        with self._writing() as (c, _):
            if c.execute(select(schema.users.c.id).limit(1)).first() or c.execute(select(schema.teams.c.id)).first():
                raise Refused("expected an empty ledger, found accounts or teams in it. Name a new one.")
            noted = [{**row._mapping} for row in c.execute(select(schema.audit).order_by(schema.audit.c.id))]
            c.execute(delete(schema.audit))  # of a server that nobody has joined: they come after those of the export
            try:
                count = _load(c, lines)
            except StatementError as error:
                if isinstance(error, OperationalError):
                    raise
                raise SettingsError(_DAMAGED.format("a row that no ledger has")) from None
            if not self.sqlite:
                _count_on(c)
            for row in noted:
                c.execute(insert(schema.audit).values({key: value for key, value in row.items() if key != "id"}))
        return count

    def backup(self, path: Path) -> Path:
        """Copy the ledger while it is in use: a SQLite file of SQLite, an export of PostgreSQL. Whole or not at all."""
        part = path.with_name(path.name + ".part")
        os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        try:
            if self.sqlite:
                with closing(sqlite3.connect(str(self.url.database))) as source, closing(sqlite3.connect(part)) as copy:
                    source.backup(copy)
            else:
                with part.open("w", encoding="utf-8") as file:
                    file.writelines(f"{line}\n" for line in self.export())
            with part.open("rb") as written:
                os.fsync(written.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return path


def _load(c: Connection, lines: Iterable[str]) -> int:
    tables, rows = schema.metadata.tables, _parsed(lines)
    first = next(rows, {})
    if first.get("shiftbench") != "ledger" or str(first.get("version")) not in READABLE:
        raise SettingsError(f"expected an export of version {schema.VERSION}, found another first line.")
    widths = READABLE[str(first["version"])]
    name, waiting = "", list[dict[str, Any]]()
    for count, line in enumerate(rows):
        if "rows" in line:
            if line["rows"] != count or next(rows, None) is not None:
                raise SettingsError(_DAMAGED.format(f"{count:,} rows where {line['rows']:,} were written"))
            _insert(c, name, waiting)
            return count
        table = tables.get(str(line.get("table")))
        row = line.get("row")
        if table is None or not isinstance(row, list) or len(row) != widths.get(table.name, len(table.c)):
            raise SettingsError(_DAMAGED.format("a row of no table"))
        if table.name != name or len(waiting) == ROWS:
            _insert(c, name, waiting)
            name, waiting = table.name, []
        waiting.append(dict(zip(table.c.keys(), row, strict=False)))  # columns that came later are empty
    raise SettingsError(_DAMAGED.format("no last line: the file was cut"))


def _parsed(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(lines, 1):
        try:
            found = json.loads(line)
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise SettingsError(_DAMAGED.format(f"line {number} that is no JSON of one"))
        yield found


def _insert(c: Connection, name: str, rows: list[dict[str, Any]]) -> None:
    if name == schema.clock.name:  # the row that all writers share stays, and moments do not go back
        seen = rows[0]["seen"]
        c.execute(update(schema.clock).where(schema.clock.c.seen < seen).values(seen=seen))
    elif rows:
        c.execute(insert(schema.metadata.tables[name]), rows)


def _count_on(c: Connection) -> None:
    """Let PostgreSQL number new rows after those that were loaded with their numbers."""
    for table in schema.metadata.sorted_tables:
        for column in table.primary_key:
            if isinstance(column.server_default, Identity):
                last = c.execute(select(func.coalesce(func.max(column), 0) + 1)).scalar_one()
                sequence = select(func.pg_get_serial_sequence(f'"{table.name}"', column.name)).scalar_subquery()
                c.execute(select(func.setval(sequence, last, False)))
