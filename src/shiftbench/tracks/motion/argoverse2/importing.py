"""Writing the scenes of many recordings as official files, side by side; goes on where it was stopped.

A folder holds `eval/ID.pb`, `origin.toml` (where the scenes come from and how they were made) and `imported.jsonl`: a
line for each recording that is done, by id. Its bytes are the same whoever did the work.
"""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiftbench import executor as executors
from shiftbench import files
from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.executor import Job
from shiftbench.tracks.motion.argoverse2.reading import Settings
from shiftbench.tracks.motion.argoverse2.scene_making import BEGUN, PART, job_of, notes
from shiftbench.tracks.motion.argoverse2.sources import sources
from shiftbench.tracks.motion.prepared.sources import IMPORTED, ORIGIN
from shiftbench.tracks.motion.prepared.workplace import alone

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Imported:
    """What an import has brought, now and earlier: numbers, and what was left out by reason."""

    folder: Path
    recordings: int
    scenes: int
    requests: int
    left_out: dict[str, int]


def import_scenes(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    executor: str = "processes",
    workers: int | None = None,
) -> Imported:
    """Write the scenes of all recordings in `source` into a folder; recordings that are done there are skipped.

    A recording that is damaged does not keep the others from being written. If none could be imported, nothing stays.

    Args:
        source: see `sources`.
        folder: a new folder, or one of an earlier import.
        settings: how recordings become scenes.
        progress: told how many recordings are done.
        executor, workers: see `shiftbench.executor.run`.

    Raises:
        SettingsError: if the folder holds scenes that were made with other settings.
        ShiftbenchError: as `sources`; at the end, for all that is wrong with recordings.
        TableError: if another process is at work in the folder, or it is a file.
        UnknownNameError: for an executor that is none.
        MissingExtraError: if protobuf or Ray is needed and not installed.
    """
    chosen, target, found = settings or Settings(), Path(folder), sources(source)
    say = progress or (lambda stage, done, total: None)
    with alone(target), _claimed(target, chosen):
        done = _done(target)
        missing = [each for each in found if each.id not in done]
        earlier = len(found) - len(missing)
        problems = _problems(
            job_of(target, missing, chosen),
            name=executor,
            workers=workers,
            progress=lambda now, _: say("import", earlier + now, len(found)),
        )
        done = _done(target)
    lines = [done[each.id] for each in found if each.id in done]
    if problems:
        raise ShiftbenchError(*problems, _outcome(len(lines), len(found), target))
    return _sum(target, lines)


def _problems(job: Job, **how: Any) -> tuple[str, ...]:
    """Import what is missing; what is wrong with recordings is returned. `how`: see `shiftbench.executor.run`."""
    try:
        executors.run(job, **how)
    except ShiftbenchError as error:
        if type(error) is not ShiftbenchError:  # of the executor or the machine: no recording's fault
            raise
        return error.problems
    return ()


def _outcome(done: int, every: int, target: Path) -> str:
    brought = f"{done:,} that could be imported; their scenes are there" if done else "none that could be imported"
    return f"{target}: expected {every:,} recordings, found {brought}. Mend or remove the others and run this again."


@contextmanager
def _claimed(folder: Path, settings: Settings) -> Iterator[None]:
    """Say where the scenes of a folder come from; in the end, leave what is whole, or nothing if nothing is.

    Raises:
        SettingsError: if its scenes were made otherwise.
    """
    lines = [
        'origin = "Argoverse 2, imported as scenes of 5 Hz"',
        'licence = "CC BY-NC-SA 4.0, (c) 2022 Argo AI, LLC"',
        "",
        "[settings]",
        *(f"{name} = {value}" for name, value in settings.to_dict().items()),
    ]
    text, path = "\n".join(lines) + "\n", folder / ORIGIN
    if path.exists() and path.read_text("utf-8", errors="replace") != text:
        raise SettingsError(
            f"{path}: expected the settings {settings.to_dict()}, found scenes that were made otherwise. "
            "Choose another folder, or overwrite this one."
        )
    files.write_text(path, text)
    try:
        yield
    finally:
        _settle(folder)


def _settle(folder: Path) -> None:
    """Gather the notes into one file and take away what was only needed on the way."""
    done, scenes = _done(folder), folder / PART
    files.write_text(folder / IMPORTED, "".join(json.dumps(done[name]) + "\n" for name in sorted(done)))
    shutil.rmtree(folder / BEGUN, ignore_errors=True)
    for rest in scenes.glob(".*.part"):  # what a kill leaves
        rest.unlink()
    if scenes.is_dir() and not any(scenes.iterdir()):
        scenes.rmdir()
    if not done and not scenes.exists():
        for name in (ORIGIN, IMPORTED):
            (folder / name).unlink()


def _done(folder: Path) -> dict[str, dict[str, Any]]:
    """The lines of recordings whose scenes are all there; a line that a kill cut off is dropped."""
    path = folder / IMPORTED
    before = path.read_text("utf-8", errors="replace").splitlines() if path.exists() else []
    kept: dict[str, dict[str, Any]] = {}
    for text in (*before, *notes(folder)):
        try:
            line = json.loads(text)
            there = all((folder / PART / f"{scene}.pb").is_file() for scene in line["scenes"])
            whole = isinstance(line["requests"], int) and isinstance(line["left_out"], dict)
        except (ValueError, KeyError, TypeError):
            continue
        if there and whole:
            kept[line["recording"]] = line
    return kept


def _sum(folder: Path, lines: Sequence[dict[str, Any]]) -> Imported:
    left_out = Counter[str]()
    for line in lines:
        left_out.update(line["left_out"])
    scenes, requests = (sum(counts) for counts in ([len(e["scenes"]) for e in lines], [e["requests"] for e in lines]))
    return Imported(folder, len(lines), scenes, requests, dict(left_out.most_common()))
