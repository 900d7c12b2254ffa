"""The parts of a ship as data: hull, propeller, topsides and drive, each number with its valid range."""

from __future__ import annotations

from dataclasses import dataclass

from shiftbench.tracks.power.physics.calibration import between

# Tested blade area ratios by number of blades (Bernitsas, Ray & Kinley 1981, Table 3).
AREA_RATIOS = {2: (0.30, 0.38), 3: (0.35, 0.80), 4: (0.40, 1.00), 5: (0.45, 1.05), 6: (0.50, 0.80), 7: (0.55, 0.85)}


@dataclass(frozen=True)
class Hull:
    """The hull at its design draft, on even keel; coefficients refer to the length of the waterline.

    length_waterline_slope: m of waterline added per m of draft, by the rake of stem and stern.
    depth_m: from keel to deck; no draft may exceed it.
    lcb_percent: centre of buoyancy forward of half the waterline, in percent of its length.
    lcf_percent: centre of flotation, likewise.
    bulb_area_m2: transverse, at the forward perpendicular. bulb_centre_m: its centre's height above the keel.
    transom_width_m: mean width of the transom where it is immersed. transom_height_m: of its lower edge above the keel.
    stern_shape: Holtrop's C_stern: -25 pram with gondola, -10 V-shaped, 0 normal, 10 U-shaped with Hogner stern.
    appendage_area_m2: wetted area of rudder, bilge keels and the like. appendage_factor: their 1 + k2.
    bow_length_m: from the stem to the point where the waterline has 95 % of its greatest breadth (STAWAVE-1's L_BWL).
    pitch_radius_ratio: radius of gyration about the transverse axis over the length between perpendiculars.
    """

    length_between_perpendiculars_m: float = between(40, 450)
    length_waterline_m: float = between(40, 450)
    beam_m: float = between(5, 80)
    draft_m: float = between(1.5, 30)
    depth_m: float = between(2, 50)
    displacement_m3: float = between(500, 700_000)
    midship_coefficient: float = between(0.7, 1)
    waterplane_coefficient: float = between(0.5, 1)
    lcb_percent: float = between(-6, 6)
    lcf_percent: float = between(-10, 6)
    transom_width_m: float = between(0, 80)
    transom_height_m: float = between(0, 50)
    stern_shape: float = between(-25, 10)
    appendage_area_m2: float = between(0, 5_000)
    appendage_factor: float = between(1, 4)
    bow_length_m: float = between(2, 200)
    bulb_area_m2: float = between(0, 200, 0.0)
    bulb_centre_m: float = between(0, 20, 0.0)
    length_waterline_slope: float = between(-5, 5, 0.0)
    pitch_radius_ratio: float = between(0.2, 0.3, 0.25)

    @property
    def block_coefficient(self) -> float:
        """Of the design condition: displacement over length, beam and draft."""
        return self.displacement_m3 / (self.length_waterline_m * self.beam_m * self.draft_m)

    @property
    def prismatic_coefficient(self) -> float:
        """Of the design condition: block over midship coefficient."""
        return self.block_coefficient / self.midship_coefficient


@dataclass(frozen=True)
class Propeller:
    """One propeller of the Wageningen B-series.

    pitch_ratio: pitch over diameter. area_ratio: expanded blade area over the disc's.
    shaft_height_m: of the shaft's centre above the keel. roughness_m: of new blades.
    """

    diameter_m: float = between(1, 13)
    blades: int = between(2, 7)
    pitch_ratio: float = between(0.5, 1.4)
    area_ratio: float = between(0.3, 1.05)
    shaft_height_m: float = between(0.5, 10)
    roughness_m: float = between(1e-6, 3e-4, 3e-5)


@dataclass(frozen=True)
class Topsides:
    """Windage in the quantities of Fujiwara's regression (ISO 15016:2015, Annex C), heights above the water.

    All at the draft `draft_m`. frontal_area_m2: A_XV. lateral_area_m2: A_YV.
    deck_lateral_area_m2: A_OD, lateral area of superstructure, containers and the like above the deck.
    lateral_centre_m: C_MC, from midship to the centre of A_YV, forward positive. lateral_centre_height_m: H_C.
    bridge_height_m: H_BR, of the top of the superstructure.
    """

    length_overall_m: float = between(40, 460)
    beam_m: float = between(5, 80)
    draft_m: float = between(1.5, 30)
    frontal_area_m2: float = between(20, 5_000)
    lateral_area_m2: float = between(50, 30_000)
    deck_lateral_area_m2: float = between(10, 25_000)
    lateral_centre_m: float = between(-150, 150)
    lateral_centre_height_m: float = between(1, 50)
    bridge_height_m: float = between(5, 90)


@dataclass(frozen=True)
class Drive:
    """The engine's maximum continuous rating in kW, and the efficiency of the shaft line."""

    mcr_kw: float = between(200, 120_000)
    shaft_efficiency: float = between(0.9, 1, 0.99)
