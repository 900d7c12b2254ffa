"""What a feature map shows: its channels, steps and size, checked once."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shiftbench.errors import SettingsError, UnknownNameError
from shiftbench.tracks.motion.maps.road_drawing import LAYERS
from shiftbench.tracks.motion.scenes.frame import INTERPOLATIONS
from shiftbench.tracks.motion.schema import PAST

GROUPS = {
    "vehicles": ("occupancy", "velocity_x", "velocity_y", "acceleration_x", "acceleration_y", "yaw"),
    "pedestrians": ("occupancy", "velocity_x", "velocity_y"),
    "road_graph": tuple(LAYERS),
}
CHANNELS = tuple(f"{group}.{name}" for group, names in GROUPS.items() for name in names)
YAW_FRAMES = ("global", "agent")
MOST_PIXELS = 2**24  # of one channel; 64 MiB


@dataclass(frozen=True)
class MapSettings:
    """The settings of `feature_map`, checked; of equal settings come equal maps.

    `size` is (rows, columns), `channels` are names of `CHANNELS`, in the order of the groups.

    Raises:
        SettingsError: naming all settings that are out of range.
        UnknownNameError: for a channel, a frame or an interpolation that is none.
    """

    size: tuple[int, int] = (128, 128)
    metres_per_pixel: float = 1.0
    channels: tuple[str, ...] = CHANNELS
    history: tuple[int, ...] = (0,)
    road_history: tuple[int, ...] = (0,)
    yaw_frame: str = "global"
    interpolation: str = "published"

    def __post_init__(self) -> None:
        known = {"yaw frame": (self.yaw_frame, YAW_FRAMES), "interpolation": (self.interpolation, INTERPOLATIONS)}
        for kind, (name, names) in known.items():
            if name not in names:
                raise UnknownNameError(kind, name, names)
        for name in self.channels:
            if name not in CHANNELS:
                raise UnknownNameError("channel", name, CHANNELS)
        if problems := [*_size_problems(self), *_channel_problems(self), *_step_problems(self)]:
            raise SettingsError(*problems)

    @classmethod
    def of(
        cls, *, size: int | Sequence[int] = 128, channels: Iterable[str | int] | None = None, **others: Any
    ) -> MapSettings:
        """The settings from the arguments of `feature_map`: one number for a size, numbers for channels."""
        pair = (size, size) if isinstance(size, numbers.Integral) else tuple(size)  # type: ignore[arg-type]
        names = CHANNELS if channels is None else tuple(map(_name, channels))
        steps = {name: tuple(others.pop(name)) for name in ("history", "road_history") if name in others}
        return cls(size=pair, channels=names, **steps, **others)  # type: ignore[arg-type]

    @cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The chosen channels by group, without its name."""
        return {
            group: tuple(name.partition(".")[2] for name in self.channels if name.startswith(f"{group}."))
            for group in GROUPS
        }

    @property
    def planes(self) -> int:
        """How many channels C a map has, all steps counted."""
        road = len(self.names["road_graph"])
        return (len(self.channels) - road) * len(self.history) + road * len(self.road_history)


def _name(channel: str | int) -> str:
    if isinstance(channel, numbers.Integral):
        if not 0 <= channel < len(CHANNELS):
            raise UnknownNameError("channel", channel, map(str, range(len(CHANNELS))))
        return CHANNELS[int(channel)]
    return str(channel)


def _size_problems(settings: MapSettings) -> list[str]:
    problems = []
    size = settings.size
    whole = len(size) == 2 and all(isinstance(side, numbers.Integral) and side >= 1 for side in size)
    if not whole or math.prod(size) > MOST_PIXELS:
        problems.append(
            f"size: expected (rows, columns), whole numbers from 1 on and at most {MOST_PIXELS:,} pixels, found {size}."
        )
    if not (math.isfinite(settings.metres_per_pixel) and settings.metres_per_pixel > 0):
        problems.append(f"metres_per_pixel: expected a number above 0, found {settings.metres_per_pixel}.")
    return problems


def _channel_problems(settings: MapSettings) -> list[str]:
    chosen, groups = settings.channels, [name.partition(".")[0] for name in settings.channels]
    problems = []
    if not chosen or len(set(chosen)) < len(chosen):
        problems.append(f"channels: expected at least one, and each once, found {', '.join(chosen) or 'none'}.")
    if groups != sorted(groups, key=list(GROUPS).index):
        problems.append(
            f"channels: expected those of vehicles first, then pedestrians, then road_graph, as they stand in a map, "
            f"found {', '.join(chosen)}. Change their order."
        )
    return problems


def _step_problems(settings: MapSettings) -> list[str]:
    return [
        f"{name}: expected steps before T = 0, whole numbers from 0 to {PAST - 1}, at least one and each once, "
        f"found {steps}."
        for name, steps in (("history", settings.history), ("road_history", settings.road_history))
        if not steps
        or len(set(steps)) < len(steps)
        or not all(isinstance(step, numbers.Integral) and 0 <= step < PAST for step in steps)
    ]
