"""The B-series: published points, physical limits, and the corrections for the Reynolds number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shiftbench.errors import SettingsError
from shiftbench.tracks.power.physics import open_water
from shiftbench.tracks.power.physics.ship import Propeller
from tests.tracks.power.physics.series import characteristics

SERIES = [
    Propeller(diameter_m=8, blades=blades, pitch_ratio=pitch, area_ratio=area, shaft_height_m=4.5)
    for blades, (low, high) in open_water.AREA_RATIOS.items()
    for area in np.linspace(low, high, 5).tolist()
    for pitch in np.linspace(*open_water.PITCH_RATIOS, 7).tolist()
]


def _propeller(blades: int, area_ratio: float, pitch_ratio: float = 1.0) -> Propeller:
    return Propeller(diameter_m=8, blades=blades, pitch_ratio=pitch_ratio, area_ratio=area_ratio, shaft_height_m=4.5)


def _terms(propeller: Propeller, curve: str, advance_ratio: float, logarithm: float = 0.0) -> float:
    """The sum over the published terms, one by one: the slow twin."""
    return sum(
        c * advance_ratio**s * propeller.pitch_ratio**t * propeller.area_ratio**u * propeller.blades**v * logarithm**w
        for c, s, t, u, v, w in open_water._terms()[curve]
    )


# Fossen's MSS toolbox (GNC/wageningen.m, quoted to four digits in its model of the Remus 100), P/D 1, A_E/A_0 0.718
# with three blades; it computes from its own copy of the table by Bernitsas et al. (1981).
@pytest.mark.parametrize(("advance_ratio", "kt", "kq"), [(0.0, 0.4566, 0.0700), (0.6632, 0.1798, 0.0312)])
def test_coefficients_equal_those_of_another_implementation(advance_ratio: float, kt: float, kq: float) -> None:
    found = characteristics(_propeller(3, 0.718), np.array([advance_ratio]))
    np.testing.assert_allclose(np.concatenate(found), [kt, kq], atol=5e-5)


def test_coefficients_agree_with_a_reading_of_the_published_diagram() -> None:
    """B5-90, P/D 1, J = 0.83: K_T 0.12 and K_Q 0.023 read off Troost's chart in a course on marine propulsion.

    Two digits were read: half a unit of the last one is the tolerance.
    """
    kt, kq = characteristics(_propeller(5, 0.90), np.array([0.83]))
    assert kt[0] == pytest.approx(0.12, abs=0.005)
    assert kq[0] == pytest.approx(0.023, abs=0.0005)


# Worked out from a second transcription of the paper's Table 5, by other hands than the table in the package.
@pytest.mark.parametrize(
    ("blades", "area_ratio", "pitch_ratio", "advance_ratio", "kt", "kq"),
    [
        (4, 0.55, 1.0, 0.4, 0.30380268, 0.046552048),
        (4, 0.55, 1.0, 0.7, 0.18073494, 0.030900719),
        (5, 0.60, 1.0, 0.4, 0.32242141, 0.049252253),
        (5, 0.60, 1.0, 0.7, 0.19231792, 0.033123686),
        (3, 0.50, 0.6, 0.3, 0.14364824, 0.015414355),
        (6, 0.80, 1.4, 1.1, 0.20951590, 0.050875144),
    ],
)
def test_coefficients_equal_those_of_a_second_transcription(
    blades: int, area_ratio: float, pitch_ratio: float, advance_ratio: float, kt: float, kq: float
) -> None:
    found = characteristics(_propeller(blades, area_ratio, pitch_ratio), np.array([advance_ratio]))
    np.testing.assert_allclose(np.concatenate(found), [kt, kq], rtol=0, atol=6e-9)


def test_the_table_has_the_published_number_of_terms() -> None:
    terms = open_water._terms()
    assert {name: len(rows) for name, rows in terms.items()} == {
        "thrust": 39,
        "torque": 47,
        "thrust_correction": 9,
        "torque_correction": 13,
    }
    assert all(len({tuple(row[1:]) for row in rows}) == len(rows) for rows in terms.values())


@pytest.mark.parametrize("propeller", SERIES[::7])
def test_the_polynomial_in_one_variable_equals_the_sum_over_all_terms(propeller: Propeller) -> None:
    ratios = np.linspace(0, 1.2, 7)
    logarithm = float(open_water.log_reynolds(np.array(3e7)))
    plain = characteristics(propeller, ratios)
    corrected = characteristics(propeller, ratios, 3e7)
    for place, curve in enumerate(("thrust", "torque")):
        twin = np.array([_terms(propeller, curve, ratio) for ratio in ratios])
        change = np.array([_terms(propeller, f"{curve}_correction", ratio, logarithm) for ratio in ratios])
        np.testing.assert_allclose(plain[place], twin, atol=1e-13)
        np.testing.assert_allclose(corrected[place], twin + change, atol=1e-13)


@pytest.mark.parametrize("reynolds", [None, 2e6, 2e7, 2e8])
def test_thrust_falls_with_advance_and_torque_stays_positive_while_there_is_thrust(reynolds: float | None) -> None:
    for propeller in SERIES:
        ratios = np.linspace(0, open_water.curves(propeller).last_advance_ratio, 200)
        kt, kq = characteristics(propeller, ratios, reynolds)
        assert (np.diff(kt) < 0).all(), propeller
        assert kt[0] > 0 > kt[-1], propeller
        assert (kq[kt > 0] > 0).all(), propeller


@pytest.mark.parametrize("reynolds", [None, 2e7, 2e8])
def test_efficiency_stays_below_that_of_an_ideal_disc(reynolds: float | None) -> None:
    """Froude's 2/(1 + sqrt(1 + 8 K_T/(π J²))); two blades at high Reynolds numbers break it near zero thrust."""
    for propeller in SERIES:
        if propeller.blades == 2 and reynolds is not None:
            continue
        ratios = np.linspace(0.01, open_water.curves(propeller).last_advance_ratio, 200)
        kt, kq = characteristics(propeller, ratios, reynolds)
        pushing = kt > 0
        efficiency = (ratios * kt / (2 * np.pi * kq))[pushing]
        ideal = 2 / (1 + np.sqrt(1 + 8 * kt[pushing] / (np.pi * ratios[pushing] ** 2)))
        assert (efficiency < ideal).all(), propeller


def test_corrections_vanish_at_the_reynolds_number_of_the_series() -> None:
    """They were fitted so; a wrong power of any term would leave several times what is allowed here."""
    propeller, ratios = _propeller(5, 0.75), np.linspace(0.2, 0.9, 8)
    plain, corrected = (characteristics(propeller, ratios, reynolds) for reynolds in (None, 2e6))
    np.testing.assert_allclose(corrected[0], plain[0], atol=7e-4)
    np.testing.assert_allclose(corrected[1], plain[1], atol=2e-5)


def test_a_large_propeller_is_more_efficient_than_its_model_and_the_range_is_not_left() -> None:
    propeller, ratios = _propeller(5, 0.75), np.array([0.7])
    efficiency = [kt[0] / kq[0] for kt, kq in (characteristics(propeller, ratios, r) for r in (2e6, 5e7))]
    assert 1.01 < efficiency[1] / efficiency[0] < 1.10
    for beyond, end in ((1e3, 2e6), (1e12, 2e9)):
        pair = [characteristics(propeller, ratios, reynolds) for reynolds in (beyond, end)]
        np.testing.assert_array_equal(pair[0], pair[1])


def test_a_propeller_outside_the_series_is_refused_with_everything_that_is_wrong() -> None:
    wrong = replace(_propeller(4, 0.55), area_ratio=1.2, pitch_ratio=2.0)
    with pytest.raises(SettingsError, match=r"area_ratio: expected 0.4 to 1, .* found 1.2") as caught:
        open_water.curves(wrong)
    assert len(caught.value.problems) == 2
    with pytest.raises(SettingsError, match=r"blades: expected 2 to 7, found 9"):
        open_water.curves(replace(wrong, blades=9))
