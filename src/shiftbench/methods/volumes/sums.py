"""Running sums over the members of an ensemble for one volume, from which all measures of its voxels follow.

So members run one after another, and of each only a mask of one bit a voxel is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.ensembles import LOG_EPSILON
from shiftbench.errors import ArrayError, UnknownNameError
from shiftbench.methods.volumes.dataset import Flags, Singles

Doubles = npt.NDArray[np.float64]

BLOCK = 1 << 18  # voxels that are worked on at a time: bounds memory


class VolumeSums:
    """Running sums of members' predictions for the voxels of one volume.

    Attributes:
        shape: of the volume.
        members: M, those that were added.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.members = shape, 0
        self._masks: list[Flags] = []
        # Σ p, Σ p log p over both classes, Σ log p, Σ log(1 − p); p is the foreground's
        self._sums = np.zeros((4, int(np.prod(shape))))

    def add(self, probability: npt.NDArray[Any], *, threshold: float) -> None:
        """Add a member's probability of the foreground [X, Y, Z]; kept is where it reaches the threshold.

        Raises:
            ArrayError: if its shape is another.
        """
        if probability.shape != self.shape:
            raise ArrayError(
                f"member {self.members}: expected probabilities of shape {self.shape}, found {probability.shape}."
            )
        self._masks.append(reached(probability, threshold))
        self.members += 1
        values = probability.reshape(-1)
        for block in _blocks(values.size):
            p = values[block].astype(np.float64)
            yes, no = np.log(p + LOG_EPSILON), np.log(1 - p + LOG_EPSILON)
            for total, terms in zip(self._sums, (p, p * yes + (1 - p) * no, yes, no), strict=True):
                total[block] += terms

    @property
    def masks(self) -> Flags:
        """Where each member reaches the threshold of the ensemble: [M, X, Y, Z]."""
        return np.stack(self._masks)

    @property
    def probability(self) -> Singles:
        """The mean probability of the foreground [X, Y, Z]."""
        return np.asarray(self._sums[0] / self.members, np.float32).reshape(self.shape)

    def measure(self, name: str) -> Singles:
        """A measure of each voxel's uncertainty [X, Y, Z], by its name in `MEASURES`; higher means less certain.

        Equal to that of the class probabilities of all members.

        Raises:
            UnknownNameError: for other names.
        """
        if name not in MEASURES:
            raise UnknownNameError("measure of voxels", name, MEASURES)
        found = np.empty(self._sums.shape[1], np.float32)
        for block in _blocks(found.size):
            p, inner, yes, no = self._sums[:, block] / self.members
            found[block] = np.maximum(MEASURES[name](p, inner, yes, no), -1.0 if name == CONFIDENCE else 0.0)
        return found.reshape(self.shape)


def reached(probability: npt.NDArray[Any], threshold: float) -> Flags:
    """Where a probability reaches a threshold, both in single precision: 0.7 in double is more than 0.7 in single."""
    return np.asarray(probability.astype(np.float32, copy=False) >= np.float32(threshold))


CONFIDENCE = "negated_confidence"


def _outer(p: Doubles) -> Doubles:
    """Σ p log p over both classes of the mean."""
    return np.asarray(p * np.log(p + LOG_EPSILON) + (1 - p) * np.log(1 - p + LOG_EPSILON))


# Of the mean probability p, and the means of Σ p log p (inner), log p (yes) and log(1 − p) (no).
MEASURES: Mapping[str, Callable[[Doubles, Doubles, Doubles, Doubles], Doubles]] = {
    "epkl": lambda p, inner, yes, no: inner - p * yes - (1 - p) * no,
    CONFIDENCE: lambda p, inner, yes, no: -np.maximum(p, 1 - p),
    "entropy_of_expected": lambda p, inner, yes, no: -_outer(p),
    "expected_entropy": lambda p, inner, yes, no: -inner,
    "mutual_information": lambda p, inner, yes, no: inner - _outer(p),
    "reverse_mutual_information": lambda p, inner, yes, no: _outer(p) - p * yes - (1 - p) * no,
}
"""Measures of voxels by name: those of class probabilities in `shiftbench.measures`, of two classes."""


def _blocks(size: int) -> Iterator[slice]:
    return (slice(start, start + BLOCK) for start in range(0, size, BLOCK))
