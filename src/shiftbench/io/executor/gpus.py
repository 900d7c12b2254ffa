"""The GPUs of this machine that a process sees."""

from __future__ import annotations

import os
from pathlib import Path

from shiftbench.errors import SettingsError

VISIBLE = "CUDA_VISIBLE_DEVICES"
DEVICES = Path("/dev")


def visible() -> list[str]:
    """The GPUs that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    if (named := os.environ.get(VISIBLE)) is not None:
        return [name.strip() for name in named.split(",") if name.strip() not in ("", "-1")]
    found = (path.name.removeprefix("nvidia") for path in DEVICES.glob("nvidia[0-9]*"))
    return sorted((number for number in found if number.isdecimal()), key=int)


def environment(count: int, place: int) -> dict[str, str]:
    """Shows the process at this place its own `count` GPUs, in turn; with 0 it sees what this process sees.

    Raises:
        SettingsError: if there are fewer.
    """
    if not count:
        return {}
    found = visible()
    if count > len(found):
        raise SettingsError(
            f"gpus: expected {count} GPUs for each job, found {len(found)} on this machine. Ask for fewer, or use the "
            "executor of a cluster that has them."
        )
    crews = len(found) // count
    start = place % crews * count
    return {VISIBLE: ",".join(found[start : start + count])}
