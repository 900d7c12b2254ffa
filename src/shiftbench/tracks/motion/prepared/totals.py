"""Totals over all shards of a preparation, compared with the published counts of the official data."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

from shiftbench.errors import TableError, counted
from shiftbench.tracks.motion.partitions import tag_counts
from shiftbench.tracks.motion.schema import (
    COUNTS,
    PARTITIONS,
    PARTS,
    REQUESTS,
    SCENE_TAGS,
    SCENES,
    City,
    Maneuver,
    Precipitation,
    SceneTags,
)

LISTED = 20
NEAR = 0.1  # a part whose number of scenes differs by at most this share from print may be the official one
UNTAGGED = "scenes of unknown city or precipitation"


@dataclass
class Totals:
    """Numbers of scenes and requests.

    scenes: (part, partition or "", numbers of the tags) → scenes. maneuvers: (part, partition or "") → maneuver → its
    usable requests. requests: partition → usable requests. unused: reason → unused requests.
    """

    scenes: Counter[tuple[str, str, tuple[int, ...]]] = field(default_factory=Counter)
    maneuvers: defaultdict[tuple[str, str], Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    requests: Counter[str] = field(default_factory=Counter)
    unused: Counter[str] = field(default_factory=Counter)

    def partition_scenes(self) -> dict[str, int]:
        """Partition → number of scenes."""
        counted = Counter[str]()
        for (_, partition, _), number in self.scenes.items():
            counted[partition] += number
        return {name: counted[name] for name in PARTITIONS}

    def partition_tags(self, name: str) -> dict[str, dict[str, int]]:
        """The numbers of scenes and requests of a partition by tag, as `partitions.tag_counts`."""
        return self._tags(1, name)

    def part_tags(self, name: str) -> dict[str, dict[str, int]]:
        """The same for a part of the data, scenes outside all partitions included."""
        return self._tags(0, name)

    def _tags(self, axis: int, name: str) -> dict[str, dict[str, int]]:
        scenes = (repeat(_tags(key[2]), number) for key, number in self.scenes.items() if key[axis] == name)
        tallies = (tally for key, tally in self.maneuvers.items() if key[axis] == name)
        maneuvers = (repeat(Maneuver(tag), count) for tally in tallies for tag, count in tally.items())
        return tag_counts(chain.from_iterable(scenes), chain.from_iterable(maneuvers))

    def unused_by_reason(self) -> dict[str, int]:
        """Reason → number of scenes outside all partitions, and of unused requests of the others."""
        found = Counter[str]()
        for (part, partition, numbers), count in self.scenes.items():
            if not partition:
                found[_reason(part, _tags(numbers))] += count
        return {name: count for name, count in [*sorted(found.items()), *sorted(self.unused.items())] if count}


def _tags(numbers: Iterable[int]) -> SceneTags:
    named: dict[str, Any] = {key: kind(number) for (key, kind), number in zip(SCENE_TAGS.items(), numbers, strict=True)}
    return SceneTags(**named)


def _reason(part: str, tags: SceneTags) -> str:
    if tags.track == City.UNKNOWN or tags.precipitation == Precipitation.UNKNOWN:
        return UNTAGGED
    return f"scenes of {part} in {tags.track.label}, precipitation: {tags.precipitation.label}"


def totals(notes: Iterable[Mapping[str, Any]]) -> Totals:
    """The sums over the notes of all shards.

    Raises:
        TableError: naming duplicate scenes, the first few with their files; or if there are no requests.
    """
    found, files = Totals(), defaultdict[str, list[str]](list)
    for note in notes:
        part = note["scenes"][0][1].partition("/")[0]
        for identity, file, numbers, partition, requests in note["scenes"]:
            files[identity].append(file)
            found.scenes[part, partition or "", tuple(numbers)] += 1
            if partition:
                found.requests[partition] += requests
        for partition, counts in note["maneuvers"].items():
            found.maneuvers[part, partition].update(dict(zip(map(int, Maneuver), counts, strict=True)))
        found.unused.update(note["unused"])
    if problems := copies(files):
        raise TableError(*problems)
    if not found.requests.total():
        unused = "; ".join(f"{count:,} {reason}" for reason, count in found.unused_by_reason().items())
        raise TableError(
            f"expected at least one request that can be scored, found none in {counted(len(files), 'scene')}. Not "
            f"used: {unused or 'none, since they have no requests'}. Scenes outside all partitions can be a --test-set "
            "of a run."
        )
    return found


def copies(files: Mapping[str, list[str]]) -> list[str]:
    """The problems of duplicate scenes. found: id → all files that hold it."""
    twice = [(identity, where) for identity, where in files.items() if len(where) > 1]
    problems = [
        f"scene {identity}: expected one file, found {len(where)} ({', '.join(where[:3])}). Remove the copies."
        for identity, where in twice[:LISTED]
    ]
    more = [f"… and {len(twice) - LISTED:,} more scenes that come twice."] if len(twice) > LISTED else []
    return problems + more


@dataclass(frozen=True)
class Comparison:
    """Whether data are the official ones, by all published counts of scenes of their parts; notes on differences."""

    official: bool
    notes: tuple[str, ...] = ()


def compared(found: Totals, *, experiment: str) -> Comparison:
    """Compare data with Tables 16 to 19, if each of their parts has about the printed number of scenes.

    Maneuvers are printed by requests, but not which requests were counted, so their differences are only reported.
    """
    parts = [name for name in PARTS if any(part == name for part, _, _ in found.scenes)]
    own = {name: sum(number for (part, _, _), number in found.scenes.items() if part == name) for name in parts}
    printed = {name: sum(COUNTS[name]["location"].values()) for name in parts}
    if any(abs(own[name] - printed[name]) > NEAR * printed[name] for name in parts):
        return Comparison(False)
    tags = {name: found.part_tags(name) for name in parts}
    scenes = [note for name in parts for note in _tag_notes(tags[name], name, maneuvers=False)]
    if experiment == "canonical":
        kept = [name for name in PARTITIONS if name.split("_")[0] in parts]
        scenes += _differing({name: found.partition_scenes()[name] for name in kept}, SCENES, "scenes of partitions")
    others = [note for name in parts for note in _tag_notes(tags[name], name, maneuvers=True)]
    valid = {name: found.requests[name] for name in PARTITIONS if name in REQUESTS and name.split("_")[0] in parts}
    return Comparison(not scenes, (*scenes, *others, *_differing(valid, REQUESTS, "requests of partitions")))


def _tag_notes(own: Mapping[str, dict[str, int]], part: str, *, maneuvers: bool) -> Iterator[str]:
    for group in own:
        if group in COUNTS[part] and (group == "maneuver") == maneuvers:
            yield from _differing(own[group], COUNTS[part][group], f"{part}, {group}")


def _differing(own: Mapping[str, int], printed: Mapping[str, int], what: str) -> list[str]:
    """A note of the counts that are not the printed ones, if any."""
    pairs = [(name, found, printed.get(name, 0)) for name, found in own.items()]
    shown = "; ".join(f"{name}: {found:,} ({known:,})" for name, found, known in pairs if found != known)
    return [f"{what}, published in brackets: {shown}"] if shown else []
