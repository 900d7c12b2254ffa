"""The immersed hull at given drafts, derived from the design condition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.check import Vector, first
from shiftbench.errors import ArrayError
from shiftbench.tracks.power.physics.parts import Hull
from shiftbench.tracks.power.physics.ship import Ship

SHALLOWEST = 0.35  # of the design draft: at smaller drafts the design condition says little about the immersed hull

FORMS = {
    "length_waterline_m": (20.0, 500.0),
    "length_over_draft": (5.0, 80.0),
    "prismatic_coefficient": (0.35, 0.93),
    "waterplane_coefficient": (0.4, 0.99),
}
"""Valid ranges of all hulls at any draft, in m or as fractions."""


@dataclass(frozen=True, eq=False)
class Loading:
    """A ship at N pairs of drafts, all arrays [N]; coefficients refer to the length of the waterline.

    draft_m: mean of aft and fore.
    lcb_percent: centre of buoyancy forward of half the waterline, in percent of its length.
    wetted_area_m2: bare hull. transom_area_m2, bulb_area_m2: their immersed part at rest.
    bulb_centre_m: of that part, above the keel.
    """

    draft_aft_m: Vector
    draft_fore_m: Vector
    draft_m: Vector
    length_waterline_m: Vector
    displacement_m3: Vector
    block_coefficient: Vector
    midship_coefficient: Vector
    prismatic_coefficient: Vector
    waterplane_coefficient: Vector
    lcb_percent: Vector
    wetted_area_m2: Vector
    transom_area_m2: Vector
    bulb_area_m2: Vector
    bulb_centre_m: Vector

    @classmethod
    def of(cls, ship: Ship, draft_aft_m: Any, draft_fore_m: Any) -> Loading:
        """The ship at drafts [N] in m.

        The displacement follows ∇ ∝ T^(C_WP / C_B), which holds if the ratio of the two does not change with the draft:
        then d∇/dT is the waterplane's area, as required. For the same reason the midship section follows A_M ∝ T^(1 /
        C_M). The centre of flotation stays where it is; trim rotates the hull about it and keeps ∇.

        Raises:
            ArrayError: if a draft is not a number, above the deck or below 0.35 of the design draft, or if the hull's
                coefficients at these drafts are impossible; all problems at once.
        """
        hull = ship.hull
        aft, fore = _drafts(hull, draft_aft_m, draft_fore_m)
        draft, trim = 0.5 * (aft + fore), aft - fore
        ratio = draft / hull.draft_m
        fullness = hull.waterplane_coefficient / hull.block_coefficient
        growth = ratio**fullness
        length = hull.length_waterline_m + hull.length_waterline_slope * (draft - hull.draft_m)
        displacement = hull.displacement_m3 * growth
        block = displacement / (length * hull.beam_m * draft)
        midship = hull.midship_coefficient * ratio ** (1 / hull.midship_coefficient - 1)
        waterplane = fullness * block
        _check_forms(
            length_waterline_m=length,
            length_over_draft=length / draft,
            prismatic_coefficient=block / midship,
            waterplane_coefficient=waterplane,
        )
        bulb_area, bulb_centre = _bulb(hull, fore)
        upright = hull.lcf_percent + (hull.lcb_percent - hull.lcf_percent) / growth
        shift = _lcb_shift(hull, trim, length, block * draft, waterplane)
        return cls(
            draft_aft_m=aft,
            draft_fore_m=fore,
            draft_m=draft,
            length_waterline_m=length,
            displacement_m3=displacement,
            block_coefficient=block,
            midship_coefficient=midship,
            prismatic_coefficient=block / midship,
            waterplane_coefficient=waterplane,
            lcb_percent=upright + shift,
            wetted_area_m2=_wetted_area(hull, draft, length, block, midship, waterplane, bulb_area),
            transom_area_m2=hull.transom_width_m * np.maximum(aft - hull.transom_height_m, 0.0),
            bulb_area_m2=bulb_area,
            bulb_centre_m=bulb_centre,
        )


def _drafts(hull: Hull, draft_aft_m: Any, draft_fore_m: Any) -> tuple[Vector, Vector]:
    aft, fore = check.vectors(draft_aft_m=draft_aft_m, draft_fore_m=draft_fore_m)
    low, high = SHALLOWEST * hull.draft_m, hull.depth_m
    problems = []
    for name, draft in (("draft_aft_m", aft), ("draft_fore_m", fore)):
        outside = (draft < low) | (draft > high)
        if outside.any():
            problems.append(
                f"{name}: expected drafts from {low:.3g} to {high:.3g} m, found {first(draft, outside)}. "
                "Are they in metres, and of this ship?"
            )
    if problems:
        raise ArrayError(*problems)
    return aft, fore


def _check_forms(**form: Vector) -> None:
    """Raises: ArrayError: naming what is outside the ranges in which the formulas are defined."""
    problems = []
    for name, values in form.items():
        low, high = FORMS[name]
        if (outside := (values < low) | (values > high)).any():
            problems.append(
                f"{name}: expected {low:g} to {high:g} at all drafts, found {first(values, outside)}. "
                "Correct the hull's design condition, or drop these drafts."
            )
    if problems:
        raise ArrayError(*problems)


def _bulb(hull: Hull, draft_fore: Vector) -> tuple[Vector, Vector]:
    """Area [N] and centre [N] of the immersed part of a bulb of constant width from the keel to twice its centre."""
    if hull.bulb_area_m2 == 0:
        return np.zeros_like(draft_fore), np.zeros_like(draft_fore)
    immersed = np.minimum(draft_fore / (2 * hull.bulb_centre_m), 1.0)
    return hull.bulb_area_m2 * immersed, hull.bulb_centre_m * immersed


def _lcb_shift(hull: Hull, trim: Vector, length: Vector, mean_depth: Vector, waterplane: Vector) -> Vector:
    """The shift of the centre of buoyancy by trim, [N] percent of the length: BM_L times the angle of trim.

    mean_depth: [N] displacement over length and beam. The waterplane's moment of inertia is that of a half-breadth
    1 - |2x/L|^n of the same area, which is C_WP / (12 (3 - 2 C_WP)) times its beam and length cubed.
    """
    inertia = waterplane / (12 * (3 - 2 * waterplane))
    return -100 * inertia * length / mean_depth * (trim / hull.length_between_perpendiculars_m)


def _wetted_area(
    hull: Hull, draft: Vector, length: Vector, block: Vector, midship: Vector, waterplane: Vector, bulb_area: Vector
) -> Vector:
    """Holtrop & Mennen 1982, "An approximate power prediction method", formula for S."""
    shape = 0.453 + 0.4425 * block - 0.2862 * midship - 0.003467 * hull.beam_m / draft + 0.3696 * waterplane
    return length * (2 * draft + hull.beam_m) * np.sqrt(midship) * shape + 2.38 * bulb_area / block
