"""Whole scenes, made a block at a time: the traffic of a block runs side by side, which is fast."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from shiftbench.tracks.motion.example import sensor_model
from shiftbench.tracks.motion.example.conditions import Weather, weathers
from shiftbench.tracks.motion.example.encoding import IDS
from shiftbench.tracks.motion.example.habits import PLANS
from shiftbench.tracks.motion.example.requests import requests
from shiftbench.tracks.motion.example.sensor_model import DIGITS
from shiftbench.tracks.motion.example.situation import WARM, Prepared, prepared
from shiftbench.tracks.motion.example.streets import Floats
from shiftbench.tracks.motion.example.town import DEEP
from shiftbench.tracks.motion.example.traffic import Moves, drive
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.scenes.road import ControlRule, Crosswalk, Lane, Road
from shiftbench.tracks.motion.scenes.scene import Lights, Scene
from shiftbench.tracks.motion.schema import PAST, LightState, Movement

BLOCK = 24  # scenes at a time
LAMP_RANGE_M = 110.0  # lights further away are not made out
UNCLEAR = 0.03  # of the lights are not made out at a step
MOVING = (LightState.GREEN, LightState.BLINKING_GREEN, LightState.YELLOW)


def scenes(part: str, number: int, *, seed: int, weather: Weather | None = None) -> Iterator[Scene]:
    """The first `number` scenes of a part; each is the same however many are made, and whichever with it.

    weather: town and precipitation of all of them, for comparisons; else each has its own, as `conditions` shares them.
    """
    listed = list(enumerate([weather] * number if weather else weathers(part, number)))
    for start in range(0, number, BLOCK):
        block = [prepared(part, place, weather, seed) for place, weather in listed[start : start + BLOCK]]
        moves = drive([each.course for each in block])
        yield from map(_scene, block, moves)


def _scene(made: Prepared, moves: Moves) -> Scene:
    everybody = sensor_model.motion(made, moves)
    ego = sensor_model.ego_of(everybody, len(made.wander))
    own = everybody.of(np.array([ego]))
    others = everybody.of(np.delete(np.arange(everybody.size.shape[0]), ego))
    ids = _ids(made.rng, others.size.shape[0] + made.walkers.position.shape[1])
    present = sensor_model.seen(others, own, made.rng)
    cars, people = ids[: others.size.shape[0]], ids[others.size.shape[0] :]
    vehicles = sensor_model.vehicle_tracks(others, present, cars, made.rng)
    pedestrians = sensor_model.pedestrian_tracks(made, own, people)
    parked = frozenset(cars[len(made.wander) - 1 :].tolist())
    asked = requests(vehicles, parked, made.rng)
    return Scene(
        made.id, made.tags, _moved(vehicles, made), _moved(sensor_model.ego_tracks(own), made),
        _moved(pedestrians, made), _road(made), _lights(made, own.position[:, 0]), asked,
    )  # fmt: skip


def _ids(rng: np.random.Generator, number: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    start = IDS.start + int(rng.random() * (len(IDS) - number))
    return np.arange(start, start + number, dtype=np.uint64)


def _moved(tracks: Tracks, made: Prepared) -> Tracks:
    """Tracks at the place of the scene, up hill and down."""
    position, velocity = tracks.position.copy(), tracks.velocity.copy()
    position[..., :2] += made.middle
    ahead, behind = (_height(position[..., :2] + sign * 0.1 * velocity[..., :2], made) for sign in (1, -1))
    velocity[..., 2] += (ahead - behind) / 0.2
    position[..., 2] += _height(position[..., :2], made)
    return replace(tracks, position=np.round(position, DIGITS), velocity=np.round(velocity, DIGITS) + 0.0)


def _height(points: Floats, made: Prepared) -> Floats:
    """The height of the ground at points [..., 2] of the common frame, in metres."""
    x, y = points[..., 0], points[..., 1]
    return np.asarray(PLANS[made.tags.track].hill * (np.sin(x / 90.0) * np.cos(y / 110.0) + 1.0))


def _road(made: Prepared) -> Road:
    network = made.town.network
    lanes = tuple(
        Lane(line, float(np.float32(limit)), rank > 0 or halts, (0, section, 0))
        for line, limit, rank, halts, section in zip(
            _placed(network.lines, made), network.limits, network.rank, network.halts, network.section, strict=True
        )
    )
    walks = made.town.crossings
    shapes = [
        each.middle + np.outer([1, -1, -1, 1], each.across) + np.outer([1, 1, -1, -1], DEEP / 2 * each.out)
        for each in walks
    ]
    crosswalks = tuple(
        Crosswalk(shape, _rules(each.section)) for shape, each in zip(_placed(shapes, made), walks, strict=True)
    )
    return Road(lanes, crosswalks, tuple(_placed(made.town.polygons, made)))


def _rules(section: int) -> tuple[ControlRule, ...]:
    """Cars move over the crosswalk while their light says so."""
    if not section:
        return ()
    return tuple(ControlRule(((section, int(state)),), int(Movement.ALLOWED_WITH_PRIORITY)) for state in MOVING)


def _placed(lines: Sequence[Floats], made: Prepared) -> list[Floats]:
    """Lines [P, 2] each at the place of the scene, [P, 3]; all in one go."""
    if not lines:
        return []
    flat = np.concatenate(lines) + made.middle
    points = np.round(np.column_stack([flat, _height(flat, made)]), DIGITS) + 0.0
    return np.split(points, np.cumsum([len(line) for line in lines])[:-1])


def _lights(made: Prepared, ego: Floats) -> tuple[Lights, ...]:
    """What the ego vehicle makes out of the lights at the past steps; ego: its places [50, 2]."""
    lamps = made.town.lamps
    if not lamps:
        return ({},) * PAST
    where = np.array([place for _, *place in lamps.values()])
    states = made.course.lights[WARM : WARM + PAST, [signal for signal, *_ in lamps.values()]]
    away = np.hypot(*(where[None] - ego[:PAST, None]).transpose(2, 0, 1))
    hidden = (away > LAMP_RANGE_M) | (made.rng.random(away.shape) < UNCLEAR)
    shown = np.where(hidden, int(LightState.UNKNOWN), states).tolist()
    return tuple(dict(zip(lamps, step, strict=True)) for step in shown)
