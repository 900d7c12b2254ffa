"""Writing the scenes of many recordings as official files, side by side; goes on where it was stopped.

A folder holds `eval/ID.pb`, `origin.toml` (where the scenes come from and how they were made) and `imported.jsonl`: a
line for each recording that is done, by id, with the hashes of its files and its scenes. If damaged recordings were
left out on request, `damaged.jsonl` has a line for each of them. The bytes are the same whoever did the work.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.io import executor as executors
from shiftbench.io import files
from shiftbench.io.executor import Executor, Job
from shiftbench.io.output import alone
from shiftbench.progress import Progress, silent
from shiftbench.tracks.motion.argoverse2 import scene_making
from shiftbench.tracks.motion.argoverse2.reading import Settings
from shiftbench.tracks.motion.argoverse2.scene_making import BEGUN, PART, Note, job_of, notes, parsed
from shiftbench.tracks.motion.argoverse2.sources import Damaged, Source, search
from shiftbench.tracks.motion.prepared.sources import IMPORTED, ORIGIN

DAMAGED = "damaged.jsonl"
REMEDY = "Mend or remove the others and run this again, or leave them out (--skip-damaged)."


@dataclass(frozen=True)
class Imported:
    """The results of an import, now and earlier: counts, what was left out by reason, and damaged recordings."""

    folder: Path
    recordings: int
    scenes: int
    requests: int
    left_out: dict[str, int]
    damaged: tuple[Damaged, ...] = ()


def import_scenes(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
    executor: str = "processes",
    workers: int | None = None,
    skip_damaged: bool = False,
) -> Imported:
    """Write the scenes of all recordings in `source` into a folder; recordings that are done there are skipped.

    One that was changed since, or whose scenes are not as they were written, is imported anew.
    A recording with damaged files does not keep the others from being written. If none could be imported, nothing
    stays.

    Args:
        source: see `sources`.
        folder: a new folder, or one of an earlier import.
        settings: how recordings become scenes.
        progress: called with how many recordings are done.
        executor: its name, or "ray=HOST:PORT". workers: of it; see `shiftbench.io.executor.Executor`.
        skip_damaged: whether damaged recordings, those that lack a file included, are left out and named in the result
            and in `damaged.jsonl`, instead of being an error. What an earlier import brought of them stays.

    Raises:
        SettingsError: if the folder holds scenes that were made with other settings.
        ShiftbenchError: if there are no recordings, or none that could be imported. Without `skip_damaged` at once if
            any lack a file, and at the end for all that are damaged.
        TableError: if another process is at work in the folder, or it is a file.
        UnknownNameError: for an unknown executor.
        MissingExtraError: if protobuf or Ray is needed and not installed.
    """
    chosen, target, (found, damaged) = settings or Settings(), Path(folder), search(source)
    every = len(found) + len(damaged)
    if damaged and not (skip_damaged and found):
        outcome = (
            f"{source}: expected {every:,} whole recordings, found {len(damaged):,} that lack files or come twice."
        )
        raise ShiftbenchError(*_lines(damaged), f"{outcome} {REMEDY}" if found else outcome)
    say = progress or silent
    with alone(target), _claimed(target, chosen):
        done = _done(_gathered(target), found, target)
        missing = [each for each in found if each.id not in done]
        earlier = len(found) - len(missing)
        problems = _problems(
            job_of(target, missing, chosen),
            Executor.of(executor, workers=workers),
            progress=lambda now, _: say("import", earlier + now, len(found)),
        )
        spoilt = tuple(scene_making.damaged(target))
        done |= _by_recording(notes(target), target)
        lines = [done[each.id] for each in found if each.id in done]
        damaged = tuple(sorted((*damaged, *spoilt), key=lambda each: each.recording))
        left = skip_damaged and lines and len(lines) + len(spoilt) == len(found)  # else more is wrong than damage
        _write_damaged(target, damaged if left else ())
    if problems and not left:
        raise ShiftbenchError(*problems, _outcome(len(lines), every, target if lines else source))
    return _sum(target, lines, damaged)


def _lines(damaged: Iterable[Damaged]) -> tuple[str, ...]:
    return tuple(problem for each in damaged for problem in each.problems)


def _write_damaged(folder: Path, damaged: Sequence[Damaged]) -> None:
    """Write what was left out of a folder, or remove what an earlier import said of it."""
    if damaged:
        files.write_text(folder / DAMAGED, "".join(json.dumps(asdict(each)) + "\n" for each in damaged))
    else:
        (folder / DAMAGED).unlink(missing_ok=True)


def _problems(job: Job, executor: Executor, *, progress: Callable[[int, int], None]) -> tuple[str, ...]:
    """Import what is missing; what is wrong with recordings is returned."""
    try:
        executors.run(job, executor, progress=progress)
    except ShiftbenchError as error:
        if type(error) is not ShiftbenchError:  # of the executor or the machine: no recording's fault
            raise
        return error.problems
    return ()


def _outcome(done: int, every: int, where: object) -> str:
    if not done:
        return f"{where}: expected {every:,} recordings, found none that could be imported. Mend them."
    brought = f"{done:,} that could be imported; their scenes are there"
    return f"{where}: expected {every:,} recordings, found {brought}. {REMEDY}"


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
    """Gather the notes and take away what was only needed on the way."""
    done, scenes = _gathered(folder), folder / PART
    for rest in scenes.glob(".*.part"):  # what a kill leaves
        rest.unlink()
    if scenes.is_dir() and not any(scenes.iterdir()):
        scenes.rmdir()
    if not done and not scenes.exists():
        for name in (ORIGIN, IMPORTED):
            (folder / name).unlink()


def _gathered(folder: Path) -> dict[str, Note]:
    """The notes of this import and of earlier ones, by recording, gathered into one file; no others are kept."""
    path, now = folder / IMPORTED, _by_recording(notes(folder), folder)
    before = path.read_text("utf-8", errors="replace").splitlines() if path.exists() else []
    every = _by_recording(before, folder) | now
    files.write_text(path, "".join(every[name].line() for name in sorted(every)))
    _remove_former(folder / PART, now)
    shutil.rmtree(folder / BEGUN, ignore_errors=True)
    return every


def _by_recording(lines: Iterable[str], folder: Path) -> dict[str, Note]:
    """The notes of recordings of which there are scenes; a line that is no note is dropped."""
    return {note.recording: note for note in map(parsed, lines) if note and note.any_there(folder / PART)}


def _remove_former(scenes: Path, now: Mapping[str, Note]) -> None:
    """Remove scenes that a recording had before it was changed, and now has no more."""
    for path in scenes.glob("*.pb") if now else ():
        recording, _, start = path.stem.rpartition("_")
        if recording in now and path.stem not in now[recording].scenes and re.fullmatch(r"\d\d+\.\ds", start):
            path.unlink()


def _done(noted: Mapping[str, Note], found: Iterable[Source], folder: Path) -> dict[str, Note]:
    """The notes that hold: of the very recordings that were found, with all scenes as they were written."""
    done = {}
    for source in found:
        with suppress(ShiftbenchError):  # a file that cannot be read is named when its turn comes
            note = noted.get(source.id)
            if note and note.holds(folder / PART, source.hashes()):
                done[source.id] = note
    return done


def _sum(folder: Path, lines: Sequence[Note], damaged: tuple[Damaged, ...]) -> Imported:
    left_out = Counter[str]()
    for line in lines:
        left_out.update(line.left_out)
    scenes, requests = sum(len(line.scenes) for line in lines), sum(line.requests for line in lines)
    return Imported(folder, len(lines), scenes, requests, dict(left_out.most_common()), damaged)
