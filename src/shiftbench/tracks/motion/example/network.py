"""The lanes of a scene while they are made, and where streets meet junctions.

Ranks say who goes first where ways cross: 0 before 1 before 2 before 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from shiftbench.tracks.motion.example.streets import Floats

STRAIGHT, LEFT, RIGHT = 0, 1, -1


@dataclass(frozen=True, eq=False)
class Arm:
    """Where a street meets a junction.

    Attributes:
        mouth: float64 [2], the middle of the street at the stop line.
        out: float64 [2], the unit vector away from the junction.
        half: metres from the middle to the kerb.
        arriving, leaving: numbers of lanes, the innermost first.
        main, line: of the street.
    """

    mouth: Floats
    out: Floats
    half: float
    arriving: list[int]
    leaving: list[int]
    main: bool
    line: int

    @property
    def angle(self) -> float:
        """Where the arm lies, seen from the junction."""
        return float(np.arctan2(self.out[1], self.out[0]))


@dataclass(eq=False)
class Network:
    """The lanes of a scene while they are made; all lists by the lane's number.

    Attributes:
        lines: float64 [P, 2] each.
        limits: m/s.
        after: the lanes that follow.
        side: `STRAIGHT`, `LEFT` or `RIGHT`.
        rank: see the module.
        signal: the number of what lights it, -1 for none; section: the id of its light, 0 for none.
        halts: whether everyone has to stop before it.
        crossings: its crosswalks, each with the distance along the lane at which one waits for people.
        junctions: the numbers of the lanes of each junction.
    """

    lines: list[Floats] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)
    after: list[list[int]] = field(default_factory=list)
    side: list[int] = field(default_factory=list)
    rank: list[int] = field(default_factory=list)
    signal: list[int] = field(default_factory=list)
    section: list[int] = field(default_factory=list)
    halts: list[bool] = field(default_factory=list)
    crossings: list[list[tuple[int, float]]] = field(default_factory=list)
    junctions: list[list[int]] = field(default_factory=list)

    def add(self, line: Floats, limit: float, *, side: int = STRAIGHT, rank: int = 0) -> int:
        """A new lane without light and successors; its number."""
        self.lines.append(line)
        self.limits.append(limit)
        self.side.append(side)
        self.rank.append(rank)
        self.signal.append(-1)
        self.section.append(0)
        self.halts.append(False)
        self.after.append([])
        self.crossings.append([])
        return len(self.lines) - 1

    def join(self, first: int, second: int) -> None:
        """Let one lane follow another."""
        self.after[first].append(second)
