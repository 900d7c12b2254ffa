"""Fouling: roughness, drag, blades and wake, each against numbers that can be checked by hand or were published."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.tracks.power.physics import fouling, operating_point
from shiftbench.tracks.power.physics.fouling import YEAR_S, Growth
from shiftbench.tracks.power.physics.ship import Propeller, ship
from tests.tracks.power.physics.series import characteristics

FIVE_YEARS = np.array([0.0, 1, 2, 3, 4, 5]) * YEAR_S
CONTAINER = ship("container").propeller


def test_roughness_grows_from_new_paint_to_heavy_slime_in_five_years() -> None:
    grown = Growth().hull_m(FIVE_YEARS)
    assert grown[[0, -1]] == pytest.approx([150e-6, 600e-6])
    assert Growth().blade_m(CONTAINER, FIVE_YEARS)[[0, -1]] == pytest.approx([30e-6, 300e-6])


def test_townsins_formula_by_hand() -> None:
    """k = 150 µm, L = 150 m, Re = 1e9: cube roots 0.01 and 1e-3, so the bracket is 0 and 0.000125 is left."""
    found = fouling.friction_increase(np.array([150e-6, 8 * 150e-6]), np.full(2, 150.0), np.full(2, 1e9))
    assert found == pytest.approx([0.000125, 0.044 * 0.01 + 0.000125])


@given(years=st.floats(0, 20), later=st.floats(0.01, 5), reynolds=st.floats(1e5, 5e9))
def test_the_hull_only_gets_rougher(years: float, later: float, reynolds: float) -> None:
    times = np.array([years, years + later]) * YEAR_S
    change = fouling.hull_change(Growth(), times, np.full(2, 283.0), np.full(2, reynolds))
    assert change[1] >= change[0] >= 0


def test_out_of_dock_nothing_changes() -> None:
    start = np.zeros(1)
    assert fouling.hull_change(Growth(), start, np.array([283.0]), np.array([2e9])) == pytest.approx(0)
    assert fouling.propeller_change(Growth(), CONTAINER, start) == (0, 0)


def test_rough_blades_push_less_and_take_more_torque_every_year() -> None:
    dkt, dkq = fouling.propeller_change(Growth(), CONTAINER, FIVE_YEARS)
    assert (np.diff(dkt) < 0).all()
    assert (np.diff(dkq) > 0).all()
    assert dkt[1:] / dkq[1:] == pytest.approx([-1.2 * CONTAINER.pitch_ratio] * 5)


def test_small_calcareous_fouling_costs_the_efficiency_that_seo_computed() -> None:
    """Seo, Atlar & Goo (2016): a 7 m propeller of a medium-size tanker with k = 1 mm loses up to 15 % at J = 0.5."""
    tanker = Propeller(diameter_m=7, blades=4, pitch_ratio=0.7, area_ratio=0.6, shaft_height_m=4)
    millimetre = Growth(propeller_m_per_year=1e-3 - tanker.roughness_m)
    dkt, dkq = fouling.propeller_change(millimetre, tanker, np.array([YEAR_S]))
    kt, kq = characteristics(tanker, np.array([0.5]), 3e7)
    loss = 1 - (kt + dkt) / kt * kq / (kq + dkq)
    assert loss[0] == pytest.approx(0.15, abs=0.03)


def test_blades_alone_cost_a_few_percent_in_five_years() -> None:
    roughening = fouling.propeller_change(Growth(), CONTAINER, FIVE_YEARS)
    point = operating_point.solve(CONTAINER, np.full(6, 2e6), np.full(6, 8.0), roughening=roughening)
    assert (np.diff(point.power_W) > 0).all()
    assert 1.02 < point.power_W[-1] / point.power_W[0] < 1.10


def test_the_wake_thickens_with_the_friction_and_stays_where_it_has_no_viscous_part() -> None:
    clean, deduction = np.array([0.30, 0.30, 0.15]), np.array([0.16, 0.16, 0.16])
    found = fouling.wake_fraction(clean, deduction, np.array([0.0, 0.2, 0.2]))
    assert found == pytest.approx([0.30, 0.30 + 0.2 * 0.10, 0.15])
