"""A brain-like phantom: what tissue there is at each place of a grid. Smooth shapes and folds, no simulator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import MissingExtraError

Field = npt.NDArray[np.float32]
Mask = npt.NDArray[np.bool_]

EXTENT = (160.0, 192.0, 152.0)  # mm, from left to right, back to front, bottom to top
HALF_AXES = (66.0, 81.0, 61.0)  # mm, of the brain: those of the 30 patients are 66 ± 3, 81 ± 4 and 62 ± 3
CORTEX_MM, FOLD_MM, FISSURE_MM = 3.0, 11.0, 1.2
COARSEST_MM = 4.0  # grid of smooth random fields


@dataclass(frozen=True)
class Anatomy:
    """Tissues on a grid [X, Y, Z] of voxels of `voxel` mm. white: where lesions may be. depth: mm to ventricles."""

    voxel: float
    brain: Mask
    fluid: Field
    grey: Field
    white: Mask
    depth: Field
    grid: tuple[Field, Field, Field]


def anatomy(voxel: float, age: float, rng: np.random.Generator) -> Anatomy:
    """The brain of a patient; older ones have larger ventricles and wider sulci.

    voxel: side in mm. Tissues are shares of a voxel from 0 to 1 (`fluid`, `grey`; the rest of the brain is white).
    """
    x, y, z = grid = axes(voxel)
    a, b, c = (half * (1 + 0.03 * rng.standard_normal()) for half in HALF_AXES)
    edge = 0.018 * noise(voxel, 3 * FOLD_MM, rng)
    radius = (np.abs(x / a) ** 2.3 + np.abs(y / b) ** 2.2 + np.abs((z + 0.1 * y * (y < 0)) / c) ** 2.3) ** (1 / 2.25)
    outside = (radius + edge - 1) * a  # mm beyond the surface of the brain, about
    brain = outside < 0
    folds = np.abs(noise(voxel, FOLD_MM, rng)) * FOLD_MM  # about mm from the nearest sulcus
    shallow = np.clip(1 + outside / 20, 0, 1)  # 1 at the surface, 0 from 20 mm below
    wide = 0.9 + 0.02 * (age - 40)
    sulcus = folds - 2.2 * wide * np.sqrt(shallow) + 10 * np.clip(1 - 5 * shallow, 0, 1)
    fissure = np.abs(x + 1.5 * np.sin(y / 30)) - FISSURE_MM + 20 * np.clip(0.55 - radius, 0, 1)
    ventricles = _ventricles(grid, (0.85 + 0.012 * (age - 40)) * (1 + 0.12 * rng.standard_normal()))
    fluid = _soft(np.minimum(np.minimum(sulcus, fissure), ventricles), voxel)
    cortex = np.minimum(np.minimum(sulcus, fissure), -outside) - CORTEX_MM
    grey = np.maximum(_soft(cortex, voxel), _soft(_nuclei(grid), voxel)) * (1 - fluid)
    white = brain & (grey < 0.5) & (fluid < 0.5)
    return Anatomy(voxel, brain, fluid, grey, white, ventricles, grid)


def axes(voxel: float) -> tuple[Field, Field, Field]:
    """Coordinates in mm from the centre, each broadcastable to [X, Y, Z]."""
    places = [(np.arange(size) - (size - 1) / 2) * voxel for size in shape(voxel)]
    x, y, z = np.meshgrid(*(place.astype(np.float32) for place in places), indexing="ij", sparse=True)
    return x, y, z


def shape(voxel: float) -> tuple[int, int, int]:
    """The number of voxels (X, Y, Z)."""
    x, y, z = (round(side / voxel) for side in EXTENT)
    return x, y, z


def noise(voxel: float, wavelength: float, rng: np.random.Generator) -> Field:
    """A smooth random field [X, Y, Z] of mean 0 and standard deviation 1; the same at every size of voxels, nearly."""
    ndimage = scipy_ndimage()
    step = min(COARSEST_MM, wavelength / 2.5)
    rough = rng.standard_normal([int(side / step) + 3 for side in EXTENT], dtype=np.float32)
    smooth = ndimage.gaussian_filter(rough, wavelength / 4 / step, mode="wrap")
    smooth /= smooth.std()
    sizes = shape(voxel)
    lines = [np.linspace(1, side / step + 1, size) for side, size in zip(EXTENT, sizes, strict=True)]
    return _interpolated(smooth, lines)


def _interpolated(values: Field, lines: list[Any]) -> Field:
    """Values [X, Y, Z] at the crossings of positions along each axis, linearly, one axis after the other."""
    for axis, places in enumerate(lines):
        below = np.clip(places.astype(int), 0, values.shape[axis] - 2)
        share = (places - below).astype(np.float32).reshape([-1 if axis == k else 1 for k in range(3)])
        values = np.take(values, below, axis) * (1 - share) + np.take(values, below + 1, axis) * share
    return values


def _ellipsoid(grid: tuple[Field, Field, Field], centre: tuple[float, float, float], half: tuple[float, ...]) -> Field:
    """Mm from the surface of an ellipsoid, about; negative inside."""
    scaled = [((axis - middle) / side) ** 2 for axis, middle, side in zip(grid, centre, half, strict=True)]
    distance: Field = (np.sqrt(scaled[0] + scaled[1] + scaled[2]) - 1) * min(half)
    return distance


def _ventricles(grid: tuple[Field, Field, Field], size: float) -> Field:
    """Mm from the lateral and third ventricles: bodies that bend outwards to the back, horns, and a slit between."""
    x, y, z = grid
    side = np.abs(x)
    bent = (side - 4 - 0.006 * (y - 12) ** 2, y, z - 8 + 0.004 * (y + 6) ** 2)
    body = _ellipsoid(bent, (4.0, 0.0, 3.0), (5.5 * size, 34.0 + 4 * size, 8.0 * size))
    back = _ellipsoid((side, y, z), (24.0, -38.0, -3.0), (5.0 * size, 13.0, 6.5 * size))
    low = _ellipsoid((side, y, z), (31.0, -12.0, -20.0), (3.0 * size, 17.0, 3.5 * size))
    third = _ellipsoid((side, y, z), (0.0, -6.0, -6.0), (2.2 * size, 12.0, 10.0))
    return np.minimum(np.minimum(body, third), np.minimum(back, low))


def _nuclei(grid: tuple[Field, Field, Field]) -> Field:
    """Mm from the grey matter inside: thalamus, putamen and the head of the caudate."""
    x, y, z = grid
    place = (np.abs(x), y, z)
    thalamus = _ellipsoid(place, (12.0, -14.0, -4.0), (8.0, 13.0, 8.0))
    putamen = _ellipsoid(place, (27.0, 4.0, -5.0), (5.5, 16.0, 9.0))
    caudate = _ellipsoid(place, (14.0, 19.0, 2.0), (4.5, 10.0, 9.0))
    return np.minimum(np.minimum(thalamus, putamen), caudate)


def _soft(distance: Field, voxel: float) -> Field:
    """The share of a voxel that is inside a surface at this distance in mm."""
    share: Field = np.clip(0.5 - distance / max(voxel, 1.0), 0, 1).astype(np.float32)
    return share


def scipy_ndimage() -> Any:
    """SciPy's filters of images.

    Raises:
        MissingExtraError: if SciPy is not installed.
    """
    try:
        from scipy import ndimage
    except ImportError as error:
        raise MissingExtraError(
            f"phantoms: expected the package scipy, found: {error}. Install it: pip install 'shiftbench[lesions]'"
        ) from None
    return ndimage
