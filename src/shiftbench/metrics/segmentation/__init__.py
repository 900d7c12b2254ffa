"""Metrics of segmentations: masks of voxels, of the lesions in them, and of what an uncertainty per voxel is worth.

Volumes are [X, Y, Z]; targets and answers are masks of one shape, of booleans or of the numbers 0 and 1.
"""

from __future__ import annotations

from shiftbench.metrics.segmentation.overlap import dsc, ndsc

__all__ = ["dsc", "ndsc"]
