"""What a method said about requests, kept: one prediction serves every error, number of members and aggregation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench import files
from shiftbench.trajectory_ensembles import Mixture, Trajectories

Said = Trajectories | Mixture
KEY = "key"  # what the numbers follow from: another key, other numbers


def kept(path: Path, key: str, make: Callable[[], Said]) -> Said:
    """What is kept under this key, or else what `make` gives, kept from now on."""
    found = _read(path, key)
    if found is None:
        found = make()
        arrays: dict[str, Any] = {name: value for name, value in vars(found).items() if isinstance(value, np.ndarray)}
        arrays[KEY] = np.array(key)
        if isinstance(found, Trajectories):
            arrays["plans_per_member"] = np.array(found.plans_per_member)
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.replacing(path) as temporary, temporary.open("wb") as opened:
            np.savez(opened, allow_pickle=False, **arrays)
    return found


def _read(path: Path, key: str) -> Said | None:
    """None if there is no file, or one of another key, or a damaged one: it is made again."""
    try:
        with np.load(path, allow_pickle=False) as opened:
            if str(opened[KEY]) != key:
                return None
            if "scores" in opened:
                return Trajectories(opened["trajectories"], opened["scores"], int(opened["plans_per_member"]))
            return Mixture(opened["trajectories"], opened["weights"])
    except Exception:  # whatever is wrong with it: the file only saves work
        return None
