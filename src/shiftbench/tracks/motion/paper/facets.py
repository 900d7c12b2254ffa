"""Tables 15 to 19: how much data there is, and how it divides by place, season, weather, light and maneuver.

In the first version these are Tables 8 to 12. Print counts all scenes of a part; a run knows those of its partitions.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any

from shiftbench.report.digits import MISSING, count_text
from shiftbench.track.paper.run import origins
from shiftbench.track.paper.table import Row, Table
from shiftbench.tracks.motion.paper.systems import PAPER, Bundle
from shiftbench.tracks.motion.schema import COUNTS, PARTITIONS, PARTS, SCENES

Tags = Mapping[str, Mapping[str, Mapping[str, int]]]
"""Partition → group of tags → label → scenes, or requests for `maneuver`."""

TITLES = {
    "location": "Location", "season": "Season", "precipitation": "Precipitation", "sun_phase": "Phase of the sun",
    "maneuver": "Maneuver",
}  # fmt: skip
FACETS = {
    "Table 16": (("location", "season"), "Scenes by location and season", "Table 9"),
    "Table 17": (("precipitation", "sun_phase"), "Scenes by precipitation and phase of the sun", "Table 10"),
    "Table 18": (("maneuver",), "Requests by maneuver", "Table 11"),
}
SHIFT = {"in": ("train", "dev_in", "eval_in"), "shifted": ("dev_out", "eval_out")}


def tables(bundles: Sequence[Bundle]) -> list[Table]:
    """Table 15 as printed with the runs' own numbers of scenes, then Tables 16 to 19."""
    known = {bundle.name: found for bundle in bundles if (found := tags(bundle))}
    counted = [bundle for bundle in bundles if bundle.name in known]
    facets = [_facets(number, counted, known) for number in FACETS]
    return [_datasets(known), *facets, _partitions(counted, known)]


def tags(bundle: Bundle) -> Tags:
    """The counts that a run's reports hold, of its partitions; invalid counts are left out."""
    for entry in bundle.runs:
        found = {name: _groups(entry.report.recipe.get("tags"), name) for name in PARTITIONS}
        if any(found.values()):
            return found
    return {}


def _groups(value: Any, name: str) -> dict[str, dict[str, int]]:
    # A report is a file, which anybody may have written.
    groups = value.get(name) if isinstance(value, Mapping) else None
    if not isinstance(groups, Mapping):
        return {}
    return {
        str(group): {
            str(label): count
            for label, count in labels.items()
            if isinstance(count, int) and not isinstance(count, bool)
        }
        for group, labels in groups.items()
        if isinstance(labels, Mapping)
    }


def of_part(found: Tags, part: str, group: str, label: str) -> int | None:
    """Scenes of all partitions of a part with a tag; None if none of them is counted."""
    every = [
        groups[group].get(label, 0) for name, groups in found.items() if name.split("_")[0] == part and group in groups
    ]
    return sum(every) if every else None


def scenes(found: Tags, partition: str) -> int | None:
    """Scenes of a partition: every scene has one location, known or not."""
    counts = found.get(partition, {}).get("location")
    return None if counts is None else sum(counts.values())


@cache
def datasets() -> tuple[dict[str, str], ...]:
    """The rows of Table 15, as printed."""
    text = resources.files(__package__).joinpath("datasets.csv").read_text("utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def _datasets(known: Mapping[str, Tags]) -> Table:
    words = [tuple(_count(row[name]) for name in ("length_s", *PARTS, "hours", "actors")) for row in datasets()]
    for found in known.values():
        sizes = [
            [count for name in PARTITIONS if name.split("_")[0] == part and (count := scenes(found, name)) is not None]
            for part in PARTS
        ]
        total = sum(map(sum, sizes))
        shown = [count_text(sum(each)) if each else MISSING for each in sizes]
        words.append(("10", *shown, f"{total * 10 / 3600:,.3g}", MISSING))
    return Table(
        number="Table 15",
        paper=PAPER,
        title="Datasets",
        caption="Sizes of motion prediction datasets, as printed, and of the runs' data below.",
        label="Dataset",
        rows=tuple(Row(row["dataset"]) for row in datasets()) + tuple(Row(name) for name in known),
        heads=("Scene length (s)", "Train scenes", "Dev scenes", "Eval scenes", "Hours", "Actors per scene"),
        words=tuple(words),
        notes=(
            "Table 8 in the first version of the paper.",
            *(("For the runs, scenes in partitions are counted.",) if known else ()),
        ),
    )


def _count(text: str) -> str:
    return count_text(int(text)) if text else MISSING


def _facets(number: str, bundles: Sequence[Bundle], known: Mapping[str, Tags]) -> Table:
    groups, title, first = FACETS[number]
    rows = [(group, label) for group in groups for label in COUNTS["train"][group]]
    named = ["ours"] if len(known) == 1 else list(known)
    words = []
    for group, label in rows:
        words.append(
            tuple(
                count_text(count)
                for part in PARTS
                for count in (
                    COUNTS[part][group][label],
                    *(of_part(each, part, group, label) for each in known.values()),
                )
            )
        )
    return Table(
        number=number,
        paper=PAPER,
        title=title,
        caption=f"Counts by tag. {_origins(bundles)}",
        label="Tag",
        rows=tuple(Row(f"{TITLES[group]}: {label}" if len(groups) > 1 else label) for group, label in rows),
        heads=tuple(f"{part.capitalize()}, {name}" for part in PARTS for name in ("printed", *named)),
        words=tuple(words),
        notes=(f"{first} in the first version of the paper.", *_whole(known)),
    )


def _whole(known: Mapping[str, Tags]) -> Iterator[str]:
    if known:
        yield "The paper counts whole parts; ours are those in partitions, which leave out some cities and weather."


def _partitions(bundles: Sequence[Bundle], known: Mapping[str, Tags]) -> Table:
    named = ["ours"] if len(known) == 1 else list(known)
    where = {name: subset for subset, names in SHIFT.items() for name in names}
    words = []
    for partition in PARTITIONS:
        counts = (SCENES[partition], *(scenes(each, partition) for each in known.values()))
        words.append((where[partition], *(count_text(count) for count in counts)))
    return Table(
        number="Table 19",
        paper=PAPER,
        title="Scenes of the canonical partition",
        caption=f"How many scenes each partition has. {_origins(bundles)}",
        label="Partition",
        rows=tuple(Row(partition) for partition in PARTITIONS),
        heads=("Subset", *(f"Scenes, {name}" for name in ("printed", *named))),
        words=tuple(words),
        notes=("Table 12 in the first version of the paper.", *_same(bundles, known)),
    )


def _same(bundles: Sequence[Bundle], known: Mapping[str, Tags]) -> Iterator[str]:
    """Of official data, whether the counts are the printed ones."""
    for bundle in bundles:
        if bundle.runs[0].official:
            counts = {name: scenes(known[bundle.name], name) for name in PARTITIONS}
            other = [name for name, count in counts.items() if count is not None and count != SCENES[name]]
            yield f"{bundle.name}: {'others in ' + ', '.join(other) if other else 'all as printed'}."


def _origins(bundles: Sequence[Bundle]) -> str:
    return origins([bundle.runs[0] for bundle in bundles]) if bundles else "No run counts its tags."
