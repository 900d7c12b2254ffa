"""Columns in another unit are refused where that is certain, whatever else is; unusual records that are right pass."""

import numpy as np
import polars as pl
import pytest

from shiftbench.track.intake.sources import Source
from shiftbench.track.intake.units import Doubts
from shiftbench.tracks.power import consistency, partitions, ranges, reading
from shiftbench.tracks.power.units import KNOT
from tests.tracks.power.made import records, set_to

KNOTS = (
    "stw",
    "diff_speed_overground",
    "awind_vcomp_provider",
    "awind_ucomp_provider",
    *(f"rcurrent_{k}comp" for k in "vu"),
)
WIND_ALONG, WIND_ACROSS, CURRENT_ALONG, CURRENT_ACROSS = KNOTS[2:]


@pytest.fixture(scope="module")
def frame():
    return records(400)


@pytest.fixture(scope="module")
def months():
    return records(20_000, seed=3)


def metres_per_second(frame, *columns):
    return frame.with_columns(pl.col(columns) * KNOT)


def named(found):
    """The columns that are refused for themselves, in their order."""
    return [said.split("'")[1] for said in found.columns if said.startswith("x: column '") and "looks like" in said]


def where(frame, condition):
    return partitions.described(frame).filter(condition).select(frame.columns)


@pytest.mark.parametrize(
    ("column", "factor", "looks"),
    [
        ("stw", 0.514444, "m/s. Multiply by 1.943844."),
        ("stw", 1.852, "km/h. Divide by 1.852."),
        ("awind_vcomp_provider", 0.514444, "m/s. Multiply by 1.943844."),
        ("draft_aft_telegram", 1 / 0.3048, "feet. Multiply by 0.3048."),
        ("draft_fore_telegram", 100, "centimetres. Divide by 100."),
        ("comb_wind_swell_wave_height", 100, "centimetres. Divide by 100."),
        ("comb_wind_swell_wave_height", 1 / 0.3048, "feet. Multiply by 0.3048."),
        ("power", 1e-3, "MW. Multiply by 1,000."),
        ("power", 1e3, "W. Divide by 1,000."),
        ("timeSinceDryDock", 60, "seconds. Divide by 60."),
        ("timeSinceDryDock", 1 / 1440, "days. Multiply by 1,440."),
    ],
)
def test_a_column_in_another_unit_is_named_with_what_it_is_in(frame, column, factor, looks):
    said = ranges.check_units(frame.with_columns(pl.col(column) * factor), label="x.csv").columns[0]
    assert said.startswith(f"x.csv: column {column!r}: expected ")
    assert f"it looks like {looks}" in said


def test_the_other_columns_of_a_mistaken_unit_are_named_beside_it(frame):
    _, said = ranges.check_units(metres_per_second(frame, "stw"), label="x").columns
    assert said.startswith("x: columns 'diff_speed_overground', 'awind_vcomp_provider', 'awind_ucomp_provider'")
    assert "If one column is in m/s, others often are: check them before you convert 'stw' alone." in said
    *_, said = ranges.check_units(frame.with_columns(pl.col("^draft.*$") / 0.3048), label="x").columns
    assert said.startswith("x: column 'comb_wind_swell_wave_height': expected m as well")


def test_following_the_advice_column_by_column_does_not_end_in_wrong_data(months):
    wrong = metres_per_second(months, *KNOTS)
    found = ranges.check_units(wrong, label="x")
    assert named(found) == ["stw", WIND_ALONG]
    assert all(repr(name) in found.columns[-1] for name in KNOTS)
    half = metres_per_second(months, *KNOTS[3:])
    assert named(ranges.check_units(half, label="x")) == [WIND_ACROSS, CURRENT_ALONG, CURRENT_ACROSS]


def test_a_wind_across_that_is_weak_alone_is_kept_with_a_note(months):
    found = ranges.check_units(metres_per_second(months, WIND_ACROSS), label="x")
    assert not found.columns
    assert "'awind_ucomp_provider'" in found.values[0]
    assert "it may be in m/s. Kept" in found.values[0]


@pytest.mark.parametrize("name", ["train", "dev_out", "eval_out"])
@pytest.mark.parametrize("wrong", [(CURRENT_ALONG,), (WIND_ACROSS, CURRENT_ALONG)])
def test_the_true_winds_of_a_partition_tell_which_columns_are_in_m_s(name, wrong):
    low, high = consistency.BOUNDS_KN[name]
    own = where(records(60_000, seed=4), pl.col("wind_kn").is_between(low, high, closed="left"))
    assert ranges.check_units(own, label="x", partition=name).columns == ()
    if name == "train" and len(wrong) > 1:  # its winds have no lower bound, and so cannot be too weak
        return
    assert named(ranges.check_units(metres_per_second(own, *wrong), label="x", partition=name)) == list(wrong)


def test_winds_of_other_bounds_are_no_sign_of_a_unit():
    own = where(records(20_000, seed=4), pl.col("wind_kn") > 12)
    for name in ("train", "dev_out", "eval_out"):
        assert ranges.check_units(own, label="x", partition=name).columns == ()


def test_currents_alone_in_m_s_cannot_be_told_without_a_partition(months):
    assert ranges.check_units(metres_per_second(months, CURRENT_ALONG, CURRENT_ACROSS), label="x") == Doubts()


def test_speed_power_time_and_waves_are_all_named_when_all_are_wrong(tmp_path, months):
    wrong = metres_per_second(months, "stw").with_columns(
        pl.col("power") / 1000, pl.col("timeSinceDryDock") * 60, pl.col("comb_wind_swell_wave_height") * 100
    )
    wrong.write_parquet(tmp_path / "x.parquet")
    found = reading.read(Source(tmp_path / "x.parquet"))
    said = " ".join((*found.doubts.columns, *found.clock.columns))
    assert [unit in said for unit in ("like MW", "like m/s", "like centimetres", "like seconds")] == [True] * 4


# Right, if unusual


@pytest.mark.parametrize("rows", [50, 9_000])
def test_the_first_minutes_after_the_dry_dock_are_in_minutes_as_their_clock_says(tmp_path, rows):
    early = records(rows, months=0.3)
    early.write_parquet(tmp_path / "x.parquet")
    found = reading.read(Source(tmp_path / "x.parquet"))
    assert found.doubts == found.clock == Doubts()
    assert "it may be in hours. Kept" in ranges.check_units(early, label="x").values[0]


def test_minutes_in_a_harbour_are_kept_with_a_note_since_power_fits_their_speed(months):
    slow = months.filter(pl.col("stw") < 9.5).with_columns(pl.col("awind_vcomp_provider") + 6)
    assert len(slow) >= 20
    found = ranges.check_units(slow, label="x")
    assert not found.columns
    assert "column 'stw': expected a median from 10 to 28 kn" in found.values[0]
    assert named(ranges.check_units(metres_per_second(slow, "stw"), label="x")) == ["stw"]


def test_a_slow_speed_with_the_power_of_a_fast_one_is_refused(frame):
    slow = frame.with_columns(stw=pl.lit(7.0))
    assert "column 'stw'" in ranges.check_units(slow, label="x").columns[0]
    assert not ranges.check_units(slow.head(10), label="x").columns  # the median of a few minutes proves nothing


@pytest.mark.parametrize(
    "condition",
    [
        pl.col("awind_vcomp_provider") < pl.col("stw"),
        pl.col("awind_vcomp_provider") < 3,
        pl.col("wind_kn") > 30,
        pl.col("wind_kn") < 3,
        pl.col("comb_wind_swell_wave_height") > 3,
        pl.col("stw") < 12,
        pl.col("rcurrent_vcomp").abs() < 0.1,
    ],
)
def test_records_that_somebody_chose_pass(months, condition):
    own = where(months, condition)
    assert len(own) >= 20
    for voyage in (True, False):
        assert ranges.check_units(own, label="x", voyage=voyage).columns == ()


def test_any_stretch_of_a_voyage_passes(months):
    rng = np.random.default_rng(5)
    for rows in (30, 300, 3_000):
        for start in rng.integers(0, len(months) - rows, 20):
            assert ranges.check_units(months[int(start) : int(start) + rows], label="x").columns == ()


def test_no_right_column_is_taken_for_one_in_another_unit():
    for seed in range(5):
        assert ranges.check_units(records(300, seed=seed), label="x") == Doubts()


def test_the_wind_of_stormy_records_may_come_from_anywhere(frame):
    astern = frame.with_columns(awind_vcomp_provider=pl.lit(-2.0))
    assert "'awind_vcomp_provider'" in ranges.check_units(astern, label="x").values[0]
    stormy = ranges.check_units(astern, label="x", partition="dev_out")
    assert not any("'awind_vcomp_provider'" in said for said in (*stormy.columns, *stormy.values))


def test_high_seas_that_no_light_wind_disproves_are_kept_with_a_note(months):
    high = where(months, pl.col("wind_kn") > 10).with_columns(pl.col("comb_wind_swell_wave_height") * 4)
    found = ranges.check_units(high, label="x")
    assert not found.columns
    assert "it may be in feet. Kept" in found.values[0]


# Single values


def test_few_slips_are_told_apart_from_a_wrong_unit(frame):
    odd = set_to(frame, 3, stw=99.0)
    found = ranges.check_units(odd, label="x")
    assert not found.columns
    assert "column 'stw': expected values from 2 to 35 kn, found 99 (1 of 400 outside)" in found.values[0]
    many = pl.concat([set_to(odd, row, stw=99.0)[row : row + 1] for row in range(30)] + [frame[30:]])
    assert "found 99 (30 of 400 outside)" in ranges.check_units(many, label="x").columns[0]


@pytest.mark.parametrize(
    ("column", "value"), [("power", 1e300), ("timeSinceDryDock", 1e300), ("awind_vcomp_provider", -1e4), ("stw", 900.0)]
)
def test_a_single_value_that_no_ship_can_have_is_no_slip(frame, column, value):
    said = ranges.check_units(set_to(frame, 3, **{column: value}), label="x").columns[0]
    assert f"x: column {column!r}: expected values from " in said
    assert f"found {value:,g} in row 4, which no ship can have. Correct or drop these rows." in said


def test_a_column_whose_unit_is_never_mistaken_is_still_named(frame):
    (said,) = ranges.check_units(frame.with_columns(pl.col("diff_speed_overground") * 500), label="x").columns
    assert "column 'diff_speed_overground': expected a median from -1 to 1 kn/3min, found " in said
    assert said.endswith("Check its unit.")


def test_a_wind_across_that_is_signed_throughout_is_named_as_such(months):
    sign = pl.when(pl.int_range(pl.len()) % 2 == 0).then(-1.0).otherwise(1.0)
    (said,) = ranges.check_units(months.with_columns(pl.col("awind_ucomp_provider") * sign), label="x").columns
    assert "column 'awind_ucomp_provider': expected " in said
    assert said.endswith("it looks signed. Take its absolute value.")
