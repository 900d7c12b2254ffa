"""What a team gains that probes hidden labels with crafted submissions: an open board, and the Ladder.

The labels are coin flips, so that every submission has an error of 0.5 on fresh data and any gain is fitted noise. The
attack is the one of Blum & Hardt 2015, Section 4: submit random answers, keep those that the board shows to be better
than 0.5, submit their majority. `python -m benchmarks.ladder` prints the table.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table

from shiftbench.scores.ladder import START, Rung, climb, paired_standard_error

RECORDS, SUBMISSIONS, SEEDS = 4_000, 1_000, 5
CHANCE = 0.5


class OpenBoard:
    """Shows the score of every submission."""

    def __init__(self, labels: npt.NDArray[np.bool_]) -> None:
        self.labels, self.best = labels, math.inf

    def submit(self, answers: npt.NDArray[np.bool_]) -> float:
        """The error of the answers [N]."""
        score = float(np.mean(answers != self.labels))
        self.best = min(self.best, score)
        return score


class LadderBoard:
    """Shows what the Ladder lets through."""

    def __init__(self, labels: npt.NDArray[np.bool_]) -> None:
        self.labels, self.rung = labels, START
        self.errors = np.zeros(len(labels))  # of the team's best submission

    @property
    def best(self) -> float:
        """The number that the board shows."""
        return self.rung.shown

    def submit(self, answers: npt.NDArray[np.bool_]) -> float:
        """The number that the board shows, infinity if the answers [N] changed nothing."""
        errors = (answers != self.labels).astype(np.float64)
        rung: Rung = climb(self.rung.shown, float(errors.mean()), paired_standard_error(errors, self.errors))
        if rung.climbed:
            self.rung, self.errors = rung, errors
        return self.rung.shown if rung.climbed else math.inf


def gain(board: OpenBoard | LadderBoard, rng: np.random.Generator, submissions: int) -> float:
    """How much better than chance the board shows the team to be after the attack; on fresh data the gain is 0."""
    votes = np.zeros(len(board.labels))
    for _ in range(submissions - 1):
        answers = rng.random(len(board.labels)) < CHANCE
        if board.submit(answers) < CHANCE:
            votes += np.where(answers, 1.0, -1.0)
    board.submit(votes > 0)
    return CHANCE - board.best


def bound(records: int, submissions: int) -> float:
    """The order of the Ladder's error (Blum & Hardt 2015, Theorem 3.2): (log(K N) / N)^(1/3), its constant set to 1."""
    return float((math.log(submissions * records) / records) ** (1 / 3))


def gains(submissions: int = SUBMISSIONS, records: int = RECORDS) -> dict[str, float]:
    """Mean gain of the attack on either board, over seeds."""
    found = {}
    for name, kind in (("open board", OpenBoard), ("ladder", LadderBoard)):
        each = []
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            each.append(gain(kind(rng.random(records) < CHANCE), rng, submissions))
        found[name] = float(np.mean(each))
    return found


def ratios() -> list[tuple[str, float, float | None]]:
    """Gain on the Ladder over its bound, and over that on an open board."""
    found = gains()
    shown = "shown gain of 1,000 crafted submissions under the Ladder"
    return [
        (f"{shown} / its bound", found["ladder"] / bound(RECORDS, SUBMISSIONS), 1.0),
        (f"{shown} / on an open board", found["ladder"] / found["open board"], 0.5),
    ]


def main() -> None:
    """The gain shown by either board, by number of submissions."""
    table = Table(
        "submissions", "open board", "ladder", "bound", title=f"Shown gain, {RECORDS:,} records; fresh data: 0"
    )
    for submissions in (1, 10, 100, SUBMISSIONS):
        found = gains(submissions)
        table.add_row(
            str(submissions), *(f"{value:.4f}" for value in found.values()), f"{bound(RECORDS, submissions):.3f}"
        )
    Console().print(table)


if __name__ == "__main__":
    main()
