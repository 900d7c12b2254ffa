"""Export, import and backup: everything, between both databases, while a server runs."""

from __future__ import annotations

import json
import sqlite3
import threading

import pytest

from shiftbench.challenge.definition import Phase
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import CommandLine, Refused
from shiftbench.challenge.store.schema import VERSION
from shiftbench.errors import SettingsError

from .world import HIDDEN, OPEN, World, score


@pytest.fixture
def full(world: World) -> World:
    """With rows in every table."""
    anna, host, ledger = world.team("Anna's <b>'\" 團隊"), world.user("organiser"), world.ledger
    ledger.issue("token", anna.id, name="laptop")
    world.scored(anna, 0.1 + 0.2, low=-1e-300, notes=("two rows had no shift",))
    world.scored(anna, 0.5, HIDDEN, noise=0.1)
    ledger.begin("table", OPEN, anna, team=anna.team, file=("b.csv", 5))
    world.sent(anna)
    ledger.reference("table", OPEN, "Mean", file=("mean.csv", 9), sha256="0" * 64)
    ledger.announce("We begin.", host)
    world.clock.now = OPEN.ends
    for _ in range(2):
        world.work(score(1.0))
    ledger.conclude("table", OPEN, [{"rank": 1}], host)
    ledger.release("table", OPEN, host)
    return world


@pytest.mark.parametrize("target", ["sqlite", "postgres"])
def test_a_ledger_moves_from_one_database_into_another(full: World, target, request):
    lines = list(full.ledger.export())
    tables = {json.loads(line).get("table") for line in lines}
    assert len(tables) == 14  # thirteen of rows, and the frame
    moved = World(request.getfixturevalue(target).url(), clock=full.clock, numbers=full.numbers)
    assert moved.ledger.load(iter(lines)) == len(lines) - 2
    again = list(moved.ledger.export())
    assert [line for line in again if '"clock"' not in line] == [line for line in lines if '"clock"' not in line]
    full.clock.now += 1
    assert moved.scored(moved.ledger.user(1), 0.4, Phase("endless", 0)) == 5  # numbers go on
    assert moved.ledger.log_size() == full.ledger.log_size() + 1


def test_an_export_of_the_first_version_is_loaded(full: World, databases):
    lines = [json.loads(line) for line in full.ledger.export()]
    for line in lines:
        if line.get("table") == "audit":
            del line["row"][-1]
    old = [json.dumps(line).replace(f'"{VERSION}"', '"0001"') for line in lines]
    moved = Ledger(databases.url(), clock=full.clock)
    moved.noted("sealed", "before anybody joined", CommandLine("anna"))
    assert moved.load(old) == len(old) - 2
    moved.noted("imported", "all", CommandLine("anna"))
    *new, last = (act.action for act in moved.audit()[:3])
    assert (new, last) == (["imported", "sealed"], full.ledger.audit()[0].action)
    assert moved.audit()[2:] == full.ledger.audit()


def test_moments_do_not_go_back_with_an_import(full: World, sqlite):
    moved = Ledger(sqlite.url(), clock=lambda: 0)
    moved.load(full.ledger.export())
    assert moved.now() >= OPEN.ends


DAMAGES = {
    "no last line: the file was cut": (lambda lines: lines[:-1],),
    "expected an export of version": (
        lambda lines: lines[1:],
        lambda lines: [lines[0].replace(VERSION, "0009"), *lines[1:]],
        lambda lines: [],
    ),
    "rows where": (lambda lines: [*lines[:-2], lines[-1]], lambda lines: [*lines, lines[-1]]),
    "line 2 that is no JSON": (
        lambda lines: [lines[0], "{", *lines[2:]],
        lambda lines: [lines[0], "[1]", *lines[2:]],
    ),
    "a row of no table": (
        lambda lines: [lines[0], '{"table": "sqlite_master", "row": []}', *lines[1:]],
        lambda lines: [lines[0], '{"table": "users", "row": [1]}', *lines[1:]],
    ),
    "a row that no ledger has": (
        lambda lines: [line for line in lines for _ in range(1 + ('"users"' in line))],
        lambda lines: [line.replace("false", '"x"') for line in lines],
    ),
}


def test_a_damaged_export_is_named_and_loads_nothing(full: World, databases):
    empty = Ledger(databases.url(), clock=full.clock)
    lines = list(full.ledger.export())
    for expected, changes in DAMAGES.items():
        for change in changes:
            with pytest.raises(SettingsError, match=expected):
                empty.load(change(lines))
    assert (empty.users(), empty.teams(), empty.submissions()) == ([], [], [])


def test_an_import_never_mixes_with_what_is_there(full: World):
    with pytest.raises(Refused, match="expected an empty ledger, found accounts or teams in it"):
        full.ledger.load(full.ledger.export())


def test_a_backup_is_whole_while_others_write(full: World, tmp_path, request):
    anna, ledger, stop = full.ledger.user(1), full.ledger, threading.Event()

    def write() -> None:
        while not stop.is_set():
            ledger.announce("busy", anna)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        path = ledger.backup(tmp_path / "backup")
    finally:
        stop.set()
        writer.join()
    assert (path.stat().st_mode & 0o777, [*tmp_path.iterdir()]) == (0o600, [path])
    if ledger.sqlite:
        with sqlite3.connect(path) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        copy = Ledger(path, clock=full.clock)
    else:
        copy = Ledger(request.getfixturevalue("sqlite").url(), clock=full.clock)
        with path.open(encoding="utf-8") as lines:
            copy.load(lines)
    assert copy.log() == ledger.log()
    acts = [act.subject for act in copy.audit() if act.action == "announced"]
    assert len(acts) == len(copy.announcements())


def test_a_backup_that_fails_leaves_the_one_before(full: World, tmp_path, monkeypatch):
    path = full.ledger.backup(tmp_path / "backup")
    before = path.read_bytes()
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space left"):
        full.ledger.backup(path)
    assert (path.read_bytes(), [*tmp_path.iterdir()]) == (before, [path])
