"""Two full ships whose models were towed in public: what "full" in `calibration.FORMS` is fitted to.

`python -m benchmarks.full_ships` makes the fit again, and shows what the method says of both tests before and after it.

KVLCC2M, the tanker of the CFD Workshop Tokyo 2005: C_T 4.2612e-3 at Re 3.945e6, model of 4.970 m and 6.58919 m² at
0.994 m/s. JBC, the bulk carrier of the Tokyo 2015 workshop (Case 1.1a): C_T 4.289e-3 at Re 7.46e6, model of 7.000 m
and 12.2206 m² at 1.179 m/s. Both are bare hulls at Fn 0.142. Hulls: NMRI's pages of the workshops; of KVLCC2M those of
KVLCC2, which it is but for fairing. No source gives waterplane coefficients, bulbs and Holtrop's C_stern: these are
estimates (10: both sterns are U-shaped), the bulbs those of a public benchmark of weather routing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from shiftbench.tracks.power.physics.calibration import Resistance
from shiftbench.tracks.power.physics.parts import Hull
from shiftbench.tracks.power.physics.recalibration import recalibrated
from shiftbench.tracks.power.physics.ship import Ship, ship
from shiftbench.tracks.power.physics.towing import TowingTest
from shiftbench.tracks.power.physics.water import Water

DENSITY = 999.1  # of the tanks; it cancels

KVLCC2M: dict[str, float] = {
    "length_between_perpendiculars_m": 320.0, "length_waterline_m": 325.5, "beam_m": 58.0, "draft_m": 20.8,
    "depth_m": 30.0, "displacement_m3": 312_622.0, "midship_coefficient": 0.9973, "waterplane_coefficient": 0.90,
    "stern_shape": 10.0, "bulb_area_m2": 100.0, "bulb_centre_m": 8.3,
}  # fmt: skip
JBC: dict[str, float] = {
    "length_between_perpendiculars_m": 280.0, "length_waterline_m": 285.0, "beam_m": 45.0, "draft_m": 16.5,
    "depth_m": 25.0, "displacement_m3": 178_369.9, "midship_coefficient": 0.9981, "waterplane_coefficient": 0.91,
    "stern_shape": 10.0, "bulb_area_m2": 60.0, "bulb_centre_m": 6.6,
}  # fmt: skip


def towing_tests() -> dict[str, TowingTest]:
    """Name of the ship → her test, at one speed each."""
    return {
        "KVLCC2M": _test(
            _with_hull(KVLCC2M, lcb_percent_lpp=3.48),
            model_length_m=4.970,
            model_area_m2=6.58919,
            speed_m_s=0.994,
            reynolds=3.945e6,
            total_coefficient=4.2612e-3,
        ),
        "JBC": _test(
            _with_hull(JBC, lcb_percent_lpp=2.5475),
            model_length_m=7.0,
            model_area_m2=12.2206,
            speed_m_s=1.179,
            reynolds=7.46e6,
            total_coefficient=4.289e-3,
        ),
    }


def _with_hull(hull: dict[str, Any], *, lcb_percent_lpp: float) -> Ship:
    """The package's tanker with another hull, bare and with a dry transom: calm water asks for nothing else.

    The waterline is taken to end at the forward perpendicular, so that its middle lies aft of that of L_PP.
    """
    between, water = hull["length_between_perpendiculars_m"], hull["length_waterline_m"]
    lcb = (lcb_percent_lpp * between + 50 * (water - between)) / water
    rest = {
        "lcf_percent": 0.0, "transom_width_m": 0.0, "transom_height_m": 0.0, "appendage_area_m2": 0.0,
        "appendage_factor": 1.0, "bow_length_m": 40.0,
    }  # fmt: skip
    return replace(ship("tanker"), hull=Hull(**hull, **rest, lcb_percent=lcb))


def _test(
    made: Ship,
    *,
    model_length_m: float,
    model_area_m2: float,
    speed_m_s: float,
    reynolds: float,
    total_coefficient: float,
) -> TowingTest:
    """A test as workshops publish it: coefficients on the length between perpendiculars and the model's own area."""
    speed, draft = np.array([speed_m_s]), made.hull.draft_m
    return TowingTest(
        ship=made,
        scale=made.hull.length_between_perpendiculars_m / model_length_m,
        draft_aft_m=draft,
        draft_fore_m=draft,
        speed_m_s=speed,
        resistance_N=total_coefficient * 0.5 * DENSITY * speed**2 * model_area_m2,
        water=Water(density=DENSITY, viscosity=speed_m_s * model_length_m / reynolds),
    )


def main() -> None:
    """Print the fitted constant, and each ship's deviation by Holtrop's constants and by the fit."""
    tests = towing_tests()
    fitted = recalibrated(tests.values(), constants="form_1984_factor")
    print(f"form_1984_factor = {fitted.form_1984_factor:.4f}")
    for name, test in tests.items():
        before, after = test.deviation()[0], test.deviation(Resistance("1984", fitted))[0]
        print(f"{name}: {before:+.1%} by the published constants, {after:+.1%} by the fit")


if __name__ == "__main__":
    main()
