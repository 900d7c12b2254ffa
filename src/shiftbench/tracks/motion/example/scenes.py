"""Whole scenes: what the ego vehicle sees, the road, the lights, and which vehicles are requested."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiftbench.tracks.motion.example import sensors
from shiftbench.tracks.motion.example.conditions import Weather, weathers
from shiftbench.tracks.motion.example.situation import WARM, Situation, situation
from shiftbench.tracks.motion.example.town import DEEP, Floats
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.scenes.maneuvers import tags_of
from shiftbench.tracks.motion.scenes.road import ControlRule, Crosswalk, Lane, Road
from shiftbench.tracks.motion.scenes.scene import Lights, Request, Scene
from shiftbench.tracks.motion.schema import PAST, LightState, Movement

IDS = range(128, 16384)
LAMP_RANGE_M = 110.0  # lights further away are not made out
UNCLEAR = 0.03  # of the lights are not made out at a step
MOVING = (LightState.GREEN, LightState.BLINKING_GREEN, LightState.YELLOW)
MOST_REQUESTS = 6
STANDING = 0.25  # how much less often vehicles are requested that do not move,
CUT = 0.3  # and those that are not seen until the end
SLOW = 0.5  # m/s
RECENT = 4  # steps before T = 0 within which a vehicle must have been seen


def scenes(part: str, number: int, *, seed: int, weather: Weather | None = None) -> Iterator[Scene]:
    """The first `number` scenes of a part; each is the same however many are made.

    weather: town and precipitation of all of them, for comparisons; else each has its own, as `conditions` shares them.
    """
    for place, each in enumerate([weather] * number if weather else weathers(part, number)):
        yield _scene(situation(part, place, each, seed))


def _scene(made: Situation) -> Scene:
    found = sensors.motion(made)
    ego = sensors.ego_of(found)
    number = len(found.size) - 1 + made.walkers.shape[1]
    first = IDS.start + int(made.rng.random() * (len(IDS) - number))
    ids = np.arange(first, first + number, dtype=np.uint64)
    vehicles, pedestrians, own = sensors.tracks_of(made, found, ego, ids)
    requested = requests(vehicles, made.rng)
    lights = _lights(made, found.values[:PAST, ego, :2])
    return Scene(made.id, made.tags, vehicles, own, pedestrians, _road(made), lights, requested)


def requests(tracks: Tracks, rng: np.random.Generator) -> tuple[Request, ...]:
    """One to six requests for vehicles seen at T = 0, or shortly before and some time after; none if there are none.

    Some of these leave before the end, as in the genuine data: their requests are not valid.
    """
    known = tracks.present[PAST - 1 - RECENT : PAST].any(axis=0) & tracks.present[PAST:].any(axis=0)
    columns = np.flatnonzero(known | tracks.present[PAST - 1])
    number = 1 + int(MOST_REQUESTS * rng.random())
    speed = np.nanmax(np.where(known, np.hypot(*np.moveaxis(tracks.velocity[..., :2], -1, 0)), 0.0), axis=0)
    weight = np.where(speed > SLOW, 1.0, STANDING)
    weight = np.where(tracks.present[PAST:].all(axis=0), weight, CUT * weight)[columns]
    keys = -np.log1p(-rng.random(len(columns))) / weight
    chosen = columns[np.argsort(keys, kind="stable")[:number]]
    return tuple(Request(int(tracks.ids[column]), tags_of(tracks, int(column))) for column in chosen)


def _road(made: Situation) -> Road:
    def placed(line: Floats) -> Floats:
        """A line [P, 2] where the scene is, [P, 3]."""
        flat = np.zeros((len(line), 3))
        flat[:, :2] = np.round(line + made.origin, sensors.DIGITS)
        return flat

    lanes = tuple(
        Lane(placed(lane.line), float(np.float32(lane.limit)), lane.rank > 0 or lane.halts, (0, lane.section, 0))
        for lane in made.town.lanes
    )
    corners = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])  # half lengths across the street, half depths along it
    crosswalks = tuple(
        Crosswalk(placed(each.middle + corners @ [each.across, DEEP / 2 * each.out]), _rules(each.section))
        for each in made.town.crossings
    )
    return Road(lanes, crosswalks, tuple(map(placed, made.town.polygons)))


def _rules(section: int) -> tuple[ControlRule, ...]:
    """Cars move over the crosswalk while their light says so."""
    states = MOVING if section else ()
    return tuple(ControlRule(((section, int(state)),), int(Movement.ALLOWED_WITH_PRIORITY)) for state in states)


def _lights(made: Situation, ego: Floats) -> tuple[Lights, ...]:
    """Traffic lights as the ego vehicle sees them at the past steps; ego: its positions [25, 2]."""
    lamps = made.town.lamps
    if not lamps:
        return ({},) * PAST
    where = np.array([place for _, *place in lamps.values()]) + made.origin
    states = made.traffic.lights[WARM : WARM + PAST, [signal for signal, *_ in lamps.values()]]
    away = np.hypot(*(where - ego[:, None]).transpose(2, 0, 1))
    hidden = (away > LAMP_RANGE_M) | (made.rng.random(away.shape) < UNCLEAR)
    shown = np.where(hidden, int(LightState.UNKNOWN), states).tolist()
    return tuple(dict(zip(lamps, step, strict=True)) for step in shown)
