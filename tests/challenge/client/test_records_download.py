"""The command line fetches what everybody may know of a phase, and tells all that is wrong before anything is sent."""

from __future__ import annotations

import http.server
import threading
import time
from collections.abc import Iterator

import pytest

from shiftbench.challenge import records_download
from shiftbench.challenge.client import WAITS_S, Server, ServerError
from shiftbench.challenge.definition import Board, Phase
from shiftbench.cli import serving
from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.track import PublicRecords

NOW = time.time_ns() // 1_000
BOARD = Board("main", "Main", "r_auc", (Phase("past", 0, 1), Phase("open", 1), Phase("coming", NOW + 10**12)))


@pytest.fixture
def served() -> Iterator[tuple[Server, dict[str, tuple[int, bytes]], list[str]]]:
    """A server of these answers by path, and the paths that it was asked for."""
    answers: dict[str, tuple[int, bytes]] = {}
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            assert "Authorization" not in self.headers  # it is public
            status, body = answers.get(self.path, (404, b"{}"))
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_args: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield Server(f"http://127.0.0.1:{running.server_port}", "secret", sleep=lambda _: None), answers, asked
        running.shutdown()


def test_records_are_those_of_the_phase_that_is_named_or_open(served):
    server, answers, asked = served
    answers["/boards/main/files/open/records.json"] = (200, b'{"ids": ["a", "b"], "answer": 0.0}')
    held = PublicRecords(["a", "b"], {"answer": 0.0})
    assert [records_download.of_phase(server, BOARD, phase) for phase in ("", "open", "past")] == [held, held, None]
    assert len(asked) == 3  # a server of an earlier version has none


def test_other_answers_are_told(served):
    server, answers, asked = served
    place = "/boards/main/files/open/records.json"
    answers[place] = (200, b"<html>")
    with pytest.raises(TableError, match="expected the ids of records"):
        records_download.of_phase(server, BOARD, "")
    answers[place] = (503, b"")
    with pytest.raises(ServerError, match="found the answer 503"):
        records_download.of_phase(server, BOARD, "")
    assert len(asked) == 2 + len(WAITS_S)  # it may have come back
    with pytest.raises(ServerError, match="expected an answer"):
        records_download.of_phase(Server("http://127.0.0.1:9", sleep=lambda _: None), BOARD, "")


def test_everything_is_told_before_anything_is_sent(served, tmp_path):
    server, answers, asked = served
    answers["/boards/main/files/open/records.json"] = (200, b'{"ids": ["a", "b", "c"], "answer": 0.0}')
    (tmp_path / "mine.csv").write_text("id,answer,uncertainty\na,1,-1\na,nan,2\nzzz,3,1\n")
    with pytest.raises(ShiftbenchError, match="once") as told:
        serving._validate(server, BOARD, "", tmp_path / "mine.csv")
    words = (
        "1 id more than once: 'a' in rows 1, 2",
        "found none in row 2",
        "below 0",
        "2 of 3 records (b, c)",
        "(zzz)",
    )
    assert [word for word in words if word not in str(told.value)] == []
    assert asked == ["/boards/main/files/open/records.json"]
