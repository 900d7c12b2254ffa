"""A folder beside an output file for its temporary files, so that what a kill leaves can be identified and removed.

While a file `t.csv` is written, its parent holds `.t.csv.shiftbench` (lock and journal) and `.t.csv.making`. As with
output folders, nothing with these names is touched unless the journal records it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.io.output import journal as steps
from shiftbench.io.output.journal import Journal
from shiftbench.io.output.mark import PART
from shiftbench.io.output.place import ADVICE, Place, named, parents


@contextmanager
def staging(path: Path) -> Iterator[None]:
    """While the block runs, `files.replacing` writes temporary files of `path` in a folder of their own.

    Raises:
        SettingsError: if another process is writing the file, an interrupted command has begun a folder of that name,
            or the names of the folder or its lock are taken by something else.
    """
    place = Place(path, path.parent.resolve() / path.name)
    with parents(place.path), steps.journal(place.journal, path, of="file") as journal:
        discard(place, journal)
        if journal.state != steps.State():
            raise SettingsError(
                f"{path}: expected a name that no other command is writing to, found that an interrupted `shiftbench "
                f"{journal.state.made_by}` is to be continued there. Go on with that, or choose another --out."
            )
        place.require_free(place.making)
        journal.write(step=steps.ONE_FILE)
        try:
            place.making.mkdir(exist_ok=True)
            with files.staged(path.parent, place.making):
                yield
        finally:
            discard(place, journal)


def discard(place: Place, journal: Journal) -> None:
    """Remove the temporary files of a command that writes a single file, if the journal records one.

    Raises:
        SettingsError: naming files that are not temporary files of ours, which are kept.
    """
    if journal.state.step != steps.ONE_FILE:
        return
    making = place.making
    if making.is_dir() and not making.is_symlink():
        found = sorted(making.iterdir())
        for path in found:
            if not PART.fullmatch(path.name) or path.is_symlink():
                continue
            if path.is_dir():  # of an array of Slurm
                shutil.rmtree(path)
            elif path.is_file():
                path.unlink()
        if left := [path.name for path in found if path.is_symlink() or path.exists()]:
            raise SettingsError(
                f"{place.told(making)}: expected nothing but temporary files of shiftbench, found {named(left)}. "
                f"{ADVICE}"
            )
        making.rmdir()
    journal.clear()
