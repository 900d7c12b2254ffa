"""The progress of a fit, over all of its members."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shiftbench.methods.member_files import MemberFiles

Progress = Callable[[int, int, str], None]
"""Called with what is done, all there is to do (steps, trees or members, as the method counts), and a sentence."""


class TrainingProgress:
    """Adds up the steps that the members of a fit have done and calls `progress` whenever the sum has grown.

    A member that needed fewer steps than it was given, because it was stopped early, counts as one that did all.

    Attributes:
        missing: the members that are still to be trained.
    """

    def __init__(
        self, kept: MemberFiles, members: int, *, steps: int, progress: Progress | None, about: Callable[[int], str]
    ) -> None:
        self.missing = kept.missing(members)
        self.steps, self.progress, self.about = steps, progress, about
        before = members - len(self.missing)
        self.total, self.reported = members * steps, 0
        self.done = dict.fromkeys(range(members), 0) | dict.fromkeys(set(range(members)) - set(self.missing), steps)
        if before:
            self._tell(f"{before} of {members} members were trained before")

    def step(self, member: int, done: int, message: str) -> None:
        """A member has done so many of its steps."""
        # Its last one is reported when the member is finished and its files are written.
        self.done[member] = min(done, self.steps - 1)
        self._tell(f"member {member}: {message}")

    def finished(self, member: int) -> None:
        """A member is trained, and its files are whole."""
        self.done[member] = self.steps
        self._tell(f"member {member}: {self.about(member)}")

    def _tell(self, message: str) -> None:
        done = sum(self.done.values())
        if self.progress and done > self.reported:
            self.progress(done, self.total, message)
        self.reported = max(self.reported, done)
