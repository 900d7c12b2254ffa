"""Metrics of segmentations: masks of voxels, of the lesions in them, and of what an uncertainty per voxel is worth.

Volumes are [X, Y, Z]; targets and answers are masks of one shape, of booleans or of the numbers 0 and 1.
"""

from __future__ import annotations

from typing import Any

from shiftbench import argument, check
from shiftbench import components as parts
from shiftbench.metrics.segmentation.matching import LesionCounts, lesion_counts, lesion_f1, lesion_table
from shiftbench.metrics.segmentation.overlap import dsc, ndsc
from shiftbench.metrics.segmentation.retention import (
    Curve,
    ndsc_retention_area,
    ndsc_retention_curve,
    ndsc_retention_optimal,
    ndsc_retention_random,
)
from shiftbench.metrics.segmentation.rule import LesionRule
from shiftbench.metrics.segmentation.sizes import SizeClass, detection_by_size, lesion_volumes
from shiftbench.metrics.segmentation.surface import hausdorff_95, surface_distance

__all__ = [
    "Curve", "LesionCounts", "LesionRule", "SizeClass", "components", "detection_by_size", "dsc", "hausdorff_95",
    "keep_large_components", "lesion_counts", "lesion_f1", "lesion_table", "lesion_volumes", "ndsc",
    "ndsc_retention_area", "ndsc_retention_curve", "ndsc_retention_optimal", "ndsc_retention_random",
    "surface_distance",
]  # fmt: skip


def components(mask: Any, connectivity: int = 6) -> tuple[parts.Labels, int]:
    """Connected components of a mask [X, Y, Z]: labels 1 … n in its shape, 0 elsewhere; and their number n.

    Raises:
        ArrayError: what is no mask, or no volume.
        SettingsError: a connectivity other than 6 (faces), 18 (edges, too) and 26 (corners).
        MissingExtraError: if scipy is not installed.
    """
    (flags,) = check.masks(volume=True, mask=mask)
    return parts.components(flags, connectivity)


def keep_large_components(mask: Any, *, larger_than: int = 9, connectivity: int = 6) -> check.Flags:
    """A mask [X, Y, Z] without its connected components of `larger_than` voxels or fewer.

    Raises:
        ArrayError, SettingsError, MissingExtraError: as `components`; SettingsError also for a negative `larger_than`.

    Source: the published code of Shifts 2.0 (Malinin et al. 2022).
    """
    argument.number("larger_than", larger_than, lambda found: found >= 0, "a number of voxels >= 0")
    (flags,) = check.masks(volume=True, mask=mask)
    return parts.keep_large_components(flags, larger_than=larger_than, connectivity=connectivity)
