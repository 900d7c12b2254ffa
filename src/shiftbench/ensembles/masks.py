"""Members that predict a mask: the probability of each pixel or voxel, in images or volumes of different shape."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from shiftbench import argument
from shiftbench.ensembles import ragged
from shiftbench.ensembles.ensemble import Array, Ensemble, Index, Key, concatenated, hold, numbers, shares
from shiftbench.ensembles.lesions import Lesions, overlaps_of
from shiftbench.ensembles.structure import Cut, Structure, structure
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
        array, problems = shares("probabilities", self.probabilities, "[M, V]", dtype=np.float32, what="voxel")
        shapes, more = numbers("shapes", self.shapes, "[N, R]", dtype=np.int64)
        problems += more
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
        record = argument.whole("record", record, 0, self.records - 1, error=ArrayError)
        alone = self.select(slice(record, record + 1))
        return alone.probabilities.reshape(self.members, *map(int, alone.shapes[0]))

    def lesions(
        self,
        *,
        threshold: float = 0.5,
        thresholds: Sequence[float] | None = None,
        connectivity: int = 6,
        larger_than: int = 9,
    ) -> Lesions:
        """The lesions of the ensemble's segmentation as records: those of the first volume, then those of the second, …

        A voxel is segmented where the mean probability is at least the threshold; connected components of few voxels
        are removed. What is left are the lesions, in the order of their first voxels. The members are segmented alike:
        at the same threshold and, for the tuned measures, each at one of its own.

        Args:
            threshold: of the mean probability, and of each member's.
            thresholds: one for each member, tuned for it alone; without them there are no tuned measures.
            connectivity: neighbours of a voxel, 6, 18 or 26; of a pixel of an image 4 or 8 (6 and 18 stand for these).
            larger_than: lesions of so many voxels or fewer are removed.

        Raises:
            ArrayError: if there is no lesion in any volume, since an ensemble has at least one record. Where that can
                be, use `metrics.segmentation.structure.lesion_overlaps`, whose result may be empty.
            SettingsError: naming every problem: thresholds outside [0, 1] or not as many as members, another
                connectivity, a negative size.
            MissingExtraError: if scipy is not installed.

        Source: Molchanova et al. 2023 (arXiv 2311.08931), Section 2.3.
        """
        cut = Cut(threshold, thresholds, connectivity, larger_than)
        parts = [
            _lesions_of(record, self.volume(record), found)
            for record, found in enumerate(self._structures(cut))
            if found.lesions.size
        ]
        if not parts:
            raise ArrayError(
                f"lesions: expected at least one, found no {larger_than + 1} connected voxels of probability >= "
                f"{threshold:g} in {self.records:,} volumes. Lower the threshold, or larger_than."
            )
        return concatenated(parts)

    def patients(
        self,
        *,
        threshold: float = 0.5,
        thresholds: Sequence[float] | None = None,
        connectivity: int = 6,
        larger_than: int = 9,
    ) -> Patients:
        """The same volumes, with the overlap of each member's segmentation with the ensemble's.

        Arguments and errors as `lesions`; volumes without lesions are records, too.
        """
        found = list(self._structures(Cut(threshold, thresholds, connectivity, larger_than)))
        overlaps = np.stack([each.whole for each in found], axis=1)
        lesions = [each.lesions.mean(axis=1) if each.lesions.size else np.ones(self.members) for each in found]
        tuned = None if thresholds is None else np.stack([each.tuned_whole for each in found], axis=1)
        return Patients(self.probabilities, self.shapes, overlaps, np.stack(lesions, axis=1), tuned)

    def _structures(self, cut: Cut) -> Iterator[Structure]:
        """The lesions of one volume after the other, found when they are needed."""
        cut.check(members=self.members, axes=self.shapes.shape[1])
        return (structure(self.volume(record), cut) for record in range(self.records))

    def _places(self, rows: Key) -> dict[str, Key]:
        return {"N": rows, "V": ragged.places(self.voxels, rows)}

    def _starts(self, values: int) -> list[int]:
        return list(ragged.block_starts(self.voxels, values // self.members))


@dataclass(frozen=True, eq=False, repr=False)
class Patients(Masks):
    """Volumes, with how far each member's segmentation overlaps with the ensemble's: see `Masks.patients`.

    The segmentation is that of all members together. A part of the members keeps it, and is compared with it.

    Attributes:
        overlaps: float64 [M, N], the IoU of the whole segmentations, 1 if both are empty; all members at the threshold
            of the ensemble.
        lesion_overlaps: float64 [M, N], the mean over the lesions of a volume of `Lesions.overlaps`; 1 without lesions.
        tuned_overlaps: `overlaps` with members at thresholds of their own; None if there are none.

    Raises:
        ArrayError: as `Masks`, and for overlaps outside [0, 1] or of other members or records.
    """

    overlaps: Array
    lesion_overlaps: Array
    tuned_overlaps: Array | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        hold(self, **overlaps_of(self, (self.members, len(self.shapes))))

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """A made-up ensemble of volumes of up to 27 voxels, with made-up overlaps."""
        masks = Masks.example(rng, members=members, records=records)
        return cls(masks.probabilities, masks.shapes, *rng.random((3, members, records)))


def _lesions_of(record: int, volume: Singles, found: Structure) -> Lesions:
    """The lesions of one volume [M, ...]; it has at least one."""
    labels = found.labels.ravel()
    places = np.flatnonzero(labels)
    places = places[np.argsort(labels[places], kind="stable")]
    number = found.lesions.shape[1]
    return Lesions(
        probabilities=volume.reshape(len(volume), -1)[:, places],
        voxels=np.bincount(labels[places])[1:],
        positions=places,
        shapes=np.tile(volume.shape[1:], (number, 1)),
        patients=np.full(number, record),
        overlaps=found.lesions,
        tuned_overlaps=found.tuned_lesions if len(found.tuned_whole) else None,
    )
