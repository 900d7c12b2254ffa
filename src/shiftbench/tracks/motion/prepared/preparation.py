"""From official scenes, or scenes of their form, to a prepared folder: check, draw, pack, divide, count.

An interrupted preparation is resumed when it is started again with the same folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.errors import ShiftbenchError, UnknownNameError
from shiftbench.io import executor as executors
from shiftbench.io import files, tables
from shiftbench.io.executor import Executor, Job, slurm
from shiftbench.io.output import alone
from shiftbench.progress import Progress, silent
from shiftbench.track import Prepared
from shiftbench.tracks.motion.maps import drawing
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.partitions import RULES
from shiftbench.tracks.motion.prepared import scene_checks, sources, staging
from shiftbench.tracks.motion.prepared.manifest import MANIFEST, read_manifest, write_places
from shiftbench.tracks.motion.prepared.request_table import with_recordings
from shiftbench.tracks.motion.prepared.shard_making import WORK
from shiftbench.tracks.motion.prepared.shard_plan import BEGUN, FORMAT, SCENES_PER_SHARD, Begun, Plan, read_json
from shiftbench.tracks.motion.prepared.sources import Found
from shiftbench.tracks.motion.prepared.totals import Totals, compared, totals
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.schema import PARTITIONS

__all__ = ["EXPERIMENTS", "open_prepared", "prepare", "slurm_script"]

EXPERIMENTS = RULES
ROW_GROUP = 2**16
PACKED = 2  # bytes of a prepared folder for each byte of scenes, at 128 px; measured on genuine scenes
UNKNOWN_ORIGIN = "scenes of unknown origin"


@dataclass(frozen=True)
class _Work:
    """The work in a folder: its plan and number of shards, and the origin of the data."""

    plan: Plan
    begun: Begun
    shards: int
    origin: str | None
    notes: tuple[str, ...]
    parts: dict[str, str] = field(default_factory=dict)  # folders of the scenes of each part, unless they were unpacked
    recordings: dict[str, str] = field(default_factory=dict)  # that scenes were cut from, if known

    @property
    def job(self) -> Job:
        folder = str(self.plan.folder.absolute())
        return Job(WORK, folder, self.shards, (folder, *(str(Path(part).absolute()) for part in self.parts.values())))


def prepare(
    source: Path,
    folder: Path,
    *,
    experiment: str = "canonical",
    progress: Progress | None = None,
    executor: str = "processes",
    workers: int | None = None,
    settings: MapSettings | None = None,
    scenes_per_shard: int = SCENES_PER_SHARD,
) -> Prepared:
    """Turn scenes into a prepared folder: its bytes depend only on the scenes and the settings.

    Args:
        source: a folder with train, dev and eval, a flat folder of scenes, an archive of these, or a folder of
            archives.
        folder: a new folder, or one whose preparation was interrupted or is finished: finished work is not repeated.
            Scenes of a finished one are hashed to compare them; of archives only names and sizes are compared.
        experiment: "canonical", or "published" for the partition of the published filter, which drops sleet.
        progress: called with the number of finished shards.
        executor: its name, or "ray=HOST:PORT". workers: of it; see `shiftbench.io.executor.Executor`.
        settings: of the feature maps; 128 px of 1 m if None.
        scenes_per_shard: the number of scene files in a shard.

    Raises:
        ShiftbenchError: listing all problems of scenes and tag files, and duplicate scenes.
        TableError: if there are no scenes, the folder was begun with other settings or finished with other scenes,
            another process works in it, or the disk is too small.
        UnknownNameError: for an unknown experiment or executor.
        MissingExtraError: if protobuf, OpenCV or Ray is needed and not installed.
    """
    say, where = progress or silent, Executor.of(executor, workers=workers)
    source, folder = protobuf.path_of(source), protobuf.path_of(folder)
    with alone(folder):
        work = _begin(source, folder, experiment, settings or MapSettings(), scenes_per_shard, say)
        if isinstance(work, Prepared):
            return work
        drawn = partial(say, "draw and pack shards")
        with staging.nothing_if_refused(work.plan), _naming_copies(work):
            executors.run(work.job, where, progress=drawn)
        return _finish(work)


@contextmanager
def _naming_copies(work: _Work) -> Iterator[None]:
    """Report duplicate scenes together with all other problems of scenes."""
    try:
        yield
    except ShiftbenchError as error:
        if isinstance(error, ImportError) or not (copies := scene_checks.copies_noted(work.plan, work.shards)):
            raise
        raise ShiftbenchError(*error.problems, *copies) from None


def slurm_script(
    source: Path,
    folder: Path,
    *,
    experiment: str = "canonical",
    settings: MapSettings | None = None,
    scenes_per_shard: int = SCENES_PER_SHARD,
    tasks: int | None = None,
    options: Sequence[str] = (),
) -> Path | None:
    """Write a Slurm array script whose tasks make the shards; `prepare` with the same arguments then completes the
    folder.

    All nodes must see `source` and `folder`. The other arguments are those of `prepare` and `executor.slurm.script`.

    Returns:
        The script, or None if the folder is prepared already.

    Raises:
        ShiftbenchError: as `prepare`, except for problems in scenes; SettingsError as `executor.slurm.script`.
    """
    source, folder = protobuf.path_of(source), protobuf.path_of(folder)
    with alone(folder):
        work = _begin(source, folder, experiment, settings or MapSettings(), scenes_per_shard, silent)
        if isinstance(work, Prepared):
            return None
        return slurm.script(work.job, work.plan.unfinished, tasks=tasks, options=options)


def open_prepared(folder: Path) -> Prepared:
    """The contents of a prepared folder.

    Raises:
        TableError: if it is not a prepared folder, or files are missing or of another size.
        ShiftbenchError: if `folder` is not a path.
    """
    folder = protobuf.path_of(folder)
    manifest = read_manifest(folder)
    counts = {name: int(manifest["counts"][name]) for name in PARTITIONS}
    return Prepared(folder, manifest["origin"], counts, tuple(manifest["notes"]), dict(manifest["unused"]))


# --- beginning -------------------------------------------------------------------------------------------------------


def _begin(
    source: Path, folder: Path, experiment: str, settings: MapSettings, scenes_per_shard: int, say: Progress
) -> _Work | Prepared:
    """The work to do, or the result of finished work."""
    if experiment not in EXPERIMENTS:
        raise UnknownNameError("experiment", experiment, EXPERIMENTS)
    executors.job.require_count("scenes_per_shard", scenes_per_shard)
    staging.require_free(source, folder)
    protobuf.message("Scene"), drawing.library()  # here once rather than in every process
    archives = sources.archives_of(source)
    found = None if archives else sources.found(source)
    fingerprint = found.listing() if found else sources.fingerprint(archives)
    begun = Begun.of(fingerprint, experiment, settings, scenes_per_shard)
    if (folder / MANIFEST).exists():
        return _finished(folder, begun, found, say)
    if (folder / BEGUN).exists():
        begun.require_same(folder, read_json(folder / BEGUN), scenes=False)
    if found:
        return _planned(folder, begun, found, unpacked=False)
    return _planned(folder, begun, _unpacked(source, archives, folder, say), unpacked=True)


def _unpacked(source: Path, archives: Sequence[Path], folder: Path, say: Progress) -> Found:
    """The scenes in archives, which are unpacked; nothing is kept if there are none."""
    place = sources.unpacked(archives, folder / staging.UNPACKED, progress=say)
    try:
        return sources.found(source, place=place)
    except ShiftbenchError:
        shutil.rmtree(place)
        raise


def _finished(folder: Path, begun: Begun, found: Found | None, say: Progress) -> Prepared:
    """The contents of a finished folder, if it was made from the same scenes (None: in archives) and settings."""
    manifest = read_manifest(folder)
    begun.require_same(folder, manifest["begun"])
    if found:
        scene_checks.require_same_scenes(folder, found, manifest, say=say)
    return _cleaned(folder) if (folder / BEGUN).exists() else open_prepared(folder)


def _planned(folder: Path, begun: Begun, found: Found, *, unpacked: bool) -> _Work:
    """Write the plan of the work, if there is enough space."""
    plan = Plan(folder)
    missing = PACKED * found.size() - sum(path.stat().st_size for path in plan.shard(0).parent.glob("*.shard"))
    files.require_room(folder / MANIFEST, missing, what="maps and vector features")
    parts = {} if unpacked else {part.name: str(part.folder.absolute()) for part in found.parts}
    known = {scene: name for part in found.parts for scene, name in sources.recordings(part.folder).items()}
    return _Work(plan, begun, plan.write(begun, found), found.origin, found.notes, parts, known)


# --- finishing -------------------------------------------------------------------------------------------------------


def _finish(work: _Work) -> Prepared:
    """Combine the shards' tables and notes; the manifest is written last."""
    plan, folder = work.plan, work.plan.folder
    notes = [read_json(plan.note(number)) for number in range(work.shards)]
    counted = totals(notes)
    made = [tables.scan_parquet(plan.requests(number)) for number in range(work.shards) if notes[number]["requests"]]
    requests = with_recordings(pl.concat(pl.collect_all(made), rechunk=True), work.recordings)
    tables.write_table(requests, folder / staging.REQUESTS, row_group=ROW_GROUP)
    shards = [
        {
            "file": plan.shard(number).relative_to(folder).as_posix(),
            **{key: note[key] for key in ("bytes", "inputs", "requests", "sha256")},
        }
        for number, note in enumerate(notes)
    ]
    write_places(folder, work.parts)
    files.write_json(folder / MANIFEST, _manifest(work, counted) | {"shards": shards, "requests": _table(folder)})
    return _cleaned(folder)


def _table(folder: Path) -> dict[str, Any]:
    path = folder / staging.REQUESTS
    return {"file": staging.REQUESTS, "bytes": path.stat().st_size, "sha256": files.sha256(path)}


def _manifest(work: _Work, counted: Totals) -> dict[str, Any]:
    printed = compared(counted, experiment=work.begun.experiment)
    return {
        "format": FORMAT,
        "begun": asdict(work.begun),
        "experiment": work.begun.experiment,
        "settings": work.begun.settings,
        "origin": work.origin or ("official" if printed.official else UNKNOWN_ORIGIN),
        "notes": [*work.notes, *printed.notes],
        "counts": {name: counted.requests[name] for name in PARTITIONS},
        "scenes": counted.partition_scenes(),
        "tags": {name: counted.partition_tags(name) for name in PARTITIONS},
        "unused": counted.unused_by_reason(),
    }


def _cleaned(folder: Path) -> Prepared:
    """The folder without temporary files."""
    prepared = open_prepared(folder)
    staging.clear(folder, read_manifest(folder))
    return prepared
