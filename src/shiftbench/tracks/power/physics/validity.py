"""Which records leave the ranges that the formulas rest on, range by range: flags to count, where `powering.validity`
has words."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.tracks.power.physics import calm_water, drafts, waves
from shiftbench.tracks.power.physics.conditions import Conditions
from shiftbench.tracks.power.physics.ship import Ship


def outside(ship: Ship, conditions: Conditions, power_kw: Vector) -> dict[str, Flags]:
    """Range → whether each of N records leaves it, [N]; of each method first whether it leaves any of them.

    Calm water as Holtrop & Mennen's models spanned it (`calm_water.RANGES`), waves as STAWAVE-2 wants them, the
    propeller, and the engine's rating. Powers outside are extrapolated, not wrong by themselves.

    Args:
        ship: as `powering.shaft_power` has it.
        conditions: of N records.
        power_kw: [N] what `powering.shaft_power` found.

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
    return {name: flags & ~formless for name, flags in found.items()}  # those have no power at all


def _flags(method: str, values: Mapping[str, Vector], ranges: Mapping[str, tuple[float, float]]) -> dict[str, Flags]:
    found = {
        f"{method}: {what} {low:g} to {high:g}": (values[what] < low) | (values[what] > high)
        for what, (low, high) in ranges.items()
    }
    return {f"{method}: any of its ranges": np.logical_or.reduce(list(found.values())), **found}
