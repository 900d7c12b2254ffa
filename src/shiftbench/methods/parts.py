"""Predictions part by part: here, or each part a job of the executor in use.

No method's prediction for a record depends on other records, so on CPUs all ways give the same bytes. A part and what
is predicted for it are files of the folder where the work is done. They are named after the fit and the part, so that a
command that goes on finds what was predicted; `output` knows what a killed one leaves by the form of the names.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftbench import ensembles, methods
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.io import executor, files
from shiftbench.io.executor import Job
from shiftbench.methods import fitted_folder

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.methods.contract import Method

RECORDS = 1 << 14  # of a part, about; with fewer, loading models costs more than predicting
MOST_PARTS = 1000  # an array of Slurm has no more tasks
GIVEN, FOUND = ".{}.recorded.part", ".{}.answered.part"
PLAIN = "plain"


def predictions(
    method: Method, frame: pl.DataFrame, *, folder: Path, cores: int, place: Path, most: int | None = None
) -> Iterator[Gaussian | Categorical]:
    """What the method fitted into `folder` predicts for the records of a table, part by part in their order.

    Args:
        method: of the fit.
        frame: the records [N].
        folder: of the fit.
        cores: to predict with here.
        place: a folder to write to, which workers of the executor in use see.
        most: records to predict here at a time; all if None.

    Raises:
        TableError, SettingsError, MissingExtraError: as `Method.predict`.
        ShiftbenchError: if a worker dies; called again, it goes on with the parts that are missing.
    """
    where = executor.current()
    if not where.spreads or method.role == "baseline":
        yield from (method.predict(part, folder=folder, cores=cores) for part in _cut(frame, most or frame.height))
        return
    method.predict(frame[:1], folder=folder, cores=cores)  # refuses what no worker could do
    digests = [_given(part, folder, place) for part in _cut(frame, max(RECORDS, -(-frame.height // MOST_PARTS)))]
    told = json.dumps({"folder": str(folder.absolute()), "place": str(place.absolute()), "parts": digests})
    shared = tuple(str(each.absolute()) for each in (place, folder.parent))  # some methods are made of those beside
    executor.run(Job(f"{__name__}:predict_part", told, len(digests), shared), where)
    for digest in digests:
        yield _read(place / FOUND.format(digest))
    for digest in digests:
        for name in (GIVEN, FOUND):
            (place / name.format(digest)).unlink(missing_ok=True)


def predict_part(argument: str, number: int) -> None:
    """Predict one of the parts that a job lists, unless that was done.

    Raises:
        ShiftbenchError: if its file is not as it was written: only what `predictions` wrote is unpickled.
    """
    told = json.loads(argument)
    folder, place, digest = Path(told["folder"]), Path(told["place"]), told["parts"][number]
    if (place / FOUND.format(digest)).exists():
        return
    written = files.read_bytes(place / GIVEN.format(digest))
    if hashlib.sha256(written).hexdigest() != digest:
        raise ShiftbenchError(f"{place}: expected the records as they were written, found others. Run again.")
    _, part = pickle.loads(written)
    try:
        with fitted_folder.using(folder):
            found = methods.fitted(folder).predict(part, folder=folder, cores=1)
    except TableError as error:
        where = f"part {number + 1:,} of {len(told['parts']):,}"
        raise TableError(*(f"{where}: {problem}" for problem in error.problems)) from None
    _write(found, place / FOUND.format(digest))


def _cut(frame: pl.DataFrame, most: int) -> Iterator[pl.DataFrame]:
    """Parts of at most so many records, of nearly the same size."""
    count = max(1, -(-frame.height // max(1, most)))
    for start, stop in pairwise(frame.height * number // count for number in range(count + 1)):
        yield frame[start:stop]


def _given(part: pl.DataFrame, folder: Path, place: Path) -> str:
    """Write the records of a part, and what tells the fit from others; the hash of both."""
    written = pickle.dumps((fitted_folder.identity(folder), part))
    digest = hashlib.sha256(written).hexdigest()
    (place / GIVEN.format(digest)).write_bytes(written)
    return digest


def _write(ensemble: Gaussian | Categorical, path: Path) -> None:
    values = vars(ensemble)
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in values.items() if name not in arrays}
    arrays[PLAIN] = np.array(json.dumps([type(ensemble).__name__, plain]))
    with files.replacing(path) as temporary, temporary.open("wb") as opened:
        np.savez(opened, allow_pickle=False, **arrays)


def _read(path: Path) -> Gaussian | Categorical:
    with np.load(path, allow_pickle=False) as opened:
        arrays = dict(opened)
    name, plain = json.loads(str(arrays.pop(PLAIN)))
    kind: Any = getattr(ensembles, name)
    found: Gaussian | Categorical = kind(**arrays, **plain)
    return found
