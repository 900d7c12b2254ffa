"""A folder beside an output file for its temporary files, so that what a kill leaves can be identified and removed.

While a file `t.csv` is written, its parent holds `.t.csv.shiftbench` (lock and journal) and `.t.csv.making`. As with
output folders, nothing with these names is touched unless the journal records it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.io.output import journal as steps
from shiftbench.io.output.journal import Journal
from shiftbench.io.output.mark import DONE, PART
from shiftbench.io.output.place import ADVICE, Place, named, parents


@contextmanager
def staging(path: Path, *, resumes: bool = False) -> Iterator[None]:
    """While the block runs, `files.replacing` writes temporary files of `path` in a folder of their own.

    resumes: whether parts of the result stay there for the next such block, if this one ends early.

    Raises:
        SettingsError: if another process is writing the file, an interrupted command has begun a folder of that name,
            or the names of the folder or its lock are taken by something else.
    """
    place = Place(path, path.parent.resolve() / path.name)
    with parents(place.path), steps.journal(place.journal, path, of="file") as journal:
        goes_on = discard(place, journal, resumes=resumes)
        if journal.state != steps.State() and not goes_on:
            raise SettingsError(
                f"{path}: expected a name that no other command is writing to, found that an interrupted `shiftbench "
                f"{journal.state.made_by}` is to be continued there. Go on with that, or choose another --out."
            )
        if not goes_on:
            place.require_free(place.making)
            journal.write(step=steps.ONE_FILE)
        try:
            place.making.mkdir(exist_ok=True)
            with files.staged(path.parent, place.making):
                yield
        except BaseException:
            discard(place, journal, resumes=resumes)
            raise
        discard(place, journal)


def discard(place: Place, journal: Journal, *, resumes: bool = False) -> bool:
    """Remove the temporary files of a command that writes a single file, if the journal records one.

    Returns:
        Whether there are parts of the result, which are kept if it `resumes`.

    Raises:
        SettingsError: naming files that are not temporary files of ours, which are kept.
    """
    if journal.state.step != steps.ONE_FILE:
        return False
    making, kept = place.making, list[Path]()
    if making.is_dir() and not making.is_symlink():
        found = sorted(making.iterdir())
        kept = [path for path in found if resumes and path.name.endswith(DONE) and path.is_file()]
        for path in found:
            if path in kept or not PART.fullmatch(path.name) or path.is_symlink():
                continue
            if path.is_dir():  # of an array of Slurm
                shutil.rmtree(path)
            elif path.is_file():
                path.unlink()
        if left := [path.name for path in found if path not in kept and os.path.lexists(path)]:
            raise SettingsError(
                f"{place.shown(making)}: expected nothing but temporary files of shiftbench, found {named(left)}. "
                f"{ADVICE}"
            )
        if kept:
            return True
        making.rmdir()
    journal.clear()
    return False
