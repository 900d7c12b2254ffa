"""Bring a database up to date, step by step; an empty one, too.

`alembic` steps are in `versions/`; a developer makes one with `alembic revision` and its `script_location` here.
"""

from __future__ import annotations

from sqlalchemy import Connection, Engine, inspect, text
from sqlalchemy.exc import DatabaseError, OperationalError

from shiftbench.challenge.store.schema import VERSION
from shiftbench.errors import SettingsError, first_line

LOCK = 7_345_912_001  # of PostgreSQL's advisory locks: of several starts at once one migrates


def bring_up_to_date(engine: Engine) -> None:
    """Migrate, in one transaction; several processes may begin at once.

    Raises:
        SettingsError: if the database is another program's, damaged, or of a newer version.
    """
    try:
        with engine.connect() as connection:
            found = version(connection)
        if found != VERSION:
            with engine.begin() as connection:
                if connection.dialect.name == "postgresql":
                    connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
                _upgrade(connection)
    except OperationalError:
        raise
    except DatabaseError as error:
        raise SettingsError(
            f"expected a database that shiftbench can use, found: {first_line(error.orig or error)}. "
            "Restore a backup, or name another."
        ) from None


def version(connection: Connection) -> str | None:
    """The version of a database; None of an empty one."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" in tables:
        return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar())
    if tables:
        raise SettingsError("expected an empty database, or one of shiftbench, found another's. Name another.")
    return None


def _upgrade(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    found = version(connection)  # again, with the lock
    if found == VERSION:
        return
    config = Config()
    config.set_main_option("script_location", f"{__name__.rpartition('.')[0]}:migrations")
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError:
        raise SettingsError(
            f"expected a database up to version {VERSION}, found {found}. Install a newer shiftbench."
        ) from None
