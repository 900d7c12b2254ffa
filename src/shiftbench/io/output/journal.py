"""The journal of an output folder while it is written: one file beside it, both lock and record of the step reached."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO

from shiftbench.errors import SettingsError
from shiftbench.io.output import lock

FORMAT = "shiftbench output folder in the making 1"
SIZE = 512  # bytes, written by one call over the old content: after a kill the file holds the old or the new state

# In this order: no step is pending; the earlier result is being taken over; the new one is being made; it is complete
# and replaces the earlier one; the earlier one is being removed. Or: a single file is being written.
IDLE, TAKING_OVER, MAKING, SWAPPING, REMOVING = "idle", "taking over", "making", "swapping", "removing"
ONE_FILE = "one file"
STEPS = (IDLE, TAKING_OVER, MAKING, SWAPPING, REMOVING, ONE_FILE)
# Other kinds of file in its place: a link, which is not followed, a folder, a socket, a named pipe or a device.
NO_FILE = (errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.EEXIST)
NOTHING, TAKEN_OVER, REPLACED = "nothing", "taken over", "replaced"


@dataclass(frozen=True)
class State:
    """The step that writing an output folder has reached.

    made_by: the command. inputs: a hash of its inputs and settings. earlier: whether there was NOTHING before, or the
    earlier result was TAKEN_OVER or will be REPLACED. adding: whether files are being added to the folder. made: once
    the new result is whole, a hash of its mark.
    """

    step: str = IDLE
    made_by: str = ""
    inputs: str = ""
    earlier: str = NOTHING
    adding: bool = False
    made: str = ""


@dataclass
class Journal:
    """The file, open and locked."""

    path: Path
    file: IO[bytes]
    state: State = field(default_factory=State)

    def write(self, **changes: object) -> None:
        """Record changes of the state."""
        state = replace(self.state, **changes)  # type: ignore[arg-type]
        try:
            os.ftruncate(self.file.fileno(), SIZE)
            self.file.seek(0)
            self.file.write(json.dumps({"format": FORMAT, **asdict(state)}).ljust(SIZE - 1).encode() + b"\n")
        except OSError as error:  # a full disk gives an error without a file name
            error.filename = str(self.path)
            raise
        self.state = state

    def end(self) -> None:
        """Remove the file when it is closed. It is not written: a kill before that leaves the last step on record."""
        self.state = State()

    def clear(self) -> None:
        """Record that no step is pending."""
        if self.state != State():
            self.write(**asdict(State()))


@contextmanager
def journal(path: Path, given: Path, *, of: str = "folder") -> Iterator[Journal]:
    """Open and lock the journal of an output folder or file; afterwards it is removed unless a step is pending.

    Args:
        path: the journal.
        given: the folder or file, as the user gave it.
        of: which of the two it is, for messages.

    Raises:
        SettingsError: if another process holds it, or the file is not a journal.
    """
    try:
        with lock.locked(path) as file:
            held = Journal(path, file)
            held.state = _read(file, path)
            try:
                yield held
            finally:
                if held.state == State():
                    lock.discard(file, path)
    except OSError as error:
        if error.filename != str(path):
            raise
        if isinstance(error, BlockingIOError):
            raise SettingsError(
                f"{given}: expected a {of} that nobody else writes to, found another process writing to it. Wait "
                "for it to end, or choose another --out."
            ) from None
        if error.errno in NO_FILE:
            raise _taken(path) from None
        raise SettingsError(
            f"{given}: expected a place that can be written to, found: {error.strerror} ({path}). Choose another --out."
        ) from None


def _read(file: IO[bytes], path: Path) -> State:
    content = file.read(SIZE + 1).strip(b"\0")
    if not content:  # new, or its writer was killed before the first write
        return State()
    try:
        value = json.loads(content)
        state = State(**value) if value.pop("format") == FORMAT else None
        if state and state.step in STEPS and state.earlier in (NOTHING, TAKEN_OVER, REPLACED):
            return state
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    raise _taken(path)


def _taken(path: Path) -> SettingsError:
    return SettingsError(
        f"{path}: expected nothing there, since the lock of the output has that name, found something else. "
        "Move it away, or choose another --out; nothing was removed."
    )
