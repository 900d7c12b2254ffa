"""Junctions: the lanes that join the streets, who has priority on them, and the crosswalks of their arms.

Traffic keeps to the right.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

from shiftbench.tracks.motion.example import habits
from shiftbench.tracks.motion.example.network import LEFT, RIGHT, STRAIGHT, Arm, Network
from shiftbench.tracks.motion.example.streets import Floats, turned

CURVE = np.linspace(0.0, 1.0, 9)[:, None]  # the points of a turn
SLOW = 8.33  # m/s, the limit in a turn
RING = 13.0  # metres from the middle of a roundabout to the middle of its lane
MOUTH = 4.6  # metres between stop line and junction: where the crosswalk is


def radius(arms: list[Floats], halves: list[float], kind: str) -> float:
    """Metres from the middle of a junction to its stop lines, so that neighbouring arms stay apart.

    arms: the directions [2] of the streets; halves: their half widths.
    """
    if kind == habits.ROUNDABOUT:
        return RING + 7.0 + MOUTH
    order = np.argsort([np.arctan2(way[1], way[0]) for way in arms])
    angles = np.sort([np.arctan2(way[1], way[0]) for way in arms])
    gaps = np.diff(angles, append=angles[0] + 2 * np.pi)
    wide = np.maximum(np.array(halves)[order], np.roll(np.array(halves)[order], -1))
    apart = np.where(gaps < 0.9 * np.pi, wide / np.tan(np.clip(gaps, 0.9, np.pi) / 2), 0.0)
    return float(apart.max()) + 4.0 + MOUTH


def bezier(start: Floats, ways: tuple[Floats, Floats], end: Floats) -> Floats:
    """Smooth curves between C starts and ends [C, 2] with unit directions `ways` there: [C, 9, 2]."""
    chord = np.hypot(*(end - start).T)[:, None]
    bend = np.arccos(np.clip((ways[0] * ways[1]).sum(axis=1), -1, 1))[:, None]
    handle = chord * (1 / 3 + 0.036 * bend**2)  # as long as that of an arc
    corners = (start, start + handle * ways[0], end - handle * ways[1], end)
    shares = ((1 - CURVE) ** 3, 3 * CURVE * (1 - CURVE) ** 2, 3 * CURVE**2 * (1 - CURVE), CURVE**3)
    return np.asarray(sum(share * corner[:, None] for share, corner in zip(shares, corners, strict=True)))


def crossroads(network: Network, arms: list[Arm], kind: str, crosswalks: dict[int, int]) -> None:
    """Join the lanes of all arms: left turns from the innermost lane, right turns from the outermost.

    crosswalks: the number of the crosswalk of each arm that has one.
    """
    found = _connections(arms)
    start = np.array([network.lines[lane][-1] for _, _, lane, _, _ in found])
    end = np.array([network.lines[lane][0] for _, _, _, lane, _ in found])
    ways = (np.array([-arms[a].out for a, *_ in found]), np.array([arms[b].out for _, b, *_ in found]))
    numbers = []
    for line, (a, b, first, second, side) in zip(bezier(start, ways, end), found, strict=True):
        limit = min(network.limits[first], network.limits[second]) if side == STRAIGHT else SLOW
        number = network.add(line, limit, side=side, rank=_rank(kind, side, _has_priority(arms, a)))
        network.halts[number] = kind == habits.ALL_STOP
        network.join(first, number)
        network.join(number, second)
        _cross(network, number, crosswalks.get(a), crosswalks.get(b))
        numbers.append(number)
    network.junctions.append(numbers)


def _connections(arms: list[Arm]) -> list[tuple[int, int, int, int, int]]:
    """The arms from and to, the lanes from and to, and the side of every way through."""
    found = []
    for a, b in permutations(range(len(arms)), 2):
        side = _side(-arms[a].out, arms[b].out)
        arriving, leaving = arms[a].arriving, arms[b].leaving
        if side == LEFT:
            pairs = [(arriving[0], leaving[0])]
        elif side == RIGHT:
            pairs = [(arriving[-1], leaving[-1])]
        else:
            pairs = [(lane, leaving[min(place, len(leaving) - 1)]) for place, lane in enumerate(arriving)]
        found += [(a, b, *pair, side) for pair in pairs]
    return found


def _side(arriving: Floats, leaving: Floats) -> int:
    turn = np.arctan2(arriving[0] * leaving[1] - arriving[1] * leaving[0], arriving @ leaving)
    return STRAIGHT if abs(turn) < np.pi / 4 else LEFT if turn > 0 else RIGHT


def _has_priority(arms: list[Arm], which: int) -> bool:
    """The main street has it; of two of a kind, the row of the grid."""
    mixed = len({arm.main for arm in arms}) > 1
    return arms[which].main if mixed else arms[which].line == 0


def _rank(kind: str, side: int, ahead: bool) -> int:
    if kind == habits.ALL_STOP:
        return 0
    return (2 if kind == habits.PRIORITY and not ahead else 0) + (side == LEFT)


def _cross(network: Network, lane: int, first: int | None, last: int | None) -> None:
    """People cross at the beginning of a junction's lane and at its end."""
    if first is not None:
        network.crossings[lane].append((first, 0.0))
    if last is not None:
        length = float(np.hypot(*np.diff(network.lines[lane], axis=0).T).sum())
        network.crossings[lane].append((last, length - MOUTH))


def roundabout(network: Network, arms: list[Arm], middle: Floats, crosswalks: dict[int, int]) -> None:
    """Join the arms by a ring of one lane that has priority; one drives round it anticlockwise."""
    order = sorted(range(len(arms)), key=lambda place: arms[place].angle)
    angles = np.array([arms[place].angle for place in order])
    gaps = np.diff(angles, append=angles[0] + 2 * np.pi)
    aside = np.minimum(0.5, np.minimum(gaps, np.roll(gaps, 1)) / 2.6)
    numbers, merges, leaves = [], [], []
    for place, angle, away in zip(order, angles, aside, strict=True):
        arm = arms[place]
        entry, exit_ = _ramps(arm, network, middle, (angle - away, angle + away))
        lanes = [network.add(entry, SLOW, side=RIGHT, rank=1), network.add(exit_, SLOW, side=RIGHT)]
        short = network.add(_ring(middle, angle - away, angle + away), SLOW)
        network.join(arm.arriving[-1], lanes[0])
        network.join(lanes[1], arm.leaving[-1])
        _cross(network, lanes[0], crosswalks.get(place), None)
        _cross(network, lanes[1], None, crosswalks.get(place))
        numbers += [*lanes, short]
        merges.append((lanes[0], short, angle + away))
        leaves.append((lanes[1], short, angle - away))
    for (entry_lane, short, start), (exit_lane, next_short, end) in zip(merges, leaves[1:] + leaves[:1], strict=True):
        long = network.add(_ring(middle, start, end + (2 * np.pi if end < start else 0.0)), SLOW)
        for first in (entry_lane, short):
            network.join(first, long)
        network.join(long, exit_lane)
        network.join(long, next_short)
        numbers.append(long)
    network.junctions.append(numbers)


def _ramps(arm: Arm, network: Network, middle: Floats, at: tuple[float, float]) -> tuple[Floats, Floats]:
    """The way into the ring and the way out of it, [9, 2] each; at: angles of leaving and of joining the ring."""
    leave, join = (middle + RING * np.array([np.cos(angle), np.sin(angle)]) for angle in at)
    leaving, joining = (np.array([-np.sin(angle), np.cos(angle)]) for angle in at)
    start = np.array([network.lines[arm.arriving[-1]][-1], leave])
    end = np.array([join, network.lines[arm.leaving[-1]][0]])
    entry, exit_ = bezier(start, (np.array([-arm.out, leaving]), np.array([joining, arm.out])), end)
    return entry, exit_


def _ring(middle: Floats, start: float, end: float) -> Floats:
    angle = np.linspace(start, end, max(3, 1 + int(np.ceil((end - start) / 0.15))))
    return np.asarray(middle + RING * np.stack([np.cos(angle), np.sin(angle)], axis=-1))


def area(arms: list[Arm], middle: Floats, kind: str) -> list[Floats]:
    """The paved polygon of a junction, [P, 2], with the hole of a roundabout as a second one."""
    ring = np.linspace(-np.pi, np.pi, 32, endpoint=False)
    circle = np.stack([np.cos(ring), np.sin(ring)], axis=-1)
    corners = []
    for arm in sorted(arms, key=lambda each: each.angle):
        aside = turned(arm.out, np.pi / 2) * arm.half
        near = [arm.mouth - MOUTH * arm.out] if kind != habits.ROUNDABOUT else []
        right, left = ([point - aside for point in near], [point + aside for point in near])
        corners += [*right, arm.mouth - aside, arm.mouth + aside, *left]
    if kind != habits.ROUNDABOUT:
        return [np.array(corners)]
    return [_with_ring(arms, middle, circle), middle + (RING - 3.0) * circle]


def _with_ring(arms: list[Arm], middle: Floats, circle: Floats) -> Floats:
    """The outer edge of a roundabout: its circle, opened towards the arms."""
    around = list(middle + (RING + 3.0) * circle)
    for arm in arms:
        aside = turned(arm.out, np.pi / 2) * arm.half
        around = [point for point in around if abs(np.angle(complex(*(point - middle)) / complex(*arm.out))) > 0.55]
        around += [arm.mouth - aside, arm.mouth + aside]
    return np.array(sorted(around, key=lambda point: np.arctan2(*(point - middle)[::-1])))
