"""A full disk, a database that goes away, processes that are killed anywhere: nothing lost, nothing done twice."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

import pytest
from sqlalchemy import event

from shiftbench.challenge.store import database
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import LEASE, Away, Full

from .world import HIDDEN, OPEN, World, score

DISK_FULL = "BEGIN RAISE EXCEPTION USING ERRCODE = '53100'; END"
CUT = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE state = 'idle in transaction' AND datname = current_database()"
)

# Killed anywhere


def killed(world: World, act: Callable[[Ledger], object], after: int) -> bool:
    """Whether a process that runs `act` is killed, before its statement or commit number `after` from 0."""

    def run() -> None:
        ledger = world.another()
        die(ledger.engine, after)
        act(ledger)

    return forked(run)


def die(engine: object, after: int) -> None:
    """Kill this process, as by `kill -9`, before its statement or commit number `after` from 0."""
    left = [after]

    def count(*_: object) -> None:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)

    event.listen(engine, "before_cursor_execute", count)
    event.listen(engine, "commit", count)


def forked(run: Callable[[], object]) -> bool:
    """Whether a process that does this is killed."""
    child = os.fork()
    if child == 0:
        try:
            run()
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), "the act failed by itself"
    return status == signal.SIGKILL


def until_done(world: World, act: Callable[[Ledger], object], check: Callable[[], None]) -> int:
    """Kill `act` before its first statement, its second, …, and look after each; returns how often it was killed."""
    times = 0
    world.ledger.close()  # a child may share no connection
    while killed(world, act, times):
        check()
        world.ledger.close()
        times += 1
    return times


def test_a_kill_while_an_upload_is_completed_loses_nothing_and_makes_one_submission(world: World):
    anna = world.team("Anna's")
    upload = world.ledger.begin("table", OPEN, anna, team=anna.team, file=("a.csv", 9))
    world.ledger.received(upload.id, 0, 9)

    def check() -> None:
        assert world.ledger.quota("table", OPEN, anna.team).used == 1
        assert len(world.ledger.submissions()) == (world.ledger.upload(upload.id).submission is not None)

    assert until_done(world, lambda ledger: ledger.complete(upload.id, "0" * 64), check) >= 5
    (made,) = world.ledger.submissions()
    assert world.ledger.complete(upload.id, "0" * 64) == made.id


def test_a_kill_while_an_upload_begins_charges_at_most_what_is_there(world: World):
    anna, begun = world.team("Anna's"), []

    def check() -> None:
        assert world.ledger.quota("table", OPEN, anna.team).used == len(begun)

    def begin(ledger: Ledger) -> None:
        ledger.begin("table", OPEN, anna, team=anna.team, file=("a.csv", 9))

    assert until_done(world, begin, check) >= 5
    assert world.ledger.quota("table", OPEN, anna.team).used == 1


@pytest.mark.parametrize("phase", [OPEN, HIDDEN], ids=["shown", "hidden"])
def test_a_worker_killed_anywhere_scores_once_and_costs_no_quota(world: World, phase):
    anna = world.team("Anna's")
    number = world.sent(anna, phase)

    def work(ledger: Ledger) -> None:
        claimed = ledger.claim("worker")
        if claimed is not None:
            ledger.heartbeat(claimed.id, "worker", "scoring")
            assert ledger.finish(claimed.id, "worker", score(0.5, noise=0.1))

    def check() -> None:
        ledger, scored = world.ledger, world.ledger.submission(number).state == "scored"
        assert len(ledger.scores(number)) == ledger.log_size() == scored
        assert ledger.quota("table", phase, anna.team).used == 1
        if not scored:  # by hand, as there are fewer tries than statements
            ledger.requeue(number, host)

    host = world.user("organiser")
    assert until_done(world, work, check) >= 15
    check()
    assert world.ledger.submission(number).state == "scored"
    assert world.ledger.claim("other") is None


def test_a_killed_workers_job_is_taken_by_another_after_its_lease(world: World):
    number = world.sent(world.team("Anna's"))

    def claim_and_die(ledger: Ledger) -> None:
        ledger.claim("dead")
        os.kill(os.getpid(), signal.SIGKILL)

    world.ledger.close()
    assert killed(world, claim_and_die, 10**6)
    assert world.ledger.claim("other") is None
    world.clock.now += LEASE + 1
    assert world.work(score(1.0)) == number


def test_a_kill_at_the_first_start_leaves_a_database_that_the_next_start_can_use(databases, monkeypatch):
    make = database._engine

    def start(after: int) -> bool:
        """Whether a first start is killed; the next one is not."""
        url = databases.empty()

        def engine(address: object) -> object:
            made = make(address)
            die(made, after)
            return made

        with monkeypatch.context() as patched:
            patched.setattr(database, "_engine", engine)
            dead = forked(lambda: World(url))
        assert World(url).user().id == 1
        return dead

    last = max(after for after in range(0, 60, 4) if start(after))
    assert last >= 20
    assert [start(after) for after in range(last + 1, last + 5)].count(False) >= 1  # so all of its end is looked at


# A full disk


def fill(world: World) -> Callable[[], None]:
    """Let the disk be full; returns what makes room. (SQLite has a limit of pages; PostgreSQL raises its own error.)"""
    if world.ledger.sqlite:
        engine = world.ledger.engine

        def limit(connection: object, _: object, proxy: object) -> None:
            pages = connection.execute("PRAGMA page_count").fetchone()[0]
            connection.execute(f"PRAGMA max_page_count = {pages}")

        event.listen(engine, "checkout", limit)

        def room() -> None:
            event.remove(engine, "checkout", limit)
            world.ledger.close()

        return room
    with world.ledger.engine.begin() as c:
        c.exec_driver_sql(f"CREATE FUNCTION stop() RETURNS trigger LANGUAGE plpgsql AS $$ {DISK_FULL} $$")
        c.exec_driver_sql("CREATE TRIGGER stop BEFORE INSERT ON audit EXECUTE FUNCTION stop()")

    def room() -> None:
        with world.ledger.engine.begin() as c:
            c.exec_driver_sql("DROP TRIGGER stop ON audit")
            c.exec_driver_sql("DROP FUNCTION stop")

    return room


def many(times: int, act: Callable[[], object]) -> None:
    for _ in range(times):
        act()


def test_a_full_disk_refuses_changes_loses_nothing_and_ends(world: World):
    host, ledger = world.user("organiser"), world.ledger
    ledger.announce("before", host)
    room = fill(world)
    with pytest.raises(Full, match=r"found its disk full\. Send it again later") as refused:
        many(200, lambda: ledger.announce("while it is full " + "x" * 1_000, host))
    assert refused.value.status == 507
    there = len(ledger.announcements())
    assert there == sum(act.action == "announced" for act in ledger.audit())  # no half of one
    room()
    ledger.announce("after", host)
    assert [each.text for each in ledger.announcements()][:: len(ledger.announcements()) - 1] == ["after", "before"]
    assert len(ledger.announcements()) == there + 1


# A database that goes away and returns


def test_a_postgresql_that_dies_and_returns_loses_nothing(postgres):
    world = World(postgres.url())
    anna, other = world.team("Anna's"), world.another()
    number = world.sent(anna)
    assert world.ledger.claim("worker").id == number
    with postgres.away():
        for act in (
            lambda: world.ledger.heartbeat(number, "worker", "scoring"),
            lambda: other.board("table", "development", better="min"),
            lambda: World(world.url),
        ):
            with pytest.raises(Away, match=r"expected the server's database, found .*\. Try again") as refused:
                act()
            assert refused.value.status == 503
    assert world.ledger.heartbeat(number, "worker", "scoring")
    assert world.ledger.finish(number, "worker", score(1.0))
    assert [row.score for row in other.board("table", "development", better="min")] == [1.0]


def test_a_connection_that_is_cut_in_a_transaction_does_nothing_of_it(postgres):
    world = World(postgres.url())
    host = world.user("organiser")

    left = [1]

    def cut(*_: object) -> None:
        if left:
            left.clear()
            with world.another().engine.begin() as c:
                c.exec_driver_sql(CUT)

    event.listen(world.ledger.engine, "commit", cut)
    with pytest.raises(Away):
        world.ledger.announce("We begin.", host)
    assert world.ledger.announcements() == []
    world.ledger.announce("We begin.", host)


def test_a_file_that_is_moved_away_and_back_loses_nothing(tmp_path):
    folder = tmp_path / "state"
    folder.mkdir()
    world = World(str(folder / "server.sqlite"))
    anna = world.team("Anna's")
    world.ledger.close()
    folder.rename(tmp_path / "away")
    for _ in range(2):
        with pytest.raises(Away):
            world.sent(anna)
    (tmp_path / "away").rename(folder)
    assert world.sent(anna) == 1


def test_a_database_that_is_busy_for_long_is_away(sqlite, monkeypatch):
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    world = World(sqlite.url())
    other = World(world.url)
    with world.ledger._writing(), pytest.raises(Away):
        other.user()
    assert other.user().id == 1


# Two at once


def test_a_phase_that_ends_during_an_upload_takes_it_and_nothing_later(world: World):
    anna, ledger = world.team("Anna's"), world.ledger
    world.clock.now = OPEN.ends - 1
    upload = ledger.begin("table", OPEN, anna, team=anna.team, file=("a.csv", 9))
    world.clock.now = OPEN.ends
    assert ledger.received(upload.id, 0, 9)
    number = ledger.complete(upload.id, "0" * 64)
    assert (ledger.submission(number).begun, ledger.submission(number).phase) == (OPEN.ends - 1, "development")
    assert world.work(score(1.0)) == number


def test_writes_of_many_threads_and_processes_are_all_there(world: World):
    children = []
    world.ledger.close()
    for part in range(2):
        children.append(os.fork())
        if children[-1] == 0:
            try:
                os._exit(_write(world, part))
            finally:
                os._exit(1)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0]
    assert sorted(act.subject for act in world.ledger.audit()) == sorted(
        f"{p}-{t}-{n}" for p in range(2) for t in range(4) for n in range(10)
    )


def _write(world: World, part: int) -> int:
    ledger, errors = world.another(), []

    def write(thread: int) -> None:
        try:
            for n in range(10):
                ledger.noted("wrote", f"{part}-{thread}-{n}", None)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(errors)
