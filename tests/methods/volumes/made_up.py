"""Made-up scans in memory: an ellipsoid of noise with bright spots, which are the foreground."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Volumes in memory; see `made_up`."""

    images: list[npt.NDArray[np.float32]]
    truths: list[npt.NDArray[np.bool_] | None]
    brains: list[npt.NDArray[np.bool_]]
    ids: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.images)

    @property
    def digest(self) -> str:
        return hashlib.sha256(b"".join(image.tobytes() for image in self.images)).hexdigest()

    def image(self, row: int) -> npt.NDArray[np.float32]:
        return self.images[row]

    def truth(self, row: int) -> npt.NDArray[np.bool_] | None:
        return self.truths[row]

    def brain(self, row: int) -> npt.NDArray[np.bool_]:
        return self.brains[row]

    def spacing(self, _row: int) -> npt.NDArray[np.float64]:
        return np.ones(3)

    def select(self, rows: Any) -> Self:
        rows = np.arange(len(self))[rows]
        arrays = ([kind[row] for row in rows] for kind in (self.images, self.truths, self.brains, self.ids))
        images, truths, brains, ids = arrays
        return type(self)(images, truths, brains, tuple(ids))


def made_up(count: int, *, seed: int, shape: tuple[int, int, int] = (16, 18, 14), channels: int = 1) -> MadeUp:
    """Scans of one shape; spots of 2 by 2 by 2 voxels are twice as bright as the noise around them."""
    rng = np.random.default_rng(seed)
    offsets = np.meshgrid(*((np.arange(side) - (side - 1) / 2) / (side / 2) for side in shape), indexing="ij")
    brain = sum(offset**2 for offset in offsets) <= 1
    images, truths = [], []
    for _ in range(count):
        truth = np.zeros(shape, np.bool_)
        for place in np.argwhere(brain)[rng.integers(int(brain.sum()), size=6)]:
            truth[tuple(slice(at, at + 2) for at in place)] = True
        truth &= brain
        image = (rng.normal(100, 10, (channels, *shape)) + 100 * truth) * brain
        images.append(image.astype(np.float32))
        truths.append(truth)
    return MadeUp(images, truths, [brain] * count, tuple(f"made-{seed}-{number}" for number in range(count)))
