"""Output folders: built in a temporary place, moved whole, with a list of their files; no other file is touched."""

from shiftbench.io.output.folder import adding, require_outside, together, writing
from shiftbench.io.output.lock import alone
from shiftbench.io.output.mark import DONE, MARK, PART, Mark, read_mark
from shiftbench.io.output.place import final, folder_of
from shiftbench.io.output.staging import staging

__all__ = [
    "DONE", "MARK", "PART", "Mark", "adding", "alone", "final", "folder_of", "read_mark", "require_outside", "staging",
    "together", "writing",
]  # fmt: skip
