"""Scenes that spoil pictures, and forecasts for any scene."""

from __future__ import annotations

import dataclasses

import numpy as np

from shiftbench.tracks.motion.picture import Forecast
from shiftbench.tracks.motion.scenes.frame import ground_truth, latest_state
from shiftbench.tracks.motion.scenes.road import ControlRule, Crosswalk, Lane, Road
from shiftbench.tracks.motion.scenes.scene import Request, scene_of

from ..made_scene import TRACK_ID, message, scene

BAD_ID = "$\\frac{1}{0 <script>alert(1)</script>\x00\n\u202e 模型 _^" + "x" * 200


def forecast(of, track=TRACK_ID, modes=3, seed=0):
    """Modes around the truth."""
    rng = np.random.default_rng(seed)
    start = latest_state(of, track).position[:2]
    truth = ground_truth(of, track)
    ways = [start + (truth - start) * rng.uniform(0.5, 1.5) + rng.normal(0, 1, 2) for _ in range(modes)]
    return Forecast(np.stack(ways), rng.dirichlet(np.ones(modes)))


def crossing():
    """One vehicle before a lane with a light, an arrow that is not lit, and a crosswalk for people."""
    line = np.column_stack([np.linspace(80, 160, 9), np.full(9, 203.0), np.zeros(9)])
    square = np.array([[120, 195, 0], [124, 195, 0], [124, 212, 0], [120, 212, 0]], dtype=float)
    road = Road(
        (Lane(line, sections=(0, 5, 0)), Lane(line + 3, sections=(6, 5, 0)), Lane(line - 3)),
        (Crosswalk(square, (ControlRule(((5, 4),), 0),)), Crosswalk(square + 20)),
        (np.array([[80, 190, 0], [160, 190, 0], [160, 215, 0], [80, 215, 0]], dtype=float),),
    )
    lights = tuple({5: 1 if step < 10 else 4, 6: 9} for step in range(25))
    return dataclasses.replace(scene(), road=road, lights=lights)


def scenes():
    """Name → a scene on which nothing may fail."""
    plain = scene(ids=(7, 8))
    alone = message()
    del alone.past_ego_track[:]
    alone.past_ego_track.extend(message().past_ego_track)
    far = dataclasses.replace(plain.vehicles, position=plain.vehicles.position.copy())
    far.position[:, 1] = 1e300
    short = Road(
        (Lane(np.zeros((1, 3))), Lane(np.full((3, 3), 100.0)), Lane(np.empty((0, 3)))), (), (np.zeros((2, 3)),)
    )
    no_lights = dataclasses.replace(crossing(), lights=({},) * 25)
    return {
        "no lanes": plain,
        "one vehicle": scene_of(alone),
        "never seen": dataclasses.replace(plain, requests=(Request(7), Request(99))),
        "only strangers": dataclasses.replace(plain, requests=(Request(99),)),
        "no requests": dataclasses.replace(plain, requests=()),
        "absent at T = 0": scene(absent=(22, 23, 24, 25)),
        "no future": scene(absent=tuple(range(25, 50))),
        "far away": dataclasses.replace(plain, vehicles=far, requests=(Request(7), Request(8))),
        "lanes of a point": dataclasses.replace(plain, road=short),
        "no lights": no_lights,
        "crossing": crossing(),
        "hostile id": dataclasses.replace(crossing(), id=BAD_ID),
    }
