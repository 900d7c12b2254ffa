from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from shiftbench.errors import ArrayError
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.ship import SHIPS, ship


def even(name: str, draft: np.ndarray) -> Loading:
    return Loading.of(ship(name), draft, draft)


@pytest.mark.parametrize("name", SHIPS)
def test_at_the_design_draft_the_hull_is_as_designed(name: str):
    hull = ship(name).hull
    loading = even(name, np.array([hull.draft_m]))
    for of_hull, of_loading in (
        (hull.displacement_m3, loading.displacement_m3),
        (hull.block_coefficient, loading.block_coefficient),
        (hull.midship_coefficient, loading.midship_coefficient),
        (hull.prismatic_coefficient, loading.prismatic_coefficient),
        (hull.waterplane_coefficient, loading.waterplane_coefficient),
        (hull.length_waterline_m, loading.length_waterline_m),
        (hull.lcb_percent, loading.lcb_percent),
    ):
        assert of_loading[0] == pytest.approx(of_hull, abs=1e-12)


@pytest.mark.parametrize("name", SHIPS)
def test_a_layer_of_draft_displaces_the_waterplanes_area(name: str):
    draft, step = np.linspace(8, 15, 30), 1e-4
    above, below = even(name, draft + step), even(name, draft - step)
    here = even(name, draft)
    area = here.waterplane_coefficient * here.length_waterline_m * ship(name).hull.beam_m
    growth = (above.displacement_m3 - below.displacement_m3) / (2 * step)
    np.testing.assert_allclose(growth, area, rtol=1e-6)


@pytest.mark.parametrize("name", SHIPS)
def test_that_layer_lies_at_the_centre_of_flotation(name: str):
    draft, step = np.linspace(8, 15, 30), 1e-4
    above, below = even(name, draft + step), even(name, draft - step)
    moment = above.displacement_m3 * above.lcb_percent - below.displacement_m3 * below.lcb_percent
    centre = moment / (above.displacement_m3 - below.displacement_m3)
    np.testing.assert_allclose(centre, ship(name).hull.lcf_percent, rtol=1e-6)


def test_trim_keeps_the_displacement_and_moves_its_centre_towards_the_deeper_end():
    aft = np.array([15.0, 12.0, 9.0])
    loading = Loading.of(ship(), aft, 24 - aft)
    assert np.ptp(loading.displacement_m3) == 0
    assert np.all(np.diff(loading.lcb_percent) > 1)
    assert loading.lcb_percent[0] + loading.lcb_percent[2] == pytest.approx(2 * loading.lcb_percent[1])


def test_the_shift_by_trim_is_that_of_the_waterplane_integrated():
    """Slow twin: the moment of a wedge of water over the waterplane 1 - |2x/L|^n."""
    loading = Loading.of(ship(), [12.5], [11.5])
    level = Loading.of(ship(), [12.0], [12.0])
    hull, length = ship().hull, loading.length_waterline_m[0]
    fullness = loading.waterplane_coefficient[0]
    x = np.linspace(-0.5, 0.5, 200_001) * length
    breadth = hull.beam_m * (1 - np.abs(2 * x / length) ** (fullness / (1 - fullness)))
    wedge = -x * (loading.draft_aft_m - loading.draft_fore_m)[0] / hull.length_between_perpendiculars_m
    moment = np.trapezoid(breadth * wedge * x, x)
    shift = 100 * moment / loading.displacement_m3[0] / length
    assert loading.lcb_percent[0] - level.lcb_percent[0] == pytest.approx(shift, rel=1e-4)


def test_transom_and_bulb_follow_the_draft_at_their_own_end():
    hull = ship().hull
    under, top = hull.transom_height_m + np.array([1.2, -2, 1.2]), 2 * hull.bulb_centre_m
    loading = Loading.of(ship(), under, [0.7 * top, 1.3 * top, 1.3 * top])
    np.testing.assert_allclose(loading.transom_area_m2, hull.transom_width_m * np.array([1.2, 0, 1.2]))
    np.testing.assert_allclose(loading.bulb_area_m2, hull.bulb_area_m2 * np.array([0.7, 1, 1]))
    np.testing.assert_allclose(loading.bulb_centre_m, hull.bulb_centre_m * np.array([0.7, 1, 1]))


def test_a_ship_without_bulb_has_none():
    made = ship()
    made = dataclasses.replace(made, hull=dataclasses.replace(made.hull, bulb_area_m2=0.0, bulb_centre_m=0.0))
    loading = Loading.of(made, [12.0], [12.0])
    assert (loading.bulb_area_m2[0], loading.bulb_centre_m[0]) == (0, 0)


@pytest.mark.parametrize("name", SHIPS)
def test_a_deeper_ship_is_wetter_heavier_and_fuller(name: str):
    loading = even(name, np.linspace(7, 17, 50))
    for growing in ("wetted_area_m2", "displacement_m3", "block_coefficient", "midship_coefficient"):
        assert np.all(np.diff(getattr(loading, growing)) > 0), growing


def test_drafts_that_are_none_of_the_ship_are_told_at_both_ends():
    with pytest.raises(ArrayError, match="expected drafts from") as caught:
        Loading.of(ship(), [12.0, 0.0, 0.0], [12.0, 12.0, 45.0])
    assert "draft_aft_m: expected drafts from 4.9 to 24.4 m, found 0 at index 1 (2 of 3 records)" in str(caught.value)
    assert "draft_fore_m: expected drafts from 4.9 to 24.4 m, found 45 at index 2 (1 of 3 records)" in str(caught.value)


def test_drafts_that_are_no_numbers_or_unequally_many_are_told():
    with pytest.raises(ArrayError, match="draft_fore_m: expected finite numbers, found NaN"):
        Loading.of(ship(), [12.0, 12.0], [12.0, np.nan])
    with pytest.raises(ArrayError, match="expected the same number of records"):
        Loading.of(ship(), [12.0, 12.0], [12.0])


def test_a_hull_that_no_longer_is_one_is_told():
    made = ship("tanker")
    hull = dataclasses.replace(made.hull, waterplane_coefficient=0.98)
    with pytest.raises(ArrayError, match=r"waterplane_coefficient: expected 0\.4 to 0\.99 at all drafts, found 1"):
        Loading.of(dataclasses.replace(made, hull=hull), [22.0], [22.0])
