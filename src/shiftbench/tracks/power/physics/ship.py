"""A ship as data: hull, propeller, topsides, drive and how her resistance is found, one TOML file a vessel."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any

from shiftbench.errors import SettingsError, UnknownNameError
from shiftbench.tracks.power.physics.calibration import (
    AS_PUBLISHED,
    FORMS,
    VERSIONS,
    Calibration,
    Resistance,
    between,
)

KINDS = ("container", "tanker")
SHIPS = ("container", "tanker")
# Blade area ratios that were tested, by the number of blades (Bernitsas, Ray & Kinley 1981, Table 3).
AREA_RATIOS = {2: (0.30, 0.38), 3: (0.35, 0.80), 4: (0.40, 1.00), 5: (0.45, 1.05), 6: (0.50, 0.80), 7: (0.55, 0.85)}


@dataclass(frozen=True)
class Hull:
    """The hull at its design draft, on even keel; coefficients refer to the length of the waterline.

    length_waterline_slope: m of waterline that a m of draft adds, where stem and stern rake.
    depth_m: from keel to deck; no draft may exceed it.
    lcb_percent: centre of buoyancy forward of half the waterline, in percent of its length.
    lcf_percent: centre of flotation, likewise.
    bulb_area_m2: transverse, at the forward perpendicular. bulb_centre_m: its centre's height above the keel.
    transom_width_m: mean width of the transom where it is immersed. transom_height_m: of its lower edge above the keel.
    stern_shape: Holtrop's C_stern: -25 pram with gondola, -10 V-shaped, 0 normal, 10 U-shaped with Hogner stern.
    appendage_area_m2: wetted area of rudder, bilge keels and the like. appendage_factor: their 1 + k2.
    bow_length_m: from the stem to where the waterline reaches 95 % of its greatest breadth (STAWAVE-1's L_BWL).
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
    """What the wind sees, as Fujiwara's regression asks for it (ISO 15016:2015, Annex C), heights above the water.

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
    """The engine's maximum continuous rating in kW, and what the shaft line leaves of its power."""

    mcr_kw: float = between(200, 120_000)
    shaft_efficiency: float = between(0.9, 1, 0.99)


PARTS = {"hull": Hull, "propeller": Propeller, "topsides": Topsides, "drive": Drive}


@dataclass(frozen=True)
class Ship:
    """A single-screw ship. kind: "container" or "tanker"; a tanker stands for any full, slow ship.

    resistance: Holtrop's method of 1984 with its own constants, if nothing else is said.
    """

    name: str
    kind: str
    hull: Hull
    propeller: Propeller
    topsides: Topsides
    drive: Drive
    resistance: Resistance = AS_PUBLISHED


def ship(name: str = "container") -> Ship:
    """One of the ships that come with the package, by its name in `SHIPS`.

    Raises:
        UnknownNameError: if there is none of this name.
    """
    if name not in SHIPS:
        raise UnknownNameError("ship", name, SHIPS)
    file = resources.files(__package__).joinpath("ships", f"{name}.toml")
    return _ship(tomllib.loads(file.read_text("utf-8")), file.name)


def read(path: str | os.PathLike[str]) -> Ship:
    """The ship of a TOML file: `name`, `kind`, and the tables [hull], [propeller], [topsides] and [drive].

    A table [resistance] may name the `version` and the `form`, of `FORMS`, and [resistance.calibration] the constants
    that differ from those of the form.

    Raises:
        SettingsError: if there is no such file, or naming everything that is unknown, missing, of the wrong type, out
        of range or at odds with itself.
    """
    source = str(path)
    try:
        values = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # TOML's own errors, and numbers of endless digits
        raise SettingsError(
            f"{source}: expected a ship as a TOML file, found none that can be read ({error})."
        ) from None
    return _ship(values, source)


def _ship(values: Mapping[str, Any], source: str) -> Ship:
    """Raises: SettingsError: with all problems, each beginning with the source."""
    problems = [str(UnknownNameError("entry", key, _names(Ship))) for key in values if key not in _names(Ship)]
    for name, known in (("name", None), ("kind", KINDS)):
        value = values.get(name)
        if not isinstance(value, str) or not value or (known and value not in known):
            problems.append(f"{name}: expected {' or '.join(known) if known else 'text'}, found {value!r}.")
    parts: dict[str, Any] = {}
    for name, of in PARTS.items():
        if found := _part_problems(name, values.get(name), of):
            problems += found
        else:
            parts[name] = of(**values[name])
    problems += _resistance_problems(resistance := values.get("resistance", {}))
    problems += _contradictions(parts)
    if problems:
        raise SettingsError(*(f"{source}: {problem}" for problem in problems))
    return Ship(values["name"], values["kind"], **parts, resistance=_resistance(resistance))


def _resistance(values: Mapping[str, Any]) -> Resistance:
    form = FORMS[values.get("form", "published")]
    return Resistance(values.get("version", Resistance.version), replace(form, **values.get("calibration", {})))


def _resistance_problems(values: Any) -> list[str]:
    if not isinstance(values, Mapping):
        return [f"resistance: expected a table [resistance], found {values!r:.40}."]
    known = [*_names(Resistance), "form"]
    problems = [str(UnknownNameError("entry in [resistance]", key, known)) for key in values if key not in known]
    version, form = values.get("version", Resistance.version), values.get("form", "published")
    for name, value, allowed in (("version", version, VERSIONS), ("form", form, tuple(FORMS))):
        if value not in allowed:
            problems.append(f"resistance.{name}: expected {' or '.join(allowed)} as text, found {value!r:.40}.")
    if form == "full" and version == "1982":
        problems.append('resistance.form: "full" was fitted to version "1984", found "1982". Leave out one of them.')
    return problems + _part_problems("resistance.calibration", values.get("calibration", {}), Calibration)


def _part_problems(name: str, values: Any, of: type[Any]) -> list[str]:
    if not isinstance(values, Mapping):
        return [f"{name}: expected a table [{name}], found {values!r}."]
    known = _names(of)
    problems = [str(UnknownNameError(f"entry in [{name}]", key, known)) for key in values if key not in known]
    for place in fields(of):
        low, high = place.metadata["range"]
        where = f"{name}.{place.name}"
        if place.name not in values:
            if place.default is MISSING:
                problems.append(f"{where}: expected a number from {low:g} to {high:g}, found none. Add it.")
        elif not _is_number(value := values[place.name], whole=place.type == "int") or not low <= value <= high:
            kind = "whole number" if place.type == "int" else "number"
            hint = "Does it keep its sign?" if of is Calibration else "Is it in its unit?"
            problems.append(f"{where}: expected a {kind} from {low:g} to {high:g}, found {value!r:.40}. {hint}")
    return problems


def _contradictions(parts: Mapping[str, Any]) -> list[str]:
    """What cannot be true of one ship together, as far as its parts, by name, are there."""
    hull, propeller, topsides = (parts.get(name) for name in ("hull", "propeller", "topsides"))
    rules: list[Rule] = []
    rules += _hull_rules(hull) if hull else []
    rules += _series_rules(propeller) if propeller else []
    rules += _propeller_rules(hull, propeller) if hull and propeller else []
    rules += _topsides_rules(topsides) if topsides else []
    rules += _size_rules(hull, topsides) if hull and topsides else []
    return [f"expected {wanted}, found {found}. Correct one of them." for holds, wanted, found in rules if not holds]


Rule = tuple[bool, str, str]
"""Whether it holds, what was expected, what was found."""


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
    """What was tested with so many blades."""
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
    """Lengths and beams of one ship in two or three ways."""
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


def _is_number(value: Any, *, whole: bool) -> bool:
    kinds = int if whole else (int, float)
    return isinstance(value, kinds) and not isinstance(value, bool) and (isinstance(value, int) or math.isfinite(value))


def _names(of: type[Any]) -> list[str]:
    return [place.name for place in fields(of)]
