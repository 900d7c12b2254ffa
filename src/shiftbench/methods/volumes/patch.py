"""Patches of volumes to learn from: chosen around the foreground, and augmented.

Whatever is random is drawn from one number generator, so a training that goes on draws what an undisturbed one would.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from shiftbench.methods.volumes.dataset import Flags, Index, Singles, Volume

Rng = np.random.Generator
TRIES = 100  # to find a voxel of the brain at random


@dataclass(frozen=True)
class PatchSettings:
    """How patches are chosen and augmented; see `settings.VolumeSettings`. `axes` is 3, or 2 for axial slices."""

    axes: int
    window: int
    crop: int
    foreground_share: float
    intensity: float
    mirror: float
    rotation: float
    zoom: float

    @classmethod
    def of(cls, settings: Mapping[str, Any], axes: int) -> PatchSettings:
        """Those of a fit's settings."""
        return cls(axes, **{name: settings[name] for name in cls.__dataclass_fields__ if name != "axes"})

    def size(self, side: int) -> Index:
        """The shape of a patch with this side."""
        return np.array([side] * self.axes + [1] * (3 - self.axes))


def drawn(volume: Volume, how: PatchSettings, rng: Rng) -> tuple[Singles, Flags]:
    """A patch of a volume: image [C, …] and foreground […], shifted and scaled in intensity, mirrored and turned."""
    corner, size = corner_of(volume, how, rng), how.size(how.window)
    shift, scale = rng.uniform(-how.intensity, how.intensity, 2)
    image, truth = (cut(volume.image, corner, size) + shift) * (1 + scale), cut(volume.truth, corner, size)
    if how.axes == 2:
        image, truth = image[..., 0], truth[..., 0]
    image, truth = turned(image, truth, how, rng)
    return np.ascontiguousarray(image, np.float32), np.ascontiguousarray(truth)


def cut(values: npt.NDArray[Any], corner: Index, size: Index) -> npt.NDArray[Any]:
    """The part of a volume [..., X, Y, Z] of this size from this voxel on; zeros where it lies outside."""
    shape = np.array(values.shape[-3:])
    low, high = np.clip(corner, 0, shape), np.clip(corner + size, 0, shape)
    inside: tuple[Any, ...] = (..., *map(slice, low, high))
    if (high - low == size).all():
        return np.asarray(values[inside])
    found = np.zeros((*values.shape[:-3], *size), values.dtype)
    there: tuple[Any, ...] = (..., *map(slice, low - corner, high - corner))
    found[there] = values[inside]
    return found


def corner_of(volume: Volume, how: PatchSettings, rng: Rng) -> Index:
    """The first voxel of a patch: at random within a crop around a chosen voxel, moved into the volume.

    A volume that is smaller than the patch lies in its middle.
    """
    window, shape = how.size(how.window), np.array(volume.truth.shape)
    around = np.maximum(0, window - shape) // 2
    crop = np.minimum(how.size(how.crop), np.maximum(shape, window))
    centre = np.array(np.unravel_index(chosen_voxel(volume, how.foreground_share, rng), volume.truth.shape))
    start = np.clip(centre - crop // 2, -around, np.maximum(shape, window) - around - crop)
    return np.asarray(start + rng.integers(0, crop - window + 1))


def chosen_voxel(volume: Volume, foreground_share: float, rng: Rng) -> int:
    """The position of a foreground voxel with this probability, else of another voxel of the brain."""
    if len(volume.foreground) and rng.random() < foreground_share:
        return int(volume.foreground[rng.integers(len(volume.foreground))])
    others = volume.brain.reshape(-1), volume.truth.reshape(-1)
    for _ in range(TRIES):  # cheaper than to look at all voxels
        place = int(rng.integers(volume.truth.size))
        if others[0][place] and not others[1][place]:
            return place
    places = np.flatnonzero(others[0] & ~others[1])
    return int(places[rng.integers(len(places))]) if len(places) else volume.truth.size // 2


def turned(image: Singles, truth: Flags, how: PatchSettings, rng: Rng) -> tuple[Singles, Flags]:
    """A patch, mirrored along all axes at once and turned by 90°, 180° or 270° in each plane, or not."""
    if rng.random() < how.mirror:
        axes = range(-how.axes, 0)
        image, truth = np.flip(image, tuple(axes)), np.flip(truth, tuple(axes))
    for plane in combinations(range(-how.axes, 0), 2):
        if rng.random() < how.mirror:
            quarters = int(rng.integers(1, 4))
            image, truth = np.rot90(image, quarters, plane), np.rot90(truth, quarters, plane)
    return image, truth


def transformation(how: PatchSettings, rng: Rng) -> npt.NDArray[np.float32]:
    """A random rotation and change of size [R, R + 1] about the centre of a patch."""
    matrix = np.diag(1 + rng.uniform(-how.zoom, how.zoom, how.axes))
    for first, second in combinations(range(how.axes), 2):
        angle = rng.uniform(-how.rotation, how.rotation)
        turn = np.eye(how.axes)
        turn[[first, second], [first, second]] = np.cos(angle)
        turn[first, second], turn[second, first] = -np.sin(angle), np.sin(angle)
        matrix = turn @ matrix
    return np.column_stack([matrix, np.zeros(how.axes)]).astype(np.float32)


def warped(images: Tensor, truths: Tensor, matrices: Tensor) -> tuple[Tensor, Tensor]:
    """Patches [B, C, …] and their foreground [B, …] under transformations [B, R, R + 1].

    Between voxels the image is interpolated linearly, the foreground taken from the nearest; beyond the border is what
    lies on it.
    """
    grid = functional.affine_grid(matrices, list(images.shape), align_corners=False)
    image = functional.grid_sample(images, grid, "bilinear", "border", align_corners=False)
    truth = functional.grid_sample(truths[:, None].float(), grid, "nearest", "border", align_corners=False)
    return image, truth[:, 0] > 0.5


def batch(volumes: list[Volume], how: PatchSettings, rng: Rng, place: torch.device) -> tuple[Tensor, Tensor]:
    """A patch of each volume on a device: images [B, C, …] and foreground, bool [B, …]."""
    patches = [drawn(volume, how, rng) for volume in volumes]
    matrices = np.stack([transformation(how, rng) for _ in volumes])
    images, truths = (torch.from_numpy(np.stack(arrays)).to(place) for arrays in zip(*patches, strict=True))
    if not how.rotation + how.zoom:
        return images, truths
    return warped(images, truths, torch.from_numpy(matrices).to(place))
