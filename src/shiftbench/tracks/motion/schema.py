"""What a scene holds, as the paper and the wire format fix it: steps, tags and their names, cities, published counts.

Tags are those of Tables 16 to 18 of the paper, the partition that of Figure 16, the counts those of Tables 16 to 19 of
Malinin et al. 2021 (in its first version, Tables 9 to 12 and Figure 9). Numbers of enums are those of the wire format.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from enum import IntEnum
from functools import cache
from importlib import resources

PAST = 25  # steps; the last of them is the prediction time T = 0
FUTURE = 25
STEPS = PAST + FUTURE
HZ = 5
PARTS = ("train", "dev", "eval")
TRACK = "motion"
PARTITIONS = ("train", "dev_in", "dev_out", "eval_in", "eval_out")
UNKNOWN = "Unknown"
# Metres, m/s or m/s²: nothing on Earth is farther or faster, and squares beyond it would overflow.
LARGEST = 1e8


class Tag(IntEnum):
    """A tag by its number on the wire, with its name there and its label in the paper's tables."""

    @property
    def wire_name(self) -> str:
        """The name on the wire and in the published tag files: `kNight`, `AnnArbor`."""
        return _lines()[type(self).__name__, int(self)]["name"]

    @property
    def label(self) -> str:
        """The label of the paper's tables: `Night`, `Ann Arbor`; `Unknown` for 0 of a scene's tags."""
        return _lines()[type(self).__name__, int(self)]["label"]

    @property
    def description(self) -> str:
        """What the tag means, in a few words."""
        return _lines()[type(self).__name__, int(self)]["description"]


class Maneuver(Tag):
    """How a vehicle moves in its five future seconds; the only tag in which 0 is not "unknown"."""

    MOVE_LEFT = 0
    MOVE_RIGHT = 1
    MOVE_FORWARD = 2
    MOVE_BACK = 3
    ACCELERATION = 4
    DECELERATION = 5
    UNIFORM = 6
    STOPPING = 7
    STARTING = 8
    STATIONARY = 9


class DayTime(Tag):
    """Quarter of the day."""

    UNKNOWN = 0
    NIGHT = 1
    MORNING = 2
    AFTERNOON = 3
    EVENING = 4


class Season(Tag):
    """Season of the recording."""

    UNKNOWN = 0
    WINTER = 1
    SPRING = 2
    SUMMER = 3
    AUTUMN = 4


class SunPhase(Tag):
    """Phase of the sun."""

    UNKNOWN = 0
    ASTRONOMICAL_NIGHT = 1
    TWILIGHT = 2
    DAYLIGHT = 3


class City(Tag):
    """Where the scene was recorded: the tag `track` of the wire format."""

    UNKNOWN = 0
    MOSCOW = 1
    SKOLKOVO = 2
    INNOPOLIS = 3
    ANN_ARBOR = 4
    MODIIN = 5
    TEL_AVIV = 6


class Precipitation(Tag):
    """Precipitation during the scene."""

    UNKNOWN = 0
    NO = 1
    RAIN = 2
    SLEET = 3
    SNOW = 4


class LightState(IntEnum):
    """State of a traffic-light section."""

    UNKNOWN = 0
    GREEN = 1
    BLINKING_GREEN = 2
    YELLOW = 3
    RED = 4
    RED_YELLOW = 5
    NOT_WORKING = 6
    ENABLED = 7
    BLINKING_ENABLED = 8
    DISABLED = 9
    INVISIBLE = 10
    BLINKING_RED = 11


class Movement(IntEnum):
    """What a rule lets the traffic across a crosswalk do."""

    FORBIDDEN = 0
    ALLOWED_NO_PRIORITY = 1
    ALLOWED_WITH_PRIORITY = 2


@dataclass(frozen=True)
class SceneTags:
    """What is known of a scene as a whole; `UNKNOWN` (0) where the recording does not say."""

    day_time: DayTime = DayTime.UNKNOWN
    season: Season = Season.UNKNOWN
    track: City = City.UNKNOWN
    sun_phase: SunPhase = SunPhase.UNKNOWN
    precipitation: Precipitation = Precipitation.UNKNOWN


# The tags of a scene by their keys in messages and tag files; the paper's tables call `track` location.
SCENE_TAGS: dict[str, type[Tag]] = {
    "day_time": DayTime, "season": Season, "track": City, "sun_phase": SunPhase, "precipitation": Precipitation,
}  # fmt: skip
_GROUPS: dict[str, type[IntEnum]] = {
    "maneuver": Maneuver, "location": City, **{name: tag for name, tag in SCENE_TAGS.items() if name != "track"},
}  # fmt: skip
_UNUSED = {
    DayTime: "_kUnusedDayTime", Season: "_kUnusedSeason", SunPhase: "_kUnusedDaylight",
    City: "_kUnusedTrack", Precipitation: "_kUnusedPrecipitation",
}  # fmt: skip


def facts(name: str) -> list[dict[str, str]]:
    """The rows of a table shipped beside this module."""
    text = resources.files(__package__).joinpath(name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


@cache
def _lines() -> dict[tuple[str, int], dict[str, str]]:
    """Name, label and description of every tag."""
    lines = {(_GROUPS[line["group"]].__name__, int(line["number"])): line for line in facts("tags.csv")}
    unknown = {"label": UNKNOWN, "description": "not known"}
    return lines | {(tag.__name__, 0): {"name": name, **unknown} for tag, name in _UNUSED.items()}


def _counts() -> dict[str, dict[str, dict[str, int]]]:
    counts: dict[str, dict[str, dict[str, int]]] = {part: {} for part in PARTS}
    for line in facts("counts.csv"):
        for part in PARTS:
            counts[part].setdefault(line["group"], {})[line["label"]] = int(line[part])
    return counts


COUNTS = _counts()
"""Part → group of tags → label → number of scenes, or of requests for `maneuver`: Tables 16 to 18."""
SCENES = {line["partition"]: int(line["scenes"]) for line in facts("sizes.csv")}
"""Partition → number of scenes: Table 19; `eval` is the whole of its two partitions."""
REQUESTS = {line["partition"]: int(line["requests"]) for line in facts("sizes.csv") if line["requests"]}
"""Partition → number of valid prediction requests: train as the paper prints it, the others as its notebooks do.

The notebooks disagree on `eval`: 512,739 valid requests, but 512,652 predictions in a submission.
"""
