"""The tracks of the Shifts benchmark, one folder each; a track is its folder and one line here."""

from __future__ import annotations

import importlib

from shiftbench.errors import UnknownNameError
from shiftbench.methods import METHODS
from shiftbench.track import Track

TRACKS = ("weather", "power", "motion")
METHODS.register_home("symbolic", "shiftbench.tracks.power.symbolic.method:METHOD")


def track(name: str) -> Track:
    """The track of this name, its folder imported now.

    Raises:
        UnknownNameError: if there is none; the message names the nearest.
    """
    if name not in TRACKS:
        raise UnknownNameError("track", name, TRACKS)
    found = importlib.import_module(f"shiftbench.tracks.{name}.definition").TRACK
    assert isinstance(found, Track)
    return found
