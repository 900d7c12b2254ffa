from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from shiftbench.errors import ArrayError, UnknownNameError
from shiftbench.tracks.power.physics import wave_making
from shiftbench.tracks.power.physics.calibration import VERSIONS, Calibration, Resistance
from shiftbench.tracks.power.physics.calm_water import CalmWater, resistance, validity
from shiftbench.tracks.power.physics.conditions import Conditions
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.powering import NO_POWER, shaft_power
from shiftbench.tracks.power.physics.ship import SHIPS, Hull, Propeller, Ship, ship
from shiftbench.tracks.power.physics.viscous import friction_coefficient

KNOT = 1852 / 3600
PARTS = ("friction_N", "appendages_N", "wave_N", "bulb_N", "transom_N", "correlation_N", "total_N")

HULL_1982 = Hull(
    length_between_perpendiculars_m=200,
    length_waterline_m=205,
    beam_m=32,
    draft_m=10,
    depth_m=18,
    displacement_m3=37_500,
    midship_coefficient=0.98,
    waterplane_coefficient=0.75,
    lcb_percent=-0.75,
    lcf_percent=-2,
    transom_width_m=16,
    transom_height_m=9,
    stern_shape=10,
    appendage_area_m2=50,
    appendage_factor=1.5,
    bow_length_m=50,
    bulb_area_m2=20,
    bulb_centre_m=4,
)
SHIP_1982 = dataclasses.replace(ship(), hull=HULL_1982, propeller=Propeller(8.0, 4, 1.0, 0.7393, 4.2))

# Holtrop 1984, numerical example: twin-screw, drafts 3.3 m aft and 3.1 m fore, lcb 4.5 % aft of the middle as she lies
HULL_1984 = Hull(
    length_between_perpendiculars_m=50,
    length_waterline_m=50,
    beam_m=12,
    draft_m=3.2,
    depth_m=6,
    displacement_m3=900,
    midship_coefficient=0.78,
    waterplane_coefficient=0.80,
    lcb_percent=-4.5,
    lcf_percent=-5,
    transom_width_m=10,
    transom_height_m=2.3,
    stern_shape=0,
    appendage_area_m2=50,
    appendage_factor=3,
    bow_length_m=20,
)


def at(made: Ship, draft_aft: float, draft_fore: float, knots: np.ndarray, version: str = "1984") -> CalmWater:
    drafts = np.ones((2, len(knots))) * [[draft_aft], [draft_fore]]
    return resistance(made, Loading.of(made, *drafts), knots * KNOT, version=version)


def rows_of_table_20(rng: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Drafts aft and fore, speed in m/s: independent and uniform, as in the generalisation set."""
    return rng.uniform(8, 15, number), rng.uniform(8, 15, number), rng.uniform(5, 23, number) * KNOT


def example_1982() -> CalmWater:
    loading = Loading.of(SHIP_1982, [10.0], [10.0])
    return resistance(SHIP_1982, loading, [25 * KNOT], version="1982")


# What the paper prints in kN. Its correlation resistance is 0.6 % above its own formula.
PRINTED_1982 = {
    "friction_N": 869.63,
    "appendages_N": 8.83,
    "wave_N": 557.11,
    "bulb_N": 0.049,
    "transom_N": 0.00,
    "correlation_N": 221.98,
    "total_N": 1793.26,
}


@pytest.mark.parametrize("part", PRINTED_1982)
def test_the_worked_example_of_1982_is_reproduced(part: str):
    assert getattr(example_1982(), part)[0] / 1000 == pytest.approx(PRINTED_1982[part], rel=0.01, abs=0.001)


def test_so_are_its_form_factor_wetted_area_and_angle():
    loading = Loading.of(SHIP_1982, [10.0], [10.0])
    assert example_1982().form_factor[0] == pytest.approx(1.156, abs=0.0005)
    assert loading.wetted_area_m2[0] == pytest.approx(7381.45, abs=0.01)
    assert wave_making.half_entrance_angle(HULL_1982, loading)[0] == pytest.approx(12.08, abs=0.005)
    assert loading.prismatic_coefficient[0] == pytest.approx(0.5833, abs=5e-5)


@pytest.mark.needs_shared
def test_the_facts_of_the_1982_example_agree_with_those_of_this_test(shared: Path):
    result = json.loads((shared / "facts/physics/holtrop_mennen_1982_example.json").read_text("utf-8"))["result"]
    names = {"friction_N": "frictional_resistance_kN", "appendages_N": "appendage_resistance_kN"}
    for part, printed in PRINTED_1982.items():
        assert result[names.get(part, f"{part[:-2]}_resistance_kN")] == printed


def test_the_worked_example_of_1984_is_reproduced_above_froude_0_55():
    made = dataclasses.replace(ship(), hull=HULL_1984)
    loading = dataclasses.replace(Loading.of(made, np.full(6, 3.3), np.full(6, 3.1)), lcb_percent=np.full(6, -4.5))
    calm = resistance(made, loading, np.array([25, 27, 29, 31, 33, 35]) * KNOT)
    assert loading.wetted_area_m2[0] == pytest.approx(584.9, abs=0.05)
    assert calm.form_factor[0] == pytest.approx(1.297, abs=0.0005)
    np.testing.assert_allclose(calm.wave_N / 1000, [475, 512, 539, 564, 590, 618], atol=0.7)
    np.testing.assert_allclose(calm.appendages_N / 1000, [21, 24, 28, 31, 35, 39], atol=0.7)
    np.testing.assert_allclose(calm.transom_N / 1000, [25, 16, 2, 0, 0, 0], atol=0.7)
    np.testing.assert_allclose(calm.total_N / 1000, [662, 715, 756, 807, 864, 925], rtol=0.01)


# The constants as the papers print them, transcribed a second time.
PRINTED = {
    "form_1982_constant": 0.93, "form_1982_stern": 0.003, "form_1982_draft": 0.2228446,
    "form_1982_shallow_factor": 48.20, "form_1982_shallow_exponent": 2.078, "form_1982_shallow_constant": 0.479948,
    "form_1982_beam": 0.92497, "form_1982_prismatic": -0.521448, "form_1982_afterbody": 0.6906,
    "form_1984_constant": 0.93, "form_1984_factor": 0.487118, "form_1984_stern": 0.011, "form_1984_beam": 1.06806,
    "form_1984_draft": 0.46106, "form_1984_run": 0.121563, "form_1984_slenderness": 0.36486,
    "form_1984_prismatic": -0.604247,
    "c1_factor": 2223105, "c1_width": 3.78613, "c1_draft": 1.07961, "c1_angle": -1.37565,
    "angle_slenderness": 0.80856, "angle_waterplane": 0.30484, "angle_forebody": 0.6367, "angle_run": 0.34574,
    "angle_fullness": 0.16302,
    "wave_exponent": -0.9, "m1_slimness": 0.0140407, "m1_displacement": 1.75254, "m1_width": 4.79323,
    "c15_constant": -1.69385, "c16_linear": 8.07981, "c16_square": 13.8673, "c16_cube": 6.984388,
    "c16_full_constant": 1.73014, "c16_full_slope": 0.7067,
    "m2_decay": 0.1, "m4_factor": 0.4, "m4_decay": 0.034, "m4_exponent": -3.29,
    "lambda_prismatic": 1.446, "lambda_slenderness": 0.03,
    "c2_factor": 1.89, "c3_factor": 0.56, "c5_factor": 0.8,
    "bulb_factor": 0.11, "bulb_decay": 3.0, "c6_constant": 0.2, "c6_slope": 0.2,
    "ca_factor": 0.006, "ca_length": -0.16, "ca_constant": 0.00205, "ca_fullness": 0.003,
}  # fmt: skip


def calibrated(made: Ship, **constants: float) -> Ship:
    return dataclasses.replace(made, resistance=Resistance(calibration=Calibration(**constants)))


def test_the_defaults_are_the_constants_of_the_papers():
    assert dataclasses.asdict(Calibration()) == PRINTED


@pytest.mark.parametrize("other", [False, True], ids=["the papers' constants", "others"])
@pytest.mark.parametrize("name", SHIPS)
def test_the_fast_arrays_equal_the_formulas_written_out_for_one_record(
    name: str, other: bool, rng: np.random.Generator
):
    aft, fore, speed = rows_of_table_20(rng, 40)
    by = {key: value * rng.uniform(0.9, 1.1) for key, value in PRINTED.items()} if other else PRINTED
    made = calibrated(ship(name), **by)
    loading = Loading.of(made, aft, fore)
    for version in VERSIONS:
        calm = resistance(made, loading, speed, version=version)
        for i in range(len(speed)):
            slow = written_out(made.hull, loading, i, float(speed[i]), version, by)
            viscous = calm.friction_N[i] * calm.form_factor[i]
            found = (viscous, calm.wave_N[i], calm.bulb_N[i], calm.transom_N[i], calm.correlation_N[i])
            assert found == pytest.approx(slow, rel=1e-9, abs=1e-6)


def written_out(
    hull: Hull, loading: Loading, i: int, v: float, version: str, by: dict[str, float]
) -> tuple[float, float, float, float, float]:
    """Slow twin of viscous, wave, bulb, transom and correlation resistance, in N, with the papers' branches."""
    g, rho, nu = 9.81, 1025.0, 1.1883e-6
    length, beam, draft = loading.length_waterline_m[i], hull.beam_m, loading.draft_m[i]
    volume, cm, cp = loading.displacement_m3[i], loading.midship_coefficient[i], loading.prismatic_coefficient[i]
    lcb, abt, hb, tf = (
        loading.lcb_percent[i],
        loading.bulb_area_m2[i],
        loading.bulb_centre_m[i],
        loading.draft_fore_m[i],
    )
    cwp, at, s = loading.waterplane_coefficient[i], loading.transom_area_m2[i], loading.wetted_area_m2[i]
    cf = 0.075 / (math.log10(v * length / nu) - 2) ** 2
    lr = length * (1 - cp + 0.06 * cp * lcb / (4 * cp - 1))
    if version == "1982":
        if draft / length > 0.05:
            c12 = (draft / length) ** by["form_1982_draft"]
        elif draft / length > 0.02:
            c12 = (draft / length - 0.02) ** by["form_1982_shallow_exponent"]
            c12 = by["form_1982_shallow_factor"] * c12 + by["form_1982_shallow_constant"]
        else:
            c12 = by["form_1982_shallow_constant"]
        k = (0.95 - cp) ** by["form_1982_prismatic"] * (1 - cp + 0.0225 * lcb) ** by["form_1982_afterbody"]
        k = by["form_1982_constant"] + c12 * (beam / lr) ** by["form_1982_beam"] * k
        k *= 1 + by["form_1982_stern"] * hull.stern_shape
    else:
        k = (beam / length) ** by["form_1984_beam"] * (draft / length) ** by["form_1984_draft"]
        k *= (length / lr) ** by["form_1984_run"] * (length**3 / volume) ** by["form_1984_slenderness"]
        k *= (1 - cp) ** by["form_1984_prismatic"]
        k = by["form_1984_constant"] + by["form_1984_factor"] * (1 + by["form_1984_stern"] * hull.stern_shape) * k
    entrance = (length / beam) ** by["angle_slenderness"] * (1 - cwp) ** by["angle_waterplane"]
    entrance *= (1 - cp - 0.0225 * lcb) ** by["angle_forebody"] * (lr / beam) ** by["angle_run"]
    entrance *= (100 * volume / length**3) ** by["angle_fullness"]
    angle = 1 + 89 * math.exp(-entrance)
    c7 = beam / length
    if c7 < 0.11:
        c7 = 0.229577 * c7**0.33333
    elif c7 > 0.25:
        c7 = 0.5 - 0.0625 * length / beam
    c1 = by["c1_factor"] * c7 ** by["c1_width"] * (draft / beam) ** by["c1_draft"] * (90 - angle) ** by["c1_angle"]
    c3 = by["c3_factor"] * abt**1.5 / (beam * draft * (0.31 * math.sqrt(abt) + tf - hb))
    c2 = math.exp(-by["c2_factor"] * math.sqrt(c3))
    c5 = 1 - by["c5_factor"] * at / (beam * draft * cm)
    assert length**3 / volume < 512  # both ships are that full at all drafts of Table 20
    c15 = by["c15_constant"]
    if cp < 0.8:
        c16 = by["c16_linear"] * cp - by["c16_square"] * cp**2 + by["c16_cube"] * cp**3
    else:
        c16 = by["c16_full_constant"] - by["c16_full_slope"] * cp
    m1 = by["m1_slimness"] * length / draft - by["m1_displacement"] * volume ** (1 / 3) / length
    m1 -= by["m1_width"] * beam / length + c16
    fn = v / math.sqrt(g * length)
    m = c15 * cp**2 * math.exp(-by["m2_decay"] * fn**-2)
    if version == "1984":
        m = c15 * by["m4_factor"] * math.exp(-by["m4_decay"] * fn ** by["m4_exponent"])
    assert length / beam < 12
    lam = by["lambda_prismatic"] * cp - by["lambda_slenderness"] * length / beam
    wave = math.exp(m1 * fn ** by["wave_exponent"] + m * math.cos(lam * fn**-2))
    wave *= c1 * c2 * c5 * volume * rho * g
    pb = 0.56 * math.sqrt(abt) / (tf - 1.5 * hb)
    fni = v / math.sqrt(g * (tf - hb - 0.25 * math.sqrt(abt)) + 0.15 * v**2)
    bulb = by["bulb_factor"] * math.exp(-by["bulb_decay"] * pb**-2) * fni**3 * abt**1.5 * rho * g / (1 + fni**2)
    transom = 0.0
    if at > 0 and (fnt := v / math.sqrt(2 * g * at / (beam + beam * cwp))) < 1 / by["c6_slope"]:
        transom = 0.5 * rho * v**2 * at * by["c6_constant"] * (1 - by["c6_slope"] * fnt)
    block = loading.block_coefficient[i]
    ca = by["ca_fullness"] * math.sqrt(length / 7.5) * block**4 * c2 * (0.04 - min(tf / length, 0.04))
    ca += by["ca_factor"] * (length + 100) ** by["ca_length"] - by["ca_constant"]
    pressure = 0.5 * rho * v**2 * s
    return pressure * cf * k, wave, bulb, transom, pressure * ca


@pytest.mark.parametrize("name", SHIPS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_calibration_equal_to_the_papers_changes_no_digit(name: str, version: str, rng: np.random.Generator):
    aft, fore, speed = rows_of_table_20(rng, 500)
    same = calibrated(ship(name), **PRINTED)
    loading = Loading.of(same, aft, fore)
    plain, spelt = (resistance(each, loading, speed, version=version) for each in (ship(name), same))
    for field in dataclasses.fields(CalmWater):
        np.testing.assert_array_equal(getattr(spelt, field.name), getattr(plain, field.name))


# What a constant may change beside the total, by the beginning of its name.
CHANGES = {
    "form": {"form_factor", "viscous_coefficient"},
    "ca": {"correlation_N", "viscous_coefficient"},
    "c2": {"wave_N", "correlation_N", "viscous_coefficient"},
    "c3": {"wave_N", "correlation_N", "viscous_coefficient"},
    "bulb": {"bulb_N"},
    "c6": {"transom_N"},
}


@pytest.mark.parametrize("constant", PRINTED)
def test_a_changed_constant_changes_only_its_component(constant: str, rng: np.random.Generator):
    aft, fore, speed = rng.uniform(13, 18, 300), rng.uniform(7, 16, 300), rng.uniform(2, 11, 300)
    changed: set[str] = set()
    for made in (ship("container"), ship("tanker"), SHIP_1982):
        drafts = (aft, fore) if made is not SHIP_1982 else (aft * 0.7, fore * 0.7)
        loading, other = Loading.of(made, *drafts), calibrated(made, **{constant: 1.01 * PRINTED[constant]})
        for version in VERSIONS:
            before, after = (resistance(each, loading, speed, version=version) for each in (made, other))
            differ = {
                field.name
                for field in dataclasses.fields(CalmWater)
                if (getattr(before, field.name) != getattr(after, field.name)).any()
            }
            if constant.startswith("form") and version not in constant:
                assert not differ
            changed |= differ
    assert changed == CHANGES.get(constant.split("_")[0], {"wave_N"}) | {"total_N"}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_version_of_the_ship_is_taken_unless_another_is_asked_for(version: str):
    made = dataclasses.replace(ship(), resistance=Resistance(version=version))
    loading = Loading.of(made, [12.0], [12.0])
    by_name = resistance(ship(), loading, [9.0], version=version)
    assert resistance(made, loading, [9.0]).total_N == by_name.total_N
    assert (resistance(ship(), loading, [9.0]).total_N == by_name.total_N) == (version == "1984")
    asked, plain = (resistance(each, loading, [9.0], version="1982") for each in (made, ship()))
    assert asked.total_N == plain.total_N


@pytest.mark.filterwarnings("error")
def test_constants_that_give_no_number_give_a_code():
    made = calibrated(ship(), m1_slimness=0.140407, m1_width=0.0, m1_displacement=0.0, wave_exponent=-9.0)
    ones = np.ones(1)
    given = Conditions(
        draft_aft_m=12.3 * ones, draft_fore_m=12.3 * ones, speed_through_water_m_s=5 * ones,
        speed_over_ground_m_s=5 * ones, acceleration_m_s2=0 * ones, wind_speed_m_s=0 * ones, wind_angle_rad=0 * ones,
        wave_height_m=0 * ones, wave_period_s=8 * ones, wave_angle_rad=0 * ones, since_dry_dock_s=0 * ones,
    )  # fmt: skip
    found = shaft_power(made, given)
    assert (found.problem.tolist(), np.isnan(found.power_kw).tolist()) == ([NO_POWER], [True])


def test_the_parts_add_up_to_the_total(rng: np.random.Generator):
    aft, fore, speed = rows_of_table_20(rng, 1000)
    calm = resistance(ship(), Loading.of(ship(), aft, fore), speed)
    parts = calm.appendages_N + calm.wave_N + calm.bulb_N + calm.transom_N + calm.correlation_N
    np.testing.assert_allclose(calm.total_N, calm.friction_N * calm.form_factor + parts, rtol=1e-12)
    for part in PARTS:
        assert np.all(getattr(calm, part) >= 0), part


@pytest.mark.parametrize("draft_fore", [9.0, 14.0])
def test_the_allowance_is_that_of_the_formula_on_both_sides_of_its_limit(draft_fore: float):
    loading = Loading.of(ship(), [14.0], [draft_fore])
    length, block, area = loading.length_waterline_m[0], loading.block_coefficient[0], loading.bulb_area_m2[0]
    above = 0.31 * math.sqrt(area) + draft_fore - loading.bulb_centre_m[0]
    c2 = math.exp(-1.89 * math.sqrt(0.56 * area**1.5 / (ship().hull.beam_m * loading.draft_m[0] * above)))
    c4 = draft_fore / length if draft_fore / length <= 0.04 else 0.04
    allowance = (
        0.006 * (length + 100) ** -0.16 - 0.00205 + 0.003 * math.sqrt(length / 7.5) * block**4 * c2 * (0.04 - c4)
    )
    expected = 0.5 * 1025 * 81 * loading.wetted_area_m2[0] * allowance
    assert resistance(ship(), loading, [9.0]).correlation_N[0] == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("reynolds", [1e5, 1e7, 1e9, 3e9])
def test_friction_follows_the_line_of_ittc_1957(reynolds: float):
    expected = 0.075 / (math.log10(reynolds) - 2) ** 2
    assert friction_coefficient(np.array([reynolds]))[0] == pytest.approx(expected, rel=1e-13)


def test_the_line_at_a_round_reynolds_number():
    assert friction_coefficient(np.array([1e9]))[0] == pytest.approx(1.531e-3, abs=5e-7)


@pytest.mark.parametrize("name", SHIPS)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("drafts", [(12.3, 12.3), (8, 8), (15, 15), (8, 15), (15, 8)])
def test_resistance_grows_with_speed(name: str, version: str, drafts: tuple[float, float]):
    total = at(ship(name), *drafts, np.linspace(0, 23, 400), version).total_N
    assert np.all(np.diff(total) > 0)


def test_resistance_grows_with_draft_but_for_a_bulb_that_emerges():
    loading = Loading.of(ship(), np.linspace(8, 15, 50), np.linspace(8, 15, 50))
    for knots in (8, 18, 23):
        calm = resistance(ship(), loading, np.full(50, knots * KNOT))
        assert np.all(np.diff(calm.total_N - calm.bulb_N) > 0)
        assert np.all(np.diff(calm.bulb_N) < 0)


def test_friction_and_correlation_grow_in_proportion_to_the_wetted_area():
    loading = Loading.of(ship(), [12.0], [12.0])
    wetter = dataclasses.replace(loading, wetted_area_m2=1.1 * loading.wetted_area_m2)
    calm, more = (resistance(ship(), each, [9.0]) for each in (loading, wetter))
    for part in ("friction_N", "correlation_N"):
        np.testing.assert_allclose(getattr(more, part), 1.1 * getattr(calm, part))
    assert more.total_N > calm.total_N


def test_power_follows_the_cubic_law_at_low_froude_numbers_and_more_above():
    knots = np.array([5.0, 8.0, 11.0, 20.0, 23.0])
    slower, faster = (at(ship(), 12.3, 12.3, knots * step).total_N * knots * step for step in (0.999, 1.001))
    exponent = np.log(faster / slower) / np.log(1.001 / 0.999)
    assert np.all((exponent[:3] > 2.8) & (exponent[:3] < 3.0))  # under 3: the friction line falls
    assert np.all(exponent[3:] > 3.3)


@pytest.mark.parametrize("name", SHIPS)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_ship_that_lies_still_has_no_resistance(name: str, version: str):
    calm = at(ship(name), 15, 9, np.array([0.0]), version)
    assert {part: getattr(calm, part)[0] for part in PARTS} == dict.fromkeys(PARTS, 0.0)
    assert np.isfinite(calm.viscous_coefficient[0])


@pytest.mark.parametrize("name", SHIPS)
def test_all_of_table_20_gives_numbers(name: str, rng: np.random.Generator):
    aft, fore, speed = rows_of_table_20(rng, 50_000)
    corners = np.array(np.meshgrid([8, 15], [8, 15], [5 * KNOT, 23 * KNOT])).reshape(3, -1)
    loading = Loading.of(ship(name), np.append(aft, corners[0]), np.append(fore, corners[1]))
    calm = resistance(ship(name), loading, np.append(speed, corners[2]))
    for field in dataclasses.fields(CalmWater):
        values = getattr(calm, field.name)
        assert np.all(np.isfinite(values)), field.name
        assert np.all(values >= 0), field.name


def test_beyond_all_ranges_there_are_still_numbers():
    made = ship("tanker")
    loading = Loading.of(made, [23.0, 6.0, 23.0], [6.0, 23.0, 23.0])
    calm = resistance(made, loading, [15.0, 15.0, 40.0])
    assert np.all(np.isfinite(calm.total_N))
    assert np.all(calm.total_N > 0)


def test_waves_grow_without_a_step_through_the_joints_of_1984():
    made = dataclasses.replace(ship(), hull=HULL_1984)
    froude = np.linspace(0.35, 0.6, 2001)
    loading = Loading.of(made, np.full(2001, 3.2), np.full(2001, 3.2))
    wave = resistance(made, loading, froude * np.sqrt(9.81 * 50)).wave_N
    assert np.max(np.abs(np.diff(wave))) < 0.005 * wave.max()
    low, high = np.searchsorted(froude, [0.4, 0.55])
    between = wave[low : high + 1]
    straight = np.linspace(between[0], between[-1], len(between))
    np.testing.assert_allclose(between, straight, rtol=0.005)


def test_the_container_ship_needs_at_service_speed_what_ships_of_her_size_do():
    effective_kw = at(ship(), 12.3, 12.3, np.array([18.3])).total_N[0] * 18.3 * KNOT / 1000
    assert 18_000 < effective_kw / 0.70 < 19_000  # 0.70: a usual total efficiency


def test_within_the_ranges_there_is_nothing_to_say():
    assert validity(ship(), Loading.of(ship(), [12.3], [12.0]), [9.0]) == ()
    assert validity(ship("tanker"), Loading.of(ship("tanker"), [16.0], [16.0]), [7.5]) == ()


def test_what_leaves_the_ranges_is_named_with_number_and_first():
    loading = Loading.of(ship(), [12.3, 9.0, 8.5], [12.3, 9.0, 8.5])
    told = validity(ship(), loading, [18.3 * KNOT, 15.0, 25.0])
    assert len(told) == 2
    assert "Froude number: the Holtrop-Mennen method rests on container ships from 0 to 0.45, found 0.46" in told[0]
    assert "at index 2 (1 of 3 records)" in told[0]
    assert "Are speeds in m/s?" in told[0]
    assert "beam over draft" in told[1]
    assert "found 4.756 at index 1 (2 of 3 records)" in told[1]


def test_bad_speeds_are_told():
    loading = Loading.of(ship(), [12.0, 12.0], [12.0, 12.0])
    with pytest.raises(
        ArrayError, match=r"speed_m_s: expected values >= 0, found -1 \(1 of 2, first at index 1\). Drop these"
    ):
        resistance(ship(), loading, [9.0, -1.0])
    with pytest.raises(ArrayError, match="speed_m_s: expected finite numbers, found NaN"):
        resistance(ship(), loading, [9.0, np.nan])
    with pytest.raises(ArrayError, match="speed_m_s: expected 2 records like the others, found 3"):
        resistance(ship(), loading, [9.0, 9.0, 9.0])


def test_an_unknown_version_is_told():
    loading = Loading.of(ship(), [12.0], [12.0])
    with pytest.raises(UnknownNameError, match="Unknown version of the Holtrop-Mennen method '1983'"):
        resistance(ship(), loading, [9.0], version="1983")
