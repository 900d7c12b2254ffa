"""Lesions of an ensemble's segmentation as records, with what each member makes of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from shiftbench.ensembles import ragged
from shiftbench.ensembles.ensemble import Array, Ensemble, Index, Key, hold, numbers, shares
from shiftbench.errors import ArrayError

Singles = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False, repr=False)
class Lesions(Ensemble):
    """N lesions, connected components of the ensemble's segmentation of one or several volumes: see `Masks.lesions`.

    The lesions are those of all members together. A part of the members keeps them, and is compared with them.

    Attributes:
        probabilities: float32 [M, V], the voxels of the first lesion, then those of the second, …
        voxels: integers [N], how many each lesion has.
        positions: integers [V], where each voxel is in its volume, ravelled in C order.
        shapes: integers [N, R], the shape of the volume in which each lesion is.
        patients: integers [N], the record of the `Masks` in which each lesion is, ascending.
        overlaps: float64 [M, N], the largest IoU of each lesion with a lesion of the member that touches it, or 0; all
            members at the threshold of the ensemble.
        tuned_overlaps: the same with members at thresholds of their own; None if there are none.

    Raises:
        ArrayError: naming every problem: other axes, NaN, infinity, probabilities or overlaps outside [0, 1], numbers
            of voxels that do not add up to V.
    """

    AXES: ClassVar = {
        "probabilities": "MV", "positions": "V", "voxels": "N", "shapes": "N", "patients": "N"
    }  # fmt: skip

    probabilities: Singles
    voxels: Index
    positions: Index
    shapes: Index
    patients: Index
    overlaps: Array
    tuned_overlaps: Array | None = None

    def __post_init__(self) -> None:
        held: dict[str, npt.NDArray[Any]] = {}
        held["probabilities"], problems = shares(
            "probabilities", self.probabilities, "[M, V]", dtype=np.float32, what="voxel"
        )
        for name, axes in (("voxels", "[N]"), ("positions", "[V]"), ("shapes", "[N, R]"), ("patients", "[N]")):
            held[name], found = numbers(name, getattr(self, name), axes, dtype=np.int64)
            problems += found
        if not problems:
            (members, voxels), records = held["probabilities"].shape, len(held["voxels"])
            problems += ragged.length_problems("voxels", held["voxels"], voxels, "voxels")
            for name, wanted in (("positions", voxels), ("shapes", records), ("patients", records)):
                if len(held[name]) != wanted:
                    problems.append(f"{name}: expected {wanted:,}, found {len(held[name]):,}.")
        if problems:
            raise ArrayError(*problems)
        hold(self, **held, **overlaps_of(self, (members, records)))

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """Made-up lesions of up to 27 voxels, two in each volume."""
        voxels = rng.integers(1, 28, records)
        overlaps, tuned = rng.random((2, members, records))
        return cls(
            rng.random((members, voxels.sum()), dtype=np.float32), voxels, rng.integers(0, 1000, voxels.sum()),
            np.full((records, 3), 10), np.arange(records) // 2, overlaps, tuned,
        )  # fmt: skip

    @property
    def centres(self) -> Array:
        """The mean position of the voxels of each lesion [N, R], in voxels from the corner of its volume."""
        total = np.zeros(self.shapes.shape)
        starts, sizes = ragged.offsets(self.voxels)[:-1], np.repeat(self.shapes, self.voxels, axis=0)
        rest = self.positions
        for axis in reversed(range(self.shapes.shape[1])):
            rest, place = np.divmod(rest, sizes[:, axis])
            total[:, axis] = np.add.reduceat(place, starts)
        return np.asarray(total / self.voxels[:, None])

    def _places(self, rows: Key) -> dict[str, Key]:
        return {"N": rows, "V": ragged.places(self.voxels, rows)}

    def _starts(self, values: int) -> list[int]:
        return list(ragged.block_starts(self.voxels, values // self.members))


def overlaps_of(ensemble: Any, shape: tuple[int, int]) -> dict[str, Array]:
    """The overlaps [M, N] that an ensemble holds, by name; ArrayError for shares outside [0, 1] or another shape."""
    held, problems = {}, []
    for name, values in vars(ensemble).items():
        if name.endswith("overlaps") and values is not None:
            held[name], found = shares(name, values, "[M, N]")
            wrong = not found and held[name].shape != shape
            problems += [f"{name}: expected shape {shape}, found {held[name].shape}."] if wrong else found
    if problems:
        raise ArrayError(*problems)
    return held
