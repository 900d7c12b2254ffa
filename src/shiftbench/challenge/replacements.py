"""Sealed files that others have replaced in their place: noticed by hash, told, and kept as they were.

A private copy of each sealed file lies in `copies` under its hash. When labels are corrected by writing over them, or
by putting another folder there, the old ones go from there to `replaced`, with the moment.
"""

from __future__ import annotations

import datetime
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

from shiftbench.errors import ShiftbenchError, counted
from shiftbench.io import files

COPIES, REPLACED = "copies", "replaced"
AGAIN = "Scores of the old ones stay until all are scored again, on the desk of the server."
MOST_NAMED = 3


def changed(folder: Path, held: Mapping[str, str]) -> list[str]:
    """The names of sealed files (sealed/BOARD/PHASE/…) that are others now, or gone.

    held: name → hash when they were sealed.
    """
    return [name for name, each in held.items() if not (folder / name).is_file() or files.sha256(folder / name) != each]


def kept(folder: Path, names: Sequence[str], held: Mapping[str, str]) -> Iterator[str]:
    """Keep dated copies of what the files of these names were; tells of each phase what was done, and what to do."""
    for place, group in groupby(sorted(names), lambda name: "/".join(name.split("/")[:3])):
        own, (_, board, phase) = list(group), place.split("/")
        moment = f"{datetime.datetime.now(datetime.UTC):%Y%m%dT%H%M%S.%fZ}"
        goals = {
            name: folder / REPLACED / board / phase / f"{moment}-{name.removeprefix(place + '/')}"
            for name in own
            if _is(folder / COPIES / held[name], held[name])
        }
        for name, goal in goals.items():
            goal.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            shutil.copyfile(folder / COPIES / held[name], goal)
            goal.chmod(0o600)
        where = folder / REPLACED / board / phase / f"{moment}-…"
        yield f"{_description(folder, own, goals, where)}. {AGAIN}"


def _is(copy: Path, digest: str) -> bool:
    return copy.is_file() and files.sha256(copy) == digest


def _description(folder: Path, names: Sequence[str], goals: Mapping[str, Path], where: Path) -> str:
    """What is known of files that were replaced."""
    some = ", ".join(names[:MOST_NAMED]) + ", …" * (len(names) > MOST_NAMED)
    text = f"{some}: {counted(len(names), 'file')} replaced or removed since the challenge was sealed"
    if goals:
        text += f"; a copy of what was there is {goals[names[0]] if len(names) == 1 else where}"
    if lost := len(names) - len(goals):
        text += f"; of {lost:,} there is no copy, as an earlier version has sealed the challenge: keep your own"
    return text + "".join(_others(folder, name, goal) for name, goal in goals.items())


def _others(folder: Path, name: str, old: Path) -> str:
    """How labels differ from those in whose place they are, in more than values."""
    from shiftbench.challenge import sealed_labels

    if not ((folder / name).is_file() and name.split("/")[3].startswith(f"{sealed_labels.STEM}.")):
        return ""
    try:
        found = sealed_labels.other(folder / name, old, folder / name)
    except ShiftbenchError:
        return ""  # no tables
    return "".join(f". Is it a mistake? {each}" for each in found)


def copy(folder: Path, held: Mapping[str, str]) -> None:
    """Copy sealed files (name → hash) that have no copy yet."""
    for name, digest in held.items():
        goal = folder / COPIES / digest
        if not goal.is_file():
            goal.parent.mkdir(mode=0o700, exist_ok=True)
            with files.replacing(goal) as aside:
                shutil.copyfile(folder / name, aside)


def forget(copies: Path, held: Mapping[str, str]) -> None:
    """Remove copies of what is no longer sealed; what took its place was told, and the old is kept elsewhere."""
    known = {*held.values()}
    for path in copies.iterdir():
        if path.name not in known:
            path.unlink()
