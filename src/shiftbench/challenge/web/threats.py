"""Which layers of defence are active on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache


@cache
def layers() -> Mapping[str, bool | str]:
    """Each layer that stands between a stranger's file and the server: active, or why not."""
    from shiftbench.challenge import sandbox

    return sandbox.layers()
