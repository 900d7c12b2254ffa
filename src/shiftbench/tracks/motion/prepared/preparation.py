"""From official scenes, or scenes of their form, to a prepared folder: checked, drawn, packed, divided, counted.

A preparation that was interrupted goes on where it ended when it is started again with the same folder.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench import executor as executors
from shiftbench import files
from shiftbench.errors import FetchError, TableError, UnknownNameError
from shiftbench.executor import Job, slurm
from shiftbench.fetch import record
from shiftbench.track import Prepared, Progress
from shiftbench.tracks.motion.maps import drawing
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.partitions import RULES
from shiftbench.tracks.motion.prepared import sources
from shiftbench.tracks.motion.prepared.manifest import MANIFEST, read_manifest
from shiftbench.tracks.motion.prepared.shard_making import WORK
from shiftbench.tracks.motion.prepared.shard_plan import BEGUN, FORMAT, SCENES_PER_SHARD, Begun, Plan, read_json
from shiftbench.tracks.motion.prepared.totals import Totals, compared, totals
from shiftbench.tracks.motion.scenes import wire
from shiftbench.tracks.motion.schema import PARTITIONS

EXPERIMENTS = RULES
REQUESTS = "requests.parquet"
PLACES = "scenes.json"
UNPACKED = ".unpacked"
ROW_GROUP = 2**16
PACKED = 2  # bytes of a prepared folder for each byte of scenes, at 128 px; measured on genuine scenes
UNKNOWN_ORIGIN = "scenes of unknown origin"


@dataclass(frozen=True)
class _Work:
    """What is to be done in a folder: so many shards, as the plan says; with what the data say of themselves."""

    plan: Plan
    begun: Begun
    shards: int
    origin: str | None
    notes: tuple[str, ...]
    parts: dict[str, str] = field(default_factory=dict)  # where the scenes of each lie, unless they were unpacked

    @property
    def job(self) -> Job:
        return Job(WORK, str(self.plan.folder.absolute()), self.shards)


def prepare(
    source: Path,
    folder: Path,
    *,
    experiment: str = "canonical",
    progress: Progress | None = None,
    executor: str = "processes",
    workers: int | None = None,
    address: str | None = None,
    settings: MapSettings | None = None,
    scenes_per_shard: int = SCENES_PER_SHARD,
) -> Prepared:
    """Turn scenes into a prepared folder: its bytes depend on the scenes and the settings alone.

    Args:
        source: a folder with train, dev and eval, a flat folder of scenes, an archive of these, or a folder of such.
        folder: a new folder, or one whose preparation was interrupted or is finished: what is done is not done again.
        experiment: "canonical", or "published" for the partition of the published filter, which drops sleet.
        progress: told how many shards are done.
        executor, workers, address: see `shiftbench.executor.run`.
        settings: of the feature maps; 128 px of 1 m if None.
        scenes_per_shard: how many scene files a shard holds.

    Raises:
        ShiftbenchError: with all that is wrong with scenes and tag files; scenes that come twice.
        TableError: if there are no scenes, the folder was begun in another way, somebody else is at work in it, or the
            disk is too small.
        UnknownNameError: for an experiment or an executor that is none.
        MissingExtraError: if protobuf, OpenCV or Ray is needed and not installed.
    """
    say = progress or (lambda stage, done, total: None)
    with alone(folder):
        work = _begin(source, folder, experiment, settings or MapSettings(), scenes_per_shard)
        if isinstance(work, Prepared):
            return work
        executors.run(
            work.job, name=executor, workers=workers, progress=partial(say, "draw and pack shards"), address=address
        )
        return _finish(work)


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
    """Write a Slurm array script whose tasks make the shards; `prepare` with the same arguments then ends the work.

    All nodes must see `source` and `folder`. The other arguments are those of `prepare` and `executor.slurm.script`.

    Returns:
        The script, or None if the folder is prepared already.

    Raises:
        ShiftbenchError: as `prepare`, but for what is wrong in the scenes; SettingsError as `executor.slurm.script`.
    """
    with alone(folder):
        work = _begin(source, folder, experiment, settings or MapSettings(), scenes_per_shard)
        if isinstance(work, Prepared):
            return None
        return slurm.script(work.job, work.plan.unfinished, tasks=tasks, options=options)


def open_prepared(folder: Path) -> Prepared:
    """What a prepared folder holds.

    Raises:
        TableError: if it is the folder of something else, or files are missing or of another size.
    """
    manifest = read_manifest(folder)
    counts = {name: int(manifest["counts"][name]) for name in PARTITIONS}
    return Prepared(folder, manifest["origin"], counts, tuple(manifest["notes"]), dict(manifest["unused"]))


def scene_file(folder: Path, file: str) -> Path:
    """Where a scene of a prepared folder lies; `file` is what its table of requests calls it.

    Raises:
        TableError: if that is not known, since the scenes came in an archive, or it is there no more.
    """
    part, _, rest = file.partition("/")
    places = read_json(folder / PLACES) if (folder / PLACES).is_file() else {}
    if not isinstance(places, dict) or not isinstance(places.get(part, ""), str):
        raise TableError(f"{folder / PLACES}: expected where the parts lie, found others. Prepare the data again.")
    if part not in places:
        raise TableError(f"{file}: expected to know where this scene lies, found data that came in an archive.")
    path = Path(places[part]) / rest
    if not path.is_file():
        raise TableError(f"{path}: expected a scene of the prepared data, found nothing there. Were the scenes moved?")
    return path


# --- beginning -------------------------------------------------------------------------------------------------------


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder, which is made if need be: two preparations at once would take away each other's files.

    Raises:
        TableError: if another process holds it, or it is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise TableError(f"{folder}: expected a new folder, found a file. Choose another name.")
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as held:
        try:
            held.enter_context(record.locked(folder))
        except FetchError:
            raise TableError(
                f"{folder}: expected a folder that nobody else prepares, found another process at it. Wait for it to "
                "end, or name another folder."
            ) from None
        try:
            yield
        finally:
            held.close()
            with suppress(OSError):
                (folder / record.LOCK).unlink()
            if new and not any(folder.iterdir()):
                folder.rmdir()


def _begin(
    source: Path, folder: Path, experiment: str, settings: MapSettings, scenes_per_shard: int
) -> _Work | Prepared:
    """What is to be done, or what is done already."""
    if experiment not in EXPERIMENTS:
        raise UnknownNameError("experiment", experiment, EXPERIMENTS)
    executors.job.require_count("scenes_per_shard", scenes_per_shard)
    _require_places(source, folder)
    wire.message("Scene"), drawing.library()  # rather now than in every process
    archives = sources.archives_of(source)
    found = None if archives else sources.found(source)
    fingerprint = found.listing() if found else sources.fingerprint(archives)
    begun = Begun.of(fingerprint, experiment, settings, scenes_per_shard)
    if (folder / MANIFEST).exists():
        begun.require_same(folder, read_manifest(folder).get("begun"))
        return _cleaned(folder)
    if (folder / BEGUN).exists():
        begun.require_same(folder, read_json(folder / BEGUN), scenes=False)
    found = found or sources.found(source, place=sources.unpacked(archives, folder / UNPACKED))
    plan = Plan(folder)
    missing = PACKED * found.size() - sum(path.stat().st_size for path in plan.shard(0).parent.glob("*.shard"))
    files.require_room(folder / MANIFEST, missing, what="maps and vector features")
    parts = {} if archives else {part.name: str(part.folder.absolute()) for part in found.parts}
    return _Work(plan, begun, plan.write(begun, found), found.origin, found.notes, parts)


def _require_places(source: Path, folder: Path) -> None:
    if (source / MANIFEST).is_file() and (source / REQUESTS).is_file():
        raise TableError(f"{source}: expected scenes to prepare, found a folder that is prepared already.")
    ours = (MANIFEST, BEGUN, UNPACKED)
    others = [path for path in folder.iterdir() if path.name != record.LOCK]
    if others and not any((folder / name).exists() for name in ours):
        names = ", ".join(sorted(path.name for path in others)[:3])
        raise TableError(f"{folder}: expected a new folder, found one with {names}. Choose another name.")


# --- finishing -------------------------------------------------------------------------------------------------------


def _finish(work: _Work) -> Prepared:
    """Put the shards' tables and notes together; the manifest is written last."""
    plan, folder = work.plan, work.plan.folder
    notes = [read_json(plan.note(number)) for number in range(work.shards)]
    counted = totals(notes)
    tables = [plan.requests(number) for number in range(work.shards) if notes[number]["requests"]]
    requests = pl.concat([pl.read_parquet(path) for path in tables], rechunk=True)
    with files.replacing(folder / REQUESTS) as temporary:
        requests.write_parquet(temporary, row_group_size=ROW_GROUP)
    shards = [
        {
            "file": plan.shard(number).relative_to(folder).as_posix(),
            **{key: note[key] for key in ("bytes", "inputs", "requests", "sha256")},
        }
        for number, note in enumerate(notes)
    ]
    files.write_json(folder / PLACES, work.parts)  # no part of the data: they may be moved
    files.write_json(folder / MANIFEST, _manifest(work, counted) | {"shards": shards, "requests": _table(folder)})
    return _cleaned(folder)


def _table(folder: Path) -> dict[str, Any]:
    path = folder / REQUESTS
    return {"file": REQUESTS, "bytes": path.stat().st_size, "sha256": files.sha256(path)}


def _manifest(work: _Work, counted: Totals) -> dict[str, Any]:
    comparison = compared(counted, experiment=work.begun.experiment)
    return {
        "format": FORMAT,
        "begun": asdict(work.begun),
        "experiment": work.begun.experiment,
        "settings": work.begun.settings,
        "origin": work.origin or ("official" if comparison.official else UNKNOWN_ORIGIN),
        "notes": [*work.notes, *comparison.notes],
        "counts": {name: counted.requests[name] for name in PARTITIONS},
        "scenes": counted.partition_scenes(),
        "tags": {name: counted.partition_tags(name) for name in PARTITIONS},
        "unused": counted.unused_by_reason(),
    }


def _cleaned(folder: Path) -> Prepared:
    """The folder without what was only needed on the way."""
    prepared = open_prepared(folder)
    listed = {folder / str(shard["file"]) for shard in read_manifest(folder)["shards"]}
    for surplus in set((folder / "shards").glob("*.shard")) - listed:  # of scenes that went while shards were made
        surplus.unlink()
    for name in (Plan(folder).unfinished, folder / UNPACKED):
        shutil.rmtree(name, ignore_errors=True)
    for rest in (folder / BEGUN, *folder.rglob(".*.part")):  # parts of files are what a kill leaves
        rest.unlink(missing_ok=True)
    return prepared
