"""What takes longer than a page: comparisons and final rankings, in a process of their own, one at a time.

The process of the pages reads no label: a child does, in which the scorer's own functions run.
"""

from __future__ import annotations

import multiprocessing
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from shiftbench.challenge import conclusion, reports
from shiftbench.challenge.definition import Board, Phase
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import Refused, User
from shiftbench.errors import ShiftbenchError
from shiftbench.report.content import Report
from shiftbench.scores.score import Score

PAGE = "report.html"
MOST_COMPARED = 6
MOST_WAITING = 8


class Progress(NamedTuple):
    """How far a job is, and why it failed."""

    state: Literal["none", "running", "done", "failed"]
    problems: tuple[str, ...] = ()


class Results:
    """Reports of submissions, and what is made of several of them."""

    def __init__(self, folder: Path, state: Path, ledger: Ledger) -> None:
        self._folder, self._state, self._ledger = folder, state, ledger
        self._lock, self._jobs = threading.Lock(), dict[str, Future[None]]()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="results")

    def report(self, submission: int, *, released: bool) -> Path | None:
        """The report that a worker wrote for the newest score of a submission.

        released: whether its labels are public, so that it may tell of single records.
        """
        for score in self._ledger.scores(submission):
            for records in (True, False) if released else (False,):
                path = self._scored(submission, score.id, records=records) / PAGE
                if path.is_file():
                    return path
        return None

    def sides(self, submission: int, metric: str) -> Mapping[str, Score]:
        """A score on the "in" domain and on the "shifted" records, as the report of the newest score has them.

        Empty until that report is written: an older one may be of other labels.
        """
        for score in self._ledger.scores(submission)[:1]:
            for records in (False, True):
                path = self._scored(submission, score.id, records=records) / "report.json"
                if path.is_file():
                    return _sides(path, metric)
        return {}

    def _scored(self, submission: int, score: int, *, records: bool) -> Path:
        return self._state / "scored" / str(submission) / reports.name(str(score), records=records)

    def comparison(self, numbers: Sequence[int], *, released: bool) -> Path:
        """Where the report of several submissions lies, once it is made; it names the scores that it was made of.

        released: whether their labels are public, so that it may tell of single records.
        """
        newest = [self._ledger.scores(number)[0].id for number in sorted(numbers)]
        name = "-".join(f"{number}.{score}" for number, score in zip(sorted(numbers), newest, strict=True))
        return self._state / "compared" / reports.name(name, records=released) / PAGE

    def compare(self, board: Board, phase: Phase, names: Mapping[int, str]) -> None:
        """Begin a report of several submissions, by number and name, unless it is there or begun."""
        released = self._ledger.released(board.slug, phase.name) is not None
        page = self.comparison([*names], released=released)
        if page.is_file():
            return
        self._require_current(board, phase, [*names])
        parsed = {name: self._parsed(number) for number, name in names.items()}

        def make() -> None:
            _child(_compared, self._folder, board, phase.name, parsed, page.parent, released)

        self._begin(page.parent.name, make)

    def _require_current(self, board: Board, phase: Phase, numbers: Sequence[int]) -> None:
        """Refuse scores of earlier labels: the report would be of those that are sealed now."""
        labels = conclusion.sealed(self._folder, board, phase)
        if labels is not None and any(self._ledger.scores(number)[0].labels != labels for number in numbers):
            raise Refused(
                "expected submissions that have been scored with the labels that are sealed now, found scores of "
                "earlier labels. Compare them when the organisers have scored all again."
            )

    def comparing(self, numbers: Sequence[int], *, released: bool) -> Progress:
        """How far a comparison is."""
        page = self.comparison(numbers, released=released)
        return Progress("done") if page.is_file() else self._progress(page.parent.name)

    def conclude(self, board: Board, phase: Phase, by: User) -> None:
        """Begin the final ranking of a phase that has ended; it is stored when it is made."""
        conclusion.entries(self._folder, self._ledger, board, phase)  # at once, whatever is to be refused

        def make() -> None:
            entries = conclusion.entries(self._folder, self._ledger, board, phase)
            made = _child(conclusion.ranking, self._folder, self._state, board, phase, entries)
            self._ledger.conclude(board.slug, phase, made, by, better=conclusion.better(board), entries=entries)

        self._begin(f"{board.slug}/{phase.name}", make)

    def concluding(self, board: str, phase: str) -> Progress:
        """How far a final ranking is."""
        return self._progress(f"{board}/{phase}")

    def _parsed(self, submission: int) -> Path:
        return self._state / "parsed" / str(submission)

    def _begin(self, key: str, make: Callable[[], None]) -> None:
        with self._lock:
            if key in self._jobs and not self._jobs[key].done():
                return
            if sum(not job.done() for job in self._jobs.values()) >= MOST_WAITING:
                raise Refused("expected less work waiting for the server, found a lot. Try again later.", status=503)
            self._jobs[key] = self._thread.submit(make)

    def _progress(self, key: str) -> Progress:
        job = self._jobs.get(key)
        if job is None:
            return Progress("none")
        if not job.done():
            return Progress("running")
        error = job.exception()
        if error is None:
            return Progress("done")
        if isinstance(error, ShiftbenchError):
            return Progress("failed", tuple(error.problems))
        return Progress("failed", ("a fault of the server: its log tells more",))


@lru_cache(512)
def _sides(path: Path, metric: str) -> Mapping[str, Score]:
    report = Report.load(path)
    own = {(each.name, measure) for each in report.systems[:1] for measure in ("", each.measure)}
    scores = [each for each in report.scores if each.metric == metric and (each.system, each.measure) in own]
    return {each.subset: each for each in scores if each.subset in ("in", "shifted")}


def _child(call: Callable[..., Any], *arguments: Any) -> Any:
    """What a function returns in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(call, *arguments).result()


def _compared(
    folder: Path, board: Board, phase: str, parsed: Mapping[str, Path], out: Path, released: bool
) -> None:  # fmt: skip
    from shiftbench.challenge import scoring

    aside = out.with_name(f"{out.name}.part")
    shutil.rmtree(aside, ignore_errors=True)
    scoring.report(folder, board, phase, parsed, aside, records=released)
    aside.replace(out)
