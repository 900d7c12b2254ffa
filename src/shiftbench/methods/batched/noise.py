"""Random numbers for M members that train together: each member's depend only on its own seed and the step."""

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
BLOCK_MASKS = 1 << 20  # of masks: only the zeros among them are drawn and kept
BLOCK_STEPS = 512  # and not more steps than this at a time


class Noise:
    """Random numbers [M, …] for every step; the members' seeds are [M], and `shape` is that for one member.

    A member trained alone gets the same numbers, as does a training that was interrupted at any step, or that runs on
    another device. `stream` distinguishes independent draws from the same seeds.
    """

    def __init__(self, draw: Draw, shape: Sequence[int], *, seeds: Sequence[int], stream: int) -> None:
        self.draw, self.seeds, self.stream = draw, seeds, stream
        self.shape = (min(max(1, BLOCK_NUMBERS // math.prod(shape)), BLOCK_STEPS), *shape)
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


class Dropped:
    """Dropout masks [M, …] for every step, 0 with probability `rate` and else 1 / (1 − rate); see `Noise`."""

    def __init__(self, shape: Sequence[int], rate: float, *, seeds: Sequence[int], stream: int) -> None:
        self.shape, self.rate, self.seeds, self.stream = (len(seeds), *shape), rate, seeds, stream
        self.size = math.prod(shape)
        self.steps = min(max(1, BLOCK_MASKS // self.size), BLOCK_STEPS)
        self.zeros: tuple[Tensor, ...] = ()  # positions of zeros for each step of a block
        self.block = -1

    def at(self, step: int, device: torch.device) -> Tensor:
        """The masks of a step, counted from 0, on a device."""
        block, place = divmod(step, self.steps)
        if block != self.block:
            self.zeros, self.block = self._draw(block, device), block
        masks = torch.full(self.shape, 1 / (1 - self.rate), device=device)
        masks.view(-1).index_fill_(0, self.zeros[place], 0.0)
        return masks

    def _draw(self, block: int, device: torch.device) -> tuple[Tensor, ...]:
        generators = (np.random.default_rng([seed, self.stream, block]) for seed in self.seeds)
        drawn = [dropped(generator, self.steps * self.size, self.rate) for generator in generators]
        steps = np.concatenate([places // self.size for places in drawn])
        zeros = np.concatenate([places % self.size + member * self.size for member, places in enumerate(drawn)])
        by_step = torch.from_numpy(zeros[np.argsort(steps, kind="stable")]).to(device)
        return torch.split(by_step, np.bincount(steps, minlength=self.steps).tolist())


def normals(generator: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """Standard normal numbers."""
    return generator.standard_normal(shape, dtype=np.float32)


def many_normals(generator: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """The same by the transform of Box and Muller (1958), from 24 random bits each: many take a third of the time."""
    size = math.prod(shape)
    half = (size + 1) // 2
    numbers = (_words(generator, 2 * half) >> 8).astype(np.float32).reshape(2, half)
    radius, angle = numbers
    radius += 1
    radius *= 2.0**-24
    np.log(radius, out=radius)
    radius *= -2
    np.sqrt(radius, out=radius)
    angle *= 2 * np.pi * 2.0**-24
    sine = np.sin(angle)
    np.cos(angle, out=angle)
    angle *= radius
    radius *= sine
    return numbers.reshape(-1)[:size].reshape(shape)


def sign_words(generator: np.random.Generator, shape: tuple[int, ...]) -> npt.NDArray[np.int32]:
    """Thirty-two signs each."""
    return _words(generator, math.prod(shape)).view(np.int32).reshape(shape)


def _words(generator: np.random.Generator, size: int) -> npt.NDArray[np.uint32]:
    """So many times 32 random bits; 64 at a time are drawn faster."""
    return generator.integers(0, 2**64, (size + 1) // 2, dtype=np.uint64).view(np.uint32)[:size]


def dropout_masks(generator: np.random.Generator, shape: tuple[int, ...], rate: float) -> npt.NDArray[np.float32]:
    """0 with probability `rate`, else 1 / (1 − rate), each by itself."""
    masks = np.full(math.prod(shape), 1 / (1 - rate), np.float32)
    masks[dropped(generator, masks.size, rate)] = 0.0
    return masks.reshape(shape)


def dropped(generator: np.random.Generator, size: int, rate: float) -> npt.NDArray[np.int64]:
    """The positions of dropped numbers out of `size`, each dropped independently with probability `rate`; in order.

    Only these are drawn: the distances between them are geometric.
    """
    expected = int(size * rate + 6 * math.sqrt(size * rate)) + 8
    ends = np.zeros(1, np.int64)
    while ends[-1] <= size:
        gaps = np.minimum(generator.geometric(rate, expected), size + 1)  # sums of such stay small
        ends = np.concatenate([ends, ends[-1] + np.cumsum(gaps)])
    return ends[1 : np.searchsorted(ends, size, side="right")] - 1


def derived(seed: int, *path: int) -> int:
    """A seed derived from another one and a path, distinct from those of other paths."""
    return int(np.random.SeedSequence([seed, *path]).generate_state(1)[0])
