"""A condition over ten columns of a million records against the same thing written as one polars expression."""

from __future__ import annotations

import functools
import operator
import statistics
import time
from collections.abc import Callable

import numpy as np
import polars as pl

from shiftbench.partition.expression import condition

RECORDS, COLUMNS = 1_000_000, 10
ROUNDS = 15


def ratios() -> list[tuple[str, float, float | None]]:
    """(name, seconds of ours over seconds of the yardstick, bound)."""
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"w{place}": rng.random(RECORDS) for place in range(COLUMNS)})
    text = " + ".join(frame.columns) + " > 6"
    plain = functools.reduce(operator.add, map(pl.col, frame.columns)) > 6

    def ours() -> None:
        frame.select(condition(text, frame.schema))

    times = [(_seconds(ours), _seconds(lambda: frame.select(plain))) for _ in range(ROUNDS)]
    own, yardstick = (statistics.median(column) for column in zip(*times, strict=True))
    return [("w0 + … + w9 > 6 of 1M rows / one polars expression", own / yardstick, 3.0)]


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start
