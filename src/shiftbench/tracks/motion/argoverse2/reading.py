"""From the files of a recording to its scenes."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.tracks.motion.argoverse2.log import read_log
from shiftbench.tracks.motion.argoverse2.recording import HZ
from shiftbench.tracks.motion.argoverse2.road_map import read_map
from shiftbench.tracks.motion.argoverse2.scenario import read_scenario
from shiftbench.tracks.motion.argoverse2.sources import Source, sources
from shiftbench.tracks.motion.argoverse2.windows import SWEEPS, TO_PRESENT, windows
from shiftbench.tracks.motion.scenes.scene import Scene


@dataclass(frozen=True)
class Settings:
    """How recordings become scenes.

    Attributes:
        stride_s: seconds from the start of one window of a log to that of the next, in whole sweeps of 0.1 s.
        moved_m: how far a vehicle goes in five seconds, at the least, to be asked for.
        reach_m: how far beyond the actors of a scene, up to T = 0, its road goes.
        speed_limit_ms: of every lane, in m/s; 0 is unknown, as Argoverse has none.
    """

    stride_s: float = 1.0
    moved_m: float = 2.0
    reach_m: float = 150.0
    speed_limit_ms: float = 0.0

    def __post_init__(self) -> None:
        least = {"stride_s": 1 / HZ, "moved_m": 0.0, "reach_m": 0.0, "speed_limit_ms": 0.0}
        problems = [
            f"{name}: expected a finite number from {bound:g} up, found {value!r}."
            for name, bound in least.items()
            if not (isinstance(value := getattr(self, name), int | float) and math.isfinite(value) and value >= bound)
        ]
        if problems:
            raise SettingsError(*problems)

    def to_dict(self) -> dict[str, Any]:
        """The settings by name."""
        return asdict(self)


@dataclass(frozen=True)
class Cut:
    """The scenes of one recording, and what was left out of it: reason → number."""

    scenes: tuple[Scene, ...]
    left_out: Counter[str]


def read(folder: str | os.PathLike[str], *, settings: Settings | None = None) -> Iterator[Scene]:
    """The scenes of all recordings in a folder, one after another, by the ids of the recordings.

    Raises:
        ShiftbenchError: as `sources`; then, at its turn, for a recording that is damaged.
    """
    for source in sources(folder):
        yield from scenes_of(source, settings=settings).scenes


def scenes_of(source: Source, *, settings: Settings | None = None) -> Cut:
    """The scenes of one recording.

    Raises:
        ShiftbenchError: for all that is wrong with its tables and its map.
    """
    chosen = settings or Settings()
    problems: list[str] = []
    recording = road_map = None
    try:
        if source.poses is None:
            recording = read_scenario(source, span=TO_PRESENT)
        else:
            recording = read_log(source, stride=round(chosen.stride_s * HZ), sweeps=SWEEPS)
    except ShiftbenchError as error:
        problems += error.problems
    try:
        road_map = read_map(source.road_map, speed_limit_ms=chosen.speed_limit_ms)
    except ShiftbenchError as error:
        problems += error.problems
    if recording is None or road_map is None:
        raise ShiftbenchError(*problems)
    scenes = windows(recording, road_map.road, moved_m=chosen.moved_m, reach_m=chosen.reach_m)
    return Cut(tuple(scenes), +(recording.left_out + road_map.left_out))
