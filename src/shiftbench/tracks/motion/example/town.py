"""A piece of a town: four junctions, the streets between and around them, crosswalks, kerbs and places to park.

Everything lies around (0, 0) here; `placed` moves it to where the town is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.example import habits, junction, streets
from shiftbench.tracks.motion.example.conditions import drawn
from shiftbench.tracks.motion.example.conflicts import conflicts as excluding
from shiftbench.tracks.motion.example.habits import PLANS, Plan
from shiftbench.tracks.motion.example.network import Arm, Network
from shiftbench.tracks.motion.example.streets import OPEN, Floats, Street
from shiftbench.tracks.motion.schema import City

NODES = ((0, 0), (0, 1), (1, 0), (1, 1))  # row and column of each junction
DEEP = 3.0  # metres of a crosswalk, along the street
FIRST_SECTION = 100  # ids of lights and of sections that no other scene shares would tell nothing
STUB = 115.0  # metres of a street that leads out of the scene, at least
SPREAD = 3000.0  # metres within which a town's places lie


@dataclass(frozen=True, eq=False)
class Crossing:
    """A crosswalk: its middle and half of its length [2] across the street, towards one side; what stops the cars.

    out: the unit vector along the street, away from the junction. signal: -1 for none.
    """

    middle: Floats
    across: Floats
    out: Floats
    signal: int
    section: int


@dataclass(frozen=True, eq=False)
class Town:
    """What does not move.

    Attributes:
        network: lanes, those of streets first; `conflicts` bool [L, L] as `conflicts.conflicts`.
        streets: from stop line to stop line, or to the edge.
        crossings: the crosswalks.
        polygons: paved areas, float64 [P, 2] each.
        parking: float64 [K, 3], x, y and direction of places to park.
        lamps: section id → (signal, x, y).
        signals: how many groups of lights there are, two for a junction: rows and columns.
    """

    network: Network
    conflicts: npt.NDArray[np.bool_]
    street_lanes: int
    streets: list[Street]
    crossings: list[Crossing]
    polygons: list[Floats]
    parking: Floats
    kerb: list[float]
    lamps: dict[int, tuple[int, float, float]]
    signals: int


def town(city: City, rng: np.random.Generator) -> Town:
    """A new piece of a town."""
    plan = PLANS[city]
    lines = _grid(plan, rng)
    kinds = [drawn(plan.junctions, uniform) for uniform in rng.random(len(NODES)).tolist()]
    main = rng.random((2, 2)) < 0.5  # [row or column, its number]
    kinds = [_possible(kind, plan, main, node) for kind, node in zip(kinds, NODES, strict=True)]
    made = _streets(plan, lines, main, (kinds, _closed(plan, rng)))
    network = Network()
    arms: list[list[Arm]] = [[] for _ in NODES]
    for street in made:
        _add_lanes(network, plan, street, arms)
    return _joined(network, plan, made, (arms, kinds))


def _possible(kind: str, plan: Plan, main: npt.NDArray[np.bool_], node: tuple[int, int]) -> str:
    """A ring of one lane joins streets of one lane only."""
    wide = any(plan.lanes[0 if main[line, number] else 1] > 1 for line, number in enumerate(node))
    return habits.PRIORITY if kind == habits.ROUNDABOUT and wide else kind


def _grid(plan: Plan, rng: np.random.Generator) -> Floats:
    """Four lines, two rows and two columns, of four points each and the angle of the line there: [2, 2, 4, 3]."""
    heading = plan.heading[0] + (plan.heading[1] - plan.heading[0]) * rng.random()
    jitter = plan.uneven * plan.block * (rng.random((4, 4, 2)) - 0.5)
    bends = 2.45 * plan.bend * (rng.random((2, 2, 2, 4)).sum(axis=0) - 1.0)  # a variance of bend²
    outer = 0.5 * plan.block + max(0.9 * plan.block, STUB)
    steps = np.array([-outer, -0.5 * plan.block, 0.5 * plan.block, outer])
    points = np.stack(np.meshgrid(steps, steps), axis=-1) + jitter  # [row, column, xy]
    lines = np.zeros((2, 2, 4, 3))
    lines[0, :, :, :2] = points[1:3]
    lines[1, :, :, :2] = points[:, 1:3].swapaxes(0, 1)
    lines[..., 2] = bends
    cos, sin = np.cos(heading), np.sin(heading)
    lines[..., :2] = lines[..., :2] @ np.array([[cos, sin], [-sin, cos]])
    return lines


def _closed(plan: Plan, rng: np.random.Generator) -> list[int | None]:
    """Which line's outer arm each junction lacks, if any."""
    luck = rng.random((len(NODES), 2))
    return [int(which > 0.5) if missing < plan.closed else None for missing, which in luck.tolist()]


def _streets(
    plan: Plan, lines: Floats, main: npt.NDArray[np.bool_], at: tuple[list[str], list[int | None]]
) -> list[Street]:
    """The three streets of each line, those that are closed left out."""
    kinds, closed = at
    plans = []  # curve, ends, line, main
    for line, number in np.ndindex(2, 2):
        nodes = [NODES.index((number, place) if line == 0 else (place, number)) for place in (0, 1)]
        ends = [OPEN, *nodes, OPEN]
        for k in range(3):
            if k != 1 and closed[nodes[0 if k == 0 else 1]] == line:
                continue
            first, second = lines[line, number, k], lines[line, number, k + 1]
            center = streets.curve(first[:2], second[:2], (first[2], second[2]))
            plans.append((center, (ends[k], ends[k + 1]), line, bool(main[line, number])))
    radii = [_radius(plan, plans, node, kinds[node]) for node in range(len(NODES))] + [0.0]
    return [
        Street(ends, *streets.between(center, (radii[ends[0]], radii[ends[1]])), _lanes(plan, broad), broad, line)
        for center, ends, line, broad in plans
    ]


def _lanes(plan: Plan, main: bool) -> int:
    return plan.lanes[0 if main else 1]


def _radius(plan: Plan, plans: list[tuple[Floats, tuple[int, int], int, bool]], node: int, kind: str) -> float:
    ways, halves = [], []
    for center, ends, _, main in plans:
        for end, (at, near) in zip(ends, ((0, 4), (-1, -5)), strict=True):
            if end == node:
                ways.append(center[near] - center[at])
                halves.append(streets.half_width(plan, main))
    return junction.radius(ways, halves, kind)


def _add_lanes(network: Network, plan: Plan, street: Street, arms: list[list[Arm]]) -> None:
    """The lanes of a street, and the arms that it is of the junctions at its ends."""
    offsets = [(place + 0.5) * plan.width for place in range(street.lanes)]
    limit = plan.limits[0 if street.main else 1]
    ahead = [network.add(street.beside(-offset), limit) for offset in offsets]
    back = [network.add(street.beside(offset)[::-1], limit) for offset in offsets]
    half = streets.half_width(plan, street.main)
    for end, (node, arriving, leaving) in enumerate(((street.ends[0], back, ahead), (street.ends[1], ahead, back))):
        if node != OPEN:
            left = street.left[-end]
            out = np.array([left[1], -left[0]]) * (1 if end == 0 else -1)
            arms[node].append(Arm(street.center[-end], out, half, arriving, leaving, street.main, street.line))


def _joined(network: Network, plan: Plan, made: list[Street], at: tuple[list[list[Arm]], list[str]]) -> Town:
    """The town once its junctions are made."""
    street_lanes = len(network.lines)
    crossings: list[Crossing] = []
    kerbs = [streets.half_width(plan, street.main) for street in made]
    polygons = [
        np.concatenate([street.beside(-kerb), street.beside(kerb)[::-1]])
        for street, kerb in zip(made, kerbs, strict=True)
    ]
    lamps: dict[int, tuple[int, float, float]] = {}
    for node, (arms, kind) in enumerate(zip(*at, strict=True)):
        walks = _crosswalks(plan, arms, crossings, (node, kind, lamps))
        polygons += _junction(network, arms, (node, kind), walks)
    places = [streets.parking_places(street, kerb) for street, kerb in zip(made, kerbs, strict=True)]
    parking = np.concatenate(places) if plan.parking else np.empty((0, 3))
    conflicts = excluding(network)
    return Town(
        network, conflicts, street_lanes, made, crossings, polygons, parking, kerbs, lamps, signals=2 * len(NODES)
    )


def _junction(network: Network, arms: list[Arm], which: tuple[int, str], walks: dict[int, int]) -> list[Floats]:
    """Join the lanes of a junction (its number and kind) and light them; its paved polygons."""
    node, kind = which
    if kind == habits.ROUNDABOUT:
        middle = _crossing_point(arms)
        junction.roundabout(network, arms, middle, walks)
    else:
        middle = np.mean([arm.mouth for arm in arms], axis=0)
        junction.crossroads(network, arms, kind, walks)
    if kind == habits.CROSSROADS:
        _light(network, arms, node)
    return junction.area(arms, middle, kind)


def _crossing_point(arms: list[Arm]) -> Floats:
    """The point nearest to the middle lines of all arms."""
    across = np.array([[-arm.out[1], arm.out[0]] for arm in arms])
    away = (across * [arm.mouth for arm in arms]).sum(axis=1)
    return np.asarray(np.linalg.lstsq(across, away, rcond=None)[0])


def _crosswalks(
    plan: Plan, arms: list[Arm], crossings: list[Crossing], at: tuple[int, str, dict[int, tuple[int, float, float]]]
) -> dict[int, int]:
    """Add the crosswalks of a junction and its lamps; arm → number of its crosswalk."""
    node, kind, lamps = at
    found = {}
    for place, arm in enumerate(arms):
        lit = kind == habits.CROSSROADS
        section = FIRST_SECTION + 10 * node + place if lit else 0
        signal = 2 * node + arm.line if lit else -1
        if lit:
            lamps[section] = (signal, *arm.mouth.tolist())
        # Where the arm stands decides, not one more random number: the same town, whatever its crosswalks.
        if (0.618 * (7 * node + 3 * place) + abs(arm.mouth[0])) % 1.0 < plan.crosswalks:
            middle = arm.mouth - (0.6 + DEEP / 2) * arm.out
            across = arm.half * np.array([-arm.out[1], arm.out[0]])
            found[place] = len(crossings)
            crossings.append(Crossing(middle, across, arm.out, signal, section))
    return found


def _light(network: Network, arms: list[Arm], node: int) -> None:
    """Give the junction's lanes the lights of the arms they come from."""
    for place, arm in enumerate(arms):
        for arriving in arm.arriving:
            for lane in network.after[arriving]:
                network.signal[lane] = 2 * node + arm.line
                network.section[lane] = FIRST_SECTION + 10 * node + place
