"""Available memory, so that what does not fit is refused before any work."""

from __future__ import annotations

from pathlib import Path

from shiftbench.errors import SettingsError, ShiftbenchError

RESERVE = 500 * 2**20  # bytes for models, what is being computed, and libraries
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def available() -> int | None:
    """Available memory in bytes: the rest of the machine's, or of a container's limit; None if unknown."""
    found = [size for size in (_meminfo(), _cgroup()) if size is not None]
    return min(found) if found else None


def require(size: int, *, what: str) -> None:
    """Check that `size` bytes of memory are available; passes if that is unknown.

    Raises:
        SettingsError: if they are not; `what` names the request.
    """
    free = available()
    if free is not None and size > free:
        raise SettingsError(
            f"{what}: expected about {-(-size // 2**30):,} GiB of memory for them, found {free // 2**30:,} GiB free. "
            "Ask for fewer."
        )


def require_records(records: int, each: int) -> None:
    """Check that predictions of so many bytes for each record fit into memory; passes if that is unknown.

    Raises:
        ShiftbenchError: if they do not, naming how many records do.
    """
    there = available()
    if there is None or records * each + RESERVE <= there:
        return
    most = max(0, there - RESERVE) // each
    raise ShiftbenchError(
        f"{records:,} records of {each:,} bytes: expected to need about {(records * each + RESERVE) / 2**30:.1f} GiB "
        f"of memory, found {there / 2**30:.1f} GiB available. Predict fewer at a time (at most {most:,} fit), or with "
        "fewer members, draws, plans or modes."
    )


def _meminfo() -> int | None:
    try:
        lines = MEMINFO.read_text("ascii").splitlines()
    except (OSError, ValueError):
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None


def _cgroup() -> int | None:
    """The rest of a container's memory limit (cgroup version 2); None without a limit."""
    try:
        limit, used = ((CGROUP / name).read_text("ascii").strip() for name in ("memory.max", "memory.current"))
        return None if limit == "max" else max(0, int(limit) - int(used))
    except (OSError, ValueError):
        return None
