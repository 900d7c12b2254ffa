"""Which records leave the ranges that the formulas rest on, range by range: in words, and as flags to count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.tracks.power.physics import calm_water, drafts, waves
from shiftbench.tracks.power.physics.conditions import Conditions
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.ship import Ship
from shiftbench.tracks.power.physics.water import GRAVITY

ANY = ": any of its ranges"  # ends the name of what holds for a method as a whole


def validity(ship: Ship, conditions: Conditions) -> list[str]:
    """Where records leave the ranges that the regressions were made from: range, how many records, which is the first.

    Such powers are extrapolated, not wrong by themselves. Records that get the code `powering.NO_FORM` have no power,
    and are left out.

    Raises:
        ArrayError: as `powering.shaft_power` does.
    """
    given = conditions.checked()
    loading, formless = drafts.loading(ship, given.draft_aft_m, given.draft_fore_m)
    speed = np.maximum(given.speed_through_water_m_s, 0)
    unknown = {field.name: np.where(formless, np.nan, getattr(loading, field.name)) for field in fields(Loading)}
    return [*calm_water.validity(ship, Loading(**unknown), speed), *_of_waves(ship, loading, given, formless)]


def _of_waves(ship: Ship, loading: Loading, given: Conditions, formless: Flags) -> tuple[str, ...]:
    """Where waves leave their ranges; records [N] without a hull form count as inside, in still water."""
    hull, sea = ship.hull, given.sea
    calm = replace(sea, height_m=np.where(formless, 0, sea.height_m), angle_rad=np.where(formless, 0, sea.angle_rad))
    inside = 0.2 * np.sqrt(GRAVITY * hull.length_between_perpendiculars_m)
    return waves.validity(
        hull,
        calm,
        np.where(formless, inside, np.maximum(given.speed_through_water_m_s, 0)),
        draft_m=np.where(formless, hull.beam_m / 4, loading.draft_m),
        block_coefficient=np.where(formless, 0.6, loading.block_coefficient),
    )


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
    return {f"{method}{ANY}": np.logical_or.reduce(list(found.values())), **found}
