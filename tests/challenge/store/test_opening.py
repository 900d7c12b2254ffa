"""A ledger opens its database, makes or migrates its tables, and names what is wrong with it."""

from __future__ import annotations

import re
import sqlite3
import threading
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from shiftbench.challenge.store import migrations
from shiftbench.challenge.store.database import address
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import Act, Allowance, Away, CommandLine
from shiftbench.challenge.store.schema import VERSION, metadata
from shiftbench.errors import SettingsError


def opened(url: str) -> Ledger:
    return Ledger(url, clock=lambda: 5)


def test_what_one_ledger_writes_another_reads(databases):
    url = databases.url()
    anna = opened(url).sign_up(" Anna@Example.org ", "hash")
    other = Ledger(url, clock=lambda: 4)
    assert other.user(anna.id) == anna
    assert (anna.email, other.now()) == ("anna@example.org", 5)


def test_migrations_make_the_tables_of_the_schema(databases):
    ledger = opened(databases.empty())
    with ledger.engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    assert ScriptDirectory(str(Path(migrations.__file__).parent)).get_current_head() == VERSION


def test_a_database_of_the_first_version_keeps_what_it_has(databases):
    url, config = databases.empty(), Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    with create_engine(address(url)).begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
        connection.execute(text("INSERT INTO audit (at, action, subject) VALUES (3, 'announced', 'Hello')"))
    ledger = opened(url)
    assert ledger.audit() == [Act(3, None, "announced", "Hello")]
    ledger.noted("sealed", "all", CommandLine("anna"))
    assert ledger.audit()[0] == Act(5, None, "sealed", "all", "command line (anna)")
    assert ledger.take(Allowance("password", "here", 1)) is None


def test_of_several_starts_at_once_one_migrates(databases):
    url, errors = databases.empty(), []

    def start() -> None:
        try:
            opened(url).now()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=start) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_a_database_of_a_newer_version_is_refused(databases):
    url = databases.url(spoilt=True)
    ledger = opened(url)
    with ledger.engine.begin() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(SettingsError, match="found 9999"):
        opened(url)


def test_a_database_of_another_program_is_refused_and_stays_as_it_is(databases):
    url = databases.url(spoilt=True)
    ledger = opened(url)
    with ledger.engine.begin() as connection:
        connection.execute(text("DROP TABLE alembic_version"))
    with pytest.raises(SettingsError, match="expected an empty database, or one of shiftbench"):
        opened(url)


def test_a_file_that_is_no_database_and_a_folder_that_is_missing_are_named(tmp_path):
    (tmp_path / "letter.txt").write_text("Dear Anna, " * 100)
    with pytest.raises(SettingsError, match="found: file is not a database"):
        opened(str(tmp_path / "letter.txt"))
    with pytest.raises(SettingsError, match="No such file or directory"):
        opened(str(tmp_path / "nowhere" / "server.sqlite"))


def test_other_databases_are_refused_by_name():
    with pytest.raises(SettingsError, match="expected a database sqlite:// or postgresql://, found mysql"):
        opened("mysql://example.org/challenge")


def test_a_server_that_nobody_runs_is_away(tmp_path):
    with pytest.raises(Away, match=r"found connection .* failed: No such file or directory"):
        opened(f"postgres://nobody@/nothing?host={tmp_path}")


def test_a_database_that_the_server_does_not_have_is_named(postgres):
    with pytest.raises(Away, match='database "nothing" does not exist'):
        opened(re.sub(r"/ledger_\d+", "/nothing", postgres.url()))


def test_a_file_is_readable_for_its_owner_alone_and_written_ahead(tmp_path):
    path = tmp_path / "server.sqlite"
    ledger = opened(str(path))
    ledger.now()
    assert {found.stat().st_mode & 0o777 for found in tmp_path.iterdir()} == {0o600}
    with sqlite3.connect(path) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
