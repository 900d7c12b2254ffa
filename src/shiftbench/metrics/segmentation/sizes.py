"""Lesions by their volume: how large each is, and how many of each size are found."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from shiftbench import check, components
from shiftbench.components import Index
from shiftbench.errors import ArrayError, SettingsError, quoted
from shiftbench.metrics.segmentation.matching import Labelled, counts_of
from shiftbench.metrics.segmentation.rule import rule_of


class SizeClass(NamedTuple):
    """Lesions of one class of volumes, `low` <= mm³ <= `high`: true ones by their true volume, predicted by their own.

    true, detected: lesions there are, and those not missed. predicted, false: lesions predicted, and the wrong ones.
    """

    low: float
    high: float
    true: int
    detected: int
    predicted: int
    false: int

    @property
    def recall(self) -> float:
        """The share of lesions of this class that are not missed; NaN without any."""
        return self.detected / self.true if self.true else math.nan


def detection_by_size(
    targets: Any, answers: Any, *, spacing: Any, edges: tuple[float, ...] = (10.0, 100.0), **rule: Any
) -> tuple[SizeClass, ...]:
    """Lesions found and missed by volume: below the first edge, between edges (both included), above the last, in mm³.

    Args:
        targets, answers: masks [X, Y, Z].
        spacing: the three edges of a voxel, mm.
        edges: ascending volumes, mm³.
        rule: the fields of `LesionRule`.

    Raises:
        ArrayError, SettingsError, UnknownNameError, MissingExtraError: as `lesion_counts`; ArrayError also for edges of
            voxels that are not above 0, SettingsError for `edges` that do not ascend.
    """
    settings = rule_of(**rule)
    edges = _ascending(edges)
    truth, found = check.masks(volume=True, targets=targets, answers=answers)
    volume = float(np.prod(check.spacing(spacing)))
    labelled = Labelled.of(truth, found, settings.connectivity)
    counts = counts_of(labelled, settings)
    (true, detected), (predicted, right) = (
        (_by_size(sizes * volume, edges), _by_size((sizes * volume)[flags], edges))
        for sizes, flags in ((labelled.true, counts.detected), (labelled.predicted, counts.matches))
    )
    limits = zip((0.0, *edges), (*edges, math.inf), strict=True)
    return tuple(
        SizeClass(*pair, *map(int, row))
        for pair, row in zip(limits, np.stack((true, detected, predicted, predicted - right), axis=1), strict=True)
    )


def _ascending(edges: Any) -> tuple[float, ...]:
    """Edges of classes of volumes as numbers, or SettingsError."""
    try:
        found = tuple(check.vector("edges", edges).tolist())
    except ArrayError:
        found = ()
    if not found or any(not high > low for low, high in pairwise((0.0, *found))):
        raise SettingsError(f"edges: expected ascending volumes above 0 mm³, found {quoted(edges, 100)}.")
    return found


def _by_size(volumes: Any, edges: tuple[float, ...]) -> Index:
    """How many of these volumes [L] are in each class."""
    # Sums of voxels miss an edge by rounding: 10 voxels of 1.0000001 mm³ are 10 mm³.
    limits = np.array(edges) * (1 + 1e-6 * np.where(np.arange(len(edges)) == 0, -1, 1))
    return np.bincount(np.searchsorted(limits, volumes), minlength=len(edges) + 1)


def lesion_volumes(mask: Any, *, spacing: Any, connectivity: int = 6) -> check.Vector:
    """The volume of each lesion of a mask [X, Y, Z], mm³ [L], in the order of the labels of `components`.

    Raises:
        ArrayError, SettingsError, MissingExtraError: as `detection_by_size`.
    """
    (flags,) = check.masks(volume=True, mask=mask)
    volume = float(np.prod(check.spacing(spacing)))
    return np.asarray(components.sizes_of(*components.components(flags, connectivity)) * volume)
