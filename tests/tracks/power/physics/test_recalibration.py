from __future__ import annotations

import dataclasses
import math
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shiftbench.errors import SettingsError
from shiftbench.tracks.power.physics import ship as ships
from shiftbench.tracks.power.physics.calibration import HOLTROP, VERSIONS, Calibration, Resistance, toml
from shiftbench.tracks.power.physics.recalibration import LEVELS, recalibrated
from shiftbench.tracks.power.physics.ship import Ship, read, ship
from shiftbench.tracks.power.physics.towing import FRESH_WATER, TowingTest

PLANTED = {
    "1982": {"form_1982_constant": 0.88, "c1_factor": 1.5e6},
    "1984": {"form_1984_factor": 0.42, "form_1984_slenderness": 0.30, "c1_factor": 3.1e6},
}


def fuller(share: float) -> Ship:
    """The tanker with another displacement, so that tests differ in more than speed."""
    hull = ship("tanker").hull
    return dataclasses.replace(
        ship("tanker"), hull=dataclasses.replace(hull, displacement_m3=share * hull.displacement_m3)
    )


def made_up(by: Resistance, *, noise: float = 0.0, scale: float = 40.0, seed: int = 0) -> list[TowingTest]:
    """Three hulls at eight speeds, measured as the method says with these constants, and with noise on top."""
    rng, speed = np.random.default_rng(seed), np.linspace(5, 10, 8) / np.sqrt(scale)
    tests = []
    for made in (fuller(0.92), fuller(1.0), ship("container")):
        draft = 0.9 * made.hull.draft_m
        pressure = 0.5 * 1000 * speed**2 * 14_000 / scale**2
        empty = TowingTest(
            ship=made, scale=scale, draft_aft_m=draft, draft_fore_m=draft, speed_m_s=speed,
            resistance_N=0.004 * pressure, water=FRESH_WATER,
        )  # fmt: skip
        measured = empty.predicted_N(by) * np.exp(noise * rng.standard_normal(8))
        tests.append(dataclasses.replace(empty, resistance_N=measured))
    return tests


def misfit(tests: list[TowingTest], by: Resistance) -> float:
    return sum(float(np.mean(np.log1p(test.deviation(by)) ** 2)) for test in tests)


def distance(by: Calibration) -> float:
    """From Holtrop's constants, as the pull sees it."""
    pairs = zip(dataclasses.astuple(by), dataclasses.astuple(HOLTROP), strict=True)
    return sum(math.log(one / other) ** 2 for one, other in pairs)


@pytest.mark.parametrize("version", VERSIONS)
def test_planted_constants_are_found_again(version: str):
    planted = dataclasses.replace(HOLTROP, **PLANTED[version])
    tests = made_up(Resistance(version, planted))
    found = recalibrated(tests, constants=tuple(PLANTED[version]), strength=0, version=version)
    for name, value in PLANTED[version].items():
        assert getattr(found, name) == pytest.approx(value, rel=1e-4), name
    untouched = {name: getattr(HOLTROP, name) for name in PLANTED[version]}
    assert dataclasses.replace(found, **untouched) == HOLTROP
    assert misfit(tests, Resistance(version, found)) < 1e-12


@pytest.mark.parametrize("version", VERSIONS)
def test_what_holtrop_says_already_leaves_his_constants(version: str):
    found = recalibrated(made_up(Resistance(version)), version=version)
    for name in LEVELS[version]:
        assert getattr(found, name) == pytest.approx(getattr(HOLTROP, name), rel=1e-9), name


def test_the_levels_are_fitted_unless_others_are_asked_for():
    tests = made_up(Resistance("1984", dataclasses.replace(HOLTROP, form_1984_factor=0.4)))
    assert recalibrated(tests) == recalibrated(tests, constants=LEVELS["1984"])
    assert recalibrated(tests) == recalibrated(tests)
    assert recalibrated(tests, constants="c1_factor") == recalibrated(iter(tests), constants=["c1_factor"])


def test_the_stronger_the_pull_the_nearer_to_holtrop():
    tests = made_up(Resistance("1984", dataclasses.replace(HOLTROP, form_1984_factor=0.4, c1_factor=4e6)), noise=0.02)
    fits = [recalibrated(tests, strength=strength) for strength in (0, 0.01, 0.1, 1, 10, 1e6)]
    moved, missed = [distance(fit) for fit in fits], [misfit(tests, Resistance("1984", fit)) for fit in fits]
    assert all(np.diff(moved) < 0)
    assert all(np.diff(missed) > 0)
    assert moved[-1] < 1e-9


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("strength", [0.0, 0.04])
def test_the_fit_is_never_worse_than_the_start(seed: int, strength: float):
    tests = made_up(Resistance(), noise=0.2, seed=seed)
    found = recalibrated(
        tests, constants=("form_1984_beam", "form_1984_prismatic", "wave_exponent", "c16_full_slope"), strength=strength
    )
    cost = misfit(tests, Resistance("1984", found)) + strength * distance(found)
    assert cost <= misfit(tests, Resistance()) * (1 + 1e-12)
    for name, value in dataclasses.asdict(found).items():
        limit = 10 * getattr(HOLTROP, name)
        assert min(0, limit) <= value <= max(0, limit), name


def test_one_constant_is_found_where_a_search_finds_it():
    tests, strength = made_up(Resistance("1984", dataclasses.replace(HOLTROP, c1_factor=5e6)), noise=0.03), 0.02
    found = recalibrated(tests, constants=("form_1984_factor",), strength=strength).form_1984_factor

    def cost(factor: float) -> float:
        by = dataclasses.replace(HOLTROP, form_1984_factor=factor)
        return misfit(tests, Resistance("1984", by)) + strength * distance(by)

    coarse, fine = np.linspace(0.9, 1.1, 101) * found, np.linspace(-0.003, 0.003, 61) * found
    best = coarse[np.argmin([cost(float(factor)) for factor in coarse])]
    tried = best + fine
    assert tried[np.argmin([cost(float(factor)) for factor in tried])] == pytest.approx(found, rel=2e-4)


def test_a_test_counts_once_however_many_speeds_it_has():
    low, high, _ = made_up(Resistance("1984", dataclasses.replace(HOLTROP, form_1984_factor=0.4)), noise=0.02)
    twice = dataclasses.replace(low, speed_m_s=np.tile(low.speed_m_s, 2), resistance_N=np.tile(low.resistance_N, 2))
    one, other = recalibrated([low, high]), recalibrated([twice, high])
    assert one.form_1984_factor == pytest.approx(other.form_1984_factor, rel=1e-6)


def test_a_file_with_the_result_reads_back_to_the_same_resistance(tmp_path: Path):
    tests = made_up(Resistance("1982", dataclasses.replace(HOLTROP, form_1982_constant=0.87)), noise=0.01)
    by = Resistance("1982", recalibrated(tests, version="1982"))
    plain = resources.files(ships.__package__).joinpath("ships", "tanker.toml").read_text("utf-8")
    (tmp_path / "mine.toml").write_text(plain + "\n" + toml(by), "utf-8")
    assert read(tmp_path / "mine.toml").resistance == by
    assert tomllib.loads(toml(Resistance())) == {"resistance": {"version": "1984"}}


def test_all_problems_are_told_at_once():
    bad: Any = {"constants": ("c1_faktor", "c1_width", "c1_width"), "strength": -1.0, "version": "1983"}
    with pytest.raises(SettingsError, match="Did you mean 'c1_factor'") as caught:
        recalibrated([], **bad)
    told = str(caught.value)
    for expected in (
        "Unknown constant 'c1_faktor'",
        "constants: expected each name once, found 'c1_width' 2 times",
        "version: expected 1982 or 1984 as text, found '1983'",
        "strength: expected a number from 0 to 1e+12, found -1.0",
        "tests: expected at least one towing test, found none",
    ):
        assert expected in told, told
    no_test: Any = [3]
    with pytest.raises(SettingsError, match=r"tests\[0\]: expected a TowingTest, found int"):
        recalibrated(no_test)
    unhashable: Any = ["1984"]
    with pytest.raises(SettingsError, match="version: expected 1982 or 1984 as text"):
        recalibrated(made_up(Resistance()), version=unhashable)
    one = made_up(Resistance())[0]
    assert recalibrated(one) == recalibrated([one])
    with pytest.raises(SettingsError, match="constants: expected at least one name, found none"):
        recalibrated(made_up(Resistance()), constants=())


@pytest.mark.parametrize("strength", [math.nan, math.inf, "0.04", True, 10**400])
def test_what_is_no_strength_is_refused(strength: Any):
    with pytest.raises(SettingsError, match="strength: expected a number from 0"):
        recalibrated(made_up(Resistance()), strength=strength)


def test_constants_that_no_test_can_tell_are_refused():
    with pytest.raises(SettingsError, match=r"none changed by form_1982_beam, ca_factor\. Leave these out"):
        recalibrated(made_up(Resistance()), constants=("form_1984_factor", "form_1982_beam", "ca_factor"))
