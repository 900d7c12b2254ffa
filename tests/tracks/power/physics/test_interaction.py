from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from shiftbench.errors import UnknownNameError
from shiftbench.tracks.power.physics import interaction
from shiftbench.tracks.power.physics.calm_water import resistance
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.interaction import relative_rotative_efficiency, thrust_deduction, wake_fraction
from shiftbench.tracks.power.physics.ship import SHIPS, Hull, Ship, ship
from tests.tracks.power.physics.test_calm_water import KNOT, SHIP_1982, example_1982, rows_of_table_20


def viscous(made: Ship, loading: Loading, speed: np.ndarray) -> np.ndarray:
    return resistance(made, loading, speed).viscous_coefficient


def test_the_worked_example_of_1982_is_reproduced():
    loading, calm = Loading.of(SHIP_1982, [10.0], [10.0]), example_1982()
    deduction = thrust_deduction(SHIP_1982, loading, version="1982")
    wake = wake_fraction(SHIP_1982, loading, calm.viscous_coefficient, version="1982")
    assert wake[0] == pytest.approx(0.2584, rel=0.01)
    assert deduction[0] == pytest.approx(0.1747, rel=0.01)
    assert calm.total_N[0] / (1 - deduction[0]) / 1000 == pytest.approx(2172.75, rel=0.01)
    assert relative_rotative_efficiency(SHIP_1982, loading)[0] == pytest.approx(0.9931, abs=0.0001)


@pytest.mark.parametrize("name", SHIPS)
def test_the_fast_arrays_equal_the_formulas_written_out_for_one_record(name: str, rng: np.random.Generator):
    made = ship(name)
    aft, fore, speed = rows_of_table_20(rng, 60)
    loading = Loading.of(made, aft, fore)
    coefficient = viscous(made, loading, speed)
    for version, twin in (("1982", in_1982), ("1984", in_1984), ("full", for_full_ships)):
        wake = wake_fraction(made, loading, coefficient, version=version)
        deduction = thrust_deduction(made, loading, version=version)
        for i in range(len(speed)):
            assert (wake[i], deduction[i]) == pytest.approx(twin(made, loading, i, coefficient[i]), rel=1e-12)
    efficiency = 0.9922 - 0.05908 * made.propeller.area_ratio
    efficiency = efficiency + 0.07424 * (loading.prismatic_coefficient - 0.0225 * loading.lcb_percent)
    np.testing.assert_allclose(relative_rotative_efficiency(made, loading), efficiency, rtol=1e-12)


def common(made: Ship, loading: Loading, i: int) -> tuple[float, float, float]:
    """c9, c11 and C_P1, with the branches as the papers print them."""
    beam, diameter, aft = made.hull.beam_m, made.propeller.diameter_m, loading.draft_aft_m[i]
    length, wetted = loading.length_waterline_m[i], loading.wetted_area_m2[i]
    if beam / aft < 5:
        c8 = beam * wetted / (length * diameter * aft)
    else:
        c8 = wetted * (7 * beam / aft - 25) / (length * diameter * (beam / aft - 3))
    c9 = c8 if c8 < 28 else 32 - 16 / (c8 - 24)
    c11 = aft / diameter if aft / diameter < 2 else 0.0833333 * (aft / diameter) ** 3 + 1.33333
    return c9, c11, 1.45 * loading.prismatic_coefficient[i] - 0.315 - 0.0225 * loading.lcb_percent[i]


def in_1982(made: Ship, loading: Loading, i: int, cv: float) -> tuple[float, float]:
    hull: Hull = made.hull
    c9, c11, cp1 = common(made, loading, i)
    length, beam, aft = loading.length_waterline_m[i], hull.beam_m, loading.draft_aft_m[i]
    cp, cb, stern = loading.prismatic_coefficient[i], loading.block_coefficient[i], hull.stern_shape
    w = c9 * cv * length / aft * (0.0661875 + 1.21756 * c11 * cv / (1 - cp1))
    w += 0.24558 * (beam / (length * (1 - cp1))) ** 0.5 - 0.09726 / (0.95 - cp) + 0.11434 / (0.95 - cb)
    w += 0.75 * stern * cv + 0.002 * stern
    c10 = beam / length if length / beam > 5.2 else 0.25 - 0.003328402 / (beam / length - 0.134615385)
    t = 0.001979 * length / (beam - beam * cp1) + 1.0585 * c10 - 0.00524
    return w, t - 0.1418 * made.propeller.diameter_m**2 / (beam * loading.draft_m[i]) + 0.0015 * stern


def in_1984(made: Ship, loading: Loading, i: int, cv: float) -> tuple[float, float]:
    hull: Hull = made.hull
    c9, c11, cp1 = common(made, loading, i)
    length, beam, aft = loading.length_waterline_m[i], hull.beam_m, loading.draft_aft_m[i]
    cp, cb, cm = loading.prismatic_coefficient[i], loading.block_coefficient[i], loading.midship_coefficient[i]
    c20 = 1 + 0.015 * hull.stern_shape
    if cp < 0.7:
        c19 = 0.12997 / (0.95 - cb) - 0.11056 / (0.95 - cp)
    else:
        c19 = 0.18567 / (1.3571 - cm) - 0.71276 + 0.38648 * cp
    w = c9 * c20 * cv * length / aft * (0.050776 + 0.93405 * c11 * cv / (1 - cp1))
    w += 0.27915 * c20 * (beam / (length * (1 - cp1))) ** 0.5 + c19 * c20
    t = 0.25014 * (beam / length) ** 0.28956
    t *= ((beam * loading.draft_m[i]) ** 0.5 / made.propeller.diameter_m) ** 0.2624
    return w, t / (1 - cp + 0.0225 * loading.lcb_percent[i]) ** 0.01762 + 0.0015 * hull.stern_shape


def for_full_ships(made: Ship, loading: Loading, i: int, cv: float) -> tuple[float, float]:
    length, cb = loading.length_waterline_m[i], loading.block_coefficient[i]
    width, diameter = made.hull.beam_m / length, made.propeller.diameter_m / length
    m = length / loading.displacement_m3[i] ** (1 / 3)
    w = 0.1 * width + 0.149
    w += (0.05 * width + 0.449) / ((585 - 5027 * width + 11700 * width**2) * (0.98 - cb) ** 3 + 1)
    w += min(0.1, -0.18 + 0.00756 / (diameter + 0.002))
    t = 0.625 * width + 0.08 + 2 * (diameter - 0.04)
    t += (0.165 - 0.25 * width) / ((825 - 8060 * width + 20300 * width**2) * (0.98 - cb) ** 3 + 1)
    return 0.7 * w - 0.45 + 0.08 * m, t - 0.26 + 0.04 * m


def test_a_shallow_wide_ship_and_a_deep_one_with_a_small_propeller_take_the_other_branches():
    """Beam over draft above 5 with c8 above 28, and a draft of more than two diameters."""
    made = dataclasses.replace(SHIP_1982, propeller=dataclasses.replace(SHIP_1982.propeller, diameter_m=5.0))
    loading = Loading.of(made, [6.0, 17.0], [6.0, 17.0])
    assert made.hull.beam_m / loading.draft_aft_m[0] > 5
    assert common(made, loading, 0)[0] > 28
    for twin, version in ((in_1982, "1982"), (in_1984, "1984")):
        found = wake_fraction(made, loading, np.array([0.002, 0.002]), version=version)
        assert found.tolist() == pytest.approx([twin(made, loading, i, 0.002)[0] for i in (0, 1)], rel=1e-12)


def test_a_short_broad_ship_takes_the_other_branch_of_c10():
    made = dataclasses.replace(SHIP_1982, hull=dataclasses.replace(SHIP_1982.hull, beam_m=41.0))
    loading = Loading.of(made, [10.0], [10.0])
    assert loading.length_waterline_m[0] / made.hull.beam_m < 5.2
    assert thrust_deduction(made, loading, version="1982")[0] == pytest.approx(in_1982(made, loading, 0, 0.002)[1])


@pytest.mark.parametrize("name", SHIPS)
def test_all_of_table_20_gives_fractions_that_a_ship_can_have(name: str, rng: np.random.Generator):
    made = ship(name)
    aft, fore, speed = rows_of_table_20(rng, 50_000)
    loading = Loading.of(made, aft, fore)
    wake = wake_fraction(made, loading, viscous(made, loading, speed))
    assert np.all((wake > 0.2) & (wake < 0.5))
    deduction, efficiency = thrust_deduction(made, loading), relative_rotative_efficiency(made, loading)
    assert np.all((deduction > 0.1) & (deduction < 0.3))
    assert np.all((efficiency > 0.97) & (efficiency < 1.04))


def test_the_kind_of_ship_chooses_the_version():
    for name, version in interaction.OF_KIND.items():
        made = ship(name)
        loading = Loading.of(made, [12.0], [12.0])
        coefficient = viscous(made, loading, np.array([15 * KNOT]))
        chosen = wake_fraction(made, loading, coefficient, version=version)
        assert wake_fraction(made, loading, coefficient) == chosen
        assert thrust_deduction(made, loading) == thrust_deduction(made, loading, version=version)
    assert interaction.OF_KIND == {"container": "1984", "tanker": "full"}


def test_a_slower_thicker_boundary_layer_means_more_wake():
    loading = Loading.of(ship(), [12.0, 12.0], [12.0, 12.0])
    wake = wake_fraction(ship(), loading, np.array([0.0018, 0.0020]))
    assert wake[1] > wake[0]


def test_a_larger_propeller_uses_less_of_its_thrust_up():
    made = ship()
    larger = Ship(made.name, made.kind, made.hull, ship("tanker").propeller, made.topsides, made.drive)
    loading = Loading.of(made, [12.0], [12.0])
    small, large = sorted((made, larger), key=lambda each: each.propeller.diameter_m)
    assert thrust_deduction(large, loading) < thrust_deduction(small, loading)


def test_an_unknown_version_is_told():
    loading = Loading.of(ship(), [12.0], [12.0])
    with pytest.raises(UnknownNameError, match="Unknown version of hull-propeller interaction 'ful'"):
        thrust_deduction(ship(), loading, version="ful")
    with pytest.raises(UnknownNameError, match="Unknown version of hull-propeller interaction '1988'"):
        wake_fraction(ship(), loading, np.array([0.002]), version="1988")
