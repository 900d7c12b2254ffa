"""Room for a result: a new folder, or that of an earlier result of ours, which is there until the new one is whole."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from shiftbench.cli.terminal import INTERRUPTED, note
from shiftbench.errors import FetchError, SettingsError

STANDS, REPLACED = ".stands-aside", ".replaced"  # in a folder that stands aside: whole, and to be removed


def require_outside(data: Path, folder: Path) -> None:
    """Refuse to write into a folder that holds the data: it may be emptied."""
    if data.resolve().is_relative_to(folder.resolve()):
        raise SettingsError(f"{folder}: expected --out elsewhere than the data, found {data} in it. Choose another.")


def require_room(folder: Path, *, marker: str, resumes: bool) -> bool:
    """Refuse a folder of anything else than an earlier result of ours; whether there is one.

    resumes: whether an earlier result may be there.

    Raises:
        SettingsError: if the folder is not one of ours (it lacks `marker`), is a file, or holds a result.
    """
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder}: expected a folder to write to, found a file. Choose another --out.")
    if _empty(folder):
        return False
    if not (folder / marker).exists() and not _Earlier(folder.resolve()).stands:
        raise SettingsError(
            f"{folder}: expected a new folder, or one of an earlier result (with {marker} in it), found another. "
            "Choose a new --out; nothing was removed."
        )
    if not resumes:
        raise SettingsError(
            f"{folder}: expected a new folder, found an earlier result. Choose another --out, or --overwrite."
        )
    return True


@contextmanager
def room(
    folder: Path, *, overwrite: bool, marker: str, resumes: bool = False, inputs: Sequence[Path] = ()
) -> Iterator[None]:
    """Refuse a folder of anything else than an earlier result of ours; if it may be overwritten, that stands aside.

    It comes back if the block fails, and is removed once the block succeeds. Where a command that resumes was
    interrupted, it stands aside until a later one has gone on to the end. One process at a time is in the folder.

    inputs: what the block reads; it may not lie in the folder that is overwritten.
    resumes: whether the command goes on with what it finds.

    Raises:
        SettingsError: as `require_room`; if what is read, the current folder, or something that is not ours would be
            overwritten; if another process is at it.
    """
    earlier = _Earlier(folder.resolve())
    with _alone(earlier.place):
        earlier.clear()
        if earlier.stands and (not resumes or _empty(folder)):
            earlier.come_back()
        for path in inputs if overwrite else ():
            require_outside(path, folder)
        replaced = require_room(folder, marker=marker, resumes=resumes or overwrite) and overwrite
        if replaced:
            earlier.step_aside()
        try:
            yield
        except BaseException as error:
            begun = resumes and isinstance(error, KeyboardInterrupt) and not _empty(folder)
            if replaced and not begun:
                earlier.come_back()
            if earlier.stands:
                _say_aside(earlier.aside, interrupted=begun)
            if begun and earlier.stands:
                raise SystemExit(INTERRUPTED) from None
            raise
        earlier.go()


@dataclass(frozen=True)
class _Earlier:
    """The earlier result of a place, beside which it stands aside; never anything that was not put there by us."""

    place: Path

    @property
    def aside(self) -> Path:
        return self.place.parent / f".{self.place.name}.earlier"

    @property
    def stands(self) -> bool:
        return (self.aside / STANDS).is_file() and not self.aside.is_symlink()

    def step_aside(self) -> None:
        """Leave an empty folder; a result that stands aside already is whole, and what came after it is not."""
        if Path.cwd().is_relative_to(self.place):
            raise SettingsError(
                f"{self.place}: expected --out elsewhere than the current folder, found it. Choose another."
            )
        if self.stands:
            shutil.rmtree(self.place)
        elif self.aside.exists() or self.aside.is_symlink():
            raise SettingsError(
                f"{self.aside}: expected nothing there, since an earlier result would stand aside under that name, "
                "found something. Move it away, or choose another --out."
            )
        else:
            (self.place / STANDS).touch()
            self.place.rename(self.aside)
        self.place.mkdir()

    def come_back(self) -> None:
        """Take the place again, whatever is there."""
        if self.place.exists():
            shutil.rmtree(self.place)
        self.aside.rename(self.place)
        (self.place / STANDS).unlink()

    def go(self) -> None:
        """Be removed; a kill in between leaves what nobody takes for a whole result."""
        if self.stands:
            (self.aside / STANDS).rename(self.aside / REPLACED)
            self.clear()

    def clear(self) -> None:
        """Remove what was to go, the mark that says so last."""
        if not (self.aside / REPLACED).is_file() or self.aside.is_symlink():
            return
        for entry in self.aside.iterdir():
            if entry.name != REPLACED:
                shutil.rmtree(entry) if entry.is_dir() and not entry.is_symlink() else entry.unlink()
        shutil.rmtree(self.aside)


def _empty(folder: Path) -> bool:
    return not folder.is_dir() or not any(folder.iterdir())


def _say_aside(aside: Path, *, interrupted: bool) -> None:
    if interrupted:
        note("interrupted; the same command without --overwrite goes on where it stopped")
    note(f"note: until it has come to its end, the earlier result stays in {aside}")


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold the name of a folder: two at once would take each other's result for the earlier one."""
    from shiftbench.fetch import record

    with ExitStack() as stack:
        try:
            stack.enter_context(record.held(place.parent, f".{place.name}.lock"))
        except FetchError:
            raise SettingsError(
                f"{place}: expected a folder that nobody else writes to, found another process at it. Wait for it to "
                "end, or choose another --out."
            ) from None
        except OSError:  # no such place yet, or one that may not be written to: nobody holds it
            pass
        yield
