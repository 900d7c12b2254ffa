"""Replacing an output folder or adding to it: recovery after a kill, checks of what may be replaced, the swap.

Every step is written to the journal before it is taken, so that the next command can complete it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.io.files import sha256
from shiftbench.io.output import journal as steps
from shiftbench.io.output.journal import Journal
from shiftbench.io.output.lock import LOCK
from shiftbench.io.output.mark import DONE, MARK, PART, Mark, contents, first, listing, read_mark, require_valid, same
from shiftbench.io.output.merge import conflicts, move, remove
from shiftbench.io.output.place import ADVICE, Place, named
from shiftbench.io.output.staging import discard

Tell = Callable[[str], None]


@dataclass
class Transaction:
    """Writes one output folder while its journal is locked: recovery, checks, swap."""

    place: Place
    made_by: str
    journal: Journal
    tell: Tell

    # --- recovery after a kill ----------------------------------------------------------------------------------------

    def recover(self, inputs: str = "") -> bool:
        """Complete or undo the step that a killed command was in; work that can be resumed is kept.

        Returns:
            Whether the folder now holds the result of this very command, on these inputs, which was killed before it
            could finish.
        """
        before = self.journal.state
        self._end_step()
        if not before.made or (before.made_by, before.inputs) != (self.made_by, inputs):
            return False
        return read_mark(self.place.path) is not None and sha256(self.place.path / MARK) == before.made

    def _end_step(self) -> None:
        step, place = self.journal.state.step, self.place
        self.discard_added()
        discard(place, self.journal)
        if step == steps.TAKING_OVER:
            self._discard()
        elif step == steps.REMOVING:
            self._remove_earlier()
        elif step == steps.SWAPPING and place.merges:
            self._merge()
        elif step == steps.SWAPPING:
            self._end_swap()

    def _end_swap(self) -> None:
        place = self.place
        if self._there():
            if not place.making.exists():
                self._remove_earlier()
            elif place.earlier.exists():
                found = named(name for name, _ in contents(place.path, place.own))
                raise SettingsError(
                    f"{place.given}: expected nothing there, since a command was killed while it replaced the result, "
                    f"found {found} in it. Move it away, and the same "
                    f"command goes on; the new result is in {place.making}, the earlier one in {place.earlier}."
                )
            else:
                (place.making / MARK).unlink(missing_ok=True)
                self.journal.write(step=steps.MAKING)
        elif place.making.exists():
            self._move_in()
        elif place.earlier.exists():
            place.earlier.rename(place.path)
            self.journal.clear()
        else:
            self.journal.clear()

    # --- beginning ----------------------------------------------------------------------------------------------------

    def begin(self, *, overwrite: bool, resumes: bool, inputs: str) -> None:
        """Prepare the temporary folder; refuse if files would be lost or mixed with another result."""
        state, there = self.journal.state, self._there()
        unfinished = state.step == steps.MAKING and not _empty(self.place.making)
        goes_on = unfinished and resumes and state.made_by == self.made_by and (not overwrite or state.inputs == inputs)
        if unfinished and state.made_by != self.made_by and not overwrite:
            raise SettingsError(
                f"{self.place.given}: expected a folder that no other command is making, found what an interrupted "
                f"`shiftbench {state.made_by}` has left in {self.place.shown(self.place.making)}. Go on with that, "
                "choose another --out, or --overwrite."
            )
        self.require_replaceable(overwrite=overwrite, resumes=resumes, goes_on=goes_on)
        if not self.place.merges:
            self.place.require_free(self.place.earlier)
        if state.step == steps.IDLE:
            self.place.require_free(self.place.making)
        if goes_on:
            _tidy(self.place.making, goes_on=True)
            return
        self._discard()
        if there and resumes and not overwrite:
            self.journal.write(step=steps.TAKING_OVER, made_by=self.made_by, inputs=inputs, earlier=steps.TAKEN_OVER)
            try:
                self._take_over(self._earlier_files(foreign=False))
            except BaseException:
                self._discard()
                raise
            self.journal.write(step=steps.MAKING)
        else:
            earlier = steps.REPLACED if there else steps.NOTHING
            self.journal.write(step=steps.MAKING, made_by=self.made_by, inputs=inputs, earlier=earlier)

    def require_replaceable(self, *, overwrite: bool, resumes: bool, goes_on: bool = False) -> None:
        """Refuse a folder that is not an earlier result, or holds files of others that cannot stay."""
        if not self._there():
            return
        self.require_valid_mark()
        given, mark = self.place.given, read_mark(self.place.path)
        if mark is None:
            found = named(entry.name for entry in first(self.place.path, self.place.own))
            raise SettingsError(
                f"{given}: expected a new folder, or one that `shiftbench {self.made_by}` made (with {MARK} in it), "
                f"found another, with {found} in it. Choose a new "
                "--out, or move it away (a result of version 0.6 or earlier has no such file); nothing was removed."
            )
        if mark.made_by != self.made_by:
            raise SettingsError(
                f"{given}: expected a new folder, or one that `shiftbench {self.made_by}` made, found one of "
                f"`shiftbench {mark.made_by}`. Choose another --out, or move it away; nothing was removed."
            )
        replaced = overwrite or (goes_on and self.journal.state.earlier == steps.REPLACED)
        if not replaced and (not resumes or (goes_on and self.journal.state.earlier == steps.NOTHING)):
            raise SettingsError(
                f"{given}: expected a new folder, found an earlier result. Choose another --out, or --overwrite."
            )
        foreign = mark.foreign(self.place.path, self.place.own)
        refused = foreign if replaced else [name for name in foreign if name in mark.files]
        if refused:
            raise SettingsError(
                f"{given}: expected nothing but what `shiftbench {self.made_by}` wrote, as it wrote it, found "
                f"{named(refused)} in it, added or changed since. {ADVICE}"
            )

    def require_valid_mark(self) -> None:
        """Refuse if the folder has an invalid mark."""
        require_valid(self.place.path, self.place.shown(self.place.path))

    def _earlier_files(self, *, foreign: bool) -> list[str]:
        """Names of the files in the folder that the command wrote, or of those it did not write."""
        if not self._there():
            return []
        mark = read_mark(self.place.path)
        there = contents(self.place.path, self.place.own)
        return [name for name, path in there if bool(mark and mark.lists(name, path)) is not foreign]

    def _take_over(self, names: Iterable[str]) -> None:
        """Bring files of the earlier result into the new one, as hard links if the file system supports them."""
        for name in names:
            source, target = self.place.path / name, self.place.making / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_symlink():
                target.symlink_to(source.readlink())
            elif source.is_dir():
                target.mkdir()
            else:
                try:
                    os.link(source, target)
                except OSError:
                    shutil.copy2(source, target)

    # --- the end ------------------------------------------------------------------------------------------------------

    def finish(self, *, swaps: bool) -> None:
        """Write the mark and move the result into place, or leave it for a later run that completes it."""
        place = self.place
        if _empty(place.making):
            self._discard()
        if not swaps or _empty(place.making):
            return
        _tidy(place.making)
        foreign = self._earlier_files(foreign=True)
        if self.journal.state.earlier == steps.TAKEN_OVER:  # only now, so that what is moved away meanwhile stays away
            self._take_over(name for name in foreign if not os.path.lexists(place.making / name))
        kept = {name for name in foreign if same(place.path / name, place.making / name)}
        if lost := [name for name in foreign if name not in kept]:
            raise SettingsError(
                f"{place.given}: expected nothing but what was there at the beginning, found {named(lost)} in it, "
                f"added or changed since. {ADVICE}"
            )
        made = listing(place.making, without=kept)
        if place.merges and (blocked := conflicts(place.path, place.making, made)):
            raise SettingsError(f"{place.given}: expected room for the result, found {named(blocked)} in it. {ADVICE}")
        Mark(self.made_by, made).write(place.making)
        self.journal.write(step=steps.SWAPPING, made=sha256(place.making / MARK))
        if place.merges:
            self._merge()
            return
        if self._there():
            place.path.rename(place.earlier)
        self._move_in()

    def _there(self) -> bool:
        """Whether the folder holds anything but its temporary neighbours."""
        return not _empty(self.place.path, self.place.own)

    def _merge(self) -> None:
        """Move the new files into the folder one by one; safe to repeat after a kill."""
        old, new = read_mark(self.place.path), read_mark(self.place.making)
        if new:
            stale = list(old.files) if old else []
            move(self.place.path, self.place.making, new.files, made_by=new.made_by, stale=stale)
        if os.path.lexists(self.place.making):
            shutil.rmtree(self.place.making)
        self.journal.end()

    def _move_in(self) -> None:
        if self.place.path.exists():
            self.place.path.rmdir()
        self.place.making.rename(self.place.path)
        self._remove_earlier()

    def _remove_earlier(self) -> None:
        """Remove the earlier result: only files that its mark lists or that the new result holds as well."""
        self.journal.write(step=steps.REMOVING)
        earlier = self.place.earlier
        try:
            left = _removed(earlier, beside=self.place.path) if earlier.is_dir() and not earlier.is_symlink() else []
        except OSError as error:
            self.journal.write(made="")  # this command succeeds anyway
            self.tell(f"note: the earlier result could not be removed from {earlier}: {error}; the next run goes on")
            return
        if left:
            self.tell(f"note: {named(left)} was added to the earlier result, and stays in {earlier}")
        self.journal.end()

    def give_up(self, error: BaseException, *, resumes: bool, costless: Sequence[str]) -> None:
        """After an error, keep the earlier result and what a later run can resume from, if it is not costless."""
        place, state = self.place, self.journal.state
        if state.step in (steps.SWAPPING, steps.REMOVING):
            return
        refused = isinstance(error, ShiftbenchError)
        if not resumes or _empty(place.making) or (refused and not self._is_worth_keeping(costless)):
            self._discard()
        else:
            self.tell(f"note: what was made so far is kept in {place.shown(place.making)}; the same command goes on")

    def _is_worth_keeping(self, costless: Sequence[str]) -> bool:
        """Whether the unfinished result holds more than files of these names and what is in the earlier result."""
        if self.journal.state.earlier == steps.TAKEN_OVER:
            return False
        return any(
            path.is_symlink()
            or not (path.is_dir() or PART.fullmatch(path.name) or any(fnmatchcase(name, each) for each in costless))
            for name, path in contents(self.place.making)
        )

    def _discard(self) -> None:
        """Remove the unfinished result, if the journal records one."""
        if self.journal.state.step != steps.IDLE and os.path.lexists(self.place.making):
            shutil.rmtree(self.place.making)
        self.journal.clear()

    # --- adding -------------------------------------------------------------------------------------------------------

    def add(self, made_by: str, folder: str, *, prunes: bool) -> None:
        """Move new files into `folder`, a path inside this one ("." for itself)."""
        place, old = self.place, read_mark(self.place.path)
        _tidy(place.adding)
        new = listing(place.adding)
        if blocked := conflicts(place.path, place.adding, new):
            raise SettingsError(
                f"{place.given}: expected nothing under the names of new files but what an earlier command wrote, as "
                f"it wrote it, found {named(blocked)}, added or changed since (or by version 0.6 or earlier). {ADVICE}"
            )
        inner = {str(Path(name).parent) for name in new} - {folder}
        stale = [name for name in old.files if prunes and str(Path(name).parent) in inner] if old else []
        move(place.path, place.adding, new, made_by=old.made_by if old else made_by, stale=stale)

    def discard_added(self) -> None:
        """Remove files that were still to be added, if the journal records any."""
        if self.journal.state.adding:
            if os.path.lexists(self.place.adding):
                shutil.rmtree(self.place.adding)
            self.journal.write(adding=False)


def _removed(folder: Path, *, beside: Path) -> list[str]:
    """Remove the files that a folder's mark lists, the mark last; return the names of the others, which stay."""
    mark, left = read_mark(folder), []
    for name, path in list(contents(folder)):
        emptied = mark and path.is_dir() and any(each.startswith(f"{name}/") for each in mark.files)
        if not (emptied or (mark and mark.lists(name, path)) or same(path, beside / name)):
            left.append(name)
            continue
        remove(folder, name)
    if not left:
        (folder / MARK).unlink(missing_ok=True)
        folder.rmdir()
    return left


def _tidy(folder: Path, *, goes_on: bool = False) -> None:
    """Remove partial files, folders of arrays of Slurm, and empty locks that killed processes left.

    goes_on: whether to keep parts of results.
    """
    for path in sorted(folder.rglob(".*")):
        if goes_on and path.name.endswith(DONE):
            continue
        if PART.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path) and (PART.fullmatch(path.name) or (path.name == LOCK and not path.lstat().st_size)):
            path.unlink()


def _empty(folder: Path, own: Container[str] = ()) -> bool:
    """Whether a folder is absent, or holds nothing but `own`: see `Place.own`."""
    if not folder.is_dir():
        return True
    return not os.path.lexists(folder / MARK) and not first(folder, own)
