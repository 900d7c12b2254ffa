"""Which scenes are in which partition, by city and precipitation, and how many there are of each tag.

The data comes in three parts, train, dev and eval; of each only some scenes are used (Malinin et al. 2021, Figure 16).
The figure and the counts of Table 19 keep sleet in the shifted evaluation data; the published filter drops it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import cache

import numpy as np
import numpy.typing as npt

from shiftbench import argument
from shiftbench.tracks.motion.schema import (
    PARTITIONS,
    PARTS,
    SCENE_TAGS,
    UNKNOWN,
    City,
    Maneuver,
    Precipitation,
    SceneTags,
    Tag,
    facts,
)

RULES = ("canonical", "published")


MOST_SCENES = 10_000_000


def partition_of(tags: SceneTags, part: str, *, rule: str = "canonical") -> str | None:
    """The partition of a scene from `part` (train, dev or eval) of the data; None if it is in none.

    A scene whose city or precipitation is unknown is in none.

    Raises:
        UnknownNameError: for an unknown part or rule.
    """
    argument.choice("part", part, PARTS)
    argument.choice("rule", rule, RULES)
    return _table(rule).get((tags.track, tags.precipitation, part))


@cache
def _table(rule: str) -> dict[tuple[City, Precipitation, str], str]:
    """(city, precipitation, part) → partition."""
    cities, weather = {each.label: each for each in City}, {each.label: each for each in Precipitation}
    column = "partitions" if rule == "canonical" else "partitions_published"
    return {
        (cities[line["city"]], weather[line["precipitation"]], partition.split("_")[0]): partition
        for line in facts("partition.csv")
        for partition in line[column].split()
    }


def partitions(tags: Iterable[SceneTags], part: str, *, rule: str = "canonical") -> dict[str, npt.NDArray[np.int64]]:
    """The places of the scenes of each partition among the N scenes of a part, ascending; unused ones are in none.

    Raises:
        UnknownNameError: for an unknown part or rule.
    """
    argument.choice("part", part, PARTS)
    argument.choice("rule", rule, RULES)
    found = [
        partition_of(each, part, rule=rule) for each in argument.several("tags", tags, SceneTags, most=MOST_SCENES)
    ]
    names = [name for name in PARTITIONS if name.split("_")[0] == part]
    return {name: np.flatnonzero([each == name for each in found]) for name in names}


def tag_counts(tags: Iterable[SceneTags], maneuvers: Iterable[Maneuver] = ()) -> dict[str, dict[str, int]]:
    """How many scenes, and requests for `maneuver`, have each tag: group → label → number, as `schema.COUNTS` has them.

    Unknown tags are counted only where there are some.
    """
    scenes = list(tags)
    groups: dict[str, tuple[type[Tag], Iterable[Tag]]] = {
        "location" if key == "track" else key: (kind, [getattr(each, key) for each in scenes])
        for key, kind in SCENE_TAGS.items()
    }
    groups["maneuver"] = (Maneuver, maneuvers)
    return {group: _counted(kind, found) for group, (kind, found) in groups.items()}


def _counted(kind: type[Tag], found: Iterable[Tag]) -> dict[str, int]:
    numbers = Counter(found)
    return {each.label: numbers[each] for each in kind if numbers[each] or each.label != UNKNOWN}
