"""Concatenates many short columns of one type, so that thousands of them are processed as fast as one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

Test = Callable[[pl.Series], pl.Series]
"""Values [N] → flags [N], each of which depends on its own value only."""


def stacked(columns: Sequence[pl.Series]) -> pl.Series:
    """The concatenation of columns of one type."""
    return pl.concat([column.alias("") for column in columns], rechunk=True)


def unstacked(stack: pl.Series, names: Sequence[str]) -> list[pl.Series]:
    """The inverse of `stacked`: the columns of equal height, under these names."""
    height = len(stack) // len(names)
    return [stack.slice(place * height, height).alias(name) for place, name in enumerate(names)]


def alike(columns: Sequence[pl.Series], tests: Sequence[Test]) -> list[npt.NDArray[np.intp]]:
    """Groups columns (of one type and height) by which tests all their values pass.

    Args:
        columns: K of them.
        tests: at most 63.

    Returns:
        An array of column indices for each combination of tests that occurs, in order of its first column.
    """
    stack, key = stacked(columns), np.zeros(len(columns), np.int64)
    for bit, test in enumerate(tests):
        passed = test(stack).fill_null(value=False).to_numpy().reshape(len(columns), -1).all(axis=1)
        key |= passed.astype(np.int64) << bit
    _, first, which = np.unique(key, return_index=True, return_inverse=True)
    return [np.flatnonzero(which == group) for group in np.argsort(first)]
