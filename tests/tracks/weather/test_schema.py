import csv

import pytest

from shiftbench.tracks.weather import schema


def facts(shared, name):
    with (shared / "facts" / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.needs_shared
def test_columns_are_the_published_ones_in_the_published_order(shared):
    published = facts(shared, "schema/weather_columns.csv")
    found = [(c.name, c.kind, c.unit, c.source, c.description) for c in schema.COLUMNS]
    assert found == [(p["name"], p["kind"], p["unit"], p["nwp_source"], p["description"]) for p in published]
    assert [int(p["csv_position"]) for p in published] == list(range(1, 130))


@pytest.mark.needs_shared
def test_classes_are_the_published_ones(shared):
    published = facts(shared, "schema/precipitation_classes.csv")
    keys = ("class_index", "csv_code", "csv_code_status", "cloudiness", "precipitation")
    found = [(str(c.index), str(c.code), c.code_status, c.cloudiness, c.precipitation) for c in schema.CLASSES]
    assert found == [tuple(p[key] for key in keys) for p in published]


@pytest.mark.needs_shared
def test_counts_are_the_published_ones(shared):
    published = {line["partition"]: line for line in facts(shared, "counts/weather_partition.csv")}
    for partition, counts in schema.PARTITIONS.items():
        for name, count in counts.items():
            assert count == int(published[partition][name.replace(" ", "_")])
    assert set(published) - set(schema.PARTITIONS) == {"dev", "eval"}


def test_there_are_123_features_and_two_targets():
    assert len(schema.NAMES) == len(set(schema.NAMES)) == 129
    assert len(schema.FEATURES) == 123
    assert schema.TARGETS == (schema.TEMPERATURE, schema.CLASS)
    assert schema.META == (schema.TIME, schema.LATITUDE, schema.LONGITUDE, schema.CLIMATE)
    assert tuple(schema.TYPES) == schema.NAMES


def test_published_counts_add_up():
    for counts in schema.PARTITIONS.values():
        assert counts["total"] == sum(counts[name] for name in schema.CLIMATES)


def test_a_code_spells_cloudiness_and_precipitation():
    cloudiness = ("no clouds", "partly cloudy", "cloudy")
    precipitation = ("none", "rain", "sleet", "snow")
    for entry in schema.CLASSES:
        assert entry.code == 10 * cloudiness.index(entry.cloudiness) + precipitation.index(entry.precipitation)
    assert [entry.label for entry in schema.CLASSES][4:7] == ["partly cloudy, snow", "cloudy", "cloudy, rain"]


def test_every_feature_and_the_temperature_have_a_range_that_holds_its_medians():
    assert set(schema.RANGES) == {*schema.FEATURES, schema.TEMPERATURE}
    for name, expected in schema.RANGES.items():
        assert expected.low <= expected.median_low < expected.median_high <= expected.high, name


def test_columns_of_one_unit_in_two_scales_never_share_a_median():
    medians = {name: (r.median_low, r.median_high) for name, r in schema.RANGES.items()}
    celsius, kelvin = medians["gfs_temperature_sea"], medians["cmc_0_0_0_2"]
    mmhg, pascal = medians["gfs_pressure"], medians["wrf_psfc"]
    assert celsius[1] < kelvin[0]
    assert mmhg[1] < pascal[0]
