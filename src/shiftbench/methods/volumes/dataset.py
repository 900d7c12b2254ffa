"""Training and prediction data: volumes with images, brain masks and the true foreground, read one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ArrayError

Singles = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Index = npt.NDArray[np.int64]

CACHE_BYTES = (
    4 << 30
)  # volumes of a partition up to this size are held in memory by each process; others are read again
MOST_NAMED = 20  # volumes with problems


class VolumeDataset(Protocol):
    """N volumes that are read on demand. Pickled for other processes."""

    @property
    def ids(self) -> Sequence[str]:
        """The names of the volumes [N]."""

    @property
    def digest(self) -> str:
        """The SHA-256 of what the volumes are."""

    def __len__(self) -> int:
        """N, the number of volumes."""

    def image(self, row: int) -> Singles:
        """The intensities of a volume as they were recorded: [C, X, Y, Z]."""

    def truth(self, row: int) -> Flags | None:
        """Its foreground [X, Y, Z]; None if unknown."""

    def brain(self, row: int) -> Flags:
        """The voxels that count [X, Y, Z]."""

    def spacing(self, row: int) -> npt.NDArray[np.float64]:
        """The edges of its voxels [3] in mm."""

    def select(self, rows: Any) -> VolumeDataset:
        """These volumes alone."""


class Volume(NamedTuple):
    """A volume as networks learn from it: normalised image [C, X, Y, Z], foreground and brain [X, Y, Z].

    foreground: the positions of its voxels in the flat volume [P], so that drawing one does not search them all.
    """

    image: Singles
    truth: Flags
    brain: Flags
    foreground: Index

    @classmethod
    def of(cls, image: npt.NDArray[Any], truth: npt.NDArray[Any], brain: npt.NDArray[Any]) -> Self:
        """A volume with an image as it was recorded."""
        truth = truth.astype(np.bool_)
        return cls(normalised(image), truth, brain.astype(np.bool_), np.flatnonzero(truth))


@dataclass
class VolumeReader:
    """Reads volumes to learn from, and holds them in memory as far as `cache_bytes` allow."""

    dataset: VolumeDataset
    part: str
    cache_bytes: int = CACHE_BYTES

    def __post_init__(self) -> None:
        self.held: dict[int, Volume] = {}

    def __call__(self, row: int) -> Volume:
        """The volume at this position.

        Raises:
            ArrayError: naming everything wrong with it.
        """
        if row in self.held:
            return self.held[row]
        found = read(self.dataset, row, part=self.part)
        if isinstance(found, list):
            raise ArrayError(*found)
        size = sum(array.nbytes for array in found)
        if size <= self.cache_bytes:
            self.held[row] = found
            self.cache_bytes -= size
        return found


def read(dataset: VolumeDataset, row: int, *, part: str) -> Volume | list[str]:
    """A volume to learn from, or everything wrong with it."""
    image, truth, brain = dataset.image(row), dataset.truth(row), dataset.brain(row)
    where = f"{part}, {dataset.ids[row]}"
    if problems := image_problems(image, where):
        return problems
    if truth is None:
        return [f"{where}: expected a mask of the foreground to learn from, found none. Leave the volume out."]
    problems = [
        f"{where}: expected a {what} mask [X, Y, Z] of the image's shape {image.shape[1:]}, found shape {mask.shape}."
        for what, mask in (("foreground", truth), ("brain", brain))
        if mask.shape != image.shape[1:]
    ]
    return problems or Volume.of(image, truth, brain)


def image_problems(image: npt.NDArray[Any], where: str) -> list[str]:
    """Everything wrong with the image of a volume."""
    if image.ndim != 4 or not image.size:
        return [f"{where}: expected an image [C, X, Y, Z], found shape {image.shape}."]
    if np.isfinite(image.sum(dtype=np.float64)):
        return []
    bad = int(np.count_nonzero(~np.isfinite(image)))
    return [f"{where}: expected finite intensities, found {bad:,} NaN or infinite voxels. Repair it, or leave it out."]


def normalised(image: npt.NDArray[Any]) -> Singles:
    """An image [C, X, Y, Z] whose non-zero voxels have mean 0 and standard deviation 1 in each channel; zeros stay.

    Source: Shifts 2.0 (Malinin et al. 2022), the published code of its baselines.
    """
    found = np.zeros(image.shape, np.float32)
    for channel, values in zip(found, image, strict=True):
        there = values != 0
        known = values[there].astype(np.float64)
        if known.size:
            channel[there] = (known - known.mean()) / (known.std() or 1.0)
    return found


def training_problems(dataset: VolumeDataset, part: str, *, channels: int | None = None) -> Iterator[str]:
    """Everything wrong with volumes to learn from, read one after another; `channels` is C as it must be."""
    if not len(dataset):
        yield f"{part}: expected at least one volume, found none."
        return
    positive = 0
    for row in range(len(dataset)):
        found = read(dataset, row, part=part)
        if isinstance(found, list):
            yield from found
            continue
        positive += len(found.foreground)
        if channels is not None and len(found.image) != channels:
            yield (
                f"{part}, {dataset.ids[row]}: expected an image of {channels} channels as in the first volume of "
                f"train, found {len(found.image)}."
            )
        elif not len(found.foreground) and not found.brain.any():
            yield f"{part}, {dataset.ids[row]}: expected a brain mask, found an empty one. Leave the volume out."
    if not positive:
        yield f"{part}: expected foreground in at least one volume, found none in {len(dataset):,}. Add such volumes."
