"""Scores what waits in a ledger: claim → sandbox → score → finish; killed at any moment it loses and doubles nothing.

`python -m shiftbench.challenge.worker STATE CHALLENGE [URL]`. What was claimed by a worker that died goes back into the
queue when its lease ends. Any number may run, on any machines that see the folders and the database. Faults of the
server lie in `faults/` of its state, for the organiser alone.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from shiftbench.challenge import conclusion, definition, forms, manifest, reports, sandbox, scoring
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.sandbox import Fault, Limits
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import HOUR, LEASE, SECOND, Away, Full, Newest, NewScore, Submission
from shiftbench.errors import SettingsError, ShiftbenchError

DATABASE = "server.sqlite"
BEATS_S = LEASE / SECOND / 8  # seconds between prolongations of a lease
RESTS_S = 0.5  # seconds until an empty queue is looked at again
PATIENCE_S = LEASE / SECOND  # for a database that is away
FAULTS = "faults"  # in the state
WEAK = "SHIFTBENCH_WEAK_SANDBOX"  # set to 1: work even where labels could be read by a hostile file's reader
OURS = "a fault of the server: it costs no quota"
PAGE = 1_000  # submissions that are looked at together
MOST_FORGIVEN = 3  # faults of ours in an hour that files of a team bring about
COUNTED = (
    f"a fault of the server that this file brings about, after {MOST_FORGIVEN} of this team in an hour: it counts as a "
    "failure of the hour, and costs no submission of the day. Tell the organisers, who can queue it again."
)
T = TypeVar("T")


class Lost(Exception):
    """The lease of a submission is gone."""


@dataclass
class Worker:
    """One worker of a server: state and folder of its challenge."""

    state: Path
    folder: Path
    challenge: Challenge
    ledger: Ledger
    weak: bool = False
    limits: Limits = field(default_factory=Limits)
    name: str = field(default_factory=lambda: f"{socket.gethostname()}-{os.getpid()}-{secrets.token_hex(3)}")

    def step(self) -> bool:
        """Score the next submission; false if none waits."""
        claimed = self._patiently(lambda: self.ledger.claim(self.name))
        if claimed is None:
            return False
        try:
            with self._beating(claimed.id) as state:
                self._score(claimed, state)
        except Lost:
            pass  # somebody else goes on
        except sandbox.Refused as error:
            self._fail(claimed, "submission", error.problems)
        except Exception as error:
            self._note_fault(claimed.id)
            fault, problem = self._blamed(claimed, error)
            self._fail(claimed, fault, [problem])
        finally:
            shutil.rmtree(self._aside(claimed.id), ignore_errors=True)
        return True

    def _score(self, claimed: Submission, state: Callable[[str], None]) -> None:
        board, phase = self._place(claimed)
        file, aside = self.state / "files" / claimed.sha256[:2] / claimed.sha256, self._aside(claimed.id)
        if not file.is_file():
            raise Fault(f"{file}: expected the file of submission {claimed.id}, found none")
        if misnamed := forms.of(board).misnamed(claimed.name):
            raise sandbox.Refused(*misnamed)
        records = manifest.records_file(self.folder, board.slug, phase.name)
        sandbox.parse(
            board, file, aside, name=claimed.name, records=records, limits=self.limits, weak=self.weak
        )  # fmt: skip
        state("scoring")
        labels = ""
        while labels != (labels := scoring.labels(self.folder, board, phase.name)):  # corrected meanwhile: once more
            best, shown = self._best(claimed, labels) if phase.hidden else (None, None)
            found = scoring.evaluate(self.folder, board, phase, aside, best, shown)
        state("scoring")  # only who holds the lease replaces what was parsed before
        self._keep(claimed.id)
        score = NewScore(
            labels, scoring.scorer(), found.value, found.low, found.high, found.noise, found.notes,
            better=conclusion.better(board), manifest=manifest.hash_of(self.folder),
        )  # fmt: skip
        if not self._patiently(lambda: self.ledger.finish(claimed.id, self.name, score)):
            raise Lost

    def _place(self, claimed: Submission) -> tuple[Board, Phase]:
        try:
            board = self.challenge.board(claimed.board)
            return board, board.phase(claimed.phase)
        except ShiftbenchError as error:
            raise Fault(*error.problems) from None

    def _best(self, claimed: Submission, labels: str) -> tuple[Path | None, float | None]:
        """The arrays of the team's best submission, which the Ladder compares with, and what was shown of it."""
        before = self.ledger.ladder(claimed.board, claimed.phase, claimed.team, labels)
        if before is None or before.best in (None, claimed.id):
            return None, None
        path = self._parsed(int(before.best or 0))
        if not path.is_dir():
            raise Fault(f"{path}: expected the arrays of the team's best submission, found none")
        return path, before.shown

    def _parsed(self, number: int) -> Path:
        return self.state / "parsed" / str(number)

    def _aside(self, number: int) -> Path:
        return self.state / "parsed" / f"{number}.{self.name}.part"

    def _keep(self, number: int) -> None:
        goal = self._parsed(number)
        shutil.rmtree(goal, ignore_errors=True)
        self._aside(number).replace(goal)

    @contextmanager
    def _beating(self, number: int) -> Iterator[Callable[[str], None]]:
        """Keep the lease while the block runs; gives what tells a new state, which raises Lost without the lease."""
        over, current = threading.Event(), ["validating"]

        def beat() -> None:
            while not over.wait(BEATS_S):
                try:
                    if not self.ledger.heartbeat(number, self.name, current[0]):
                        return
                except ShiftbenchError:
                    continue  # the database is away; a lease outlasts several beats

        def state(name: str) -> None:
            current[0] = name
            if not self._patiently(lambda: self.ledger.heartbeat(number, self.name, name)):
                raise Lost

        thread = threading.Thread(target=beat, name=f"lease of {number}", daemon=True)
        thread.start()
        try:
            yield state
        finally:
            over.set()
            thread.join()

    def _fail(self, claimed: Submission, fault: str, problems: Sequence[str]) -> None:
        self._patiently(lambda: self.ledger.fail(claimed.id, self.name, fault, problems))

    def _blamed(self, claimed: Submission, error: Exception) -> tuple[str, str]:
        """Whose fault is an error, and what its team is told: ours, but for files that break our code again and again.

        Else a file that does so would be tried for nothing without an end.
        """
        if isinstance(error, (Away, Full)) or (isinstance(error, Fault) and not isinstance(error, sandbox.Unexpected)):
            return "ours", OURS
        before = self.ledger.submissions(
            team=claimed.team, board=claimed.board, phase=claimed.phase, states=("failed",), limit=MOST_FORGIVEN + 100
        )  # fmt: skip
        recent = [each for each in before if each.fault == "ours" and claimed.begun - each.begun < HOUR]
        if len([each for each in recent if each.id != claimed.id]) < MOST_FORGIVEN:
            return "ours", OURS
        return "submission", COUNTED

    def _note_fault(self, number: int) -> None:
        """Keep what went wrong on our side: all of it for the host, where and what kind it was for the desk."""
        with suppress(OSError):
            (self.state / FAULTS).mkdir(mode=0o700, exist_ok=True)
            (self.state / FAULTS / f"{number}.txt").write_text(traceback.format_exc(), encoding="utf-8")
            (self.state / FAULTS / f"{number}.desk.txt").write_text(_outline(sys.exc_info()[1]), encoding="utf-8")

    def _patiently(self, call: Callable[[], T]) -> T:
        """Call again while the database is away or its disk full, as long as a lease lasts."""
        end, wait = time.monotonic() + PATIENCE_S, 0.1
        while True:
            try:
                return call()
            except (Away, Full):
                if time.monotonic() > end:
                    raise
                time.sleep(wait)
                wait = min(2 * wait, 5.0)

    # Reports of open phases, when nothing waits.

    def reports(self, most: int = 200) -> int:
        """Write the reports of new scores of open phases that have none yet; the number of those written.

        They tell nothing of single records until the labels are released. Scores of labels that were corrected since
        get none: it would be of the corrected ones.
        """
        done, current, released = 0, dict[tuple[str, str], str](), dict[tuple[str, str], bool]()
        for found, score, labels in self._scored():
            if done >= most:
                break
            phase = (found.board, found.phase)
            if phase not in current:
                current[phase], released[phase] = self._labels(found), self.ledger.released(*phase) is not None
            place = self.state / "scored" / str(found.id) / reports.name(str(score), records=released[phase])
            if labels == current[phase] and not place.exists() and self._parsed(found.id).is_dir():
                done += self._report(found, place, labels, records=released[phase])
        return done

    def _scored(self) -> Iterator[Newest]:
        """All submissions to open phases that have a score, the newest first."""
        before = None
        while page := self.ledger.newest_scores(before=before, limit=PAGE):
            yield from page
            before = page[-1].submission.id

    def _labels(self, found: Submission) -> str:
        """The version of the labels that lie in the folder now; "" unless they are those that were sealed."""
        try:
            return scoring.labels(self.folder, self._place(found)[0], found.phase)
        except ShiftbenchError:
            return ""

    def _report(self, found: Submission, place: Path, labels: str, *, records: bool) -> bool:
        aside = place.with_name(f"{place.name}.{self.name}.part")
        aside.mkdir(parents=True, exist_ok=True)
        try:
            board, phase = self._place(found)
            parsed = {found.team_name: self._parsed(found.id)}
            scoring.report(self.folder, board, phase, parsed, aside, records=records)
            if self._labels(found) != labels:  # corrected meanwhile
                shutil.rmtree(aside, ignore_errors=True)
                return False
        except Exception:  # an empty folder tells that it was tried
            self._note_fault(found.id)
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
        try:
            aside.replace(place)
        except OSError:  # another worker was quicker
            shutil.rmtree(aside, ignore_errors=True)
            return False
        return True


def _outline(error: BaseException | None) -> str:
    """Kinds and places of an error and of those behind it. What they say may be of sealed labels, our own does not."""
    lines = list[str]()
    while error is not None:
        behind = error.__cause__ or error.__context__
        own = isinstance(error, Fault) and behind is None
        lines.append(f"{type(error).__name__}{f': {error}' if own else ''}")
        for frame in reversed(traceback.extract_tb(error.__traceback__)):
            lines.append(f"  {'/'.join(Path(frame.filename).parts[-3:])}, line {frame.lineno}, in {frame.name}")
        error = behind
    return "\n".join(lines) + "\n"


def clock() -> int:
    """Microseconds since 1970 UTC."""
    return time.time_ns() // 1_000


def run(
    state: Path, folder: Path, url: str = "", *, once: bool = False, weak: bool = False, limits: Limits | None = None
) -> None:
    """Score what waits, for ever; `once`: until nothing waits.

    Args:
        state: folder of the server. folder: of the challenge.
        url: of the database, by default the SQLite file in `state`.
        once: whether to end when nothing waits.
        weak: whether to work where a hostile file's reader could read labels; also by the environment, see `WEAK`.
        limits: of the reader.

    Raises:
        SettingsError: for an invalid challenge, and where labels could be read.
    """
    challenge = definition.read(folder / definition.FILE)
    weak = weak or os.environ.get(WEAK) == "1"
    if not weak:
        truths = [
            manifest.truth(folder, board.slug, phase.name) for board in challenge.boards for phase in board.phases
        ]
        sandbox.require(sandbox.layers(_file(truths[0])))
    (state / "parsed").mkdir(mode=0o700, parents=True, exist_ok=True)
    if not weak and sandbox.probe(state.resolve() / "parsed" / "any", ["list"])["probes"]["list"]:
        raise SettingsError(f"{state}: expected a folder outside those of Python, which readers of files see. Move it.")
    (state / "scored").mkdir(mode=0o700, parents=True, exist_ok=True)
    ledger = Ledger(url or state / DATABASE, clock=clock)
    worker = Worker(state, folder, challenge, ledger, weak, limits or Limits())
    fresh = True
    try:
        while True:
            try:
                if worker.step():
                    fresh = True
                    continue
                if fresh:
                    fresh = worker.reports(most=1) > 0  # submissions come first
                    continue
            except (Away, Full):
                pass  # it comes back
            if once:
                return
            time.sleep(RESTS_S)
    finally:
        ledger.close()


def _file(truth: Path) -> Path:
    """A file of the labels, to prove that a hostile reader cannot open it."""
    return truth if truth.is_file() else next(path for path in sorted(truth.rglob("*")) if path.is_file())


if __name__ == "__main__":
    run(*(Path(each) for each in sys.argv[1:3]), *sys.argv[3:4])  # type: ignore[arg-type]
