"""What a team gains that probes hidden labels through the server: 1,000 crafted submissions against the Ladder.

Each submission goes over HTTP into a server's ledger and is scored by a worker; the attack reads what the API tells its
team, and nothing else. The labels have nothing to do with the inputs, so whatever is gained on them is lost on fresh
data. Each attack meets a hidden phase, which answers through the Ladder, and a phase beside it that shows every score.

- `boosting` (Blum & Hardt 2015, Section 4): random answers; the majority of those that are told to be above chance.
- `climbing`: changes a few answers and keeps those changes that are told to be better; of classes and of numbers.

The 1,000 are answered by the server's rule, computed from the labels (`Rule`); that a server tells the same is
measured by 100 submissions over HTTP, a ledger and a worker with its sandbox, and by all of one attack in
`challenge_probing_served`. `python -m benchmarks.challenge_probing 1000` sends all to a server, whose worker then reads
files in its own process.
"""

from __future__ import annotations

import hashlib
import http.client
import itertools
import json
import math
import shutil
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import uvicorn
from rich.console import Console
from rich.table import Table

from benchmarks.ladder import bound
from shiftbench.challenge import confinement, definition, forms, manifest, sandbox
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.scoring import ROUNDING
from shiftbench.challenge.web.application import application
from shiftbench.challenge.web.security import Limits
from shiftbench.challenge.web.server import Server, opened
from shiftbench.challenge.worker import Worker
from shiftbench.scores.ladder import climb, paired_standard_error

RECORDS, FRESH, SUBMISSIONS, SEEDS = 2_000, 20_000, 1_000, 5
SERVED = 100  # of the submissions, through a server
CHANGED = 8  # answers that a step of `climbing` changes, on average
STEP = 0.25  # by how much, where they are numbers
OPEN, HIDDEN = Phase("open", 0, per_day=10**6), Phase("hidden", 0, per_day=10**6, hidden=True)
CLASSES, NUMBERS = (Board(name, name, "mean_error", (OPEN, HIDDEN)) for name in ("classes", "numbers"))
Answers = npt.NDArray[np.float64]
Told = Callable[[Answers], float]
Attack = Callable[[Told, np.random.Generator, int, int], Answers]


@dataclass(frozen=True)
class Gain:
    """By how much the answers of a team are better than a guess, on the hidden labels and on fresh data.

    changes: how often another number was told.
    """

    hidden: float
    fresh: float
    changes: int


class World:
    """A challenge, its server on a port of this machine, a team's connection, a worker; `inside`: without sandbox."""

    def __init__(self, folder: Path, records: int = RECORDS, *, seed: int = 0, inside: bool = True) -> None:
        rng = np.random.default_rng(seed)
        self.records, self.inside = records, inside
        self.targets = {board.slug: targets_of(board, seed, records) for board in (CLASSES, NUMBERS)}
        self.uncertainty = rng.uniform(1, 2, records)
        self.ids = [f"r{n}" for n in range(records)]
        challenge, state = folder / "challenge", folder / "state"
        for board in (CLASSES, NUMBERS):
            target = self._column(board, self.targets[board.slug][:records])
            labels = pl.DataFrame({"id": self.ids, "target": target, "shifted": np.arange(records) % 2 == 1})
            for phase in board.phases:
                place = challenge / manifest.SEALED / board.slug / phase.name
                place.mkdir(parents=True)
                labels.write_parquet(place / "truth.parquet")
        told = Challenge("probed", "Probed", "A probed one.", (CLASSES, NUMBERS))
        definition.write(challenge / definition.FILE, told)
        manifest.seal(challenge)
        self.server: Server = opened(challenge, state, limits=Limits(acts=10**9))
        self.worker = Worker(state, challenge, definition.read(challenge / definition.FILE), self.server.ledger)
        self.connection: http.client.HTTPConnection
        user = self.server.ledger.sign_up("anna@example.org", "no password")
        self.server.ledger.found("Anna's", user.id)
        self.token = self.server.ledger.issue("token", user.id)

    @contextmanager
    def serving(self) -> Iterator[World]:
        """Serve while the block runs."""
        listening = socket.create_server(("127.0.0.1", 0))
        serving = uvicorn.Server(
            uvicorn.Config(application(self.server), access_log=False, log_level="error", timeout_keep_alive=600)
        )
        thread = threading.Thread(target=serving.run, args=([listening],))
        thread.start()
        self.connection = http.client.HTTPConnection(*listening.getsockname(), timeout=600)
        parse = sandbox.parse
        if self.inside:
            sandbox.parse = _parse
        try:
            yield self
        finally:
            sandbox.parse = parse
            self.connection.close()
            serving.should_exit = True
            thread.join()
            self.server.ledger.close()

    def told(self, board: Board, phase: Phase, answers: Answers) -> float:
        """Hand answers in [N]; the number that the API tells the team once they are scored."""
        table = pl.DataFrame(
            {"id": self.ids, "answer": self._column(board, answers[: self.records]), "uncertainty": self.uncertainty}
        )
        content = table.write_csv().encode()
        wanted = {"board": board.slug, "phase": phase.name, "name": "mine.csv", "size": len(content)}
        key = self._ask("POST", "/uploads", wanted)["id"]
        self._ask("PATCH", f"/uploads/{key}", content)
        number = self._ask("POST", f"/uploads/{key}/complete", {"sha256": hashlib.sha256(content).hexdigest()})["id"]
        self.worker.step()
        found = self._ask("GET", f"/submissions/{number}")
        assert found["state"] == "scored", found
        return float(found["score"])

    def _ask(self, method: str, path: str, body: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"}
        if isinstance(body, bytes):
            headers |= {"Upload-Offset": "0", "Content-Type": "application/octet-stream"}
        else:
            headers |= {"Content-Type": "application/json"}
            body = None if body is None else json.dumps(body)
        self.connection.request(method, f"/api/v1{path}", body, headers)
        answer = self.connection.getresponse()
        content = answer.read()
        assert answer.status < 300, content
        return json.loads(content) if content else None

    def _column(self, board: Board, values: Answers) -> pl.Series:
        if board is NUMBERS:
            return pl.Series(values)
        return pl.Series(["yes" if each else "no" for each in values.tolist()])


def _parse(board: Board, file: Path, folder: Path, *, name: str = "", **_: object) -> None:
    """As `sandbox.parse`, by the same reader in this process."""
    shutil.rmtree(folder, ignore_errors=True)
    named = folder / "in" / name
    named.parent.mkdir(parents=True)
    named.symlink_to(file.resolve())
    (folder / confinement.ARRAYS).mkdir()
    for each, values in forms.intake(board.track).parse(named).items():
        np.save(folder / confinement.ARRAYS / f"{each}.npy", np.ascontiguousarray(values))


def boosting(told: Told, rng: np.random.Generator, size: int, submissions: int) -> Answers:
    """Submit random classes; then the majority of those that were told to be better than chance."""
    votes, before = np.zeros(size), math.nan
    for _ in range(submissions - 1):
        answers = np.round(rng.random(size))
        now = told(answers)
        if now < 0.5 and now != before:  # an equal number of the Ladder tells nothing
            votes += 2 * answers - 1
        before = now
    last = (votes > 0).astype(float)
    told(last)
    return last


def climbing(told: Told, rng: np.random.Generator, size: int, submissions: int, *, classes: bool) -> Answers:
    """Change a few answers at a time, and keep what is told to be better."""
    kept = np.round(rng.random(size)) if classes else np.full(size, 0.5)
    best = told(kept)
    for _ in range(submissions - 1):
        steps = (1 - 2 * kept) if classes else rng.choice((-STEP, STEP), size)
        answers = np.clip(np.where(rng.random(size) < CHANGED / RECORDS, kept + steps, kept), 0, 1)
        now = told(answers)
        if now < best:
            best, kept = now, answers
    return kept


ATTACKS: dict[str, tuple[Board, Attack]] = {
    "boosting, classes": (CLASSES, boosting),
    "climbing, classes": (CLASSES, partial(climbing, classes=True)),
    "climbing, numbers": (NUMBERS, partial(climbing, classes=False)),
}
CHANCE = {CLASSES.slug: 0.5, NUMBERS.slug: 1 / 12}  # mean error of a guess, and of the mean


class Rule:
    """What the server tells by its rule, computed from the labels: the standard error by formula, not by replicates."""

    def __init__(self, labels: Answers, phase: Phase) -> None:
        self.labels, self.phase = labels, phase
        self.shown, self.best = math.nan, np.zeros(0)

    def told(self, answers: Answers) -> float:
        """The number for answers [N or more]."""
        errors = np.square(answers[: len(self.labels)] - self.labels)
        if not self.phase.hidden:
            return float(errors.mean())
        alone = paired_standard_error(errors, np.zeros_like(errors))
        noise = alone if math.isnan(self.shown) else paired_standard_error(errors, self.best)
        noise = max(noise, alone / math.sqrt(len(errors)))
        if not math.isnan(self.shown):
            noise = max(noise, abs(self.shown - float(self.best.mean())) * (1 + ROUNDING))
        rung = climb(self.shown, float(errors.mean()), noise)
        if rung.climbed:
            self.shown, self.best = rung.shown, errors
        return rung.shown

    def follow(self, answers: Answers, told: float) -> bool:
        """Whether the server told what this does; goes on from what the server told."""
        shown, best = self.shown, self.best
        alike = math.isclose(self.told(answers), told, rel_tol=1e-9)
        if not alike and self.phase.hidden:
            self.shown, self.best = shown, best
            if told != shown:
                self.shown, self.best = told, np.square(answers[: len(self.labels)] - self.labels)
        return alike


def gain(
    targets: Answers, attack: str, told: Told, *, submissions: int = SUBMISSIONS, records: int = RECORDS, seed: int = 0
) -> Gain:
    """What an attack gains that is told `told` of its answers [records + FRESH]; targets [records + FRESH]."""
    board, probe = ATTACKS[attack]
    numbers: list[float] = []

    def noted(answers: Answers) -> float:
        numbers.append(told(answers))
        return numbers[-1]

    last = probe(noted, np.random.default_rng(seed + 1), len(targets), submissions)
    errors, chance = np.square(last - targets), CHANCE[board.slug]
    changes = sum(one != other for one, other in itertools.pairwise(numbers))
    return Gain(chance - float(errors[:records].mean()), chance - float(errors[records:].mean()), changes)


def targets_of(board: Board, seed: int, records: int = RECORDS) -> Answers:
    """Labels [records + FRESH] that have nothing to do with anything."""
    rng = np.random.default_rng(seed)
    return np.round(rng.random(records + FRESH)) if board is CLASSES else rng.random(records + FRESH)


@cache
def by_rule(submissions: int = SUBMISSIONS, seeds: int = SEEDS) -> dict[tuple[str, str], Gain]:
    """The mean gain of each attack (name) on each phase (name), over seeds."""
    found = {}
    for (attack, (board, _)), phase in itertools.product(ATTACKS.items(), (HIDDEN, OPEN)):
        each = []
        for seed in range(seeds):
            targets = targets_of(board, seed)
            each.append(gain(targets, attack, Rule(targets[:RECORDS], phase).told, submissions=submissions, seed=seed))
        mean = [float(np.mean([getattr(one, name) for one in each])) for name in ("hidden", "fresh", "changes")]
        found[attack, phase.name] = Gain(mean[0], mean[1], round(mean[2]))
    return found


def served(
    attack: str, phase: Phase, submissions: int, *, inside: bool, records: int = RECORDS,
    tell: Callable[[int, float], object] = lambda _count, _number: None,
) -> tuple[Gain, int]:  # fmt: skip
    """The gain of an attack through the server, and how many submissions it told otherwise than the rule says.

    tell: called after each submission with their count and the number that the team was told.
    """
    board, _ = ATTACKS[attack]
    count = otherwise = 0
    with tempfile.TemporaryDirectory() as folder, World(Path(folder), records, inside=inside).serving() as world:
        targets = world.targets[board.slug]
        rule = Rule(targets[:records], phase)

        def told(answers: Answers) -> float:
            nonlocal count, otherwise
            number = world.told(board, phase, answers)
            count, otherwise = count + 1, otherwise + (not rule.follow(answers, number))
            tell(count, number)
            return number

        return gain(targets, attack, told, submissions=submissions, records=records), otherwise


def ratios() -> list[tuple[str, float, float | None]]:
    """Gains on hidden labels over the Ladder's bound, with and without it, and on fresh data; then a server."""
    found, most = by_rule(), bound(RECORDS, SUBMISSIONS)
    what = f"{SUBMISSIONS:,} crafted submissions, {RECORDS:,} labels"
    rows: list[tuple[str, float, float | None]] = [(f"{what}: the Ladder's bound", most, None)]
    for attack in ATTACKS:
        ours, other = found[attack, HIDDEN.name], found[attack, OPEN.name]
        rows += [
            (f"{what}, {attack}: gain under the Ladder / its bound", ours.hidden / most, 1.0),
            (f"{what}, {attack}: gain under the Ladder / on an open board", ours.hidden / other.hidden, 1.0),
            (f"{what}, {attack}: gain on fresh data, Ladder", ours.fresh, None),
            (f"{what}, {attack}: gain on fresh data, open board", other.fresh, None),
        ]
    for phase in (HIDDEN, OPEN):
        _, otherwise = served("climbing, classes", phase, SERVED, inside=False)
        rows.append(
            (f"{SERVED} submissions over HTTP to a worker, {phase.name}: told otherwise", otherwise, 0.05 * SERVED)
        )
    return rows


def main(submissions: int) -> None:
    """Print the gains as a table; then, for a number of submissions, those through the server."""
    console = Console()
    title = f"{SUBMISSIONS:,} submissions, {RECORDS:,} labels, {SEEDS} seeds; bound {bound(RECORDS, SUBMISSIONS):.3f}"
    table = Table("attack", "board", "gain on hidden labels", "on fresh data", "numbers told", title=title)
    for (attack, phase), each in by_rule().items():
        table.add_row(attack, phase, f"{each.hidden:.4f}", f"{each.fresh:+.4f}", str(each.changes))
    console.print(table)
    for attack, phase in itertools.product(ATTACKS, (HIDDEN, OPEN)) if submissions else ():
        each, otherwise = served(attack, phase, submissions, inside=True)
        what = f"{submissions:,} through the server, {attack}, {phase.name}"
        told = f"{each.changes} numbers, {otherwise} told otherwise than by the rule"
        console.print(f"{what}: hidden {each.hidden:.4f}, fresh {each.fresh:+.4f}, {told}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
