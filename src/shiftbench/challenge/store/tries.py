"""How often passwords and the like may be tried, by whom: counted for all processes of a server, and across restarts.

Allowances fill again bit by bit, so nobody is kept out for longer than one act takes to come back. What is refused is
not counted and writes nothing. Keys are stored as hashes, and forgotten as soon as their allowance is whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from shiftbench.challenge.store import schema
from shiftbench.challenge.store.accounts import digest
from shiftbench.challenge.store.database import Database
from shiftbench.challenge.store.records import SECOND, Allowance

_T = schema.tries.c


class _Stored(NamedTuple):
    rest: float
    at: int


class Tries(Database):
    """Counted acts."""

    MOST_TRIES_KEPT = 50_000  # rows; those that were whole first are forgotten beyond

    def take(self, *wanted: Allowance) -> Allowance | None:
        """Count one act of each; or none, and return the first allowance of which nothing is left."""
        with self._reading() as c:  # a flood that is refused waits for no writer
            if (empty := _empty(_stored(c, wanted), wanted, self._moments.now())) is not None:
                return empty
        with self._writing(quiet=True) as (c, now):
            stored = _stored(c, wanted)
            if (empty := _empty(stored, wanted, now)) is None:
                for each in wanted:
                    _store(c, each, _rest(stored, each, now) - 1, now)
                self._forget(c, now)
        return empty

    def give_back(self, *taken: Allowance) -> None:
        """Count one act of each less."""
        with self._writing(quiet=True) as (c, now):
            stored = _stored(c, taken)
            for each in taken:
                _store(c, each, min(each.most, _rest(stored, each, now) + 1), now)

    def _forget(self, c: Connection, now: int) -> None:
        c.execute(delete(schema.tries).where(_T.whole <= now))
        beyond = select(_T.whole).order_by(_T.whole.desc()).offset(self.MOST_TRIES_KEPT).limit(1).scalar_subquery()
        c.execute(delete(schema.tries).where(_T.whole <= beyond))


def _key(allowance: Allowance) -> str:
    return digest(f"{allowance.kind} {allowance.key}")


def _stored(c: Connection, wanted: Sequence[Allowance]) -> dict[str, _Stored]:
    rows = c.execute(select(_T.key, _T.rest, _T.at).where(_T.key.in_([_key(each) for each in wanted])))
    return {key: _Stored(rest, at) for key, rest, at in rows}


def _rest(stored: dict[str, _Stored], allowance: Allowance, now: int) -> float:
    """What is left now; all of it where a clock ran ahead when it was counted, which may be long ago."""
    found = stored.get(_key(allowance))
    if found is None or found.at > now:
        return float(allowance.most)
    return min(float(allowance.most), found.rest + (now - found.at) * allowance.most / (allowance.seconds * SECOND))


def _empty(stored: dict[str, _Stored], wanted: Sequence[Allowance], now: int) -> Allowance | None:
    return next((each for each in wanted if _rest(stored, each, now) < 1), None)


def _store(c: Connection, allowance: Allowance, rest: float, now: int) -> None:
    missing = (allowance.most - rest) / allowance.most * allowance.seconds * SECOND
    values = {"rest": rest, "at": now, "whole": now + round(missing)}
    key = _key(allowance)
    if not c.execute(update(schema.tries).where(_T.key == key).values(values)).rowcount:
        c.execute(insert(schema.tries).values(key=key, **values))
