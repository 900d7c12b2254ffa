"""Where recordings lie: a scenario's folder, a sensor log's folder, or a folder of many, at any depth."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shiftbench.errors import ShiftbenchError
from shiftbench.io import files

SCENARIO = "scenario_*.parquet"
POSES = "city_SE3_egovehicle.feather"
ANNOTATIONS = "annotations*.feather"
MAP = "log_map_archive_*.json"


@dataclass(frozen=True)
class Source:
    """The files of one recording: a scenario's table, or a log's annotations and poses; and its map.

    `poses` is None of a scenario.
    """

    folder: Path
    table: Path
    road_map: Path
    poses: Path | None = None

    @property
    def id(self) -> str:
        """How Argoverse names the recording: a scenario as its file does, a log as its folder."""
        return self.folder.resolve().name if self.poses else self.table.stem.removeprefix("scenario_")

    def hashes(self) -> dict[str, str]:
        """File name → SHA-256 of its contents: what tells a recording from one that was changed under its id.

        Raises:
            ShiftbenchError: for all files that cannot be read.
        """
        found, problems = {}, []
        for path in filter(None, (self.table, self.road_map, self.poses)):
            try:
                found[path.name] = files.sha256(path)
            except OSError as error:
                problems.append(f"{path}: expected a file that can be read, found: {error.strerror}. Get it again.")
        if problems:
            raise ShiftbenchError(*problems)
        return found


@dataclass(frozen=True)
class Damaged:
    """A recording that cannot be imported: its id, and all that is wrong with it."""

    recording: str
    problems: tuple[str, ...]


def sources(folder: str | os.PathLike[str]) -> tuple[Source, ...]:
    """The recordings in a folder, sorted by id.

    Raises:
        ShiftbenchError: as `search`; naming every recording that lacks its map, its poses or its annotations, or has
            several tables, and ids that come twice.
    """
    found, damaged = search(folder)
    if damaged:
        raise ShiftbenchError(*(problem for each in damaged for problem in each.problems))
    return found


def search(folder: str | os.PathLike[str]) -> tuple[tuple[Source, ...], tuple[Damaged, ...]]:
    """The recordings in a folder whose files are there, and the others, sorted by id.

    Of recordings with the same id, the first is the one that is there.

    Raises:
        ShiftbenchError: if there are none at all.
    """
    root = Path(folder)
    if not root.is_dir():
        raise ShiftbenchError(
            f"{root}: expected a folder of Argoverse 2 scenarios or sensor logs, found "
            f"{'a file' if root.exists() else 'nothing'}. Check the path; unpack archives first."
        )
    whole: dict[str, Source] = {}
    damaged = []
    for each in _found(root):
        if isinstance(each, Damaged):
            damaged.append(each)
        elif before := whole.get(each.id):
            problem = f"{each.folder}: expected each recording once, found {each.id} in {before.folder} too."
            damaged.append(Damaged(each.id, (problem,)))
        else:
            whole[each.id] = each
    if not whole and not damaged:
        raise ShiftbenchError(
            f"{root}: expected {SCENARIO}, or {POSES} with {ANNOTATIONS}, found neither. "
            "Is this a folder of Argoverse 2's forecasting or sensor data?"
        )
    return tuple(whole[name] for name in sorted(whole)), tuple(sorted(damaged, key=lambda each: each.recording))


def _found(root: Path) -> Iterator[Source | Damaged]:
    for place, below, _ in os.walk(root):
        below.sort()
        folder = Path(place)
        scenarios, poses = sorted(folder.glob(SCENARIO)), folder / POSES
        annotations = sorted(folder.glob(ANNOTATIONS))
        if scenarios:
            yield _source(folder, scenarios, None)
        elif poses.exists() or annotations:
            yield _source(folder, annotations, poses)


def _source(folder: Path, tables: Sequence[Path], poses: Path | None) -> Source | Damaged:
    maps = sorted([*folder.glob(MAP), *folder.glob(f"map/{MAP}")])
    wanted = SCENARIO if poses is None else ANNOTATIONS
    wrong = [
        f"{folder}: expected one {name}, found {len(found) or 'none'}. {hint}"
        for name, found, hint in (
            (
                wanted,
                tables,
                "Without its annotations a log shows nobody." if poses else "Keep one recording a folder.",
            ),
            (MAP, maps, "It lies beside the table or in the folder map: get it with the recording."),
        )
        if len(found) != 1
    ]
    if poses and not poses.is_file():
        wrong.append(f"{folder}: expected {POSES}, found none. Annotations are in the frame of the ego vehicle.")
    return Damaged(folder.resolve().name, tuple(wrong)) if wrong else Source(folder, tables[0], maps[0], poses)
