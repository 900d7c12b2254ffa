"""Predictions part by part: here, or each part a job of the executor in use.

No method's prediction for a record depends on other records, so on CPUs all ways give the same bytes. A part and what
is predicted for it are files of the folder where the work is done. They are named after the fit and the part, so that a
command that goes on finds what was predicted; `output` knows what a killed one leaves by the form of the names.
"""

from __future__ import annotations

import hashlib
import json
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shiftbench import methods
from shiftbench.ensembles import concatenated
from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.io import executor, files
from shiftbench.io.executor import Job, memory
from shiftbench.io.output import DONE
from shiftbench.methods import ensemble_files, fitted_folder
from shiftbench.methods.contract import DEEP

if TYPE_CHECKING:
    from shiftbench.methods.contract import Data, Method
    from shiftbench.methods.progress import Progress

RECORDS = 1 << 14  # of a part of a table; with fewer, loading models costs more than predicting
# Of a part of a data set of trajectories, whose records take far longer. A whole number of the blocks that networks
# predict: in other blocks sums would be in another order.
REQUESTS = 1 << 11
MOST_PARTS = 1000  # an array of Slurm has no more tasks
GIVEN, FOUND = ".{}.recorded.part", ".{}" + DONE


def predicted(
    method: Method, data: Data, *, folder: Path, cores: int, place: Path, most: int | None = None, ensemble: str = DEEP,
    kept: Callable[[Any], Any] | None = None, progress: Progress | None = None,
) -> Any:  # fmt: skip
    """What the method fitted into `folder` predicts for all records of `data`, as one ensemble; see `Method.predict`.

    Args:
        method, data, folder, cores, ensemble: as there.
        place: a folder to write to, which workers of the executor in use see.
        most: records to predict here at a time; all if None.
        kept: what is to be kept of each part's ensemble; all of it if None.
        progress: called as there, or with parts.

    Raises:
        TableError, ArrayError, SettingsError, MissingExtraError: as `Method.predict`; SettingsError also if files of
            the fit cannot be used.
        ShiftbenchError: if the result will not fit into memory; if a worker dies: called again, it goes on with the
            parts that are missing.
    """
    records = len(data)
    ask = partial(method.predict, folder=folder, cores=cores, ensemble=ensemble)
    keep = kept or (lambda part: part)
    with fitted_folder.using(folder):
        if not executor.current().spreads or method.role == "baseline":
            found = (keep(ask(part, progress=progress)) for part in _cut(data, most or records))
            return concatenated(found, records=records)
        first = keep(ask(_rows(data, 0, 1)))  # refuses what no worker could do
        each = sum(array.nbytes for array in vars(first).values() if isinstance(array, np.ndarray))
        memory.require(records, each, what="records", reserve=memory.RESERVE)
    usual = RECORDS if isinstance(data, pl.DataFrame) else REQUESTS
    size = usual * max(1, -(-records // (usual * MOST_PARTS)))
    digests = [_given(part, folder, place, ensemble) for part in _cut(data, size)]
    _run(digests, folder, place, progress)
    answers = (keep(ensemble_files.read(place / FOUND.format(digest))) for digest in digests)
    whole = concatenated(answers, records=records)
    for digest in digests:
        for name in (GIVEN, FOUND):
            (place / name.format(digest)).unlink(missing_ok=True)
    return whole


def _run(digests: Sequence[str], folder: Path, place: Path, progress: Progress | None) -> None:
    """Let the executor in use predict the parts that are missing."""
    argument = json.dumps({"folder": str(folder.absolute()), "place": str(place.absolute()), "parts": digests})
    shared = tuple(str(each.absolute()) for each in (place, folder.parent))  # some methods are made of those beside
    jobs = Job(f"{__name__}:predict_part", argument, len(digests), shared)

    def tell(done: int, items: int) -> None:
        if progress:
            progress(done, items, f"{done:,} of {items:,} parts")

    executor.run(jobs, executor.current(), progress=tell)


def predict_part(argument: str, number: int) -> None:
    """Predict one of the parts that a job lists, unless that was done.

    Raises:
        ShiftbenchError: if its file is not as it was written: only what `predicted` wrote is unpickled.
    """
    job = json.loads(argument)
    folder, place, digest = Path(job["folder"]), Path(job["place"]), job["parts"][number]
    if (place / FOUND.format(digest)).exists():
        return
    written = files.read_bytes(place / GIVEN.format(digest))
    if hashlib.sha256(written).hexdigest() != digest:
        raise ShiftbenchError(f"{place}: expected the records as they were written, found others. Run again.")
    _, part, ensemble = pickle.loads(written)
    try:
        with fitted_folder.using(folder):
            found = methods.fitted(folder).predict(part, folder=folder, cores=1, ensemble=ensemble)
    except TableError as error:
        where = f"part {number + 1:,} of {len(job['parts']):,}"
        raise TableError(*(f"{where}: {problem}" for problem in error.problems)) from None
    ensemble_files.write(found, place / FOUND.format(digest))


def _cut(data: Data, size: int) -> Iterator[Data]:
    """Parts of so many records; of those that are left, the last."""
    size = max(1, size)
    return (_rows(data, start, start + size) for start in range(0, max(1, len(data)), size))


def _rows(data: Data, start: int, stop: int) -> Data:
    if isinstance(data, pl.DataFrame):
        return data[start:stop]
    return data.select(np.arange(start, min(stop, len(data))))


def _given(part: Data, folder: Path, place: Path, ensemble: str) -> str:
    """Write the records of a part with what identifies the fit and its ensembles; returns the hash of all."""
    written = pickle.dumps((fitted_folder.identity(folder), part, ensemble))
    digest = hashlib.sha256(written).hexdigest()
    (place / GIVEN.format(digest)).write_bytes(written)
    return digest
