"""Flags of records outside of ranges: the same records that the methods' own messages count."""

from __future__ import annotations

import re

import numpy as np
import pytest

from shiftbench.tracks.power.example import generalization, labels
from shiftbench.tracks.power.physics import drafts, valid_ranges
from shiftbench.tracks.power.physics.conditions import Conditions
from shiftbench.tracks.power.physics.powering import shaft_power
from shiftbench.tracks.power.physics.powering import validity as messages
from shiftbench.tracks.power.physics.ship import SHIPS, ship

COUNT = re.compile(r"\((\d[\d,]*) of [\d,]+ records\)")
METHODS = ("calm water", "waves")


def everywhere(records: int = 4_000) -> Conditions:
    """Conditions of Table 20, which leave most ranges."""
    return labels.conditions(generalization.uniform(np.random.default_rng(3), records))


@pytest.mark.parametrize("name", SHIPS)
def test_flags_count_the_records_that_the_methods_own_messages_count(name: str) -> None:
    vessel, given = ship(name), everywhere()
    low, high = drafts.drafts_m(vessel)
    assert low < given.draft_aft_m.min() < given.draft_aft_m.max() < high
    flags = valid_ranges.outside(vessel, given, np.zeros(len(given)))
    ours = sorted(int(where.sum()) for what, where in flags.items() if what.startswith(METHODS) and "any" not in what)
    told = [message for message in messages(vessel, given) if not message.startswith("STAWAVE-1")]
    theirs = sorted(int(found[1].replace(",", "")) for found in map(COUNT.search, told) if found)
    assert len(theirs) == len(told) >= 3
    assert [count for count in ours if count] == theirs


def test_any_of_a_methods_ranges_is_one_of_them() -> None:
    given = everywhere()
    flags = valid_ranges.outside(ship(), given, np.zeros(len(given)))
    for method in METHODS:
        each = [where for what, where in flags.items() if what.startswith(method) and "any" not in what]
        np.testing.assert_array_equal(flags[f"{method}: any of its ranges"], np.logical_or.reduce(each))
        assert 0.5 < flags[f"{method}: any of its ranges"].mean() < 0.95


def test_the_rating_and_the_propeller_are_those_of_the_ship() -> None:
    vessel, given = ship("tanker"), everywhere()
    power_kw = shaft_power(vessel, given).power_kw
    flags = valid_ranges.outside(vessel, given, power_kw)
    assert flags["engine: above its rating, 15,500 kW"].sum() == np.sum(power_kw > 15_500)
    np.testing.assert_array_equal(flags["propeller: not wholly under water"], given.draft_aft_m < 8.3)
