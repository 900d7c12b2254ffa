"""Batches of inputs: read on demand, cached in memory where they fit, and prefetched during training."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import torch
from torch.nn import functional

from shiftbench.errors import SettingsError
from shiftbench.methods import determinism
from shiftbench.methods.trajectories.dataset import Arrays, Rows, TrajectoryDataset, require_finite

CACHE_BYTES = 1 << 30  # inputs of a partition up to this size are cached in memory by each process
READ_ROWS = 64  # maps are pooled so many at a time: bounds memory

Read = Callable[[TrajectoryDataset, Rows], Arrays]


def maps(pooling: int, crop: int | None = None) -> Read:
    """Reads feature maps: `maps` [B, C, H // p, W // p], average-pooled over `pooling` by `pooling` pixels.

    Maps larger than `crop` by `crop` pixels are cropped to their centre.
    """

    def read(dataset: TrajectoryDataset, rows: Rows) -> Arrays:
        parts = []
        for start in range(0, len(rows), READ_ROWS):
            part = torch.from_numpy(_middle(dataset.maps(rows[start : start + READ_ROWS]), crop))
            if min(part.shape[2:]) < pooling:
                raise SettingsError(
                    f"pooling: expected at most the pixels of a map {tuple(part.shape[2:])}, found {pooling}."
                )
            parts.append(functional.avg_pool2d(part, pooling) if pooling > 1 else part)
        return {"maps": torch.cat(parts).numpy()}

    return read


def _middle(maps: npt.NDArray[np.float32], size: int | None) -> npt.NDArray[np.float32]:
    """The centre of maps [B, C, H, W], at most `size` by `size`."""
    if size is not None:
        top, left = (max(0, (length - size) // 2) for length in maps.shape[2:])
        maps = maps[:, :, top : top + size, left : left + size]
    return np.ascontiguousarray(maps)


def vectors(dataset: TrajectoryDataset, rows: Rows) -> Arrays:
    """Reads vector features by name, each [B, …]."""
    return dataset.vectors(rows)


class BatchReader:
    """Reads the inputs of requests, and caches them if those of all requests fit into `cache_bytes`.

    Caching does not change the inputs. Not thread-safe.
    """

    def __init__(self, dataset: TrajectoryDataset, read: Read, *, cache_bytes: int = CACHE_BYTES) -> None:
        self.dataset, self.read = dataset, read
        first = read(dataset, np.arange(1))
        fits = len(dataset) * sum(values.nbytes for values in first.values()) <= cache_bytes
        self.kept: Arrays = {
            name: np.empty((len(dataset), *values.shape[1:]), values.dtype)
            for name, values in (first.items() if fits else ())
        }
        self.known = np.zeros(len(dataset), dtype=np.bool_)

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
        inputs = self.read(self.dataset, rows)
        require_finite(self.dataset, rows, inputs)
        return inputs


class PrefetchingReader:
    """Reads the next expected batch in a background thread during the current training step.

    Any batch can be read, expected or not; `expected` counts those that were.
    """

    def __init__(self, reader: BatchReader, orders: Iterator[Rows]) -> None:
        self.reader, self.orders = reader, orders
        self.pool = ThreadPoolExecutor(1)
        self.expected = 0
        self.next: tuple[Rows, Future[Arrays]] | None = None
        self._begin()

    def __call__(self, rows: Rows) -> Arrays:
        """The inputs of these requests; see `BatchReader`."""
        inputs = None
        if self.next is not None:
            wanted, future = self.next
            read = future.result()
            if np.array_equal(wanted, rows):
                inputs, self.expected = read, self.expected + 1
        inputs = self.reader(rows) if inputs is None else inputs
        self._begin()
        return inputs

    def close(self) -> None:
        """End the thread."""
        self.pool.shutdown(wait=True, cancel_futures=True)

    def _begin(self) -> None:
        rows = next(self.orders, None)
        self.next = None if rows is None else (rows, self.pool.submit(self.reader, rows))


def orders(seed: int, *, records: int, batch: int, step: int, steps: int) -> Iterator[Rows]:
    """The requests [B] of each step from `step` on, in the order in which `training.train` uses them."""
    per_epoch = -(-records // batch)
    for epoch in range(step // per_epoch, -(-steps // per_epoch)):
        order = determinism.order(seed, epoch, records).numpy()
        for place in range(per_epoch):
            if step <= epoch * per_epoch + place < steps:
                yield order[place * batch : (place + 1) * batch]
