"""Contradictions among the parts of a ship whose numbers are each within their ranges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from shiftbench.tracks.power.physics.parts import AREA_RATIOS, Hull, Propeller, Topsides

Rule = tuple[bool, str, str]
"""Whether a rule holds, what was expected, what was found."""


def problems_of(parts: Mapping[str, Any]) -> list[str]:
    """A message for each contradiction among the parts of a ship that are known, by name."""
    hull, propeller, topsides = (parts.get(name) for name in ("hull", "propeller", "topsides"))
    rules: list[Rule] = []
    rules += _hull_rules(hull) if hull else []
    rules += _series_rules(propeller) if propeller else []
    rules += _propeller_rules(hull, propeller) if hull and propeller else []
    rules += _topsides_rules(topsides) if topsides else []
    rules += _size_rules(hull, topsides) if hull and topsides else []
    return [f"expected {wanted}, found {found}. Correct one of them." for holds, wanted, found in rules if not holds]


def _hull_rules(hull: Hull) -> list[Rule]:
    block, prismatic = hull.block_coefficient, hull.prismatic_coefficient
    drafts = f"{hull.draft_m:g} and {hull.depth_m:g}"
    areas = f"{hull.waterplane_coefficient:g} and {block:.3f}"
    bulb = f"{hull.bulb_centre_m:g} at an area of {hull.bulb_area_m2:g} and a draft of {hull.draft_m:g}"
    beams = f"{hull.transom_width_m:g} and {hull.beam_m:g}"
    return [
        (hull.draft_m < hull.depth_m, "hull.draft_m < hull.depth_m", drafts),
        (
            0.4 <= prismatic <= 0.9,
            "a prismatic coefficient (displacement over length, beam, draft and C_M) from 0.4 to 0.9",
            f"{prismatic:.3f}",
        ),
        (block < hull.waterplane_coefficient, "hull.waterplane_coefficient above the block coefficient", areas),
        (
            hull.bulb_area_m2 == 0 or 0 < hull.bulb_centre_m <= 0.6 * hull.draft_m,
            "hull.bulb_centre_m > 0 and at most 0.6 of the draft",
            bulb,
        ),
        (hull.transom_width_m <= hull.beam_m, "hull.transom_width_m <= hull.beam_m", beams),
    ]


def _series_rules(propeller: Propeller) -> list[Rule]:
    """Rules of the B-series for a number of blades."""
    low, high = AREA_RATIOS[propeller.blades]
    wanted = f"propeller.area_ratio from {low:g} to {high:g}, as the B-series was tested with {propeller.blades} blades"
    return [(low <= propeller.area_ratio <= high, wanted, f"{propeller.area_ratio:g}")]


def _propeller_rules(hull: Hull, propeller: Propeller) -> list[Rule]:
    radius, shaft = propeller.diameter_m / 2, propeller.shaft_height_m
    return [
        (radius <= shaft, "propeller.shaft_height_m of at least half its diameter", f"{shaft:g} and {2 * radius:g}"),
        (
            shaft + radius < hull.draft_m,
            "a propeller under water at the design draft",
            f"its tip {shaft + radius:g} m above the keel and a draft of {hull.draft_m:g} m",
        ),
    ]


def _topsides_rules(topsides: Topsides) -> list[Rule]:
    deck, side = topsides.deck_lateral_area_m2, topsides.lateral_area_m2
    bridge, centre = topsides.bridge_height_m, topsides.lateral_centre_height_m
    return [
        (deck < side, "topsides.deck_lateral_area_m2 < topsides.lateral_area_m2", f"{deck:g} and {side:g}"),
        (centre < bridge, "topsides.lateral_centre_height_m < topsides.bridge_height_m", f"{centre:g} and {bridge:g}"),
    ]


def _size_rules(hull: Hull, topsides: Topsides) -> list[Rule]:
    """Rules for lengths and beams that are given in several ways."""
    between, water = hull.length_between_perpendiculars_m, hull.length_waterline_m
    overall, beam = topsides.length_overall_m, topsides.beam_m
    return [
        (
            0.85 <= water / between <= 1.15,
            "hull.length_waterline_m within 15 % of hull.length_between_perpendiculars_m",
            f"{water:g} and {between:g}",
        ),
        (
            overall >= between,
            "topsides.length_overall_m of at least hull.length_between_perpendiculars_m",
            f"{overall:g} and {between:g}",
        ),
        (
            0.8 <= beam / hull.beam_m <= 1.2,
            "topsides.beam_m within 20 % of hull.beam_m",
            f"{beam:g} and {hull.beam_m:g}",
        ),
    ]
