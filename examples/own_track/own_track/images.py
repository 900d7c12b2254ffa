"""The data: images are made, checked, and divided into the parts of a prepared folder."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.errors import ShiftbenchError
from shiftbench.io import files
from shiftbench.track import MANIFEST, Prepared, read_manifest

SEGMENTS = ("abcdef", "bc", "abged", "abgcd", "fgbc", "afgcd", "afgedc", "abc", "abcdefg", "abcdfg")
TOP, LOW, MID = slice(1, 4), slice(5, 8), slice(1, 5)  # of 9 × 6 pixels
PLACES = {"a": (0, MID), "b": (TOP, 5), "c": (LOW, 5), "d": (8, MID), "e": (LOW, 0), "f": (TOP, 0), "g": (4, MID)}
CLEAN, NOISY = {"train": 0.6, "dev_in": 0.15, "eval_in": 0.25}, {"dev_out": 0.4, "eval_out": 0.6}  # parts, shares
SHAPES = {"images": (9, 6), "labels": (), "noisy": ()}  # of one record


def write(path: Path, rows: int | None, seed: int, progress: Any, *, noise: float = 0.8) -> Path:
    """Write images, a third of them with additional noise; noise: its standard deviation, where ink is 1."""
    rng, count = np.random.default_rng(seed), rows or 3_000
    clean = np.zeros((10, 9, 6))
    for digit, segments in enumerate(SEGMENTS):
        for segment in segments:
            clean[digit][PLACES[segment]] = 1.0
    labels, noisy = rng.integers(0, 10, count), rng.random(count) < 1 / 3
    spread = np.where(noisy, np.hypot(0.4, noise), 0.4)[:, None, None]
    images = (clean[labels] + spread * rng.normal(size=(count, 9, 6))).astype(np.float32)
    with files.replacing(path) as temporary, temporary.open("wb") as opened:
        np.savez_compressed(opened, images=images, labels=labels, noisy=noisy)
    return path


def read(path: Path) -> dict[str, Any]:
    """The arrays of a file; raises ShiftbenchError if they are missing, invalid or of other shapes."""
    try:
        with np.load(path, allow_pickle=False) as opened:
            found = {name: opened[name] for name in SHAPES}
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ShiftbenchError(f"{path}: expected an NPZ file of {', '.join(SHAPES)}, found: {error}.") from None
    expected = {name: (found["labels"].size, *shape) for name, shape in SHAPES.items()}
    if (shapes := {name: array.shape for name, array in found.items()}) != expected:
        raise ShiftbenchError(f"{path}: expected arrays of shapes {expected}, found {shapes}. Write them so.")
    if not (np.isfinite(found["images"]).all() and np.isin(found["labels"], range(10)).all()):
        raise ShiftbenchError(f"{path}: expected finite images and labels from 0 to 9. Mend or drop the others.")
    return found


def prepare(source: Path, folder: Path, *, progress: Any) -> Prepared:
    """Divide images into parts: train, dev_in and eval_in are clean, dev_out and eval_out are noisy."""
    data, counts = read(source), {}
    folder.mkdir(parents=True, exist_ok=True)
    for chosen, shares in ((~data["noisy"], CLEAN), (data["noisy"], NOISY)):
        rows = np.random.default_rng(0).permutation(np.flatnonzero(chosen))
        cuts = (np.cumsum([*shares.values()])[:-1] * len(rows)).astype(int)
        for name, part in zip(shares, map(np.sort, np.split(rows, cuts)), strict=True):
            if not len(part):
                raise ShiftbenchError(f"{source}: expected images for {name}, found none. Add some.")
            np.savez(folder / f"{name}.npz", ids=part + 1, **{key: data[key][part] for key in SHAPES})
            counts[name] = len(part)
    files.write_json(folder / MANIFEST, {"source": files.sha256(source), "counts": counts})
    return open_prepared(folder)


def open_prepared(folder: Path) -> Prepared:
    """What a prepared folder holds."""
    return Prepared(folder, "made-up digits", read_manifest(folder)["counts"])


def part(folder: Path, *names: str) -> dict[str, Any]:
    """The arrays of parts, one after the other."""
    read = [np.load(folder / f"{name}.npz", allow_pickle=False) for name in names]
    return {key: np.concatenate([each[key] for each in read]) for key in read[0].files}
