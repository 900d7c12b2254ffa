"""Sliding windows: predictions for overlapping patches are averaged into one value for each voxel of a volume."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, product

import numpy as np

from shiftbench.methods.threads import in_order
from shiftbench.methods.volumes.dataset import Singles

Box = tuple[slice, ...]

SPREAD = 1 / 8  # standard deviation of the weights, as a fraction of the window's side
LEAST_WEIGHT = 1e-3


@dataclass(frozen=True)
class Windows:
    """How a volume is covered.

    Attributes:
        shape: of a window, in voxels; 1 along the last axis for slices.
        overlap: of neighbours, as a fraction of the shape.
        batch: windows that are evaluated together.
        threads: batches that are evaluated side by side; no effect on the result.
    """

    shape: tuple[int, int, int]
    overlap: float = 0.25
    batch: int = 4
    threads: int = 1


def blended(image: Singles, evaluate: Callable[[Singles], Singles], how: Windows) -> Singles:
    """The mean [X, Y, Z] of the values of `evaluate` for windows [B, C, x, y, z] of an image [C, X, Y, Z], with
    Gaussian weights, since values are most reliable in the middle of a window.

    Where the volume is smaller than the window, zeros are put around it.

    Source: the sliding windows of MONAI (Cardoso et al. 2022), with its weights of mode "gaussian".
    """
    shape = image.shape[1:]
    around = [(gap // 2, gap - gap // 2) for gap in (max(0, w - s) for w, s in zip(how.shape, shape, strict=True))]
    whole = np.pad(image, [(0, 0), *around]) if any(map(sum, around)) else image
    total, weights = np.zeros(whole.shape[1:], np.float32), np.zeros(whole.shape[1:], np.float32)
    weight, places = gaussian(how.shape), boxes(whole.shape[1:], how)
    batches = [places[start : start + how.batch] for start in range(0, len(places), how.batch)]

    def work(part: Sequence[Box]) -> Singles:
        return evaluate(np.stack([whole[(slice(None), *box)] for box in part]))

    with in_order(work, batches, threads=how.threads, ahead=how.threads) as found:
        for box, values in zip(places, chain.from_iterable(found), strict=True):
            total[box] += values * weight
            weights[box] += weight
    total /= weights
    return total[tuple(slice(before, before + size) for (before, _), size in zip(around, shape, strict=True))]


def boxes(shape: Sequence[int], how: Windows) -> list[Box]:
    """The windows that cover a volume of at least their shape, in order."""
    starts = [
        corners(length, side, max(1, int(side * (1 - how.overlap))))
        for length, side in zip(shape, how.shape, strict=True)
    ]
    return [
        tuple(slice(start, start + side) for start, side in zip(corner, how.shape, strict=True))
        for corner in product(*starts)
    ]


def corners(length: int, side: int, interval: int) -> list[int]:
    """The first voxels of windows along an axis; the last window ends with the volume."""
    return [*range(0, length - side, interval), length - side]


def gaussian(shape: Sequence[int]) -> Singles:
    """Weights of the voxels of a window: a normal density around its middle, nowhere below 0.001."""
    lines = []
    for side in shape:
        offset = np.arange(side) - (side - 1) / 2
        lines.append(np.exp(-(offset**2) / (2 * (SPREAD * side) ** 2)))
    weights = reduce(np.multiply.outer, lines)
    return np.asarray(np.maximum(weights, LEAST_WEIGHT), np.float32)
