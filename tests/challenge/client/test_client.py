"""Handing in over HTTP: every interruption goes on where it stopped, and nothing is sent twice."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiftbench.challenge import client
from shiftbench.challenge.client import Server, ServerError, Wanted
from shiftbench.errors import SettingsError

from .api import CHALLENGE, World, running

DATA = bytes(range(256)) * 40  # ten chunks


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv(client.TOKEN, raising=False)
    monkeypatch.setattr(client, "CHUNK", 1024)


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def server(world: World) -> Iterator[Server]:
    with running(world) as address:
        yield Server.of(address, "secret", sleep=lambda _: None)


@pytest.fixture
def wanted(tmp_path: Path) -> Wanted:
    (tmp_path / "mine.csv").write_bytes(DATA)
    return Wanted(tmp_path / "mine.csv", CHALLENGE.board("one"), "open")


def test_a_file_is_sent_in_chunks_and_scored(server: Server, world: World, wanted: Wanted):
    world.states = [{"state": name} for name in ("uploaded", "uploaded", "scoring")] + world.states
    told: list[str] = []
    said: list[int] = []
    number = client.submit(server, wanted, progress=lambda _stage, done, _total: said.append(done))
    assert world.uploads == {"key1": DATA}
    assert world.begun == [{"board": "one", "name": "mine.csv", "size": len(DATA), "phase": "open"}]
    assert said[0] == 0
    assert said[-1] == len(DATA)
    assert client.wait(server, number, tell=told.append)["score"] == 1.5
    assert told == ["uploaded", "scoring", "scored"]
    assert world.tokens == {"Bearer secret"}


def test_an_upload_that_broke_off_is_given_up_where_its_file_is_handed_in_anew(
    server: Server, world: World, wanted: Wanted
):
    world.failures = lambda method, _path: 422 if method == "PATCH" and world.uploads["key1"] else None
    with pytest.raises(ServerError, match="told to fail with 422"):
        client.submit(server, wanted)
    world.failures = lambda _method, _path: None
    client.forget(server, wanted)
    assert world.uploads == {}
    assert client.submit(server, wanted) == 1
    assert world.uploads == {"key2": DATA}


def test_the_same_command_again_hands_in_nothing_new_until_it_is_forgotten(
    server: Server, world: World, wanted: Wanted
):
    known: list[int] = []
    assert client.submit(server, wanted, known=known.append) == 1
    assert known == []
    assert client.submit(server, wanted, known=known.append) == 1
    assert known == [1]
    assert len(world.begun) == 1
    client.forget(server, wanted)
    assert client.submit(server, wanted) == 2


@pytest.mark.parametrize("after", range(1, 10))
def test_an_interrupted_upload_goes_on_where_it_stopped(after: int, server: Server, world: World, wanted: Wanted):
    sent = 0

    def dying(_stage: str, done: int, _total: int) -> None:
        nonlocal sent
        sent = done
        if done >= 1024 * after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.submit(server, wanted, progress=dying)
    before = len([1 for method, _ in world.asked if method == "PATCH"])
    client.submit(server, wanted)
    assert (len(world.begun), world.uploads["key1"]) == (1, DATA)
    assert len([1 for method, _ in world.asked if method == "PATCH"]) == 10
    assert before == after


@pytest.mark.parametrize("status", [0, 408, 429, 500, 503, 507])
@pytest.mark.parametrize("method", ["GET", "HEAD", "PATCH", "POST"])
def test_what_passes_is_waited_for(status: int, method: str, server: Server, world: World, wanted: Wanted):
    left = [status, status]
    world.failures = lambda asked, _path: left.pop() if asked == method and left else None
    client.wait(server, client.submit(server, wanted), tell=lambda _: None)
    assert world.uploads[f"key{len(world.begun)}"] == DATA
    assert len(world.done) == 1
    assert left == []


def test_a_chunk_that_arrived_although_the_answer_was_lost_is_not_sent_twice(
    server: Server, world: World, wanted: Wanted, monkeypatch: pytest.MonkeyPatch
):
    honest, lost = Server.send, [True]

    def losing(self: Server, key: str, offset: int, data: bytes) -> int:
        found = honest(self, key, offset, data)
        if offset == 3072 and lost.pop() if lost else False:
            raise ServerError("the answer was lost")
        return found

    monkeypatch.setattr(Server, "send", losing)
    client.submit(server, wanted)
    assert world.uploads["key1"] == DATA
    assert len([1 for method, _ in world.asked if method == "PATCH"]) == 10


def test_a_server_that_stays_away_is_told_and_the_command_goes_on_later(server: Server, world: World, wanted: Wanted):
    world.failures = lambda method, _path: 503 if method == "PATCH" else None
    with pytest.raises(ServerError, match="told to fail with 503"):
        client.submit(server, wanted)
    assert len([1 for method, _ in world.asked if method == "PATCH"]) == len(client.WAITS_S) + 1
    world.failures = lambda _method, _path: None
    assert client.submit(server, wanted) == 1
    assert len(world.begun) == 1


def test_no_server_at_all_is_told(wanted: Wanted):
    with pytest.raises(ServerError, match="goes on where this one stopped"):
        client.submit(Server.of("http://127.0.0.1:1", sleep=lambda _: None), wanted)


@pytest.mark.parametrize("status", [401, 403, 409, 413, 422])
def test_what_the_server_refuses_is_told_at_once_in_its_words(
    status: int, server: Server, world: World, wanted: Wanted
):
    world.failures = lambda _method, path: status if path == "/uploads" else None
    with pytest.raises(ServerError, match=f"told to fail with {status}"):
        client.submit(server, wanted)
    assert len(world.asked) == 1


def test_an_upload_that_the_server_forgot_begins_anew(server: Server, world: World, wanted: Wanted):
    def dying(_stage: str, done: int, _total: int) -> None:
        if done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.submit(server, wanted, progress=dying)
    world.uploads.clear()
    client.submit(server, wanted)
    assert world.uploads == {"key2": DATA}


def test_an_upload_begun_elsewhere_goes_on_where_it_stopped(server: Server, world: World, wanted: Wanted):
    world.uploads["elsewhere"] = DATA[:3000]
    assert client.submit(server, wanted, upload="elsewhere") == 1
    assert (world.begun, world.uploads) == ([], {"elsewhere": DATA})
    with pytest.raises(ServerError, match="found the answer 404"):
        client.submit(server, wanted, upload="another")
    assert world.begun == []


def test_unfinished_uploads_are_read_and_another_answer_is_told(server: Server, world: World):
    plain = {"id": "k", "board": "one", "phase": "open", "team": "Anna's", "name": "a.csv", "size": 9, "received": 4}
    world.unfinished = [{**plain, "ends": 7, "more": 1}]
    assert client.unfinished(server) == [client.Unfinished(**plain, ends=7)]
    for other in ([plain], [1], 1):
        world.unfinished = other
        with pytest.raises(ServerError, match="expected uploads, found another answer"):
            client.unfinished(server)


def test_a_submission_that_the_server_forgot_is_handed_in_anew(server: Server, world: World, wanted: Wanted):
    client.submit(server, wanted)
    world.failures = lambda method, path: 404 if (method, path) == ("GET", "/submissions/1") else None
    assert client.submit(server, wanted) == 2
    assert len(world.begun) == 2


def test_a_redirect_is_not_followed_with_the_token(server: Server, world: World, wanted: Wanted):
    world.failures = lambda _method, _path: 302
    with pytest.raises(ServerError, match="302"):
        client.submit(server, wanted)
    assert len(world.asked) == 1


def test_another_file_phase_or_team_is_another_submission(server: Server, world: World, wanted: Wanted, tmp_path: Path):
    (tmp_path / "other.csv").write_bytes(DATA[1:])
    others = [Wanted(tmp_path / "other.csv", wanted.board, "open"), Wanted(wanted.file, wanted.board, "final"),
              Wanted(wanted.file, wanted.board, "open", "Ben's")]  # fmt: skip
    assert [client.submit(server, each) for each in (wanted, *others)] == [1, 2, 3, 4]
    assert world.begun[3]["for_team"] == "Ben's"


def test_a_file_that_changes_meanwhile_is_refused(server: Server, wanted: Wanted):
    def change(_stage: str, done: int, _total: int) -> None:
        if done == len(DATA):
            wanted.file.write_bytes(DATA[::-1])

    with pytest.raises(SettingsError, match="expected it unchanged"):
        client.submit(server, wanted, progress=change)


def test_the_challenge_of_a_server_is_read(server: Server):
    assert client.challenge(server) == CHALLENGE


def test_what_a_newer_server_says_besides_is_ignored(server: Server, world: World):
    world.challenge |= {"more": 1}
    world.challenge["boards"][0].update(more=1)
    for phase in world.challenge["boards"][0]["phases"]:
        phase["more"] = 1
    assert client.challenge(server) == CHALLENGE


@pytest.mark.parametrize("plain", [None, [], {}, {"boards": []}, {"boards": [{"phases": [{"starts": 10**30}]}]}, "x"])
def test_another_answer_than_a_challenge_is_told(plain: Any, server: Server, world: World):
    world.challenge = plain
    with pytest.raises(ServerError, match=r"expected a challenge|Update shiftbench"):
        client.challenge(server)


def test_another_answer_than_a_submission_is_told(server: Server, world: World):
    world.states = [{}]
    with pytest.raises(ServerError, match="expected a submission"):
        client.wait(server, 1, tell=lambda _: None)


@pytest.mark.parametrize("address", ["http://example.org", "http://10.0.0.1:8000", "http://localhost.example.org"])
def test_a_token_never_crosses_the_network_in_clear_text(address: str):
    with pytest.raises(SettingsError, match="anybody on the way could read the token"):
        Server.of(address, "secret")


@pytest.mark.parametrize("address", ["ftp://example.org", "https://", "https://me:pass@example.org", "https://a?b=c"])
def test_addresses_that_are_none_are_refused(address: str):
    with pytest.raises(SettingsError, match="expected a server's address"):
        Server.of(address)


@pytest.mark.parametrize(
    ("address", "kept"),
    [("example.org/", "https://example.org"), ("http://[::1]:80", "http://[::1]:80"),
     ("https://a.b/wind/", "https://a.b/wind"), ("http://localhost:8000", "http://localhost:8000")],
)  # fmt: skip
def test_addresses_are_taken_as_people_write_them(address: str, kept: str):
    found = Server.of(address, "secret")
    assert found.address == kept
    assert "secret" not in repr(found)


def test_the_token_is_in_a_file_or_in_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(SettingsError, match="Make one on the account's page"):
        client.token()
    (tmp_path / "config/shiftbench").mkdir(parents=True)
    (tmp_path / "config/shiftbench/token").write_text("usual\n")
    assert client.token() == "usual"
    monkeypatch.setenv(client.TOKEN, "of-environment")
    assert client.token() == "of-environment"
    (tmp_path / "mine").write_text("named")
    assert client.token(tmp_path / "mine") == "named"
    (tmp_path / "mine").write_text("two words")
    with pytest.raises(SettingsError, match="expected one token"):
        client.token(tmp_path / "mine")


def test_what_is_noted_is_private(server: Server, wanted: Wanted, tmp_path: Path):
    client.submit(server, wanted)
    (noted,) = (tmp_path / "state").rglob("*.json")
    assert stat.S_IMODE(noted.stat().st_mode) == 0o600
    noted.write_text("damaged")
    assert client.submit(server, wanted) == 2
