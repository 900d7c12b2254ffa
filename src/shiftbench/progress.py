"""Progress callbacks of long work."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a description of the stage, the amount done, and the total."""


def silent(_stage: str, _done: int, _total: int) -> None:
    """Ignore progress."""
