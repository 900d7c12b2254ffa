import polars as pl
import pytest

from shiftbench.errors import TableError
from shiftbench.track.intake.units import mistake
from shiftbench.tracks.weather import example, schema
from shiftbench.tracks.weather.ranges import check_ranges, check_test_set
from shiftbench.tracks.weather.units import MISTAKES

# A column for each unit that the paper leaves no doubt about, a unit that it was written in by mistake (value → wrong
# value), and what should be advised.
WRONG = [
    ("gfs_temperature_sea", pl.col("gfs_temperature_sea") + 273.15, "it looks like kelvin. Subtract 273.15."),
    ("fact_temperature", pl.col("fact_temperature") + 273.15, "it looks like kelvin. Subtract 273.15."),
    ("fact_temperature", pl.col("fact_temperature") * 1.8 + 32, "it looks like degrees Fahrenheit. Subtract 32 and"),
    ("cmc_0_0_0_850", pl.col("cmc_0_0_0_850") - 273.15, "it looks like degrees Celsius. Add 273.15."),
    ("wrf_t2", pl.col("wrf_t2") - 273.15, "it looks like degrees Celsius. Add 273.15."),
    ("cmc_0_0_0_2_grad", pl.col("cmc_0_0_0_2"), "Check its unit."),
    ("climate_pressure", pl.col("climate_pressure") * 1.33322, "it looks like hPa. Multiply by 0.750062."),
    ("gfs_pressure", pl.col("gfs_pressure") * 133.322, "it looks like Pa. Multiply by 0.00750062."),
    ("cmc_0_3_1_0", pl.col("cmc_0_3_1_0") / 100, "it looks like hPa. Multiply by 100."),
    ("wrf_psfc", pl.col("wrf_psfc") / 133.322, "it looks like mmHg. Multiply by 133.322."),
    ("gfs_humidity", pl.col("gfs_humidity") / 100, "it looks like fractions of 1. Multiply by 100."),
    ("wrf_rh2", pl.col("wrf_rh2") * 100, "it looks like percent. Divide by 100."),
    ("cmc_0_3_5_500", pl.col("cmc_0_3_5_500") * 9.80665, "it looks like geopotential in m²/s². Divide by 9.80665."),
    ("cmc_0_3_5_500", pl.col("cmc_0_3_5_500") / 10, "it looks like decametres. Multiply by 10."),
]
DOUBTFUL = [
    ("cmc_0_1_65_0", pl.col("cmc_0_1_65_0") / 1000, "it may be in metres. Multiply by 1,000 if so."),
    ("gfs_total_clouds_cover_low", pl.col("gfs_total_clouds_cover_low") / 100, "it may be in fractions of 1."),
    ("cmc_0_6_1_0", pl.col("cmc_0_6_1_0") / 100, "it may be in fractions of 1."),
    ("sun_elevation", pl.col("sun_elevation") / 57.29578, "it may be in radians."),
    ("gfs_horizon_h", pl.col("gfs_horizon_h") * 3600, "it looks like seconds. Divide by 3,600."),
]


@pytest.fixture(scope="module")
def frame():
    return example.table(4_000, seed=3)


def doubts(frame, tmp_path):
    frame.write_parquet(tmp_path / "table.parquet")
    return check_ranges(tmp_path / "table.parquet", label="table")


def test_a_table_in_the_right_units_leaves_no_doubts(frame, tmp_path):
    found = doubts(frame, tmp_path)
    assert not found.columns
    assert not found.values


@pytest.mark.parametrize(("name", "wrong", "advice"), WRONG)
def test_a_column_in_the_wrong_unit_is_named_with_its_unit(frame, tmp_path, name, wrong, advice):
    found = doubts(frame.with_columns(wrong.alias(name)), tmp_path)
    assert len(found.columns) == 1
    assert f"table: column {name!r}: expected" in found.columns[0]
    assert advice in found.columns[0]


@pytest.mark.parametrize(("name", "wrong", "advice"), DOUBTFUL)
def test_where_the_paper_leaves_doubt_about_a_unit_it_is_a_warning(frame, tmp_path, name, wrong, advice):
    found = doubts(frame.with_columns(wrong.alias(name)), tmp_path)
    assert not found.columns
    assert len(found.values) == 1
    assert repr(name) in found.values[0]
    assert advice in found.values[0]


def test_a_single_odd_value_is_a_warning_with_its_count(frame, tmp_path):
    odd = pl.when(pl.int_range(pl.len()) == 7).then(999.0).otherwise(pl.col("gfs_temperature_sea"))
    found = doubts(frame.with_columns(gfs_available=1.0, gfs_temperature_sea=odd), tmp_path)
    assert not found.columns
    said = next(said for said in found.values if "gfs_temperature_sea'" in said)
    assert said.startswith("table: column 'gfs_temperature_sea': expected values from ")
    assert "found 999 (1 of 3,928 outside)." in said


def test_many_odd_values_condemn_the_column_even_if_its_median_is_right(frame, tmp_path):
    odd = pl.when(pl.int_range(pl.len()) % 10 == 0).then(999.0).otherwise(pl.col("fact_temperature"))
    found = doubts(frame.with_columns(fact_temperature=odd), tmp_path)
    assert "found 999 (400 of 4,000 outside)" in found.columns[0]


def test_what_stands_where_a_model_was_not_there_is_no_forecast(frame, tmp_path):
    zeros = frame.with_columns(wrf_available=0.0, wrf_t2=0.0, wrf_psfc=-9999.0)
    assert not doubts(zeros, tmp_path).columns


def test_a_column_without_any_value_is_no_column_in_another_unit(frame, tmp_path):
    assert not doubts(frame.with_columns(pl.lit(None, pl.Float32).alias("wrf_t2")), tmp_path).columns


@pytest.mark.parametrize("name", ["fact_temperature", "cmc_0_0_0_2", "gfs_pressure", "wrf_psfc", "gfs_humidity"])
def test_no_right_column_is_taken_for_another_unit_turned_back(frame, name):
    unit = next(column.unit for column in schema.COLUMNS if column.name == name)
    expected = schema.RANGES[name]
    low, median, high = (frame[name].quantile(place) for place in (0.05, 0.5, 0.95))
    for entry in MISTAKES[unit]:
        wrong = [(value - entry.offset) / entry.factor for value in (low, median, high)]
        assert mistake(MISTAKES[unit], expected, wrong) == entry


def test_a_test_set_in_another_unit_is_refused_whatever_columns_it_has(frame):
    part = frame.select("gfs_temperature_sea", "wrf_t2", "fact_temperature")
    assert check_test_set(part, label="x") == []
    wrong = part.with_columns(pl.col("fact_temperature") + 273.15, pl.col("wrf_t2") - 273.15)
    with pytest.raises(TableError, match=r"x: column 'fact_temperature'.*looks like kelvin") as caught:
        check_test_set(wrong, label="x")
    assert "x: column 'wrf_t2'" in caught.value.problems[1]


@pytest.mark.parametrize("place", ["tropical", "polar", "dry"])
def test_a_test_set_of_one_climate_or_of_few_records_is_not_refused(frame, place):
    own = frame.filter(pl.col("climate") == place)
    assert own.height
    check_test_set(own, label="x")
    check_test_set(own.head(3), label="x")


def test_what_is_odd_about_a_test_set_but_no_known_unit_is_noted(frame):
    odd = frame.with_columns(cmc_0_0_0_2_grad=pl.col("cmc_0_0_0_2"))
    assert any("'cmc_0_0_0_2_grad'" in said for said in check_test_set(odd, label="x"))
