"""Distances between the surfaces of two masks, mm.

The surface of a mask is its voxels with a neighbour (of 6) outside of it, or outside of the volume; distances are
between centres of voxels. Without any voxel in both masks they are 0; in one of them, the diagonal of the volume: no
distance exists, and none is longer, so that means over patients stay finite and a mask that finds nothing pays for it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftbench import check, components
from shiftbench.check import Flags, Vector


def hausdorff_95(targets: Any, answers: Any, *, spacing: Any) -> float:
    """The 95 % Hausdorff distance of two masks [X, Y, Z], mm: the larger of the 95th percentiles of both directions.

    Args:
        targets, answers: masks of one shape.
        spacing: the three edges of a voxel, mm.

    Raises:
        ArrayError: naming every problem: masks that are no volumes, or of different shape; NaN; other numbers than 0
            and 1; edges that are not above 0.
        MissingExtraError: if scipy is not installed.

    Source: Huttenlocher et al. 1993; of the definitions in use, that of Metrics Reloaded (Maier-Hein et al. 2024).
    """
    return _of(targets, answers, spacing, lambda *ways: max(float(np.percentile(way, 95)) for way in ways))


def surface_distance(targets: Any, answers: Any, *, spacing: Any) -> float:
    """The average symmetric surface distance of two masks [X, Y, Z], mm: the mean over the voxels of both surfaces.

    Arguments and errors as `hausdorff_95`.

    Source: Heimann et al. 2009.
    """
    return _of(targets, answers, spacing, lambda *ways: float(np.concatenate(ways).mean()))


def _of(targets: Any, answers: Any, spacing: Any, score: Any) -> float:
    truth, found = check.masks(volume=True, targets=targets, answers=answers)
    edges = check.spacing(spacing)
    if not (truth.any() and found.any()):
        return float(np.linalg.norm(edges * truth.shape)) if truth.any() or found.any() else 0.0
    return float(score(*distances(truth, found, edges)))


def distances(truth: Flags, found: Flags, edges: Vector) -> tuple[Vector, Vector]:
    """From each voxel of either surface to the other surface: [of the truth], [of the answer]; both have voxels."""
    tree = components.scipy("spatial").cKDTree
    true, answer = (_surface(mask) * edges for mask in (truth, found))
    return tree(answer).query(true)[0], tree(true).query(answer)[0]


def _surface(mask: Flags) -> components.Index:
    """The voxels of a surface, [S, 3] places."""
    box = components.bounding_box(mask)
    inner = components.scipy("ndimage").binary_erosion(mask[box])
    return np.asarray(np.argwhere(mask[box] & ~inner) + [side.start for side in box])
