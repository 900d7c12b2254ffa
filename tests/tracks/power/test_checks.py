"""Bad records: each is refused or warned of by the column, the value found, and what to do."""

import polars as pl
import pytest

from shiftbench.errors import TableError
from shiftbench.track.intake.sources import Source
from shiftbench.track.intake.units import Doubts
from shiftbench.tracks.power import checks, reading
from tests.tracks.power.made import records, set_to

ROWS = 400


@pytest.fixture(scope="module")
def frame():
    return records(ROWS)


@pytest.fixture
def read(tmp_path):
    def read(frame, name="records.csv"):
        path = tmp_path / name
        frame.write_csv(path) if path.suffix == ".csv" else frame.write_parquet(path)
        return reading.read(Source(path))

    return read


def problems(read, frame):
    with pytest.raises(TableError, match="expected") as caught:
        read(frame)
    return caught.value.problems


def test_clean_records_come_back_as_they_are_without_a_word(read, frame):
    for name in ("records.csv", "records.parquet"):
        found = read(frame, name)
        assert found.frame.equals(frame)
        assert not found.warnings
        assert found.doubts == found.clock == Doubts()


def test_columns_are_found_by_name_in_any_order_and_the_target_by_its_other_names(read, frame):
    for other in ("power_synth", "power_nhf"):
        turned = frame.rename({"power": other}).select(reversed(frame.rename({"power": other}).columns))
        for name in ("turned.csv", "turned.parquet"):
            assert read(turned, name).frame.equals(frame)


def test_a_target_under_both_names_is_refused(read, frame):
    (said,) = problems(read, frame.with_columns(power_synth="power"))
    assert "expected the column 'power' once, found it 2 times (also as 'power_synth'). Drop the others." in said


def test_missing_doubled_and_unknown_columns_are_named_at_once(read, frame):
    odd = frame.rename({"stw": "speed_through_watr", "rcurrent_ucomp": "rcurent_ucomp"}).with_columns(power_nhf="power")
    said = "\n".join(problems(read, odd))
    assert "expected the column 'power' once" in said
    assert "expected a column 'rcurrent_ucomp', found none. Did you mean 'rcurent_ucomp'?" in said
    assert "expected a column 'stw', found none. Is it among 'speed_through_watr', 'rcurent_ucomp'?" in said


def test_unknown_columns_beside_all_others_are_left_out_with_a_warning(read, frame):
    found = read(frame.with_columns(heading=pl.lit(1.0)))
    assert found.frame.equals(frame)
    assert "unknown columns, left out: 'heading'." in found.warnings[0]


@pytest.mark.parametrize(
    ("value", "expected"), [(None, "a number in each row, found nothing"), (float("inf"), "finite numbers, found inf")]
)
def test_missing_and_infinite_numbers_are_refused_with_their_line(read, frame, value, expected):
    (said,) = problems(read, set_to(frame, 6, stw=value))
    assert f"column 'stw': expected {expected} in line 8 (1 such value). Correct or drop these rows." in said


def test_nan_is_a_missing_number(read, frame):
    (said,) = problems(read, set_to(frame, 2, power=float("nan")))
    assert "column 'power': expected a number in each row, found nothing in line 4" in said


def test_words_among_numbers_are_refused(read, frame):
    (said,) = problems(read, frame.cast({"stw": pl.String}).with_columns(stw=pl.lit("fast")).head(3))
    assert "column 'stw': expected numbers, found 'fast' in line 2 (3 such values)" in said


@pytest.mark.parametrize("column", ["draft_aft_telegram", "draft_fore_telegram"])
def test_drafts_of_0_are_refused(read, frame, column):
    odd = set_to(set_to(frame, 9, **{column: 0.0}), 20, **{column: -1.0})
    (said,) = problems(read, odd)
    assert f"column {column!r}: expected a draft above 0 m, found 0.0 in line 11 (2 such values)" in said


def test_times_before_the_dry_dock_are_refused(read, frame):
    (said,) = problems(read, set_to(frame, 0, timeSinceDryDock=-5.0))
    assert "column 'timeSinceDryDock': expected minutes since dry dock, 0 or more, found -5.0 in line 2" in said


def test_doubts_about_units_and_clock_are_told_beside_single_values_that_are_wrong(read):
    wrong = records(3_000).with_columns(
        pl.col("stw") * 0.514444, pl.col("power") / 1000, pl.col("timeSinceDryDock") * 60
    )
    draft, *doubts = problems(read, set_to(wrong, 5, draft_aft_telegram=0.0))
    assert "expected a draft above 0 m" in draft
    said = " ".join(doubts)
    assert [f"looks like {unit}." in said for unit in ("MW", "m/s", "seconds")] == [True] * 3


def test_a_misspelt_column_is_told_with_the_nearest_name(read, frame):
    (said,) = problems(read, frame.rename({"stw": "stv"}))
    assert "expected a column 'stw', found none. Did you mean 'stv'?" in said


def test_an_index_that_stands_for_two_records_is_refused(read, frame):
    (said,) = problems(read, pl.concat([frame, frame[3:5], frame[3:4]]))
    assert f"column 'time_id': expected each once, found {frame['time_id'][3]} in 3 rows (2 such values)" in said


def test_a_signed_wind_across_is_kept_with_a_warning(read, frame):
    found = read(set_to(frame, 1, awind_ucomp_provider=-3.2))
    assert found.frame["awind_ucomp_provider"][1] == -3.2
    (said,) = found.warnings
    assert "expected a wind across of 0 kn or more, found -3.2 in line 3 (1 such value)" in said
    assert "take its absolute value" in said


@pytest.mark.parametrize(("factor", "unit"), [(60, "seconds"), (1 / 60, "hours"), (1 / 1440, "days")])
def test_a_clock_in_another_unit_is_told_by_how_fast_it_runs(frame, factor, unit):
    (said,) = checks.check_clock(frame.with_columns(pl.col("timeSinceDryDock") * factor), label="x").columns
    assert f"expected minutes, one for each 'time_id', found {factor:g} for each: it looks like {unit}." in said


@pytest.mark.parametrize(("factor", "unit"), [(60, "seconds"), (1 / 1440, "days")])
def test_of_median_and_clock_only_the_clock_tells_its_unit(read, frame, factor, unit):
    found = read(frame.with_columns(pl.col("timeSinceDryDock") * factor))
    assert not found.doubts.columns
    assert f"it looks like {unit}." in found.clock.columns[0]


def test_whole_days_in_place_of_minutes_are_told_beside_the_index_that_they_repeat(read):
    days = records(3_000).with_columns(
        pl.col("timeSinceDryDock") / 1440, time_id=(pl.col("time_id") / 1440).floor().cast(pl.Int64)
    )
    twice, unit = problems(read, days)
    assert "column 'time_id': expected each once" in twice
    assert "it looks like days. Multiply by 1,440." in unit


@pytest.mark.parametrize("factor", [1 / 60, 60])
def test_the_clock_of_a_generalisation_set_is_looked_at_for_its_unit_alone(tmp_path, frame, factor):
    frame.with_columns(pl.col("timeSinceDryDock") * factor).write_parquet(tmp_path / "far.parquet")
    found = reading.read(Source(tmp_path / "far.parquet"), voyage=False)
    assert found.clock.columns
    frame.with_columns(time_id=pl.lit(7)).write_parquet(tmp_path / "far.parquet")
    assert reading.read(Source(tmp_path / "far.parquet"), voyage=False).clock == Doubts()


@pytest.mark.parametrize("value", [1e19, -1e300, 9e18])
def test_an_index_too_large_to_count_is_told_as_what_it_is(read, frame, value):
    (said,) = problems(read, set_to(frame.cast({"time_id": pl.Float64}), 4, time_id=value))
    assert f"column 'time_id': expected whole numbers, found {value} in line 6 (1 such value)" in said


def test_a_clock_with_another_start_is_counted(frame):
    found = checks.check_clock(set_to(frame, 7, timeSinceDryDock=float(frame["time_id"][7]) + 99), label="x.csv")
    (said,) = found.values
    assert "expected timeSinceDryDock - time_id = 10,776 in every record" in said
    assert "found it otherwise in 1 of 400 (first 99)" in said


def test_an_empty_table_is_refused(read, frame):
    assert "expected rows, found none below the header" in problems(read, frame.head(0))[0]


@pytest.mark.needs_shared
@pytest.mark.parametrize("name", ["real_rows_15.csv", "synthetic_rows_5.csv"])
def test_genuine_rows_are_read_and_keep_the_published_time(shared, tmp_path, name):
    genuine = pl.read_csv(shared / "data/power" / name)
    genuine.drop(genuine.columns[-1]).write_csv(tmp_path / "rows.csv")
    found = reading.read(Source(tmp_path / "rows.csv"))
    assert found.frame.height == genuine.height
    assert not found.warnings
    assert found.doubts == found.clock == Doubts()


# Test sets


@pytest.fixture
def test_set(frame):
    return frame.drop("time_id").with_columns(remark=pl.lit("fine"), id=pl.int_range(pl.len()))


def test_a_test_set_needs_inputs_and_power_alone(frame, test_set):
    assert reading.check_test_set(test_set, label="x") == []
    assert reading.check_test_set(frame.with_columns(time_id=pl.lit(5)), label="x") == []
    assert reading.check_test_set(set_to(test_set, 3, power=None), label="x") == []  # what is not there is not scored


def test_all_that_is_wrong_with_a_test_set_is_told_at_once(test_set):
    wrong = set_to(set_to(test_set, 3, draft_aft_telegram=0.0), 5, rcurrent_vcomp=float("inf"))
    wrong = set_to(wrong, 6, awind_ucomp_provider=None)
    with pytest.raises(TableError, match="draft above 0 m") as caught:
        reading.check_test_set(wrong.with_columns(pl.col("stw") * 0.514444), label="x")
    said = "\n".join(caught.value.problems)
    assert "x: column 'draft_aft_telegram': expected a draft above 0 m, found 0.0 in row 4 (1 such value)" in said
    assert "x: column 'rcurrent_vcomp': expected finite numbers, found inf in row 6 (1 such value)" in said
    assert "x: column 'awind_ucomp_provider': expected a number in each row, found nothing in row 7" in said
    assert "x: column 'stw': expected a median from 10 to 28 kn" in said
    assert "looks like m/s. Multiply by 1.943844." in said


def test_a_test_set_with_another_clock_or_without_columns_is_refused(frame, test_set):
    with pytest.raises(TableError, match=r"looks like seconds\. Divide by 60"):
        reading.check_test_set(frame.with_columns(pl.col("timeSinceDryDock") * 60), label="x")
    with pytest.raises(TableError, match=r"x: expected a column 'stw', found none\. Did you mean 'stv'"):
        reading.check_test_set(test_set.rename({"stw": "stv"}), label="x")
    with pytest.raises(TableError, match=r"x: column 'stw': expected numbers, found String\. Convert it"):
        reading.check_test_set(test_set.with_columns(pl.col("stw").cast(pl.String)), label="x")


def test_what_is_odd_about_a_test_set_is_noted(test_set):
    (said,) = reading.check_test_set(set_to(test_set, 1, awind_ucomp_provider=-3.2), label="x")
    assert "expected a wind across of 0 kn or more, found -3.2 in row 2" in said
