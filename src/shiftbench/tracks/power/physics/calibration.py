"""The constants of the Holtrop-Mennen method as data, so that a fit to other hulls can take their place."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from shiftbench import check

VERSIONS = ("1982", "1984")  # of the Holtrop-Mennen method


def between(low: float, high: float, default: Any = MISSING) -> Any:
    """A number of a ship, with the range of all merchant ships, in which a number in the wrong unit rarely lies."""
    return field(default=default, metadata={"range": (low, high)})


def _constant(value: float) -> Any:
    """A constant of the Holtrop-Mennen method: from 0 to ten times its value, so that it keeps its sign."""
    return between(min(0.0, 10 * value), max(0.0, 10 * value), value)


@dataclass(frozen=True)
class Calibration:
    """Constants of the Holtrop-Mennen method that a recalibration may replace; the defaults are the papers' own.

    Named after the coefficients of the papers. form_1982 and form_1984: 1 + k1 of either version,
    with c12 of 1982 as `form_1982_draft` above T/L = 0.05 and `form_1982_shallow_…` below. c1 … m1, c15 … lambda: the
    wave resistance, angle: i_E, wave_exponent: d, m2: of 1982, m4: of 1984, c16_full: from C_P = 0.8. c2, c3: the
    effect of a bulb, also in C_A. c5: that of a transom. bulb: R_B. c6: R_TR. ca: C_A.
    """

    form_1982_constant: float = _constant(0.93)
    form_1982_stern: float = _constant(0.003)
    form_1982_draft: float = _constant(0.2228446)
    form_1982_shallow_factor: float = _constant(48.20)
    form_1982_shallow_exponent: float = _constant(2.078)
    form_1982_shallow_constant: float = _constant(0.479948)
    form_1982_beam: float = _constant(0.92497)
    form_1982_prismatic: float = _constant(-0.521448)
    form_1982_afterbody: float = _constant(0.6906)
    form_1984_constant: float = _constant(0.93)
    form_1984_factor: float = _constant(0.487118)
    form_1984_stern: float = _constant(0.011)
    form_1984_beam: float = _constant(1.06806)
    form_1984_draft: float = _constant(0.46106)
    form_1984_run: float = _constant(0.121563)
    form_1984_slenderness: float = _constant(0.36486)
    form_1984_prismatic: float = _constant(-0.604247)
    c1_factor: float = _constant(2223105)
    c1_width: float = _constant(3.78613)
    c1_draft: float = _constant(1.07961)
    c1_angle: float = _constant(-1.37565)
    angle_slenderness: float = _constant(0.80856)
    angle_waterplane: float = _constant(0.30484)
    angle_forebody: float = _constant(0.6367)
    angle_run: float = _constant(0.34574)
    angle_fullness: float = _constant(0.16302)
    wave_exponent: float = _constant(-0.9)
    m1_slimness: float = _constant(0.0140407)
    m1_displacement: float = _constant(1.75254)
    m1_width: float = _constant(4.79323)
    c15_constant: float = _constant(-1.69385)
    c16_linear: float = _constant(8.07981)
    c16_square: float = _constant(13.8673)
    c16_cube: float = _constant(6.984388)
    c16_full_constant: float = _constant(1.73014)
    c16_full_slope: float = _constant(0.7067)
    m2_decay: float = _constant(0.1)
    m4_factor: float = _constant(0.4)
    m4_decay: float = _constant(0.034)
    m4_exponent: float = _constant(-3.29)
    lambda_prismatic: float = _constant(1.446)
    lambda_slenderness: float = _constant(0.03)
    c2_factor: float = _constant(1.89)
    c3_factor: float = _constant(0.56)
    c5_factor: float = _constant(0.8)
    bulb_factor: float = _constant(0.11)
    bulb_decay: float = _constant(3.0)
    c6_constant: float = _constant(0.2)
    c6_slope: float = _constant(0.2)
    ca_factor: float = _constant(0.006)
    ca_length: float = _constant(-0.16)
    ca_constant: float = _constant(0.00205)
    ca_fullness: float = _constant(0.003)


HOLTROP = Calibration()

# Two towed models: see `benchmarks/full_ships.py`; docs/findings/full-ships.md discusses how little two of them
# determine.
FULL = Calibration(form_1984_factor=0.3935)

FORMS = {"published": HOLTROP, "full": FULL}
"""The values of `form` in a ship's file: the papers' constants, or our own fit of the 1984 form factor to full ships.

"full" is not the form of Nikolopoulos & Boulougouris (2019), whose constants are not public.
"""


@dataclass(frozen=True)
class Resistance:
    """The method for calm-water resistance: a version of Holtrop & Mennen's, of `VERSIONS`, and its constants."""

    version: str = "1984"
    calibration: Calibration = HOLTROP


AS_PUBLISHED = Resistance()


def toml(resistance: Resistance) -> str:
    """The table [resistance] of a ship's file: its version, and every constant that differs from Holtrop's."""
    check.kind("resistance", resistance, Resistance)
    by, own = resistance.calibration, [place.name for place in fields(Calibration)]
    changed = [name for name in own if getattr(by, name) != getattr(HOLTROP, name)]
    lines = ["[resistance]", f'version = "{resistance.version}"']
    if changed:
        lines += ["", "[resistance.calibration]", *(f"{name} = {getattr(by, name)!r}" for name in changed)]
    return "\n".join(lines) + "\n"
