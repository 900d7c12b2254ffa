"""Records outside the ranges of the formulas, range by range: as text, and as flags to count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields

import numpy as np

from shiftbench import check
from shiftbench.check import Flags, Vector
from shiftbench.tracks.power.physics import calm_water, drafts, waves
from shiftbench.tracks.power.physics.conditions import Conditions
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.motion import Sea
from shiftbench.tracks.power.physics.ship import Ship

ANY = ": any of its ranges"  # suffix of the name for all ranges of a method


def validity(ship: Ship, conditions: Conditions) -> list[str]:
    """Messages on records outside the ranges of the regressions: range, number of records, the first of them.

    Such powers are extrapolated, not wrong by themselves. Records that get the code `powering.NO_FORM` have no power,
    and are left out.

    Raises:
        ArrayError: as `powering.shaft_power` does.
    """
    check.kind("ship", ship, Ship)
    check.kind("conditions", conditions, Conditions)
    given = conditions.checked()
    whole, formless = drafts.loading(ship, given.draft_aft_m, given.draft_fore_m)

    def known(values: Vector) -> Vector:
        return np.where(formless, np.nan, values)

    loading = Loading(**{field.name: known(getattr(whole, field.name)) for field in fields(Loading)})
    sea = Sea(known(given.wave_height_m), given.wave_period_s, known(given.wave_angle_rad))
    speed, draft, block = np.maximum(given.speed_through_water_m_s, 0), loading.draft_m, loading.block_coefficient
    of_waves = waves.validity(ship.hull, sea, known(speed), draft_m=draft, block_coefficient=block)
    return [*calm_water.validity(ship, loading, speed), *of_waves]


def outside(ship: Ship, conditions: Conditions, power_kw: Vector) -> dict[str, Flags]:
    """Range → flags [N] of records outside it; for each method first those outside any of its ranges.

    Calm water: the range of Holtrop & Mennen's models (`calm_water.RANGES`); waves: that of STAWAVE-2; the propeller;
    and the engine's rating. Powers outside are extrapolated, not wrong by themselves.

    Args:
        ship: as in `powering.shaft_power`.
        conditions: of N records.
        power_kw: [N] the result of `powering.shaft_power`.

    Raises:
        ArrayError: as `powering.shaft_power` does.
    """
    given = conditions.checked()
    loading, formless = drafts.loading(ship, given.draft_aft_m, given.draft_fore_m)
    speed = np.maximum(given.speed_through_water_m_s, 0)
    met = waves.quantities(
        ship.hull, speed, angle_rad=given.wave_angle_rad, draft_m=loading.draft_m,
        block_coefficient=loading.block_coefficient,
    )  # fmt: skip
    tip_m = ship.propeller.shaft_height_m + ship.propeller.diameter_m / 2
    found = {
        **_flags("calm water", calm_water.quantities(ship, loading, speed), calm_water.RANGES[ship.kind]),
        **_flags("waves", met, waves.RANGES),
        "propeller: not wholly under water": given.draft_aft_m < tip_m,
        f"engine: above its rating, {ship.drive.mcr_kw:,.0f} kW": power_kw > ship.drive.mcr_kw,
    }
    return {name: flags & ~formless for name, flags in found.items()}  # these have no power


def _flags(method: str, values: Mapping[str, Vector], ranges: Mapping[str, tuple[float, float]]) -> dict[str, Flags]:
    found = {
        f"{method}: {what} {low:g} to {high:g}": (values[what] < low) | (values[what] > high)
        for what, (low, high) in ranges.items()
    }
    return {f"{method}{ANY}": np.logical_or.reduce(list(found.values())), **found}
