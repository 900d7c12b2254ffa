"""The tracks of the Shifts benchmark, one folder each, and those of other packages; ours is a folder and a line here.

Another package names its own under the entry points `shiftbench.tracks`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from shiftbench.methods import METHODS
from shiftbench.registry import Registry

if TYPE_CHECKING:
    from shiftbench.track import Track

# Each track, and the methods that are its own: name → where in its folder.
TRACKS: dict[str, dict[str, str]] = {
    "weather": {},
    "power": {"symbolic": "symbolic.method:METHOD"},
    "motion": {},
    "lesions": {},
    "translation": {},
}
HOMES = {name: f"shiftbench.tracks.{name}.definition:TRACK" for name in TRACKS}
for _track, _methods in TRACKS.items():
    for _method, _home in _methods.items():
        METHODS.register_home(_method, f"shiftbench.tracks.{_track}.{_home}")


def names() -> tuple[str, ...]:
    """The names of all tracks, none of them loaded."""
    registry = _registry()
    registry.get("")  # warns of entry points whose names are taken
    return registry.names()


def track(name: str) -> Track:
    """The track of this name, loaded now.

    Raises:
        UnknownNameError: if there is none; the message names the nearest.
    """
    return _registry()[name]


@cache
def _registry() -> Registry[Track]:
    from shiftbench.track import Track

    return Registry("track", Track, "shiftbench.tracks", lazy=HOMES)
