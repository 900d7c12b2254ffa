"""Lesions in the white matter of a phantom, and the image that a scanner makes of both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.lesions.example import anatomy, sites
from shiftbench.tracks.lesions.example.anatomy import Anatomy, Field, Mask
from shiftbench.tracks.lesions.example.sites import Load, Scanner

FEWEST_VOXELS = 4  # of a lesion
MOST_OF_WHITE = 0.25  # of the white matter that lesions take
ROUGH = 0.35  # of the surface of a lesion, in its radius
PALEST = 0.45  # share of the usual contrast that the palest lesions have
RIM = 0.06  # brightness of the lining of ventricles, which is no lesion
T1 = Scanner(white=1.3, fluid=0.35, lesion=0.85, noise=0.04, bias=0.06, blur=0.6, slice_mm=1.0, gain=1.0)


@dataclass(frozen=True)
class Lesions:
    """A lesion mask [X, Y, Z], and how much of the usual contrast each voxel has."""

    mask: Mask
    contrast: Field


def lesions(held: Anatomy, load: Load, rng: np.random.Generator) -> Lesions:
    """Lesions whose number, volume, shape and place follow `sites`: the largest ones first and near the ventricles.

    On coarse grids they are fewer, so that each has at least four voxels.
    """
    mask, contrast = np.zeros_like(held.brain), np.zeros(held.brain.shape, np.float32)
    places = np.flatnonzero(held.white)
    depth = held.depth.reshape(-1)[places]
    near, far = (np.exp(-depth / reach, dtype=np.float64).cumsum() for reach in (sites.NEAR_MM, sites.FAR_MM))
    for size in _sizes(held, load, rng):
        weights = near if size * held.voxel**3 / 1_000 > sites.LARGE_ML else far
        centre = places[min(np.searchsorted(weights, rng.random() * weights[-1]), len(places) - 1)]
        own = _grown(held.white, mask, (int(centre), int(size)), rng)
        mask.reshape(-1)[own] = True
        pale = PALEST + (1 - PALEST) * rng.beta(3, 1.2)
        contrast.reshape(-1)[own] = pale
    return Lesions(mask, contrast)


def _sizes(held: Anatomy, load: Load, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The voxels of each lesion, the largest first."""
    unit = held.voxel**3 / 1_000
    shape = (load.mean_ml / load.sd_ml) ** 2  # a gamma distribution has this mean and standard deviation
    most = MOST_OF_WHITE * np.count_nonzero(held.white) * unit
    volume = float(np.clip(rng.gamma(shape, load.mean_ml / shape), FEWEST_VOXELS * unit, most))
    first, slope, spread = sites.COUNT
    wanted = load.number * np.exp(first + slope * np.log(volume) + spread * rng.standard_normal())
    number = int(np.clip(wanted, 1, volume / (FEWEST_VOXELS * unit)))
    drawn = np.exp(sites.SIZE_SD * rng.standard_normal(number))
    voxels = FEWEST_VOXELS + drawn / drawn.sum() * max(volume / unit - number * FEWEST_VOXELS, 0)
    return np.sort(np.round(voxels).astype(np.int64))[::-1]


def _grown(white: Mask, taken: Mask, wanted: tuple[int, int], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """The places, in the raveled grid, of a lesion around a place, of a number of voxels: those of a rough ellipsoid
    that are in white matter and not taken.
    """
    size = wanted[1]
    centre = np.unravel_index(wanted[0], white.shape)
    radius = (size * 3 / (4 * np.pi)) ** (1 / 3)  # voxels
    reach = int(3 * radius) + 2
    box = tuple(slice(max(0, int(at) - reach), int(at) + reach + 1) for at in centre)
    free = white[box] & ~taken[box]
    inside = np.flatnonzero(free)
    offsets = np.stack(np.unravel_index(inside, free.shape), axis=1).astype(np.float64)
    offsets += np.array([part.start for part in box]) - np.array(centre)
    axes = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    half = np.array(sites.ELONGATION) * np.exp(0.15 * rng.standard_normal(3))
    distance = np.sqrt((((offsets @ axes) / half) ** 2).sum(axis=1))
    distance += ROUGH * radius * _ripple(offsets / max(radius, 1.0), rng)
    chosen = inside[np.argsort(distance, kind="stable")[:size]]
    whole = np.stack(np.unravel_index(chosen, free.shape)) + np.array([[part.start] for part in box])
    places: npt.NDArray[np.int64] = np.ravel_multi_index(tuple(whole), white.shape)
    return places


def _ripple(places: npt.NDArray[np.float64], rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """A smooth random function of places [K, 3]: a few waves."""
    waves = rng.standard_normal((4, 3)) * 1.6
    height: npt.NDArray[np.float64] = np.sin(places @ waves.T + rng.uniform(0, 2 * np.pi, 4)).mean(axis=1)
    return height


def scan(held: Anatomy, found: Lesions, scanner: Scanner, rng: np.random.Generator) -> Field:
    """The image [X, Y, Z] of a scanner, 0 outside the brain: tissue, blurred, in slices, with bias field and noise."""
    ndimage = anatomy.scipy_ndimage()
    white = 1 - held.fluid - held.grey
    image = scanner.white * white + held.grey + scanner.fluid * held.fluid
    image += RIM * np.exp(-((held.depth / 2) ** 2)) * white
    image += found.contrast * found.mask * (scanner.lesion - scanner.white)
    image += 0.025 * anatomy.noise(held.voxel, 30, rng)  # tissue is never even
    image = ndimage.gaussian_filter(image, scanner.blur / held.voxel)
    image *= np.exp(scanner.bias * anatomy.noise(held.voxel, 160, rng))
    image = _sliced(image, scanner, held.voxel, rng)
    scaled: Field = np.round(np.maximum(image * scanner.gain, 1)) * held.brain
    return scaled.astype(np.float32)


def _sliced(image: Field, scanner: Scanner, voxel: float, rng: np.random.Generator) -> Field:
    """An image as thick slices with noise, brought back to its grid; a voxel averages its noise."""
    height = image.shape[2]
    number = max(2, round(height * voxel / max(scanner.slice_mm, voxel)))
    centres = (np.arange(number) + 0.5) * height / number - 0.5
    apart = np.abs(np.arange(height)[None] - centres[:, None])
    taken = np.clip(height / number / 2 + 0.5 - apart, 0, 1)
    slices = image @ (taken / taken.sum(axis=1, keepdims=True)).T.astype(np.float32)
    slices += scanner.noise / max(voxel, 1.0) ** 0.5 * rng.standard_normal(slices.shape, dtype=np.float32)
    back = np.clip(1 - apart / (height / number), 0, 1)
    brought: Field = slices @ (back / back.sum(axis=0)).astype(np.float32)
    return brought
