"""The log of scores: entries are appended in the transaction of their score and never change."""

from __future__ import annotations

import json
from typing import Any

from sqlalchemy import Connection, func, insert, select

from shiftbench.challenge.store import schema
from shiftbench.challenge.store.database import Database


def canonical(entry: dict[str, Any]) -> str:
    """JSON of which there is one form: sorted names, no spaces, ASCII."""
    return json.dumps(entry, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


class Log(Database):
    """Entries are numbered 0, 1, 2, …, as the leaves of a Merkle tree are."""

    def log(self, first: int = 0, limit: int = 1_000) -> list[str]:
        """At most `limit` entries from number `first` on, as canonical JSON."""
        table = schema.log.c
        query = select(table.entry).where(table.number >= first).order_by(table.number).limit(limit)
        return [row.entry for row in self._rows(query)]

    def log_size(self) -> int:
        """The number of entries."""
        return int(self._rows(select(func.count()).select_from(schema.log))[0][0])

    def _append(self, c: Connection, entry: dict[str, Any]) -> int:
        number = int(c.execute(select(func.coalesce(func.max(schema.log.c.number), -1) + 1)).scalar_one())
        c.execute(insert(schema.log).values(number=number, entry=canonical({"number": number, **entry})))
        return number
