"""Folds of training records for models that are each stopped on records they have not learnt from."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.io import tables
from shiftbench.partition import keys

Folds = npt.NDArray[np.int64]


def folds(train: pl.DataFrame, clusters: Sequence[str], *, count: int, seed: int) -> Folds | None:
    """For each record [N] the number of its fold, from 0; records of one cluster are in one fold.

    Clusters go to the folds in a random order, the largest first, each to the fold that has the fewest records; a
    record that has no value there is a cluster by itself. With fewer clusters than folds there are fewer folds.

    Returns:
        None if all records are of one cluster, so that there is nothing to divide.

    Raises:
        TableError: if a column of clusters is missing.
    """
    rng = np.random.default_rng([seed, count])
    if not clusters:
        return _dealt(rng.permutation(train.height), count) if train.height > 1 else None
    tables.require(train, clusters, where="train")
    of_record = _numbered(keys.combined(train, clusters))
    sizes = np.bincount(of_record)
    if len(sizes) < 2:
        return None
    order = rng.permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled = [(0, fold) for fold in range(min(count, len(sizes)))]
    of_cluster = np.empty(len(sizes), np.int64)
    for cluster in order:
        records, fold = heapq.heappop(filled)
        of_cluster[cluster] = fold
        heapq.heappush(filled, (records + int(sizes[cluster]), fold))
    return of_cluster[of_record]


def _dealt(order: npt.NDArray[np.int64], count: int) -> Folds:
    dealt = np.empty(len(order), np.int64)
    dealt[order] = np.arange(len(order)) % min(count, len(order))
    return dealt


def _numbered(key: pl.Series) -> npt.NDArray[np.int64]:
    """The place of each record's cluster among the clusters in sorted order; the records without one come after."""
    texts = key.cast(pl.String)
    missing = texts.is_null().to_numpy()
    known, places = np.unique(texts.filter(~pl.Series(missing)).to_numpy().astype(str), return_inverse=True)
    numbers = np.empty(len(texts), np.int64)
    numbers[~missing] = places
    numbers[missing] = len(known) + np.arange(missing.sum())
    return numbers
