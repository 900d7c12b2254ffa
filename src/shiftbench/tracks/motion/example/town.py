"""A piece of a town: four junctions, the streets between and around them, their lanes, lights and crosswalks.

Everything lies around (0, 0) here; `scenes` moves it to where the town is. Traffic keeps to the right. Ranks say who
goes first where ways cross: 0 before 1 before 2 before 3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import permutations

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.example.conditions import drawn
from shiftbench.tracks.motion.example.habits import ALL_STOP, LIGHTS, PRIORITY, Habits

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

STRAIGHT, LEFT, RIGHT = 0, 1, -1
NODES = ((0, 0), (0, 1), (1, 0), (1, 1))  # row and column of each junction
OPEN = len(NODES)  # in place of a junction at the end of what the scene shows
FIRST_SECTION = 100  # ids of lights and of sections that no other scene shares would tell nothing
STUB = 115.0  # metres of a street that leads out of the scene, at least
SHOULDER = 0.7  # metres beside the outermost lane
MOUTH = 4.6  # metres between stop line and junction: where the crosswalk is
DEEP = 3.0  # metres of a crosswalk, along the street
TURN, LONGEST = 0.06, 40.0  # radians and metres between two points of a lane, at most
SLOW = 8.33  # m/s, the limit in a turn
FINE = np.linspace(0.0, 1.0, 25)[:, None]  # the points of a way through a junction
COARSE = 3  # every so many of them are written down
CLEAR = 2.2  # metres: ways that come closer cannot be used at once


@dataclass(eq=False)
class Lane:
    """A lane while the town is made.

    line: float64 [P, 2]. limit: m/s. side: `STRAIGHT`, `LEFT` or `RIGHT`. rank: see the module. signal: the number of
    what lights it, -1 for none; section: the id of its light, 0 for none. halts: whether everyone has to stop before
    it. after: the lanes that follow. crossings: its crosswalks, each with the distance at which one waits for people.
    """

    line: Floats
    limit: float
    side: int = STRAIGHT
    rank: int = 0
    signal: int = -1
    section: int = 0
    halts: bool = False
    after: list[int] = field(default_factory=list)
    crossings: list[tuple[int, float]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Street:
    """A street between the stop lines of two junctions, `OPEN` for none.

    center, left: float64 [P, 2], its middle in metres, and unit vectors to the left of it. half: metres from the middle
    to the kerb. line: 0 for a row of the grid, 1 for a column.
    """

    ends: tuple[int, int]
    center: Floats
    left: Floats
    half: float
    main: bool
    line: int

    def beside(self, offset: float) -> Floats:
        """The line `offset` metres to the left of its middle: [P, 2]."""
        return self.center + offset * self.left


@dataclass(frozen=True, eq=False)
class Arm:
    """Where a street meets a junction: the middle [2] of its stop line, the unit vector [2] away from the junction.

    arriving, leaving: numbers of lanes, the innermost first.
    """

    mouth: Floats
    out: Floats
    street: Street
    arriving: list[int]
    leaving: list[int]

    @property
    def aside(self) -> Floats:
        """From the middle of the street to its kerb at the left of one who leaves."""
        return self.street.half * np.array([-self.out[1], self.out[0]])


@dataclass(frozen=True, eq=False)
class Crossing:
    """A crosswalk: its middle, half of its length [2] towards one side, the unit vector [2] along the street.

    signal: of the cars, -1 for none; section: the id of their light, 0 for none.
    """

    middle: Floats
    across: Floats
    out: Floats
    signal: int
    section: int


@dataclass(frozen=True, eq=False)
class Town:
    """The static map: lanes, those of streets first; junctions hold the numbers of theirs.

    conflicts: bool [L, L], which lanes cannot be used at once. polygons: paved areas, [P, 2] each. lamps: section id →
    (signal, x, y); there are two signals for a junction, of rows and of columns.
    """

    streets: list[Street]
    lanes: list[Lane]
    street_lanes: int
    junctions: list[list[int]]
    conflicts: Flags
    crossings: list[Crossing]
    polygons: list[Floats]
    lamps: dict[int, tuple[int, float, float]]


def town(habits: Habits, rng: np.random.Generator) -> Town:
    """A new piece of a town."""
    lines = _grid(habits, rng)
    kinds = [drawn(habits.junctions, uniform) for uniform in rng.random(len(NODES)).tolist()]
    streets = _streets(habits, lines, rng.random((2, 2)) < 0.5)
    lanes: list[Lane] = []
    arms: list[list[Arm]] = [[] for _ in (*NODES, OPEN)]
    for street in streets:
        _add_lanes(habits, street, lanes, arms)
    street_lanes = len(lanes)
    crossings: list[Crossing] = []
    lamps: dict[int, tuple[int, float, float]] = {}
    polygons = [np.concatenate([each.beside(-each.half), each.beside(each.half)[::-1]]) for each in streets]
    ways = []
    for node, (met, kind) in enumerate(zip(arms[:OPEN], kinds, strict=True)):
        lit = kind == LIGHTS
        walks = _crosswalks(habits, met, crossings, (node, lit))
        if lit:
            lamps |= {
                _section(node, at): (2 * node + arm.street.line, *arm.mouth.tolist()) for at, arm in enumerate(met)
            }
        ways.append(_join(lanes, met, (node, kind), walks))
        polygons.append(_area(met))
    junctions = [list(each) for each in ways]
    return Town(streets, lanes, street_lanes, junctions, _conflicts(len(lanes), ways), crossings, polygons, lamps)


# --- streets ----------------------------------------------------------------------------------------------------------


def _grid(habits: Habits, rng: np.random.Generator) -> Floats:
    """Four lines, two rows and two columns, of four points each and the angle of the line there: [2, 2, 4, 3]."""
    heading = habits.heading[0] + (habits.heading[1] - habits.heading[0]) * rng.random()
    jitter = habits.uneven * habits.block * (rng.random((4, 4, 2)) - 0.5)
    bends = 2.45 * habits.bend * (rng.random((2, 2, 2, 4)).sum(axis=0) - 1.0)  # a variance of bend²
    outer = 0.5 * habits.block + max(0.9 * habits.block, STUB)
    steps = np.array([-outer, -0.5 * habits.block, 0.5 * habits.block, outer])
    points = np.stack(np.meshgrid(steps, steps), axis=-1) + jitter  # [row, column, xy]
    cos, sin = np.cos(heading), np.sin(heading)
    lines = np.stack([points[1:3], points[:, 1:3].swapaxes(0, 1)]) @ np.array([[cos, sin], [-sin, cos]])
    return np.concatenate([lines, bends[..., None]], axis=-1)


def _streets(habits: Habits, lines: Floats, main: Flags) -> list[Street]:
    """The three streets of each line, cut off where their junctions begin."""
    plans: list[tuple[Floats, tuple[int, int], int, bool]] = []  # curve, ends, line, main
    for line, number in np.ndindex(2, 2):
        ends = [OPEN, *(NODES.index((number, at) if line == 0 else (at, number)) for at in (0, 1)), OPEN]
        for k in range(3):
            center = _curve(lines[line, number, k], lines[line, number, k + 1])
            plans.append((center, (ends[k], ends[k + 1]), line, bool(main[line, number])))
    half = {broad: habits.lanes[not broad] * habits.width + SHOULDER for broad in (True, False)}
    radii = [0.0] * (OPEN + 1)
    for node in range(OPEN):
        met = [
            (center[near] - center[at], half[broad])
            for center, ends, _, broad in plans
            for end, at, near in ((ends[0], 0, 4), (ends[1], -1, -5))
            if end == node
        ]
        radii[node] = _radius(*map(np.array, zip(*met, strict=True)))
    return [
        Street(ends, *_between(center, (radii[ends[0]], radii[ends[1]])), half[broad], broad, line)
        for center, ends, line, broad in plans
    ]


def _curve(first: Floats, second: Floats) -> Floats:
    """A cubic from one point (x, y, angle to the straight line) to another, [25, 2]."""
    chord = second[:2] - first[:2]
    ways = [
        np.array([np.cos(turn) * chord[0] - np.sin(turn) * chord[1], np.sin(turn) * chord[0] + np.cos(turn) * chord[1]])
        for turn in (first[2], second[2])
    ]
    away, back = FINE * (1 - FINE) ** 2, -(FINE**2) * (1 - FINE)
    return np.asarray(first[:2] + (3 * FINE**2 - 2 * FINE**3) * chord + away * ways[0] + back * ways[1])


def _radius(ways: Floats, halves: Floats) -> float:
    """Metres from the middle of a junction to its stop lines, so that neighbouring arms stay apart.

    ways: the directions [A, 2] of the streets; halves: their half widths [A].
    """
    angles = np.arctan2(ways[:, 1], ways[:, 0])
    order = np.argsort(angles)
    gaps = np.diff(angles[order], append=angles[order[0]] + 2 * np.pi)
    wide = np.maximum(halves[order], np.roll(halves[order], -1))
    apart = np.where(gaps < 0.9 * np.pi, wide / np.tan(np.clip(gaps, 0.9, np.pi) / 2), 0.0)
    return float(apart.max()) + 4.0 + MOUTH


def _between(line: Floats, radii: tuple[float, float]) -> tuple[Floats, Floats]:
    """A curve without its first and last metres, with as many points as it needs, and its left-hand side.

    Both are [P, 2]; directions are those of the curve, so that lanes meet what follows them without a bend.
    """
    steps = np.diff(line, axis=0)
    walked = lengths(line)
    angles = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    length = walked[-1] - sum(radii)
    points = 1 + max(int(np.ceil(np.ptp(angles) / TURN)), int(np.ceil(length / LONGEST)))
    at = np.linspace(radii[0], walked[-1] - radii[1], points)
    angle = np.interp(at, (walked[1:] + walked[:-1]) / 2, angles)
    return along(line, walked, at), np.stack([-np.sin(angle), np.cos(angle)], axis=-1)


def lengths(line: Floats) -> Floats:
    """The way from the first point of a line [P, 2] to each: [P]."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])


def along(line: Floats, walked: Floats, at: Floats) -> Floats:
    """The points [S, 2] of a line, whose `lengths` are known, after so many metres [S]."""
    return np.stack([np.interp(at, walked, line[:, axis]) for axis in (0, 1)], axis=-1)


def _add_lanes(habits: Habits, street: Street, lanes: list[Lane], arms: list[list[Arm]]) -> None:
    """The lanes of a street, and the arms that it is of the junctions at its ends."""
    offsets = [(place + 0.5) * habits.width for place in range(habits.lanes[not street.main])]
    first, number, limit = len(lanes), len(offsets), habits.limits[not street.main]
    lanes += [Lane(street.beside(-offset), limit) for offset in offsets]
    lanes += [Lane(street.beside(offset)[::-1], limit) for offset in offsets]
    ahead, back = list(range(first, first + number)), list(range(first + number, first + 2 * number))
    for at, sign, arriving, leaving in ((0, 1, back, ahead), (-1, -1, ahead, back)):
        left = street.left[at]
        out = sign * np.array([left[1], -left[0]])
        arms[street.ends[at]].append(Arm(street.center[at], out, street, arriving, leaving))


# --- junctions --------------------------------------------------------------------------------------------------------


def _section(node: int, arm: int) -> int:
    return FIRST_SECTION + 10 * node + arm


def _crosswalks(habits: Habits, arms: list[Arm], crossings: list[Crossing], at: tuple[int, bool]) -> dict[int, int]:
    """Add the crosswalks of a junction, its number and whether it has lights: arm → number of its crosswalk."""
    node, lit = at
    found = {}
    for place, arm in enumerate(arms):
        # Where the arm stands decides, not one more random number: the same town, whatever its crosswalks.
        if (0.618 * (7 * node + 3 * place) + abs(arm.mouth[0])) % 1.0 < habits.crosswalks:
            found[place] = len(crossings)
            signal, section = (2 * node + arm.street.line, _section(node, place)) if lit else (-1, 0)
            crossings.append(Crossing(arm.mouth - (0.6 + DEEP / 2) * arm.out, arm.aside, arm.out, signal, section))
    return found


def _join(lanes: list[Lane], arms: list[Arm], at: tuple[int, str], walks: dict[int, int]) -> dict[int, Floats]:
    """Join the lanes of all arms of a junction, its number and kind: number of a new lane → its way [25, 2]."""
    node, kind = at
    found = _connections(arms)
    start = np.array([lanes[first].line[-1] for _, _, first, _, _ in found])
    end = np.array([lanes[second].line[0] for _, _, _, second, _ in found])
    into, out = np.array([-arms[a].out for a, *_ in found]), np.array([arms[b].out for _, b, *_ in found])
    ways = {}
    for way, (a, b, first, second, side) in zip(_bezier(start, (into, out), end), found, strict=True):
        limit = min(lanes[first].limit, lanes[second].limit) if side == STRAIGHT else SLOW
        lane = Lane(way[::COARSE], limit, side, _rank(kind, side, _has_priority(arms, a)), halts=kind == ALL_STOP)
        lane.after.append(second)
        if kind == LIGHTS:
            lane.signal, lane.section = 2 * node + arms[a].street.line, _section(node, a)
        if a in walks:
            lane.crossings.append((walks[a], 0.0))
        if b in walks:
            lane.crossings.append((walks[b], float(lengths(lane.line)[-1]) - MOUTH))
        lanes[first].after.append(len(lanes))
        ways[len(lanes)] = way
        lanes.append(lane)
    return ways


def _connections(arms: list[Arm]) -> list[tuple[int, int, int, int, int]]:
    """The arms from and to, the lanes from and to, and the side of every way through.

    Left turns lead from the innermost lane, right turns from the outermost.
    """
    found = []
    for a, b in permutations(range(len(arms)), 2):
        arriving, leaving, into, out = arms[a].arriving, arms[b].leaving, -arms[a].out, arms[b].out
        turn = np.arctan2(into[0] * out[1] - into[1] * out[0], into @ out)
        side = STRAIGHT if abs(turn) < np.pi / 4 else LEFT if turn > 0 else RIGHT
        if side == STRAIGHT:
            pairs = [(lane, leaving[min(place, len(leaving) - 1)]) for place, lane in enumerate(arriving)]
        else:
            outermost = 0 if side == LEFT else -1
            pairs = [(arriving[outermost], leaving[outermost])]
        found += [(a, b, *pair, side) for pair in pairs]
    return found


def _bezier(start: Floats, ways: tuple[Floats, Floats], end: Floats) -> Floats:
    """Smooth curves between C starts and ends [C, 2] with unit directions `ways` there: [C, 25, 2]."""
    chord = np.hypot(*(end - start).T)[:, None]
    bend = np.arccos(np.clip((ways[0] * ways[1]).sum(axis=1), -1, 1))[:, None]
    handle = chord * (1 / 3 + 0.036 * bend**2)  # as long as that of an arc
    corners = (start, start + handle * ways[0], end - handle * ways[1], end)
    shares = ((1 - FINE) ** 3, 3 * FINE * (1 - FINE) ** 2, 3 * FINE**2 * (1 - FINE), FINE**3)
    return np.asarray(sum(share * corner[:, None] for share, corner in zip(shares, corners, strict=True)))


def _has_priority(arms: list[Arm], which: int) -> bool:
    """The main street has it; of two of a kind, the row of the grid."""
    mixed = len({arm.street.main for arm in arms}) > 1
    return arms[which].street.main if mixed else arms[which].street.line == 0


def _rank(kind: str, side: int, ahead: bool) -> int:
    if kind == ALL_STOP:
        return 0
    return (2 if kind == PRIORITY and not ahead else 0) + (side == LEFT)


def _area(arms: list[Arm]) -> Floats:
    """The paved polygon of a junction, [P, 2]."""
    corners = []
    for arm in sorted(arms, key=lambda each: float(np.arctan2(each.out[1], each.out[0]))):
        near = arm.mouth - MOUTH * arm.out
        corners += [near - arm.aside, arm.mouth - arm.aside, arm.mouth + arm.aside, near + arm.aside]
    return np.array(corners)


def _conflicts(number: int, ways: list[dict[int, Floats]]) -> Flags:
    """Which of so many lanes cannot be used at once because they cross or merge in a junction: bool [L, L].

    Lanes that begin together do not conflict: there one drives behind the other.
    """
    found = np.zeros((number, number), dtype=np.bool_)
    for junction in ways:
        points = np.array(list(junction.values()))  # [J, 25, 2]
        flat = points.reshape(-1, 2)
        square = (flat**2).sum(axis=1)
        near = square[:, None] + square - 2 * flat @ flat.T < CLEAR**2
        meet = near.reshape(len(points), len(FINE), len(points), len(FINE)).any(axis=(1, 3))
        together = (np.abs(points[:, None, 0] - points[None, :, 0]) < 1e-6).all(axis=2)
        found[np.ix_(list(junction), list(junction))] = meet & ~together
    return found
