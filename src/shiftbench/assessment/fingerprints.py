"""Fingerprints of (id, target) pairs: they detect predictions joined to targets other than those they were made for.

A fingerprint is the upper 32 bits of a hash of a record's id (as text) and its target: in a regression the number in
single precision, so that the file format makes no difference; in a classification the label as text. They detect
records that were numbered differently. They are not secret: a class can be recovered by trying all of them.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from shiftbench.check import Flags
from shiftbench.errors import TableError
from shiftbench.methods.targets import labels
from shiftbench.partition.hashing import Hashes, keyed_hash, step

MOST_LISTED = 3


def fingerprints(ids: pl.Series, targets: pl.Series, *, task: str) -> pl.Series:
    """The fingerprint of each of N records, UInt32; null where the target is missing or invalid for the task.

    ids: [N], none missing. task: "regression" or "classification".
    """
    ids = ids.cast(pl.String)
    if task == "regression":
        if targets.dtype.is_nested():  # polars has no numbers for these
            targets = pl.Series(targets.name, [None] * len(targets), dtype=pl.Float64)
        numbers = targets.cast(pl.Float64, strict=False).fill_nan(None)
        known = numbers.is_not_null()
        with np.errstate(over="ignore"):
            single = numbers.fill_null(0.0).to_numpy().astype(np.float32) + np.float32(0)  # no negative zero
        words: Hashes = single.view(np.uint32).astype(np.uint64)
    else:
        text = labels(targets.to_frame(), targets.name, where="targets")
        known = text.is_not_null()
        words = keyed_hash(text.fill_null(""), seed=0)
    hashes = step(keyed_hash(ids, seed=0), words)
    return pl.select(pl.when(known).then(pl.Series((hashes >> np.uint64(32)).astype(np.uint32)))).to_series()


def require_same(ids: pl.Series, recorded: pl.Series, targets: pl.Series, *, task: str, where: str) -> None:
    """Check that predictions are scored against the targets they were made for, by fingerprints [N].

    Records for which either target is unknown are not compared.

    Raises:
        TableError: if any differ, with how many and the first ids.
    """
    found = fingerprints(ids, targets, task=task)
    known = (recorded.is_not_null() & found.is_not_null()).to_numpy()
    differ: Flags = (recorded != found).fill_null(value=False).to_numpy() & known
    if differ.any():
        shown = ", ".join(map(repr, ids.filter(pl.Series(differ)).cast(pl.String).head(MOST_LISTED)))
        raise TableError(
            f"{where}: expected the targets that these predictions were made for, found others in column "
            f"{targets.name!r} for {differ.sum():,} of {known.sum():,} records (ids {shown}"
            f"{', …' if differ.sum() > MOST_LISTED else ''}). Name the column of ids that was used for the predictions "
            "with --id, or predict this table; if these targets are meant, take the column `fingerprint` out of the "
            "predictions."
        )


def of_table(frame: pl.DataFrame, ids: pl.Series, target: str | None, *, task: str | None) -> pl.Series | None:
    """The fingerprints of a table's records [N]; None if the table does not hold the target."""
    if target not in frame.columns or task is None:
        return None
    assert target is not None
    found = fingerprints(ids, frame[target], task=task)
    return None if found.null_count() == len(found) else found
