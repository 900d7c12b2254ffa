"""The conditions of a ship: arrays of records, checked before the physics uses them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.check import Vector, first
from shiftbench.errors import ArrayError
from shiftbench.tracks.power.physics.fouling import YEAR_S
from shiftbench.tracks.power.physics.motion import Sea

# Valid ranges, in the unit of the name; wide enough for any ship and tight enough to detect most wrong units.
RANGES = {
    "speed_through_water_m_s": (-10.0, 25.0),
    "speed_over_ground_m_s": (-15.0, 30.0),
    "acceleration_m_s2": (-0.2, 0.2),
    "wind_speed_m_s": (0.0, 75.0),
    "wind_angle_rad": (-2 * np.pi, 2 * np.pi),
    "wave_height_m": (0.0, 40.0),
    "wave_period_s": (0.1, 60.0),
    "wave_angle_rad": (-2 * np.pi, 2 * np.pi),
    "since_dry_dock_s": (0.0, 30 * YEAR_S),
}


@dataclass(frozen=True, eq=False)
class Conditions:
    """Conditions of N records, arrays [N], in the units of their names.

    wind_speed_m_s: true wind. wind_angle_rad: between the heading and the direction it comes from, 0 = head wind.
    wave_height_m: significant. wave_period_s: mean period T_1. wave_angle_rad: like the wind's, 0 = head seas.
    """

    draft_aft_m: Vector
    draft_fore_m: Vector
    speed_through_water_m_s: Vector
    speed_over_ground_m_s: Vector
    acceleration_m_s2: Vector
    wind_speed_m_s: Vector
    wind_angle_rad: Vector
    wave_height_m: Vector
    wave_period_s: Vector
    wave_angle_rad: Vector
    since_dry_dock_s: Vector

    def __len__(self) -> int:
        return len(self.draft_aft_m)

    def __getitem__(self, place: slice) -> Conditions:
        return Conditions(*(getattr(self, field.name)[place] for field in fields(Conditions)))

    @property
    def sea(self) -> Sea:
        """The waves."""
        return Sea(self.wave_height_m, self.wave_period_s, self.wave_angle_rad)

    def checked(self) -> Conditions:
        """The same as float64 arrays of one length.

        Raises:
            ArrayError: naming every array that is empty, of another length than the rest, not finite, or out of
                `RANGES`.
        """
        values = {field.name: getattr(self, field.name) for field in fields(Conditions)}
        problems: list[str] = []
        try:
            arrays = check.vectors(**values)
        except ArrayError as error:
            problems += error.problems
        problems += [text for name, limits in RANGES.items() for text in _out_of_range(name, values[name], *limits)]
        if problems:
            raise ArrayError(*problems)
        return Conditions(*arrays)


def _out_of_range(name: str, values: Any, low: float, high: float) -> list[str]:
    try:
        array = check.as_array(name, values).ravel()
    except ArrayError:  # reported by the check of vectors
        return []
    if array.dtype.kind not in "biuf" or not array.size:
        return []
    array = array.astype(np.float64, copy=False)
    if not (array.min() < low or array.max() > high):
        return []
    wrong = (array < low) | (array > high)
    found = first(array, wrong)
    return [f"{name}: expected {low:.4g} to {high:.4g}, found {found}. Is it in the unit of its name?"]
