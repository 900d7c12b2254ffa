"""Clusters that a partition has in train and in evaluation alike."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from shiftbench import keys


def shared(train: pl.DataFrame, evaluated: pl.DataFrame, clusters: Sequence[str]) -> int:
    """How many of the records evaluated have a cluster that occurs in train."""
    known, own = (keys.combined(frame, clusters).cast(pl.String) for frame in (train, evaluated))
    return int(own.is_in(known.unique().implode()).sum())


def kept_whole(train: pl.DataFrame, eval_in: pl.DataFrame, clusters: Sequence[str]) -> tuple[str, ...]:
    """The columns of clusters that folds of train must not cut: these, or none if the partition itself cuts them.

    Folds are to train what eval_in is: where most of its records meet their clusters in train, so do those of a fold.
    """
    cut = bool(clusters) and 2 * shared(train, eval_in, clusters) > eval_in.height
    return () if cut else tuple(clusters)
