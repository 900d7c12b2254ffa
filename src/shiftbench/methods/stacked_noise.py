"""Random numbers for M members that train side by side: each member's follow from its own seed and the step alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

Draw = Callable[[np.random.Generator, tuple[int, ...]], npt.NDArray[Any]]
"""Draws an array of a shape."""

BLOCK_NUMBERS = 1 << 16  # that a member draws at a time: many steps at once cost no more calls than one


class Noise:
    """Random numbers [M, …] for every step; the members' seeds are [M], and `shape` is that for one member.

    A member trained alone is given the same numbers, and so is a training that was cut off, at whatever step, or runs
    on another device. `stream` tells apart what is drawn from the same seeds.
    """

    def __init__(self, draw: Draw, shape: Sequence[int], *, seeds: Sequence[int], stream: int) -> None:
        self.draw, self.seeds, self.stream = draw, seeds, stream
        self.shape = (max(1, BLOCK_NUMBERS // math.prod(shape)), *shape)
        self.drawn = torch.empty(0)
        self.block = -1

    def at(self, step: int, device: torch.device) -> Tensor:
        """The numbers of a step, counted from 0, on a device."""
        block, place = divmod(step, self.shape[0])
        if block != self.block:
            generators = (np.random.default_rng([seed, self.stream, block]) for seed in self.seeds)
            drawn = np.stack([self.draw(generator, self.shape) for generator in generators], axis=1)
            self.drawn, self.block = torch.from_numpy(drawn).to(device), block
        return self.drawn[place]


def normals(generator: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Standard normal numbers."""
    return generator.standard_normal(shape, dtype=np.float32)


def sign_bytes(generator: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.uint8]:
    """Eight signs each."""
    return generator.integers(0, 256, shape, dtype=np.uint8)


def dropout_masks(generator: np.random.Generator, shape: tuple[int, ...], rate: float) -> npt.NDArray[np.float32]:
    """0 with probability `rate`, else 1 / (1 − rate), each by itself.

    Only what is dropped is drawn: the distances from one to the next are geometric.
    """
    size = math.prod(shape)
    expected = int(size * rate + 6 * math.sqrt(size * rate)) + 8
    ends = np.cumsum(generator.geometric(rate, expected))
    while ends[-1] <= size:
        ends = np.concatenate([ends, ends[-1] + np.cumsum(generator.geometric(rate, expected))])
    masks = np.full(size, 1 / (1 - rate), np.float32)
    masks[ends[ends <= size] - 1] = 0.0
    return masks.reshape(shape)


def derived(seed: int, *path: int) -> int:
    """A seed that follows from another one and a path, and is unlike those of other paths."""
    return int(np.random.SeedSequence([seed, *path]).generate_state(1)[0])
