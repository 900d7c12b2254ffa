"""Batches of inputs: read where they lie, kept in memory where they fit, and the next one read while one is learnt."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from shiftbench.errors import SettingsError
from shiftbench.methods import determinism
from shiftbench.methods.trajectories import situations as given
from shiftbench.methods.trajectories.situations import Arrays, Rows, Situations

CACHE_BYTES = 1 << 30  # inputs of a partition up to this size are kept in memory by each process
READ_ROWS = 64  # maps are made smaller so many at a time: bounds memory

Read = Callable[[Situations, Rows], Arrays]


def maps(pooling: int, crop: int | None = None) -> Read:
    """Reads feature maps: `maps` [B, C, H // p, W // p], each `pooling` by `pooling` pixels averaged into one.

    Of maps larger than `crop` by `crop` pixels only the middle is read.
    """

    def read(situations: Situations, rows: Rows) -> Arrays:
        parts = []
        for start in range(0, len(rows), READ_ROWS):
            part = torch.from_numpy(_middle(situations.maps(rows[start : start + READ_ROWS]), crop))
            if min(part.shape[2:]) < pooling:
                raise SettingsError(
                    f"pooling: expected at most the pixels of a map {tuple(part.shape[2:])}, found {pooling}."
                )
            parts.append(functional.avg_pool2d(part, pooling) if pooling > 1 else part)
        return {"maps": torch.cat(parts).numpy()}

    return read


def _middle(maps: npt.NDArray[np.float32], size: int | None) -> npt.NDArray[np.float32]:
    """The middle of maps [B, C, H, W], at most `size` by `size`."""
    if size is not None:
        top, left = (max(0, (length - size) // 2) for length in maps.shape[2:])
        maps = maps[:, :, top : top + size, left : left + size]
    return np.ascontiguousarray(maps)


def vectors(situations: Situations, rows: Rows) -> Arrays:
    """Reads vector features by name, each [B, …]."""
    return situations.vectors(rows)


class Feed:
    """Gives the inputs of requests; those of all are kept in memory once read, if they fit into `cache_bytes`.

    Whether they do makes no difference to what is given. Not for several threads at a time.
    """

    def __init__(self, situations: Situations, read: Read, *, cache_bytes: int = CACHE_BYTES) -> None:
        self.situations, self.read = situations, read
        first = read(situations, np.arange(1))
        fits = len(situations) * sum(values.nbytes for values in first.values()) <= cache_bytes
        self.kept: Arrays = {
            name: np.empty((len(situations), *values.shape[1:]), values.dtype)
            for name, values in (first.items() if fits else ())
        }
        self.known = np.zeros(len(situations), dtype=np.bool_)

    def __call__(self, rows: Rows) -> Arrays:
        """The inputs of these requests by name, each [B, …].

        Raises:
            ArrayError: naming a request whose inputs are not finite.
        """
        if not self.kept:
            return self._read(rows)
        missing = rows[~self.known[rows]]
        if len(missing):
            for name, values in self._read(missing).items():
                self.kept[name][missing] = values
            self.known[missing] = True
        return {name: values[rows] for name, values in self.kept.items()}

    def _read(self, rows: Rows) -> Arrays:
        inputs = self.read(self.situations, rows)
        given.require_finite(self.situations, rows, inputs)
        return inputs


class Ahead:
    """A feed that a thread of its own works for: while a batch is learnt, the one expected next is read.

    What is asked for is given, expected or not; `expected` counts how often it was.
    """

    def __init__(self, feed: Feed, orders: Iterator[Rows]) -> None:
        self.feed, self.orders = feed, orders
        self.pool = ThreadPoolExecutor(1)
        self.expected = 0
        self.next: tuple[Rows, Future[Arrays]] | None = None
        self._begin()

    def __call__(self, rows: Rows) -> Arrays:
        """The inputs of these requests; see `Feed`."""
        inputs = None
        if self.next is not None:
            wanted, future = self.next
            read = future.result()
            if np.array_equal(wanted, rows):
                inputs, self.expected = read, self.expected + 1
        inputs = self.feed(rows) if inputs is None else inputs
        self._begin()
        return inputs

    def close(self) -> None:
        """End the thread."""
        self.pool.shutdown(wait=True, cancel_futures=True)

    def _begin(self) -> None:
        rows = next(self.orders, None)
        self.next = None if rows is None else (rows, self.pool.submit(self.feed, rows))


def orders(seed: int, *, records: int, batch: int, step: int, steps: int) -> Iterator[Rows]:
    """The requests [B] of each step from `step` on, in the order in which `training.train` asks for them."""
    per_epoch = -(-records // batch)
    for epoch in range(step // per_epoch, -(-steps // per_epoch)):
        order = determinism.order(seed, epoch, records).numpy()
        for place in range(per_epoch):
            if step <= epoch * per_epoch + place < steps:
                yield order[place * batch : (place + 1) * batch]
