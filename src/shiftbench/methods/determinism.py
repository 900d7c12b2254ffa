"""Reproducible training: the same order, threads and random states give the same weights every time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor


def order(seed: int, epoch: int, records: int) -> Tensor:
    """The order [N] in which an epoch goes through its records. It follows from seed and epoch alone, so a training
    that goes on needs no memory of it."""
    drawn = np.random.SeedSequence([seed, epoch]).generate_state(1)[0]
    return torch.randperm(records, generator=torch.Generator().manual_seed(int(drawn)))


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for each operation, of PyTorch's and of NumPy's products: sums have one order only.

    Restored, since it holds for the whole process.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def kept_random(place: torch.device) -> Iterator[None]:
    """Restore the caller's random states of the CPU and of `place` after the block."""
    with torch.random.fork_rng([place] if place.type == "cuda" else []):
        yield
