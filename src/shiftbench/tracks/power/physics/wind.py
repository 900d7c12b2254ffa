"""Wind resistance by the regression of Fujiwara, Ueno & Ikeda (2005), as in ISO 15016:2015, Annex C."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.check import Vector, first
from shiftbench.errors import ArrayError
from shiftbench.tracks.power.physics.parts import Topsides

AIR_DENSITY = 1.225  # kg/m³ at 15 °C and sea level
SMOOTHING = np.radians(10)  # either side of beam wind: μ of the standard
EDGE = np.sin(SMOOTHING)


@dataclass(frozen=True, eq=False)
class Windage:
    """Windage at a draft, each [N]: areas in m²; heights above the water and C_MC in m."""

    frontal: Vector
    lateral: Vector
    lateral_centre: Vector
    lateral_height: Vector
    bridge: Vector


def resistance(
    topsides: Topsides,
    apparent_speed_m_s: Any,
    apparent_angle_rad: Any,
    *,
    draft_m: Any,
    speed_over_ground_m_s: Any,
    density: float = AIR_DENSITY,
) -> Vector:
    """The wind's force against the motion in N [N], positive = against the ship's motion: ½ ρ C_AA(ψ) A_XV V².

    The resistance ½ ρ C_AA(0) A_XV V_G² of still air is subtracted, as in the standard, since Holtrop's correlation
    allowance includes it.

    apparent_angle_rad: ψ, between the heading and the direction the apparent wind comes from, 0 = from ahead, of either
    sign.
    draft_m: amidships [N]. A lighter ship has a larger lateral and frontal area.

    Raises:
        ArrayError: naming all problems of the arrays, and drafts at which the hull is submerged.
    """
    speed, angle, draft, ground = check.vectors(
        nonnegative=("apparent_speed_m_s",),
        positive=("draft_m",),
        apparent_speed_m_s=apparent_speed_m_s,
        apparent_angle_rad=apparent_angle_rad,
        draft_m=draft_m,
        speed_over_ground_m_s=speed_over_ground_m_s,
    )
    windage = _windage(topsides, draft)
    force = _coefficient(topsides, windage, angle) * speed * speed
    force -= _coefficient(topsides, windage, np.zeros(1)) * ground**2
    return np.asarray(0.5 * density * windage.frontal * force)


def _windage(topsides: Topsides, draft: Vector) -> Windage:
    """The topsides at another draft: a strip of hull of the ship's length and breadth emerges.

    The strip's centre is amidships, at half its height above the water.
    """
    rise = topsides.draft_m - draft
    strip = topsides.length_overall_m * rise
    lateral = topsides.lateral_area_m2 + strip
    frontal = topsides.frontal_area_m2 + topsides.beam_m * rise
    bridge = topsides.bridge_height_m + rise
    if (sunk := (lateral <= topsides.deck_lateral_area_m2) | (frontal <= 0) | (bridge <= 0)).any():
        raise ArrayError(
            f"draft_m: expected drafts that leave the hull above the water, found {first(draft, sunk)}. Is it in m?"
        )
    moment = topsides.lateral_area_m2 * (topsides.lateral_centre_height_m + rise) + strip * rise / 2
    centre = topsides.lateral_area_m2 * topsides.lateral_centre_m / lateral
    return Windage(frontal, lateral, centre, moment / lateral, bridge)


def _coefficient(topsides: Topsides, windage: Windage, angle: Vector) -> Vector:
    """C_AA: the fore regression before beam wind, the aft one behind it.

    Within 10° of beam wind the standard gives one value, at 90°: the mean of C_AA at 80° and at 100°. The line between
    these two points passes through it, without a discontinuity.
    """
    cosine = np.cos(angle)  # even and periodic, like the coefficients below
    beyond_beam = np.arcsin(np.clip(-cosine, -EDGE, EDGE))
    sine = np.minimum(np.abs(np.sin(angle)), np.cos(SMOOTHING))
    fore = _curve(sine, np.maximum(cosine, EDGE), *_fore(topsides, windage))
    aft = _curve(sine, np.minimum(cosine, -EDGE), *_aft(topsides, windage))
    return np.asarray(fore + (0.5 + beyond_beam / (2 * SMOOTHING)) * (aft - fore))


def _curve(sine: Vector, cosine: Vector, linear: Vector, lift: Vector, flow: Vector) -> Vector:
    """C_LF cos ψ + C_XLI (sin ψ - ½ sin ψ cos² ψ) sin ψ cos ψ + C_ALF sin ψ cos³ ψ."""
    squared = cosine * cosine
    return np.asarray(cosine * (linear + lift * sine * sine * (1 - squared / 2) + flow * sine * squared))


def _fore(topsides: Topsides, windage: Windage) -> tuple[Vector, Vector, Vector]:
    """C_LF, C_XLI and C_ALF for 0 <= ψ < 90° (the standard's table of β, δ and ε)."""
    length, beam = topsides.length_overall_m, topsides.beam_m
    side = windage.lateral / length
    return (
        0.922 - 0.507 * side / beam - 1.162 * windage.lateral_centre / length,
        -0.458 - 3.245 * side / windage.bridge + 2.313 * windage.frontal / (beam * windage.bridge),
        0.585 + 0.906 * topsides.deck_lateral_area_m2 / windage.lateral - 3.239 * beam / length,
    )


def _aft(topsides: Topsides, windage: Windage) -> tuple[Vector, Vector, Vector]:
    """C_LF, C_XLI and C_ALF for 90 < ψ <= 180° (the standard's table of β, δ and ε)."""
    length, beam, deck = topsides.length_overall_m, topsides.beam_m, topsides.deck_lateral_area_m2
    slender, lateral, frontal = beam / length, windage.lateral, windage.frontal
    return (
        -0.018
        + 5.091 * slender
        - 10.367 * windage.lateral_height / length
        + 3.011 * deck / length**2
        + 0.341 * frontal / beam**2,
        1.901
        - 12.727 * lateral / (length * windage.bridge)
        - 24.407 * frontal / lateral
        + 40.310 * slender
        + 5.481 * frontal / (beam * windage.bridge),
        0.314 + 1.117 * deck / lateral,
    )
