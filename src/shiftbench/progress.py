"""Progress callbacks of long work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a description of the stage, the amount done, and the total."""


def of_stage(progress: Progress, stage: str) -> Callable[[int, int, str], None]:
    """The progress of a method, which has a sentence instead of a stage, as that of one stage."""
    return lambda done, total, _message: progress(stage, done, total)


def silent(_stage: str, _done: int, _total: int) -> None:
    """Ignore progress."""
