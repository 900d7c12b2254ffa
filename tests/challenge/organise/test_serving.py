"""What `shiftbench serve` and `shiftbench submit` say; their processes run in `test_served`."""

from __future__ import annotations

import getpass
import os
import socket
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from shiftbench.challenge import client, sandbox, scoring, worker
from shiftbench.cli import serving
from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError
from tests.cli.conftest import Shiftbench


@pytest.fixture
def scores(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """What a server says of a file that is handed in, without a server; the file is valid."""
    said: dict[str, Any] = {"state": "scored", "score": 0.5}
    board = SimpleNamespace(slug="main")
    challenge = SimpleNamespace(boards=[board], board=lambda _slug: board)
    monkeypatch.setenv("SHIFTBENCH_TOKEN", "x")
    monkeypatch.setattr(client, "challenge", lambda _server: said.get("challenge", challenge))
    monkeypatch.setattr(client, "submit", lambda *_given, **_named: 7)
    monkeypatch.setattr(client, "wait", lambda _server, _number, *, tell: tell(said["state"]) or said)
    monkeypatch.setattr(client, "forget", lambda _server, _wanted: None)
    monkeypatch.setattr(serving, "_validate", lambda *_given: None)
    (tmp_path / "mine.csv").write_text("id,answer\n")
    return said


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ({"low": 0.25, "high": 1.0}, "score:      0.5 (95 % interval 0.25 to 1)"),
        ({"score": None}, "score:      undefined"),
        ({"climbed": False}, "not better than your team's best by more than chance explains"),
        ({"state": "failed", "problems": ["line 3: expected a number"]}, "line 3: expected a number"),
        ({"state": "cancelled"}, "the submission is cancelled"),
        ({"state": "failed", "fault": "ours"}, "This is a fault of the server: it costs no quota."),
    ],
)
def test_the_end_of_a_submission_is_told(
    shiftbench: Shiftbench, scores: dict[str, Any], found: dict[str, Any], words: str
):
    scores.update(found)
    said = shiftbench("submit", "mine.csv", "--to", "localhost")
    assert said.code == (0 if scores["state"] == "scored" else 2), said.err
    assert words in said.out + said.err


def test_which_of_several_boards_has_to_be_named(shiftbench: Shiftbench, scores: dict[str, Any]):
    boards = [SimpleNamespace(slug=name) for name in ("wind", "rain")]
    scores["challenge"] = SimpleNamespace(boards=boards)
    said = shiftbench("submit", "mine.csv", "--to", "localhost")
    assert (said.code, "expected --board among wind, rain, found none." in said.err) == (2, True), said.err


def test_what_is_odd_about_a_valid_file_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(scoring, "validate", lambda *_: [])
    monkeypatch.setattr(scoring, "remarks", lambda *_: ["the uncertainty falls where answers are far"])
    monkeypatch.setattr("shiftbench.challenge.records_download.of_phase", lambda *_: None)
    serving._validate(None, None, "", Path("mine.csv"))  # type: ignore[arg-type]
    assert "warning: the uncertainty falls where answers are far" in capsys.readouterr().err


def test_an_address_in_use_is_told():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SettingsError, match=rf"found 127\.0\.0\.1:{port}: .*in use\. Choose another with --host"):
            serving._listening("127.0.0.1", port)
    with pytest.raises(SettingsError, match=r"found no\.such\.invalid:1: "):
        serving._listening("no.such.invalid", 1)


def test_a_machine_on_which_labels_could_be_read_scores_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.delenv(worker.WEAK, raising=False)
    monkeypatch.setattr(sandbox, "layers", lambda: {"labels cannot be read": False, "memory is limited": True})
    serving._say_layers(scores=False)
    said = capsys.readouterr()
    assert "layers: memory is limited" in said.out
    assert "warning: not on this machine: labels cannot be read; see the page on threats" in said.err
    with pytest.raises(SettingsError, match=worker.WEAK):
        serving._say_layers(scores=True)


def test_a_missing_library_is_told_with_the_extra_that_has_it():
    told = pytest.raises(MissingExtraError, match=r"expected nothing_here for a server, found none\. Install it")
    with told, serving.extra():
        import nothing_here  # type: ignore[import-not-found]  # noqa: F401
    with pytest.raises(ModuleNotFoundError, match=r"shiftbench\.nowhere"), serving.extra():
        import shiftbench.nowhere  # type: ignore[import-not-found]  # noqa: F401


def test_an_account_without_a_name_acts_by_its_number(monkeypatch: pytest.MonkeyPatch):
    def nameless() -> str:
        raise KeyError("uid not found")

    monkeypatch.setattr(getpass, "getuser", nameless)
    assert serving.command_line().via == f"command line (user {os.getuid()})"


def test_refusals_of_a_submission_are_one_error():
    with pytest.raises(ShiftbenchError, match="the submission is failed"):
        serving._say_score({"state": "failed"})
