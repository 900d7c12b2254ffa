"""Folders of scenes of the official layout, made for tests: small scenes of chosen cities and weather."""

from __future__ import annotations

import hashlib

from shiftbench.tracks.motion.scenes import tag_files
from shiftbench.tracks.motion.scenes.scene import read_scene, scene_of, write_scene
from shiftbench.tracks.motion.schema import City, Precipitation
from tests.tracks.motion import made_scene

MOSCOW, SKOLKOVO, TEL_AVIV = City.MOSCOW, City.SKOLKOVO, City.TEL_AVIV
DRY, RAIN, SLEET, UNKNOWN = Precipitation.NO, Precipitation.RAIN, Precipitation.SLEET, Precipitation.UNKNOWN
PLACES = {
    "train/000/a.pb": (MOSCOW, DRY),
    "train/000/b.pb": (MOSCOW, RAIN),
    "train/001/a.pb": (MOSCOW, DRY),
    "dev/a.pb": (MOSCOW, DRY),
    "dev/b.pb": (SKOLKOVO, RAIN),
    "eval/a.pb": (MOSCOW, DRY),
    "eval/b.pb": (TEL_AVIV, SLEET),
    "eval/c.pb": (TEL_AVIV, UNKNOWN),
}
"""File → city and precipitation of a scene of every sort."""


def message(name, city, precipitation, *, vehicles=3):
    """A scene of a few vehicles, of which the first two are asked for and the second has no whole future."""
    made = made_scene.message(ids=tuple(range(7, 7 + vehicles)), yaw=0.1 * len(name), speed=3.0 + len(name) % 5)
    made.id = name
    made.scene_tags.track, made.scene_tags.precipitation = int(city), int(precipitation)
    if vehicles > 1:
        made.prediction_requests.add(track_id=8, trajectory_tags=[3])
        del made.future_vehicle_tracks[-1].tracks[1]
    lane = made.path_graph.lanes.add(max_velocity=12.0)
    for step in range(30):
        lane.centers.add(x=60.0 + 3 * step, y=200.0 + len(name), z=0.0)
    return made


def write(root, places=None, *, tags=True):
    """Write scenes and, for each part, its tag file."""
    for name, where in (places or PLACES).items():
        write_scene(scene_of(message(name.replace("/", "-"), *where)), root / name)
    for part in sorted({name.split("/")[0] for name in places or PLACES}) if tags else ():
        scenes = tag_files.scene_paths(root / part)
        tag_files.write_tags([read_scene(path).tags for path in scenes], root / f"{part}_tags.txt")
    return root


def tree(folder):
    """Every file of a folder and its SHA-256."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
