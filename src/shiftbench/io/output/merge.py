"""Moving files one by one into an existing folder; each may replace only a file that the folder's mark lists.

Before the first move the mark lists old and new files, so that after a kill the origin of every file is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from shiftbench.io import files
from shiftbench.io.output.mark import Entry, Mark, is_inside, read_mark, same


def conflicts(folder: Path, source: Path, names: Iterable[str]) -> list[str]:
    """Names of files that would have to be replaced but must not be: not listed, changed since, or links."""
    mark, found = read_mark(folder), []
    for name in names:
        target = folder / name
        above = [folder / each for each in Path(name).parents[:-1]]
        if blocked := [each for each in above if each.is_symlink() or (each.exists() and not each.is_dir())]:
            found += [each.relative_to(folder).as_posix() for each in blocked]
        elif (target.is_symlink() or target.exists()) and not (
            (mark and mark.lists(name, target)) or same(source / name, target)
        ):
            found.append(name)
    return sorted(set(found))


def move(folder: Path, source: Path, new: Mapping[str, Entry], *, made_by: str, stale: Iterable[str]) -> None:
    """Move the files `new` from `source` into a folder; remove `stale` ones that are as they were listed."""
    old = read_mark(folder) or Mark(made_by, {})
    here = {name: each for name, each in {**old.files, **old.coming}.items() if _is(folder, name, each)}
    known = {**old.files, **here}
    gone = [name for name in stale if name not in new]
    _write(Mark(made_by, known, coming=new), folder, aside=source)
    for name, entry in new.items():
        target = folder / name
        if (source / name).exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            if not entry.sha256:
                target.mkdir(exist_ok=True)
            else:
                (source / name).replace(target)
    for name in gone:
        if name in known and _is(folder, name, known[name]):
            remove(folder, name)
    kept = {name: each for name, each in known.items() if name not in gone}
    _write(Mark(made_by, {**kept, **new}), folder, aside=source)


def _write(mark: Mark, folder: Path, *, aside: Path) -> None:
    """Write a mark through another folder, so that what a kill leaves is not mistaken for one of the user's files."""
    with files.staged(folder, aside):
        mark.write(folder)


def remove(folder: Path, name: str) -> None:
    """Remove a file or an empty folder, and the folders above it that are empty as a result.

    Raises:
        ValueError: if the name leads out of the folder, by itself or through a link.
    """
    if not _stays(folder, name):
        raise ValueError(f"expected the name of a file in {folder}, found {name!r}")
    path = folder / name
    path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    for above in Path(name).parents[:-1]:
        with suppress(OSError):  # not empty
            (folder / above).rmdir()


def _is(folder: Path, name: str, entry: Entry) -> bool:
    path = folder / name
    return _stays(folder, name) and (path.is_symlink() or path.exists()) and entry.holds(path)


def _stays(folder: Path, name: str) -> bool:
    return is_inside(name) and not any((folder / above).is_symlink() for above in Path(name).parents[:-1])
