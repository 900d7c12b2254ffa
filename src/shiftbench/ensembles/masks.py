"""Members that predict a mask: the probability of each pixel or voxel, in images or volumes of different shape."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from shiftbench.ensembles import ragged
from shiftbench.ensembles.ensemble import Ensemble, Index, Key, hold, numbers, where
from shiftbench.errors import ArrayError

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False, repr=False)
class Masks(Ensemble):
    """The probability of each voxel of N volumes, each volume of its own shape.

    Attributes:
        probabilities: float32 [M, V], the voxels of the first volume in C order, then those of the second, …
        shapes: integers [N, R], the shape of each volume, of R axes.

    Raises:
        ArrayError: naming every problem: other axes, NaN, infinity, probabilities outside [0, 1], shapes that do not
            add up to V.
    """

    AXES: ClassVar = {"probabilities": "MV", "shapes": "N"}

    probabilities: Singles
    shapes: Index

    def __post_init__(self) -> None:
        array, problems = numbers("probabilities", self.probabilities, "[M, V]", dtype=np.float32)
        shapes, more = numbers("shapes", self.shapes, "[N, R]", dtype=np.int64)
        problems += more
        if array.size and (array.min() < 0 or array.max() > 1):
            bad = (array < 0) | (array > 1)
            problems.append(
                f"probabilities: expected values in [0, 1], found {array[bad][0]:g} ({where(bad, 'voxel')}). "
                "Logits? Apply a sigmoid first."
            )
        if array.size:
            problems += ragged.length_problems("shapes", shapes, array.shape[1], "voxels")
        if problems:
            raise ArrayError(*problems)
        hold(self, probabilities=array, shapes=shapes)

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """A made-up ensemble of volumes of up to 27 voxels."""
        shapes = rng.integers(1, 4, (records, 3))
        return cls(rng.random((members, shapes.prod(axis=1).sum()), dtype=np.float32), shapes)

    @property
    def voxels(self) -> Index:
        """The number of voxels of each volume [N]."""
        return np.asarray(self.shapes.prod(axis=1))

    def volume(self, record: int) -> Singles:
        """The probabilities [M, …] of one record in its own shape."""
        alone = self.select(slice(record, record + 1))
        return alone.probabilities.reshape(self.members, *map(int, alone.shapes[0]))

    def _places(self, rows: Key) -> dict[str, Key]:
        return {"N": rows, "V": ragged.places(self.voxels, rows)}

    def _starts(self, values: int) -> list[int]:
        return list(ragged.block_starts(self.voxels, values // self.members))
