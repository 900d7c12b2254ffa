"""Arguments of any other type are refused by the public functions of this track."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from shiftbench.tracks.power.example import generalization
from shiftbench.tracks.power.physics.calibration import Resistance, toml
from shiftbench.tracks.power.physics.conditions import Conditions
from shiftbench.tracks.power.physics.fouling import HEAVY_SLIME
from shiftbench.tracks.power.physics.motion import sea_state
from shiftbench.tracks.power.physics.powering import describe, shaft_power, validity
from shiftbench.tracks.power.physics.recalibration import recalibrated
from shiftbench.tracks.power.physics.ship import read, ship
from shiftbench.tracks.power.physics.towing import FRESH_WATER, TowingTest
from shiftbench.tracks.power.physics.water import SEA_WATER
from tests.public_calls import Call, mistakes

VESSEL, ZERO = ship("container"), np.zeros(2)
SEA = sea_state(ZERO, ZERO + 3, ZERO)
GIVEN = {
    "draft_aft_m": ZERO + 12.3, "draft_fore_m": ZERO + 12.3, "speed_through_water_m_s": ZERO + 9,
    "speed_over_ground_m_s": ZERO + 9, "acceleration_m_s2": ZERO, "wind_speed_m_s": ZERO + 3, "wind_angle_rad": ZERO,
    "wave_height_m": SEA.height_m, "wave_period_s": SEA.period_s, "wave_angle_rad": SEA.angle_rad,
    "since_dry_dock_s": ZERO,
}  # fmt: skip
CONDITIONS, AS_PRINTED = Conditions(**GIVEN), Resistance("1984")
TOWED = {
    "ship": ship("tanker"), "scale": 36.0, "draft_aft_m": 16.0, "draft_fore_m": 16.0,
    "speed_m_s": [0.857, 0.986, 1.115, 1.2], "resistance_N": [20.8, 27.2, 34.4, 39.9], "water": FRESH_WATER,
    "appended": True,
}  # fmt: skip
TEST = TowingTest(**TOWED)


def own_ship(path):
    return VESSEL if isinstance(path, str) and path == "none.toml" else read(path)


CALLS = {
    "conditions": Call(lambda **given: shaft_power(VESSEL, Conditions(**given)), GIVEN),
    "shaft_power": Call(
        shaft_power, {"ship": VESSEL, "conditions": CONDITIONS, "water": SEA_WATER, "growth": HEAVY_SLIME}
    ),
    "describe": Call(describe, {"powering": shaft_power(VESSEL, CONDITIONS)}),
    "validity": Call(validity, {"ship": VESSEL, "conditions": CONDITIONS}),
    "ship": Call(ship, {"name": "tanker"}),
    "read": Call(own_ship, {"path": "none.toml"}),
    "sea_state": Call(sea_state, {"height_m": ZERO, "wind_speed_m_s": ZERO, "wind_angle_rad": ZERO}),
    "TowingTest": Call(TowingTest, TOWED),
    "deviation": Call(TEST.deviation, {"by": AS_PRINTED}),
    "predicted_N": Call(TEST.predicted_N, {"by": AS_PRINTED}),
    "recalibrated": Call(
        recalibrated, {"tests": [TEST], "constants": ["form_1984_factor"], "strength": 0.01, "version": "1984"}
    ),
    "Resistance": Call(
        Resistance, {field.name: getattr(AS_PRINTED, field.name) for field in dataclasses.fields(Resistance)}
    ),
    "toml": Call(toml, {"resistance": AS_PRINTED}),
    "drawn": Call(generalization.drawn, {"records": 50, "seed": 1, "vessel": VESSEL, "progress": None}),
    "sample": Call(generalization.sample, {"records": 50, "seed": 1}),
}


@pytest.mark.parametrize("name", CALLS)
def test_whatever_is_given_in_place_of_an_argument_is_used_or_refused(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mistakes(CALLS[name]) == []
