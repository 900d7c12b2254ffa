from __future__ import annotations

import dataclasses
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import tomli_w

from shiftbench.errors import SettingsError, UnknownNameError
from shiftbench.tracks.power.physics import ship as ships
from shiftbench.tracks.power.physics.calibration import HOLTROP, Resistance
from shiftbench.tracks.power.physics.ship import SHIPS, read, ship


def plain(name: str = "container") -> dict[str, Any]:
    file = resources.files(ships.__package__).joinpath("ships", f"{name}.toml")
    return tomllib.loads(file.read_text("utf-8"))


def written(path: Path, values: dict[str, Any]) -> Path:
    path.write_text(tomli_w.dumps(values), "utf-8")
    return path


def problems(path: Path, values: dict[str, Any]) -> str:
    with pytest.raises(SettingsError, match=r"expected|Unknown") as caught:
        read(written(path, values))
    return str(caught.value)


def test_every_ship_that_is_named_comes_with_the_package():
    assert {ship(name).name for name in SHIPS} == set(SHIPS)


def test_the_default_is_a_container_ship_of_about_40_mw():
    assert (ship().kind, ship()) == ("container", ship("container"))
    assert 38_000 < ship().drive.mcr_kw < 42_000
    assert 0.6 < ship().hull.block_coefficient < 0.7


def test_the_tanker_is_full_and_has_about_15_mw():
    assert ship("tanker").kind == "tanker"
    assert ship("tanker").hull.block_coefficient > 0.8
    assert 14_000 < ship("tanker").drive.mcr_kw < 17_000


def test_an_unknown_name_names_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'tanker'"):
        ship("tankr")


def test_a_ship_of_ones_own_is_read_from_its_file(tmp_path: Path):
    values = plain() | {"name": "my ship"}
    values["hull"]["beam_m"] = 41
    read_back = read(written(tmp_path / "mine.toml", values))
    assert (read_back.name, read_back.hull.beam_m, read_back.drive) == ("my ship", 41, ship().drive)


def test_defaults_may_be_left_out(tmp_path: Path):
    values = plain()
    del values["drive"]["shaft_efficiency"], values["hull"]["bulb_area_m2"]
    made = read(written(tmp_path / "plain.toml", values))
    assert (made.drive.shaft_efficiency, made.hull.bulb_area_m2) == (0.99, 0.0)


def test_a_recalibration_is_read_with_the_rest_as_in_the_papers(tmp_path: Path):
    assert ship().resistance == ship("tanker").resistance == Resistance("1984", HOLTROP)
    values = plain("tanker")
    table = {"version": "1982", "calibration": {"form_1982_constant": 0.9, "bulb_decay": 2}}
    made = read(written(tmp_path / "mine.toml", values | {"resistance": table})).resistance
    assert made == Resistance("1982", dataclasses.replace(HOLTROP, form_1982_constant=0.9, bulb_decay=2))
    spelt = {"resistance": {"calibration": dataclasses.asdict(HOLTROP)}}
    assert read(written(tmp_path / "spelt.toml", values | spelt)) == ship("tanker")
    assert read(written(tmp_path / "empty.toml", values | {"resistance": {}})) == ship("tanker")


def test_all_problems_of_a_recalibration_are_told_at_once(tmp_path: Path):
    values = plain() | {
        "resistance": {
            "version": 1984, "form": ["full"], "shape": "full",
            "calibration": {"c1_faktor": 1.0, "c1_angle": 1.4, "ca_factor": "0.006", "form_1984_beam": 11.0},
        }
    }  # fmt: skip
    told = problems(tmp_path / "bad.toml", values)
    for expected in (
        "Unknown entry in [resistance] 'shape'",
        "resistance.form: expected published or full as text, found ['full']",
        "resistance.version: expected 1982 or 1984 as text, found 1984",
        "Unknown entry in [resistance.calibration] 'c1_faktor'. Did you mean 'c1_factor'?",
        "resistance.calibration.c1_angle: expected a number from -13.7565 to 0, found 1.4. Is its sign right?",
        "resistance.calibration.ca_factor: expected a number from 0 to 0.06, found '0.006'",
        "resistance.calibration.form_1984_beam: expected a number from 0 to 10.6806, found 11.0",
    ):
        assert expected in told, told
    assert "resistance: expected a table [resistance], found 'full'" in problems(
        tmp_path / "word.toml", plain() | {"resistance": "full"}
    )
    told = problems(tmp_path / "number.toml", plain() | {"resistance": {"calibration": 3}})
    assert "resistance.calibration: expected a table [resistance.calibration], found 3" in told


def test_all_problems_of_a_file_are_told_at_once(tmp_path: Path):
    values = plain() | {"kind": "ferry", "colour": "red"}
    values["hull"]["beem_m"] = values["hull"].pop("beam_m")
    values["hull"]["draft_m"] = "deep"
    values["hull"]["displacement_m3"] = 119.5  # thousands of m³
    values["propeller"]["blades"] = 4.5
    values["drive"] = 40_040
    del values["topsides"]["bridge_height_m"]
    told = problems(tmp_path / "bad.toml", values)
    for expected in (
        "Unknown entry 'colour'",
        "kind: expected container or tanker, found 'ferry'",
        "Unknown entry in [hull] 'beem_m'. Did you mean 'beam_m'?",
        "hull.beam_m: expected a number from 5 to 80, found none",
        "hull.draft_m: expected a number from 1.5 to 30, found 'deep'",
        "hull.displacement_m3: expected a number from 500 to 700000, found 119.5. Is its unit right?",
        "propeller.blades: expected a whole number from 2 to 7, found 4.5",
        "drive: expected a table [drive], found 40040",
        "topsides.bridge_height_m: expected a number from 5 to 90, found none",
    ):
        assert expected in told, told
    assert all("bad.toml" in line for line in told.splitlines())


@pytest.mark.parametrize("value", [True, float("nan"), float("inf"), [42.8]])
def test_what_is_no_finite_number_is_refused(tmp_path: Path, value: object):
    values = plain()
    values["hull"]["beam_m"] = value
    assert "hull.beam_m: expected a number from 5 to 80" in problems(tmp_path / "odd.toml", values)


@pytest.mark.parametrize(
    ("part", "entry", "value", "told"),
    [
        ("hull", "draft_m", 25.0, "hull.draft_m < hull.depth_m"),
        ("hull", "displacement_m3", 190_000.0, "a prismatic coefficient"),
        ("hull", "waterplane_coefficient", 0.6, "hull.waterplane_coefficient above"),
        ("hull", "bulb_centre_m", 9.0, "hull.bulb_centre_m > 0 and at most 0.6"),
        ("hull", "bulb_centre_m", 0.0, "hull.bulb_centre_m > 0 and at most 0.6"),
        ("hull", "transom_width_m", 50.0, "hull.transom_width_m <= hull.beam_m"),
        ("propeller", "area_ratio", 0.4, "propeller.area_ratio from 0.45 to 1.05, as the B-series was tested with 5"),
        ("propeller", "shaft_height_m", 3.0, "at least half its diameter"),
        ("propeller", "shaft_height_m", 9.95, "a propeller under water at the design draft"),
        ("topsides", "deck_lateral_area_m2", 9_000.0, "deck_lateral_area_m2 < topsides.lateral_area_m2"),
        ("topsides", "bridge_height_m", 8.0, "lateral_centre_height_m < topsides.bridge_height_m"),
        ("topsides", "length_overall_m", 200.0, "topsides.length_overall_m of at least"),
        ("topsides", "beam_m", 21.4, "topsides.beam_m within 20 % of hull.beam_m"),
        ("hull", "length_between_perpendiculars_m", 250.0, "hull.length_waterline_m within 15 %"),
    ],
)
def test_what_cannot_be_true_together_is_told(tmp_path: Path, part: str, entry: str, value: float, told: str):
    values = plain()
    values[part][entry] = value
    assert told in problems(tmp_path / "odd.toml", values)


def test_a_wrong_part_does_not_hide_what_the_others_contradict(tmp_path: Path):
    values = plain()
    values["drive"]["mcr_kw"] = -1
    values["hull"]["depth_m"] = 5.0
    values["propeller"] |= {"blades": 2, "area_ratio": 1.0}
    told = problems(tmp_path / "odd.toml", values)
    assert "drive.mcr_kw: expected a number from 200 to 120000, found -1" in told
    assert "expected hull.draft_m < hull.depth_m" in told
    assert "propeller.area_ratio from 0.3 to 0.38, as the B-series was tested with 2 blades, found 1" in told


@pytest.mark.parametrize("digits", [400, 5_000])
def test_a_number_of_endless_digits_is_refused(tmp_path: Path, digits: int):
    (tmp_path / "long.toml").write_text(f"[propeller]\nblades = {'9' * digits}\n", "utf-8")
    with pytest.raises(SettingsError, match=r"long\.toml: .*expected") as caught:
        read(tmp_path / "long.toml")
    assert max(map(len, str(caught.value).splitlines())) < 300


def test_a_file_that_is_none_is_told(tmp_path: Path):
    with pytest.raises(SettingsError, match=r"absent\.toml: expected a ship as a TOML file"):
        read(tmp_path / "absent.toml")
    (tmp_path / "broken.toml").write_text("name = ", "utf-8")
    with pytest.raises(SettingsError, match=r"broken\.toml: expected a ship as a TOML file"):
        read(tmp_path / "broken.toml")
