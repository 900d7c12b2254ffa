"""Settings of feature maps: channels, steps and size, also from text such as `size=400`."""

from __future__ import annotations

import math
import numbers
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.errors import SettingsError, ShiftbenchError, UnknownNameError
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
LISTS = ("channels", "history", "road_history")
MOST_PIXELS = 2**24  # of one channel; 64 MiB
FINEST, COARSEST = 1e-3, 1e3  # metres per pixel; finer ones exceed float32


@dataclass(frozen=True)
class MapSettings:
    """The checked settings of `feature_map`; equal settings give equal maps.

    `size` is (rows, columns), `channels` are names of `CHANNELS`, in the order of the groups.

    Raises:
        SettingsError: naming all settings that are of another kind or out of range.
        UnknownNameError: if nothing is wrong but one unknown channel, frame or interpolation.
    """

    size: tuple[int, int] = (128, 128)
    metres_per_pixel: float = 1.0
    channels: tuple[str, ...] = CHANNELS
    history: tuple[int, ...] = (0,)
    road_history: tuple[int, ...] = (0,)
    yaw_frame: str = "global"
    interpolation: str = "published"

    def __post_init__(self) -> None:
        unknown = [UnknownNameError(*each) for each in _unknown(self)]
        problems = [*_size_problems(self), *_channel_problems(self), *_step_problems(self)]
        if len(unknown) == 1 and not problems:
            raise unknown[0]
        if unknown or problems:
            raise SettingsError(*problems, *map(str, unknown))
        for name in ("size", "history", "road_history"):  # NumPy's numbers are not JSON, and 1 becomes 1.0
            object.__setattr__(self, name, tuple(map(int, getattr(self, name))))
        object.__setattr__(self, "metres_per_pixel", float(self.metres_per_pixel))

    @classmethod
    def of(cls, *, size: Any = 128, channels: Any = None, **others: Any) -> MapSettings:
        """The settings from the arguments of `feature_map`: one number for a size, numbers for channels.

        Raises:
            SettingsError, UnknownNameError: as the settings themselves.
        """
        pair = (size, size) if _is_whole(size) else _listed(size)
        chosen = CHANNELS if channels is None else _listed(channels)
        names = tuple(map(_name, chosen)) if isinstance(chosen, tuple) else chosen
        steps = {name: _listed(others.pop(name)) for name in ("history", "road_history") if name in others}
        return cls(size=pair, channels=names, **steps, **others)

    @cached_property
    def names(self) -> dict[str, tuple[str, ...]]:
        """The chosen channels by group, without its name."""
        return {
            group: tuple(name.partition(".")[2] for name in self.channels if name.startswith(f"{group}."))
            for group in GROUPS
        }

    @property
    def planes(self) -> int:
        """The number of channels C of a map, over all steps."""
        road = len(self.names["road_graph"])
        return (len(self.channels) - road) * len(self.history) + road * len(self.road_history)


def _listed(values: Any) -> Any:
    """A list as a tuple; other values are kept for the check to report them."""
    if isinstance(values, str | bytes):
        return values
    try:
        return tuple(check.as_array("values", values) if isinstance(values, np.ndarray) else values)
    except TypeError:
        return values


def _name(channel: Any) -> Any:
    """The name of a channel; an unknown number is kept as it is."""
    return CHANNELS[int(channel)] if _is_whole(channel) and 0 <= channel < len(CHANNELS) else channel


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _unknown(settings: MapSettings) -> Iterator[tuple[str, object, Iterable[str]]]:
    """An unknown name: its kind, the name, and the known ones."""
    for name in settings.channels if isinstance(settings.channels, tuple) else ():
        if _is_whole(name):
            yield "channel", name, map(str, range(len(CHANNELS)))
        elif not isinstance(name, str) or name not in CHANNELS:
            yield "channel", name, CHANNELS
    named = {"yaw frame": (settings.yaw_frame, YAW_FRAMES), "interpolation": (settings.interpolation, INTERPOLATIONS)}
    for kind, (name, known) in named.items():
        if not isinstance(name, str) or name not in known:
            yield kind, name, known


def _size_problems(settings: MapSettings) -> Iterator[str]:
    size, metres = settings.size, settings.metres_per_pixel
    whole = isinstance(size, tuple) and len(size) == 2 and all(_is_whole(side) and side >= 1 for side in size)
    if not whole or math.prod(map(int, size)) > MOST_PIXELS:
        yield (
            "size: expected (rows, columns) or one number for both, whole numbers from 1 on and at most "
            f"{MOST_PIXELS:,} pixels, found {size!r}."
        )
    number = isinstance(metres, numbers.Real) and not isinstance(metres, bool)
    if not number or not FINEST <= metres <= COARSEST:
        yield f"metres_per_pixel: expected a number from {FINEST:g} to {COARSEST:g}, found {metres!r}."


def _channel_problems(settings: MapSettings) -> Iterator[str]:
    chosen = settings.channels
    if not isinstance(chosen, tuple):
        yield f"channels: expected a list of names or numbers of channels, found {chosen!r}."
        return
    names = [name for name in chosen if isinstance(name, str) and name in CHANNELS]
    if not chosen or len(set(names)) < len(names):
        yield f"channels: expected at least one, and each once, found {', '.join(map(str, chosen)) or 'none'}."
    groups = [name.partition(".")[0] for name in names]
    if groups != sorted(groups, key=list(GROUPS).index):
        yield (
            "channels: expected those of vehicles first, then pedestrians, then road_graph, as they stand in a map, "
            f"found {', '.join(names)}. Change their order."
        )


def _step_problems(settings: MapSettings) -> Iterator[str]:
    for name in ("history", "road_history"):
        steps = getattr(settings, name)
        whole = isinstance(steps, tuple) and all(_is_whole(step) and 0 <= step < PAST for step in steps)
        if not whole or not steps or len(set(steps)) < len(steps):
            yield (
                f"{name}: expected a list of steps before T = 0, whole numbers from 0 to {PAST - 1}, at least one and "
                f"each once, found {steps!r}."
            )


# --- from options of the command line
# ----------------------------------------------------------------------------------


def settings_of(words: Sequence[str]) -> MapSettings:
    """Map settings from words NAME=VALUE: size=400 or 300,400, channels=0,vehicles.yaw, history=24,12,0, and so on.

    Raises:
        SettingsError: naming every setting that is unknown, given twice or out of range.
    """
    known = [each.name for each in fields(MapSettings)]
    pairs = [word.partition("=") for word in words]
    problems = [
        f"expected NAME=VALUE, found {word!r}. Say for instance size=400."
        for word, (_, sign, value) in zip(words, pairs, strict=True)
        if not sign or not value.strip()
    ]
    given = {name.strip(): value for name, sign, value in pairs if sign and value.strip()}
    problems += [str(UnknownNameError("map setting", name, known)) for name in given if name not in known]
    counted = Counter(name.strip() for name, *_ in pairs)
    problems += [f"{name}: expected it once, found it {count} times." for name, count in counted.items() if count > 1]
    try:
        found = MapSettings.of(**{name: _value(name, value) for name, value in given.items() if name in known})
    except ShiftbenchError as error:
        problems += error.problems
    if problems:
        raise SettingsError(*problems)
    return found


def _value(name: str, text: str) -> Any:
    """A number, a list or a name; anything else is kept for the settings to refuse."""
    listed = name in LISTS or (name == "size" and "," in text)
    return tuple(map(_number, text.split(","))) if listed else _number(text)


def _number(text: str) -> Any:
    """A text as a number if it is one."""
    try:
        number = float(text)
    except ValueError:
        return text.strip()
    return int(number) if number.is_integer() else number
