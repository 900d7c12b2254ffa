"""Workers score everything that waits exactly once, whatever kills them, and tell whose fault a failure is."""

import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter

import polars as pl
import pytest

from shiftbench.challenge import manifest, sandbox, scoring, worker
from shiftbench.challenge.sandbox import Fault, Limits
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import Away
from shiftbench.challenge.worker import Worker
from shiftbench.errors import SettingsError

from .challenges import BOARD, HIDDEN, answers, clock, sealed, submit, truth

QUICK = """
import sys
import shiftbench.challenge.store.work as work
work.LEASE = 3_000_000
from shiftbench.challenge import manifest, sandbox, scoring, worker
worker.BEATS_S, worker.RESTS_S = 0.3, 0.05
sandbox.require = lambda found: None  # tested on its own; starts must be quick here
sandbox.layers, sandbox.probe = (lambda secret: {}), (lambda *given: {"probes": {"list": ""}})
from pathlib import Path
worker.run(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
"""


@pytest.fixture
def folder(tmp_path):
    return sealed(tmp_path / "challenge")


@pytest.fixture
def state(tmp_path):
    (tmp_path / "state").mkdir()
    return tmp_path / "state"


def _content(noise: float = 1.0, seed: int = 1) -> bytes:
    return answers(truth(), noise, seed=seed).write_csv().encode()


@pytest.fixture
def ledger(state):
    found = Ledger(state / worker.DATABASE, clock=clock)
    yield found
    found.close()


def test_what_waits_is_scored_and_open_phases_get_a_report(folder, state, ledger, monkeypatch):
    number = submit(state, ledger, "ours", _content())
    written = []

    def report(_folder, board, _phase, parsed, out, *, records):
        assert not records
        written.extend(parsed)
        (out / "report.html").write_text(board.title)

    monkeypatch.setattr(worker.scoring, "report", report)
    worker.run(state, folder, once=True)
    assert written == ["ours"]
    found, (score,) = ledger.submission(number), ledger.scores(number)
    assert found.state == "scored"
    assert score.low < score.value < score.high
    assert score.shown == score.value
    assert "Main" in (state / "scored" / str(number) / f"{score.id}.totals" / "report.html").read_text("utf-8")
    assert [path.name for path in (state / "parsed").iterdir()] == [str(number)]


def _many_scored(folder, state, ledger, count):
    """Submissions of one team with scores, as an earlier version left them: nothing has a report."""
    submit(state, ledger, "ours", _content())
    for number in range(1, count + 1):
        (state / "parsed" / str(number)).mkdir(parents=True)
    numbers = f"WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {count})"
    values = f"n, n, '{scoring.labels(folder, BOARD, 'development')}', 's', n, n, true, '[]', n, n"
    with ledger._writing() as (c, _):
        c.exec_driver_sql("DELETE FROM submissions")
        c.exec_driver_sql(
            "INSERT INTO submissions (id, board, phase, hidden, team, name, size, sha256, begun, queued, state, "
            f"problems, chosen, tries, score) {numbers} SELECT n, 'main', 'development', false, 1, 'a', 1, 'x', n, n, "
            "'scored', '[]', false, 1, n FROM numbers"
        )
        c.exec_driver_sql(
            "INSERT INTO scores (id, submission, labels, scorer, value, shown, climbed, notes, at, receipt) "
            f"{numbers} SELECT {values} FROM numbers"
        )


def test_reports_are_made_anew_for_every_submission_not_for_the_newest_alone(folder, state, ledger, monkeypatch):
    _many_scored(folder, state, ledger, 210)
    monkeypatch.setattr(worker, "PAGE", 50)
    monkeypatch.setattr(worker.scoring, "report", lambda *given, records: (given[4] / "report.html").write_text("x"))
    one = Worker(state, folder, _challenge(folder), ledger)
    assert one.reports(most=1_000) == 210
    assert len([*(state / "scored").glob("*/*.totals/report.html")]) == 210
    assert one.reports(most=1_000) == 0


def test_labels_that_are_corrected_while_a_file_is_scored_are_not_those_of_its_score(
    folder, state, ledger, monkeypatch
):
    number, evaluate, read = submit(state, ledger, "ours", _content()), scoring.evaluate, []

    def corrected(*given):
        if not read:
            path = folder / "sealed" / "main" / "development" / "truth.parquet"
            pl.read_parquet(path).with_columns(pl.col("target") + 1).write_parquet(path)
            manifest.seal(folder)
        read.append(evaluate(*given).value)
        return read[-1]

    monkeypatch.setattr(scoring, "evaluate", lambda *given: (corrected(*given), evaluate(*given))[1])
    Worker(state, folder, _challenge(folder), ledger).step()
    (score,) = ledger.scores(number)
    assert len(read) == 2
    assert (score.labels, score.value) == (manifest.labels(folder, "main", "development"), read[-1])


def test_a_report_of_labels_that_are_corrected_while_it_is_made_is_not_kept(folder, state, ledger, monkeypatch):
    _many_scored(folder, state, ledger, 1)

    def report(*given, records):
        (given[4] / "report.html").write_text("x")
        path = folder / "sealed" / "main" / "development" / "truth.parquet"
        pl.read_parquet(path).with_columns(pl.col("target") + 1).write_parquet(path)
        manifest.seal(folder)

    monkeypatch.setattr(worker.scoring, "report", report)
    one = Worker(state, folder, _challenge(folder), ledger)
    assert [one.reports(), one.reports()] == [0, 0]
    assert [*(state / "scored" / "1").iterdir()] == []


def test_a_refused_file_is_told_of_foreign_ids_as_well(folder, state, ledger):
    given = answers(truth(), 1.0)
    twice = pl.concat([given[:-1], given[:1].with_columns(id=pl.lit("foreign")), given[:1]])
    number = submit(state, ledger, "ours", twice.write_csv().encode(), phase=HIDDEN)
    worker.run(state, folder, once=True)
    found = ledger.submission(number)
    assert (found.state, found.fault) == ("failed", "submission")
    assert [
        word in "\n".join(found.problems) for word in ("more than once", "1 other among 300 ids (foreign)", "(r299)")
    ] == [True] * 3


def test_a_file_of_another_name_is_told_which_names_the_board_takes(folder, state, ledger):
    number = submit(state, ledger, "ours", b"\x80\x04.", name="model.pkl")
    worker.run(state, folder, once=True)
    (problem,) = ledger.submission(number).problems
    assert problem.startswith("model.pkl: expected a name that ends in .parquet, .csv, .csv.gz, found another.")


def test_hidden_phases_answer_through_the_ladder_and_leave_no_report(folder, state, ledger):
    first = submit(state, ledger, "ours", _content(2.0), phase=HIDDEN)
    same = submit(state, ledger, "ours", _content(2.0)[:-1], phase=HIDDEN)
    better = submit(state, ledger, "ours", _content(0.5, seed=2), phase=HIDDEN)
    worker.run(state, folder, once=True)
    shown = [ledger.submission(number).score for number in (first, same, better)]
    assert shown[0] == shown[1]
    assert shown[2] < shown[1]
    assert [ledger.submission(number).climbed for number in (first, same, better)] == [True, False, True]
    assert not [*(state / "scored").iterdir()]


def test_problems_of_a_file_are_its_own_and_told(folder, state, ledger):
    number = submit(state, ledger, "ours", b"id,answer,uncertainty\nr0,1.0,x\n")
    worker.run(state, folder, once=True)
    found = ledger.submission(number)
    assert (found.state, found.fault) == ("failed", "submission")
    assert "mine.csv" in found.problems[0]


def test_faults_of_ours_say_nothing_else(folder, state, ledger):
    number = submit(state, ledger, "ours", _content())
    (folder / "sealed" / "main" / "development" / "truth.parquet").write_bytes(b"changed")
    Worker(state, folder, _challenge(folder), ledger).step()
    found = ledger.submission(number)
    assert (found.state, found.fault) == ("failed", "ours")
    assert found.problems == (worker.OURS,)
    assert "Seal the challenge again" in (state / "faults" / f"{number}.txt").read_text("utf-8")
    told = (state / "faults" / f"{number}.desk.txt").read_text("utf-8")
    assert told.startswith("Fault: main, development: expected the labels that were sealed, found others.")
    assert "in _score" in told


def test_a_file_that_breaks_our_code_costs_nothing_until_a_team_does_it_again_and_again(
    folder, state, ledger, monkeypatch
):
    def broken(*_args, **_named):
        raise sandbox.Unexpected("expected a reader that does its work, found it broken by AttributeError: x")

    monkeypatch.setattr(worker.sandbox, "parse", broken)
    own = [submit(state, ledger, "ours", _content(seed=seed)) for seed in range(worker.MOST_FORGIVEN + 2)]
    other = submit(state, ledger, "theirs", _content())
    mine = Worker(state, folder, _challenge(folder), ledger)
    while mine.step():
        pass
    told = [ledger.submission(number) for number in own]
    assert [each.fault for each in told] == [*["ours"] * worker.MOST_FORGIVEN, "submission", "submission"]
    assert told[0].problems == (worker.OURS,)
    assert told[-1].problems == (worker.COUNTED,)
    assert ledger.submission(other).fault == "ours"
    assert (state / "faults" / f"{own[-1]}.desk.txt").is_file()  # organisers see all of them


def test_a_server_that_is_broken_forgives_without_an_end(folder, state, ledger, monkeypatch):
    def broken(*_args, **_named):
        raise Fault("expected a reader that reads its own example, found it broken by ImportError: no polars")

    monkeypatch.setattr(worker.sandbox, "parse", broken)
    own = [submit(state, ledger, "ours", _content(seed=seed)) for seed in range(worker.MOST_FORGIVEN + 2)]
    mine = Worker(state, folder, _challenge(folder), ledger)
    while mine.step():
        pass
    assert {ledger.submission(number).fault for number in own} == {"ours"}


def test_the_desk_is_not_told_what_an_error_says_of_labels(folder, state, ledger, monkeypatch):
    def read(*_args: object) -> None:
        try:
            raise ValueError("the label of r0 is 7.25")
        except ValueError as error:
            raise Fault("cannot read 7.25") from error

    monkeypatch.setattr(worker.scoring, "evaluate", read)
    number = submit(state, ledger, "ours", _content())
    Worker(state, folder, _challenge(folder), ledger).step()
    assert "7.25" in (state / "faults" / f"{number}.txt").read_text("utf-8")
    told = (state / "faults" / f"{number}.desk.txt").read_text("utf-8")
    assert "7.25" not in told
    assert [line for line in told.splitlines() if line[0] != " "] == ["Fault", "ValueError"]


def _challenge(folder):
    from shiftbench.challenge import definition

    return definition.read(folder / definition.FILE)


def test_a_reader_that_takes_too_long_is_the_fault_of_the_file(folder, state, ledger):
    number = submit(state, ledger, "ours", _content())
    (state / "parsed").mkdir()
    Worker(state, folder, _challenge(folder), ledger, limits=Limits(wall_s=0.01)).step()
    assert ledger.submission(number).fault == "submission"
    assert "within 0.01 s" in ledger.submission(number).problems[0]


def test_who_lost_the_lease_neither_scores_nor_replaces_what_was_parsed(folder, state, ledger, monkeypatch):
    number = submit(state, ledger, "ours", _content())
    slow = Worker(state, folder, _challenge(folder), ledger)
    parse = sandbox.parse

    def stolen(*given, **named):
        parse(*given, **named)
        monkeypatch.setattr(sandbox, "parse", parse)
        ledger.requeue(number, _organiser(ledger))
        assert Worker(state, folder, _challenge(folder), ledger).step()

    monkeypatch.setattr(sandbox, "parse", stolen)
    assert slow.step()
    assert ledger.submission(number).state == "scored"
    assert len(ledger.scores(number)) == 1
    assert [path.name for path in (state / "parsed").iterdir()] == [str(number)]


def _organiser(ledger):
    from shiftbench.challenge.store.records import User

    ledger.sign_up("admin@example.org", "hash")
    return User(1, "admin@example.org", "admin", None, None)


def test_a_database_that_is_away_for_a_while_loses_nothing(folder, state, ledger, monkeypatch):
    number = submit(state, ledger, "ours", _content())
    finish, tries = ledger.finish, []

    def flaky(*given):
        tries.append(1)
        if len(tries) < 3:
            raise Away
        return finish(*given)

    monkeypatch.setattr(ledger, "finish", flaky)
    Worker(state, folder, _challenge(folder), ledger).step()
    assert len(tries) == 3
    assert ledger.submission(number).state == "scored"


def test_scoring_again_makes_new_scores_beside_the_old(folder, state, ledger):
    number = submit(state, ledger, "ours", _content())
    one = Worker(state, folder, _challenge(folder), ledger)
    one.step()
    assert ledger.rescore("main", "development", _organiser(ledger)) == 1
    one.step()
    assert len(ledger.scores(number)) == 2


def test_workers_refuse_machines_on_which_labels_could_be_read(folder, state, monkeypatch):
    monkeypatch.setattr(sandbox, "layers", lambda _: {"labels cannot be read": "read: it worked"})
    with pytest.raises(SettingsError, match=worker.WEAK):
        worker.run(state, folder, once=True)
    monkeypatch.setenv(worker.WEAK, "1")
    worker.run(state, folder, once=True)


def test_workers_refuse_a_state_among_the_folders_of_python(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(sandbox, "layers", lambda _: {"labels cannot be read": True})
    monkeypatch.setattr(sandbox, "probe", lambda *_: {"probes": {"list": "it worked"}})
    with pytest.raises(SettingsError, match="outside those of Python"):
        worker.run(tmp_path / "state", folder, once=True)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_random_kills_lose_no_submission_and_score_none_twice(database, folder, state, request):
    url = request.getfixturevalue("postgres").url() if database == "postgresql" else ""
    ledger = Ledger(url or state / worker.DATABASE, clock=clock)
    numbers = [submit(state, ledger, f"team {n % 4}", _content(seed=n), phase=HIDDEN) for n in range(5)]
    command = [sys.executable, "-c", QUICK, str(state), str(folder), url]
    running = [subprocess.Popen(command, start_new_session=True) for _ in range(2)]
    rng, end, kills = random.Random(0), time.monotonic() + 120, 0
    try:
        while any(ledger.submission(number).state != "scored" for number in numbers):
            assert time.monotonic() < end, Counter(ledger.submission(number).state for number in numbers)
            if kills < 2 and any(ledger.submission(number).state in ("validating", "scoring") for number in numbers):
                time.sleep(rng.random())
                chosen = rng.randrange(2)
                running[chosen].send_signal(signal.SIGKILL)
                running[chosen].wait()
                running[chosen] = subprocess.Popen(command, start_new_session=True)
                kills += 1
            time.sleep(0.2)
    finally:
        for process in running:
            process.kill()
            process.wait()
    assert kills
    assert [len(ledger.scores(number)) for number in numbers] == [1] * len(numbers)
    assert ledger.log_size() == len(numbers)
    ledger.close()


def test_beats_keep_a_lease_and_end_with_the_work(folder, state, ledger, monkeypatch):
    monkeypatch.setattr(worker, "BEATS_S", 0.01)
    number = submit(state, ledger, "ours", _content())
    one = Worker(state, folder, _challenge(folder), ledger)
    assert ledger.claim(one.name).id == number
    beats = []
    heartbeat = ledger.heartbeat
    monkeypatch.setattr(ledger, "heartbeat", lambda *given: beats.append(given) or heartbeat(*given))
    end = time.monotonic() + 30
    with one._beating(number):
        while len(beats) < 3:
            assert time.monotonic() < end
            time.sleep(0.01)
    count = len(beats)
    time.sleep(0.05)
    assert len(beats) == count
    assert threading.active_count() < 20
