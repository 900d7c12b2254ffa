"""Available memory, so that what does not fit is refused before any work."""

from __future__ import annotations

from pathlib import Path

from shiftbench.errors import SettingsError

MOST = 2**1000  # bytes that a message tells: more do not fit into a float
RESERVE = 500 * 2**20  # bytes for models, what is being computed, and libraries
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def available() -> int | None:
    """Available memory in bytes: the rest of the machine's, or of a container's limit; None if unknown."""
    found = [size for size in (_meminfo(), _cgroup()) if size is not None]
    return min(found) if found else None


def require(count: int, each: int, *, what: str, reserve: int = 0) -> None:
    """Check that `count` times `each` bytes, and a reserve, are available; passes if that is unknown.

    Raises:
        SettingsError: if they are not, naming how many of `what` fit.
    """
    free, needed = available(), count * each + reserve
    if free is not None and needed > free:
        raise SettingsError(
            f"{count:,} {what}: expected about {min(needed, MOST) / 2**30:.1f} GiB of memory for {each:,} bytes each, "
            f"found {free / 2**30:.1f} GiB available. Ask for fewer: at most {max(0, free - reserve) // each:,} fit."
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
