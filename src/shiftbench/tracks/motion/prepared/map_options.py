"""Settings of maps as words of the command line, such as `size=400`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from shiftbench.errors import SettingsError, ShiftbenchError, UnknownNameError
from shiftbench.tracks.motion.maps.map_settings import MapSettings

LISTS = ("channels", "history", "road_history")


def settings(words: Sequence[str]) -> MapSettings:
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
    said = {name.strip(): value for name, sign, value in pairs if sign and value.strip()}
    problems += [str(UnknownNameError("map setting", name, known)) for name in said if name not in known]
    counted = Counter(name.strip() for name, *_ in pairs)
    problems += [f"{name}: expected it once, found it {count} times." for name, count in counted.items() if count > 1]
    try:
        found = MapSettings.of(**{name: _value(name, value) for name, value in said.items() if name in known})
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
