"""Another ship instead of the example's container ship: the same voyages at its own speeds and drafts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from shiftbench.errors import SettingsError
from shiftbench.tracks.power.example.random_streams import Values
from shiftbench.tracks.power.example.voyages import DAY, REPORTED_M, Voyages
from shiftbench.tracks.power.physics import drafts, ship
from shiftbench.tracks.power.physics.conditions import Conditions
from shiftbench.tracks.power.physics.powering import shaft_power
from shiftbench.tracks.power.physics.ship import Ship
from shiftbench.tracks.power.units import KNOT

SERVICE = 0.75  # of the rating: the power at the service speed
SPEEDS_KN = np.arange(5.0, 40.25, 0.25)  # in which the service speed is sought


@dataclass(frozen=True)
class Scaling:
    """A ship's service speed and design draft relative to those of the container ship of the example."""

    speed: float = 1.0
    draft: float = 1.0

    def sized(self, voyages: Voyages) -> Voyages:
        """The same days at sea, courses and loadings, at speeds and drafts in proportion; distances scale, too."""
        aft, fore = voyages.aft * self.draft, voyages.fore * self.draft
        burnt = (voyages.aft_burnt * self.draft, voyages.fore_burnt * self.draft)
        return replace(
            voyages, aft=aft, fore=fore, aft_burnt=burnt[0], fore_burnt=burnt[1], log_kn=voyages.log_kn * self.speed
        )


ALIKE = Scaling()


def vessel_of(name_or_file: str | None) -> Ship:
    """A ship of the package by its name, or that of a TOML file; the container ship by default.

    Raises:
        SettingsError: if it is neither, or naming everything that is wrong with the file.
    """
    if name_or_file is None or name_or_file in ship.SHIPS:
        return ship.ship(name_or_file or ship.SHIPS[0])
    if not Path(name_or_file).is_file():
        raise SettingsError(
            f"ship: expected {', '.join(ship.SHIPS)} or a TOML file of a ship, found {name_or_file!r} and no such "
            "file. Check the spelling."
        )
    return ship.read(name_or_file)


def scaling_of(of: Ship) -> Scaling:
    """The ratios of a ship to the container ship; exactly 1 and 1 for that ship itself.

    Raises:
        SettingsError: if it has no service speed.
    """
    usual = ship.ship()
    return Scaling(service_speed_kn(of) / service_speed_kn(usual), of.hull.draft_m / usual.hull.draft_m)


def service_speed_kn(of: Ship) -> float:
    """The speed at which the ship needs 75 % of its rating: at its design draft, in calm water, just out of dock.

    Raises:
        SettingsError: if there is none between 5 and 40 kn.
    """
    none = np.zeros_like(SPEEDS_KN)
    speed, draft = SPEEDS_KN * KNOT, none + of.hull.draft_m
    given = Conditions(
        draft_aft_m=draft, draft_fore_m=draft, speed_through_water_m_s=speed, speed_over_ground_m_s=speed,
        acceleration_m_s2=none, wind_speed_m_s=none, wind_angle_rad=none, wave_height_m=none, wave_period_s=none + 1,
        wave_angle_rad=none, since_dry_dock_s=none,
    )  # fmt: skip
    share = shaft_power(of, given).power_kw / of.drive.mcr_kw
    above = int(np.argmax(share >= SERVICE))
    if not above:  # above the share at once, never, or no power at all
        raise SettingsError(
            f"ship {of.name!r}: expected one that needs {SERVICE:.0%} of its rating of {of.drive.mcr_kw:,.0f} kW at a "
            f"speed between {SPEEDS_KN[0]:g} and {SPEEDS_KN[-1]:g} kn, found {share[0]:.0%} to {share[-1]:.0%} at "
            "these. Correct drive.mcr_kw or the hull."
        )
    return float(np.interp(SERVICE, share[above - 1 : above + 1], SPEEDS_KN[above - 1 : above + 1]))


def require_afloat(of: Ship, low_m: float, high_m: float) -> None:
    """Check that the ship floats at all drafts of the example.

    Raises:
        SettingsError: if its form is not known at these drafts, or its deck would be under water.
    """
    lightest, deepest = drafts.drafts_m(of)
    if not lightest <= low_m <= high_m <= deepest:
        raise SettingsError(
            f"ship {of.name!r}: expected one that floats at drafts from {low_m:.2f} to {high_m:.2f} m, those of the "
            f"example in proportion to its design draft, found {lightest:.2f} to {deepest:.2f} m. Correct the hull or "
            "its topsides."
        )


def draft_range_m(voyages: Voyages) -> tuple[float, float]:
    """The smallest and the largest draft that a crew may report in any minute at sea."""
    days = (voyages.minutes - 1) // DAY
    ends: list[Values] = [
        draft - burnt * at
        for draft, burnt in ((voyages.aft, voyages.aft_burnt), (voyages.fore, voyages.fore_burnt))
        for at in (0, days)
    ]
    return float(np.min(ends)) - REPORTED_M / 2, float(np.max(ends)) + REPORTED_M / 2
