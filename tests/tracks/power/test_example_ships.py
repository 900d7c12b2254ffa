"""The example with other ships than the container ship, and what it says of the ranges of the physics."""

from __future__ import annotations

import re
from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import SettingsError
from shiftbench.tracks.power import example, outside, schema
from shiftbench.tracks.power.example import generalization, identity, labels, writing
from shiftbench.tracks.power.example.minutes import world
from shiftbench.tracks.power.example.ship_scaling import (
    ALIKE,
    draft_range_m,
    require_afloat,
    scaling_of,
    service_speed_kn,
    vessel_of,
)
from shiftbench.tracks.power.outside import RangeTally
from shiftbench.tracks.power.physics import drafts
from shiftbench.tracks.power.physics import ship as ships
from shiftbench.tracks.power.physics.ship import ship

TANKER = ship("tanker")


def file_of(path: Path, name: str = "container", **changes: float) -> Path:
    """The file of a ship of the package with other values."""
    text = resources.files(ships.__package__).joinpath("ships", f"{name}.toml").read_text("utf-8")
    for key, value in changes.items():
        text, found = re.subn(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
        assert found
    path.write_text(text, "utf-8")
    return path


def test_the_container_ship_is_exactly_like_herself(tmp_path: Path) -> None:
    assert scaling_of(ship()) == ALIKE
    own = vessel_of(str(file_of(tmp_path / "mine.toml")))
    assert example.table(1_000, vessel=own).equals(example.table(1_000))
    assert generalization.drawn(1_000, 0, vessel=own)[0].equals(generalization.sample(1_000))


def test_service_speeds_are_those_of_such_ships() -> None:
    assert 19 < service_speed_kn(ship()) < 22
    assert 12.5 < service_speed_kn(TANKER) < 15


def test_at_the_service_speed_three_quarters_of_the_rating_are_needed() -> None:
    calm = generalization.uniform(np.random.default_rng(0), 1)
    still = {"acceleration", "wind_kn", "wind_angle_rad", "current_along", "current_across", "wave_m"}
    calm = replace(calm, **{name: np.zeros(1) for name in still}, speed_kn=np.array([service_speed_kn(TANKER)]))
    calm = replace(calm, draft_aft_m=np.array([16.0]), draft_fore_m=np.array([16.0]), time_id=np.array([-10_776.0]))
    power_kw, possible = labels.power(TANKER, calm)
    assert possible.all()
    assert power_kw[0] / TANKER.drive.mcr_kw == pytest.approx(0.75, rel=2e-3)


def test_another_ship_sails_the_same_days_at_her_own_speeds_and_drafts() -> None:
    like = scaling_of(TANKER)
    usual, other = world(0), world(0, like)
    record = np.arange(0, usual.voyages.records, 997)
    one, two = usual.at(record), other.at(record)
    np.testing.assert_array_equal(one.time_id, two.time_id)
    np.testing.assert_array_equal(one.wind_kn, two.wind_kn)
    np.testing.assert_allclose(two.speed_kn, like.speed * one.speed_kn, rtol=0.06)  # ups and downs go with speed twice
    np.testing.assert_allclose(two.draft_aft_m, like.draft * one.draft_aft_m, atol=0.06)  # read to 5 cm
    steps = two.draft_aft_m / 0.05
    np.testing.assert_allclose(steps, steps.round(), atol=1e-6)


def test_the_tanker_is_as_loaded_as_the_container_ship() -> None:
    shares = {
        vessel.name: example.table(20_000, vessel=vessel)[schema.POWER].median() / vessel.drive.mcr_kw
        for vessel in (ship(), TANKER)
    }
    assert shares["tanker"] == pytest.approx(shares["container"], abs=0.12)


def test_generalisation_ranges_of_another_ship_are_in_her_proportion() -> None:
    like, minutes = scaling_of(TANKER), generalization.uniform(np.random.default_rng(1), 50_000, scaling_of(TANKER))
    for values, (low, high), factor in (
        (minutes.over_ground_kn, generalization.OVER_GROUND_KN, like.speed),
        (minutes.draft_fore_m, generalization.DRAFT_M, like.draft),
        (minutes.wave_m, generalization.WAVE_M, 1.0),
    ):
        assert values.min() == pytest.approx(factor * low, abs=0.01)
        assert values.max() == pytest.approx(factor * high, abs=0.01)
        assert factor * low <= values.min() + 1e-9
    rows = generalization.drawn(2_000, 0, vessel=TANKER)[0]
    assert rows.height == 2_000
    assert rows[schema.POWER].is_finite().all()


def test_files_name_the_ship_and_tell_the_shares_outside(tmp_path: Path) -> None:
    folder = example.write(tmp_path / "voyages", 2_000, 4, ship="tanker")
    shares = outside.shares_in(folder)
    for name, label in ((writing.RECORDS, "records"), (writing.GENERALIZATION, "generalization")):
        assert "example power rows=2000 seed=4 ship=tanker" in pl.read_parquet_metadata(folder / name)["shiftbench"]
        assert 0.4 < shares[label]["calm water: any of its ranges"] < 0.95
    assert folder.joinpath(writing.RECORDS).read_bytes() == (
        example.write(tmp_path / "again", 2_000, 4, ship="tanker").joinpath(writing.RECORDS).read_bytes()
    )


def test_shares_of_the_container_ship_are_those_of_the_documentation() -> None:
    tally = RangeTally()
    example.table(20_000, tally=tally)
    assert tally.records == 20_000
    assert tally.shares["calm water: any of its ranges"] == pytest.approx(0.71, abs=0.03)
    assert tally.shares["calm water: prismatic coefficient 0.55 to 0.67"] == pytest.approx(0.52, abs=0.03)
    assert tally.shares["engine: above its rating, 40,040 kW"] == pytest.approx(0.01, abs=0.004)
    everywhere = RangeTally()
    generalization.drawn(20_000, 0, tally=everywhere)
    assert everywhere.records == 20_000, "records drawn again are not counted"
    assert everywhere.shares["calm water: any of its ranges"] == pytest.approx(0.56, abs=0.02)


def test_ships_that_are_none_or_cannot_sail_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"ship: expected container, tanker or a TOML file of a ship, found 'tankr'"
    ):
        example.write(tmp_path / "x", 1_000, ship="tankr")
    weak = str(file_of(tmp_path / "weak.toml", mcr_kw=200.0))
    with pytest.raises(SettingsError, match=r"75% of its rating of 200 kW at a speed between 5 and 40 kn, found"):
        example.write(tmp_path / "x", 1_000, ship=weak)
    low = str(file_of(tmp_path / "low.toml", depth_m=14.5))
    with pytest.raises(SettingsError, match=r"floats at drafts from 6\.\d+ to 14\.\d+ m, .* found 4\.90 to 14\.50 m"):
        example.write(tmp_path / "x", 1_000, ship=low)
    with pytest.raises(SettingsError, match=r"broken\.toml: hull\.beam_m: expected a number"):
        example.write(tmp_path / "x", 1_000, ship=str(file_of(tmp_path / "broken.toml", beam_m=-1.0)))
    assert not (tmp_path / "x").exists()


def test_more_minutes_than_a_ship_can_sail_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(example, "_candidates", lambda *_: np.arange(1_500))
    with pytest.raises(
        SettingsError,
        match=r"rows: expected 2,000 minutes that 'container' can sail, found 1,\d{3}: the others need no thrust",
    ):
        example.table(2_000)


@pytest.mark.parametrize("seed", range(5))
def test_both_ships_of_the_package_float_whatever_the_seed(seed: int) -> None:
    for vessel in (ship(), TANKER):
        low, high = draft_range_m(world(seed, scaling_of(vessel)).voyages)
        require_afloat(vessel, low, high)
        lightest, deepest = drafts.drafts_m(vessel)
        assert lightest + 0.3 < low < high < deepest - 0.3


# --- which ship it was ------------------------------------------------------------------------------------------------


def test_ships_of_equal_names_and_other_values_are_told_apart(tmp_path: Path) -> None:
    first = vessel_of(str(file_of(tmp_path / "a.toml", mcr_kw=39_000.0)))
    second = vessel_of(str(file_of(tmp_path / "b.toml", mcr_kw=39_001.0)))
    assert first.name == second.name == "container"
    assert len({identity(first), identity(second), identity(ship())}) == 3
    assert re.fullmatch(r"ship=container values=[0-9a-f]{12}", identity(first))
    said = {
        pl.read_parquet_metadata(
            example.write(tmp_path / name, 1_000, ship=str(tmp_path / f"{name}.toml")) / writing.RECORDS
        )["shiftbench"]
        for name in ("a", "b")
    }
    assert said == {f"example power rows=1000 seed=0 {identity(vessel)}" for vessel in (first, second)}


def test_equal_ships_are_told_alike_however_their_file_is_written(tmp_path: Path) -> None:
    whole, real = (vessel_of(str(file_of(tmp_path / f"{value!r}.toml", mcr_kw=value))) for value in (39_000, 39_000.0))
    assert identity(whole) == identity(real)
    assert identity(vessel_of(str(file_of(tmp_path / "copy.toml")))) == identity(ship()) == "ship=container"
    assert identity(TANKER) == "ship=tanker"


def test_the_calibration_of_a_ship_is_a_part_of_what_she_is(tmp_path: Path) -> None:
    own = file_of(tmp_path / "own.toml")
    own.write_text(own.read_text("utf-8") + '\n[resistance]\nversion = "1982"\n', "utf-8")
    assert "values=" in identity(vessel_of(str(own)))


def test_a_name_cannot_be_taken_for_what_stands_beside_it() -> None:
    forged = replace(ship(), name="a rows=7 seed=9")
    assert identity(forged).startswith('ship="a rows=7 seed=9" values=')
    quoted = replace(ship(), name='a" values=0')
    assert identity(quoted).startswith('ship="a\\" values=0" values=')


@pytest.mark.parametrize("name", ["a\\nb", "a\\u202eb", "\\u0000"])
def test_names_that_cannot_be_printed_are_refused(tmp_path: Path, name: str) -> None:
    file = file_of(tmp_path / "x.toml")
    file.write_text(re.sub("(?m)^name = .*$", lambda _: f'name = "{name}"', file.read_text("utf-8")), "utf-8")
    with pytest.raises(SettingsError, match=r"x\.toml: name: expected one line of printable characters, found '"):
        vessel_of(str(file))
