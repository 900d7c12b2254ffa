import csv

import pytest

from shiftbench.tracks.power import archives, schema


def facts(shared, name):
    with (shared / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.needs_shared
def test_columns_are_the_published_ones(shared):
    published = {line["name"]: line for line in facts(shared, "facts/schema/power_columns.csv")}
    for column in schema.COLUMNS:
        line = published.pop(column.name)
        found = (column.kind, column.unit, column.description, column.source)
        assert found == (line["kind"], line["unit"], line["description"], line["origin"])
    assert list(published) == ["power_synth"]
    assert schema.FORM.other_names["power_synth"] == "power"


@pytest.mark.needs_shared
def test_counts_are_those_of_tables_17_and_18(shared):
    for line in facts(shared, "facts/counts/power_partition.csv"):
        if line["partition"] in schema.PARTITIONS:
            found = schema.COUNTS[line["dataset"]][line["partition"]]
            assert found == tuple(int(line[f"group_{number}"]) for number in range(1, 5))
            assert schema.total(line["dataset"], line["partition"]) == int(line["total"])


@pytest.mark.needs_shared
def test_intervals_are_those_of_table_16(shared):
    published = facts(shared, "facts/counts/power_wind_intervals.csv")
    found = [(str(entry.number), f"{entry.low_kn:g}", entry.beaufort) for entry in schema.INTERVALS]
    assert found == [(line["interval"], line["min_kn"], line["beaufort"]) for line in published]
    for entry, following in zip(schema.INTERVALS[:-1], schema.INTERVALS[1:], strict=True):
        assert entry.high_kn == following.low_kn


@pytest.mark.needs_shared
def test_statistics_and_hashes_are_the_known_ones(shared):
    known = {line["feature"]: line for line in facts(shared, "data/power/real_all_describe.csv")}
    assert {name: (float(line["mean"]), float(line["std"])) for name, line in known.items()} == schema.STATISTICS
    lines = (shared / "data/power/csv_sizes_sha256_in_propelsense_lfs.txt").read_text().split("\n")
    for path, size, digest in map(str.split, filter(None, lines)):
        data, partition = path.removesuffix(".csv").split("_data/")
        assert schema.FILES[data, partition] == schema.File(int(size), digest)
    assert len(schema.FILES) == 6


def test_there_are_ten_inputs_one_index_and_one_target():
    assert len(schema.INPUTS) == 10
    assert (schema.TIME_ID, *schema.INPUTS, schema.POWER) == schema.NAMES
    assert tuple(schema.TYPES) == schema.NAMES


def test_published_totals_of_the_synthetic_set():
    totals = [schema.total("synthetic", name) for name in ("train", "dev_in", "dev_out", "eval_in", "eval_out")]
    assert totals == [523_190, 18_108, 18_108, 46_021, 46_021]
    assert schema.PARTITIONS == ("train", "dev_in", "dev_out", "eval_in", "eval_out")


def test_labels_of_intervals_sort_as_the_speeds_do():
    labels = [entry.label for entry in schema.INTERVALS]
    assert labels == sorted(labels) == ["1: 0 to 9 kn", "2: 9 to 14 kn", "3: 14 to 19 kn", "4: from 19 kn"]


def test_every_input_and_the_target_have_a_range_that_holds_its_median():
    assert set(schema.RANGES) == {*schema.INPUTS, schema.POWER}
    for name, expected in schema.RANGES.items():
        assert expected.low <= expected.median_low < expected.median_high <= expected.high, name


def test_the_known_means_lie_where_medians_may():
    for name, expected in schema.RANGES.items():
        mean, _ = schema.STATISTICS[name]
        assert expected.median_low <= mean <= expected.median_high, name


def test_the_archive_is_a_zip_under_its_licence():
    (archive,) = archives.ARCHIVES
    assert archive.file == "power_consumption_upload.zip"
    assert archive.url.endswith(archive.file)
    assert archive.licence.name == "CC BY-NC-SA 4.0"
    assert archive.then is not None
    assert "prepare power x.zip" in archive.then.format(path="x.zip", folder=".")
