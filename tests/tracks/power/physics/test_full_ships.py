from __future__ import annotations

import dataclasses
import math
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from benchmarks import full_ships
from benchmarks.full_ships import towing_tests

from shiftbench.errors import SettingsError
from shiftbench.tracks.power.physics import ship as ships
from shiftbench.tracks.power.physics.calibration import FORMS, FULL, HOLTROP, Resistance
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.recalibration import recalibrated
from shiftbench.tracks.power.physics.ship import read, ship

# Full ships towed in public (see `full_ships` for the sources). Bounds leave room for the estimates of their bulbs,
# waterplanes and sterns: with C_stern 0 both versions come out 3 % lower.
AS_FOUND = {
    ("1982", "published"): {"KVLCC2M": 0.158, "JBC": 0.061},
    ("1984", "published"): {"KVLCC2M": 0.138, "JBC": 0.0275},
    ("1984", "full"): {"KVLCC2M": 0.072, "JBC": -0.034},
}


@pytest.mark.parametrize(("version", "form"), AS_FOUND)
def test_against_towed_full_ships_the_method_deviates_as_documented(version: str, form: str):
    by = Resistance(version, FORMS[form])
    for name, test in towing_tests().items():
        assert test.deviation(by)[0] == pytest.approx(AS_FOUND[version, form][name], abs=0.001), name


@pytest.mark.parametrize(("name", "ratio"), [("KVLCC2M", 1.200), ("JBC", 1.358)])
def test_the_models_are_those_of_the_workshops(name: str, ratio: float):
    test = towing_tests()[name]
    speed, hull = test.speed_m_s[0], test.ship.hull
    length = hull.length_between_perpendiculars_m / test.scale
    assert speed / math.sqrt(9.81 * length) == pytest.approx(0.142, abs=5e-4)
    assert hull.block_coefficient * hull.length_waterline_m / hull.length_between_perpendiculars_m == pytest.approx(
        {"KVLCC2M": 0.8098, "JBC": 0.8580}[name], abs=5e-5
    )
    area = {"KVLCC2M": 6.58919, "JBC": 12.2206}[name]
    total = test.resistance_N[0] / (0.5 * test.water.density * speed**2 * area)
    plate = 0.075 / (math.log10(speed * length / test.water.viscosity) - 2) ** 2
    assert total / plate == pytest.approx(ratio, abs=0.002)
    regression = Loading.of(test.ship, [hull.draft_m], [hull.draft_m]).wetted_area_m2[0]
    assert regression / test.scale**2 == pytest.approx(area, rel=0.015)  # so little of a deviation is the area's


def test_full_is_what_the_fit_to_these_two_gives():
    found = recalibrated(list(towing_tests().values()), constants=("form_1984_factor",))
    assert found.form_1984_factor == pytest.approx(FULL.form_1984_factor, abs=6e-5)
    assert dataclasses.replace(FULL, form_1984_factor=HOLTROP.form_1984_factor) == HOLTROP


def test_the_fit_is_shown_again_by_one_command(capsys: pytest.CaptureFixture[str]):
    full_ships.main()
    told = capsys.readouterr().out
    assert f"form_1984_factor = {FULL.form_1984_factor:.4f}" in told
    assert "KVLCC2M: +13.8% by the published constants, +7.2% by the fit" in told


@pytest.mark.parametrize(("left_out", "deviates"), [("KVLCC2M", 0.117), ("JBC", -0.055)])
def test_a_ship_that_is_left_out_gains_little(left_out: str, deviates: float):
    tests = towing_tests()
    rest = [test for name, test in tests.items() if name != left_out]
    found = recalibrated(rest, constants=("form_1984_factor",))
    assert tests[left_out].deviation(Resistance("1984", found))[0] == pytest.approx(deviates, abs=0.001)


def test_a_file_chooses_the_form_and_may_change_it_further(tmp_path: Path):
    plain = tomllib.loads(resources.files(ships.__package__).joinpath("ships", "tanker.toml").read_text("utf-8"))

    def made(table: dict[str, Any]) -> Resistance:
        (tmp_path / "mine.toml").write_text(tomli_w.dumps(plain | {"resistance": table}), "utf-8")
        return read(tmp_path / "mine.toml").resistance

    assert made({"form": "full"}) == Resistance("1984", FULL)
    assert made({"form": "published", "version": "1982"}) == Resistance("1982", HOLTROP)
    changed = made({"form": "full", "calibration": {"c1_factor": 2e6}})
    assert changed == Resistance("1984", dataclasses.replace(FULL, c1_factor=2e6))
    assert ship("tanker").resistance == Resistance("1984", HOLTROP)  # only where a file asks for it
    with pytest.raises(SettingsError, match=r'"full" was fitted to version "1984", found "1982"'):
        made({"form": "full", "version": "1982"})
    with pytest.raises(SettingsError, match=r"resistance.form: expected published or full as text, found 'fuller'"):
        made({"form": "fuller"})
