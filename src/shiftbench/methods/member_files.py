"""The files of a fit's members, and when they are trusted: what a member has learnt and, written after it, a note.

The note holds the hash of the other file, so a member without one was never finished.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.methods import fitted_folder

Arrays = dict[str, npt.NDArray[Any]]

MOST_NAMED = 100  # members that are missing or damaged
ADVICE = "Fit again with the same settings and data: only what is missing or damaged is trained."


@dataclass(frozen=True)
class MemberFiles:
    """The members in the folder of a fit, numbered from 0.

    Attributes:
        folder: of the fit.
        suffix: of the files with what was learnt.
        finished: what is expected of a member, and what is found of one that was broken off, for people.
        intact: what is expected of its file, for people.
    """

    folder: Path
    suffix: str
    finished: str
    intact: str

    def path(self, member: int) -> Path:
        """Where a member keeps what it has learnt."""
        return self.folder / f"member_{member:02d}{self.suffix}"

    @property
    def fit(self) -> str:
        """The identity of this fit."""
        return fitted_folder.identity(self.folder)

    def finish(self, member: int, further: Mapping[str, Any]) -> None:
        """Note that the member's file is whole, and what else there is to know."""
        identity = {"fit": self.fit, "member": member, "sha256": files.sha256(self.path(member))}
        files.write_json(self._note(member), identity | dict(further))

    def note(self, member: int) -> dict[str, Any]:
        """The note of a finished member; empty if it is not finished, or the note is damaged."""
        return fitted_folder.read_note(self._note(member))

    def problem(self, member: int) -> str:
        """Why the member cannot be used: it is missing, of another fit, or damaged; empty if it can be."""
        path, noted = self.path(member), self.note(member)
        if not path.exists() or not noted:
            return f"{path.name}: expected {self.finished}"
        if (noted.get("fit"), noted.get("member")) != (self.fit, member):
            return f"{path.name}: expected a member of this fit, found one of another"
        if noted.get("sha256") != files.sha256(path):
            return f"{path.name}: expected {self.intact}, found a changed or damaged file"
        return ""

    def missing(self, members: int) -> list[int]:
        """Those that cannot be used, of so many."""
        return [member for member in range(members) if self.problem(member)]

    def require(self, members: int) -> None:
        """Check that so many members can be used.

        Raises:
            SettingsError: naming every member that is missing, damaged, or of another fit, up to `MOST_NAMED`.
        """
        found = (text for member in range(members) if (text := self.problem(member)))
        if problems := list(itertools.islice(found, MOST_NAMED)):  # a damaged record may want 10^400 of them
            raise SettingsError(*(f"{self.folder}: {text}. {ADVICE}" for text in problems))

    def _note(self, member: int) -> Path:
        return self.folder / f"member_{member:02d}.json"


def span(counts: Sequence[int], unit: str) -> str:
    """The least and the largest count: "20 to 1,000 trees", or "1,000 trees" where all are the same."""
    least, largest = min(counts), max(counts)
    return f"{least:,} {unit}" if least == largest else f"{least:,} to {largest:,} {unit}"


def weights(folder: Path) -> MemberFiles:
    """The files of the networks of a fit."""
    return MemberFiles(
        folder, ".pt", "trained weights, found none that are finished", "the weights as they were written"
    )


def best_steps(folder: Path, members: int) -> str:
    """After how many steps the networks of a fit were at their best, for people.

    Raises:
        SettingsError: naming every member that is missing, damaged, or of another fit.
    """
    kept = weights(folder)
    kept.require(members)
    return span([kept.note(member)["best_step"] for member in range(members)], "steps")


@contextmanager
def inputs(folder: Path, data: Arrays) -> Iterator[str]:
    """Keep the training data of members in a file in `folder`, for `read_inputs`, while the block lasts.

    Yields:
        The folder, as an argument of processes.

    Raises:
        SettingsError: if there is no room for it.
    """
    path = folder / fitted_folder.INPUTS
    try:
        path.unlink(missing_ok=True)  # of a process that was killed
        try:
            with path.open("xb") as file:
                np.savez(file, allow_pickle=False, **data)
        except OSError as error:
            size = sum(array.nbytes for array in data.values())
            raise SettingsError(
                f"{folder}: expected room for {size:,} bytes of inputs while training, found: {error}. "
                "Make room, or choose another folder."
            ) from None
        yield str(folder.absolute())
    finally:
        path.unlink(missing_ok=True)


def read_inputs(folder: Path) -> Arrays:
    """The arrays that `inputs` keeps."""
    with np.load(folder / fitted_folder.INPUTS, allow_pickle=False) as stored:
        return dict(stored)
