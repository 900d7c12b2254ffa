"""A server as `shiftbench serve` starts it: a file goes in by `shiftbench submit`, a score and a receipt come out."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.challenge import client, creation
from shiftbench.challenge.creation import Terms
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.web.server import clock
from tests.challenge.organise.test_workers import alive, soon
from tests.cli.conftest import Said, run_in

SHIFTBENCH = [sys.executable, "-m", "shiftbench"]


@pytest.fixture(scope="module")
def challenge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A challenge on sixty records, with predictions beside it."""
    place, rng = tmp_path_factory.mktemp("served"), np.random.default_rng(0)
    frame = pl.DataFrame({
        "id": [f"r{n}" for n in range(60)], "target": rng.normal(size=60), "shifted": [n % 2 for n in range(60)],
    })  # fmt: skip
    frame.write_csv(place / "truth.csv")
    answers = frame.select("id", answer=pl.col("target") + 0.5, uncertainty=pl.Series(rng.uniform(1, 2, 60)))
    answers.write_csv(place / "mine.csv")
    answers.with_columns(uncertainty=-pl.col("uncertainty")).write_csv(place / "wrong.csv")
    terms = Terms("Small", metric="rmse")
    creation.add(
        place / "small", terms, creation.from_files(terms, track="table", truths={"development": place / "truth.csv"})
    )
    return place / "small"


@pytest.fixture(scope="module")
def served(challenge: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process of the server, and its address."""
    words = [*SHIFTBENCH, "serve", str(challenge), "--port", "0"]
    server = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    assert server.stdout is not None
    said = ""
    while not (found := re.search(r"open: +(http://\S+)/\n", said)):
        line = server.stdout.readline()
        assert line, said
        said += line
    assert "layers: " in said
    try:
        yield server, found[1]
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def command(place: Path, *words: object) -> Said:
    """A command of a participant, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(place / "xdg"))
        patch.setattr(client, "POLLS_S", (0.1,))
        return run_in(place, *words)


def submit(challenge: Path, address: str, file: str, *more: str) -> Said:
    state = challenge.with_name("small.state")
    ledger = Ledger(state / "server.sqlite", clock=clock)
    if not ledger.users():
        user = ledger.sign_up("anna@example.org", "not a hash")
        ledger.found("Anna's", user.id)
        (challenge.parent / "token").write_text(ledger.issue("token", user.id))
    ledger.close()
    token = str(challenge.parent / "token")
    named = [str(challenge.parent / file)] if file else []
    return command(challenge.parent, "submit", *named, "--to", address, "--token-file", token, *more)


def api(address: str, token: Path, path: str) -> dict[str, object]:
    headers = {"Authorization": f"Bearer {token.read_text()}"}
    with urllib.request.urlopen(urllib.request.Request(f"{address}/api/v1{path}", headers=headers)) as answer:
        return json.load(answer)


def test_a_file_that_is_wrong_is_refused_before_it_is_sent(challenge: Path, served):
    done = submit(challenge, served[1], "wrong.csv")
    assert done.code == 2, done.out
    assert "uncertainty" in done.err
    assert "submission:" not in done.out


def test_a_file_is_scored_and_its_receipt_verified_offline(challenge: Path, served):
    _, address = served
    done = submit(challenge, address, "mine.csv", "--phase", "development")
    assert done.code == 0, done.err
    assert "score:      0.5" in done.out
    token, place = challenge.parent / "token", challenge.parent
    number = int(re.search(r"submission: (\d+)", done.out)[1])  # type: ignore[index]
    (place / "receipt.json").write_text(json.dumps(api(address, token, f"/submissions/{number}/receipt")))
    (place / "checkpoint.json").write_text(json.dumps(api(address, token, "/checkpoint")))
    verified = command(place, "verify", "receipt.json", "checkpoint.json", "--file", "mine.csv")
    assert verified.code == 0, verified.err
    assert "the file is the one that was scored" in verified.out
    again = submit(challenge, address, "mine.csv", "--phase", "development")
    assert f"submission: {number}\n" in again.out  # the same command waits for the same score
    assert f"handed in before, as submission {number}: nothing was sent. --again hands" in again.err
    assert "handed in before" not in done.err


def test_an_upload_that_broke_off_is_listed_resumed_or_dropped(challenge: Path, served):
    address, data = served[1], (challenge.parent / "mine.csv").read_bytes()
    assert "no unfinished uploads" in submit(challenge, address, "", "--unfinished").out
    server = client.Server.of(address, (challenge.parent / "token").read_text())
    wanted = {"board": "main", "phase": "development", "name": "mine.csv", "size": len(data)}
    first, second = (server.post("/uploads", wanted)["id"] for _ in range(2))
    server.send(first, 0, data[:1000])
    listed = submit(challenge, address, "", "--unfinished")
    assert f"{first}  mine.csv: 1,000 of {len(data):,} bytes for main, development by Anna's, until " in listed.out
    for words, match in {
        (str(challenge / "challenge.toml"), "--resume", first): r"expected [\d,]+ bytes as mine\.csv that broke off",
        ("mine.csv", "--resume", "nothing"): "expected an unfinished upload, found 'nothing'",
        ("mine.csv", "--drop", first): "expected them without FILE",
        ("", "--resume", first): "expected FILE",
        ("", "--drop", "nothing"): "expected an upload that exists",
    }.items():
        refused = submit(challenge, address, *words)
        assert refused.code == 2, words
        assert re.search(match, refused.err), refused.err
    done = submit(challenge, address, "mine.csv", "--resume", first)
    assert "score:      0.5" in done.out, done.err
    dropped = submit(challenge, address, "", "--drop", second, "--unfinished")
    assert dropped.out.splitlines() == [f"dropped: {second}", "no unfinished uploads"]


def test_ctrl_c_ends_the_server_and_its_workers(challenge: Path, served):
    server, _ = served
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children")
    workers = [int(pid) for path in children.parent.parent.glob("*/children") for pid in path.read_text().split()]
    server.send_signal(signal.SIGINT)
    assert server.wait(30) == 0
    assert soon(lambda: not any(map(alive, workers)))
