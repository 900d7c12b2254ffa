"""A challenge with genuine labels, a worker that scores, and a visitor of each role."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterator
from copy import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from argon2 import PasswordHasher

from shiftbench.challenge import definition, manifest
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.store.records import DAY
from shiftbench.challenge.web.security import Limits, Passwords
from shiftbench.challenge.web.server import Server, opened
from shiftbench.challenge.worker import Worker

from ..conftest import PASSWORD, START, Clock, Visitor

OPEN = Phase("development", START - DAY, START + 9 * DAY)
HIDDEN = Phase("evaluation", START - DAY, START + DAY, hidden=True)
BOARD = Board("main", "Main", "mean_error", (OPEN, HIDDEN), threshold=1.0)
N = 120
NUMBER = re.compile(r"(?<![\w.])7\d\d,?\d\d\d(?![\w,])(?:\.\d+)?")  # a target, or what was answered for it


class Hosted:
    """A challenge with a table of targets between 700,000 and 800,000, and errors of about 1."""

    def __init__(self, folder: Path) -> None:
        rng = np.random.default_rng(0)
        self.targets = 700_000 + rng.choice(99_000, N, replace=False) + rng.integers(0, 1000, N) / 1000
        labels = pl.DataFrame(
            {
                "id": [f"r{n}" for n in range(N)], "target": self.targets, "shifted": rng.random(N) < 0.5,
                "region": [f"kestrel-{n}" for n in range(N)], "side": rng.choice(["left", "right"], N),
            }
        )  # fmt: skip
        for phase in BOARD.phases:
            place = folder / "wind" / "sealed" / "main" / phase.name
            place.mkdir(parents=True)
            labels.write_parquet(place / "truth.parquet")
        (folder / "wind" / "public" / "main").mkdir(parents=True)
        definition.write(folder / "wind" / definition.FILE, Challenge("wind", "Wind", "Predict it.", (BOARD,)))
        manifest.seal(folder / "wind")
        self._open(folder, Clock())
        ledger, hashed = self.server.ledger, self.server.passwords.hash(PASSWORD)
        ledger.sign_up("host@example.org", hashed, role="admin")
        self.numbers: dict[str, list[int]] = {"development": [], "evaluation": []}
        for team in ("ben", "eve"):
            ledger.found(team, ledger.sign_up(f"{team}@example.org", hashed).id)
            ours = next(each for each in ledger.users() if each.email.startswith(team))
            spread = rng.uniform(0.5, 1.5, N)
            given = pl.DataFrame(
                {"id": labels["id"], "answer": self.targets + spread * rng.normal(size=N), "uncertainty": spread}
            )
            data = given.write_csv().encode()
            for phase in BOARD.phases:
                upload = ledger.begin("main", phase, ours, team=ours.team, file=("mine.csv", len(data)))
                self.server.uploads.append(upload.id, 0, data)
                self.numbers[phase.name].append(self.server.uploads.complete(upload.id))
        while self.worker.step():
            pass
        self._enter()

    def copied(self, folder: Path) -> Hosted:
        """The same again, in another folder: quicker than to score the files once more."""
        shutil.copytree(self.server.folder.parent, folder, dirs_exist_ok=True)
        found = copy(self)
        found._open(folder, replace(self.clock))
        found._enter()
        return found

    def _open(self, folder: Path, clock: Clock) -> None:
        self.clock, cheap = clock, Passwords(PasswordHasher(time_cost=1, memory_cost=8, parallelism=1))
        limits = Limits(whole=2**20, largest=2**24, passwords=1_000, acts=100_000)
        self.server: Server = opened(folder / "wind", folder / "state", clock=clock, passwords=cheap, limits=limits)
        ledger = self.server.ledger
        self.worker = Worker(folder / "state", folder / "wind", self.server.challenge, ledger, weak=True)

    def _enter(self) -> None:
        """A visitor, and somebody of each role who signs in."""
        self.roles = {"visitor": Visitor(self.server)}
        for role, name in {"team": "ben", "other": "eve", "admin": "host"}.items():
            self.roles[role] = Visitor(self.server)
            assert self.roles[role].post("/sign-in", email=f"{name}@example.org", password=PASSWORD).status_code == 303

    @property
    def state(self) -> Path:
        return self.server.uploads.state

    def conclude(self) -> None:
        self.clock.now = START + 2 * DAY
        assert self.roles["admin"].post("/desk/phases/main/evaluation/conclude").status_code == 303
        self.until(lambda: self.server.results.concluding("main", "evaluation").state)

    def until(self, state) -> None:
        end = time.monotonic() + 120
        while state() == "running" and time.monotonic() < end:
            time.sleep(0.01)
        assert state() == "done"

    def compare(self, phase: str) -> None:
        visitor = self.roles["other"]
        entries = [f"entry={number}" for number in self.numbers[phase]]
        path = f"/api/v1/boards/main/{phase}/compare?{'&'.join(entries)}"
        assert visitor.client.post(path, headers={"X-CSRF-Token": visitor.csrf()}).status_code < 300
        self.until(lambda: visitor.client.get(path).json()["state"])

    def addresses(self) -> Iterator[str]:
        """All addresses of reports, and pages and fields beside them."""
        for phase, numbers in self.numbers.items():
            query = "&".join(f"entry={number}" for number in numbers)
            yield from (f"/boards/main/{page}?phase={phase}&{query}" for page in ("compare", "compared"))
            yield from (f"/api/v1/boards/main/{phase}/{page}?{query}" for page in ("compare", "compare/report"))
            yield from (f"/boards/main/results?phase={phase}", f"/boards/main?phase={phase}")
            yield from (f"/api/v1/boards/main/{phase}", f"/api/v1/boards/main/{phase}/results")
            for number in numbers:
                yield from (f"/submissions/{number}", f"/submissions/{number}/report")
                yield from (f"/api/v1/submissions/{number}", f"/api/v1/submissions/{number}/report")

    def told(self, text: str) -> set[str]:
        """Sealed values of single records in a text, and answers to them: as whole numbers and longer, and names."""
        return {*NUMBER.findall(text), *re.findall(r"kestrel-\d+", text)}
