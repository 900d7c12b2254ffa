"""Predictions of a method as a file, so that it need not predict again: an ensemble of any kind, as in memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench import ensembles
from shiftbench.io import files

HEADER = "told"  # the kind of ensemble, its plain values, and the key


def kept(path: Path, key: str, make: Callable[[], Any]) -> Any:
    """The ensemble stored under this key, or else the result of `make`, which is then stored."""
    with suppress(Exception):  # no file, another key, or whatever is wrong with it: the file only saves work
        return read(path, key)
    found = make()
    write(found, path, key)
    return found


def write(ensemble: ensembles.Ensemble, path: Path, key: str = "") -> None:
    """Write an ensemble; `key` is what its numbers follow from: another key, other numbers."""
    values = {name: value for name, value in vars(ensemble).items() if name != "index"}  # labels, only in memory
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in values.items() if name not in arrays}
    if ensemble.by_record:
        arrays = {name: np.moveaxis(value, 0, 1) for name, value in arrays.items()}
    arrays[HEADER] = np.array(json.dumps([type(ensemble).__name__, plain, key]))
    path.parent.mkdir(parents=True, exist_ok=True)
    with files.replacing(path) as temporary, temporary.open("wb") as opened:
        np.savez(opened, allow_pickle=False, **arrays)


def read(path: Path, key: str = "") -> Any:
    """The ensemble in a file of `write`.

    Raises:
        ValueError: if its key is another one.
    """
    with np.load(path, allow_pickle=False) as opened:
        name, plain, found = json.loads(str(opened[HEADER]))
        if found != key:
            raise ValueError(f"expected the key {key}, found {found}")
        arrays = {each: opened[each] for each in opened if each != HEADER}
    kind: Any = getattr(ensembles, name)
    if kind.by_record:
        arrays = {each: np.moveaxis(value, 0, 1) for each, value in arrays.items()}
    return kind(**arrays, **plain)
