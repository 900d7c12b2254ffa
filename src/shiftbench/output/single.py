"""Output that is one file: it takes the place of an earlier one, and of nothing that a command reads or has listed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shiftbench.errors import SettingsError
from shiftbench.output.mark import read_mark


def require_file(path: Path, *, overwrite: bool, inputs: Sequence[Path] = ()) -> None:
    """Refuse a file for output that is there already, unless it may be overwritten and nothing else needs it.

    Raises:
        SettingsError: if it is a folder, may not be overwritten, is one of the inputs, or belongs to an output folder.
    """
    if path.is_dir():
        raise SettingsError(f"{path}: expected a name for a file, found a folder. Choose another --out.")
    if not path.exists():
        return
    if not overwrite:
        raise SettingsError(f"{path}: expected a new file, found one. Choose another --out, or --overwrite.")
    place = path.resolve()
    for above in place.parents:
        mark = read_mark(above)
        if mark and place.relative_to(above).as_posix() in mark.files:
            raise SettingsError(
                f"{path}: expected a file of its own, found one of the result of `shiftbench {mark.made_by}` in "
                f"{above}. Choose another --out."
            )
    for read in inputs:
        if read.exists() and read.samefile(path):
            raise SettingsError(f"{path}: expected --out elsewhere than the data, found them. Choose another.")
