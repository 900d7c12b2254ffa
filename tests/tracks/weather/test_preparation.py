"""Prepared folders: what is refused, what is said, and that nothing is taken for what it is not."""

import json

import polars as pl
import pytest

from shiftbench.errors import TableError, UnknownNameError
from shiftbench.partition import verify
from shiftbench.track.intake.prepared_folder import form_of
from shiftbench.tracks.weather import definition, example, preparation, schema
from shiftbench.tracks.weather.preparation import open_prepared
from shiftbench.tracks.weather.schema import CLIMATE, TEMPERATURE, TIME

ROWS = 3_000


@pytest.fixture(scope="module")
def records():
    return example.table(ROWS, seed=3)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    return prepare(example.write(folder / "records.parquet", ROWS, 3), folder / "prepared")


def prepare(source, folder, *, experiment="A", climate=None):
    return preparation.prepare(source, folder, experiment=experiment, climate=climate)


def written(path, frame):
    frame.write_parquet(path)
    return path


def of_all(prepared):
    """All records of a prepared folder, the partitions in their order."""
    return pl.concat([pl.read_parquet(prepared.folder / f"{name}.parquet") for name in prepared.counts])


@pytest.fixture
def divided(tmp_path, whole):
    """A folder of partition files, as CSV."""
    folder = tmp_path / "files"
    folder.mkdir()
    for name in schema.PARTITIONS:
        frame = pl.read_parquet(whole.folder / f"{name}.parquet").drop("id")
        frame.write_csv(folder / f"shifts_canonical_{name}.csv")
    return folder


def test_a_prepared_folder_is_whole_and_says_that_it_is_an_example(whole):
    assert verify(whole.folder) == ()
    assert whole.origin == f"made-up example, {ROWS:,} rows, seed 3"
    assert whole == open_prepared(whole.folder)


def test_only_what_is_no_partition_of_its_own_is_prepared(whole, tmp_path):
    for source in (whole.folder, tmp_path / "killed"):
        if source != whole.folder:  # without its manifest it must not pass as the official files either
            source.mkdir()
            for file in whole.folder.iterdir():
                if file.name != "manifest.json":
                    (source / file.name).write_bytes(file.read_bytes())
        with pytest.raises(TableError, match="expected data to prepare, found a folder that is already prepared"):
            prepare(source, tmp_path / "again")


def test_train_and_dev_in_are_asked_for_by_name(divided, tmp_path):
    (divided / "shifts_canonical_dev_in.csv").unlink()
    with pytest.raises(
        TableError, match="expected the partitions train and dev_in at least, found only train, dev_out"
    ):
        prepare(divided, tmp_path / "prepared")


def test_partitions_that_are_not_there_are_said(divided, tmp_path):
    for name in ("dev_out", "eval_in", "eval_out"):
        (divided / f"shifts_canonical_{name}.csv").unlink()
    prepared = prepare(divided, tmp_path / "prepared")
    assert prepared.counts["eval_out"] == 0
    assert "eval_out: not there, so nothing is scored on it" in prepared.notes


def test_problems_of_all_partition_files_are_told_at_once(divided, tmp_path):
    for name, column in (("train", "sun_elevation"), ("eval_out", "gfs_humidity")):
        path = divided / f"shifts_canonical_{name}.csv"
        pl.read_csv(path).drop(column).write_csv(path)
    with pytest.raises(TableError, match="sun_elevation") as caught:
        prepare(divided, tmp_path / "prepared")
    assert [column in said for column, said in zip(("sun", "gfs"), caught.value.problems, strict=True)] == [True, True]


def test_records_of_train_in_another_partition_are_said(divided, records, tmp_path):
    train, dev = (divided / f"shifts_canonical_{name}.csv" for name in ("train", "dev_in"))
    pl.concat([pl.read_csv(dev), pl.read_csv(train).head(7)], how="vertical_relaxed").write_csv(dev)
    said = " ".join(prepare(divided, tmp_path / "one").notes)
    assert "records of the time, place and temperature of one in train: dev_in 7." in said
    doubled = prepare(written(tmp_path / "doubled.parquet", pl.concat([records, records])), tmp_path / "two")
    assert "of one in train: dev_in" in " ".join(doubled.notes)


def test_a_table_without_repeated_records_is_said_nothing_of_them(whole):
    assert "one in train" not in " ".join(whole.notes)


@pytest.fixture
def cells(tmp_path, records):
    """A table of one cell at each station, all of them dry."""
    places = records.select(schema.LONGITUDE, schema.LATITUDE).unique()
    at = ((pl.all() * 2).floor() / 2 + 0.25).round(2)
    grid = places.select(at).unique().rename({schema.LONGITUDE: "longitude", schema.LATITUDE: "latitude"})
    path = tmp_path / "cells.csv"
    grid.with_columns(koppen=pl.lit("BSk")).write_csv(path)
    return path


def test_climates_are_looked_up_where_and_only_where_they_are_missing(records, cells, tmp_path):
    some = pl.int_range(pl.len()) % 3 == 0
    for name, empty in (("nothing", None), ("", "")):
        frame = records.with_columns(pl.when(some).then(pl.lit(empty)).otherwise(CLIMATE).alias(CLIMATE))
        path = written(tmp_path / f"{name}.parquet", frame)
        found = of_all(prepare(path, tmp_path / f"of{name}", climate=cells)).filter(pl.col("id") <= ROWS).sort("id")
        wanted = records.with_columns(pl.when(some).then(pl.lit("dry")).otherwise(CLIMATE).alias(CLIMATE))
        assert found[CLIMATE].to_list() == wanted[found["id"] - 1][CLIMATE].to_list()


def test_partition_files_without_climates_get_them_too(divided, cells, tmp_path):
    for file in divided.iterdir():
        pl.read_csv(file).drop(CLIMATE).write_csv(file)
    assert set(of_all(prepare(divided, tmp_path / "prepared", climate=cells))[CLIMATE]) == {"dry"}


def test_missing_climates_are_refused_by_the_name_of_the_users_table(records, tmp_path):
    path = written(tmp_path / "mine.parquet", records.drop(CLIMATE))
    with pytest.raises(TableError, match=r"mine\.parquet: expected a climate in every row, found none in 3,000"):
        prepare(path, tmp_path / "prepared")


def test_a_table_without_one_of_the_climates_is_told_of_other_rules(records, tmp_path):
    path = written(tmp_path / "mine.parquet", records.filter(~pl.col(CLIMATE).is_in(["snow", "polar"])))
    with pytest.raises(TableError, match=r"found none of snow, polar.*shiftbench partition"):
        prepare(path, tmp_path / "prepared")


def test_a_column_without_any_value_may_be_of_no_type(records, tmp_path):
    path = written(tmp_path / "mine.parquet", records.with_columns(pl.lit(None).alias("wrf_psfc")))
    assert of_all(prepare(path, tmp_path / "prepared"))["wrf_psfc"].is_null().all()


def test_a_time_that_is_no_number_is_told_what_it_should_be(records, tmp_path):
    path = written(tmp_path / "mine.parquet", records.with_columns(pl.from_epoch(TIME)))
    with pytest.raises(TableError, match="'fact_time': expected Unix seconds as numbers, found Datetime"):
        prepare(path, tmp_path / "prepared")


def test_the_size_of_dev_in_is_not_told_before_an_experiment_added_to_it(records, tmp_path):
    path = written(tmp_path / "mine.parquet", records)
    assert any("dev_in has only 15" in note for note in prepare(path, tmp_path / "a").notes)
    assert not any("dev_in has only" in note for note in prepare(path, tmp_path / "d", experiment="D").notes)


def test_another_experiment_is_refused(whole, tmp_path):
    with pytest.raises(UnknownNameError, match="Unknown experiment 'Z'"):
        prepare(whole.folder, tmp_path, experiment="Z")


@pytest.mark.parametrize("entries", [{}, {"origin": "official"}, {"origin": 1, "notes": []}])
def test_a_damaged_description_is_no_traceback(whole, tmp_path, entries):
    (tmp_path / "manifest.json").write_bytes((whole.folder / "manifest.json").read_bytes())
    (tmp_path / "data.json").write_text(json.dumps({"format": form_of("weather"), **entries}))
    with pytest.raises(TableError, match="expected an origin and notes, found it damaged"):
        open_prepared(tmp_path)


def test_the_targets_of_records_are_untouched(whole, records):
    found = of_all(whole).filter(pl.col("id") <= ROWS)
    assert found[TEMPERATURE].equals(records[found["id"] - 1][TEMPERATURE])


def test_a_forecast_without_any_value_is_no_baseline_of_a_run(whole, records, tmp_path):
    regression, _ = definition.TASKS
    path = written(tmp_path / "mine.parquet", records.with_columns(pl.lit(None).alias("wrf_t2_interpolated")))
    for prepared, wanted in ((whole, ["GFS", "CMC", "WRF"]), (prepare(path, tmp_path / "prepared"), ["GFS", "CMC"])):
        chosen = definition.settings(prepared, regression, preset="quick", seed=0).methods
        assert [entry["title"] for entry in chosen if entry["name"] == "column"] == wanted
