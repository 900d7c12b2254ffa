"""What a method predicted for requests, kept: one prediction serves every error, number of members and aggregation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.ensembles import Mixture, Trajectories
from shiftbench.io import files

Output = Trajectories | Mixture
KEY = "key"  # what the numbers follow from: another key, other numbers


def kept(path: Path, key: str, make: Callable[[], Output]) -> Output:
    """What is kept under this key, or else what `make` gives, kept from now on."""
    found = _read(path, key)
    if found is None:
        found = make()
        # Request by request, as the arrays lie in memory.
        arrays: dict[str, Any] = {name: np.moveaxis(value, 0, 1) for name, value in vars(found).items()}
        arrays[KEY] = np.array(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.replacing(path) as temporary, temporary.open("wb") as opened:
            np.savez(opened, allow_pickle=False, **arrays)
    return found


def _read(path: Path, key: str) -> Output | None:
    """None if there is no file, or one of another key, or a damaged one: it is made again."""
    try:
        with np.load(path, allow_pickle=False) as opened:
            if str(opened[KEY]) != key:
                return None
            kind, other = (Trajectories, "scores") if "scores" in opened else (Mixture, "weights")
            return kind(*(np.moveaxis(opened[name], 0, 1) for name in ("trajectories", other)))
    except Exception:  # whatever is wrong with it: the file only saves work
        return None
