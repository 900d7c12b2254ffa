"""The folder of a preparation: used by one process at a time, with one set of settings, and cleaned up at the end."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.io.output.lock import LOCK, alone
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared.manifest import MANIFEST
from shiftbench.tracks.motion.prepared.shard_plan import BEGUN, REFUSED, SCENES_PER_SHARD, Begun, Plan, read_json

REQUESTS = "requests.parquet"
UNPACKED = ".unpacked"


def require_free(source: Path, folder: Path) -> None:
    """Refuse folders with files that no preparation wrote, and sources that are prepared already.

    Raises:
        TableError: naming the files found.
    """
    if (source / MANIFEST).is_file() and (source / REQUESTS).is_file():
        raise TableError(f"{source}: expected scenes to prepare, found a folder that is already prepared.")
    ours = (MANIFEST, BEGUN, UNPACKED)
    others = [path for path in folder.iterdir() if path.name != LOCK]
    if others and not any((folder / name).exists() for name in ours):
        names = ", ".join(sorted(path.name for path in others)[:3])
        raise TableError(f"{folder}: expected a new folder, found one with {names}. Choose another name.")


def discard_other(folder: Path, *, experiment: str = "canonical", settings: MapSettings | None = None) -> None:
    """Remove the files of an unfinished preparation from a folder, if it was begun with other settings.

    Raises:
        TableError: if another process works in the folder, or it is a file.
    """
    if not (folder / BEGUN).is_file():
        return
    with alone(folder):
        try:
            begun = read_json(folder / BEGUN)
        except TableError:
            begun = None  # damaged
        if Begun.of("", experiment, settings or MapSettings(), SCENES_PER_SHARD).different(begun, scenes=False):
            for entry in (Plan(folder).shard(0).parent, Plan(folder).unfinished):
                shutil.rmtree(entry, ignore_errors=True)
            (folder / BEGUN).unlink()  # last: after a kill before this the folder still counts as begun


@contextmanager
def nothing_if_refused(plan: Plan) -> Iterator[None]:
    """If scenes are refused before a shard was made or an array planned, remove the plan and unpacked files."""
    try:
        yield
    except ShiftbenchError:
        noted = {path.name for path in plan.unfinished.iterdir()}
        refused = {name for name in noted if name.endswith(REFUSED)}
        made = plan.shard(0).parent.exists() and any(plan.shard(0).parent.iterdir())
        if refused and noted == refused | {plan.table.name} and not made:
            for entry in (plan.unfinished, plan.shard(0).parent, plan.folder / UNPACKED):
                shutil.rmtree(entry, ignore_errors=True)
            (plan.folder / BEGUN).unlink()
        raise


def clear(folder: Path, manifest: dict[str, Any]) -> None:
    """Remove temporary files from a finished folder."""
    listed = {folder / str(shard["file"]) for shard in manifest["shards"]}
    for surplus in set((folder / "shards").glob("*.shard")) - listed:  # of scenes removed while shards were made
        surplus.unlink()
    for name in (Plan(folder).unfinished, folder / UNPACKED):
        shutil.rmtree(name, ignore_errors=True)
    for rest in (*folder.rglob(".*.part"), folder / BEGUN):  # partial files left by a kill
        rest.unlink(missing_ok=True)  # the mark of unfinished work is removed last
