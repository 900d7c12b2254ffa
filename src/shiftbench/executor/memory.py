"""How much memory can be had, so that what will not fit is told before anything is begun."""

from __future__ import annotations

from pathlib import Path

from shiftbench.errors import SettingsError

MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def available() -> int | None:
    """Bytes of memory that can be had: what the machine, or a container's limit, leaves; None where neither tells."""
    found = [size for size in (_meminfo(), _cgroup()) if size is not None]
    return min(found) if found else None


def require(size: int, *, what: str) -> None:
    """Make sure that there is memory for so many bytes; where the system does not say, that is left open.

    Raises:
        SettingsError: if there is not; `what` was asked for.
    """
    free = available()
    if free is not None and size > free:
        raise SettingsError(
            f"{what}: expected about {-(-size // 2**30):,} GiB of memory for them, found {free // 2**30:,} GiB free. "
            "Ask for fewer."
        )


def _meminfo() -> int | None:
    try:
        lines = MEMINFO.read_text("ascii").splitlines()
    except (OSError, ValueError):
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None


def _cgroup() -> int | None:
    """What the limit of a container (cgroup version 2) leaves; None where there is no limit."""
    try:
        limit, used = ((CGROUP / name).read_text("ascii").strip() for name in ("memory.max", "memory.current"))
        return None if limit == "max" else max(0, int(limit) - int(used))
    except (OSError, ValueError):
        return None
