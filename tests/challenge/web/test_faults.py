"""Faults met through the pages and the API, on SQLite and on PostgreSQL: nothing lost, nothing told, nobody charged."""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from argon2 import PasswordHasher

from shiftbench.challenge import definition
from shiftbench.challenge.store.records import LEASE, MOST_TRIES, NewScore
from shiftbench.challenge.web import uploads
from shiftbench.challenge.web.security import Limits, Passwords
from shiftbench.challenge.web.server import Server, opened

from ..conftest import START, Clock, Visitor, challenge
from ..databases import Postgres, Sqlite
from .test_walk import addresses
from .world import LABEL, UNTOLD, build

DATA = b"id,answer,uncertainty\n1,2,3\n"
BEGIN = {"board": "table", "name": "answers.csv", "size": len(DATA)}
Away = Callable[[], AbstractContextManager[None]]


@pytest.fixture
def place(databases: Sqlite | Postgres, tmp_path: Path) -> str:
    """Of a fresh database; a file has a folder of its own, which can be moved away."""
    if isinstance(databases, Postgres):
        return databases.url()
    (tmp_path / "database").mkdir()
    return str(shutil.copyfile(databases.url(), tmp_path / "database" / "server.sqlite"))


@pytest.fixture
def served(place: str, tmp_path: Path, clock: Clock) -> Iterator[Server]:
    folder = tmp_path / "wind"
    (folder / "sealed" / "table").mkdir(parents=True)
    definition.write(folder / definition.FILE, challenge())
    cheap = Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
    limits = Limits(whole=2**20, largest=2**24, seconds=10, passwords=50, acts=10_000)
    made = opened(folder, tmp_path / "state", database=place, clock=clock, passwords=cheap, limits=limits)
    yield made
    made.ledger.close()


@pytest.fixture
def away(databases: Sqlite | Postgres, place: str, served: Server) -> Away:
    """What takes the database away while a block runs."""
    if isinstance(databases, Postgres):
        return databases.away

    @contextmanager
    def moved() -> Iterator[None]:
        folder = Path(place).parent
        served.ledger.close()
        folder.rename(folder.with_name("elsewhere"))
        try:
            yield
        finally:
            folder.with_name("elsewhere").rename(folder)

    return moved


class Sender:
    """A member of a team with a token."""

    def __init__(self, server: Server, name: str, team: str = "") -> None:
        self.visitor = Visitor(server).joined(f"{name}@example.org", team)
        self.api, self.token = self.visitor.client, self.visitor.token()

    def begin(self, **more: object) -> str:
        """The path of a new upload."""
        begun = self.api.post("/api/v1/uploads", json={**BEGIN, **more}, headers=self.token)
        assert begun.status_code == 201, begun.text
        return f"/api/v1/uploads/{begun.json()['id']}"

    def patch(self, path: str, data: bytes, offset: int) -> int:
        return self.api.patch(path, content=data, headers={**self.token, "Upload-Offset": str(offset)}).status_code

    def offset(self, path: str) -> int:
        return int(self.api.head(path, headers=self.token).headers["upload-offset"])

    def complete(self, path: str, data: bytes = DATA) -> dict[str, object]:
        whole = {"sha256": hashlib.sha256(data).hexdigest()}
        done = self.api.post(f"{path}/complete", json=whole, headers=self.token)
        assert done.status_code == 200, done.text
        return done.json()

    def sent(self, data: bytes = DATA, **more: object) -> int:
        """The number of a submission."""
        path = self.begin(size=len(data), **more)
        assert self.patch(path, data, 0) == 204
        return int(str(self.complete(path, data)["id"]))

    def left(self, server: Server) -> tuple[int, int]:
        """Submissions of the day and failures of the hour that are used."""
        _, phase = server.phase("table", "development")
        team = server.ledger.submissions()[0].team
        found = server.ledger.quota("table", phase, team)
        return found.used, found.failures


@pytest.fixture
def anna(served: Server) -> Sender:
    return Sender(served, "anna", "Anna's")


def test_a_name_that_the_board_does_not_take_is_refused_before_it_is_counted(anna: Sender):
    told = anna.api.post("/api/v1/uploads", json={**BEGIN, "name": "bomb.zip"}, headers=anna.token)
    assert (told.status_code, "bomb.zip: expected a name that ends in" in told.text) == (422, True)
    assert anna.api.get("/api/v1/uploads", headers=anna.token).json() == []


def test_an_upload_goes_on_after_its_database_was_away(served: Server, anna: Sender, away: Away):
    path = anna.begin()
    assert anna.patch(path, DATA[:9], 0) == 204
    with away():
        answers = [
            anna.api.patch(path, content=DATA[9:], headers={**anna.token, "Upload-Offset": "9"}),
            anna.api.post("/api/v1/uploads", json=BEGIN, headers=anna.token),
            anna.api.post("/sign-in", data={"csrf": "0" * 64, "email": "anna@example.org", "password": "x" * 12}),
        ]
        told = [(answer.status_code, "server's database" in answer.text) for answer in answers[:2]]
        assert told == [(503, True)] * 2
        assert answers[2].status_code in (403, 503)
        assert not any(
            word in answer.text for answer in answers for word in ("sqlite", "postgres", "psycopg", "SELECT")
        )
    assert (anna.offset(path), anna.patch(path, DATA[9:], 9)) == (9, 204)
    assert (anna.complete(path)["state"], anna.left(served)) == ("uploaded", (1, 0))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT])
def test_an_upload_goes_on_after_the_disk_was_full(served: Server, anna: Sender, code: int, monkeypatch):
    path = anna.begin()
    assert anna.patch(path, DATA[:9], 0) == 204
    with monkeypatch.context() as patched:
        patched.setattr(uploads, "_write", _full(code))
        assert (anna.patch(path, DATA[9:], 9), anna.offset(path)) == (507, 9)
    assert anna.patch(path, DATA[9:], 9) == 204
    with monkeypatch.context() as patched:
        patched.setattr(uploads, "_keep", _full(code))
        whole = {"sha256": hashlib.sha256(DATA).hexdigest()}
        assert anna.api.post(f"{path}/complete", json=whole, headers=anna.token).status_code == 507
    number = anna.complete(path)["id"]
    assert served.uploads.file(served.ledger.submission(int(str(number))).sha256).read_bytes() == DATA
    assert [*(served.uploads.state / "uploads").iterdir()] == []


def test_a_form_whose_file_finds_the_disk_full_takes_no_quota(served: Server, anna: Sender, monkeypatch):
    form = {"data": {"csrf": anna.visitor.csrf()}, "files": {"file": ("answers.csv", DATA)}}
    with monkeypatch.context() as patched:
        patched.setattr(uploads, "_write", _full(errno.ENOSPC))
        failed = anna.api.post("/boards/table/submit", **form)
    assert (failed.status_code, "Try again later" in failed.text) == (507, True)
    assert served.ledger.unfinished() == []
    assert anna.api.post("/boards/table/submit", **form).status_code == 303
    assert anna.left(served) == (1, 0)


def _full(code: int) -> Callable[..., None]:
    def write(*_: object) -> None:
        raise OSError(code, "full")

    return write


def test_a_phase_that_ends_during_an_upload_takes_it_and_a_clock_set_back_reopens_none(
    served: Server, anna: Sender, clock: Clock
):
    clock.now = START + 10**12 - 1
    path = anna.begin()
    clock.now = START + 10**12
    for _ in range(2):
        late = anna.api.post("/api/v1/uploads", json={**BEGIN, "phase": "development"}, headers=anna.token)
        assert (late.status_code, "is closed now" in late.text) == (409, True)
        clock.now = START
    assert anna.patch(path, DATA, 0) == 204
    assert anna.complete(path)["phase"] == "development"


def test_a_second_account_is_one_more_member_and_never_one_more_quota(served: Server, anna: Sender):
    second = Sender(served, "anna.two")
    code = served.ledger.code(served.ledger.submission(anna.sent()).team)
    joined = second.api.post("/api/v1/teams/join", json={"code": code}, headers=second.token)
    assert joined.status_code == 204, joined.text
    assert served.ledger.submission(second.sent(DATA + b"\n")).team_name == "Anna's"
    anna.sent(DATA + b"\n\n")
    for member in (anna, second):
        refused = member.api.post("/api/v1/uploads", json=BEGIN, headers=member.token)
        assert (refused.status_code, "less than 3 submissions today" in refused.text) == (409, True)
        assert member.api.post("/api/v1/teams", json={"name": "Another"}, headers=member.token).status_code == 409


@pytest.mark.parametrize("name", ["'; DROP TABLE users; --", "<script>alert(1)</script>", '"><img src=x onerror=y>'])
def test_sql_and_html_in_names_are_text(served: Server, name: str):
    eve = Sender(served, "eve", name)
    number = eve.sent(name=f"{name}.csv")
    claimed = served.ledger.claim("w")
    assert claimed is not None
    assert served.ledger.finish(number, "w", NewScore("labels", "scorer", 1.0))
    for path in ("/boards/table", f"/submissions/{number}", "/account", "/"):
        page = eve.api.get(path)
        assert page.status_code == 200, path
        assert not any(tag in page.text for tag in ("<script>alert", "<img src=x")), path
    assert [row.team for row in served.rows(*served.phase("table", "development"))] == [name]
    assert len(served.ledger.users()) == 1


def test_what_hangs_is_taken_by_others_and_costs_no_quota_in_the_end(served: Server, anna: Sender, clock: Clock):
    """EvalAI 4390 and 4798, Codabench 2484 and 2031: submissions hung for days and cost quota."""
    number, path = anna.sent(), "/api/v1/submissions/"
    for tried in range(MOST_TRIES):
        claimed = served.ledger.claim(f"worker {tried}")  # which dies
        assert claimed is not None
        assert anna.api.get(f"{path}{number}", headers=anna.token).json()["state"] == "validating"
        assert served.ledger.claim("another") is None
        clock.now += LEASE + 1
    assert served.ledger.claim("another") is None
    found = anna.api.get(f"{path}{number}", headers=anna.token).json()
    assert (found["state"], len(found["problems"])) == ("failed", 1)
    assert anna.left(served)[0] == 0


def test_a_failed_submission_is_never_ranked_and_two_workers_score_once(served: Server, anna: Sender, clock: Clock):
    """Codabench 1640: failed entries were ranked first."""
    failed, scored = anna.sent(), anna.sent(DATA + b"\n")
    assert served.ledger.claim("w") is not None
    assert served.ledger.fail(failed, "w", "submission", ["line 1: expected a number"])
    assert served.ledger.claim("slow") is not None
    clock.now += LEASE + 1
    assert served.ledger.claim("quick") is not None
    done = [served.ledger.finish(scored, who, NewScore("labels", "scorer", 2.0)) for who in ("slow", "quick", "quick")]
    assert done == [False, True, False]
    rows = anna.api.get("/api/v1/boards/table/development").json()["rows"]
    assert [(row["rank"], row["score"]) for row in rows] == [(1, 2.0)]
    assert (served.ledger.log_size(), anna.left(served)) == (1, (1, 1))


def test_nobody_finds_a_label_or_what_the_ladder_hides_on_postgresql_either(postgres: Postgres, tmp_path: Path):
    """Codabench 2345 and 2555, kits19 38: hidden reference data and scores of cases were shown."""
    world = build(tmp_path, postgres.url())
    read = 0
    for role in ("other", "organiser"):  # all roles walk in test_walk, on SQLite
        for path in addresses(world):
            answer = world.roles[role].client.get(path)
            assert answer.status_code < 500, (role, path)
            assert not [word for word in (LABEL, *UNTOLD) if word in answer.text], (role, path)
            read += answer.status_code == 200
    assert read > 60
    world.server.ledger.close()
