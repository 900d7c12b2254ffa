"""How long work tells how far it is."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a stage in words, how much of it is done, and how much there is."""


def silent(_stage: str, _done: int, _total: int) -> None:
    """Say nothing."""
