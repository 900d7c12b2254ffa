"""Prepared folders: what is refused, what is said, and that nothing is taken for what it is not."""

import hashlib
import json
import shutil
import zipfile

import polars as pl
import pytest

from shiftbench.errors import TableError, UnknownNameError
from shiftbench.methods import method
from shiftbench.partition import verify
from shiftbench.track import RunOptions
from shiftbench.track.intake.sources import Source
from shiftbench.tracks import track
from shiftbench.tracks.power import baselines, definition, outside, partitions, preparation, published, reading, schema
from shiftbench.tracks.power.physics.valid_ranges import ANY
from tests.tracks.power.made import records, set_to

ROWS = 8_000
ORIGIN = f"example power rows={ROWS} seed=0"
TASK = definition.TASKS[0]


def prepare(source, folder, *, experiment="canonical"):
    return preparation.prepare(source, folder, experiment=experiment)


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """A folder of the form that `shiftbench example power` writes."""
    folder = tmp_path_factory.mktemp("example")
    told = {"shiftbench": ORIGIN, **outside.metadata({f"waves{ANY}": 0.5})}
    records(ROWS).write_parquet(folder / "records.parquet", metadata=told)
    scored = records(1000, seed=1).with_columns(time_id=pl.lit(5))  # its records are of no voyage
    scored.write_parquet(folder / "generalization.parquet", metadata={"shiftbench": ORIGIN})
    return folder


@pytest.fixture(scope="module")
def whole(example, tmp_path_factory):
    return prepare(example, tmp_path_factory.mktemp("whole") / "prepared")


@pytest.fixture
def divided(tmp_path, whole):
    """A folder of partition files, as CSV."""
    folder = tmp_path / "synthetic_data"
    folder.mkdir()
    for name in schema.PARTITIONS:
        pl.read_parquet(whole.folder / f"{name}.parquet").select(schema.NAMES).write_csv(folder / f"{name}.csv")
    return folder


@pytest.fixture
def as_published(monkeypatch, whole):
    """Let the counts of the made-up partitions be the published ones of a data set."""

    def let(data):
        for name in schema.PARTITIONS:
            found = partitions.wind_counts(pl.read_parquet(whole.folder / f"{name}.parquet"))
            monkeypatch.setitem(schema.COUNTS[data], name, found)

    return let


# An example


def test_an_example_becomes_a_whole_folder_that_says_what_it_is(whole):
    assert verify(whole.folder) == ()
    assert whole.origin == f"made-up example, {ROWS:,} rows, seed 0"
    assert whole == preparation.open_prepared(whole.folder)
    assert whole == track("power").open_prepared(whole.folder)
    assert any("too few records for the published counts" in note for note in whole.notes)
    assert any("intervals resample whole days" in note for note in whole.notes)
    ranges = [note for note in whole.notes if "extrapolate beyond their ranges" in note]
    assert [(note.split(":")[0], note.rsplit(": ")[-1]) for note in ranges] == [("records", "waves 50.0 %")]


def test_records_keep_their_values_and_are_named_by_their_index(whole):
    parts = pl.concat([pl.read_parquet(whole.folder / f"{name}.parquet") for name in whole.counts])
    assert tuple(parts.columns) == preparation.COLUMNS
    assert (parts["id"] == parts["time_id"]).all()
    found = records(ROWS).filter(pl.col("time_id").is_in(parts["id"].implode()))
    assert parts.sort("id").select(schema.NAMES).equals(found)


def test_the_generalisation_set_is_taken_along_and_only_scored(whole):
    found = pl.read_parquet(whole.folder / "generalization.parquet")
    assert found.columns == ["id", *schema.NAMES, "wind_kn", "wind_interval"]
    assert found["id"].to_list() == list(range(1, 1001))
    assert found.select(schema.INPUTS).equals(records(1000, seed=1).select(schema.INPUTS))
    assert preparation.test_sets(whole.folder) == {"generalization": str(whole.folder / "generalization.parquet")}
    assert "generalization.parquet" in json.loads((whole.folder / "manifest.json").read_text())["files"]


def test_a_generalisation_set_that_nobody_checked_is_refused(tmp_path):
    records(ROWS).write_csv(tmp_path / "mine.csv")
    prepared = prepare(tmp_path / "mine.csv", tmp_path / "prepared")
    records(1000, seed=1).with_columns(pl.col("stw") * 0.514).write_parquet(prepared.folder / "generalization.parquet")
    with pytest.raises(TableError, match="found one that the manifest does not name"):
        definition.settings(prepared, TASK, preset="quick", seed=0)


@pytest.mark.parametrize("divide", [False, True])
def test_a_time_that_no_calendar_holds_is_refused_and_not_divided(tmp_path, divided, divide):
    if divide:
        frame = pl.read_csv(divided / "dev_in.csv", schema=schema.TYPES)
        set_to(frame, 1, timeSinceDryDock=1e300).write_csv(divided / "dev_in.csv")
    else:
        set_to(records(ROWS), 1, timeSinceDryDock=1e300).write_parquet(tmp_path / "mine.parquet")
    with pytest.raises(
        TableError, match=r"'timeSinceDryDock': expected values from .*, found 1e\+300 in row 2, which no ship"
    ):
        prepare(divided if divide else tmp_path / "mine.parquet", tmp_path / "prepared")


def test_a_note_without_end_is_a_damaged_one(tmp_path, whole):
    folder = shutil.copytree(whole.folder, tmp_path / "copy")
    (folder / "data.json").write_text("[" * 100_000)
    with pytest.raises(TableError, match="expected a file written by `shiftbench prepare power`"):
        preparation.open_prepared(folder)


def test_a_table_alone_has_no_generalisation_set(tmp_path):
    records(ROWS).write_csv(tmp_path / "mine.csv")
    prepared = prepare(tmp_path / "mine.csv", tmp_path / "prepared")
    assert prepared.origin == "table mine.csv"
    assert preparation.test_sets(prepared.folder) == {}
    assert definition.settings(prepared, TASK, preset="quick", seed=0).test_sets == {}


def test_all_units_that_are_wrong_are_named_at_once(tmp_path):
    wrong = records(ROWS).with_columns(pl.col("stw") * 0.514444, pl.col("power") / 1000)
    wrong.write_csv(tmp_path / "mine.csv")
    with pytest.raises(TableError, match=r"looks like m/s") as caught:
        prepare(tmp_path / "mine.csv", tmp_path / "prepared")
    power, speed, others = caught.value.problems
    assert ("'power'" in power, "'stw'" in speed, "others often are" in others) == (True, True, True)


def test_a_clock_that_does_not_hold_is_noted_with_the_count(tmp_path):
    set_to(records(ROWS), 3, timeSinceDryDock=11_000.0).write_csv(tmp_path / "mine.csv")
    notes = " ".join(prepare(tmp_path / "mine.csv", tmp_path / "prepared").notes)
    assert "expected timeSinceDryDock - time_id = 10,776 in every record" in notes
    assert "otherwise in 1 of 8,000" in notes


def test_the_generalisation_set_is_checked_too(tmp_path, example):
    (tmp_path / "records.parquet").write_bytes((example / "records.parquet").read_bytes())
    set_to(records(1000), 7, draft_aft_telegram=0.0).write_csv(tmp_path / "generalization.csv")
    with pytest.raises(
        TableError, match=r"generalization\.csv: column 'draft_aft_telegram': expected a draft above 0 m"
    ):
        prepare(tmp_path, tmp_path / "prepared")


def test_problems_of_records_and_generalisation_set_are_told_together(tmp_path, example):
    set_to(records(ROWS), 7, draft_aft_telegram=0.0).write_csv(tmp_path / "records.csv")
    metres = records(1000, seed=1).with_columns(pl.col("stw") * 0.514444, time_id=pl.lit(5))
    metres.write_parquet(tmp_path / "generalization.parquet")
    with pytest.raises(TableError, match="draft above 0 m") as caught:
        prepare(tmp_path, tmp_path / "prepared")
    assert "generalization.parquet: column 'stw'" in caught.value.problems[1]


def test_a_test_set_beside_the_partitions_is_checked_before_anything_is_trained(tmp_path, whole):
    metres = records(1000, seed=1).with_columns(pl.col("stw") * 0.514444)
    metres.write_parquet(tmp_path / "mine.parquet")
    set_to(records(1000, seed=2), 7, draft_fore_telegram=0.0).write_csv(tmp_path / "other.csv")
    options = RunOptions(
        "quick", test_sets={"mine": str(tmp_path / "mine.parquet"), "other": str(tmp_path / "other.csv")}
    )
    with pytest.raises(TableError, match=r"test set mine: mine\.parquet: column 'stw'.*looks like m/s") as caught:
        definition.TRACK.run(whole, [TASK], options, folder=tmp_path / "run", cores=1, progress=None)
    assert "test set other: other.csv: column 'draft_fore_telegram'" in caught.value.problems[-1]
    assert not (tmp_path / "run").exists()


# Partition files


def test_partition_files_with_other_counts_are_not_official(divided, whole, tmp_path):
    prepared = prepare(divided, tmp_path / "prepared")
    assert prepared.origin == "partition files"
    assert verify(prepared.folder) == ()
    assert f"dev_out: {whole.counts['dev_out']} records, published (synthetic) 18,108" in prepared.notes
    assert any(note.startswith("train by true wind speed, published in brackets: 1: 0 to 9") for note in prepared.notes)


@pytest.mark.parametrize("data", ["real", "synthetic"])
def test_partition_files_with_the_published_counts_are_official(divided, tmp_path, as_published, monkeypatch, data):
    monkeypatch.setattr(published, "STATISTICS", {})
    monkeypatch.setattr(schema, "FILES", {})
    as_published(data)
    prepared = prepare(divided, tmp_path / "prepared")
    assert prepared.origin == f"official, {data}"
    assert [note.split(":")[0] for note in prepared.notes] == [*schema.PARTITIONS, preparation.BY_DESIGN.split(":")[0]]
    rules = json.loads((prepared.folder / "manifest.json").read_text())["rules"]
    assert rules["made"] == "as published: Shifts 2.0, Appendix D.1"


def test_real_files_with_other_statistics_are_not_official(divided, tmp_path, as_published):
    as_published("real")
    prepared = prepare(divided, tmp_path / "prepared")
    assert prepared.origin == "partition files"
    mean, spread = (note for note in prepared.notes if note.startswith("column 'stw'"))
    assert mean.startswith("column 'stw' of train, dev_in, dev_out: mean 1")
    assert mean.endswith(", known is 17.2102 (real data)")
    assert spread.endswith(", known is 2.92415 (real data)")


def test_synthetic_files_may_differ_from_the_real_statistics_by_noise_alone(divided, tmp_path, as_published):
    as_published("synthetic")
    assert prepare(divided, tmp_path / "one").origin == "official, synthetic"
    for name in schema.PARTITIONS:
        path = divided / f"{name}.csv"
        pl.read_csv(path).with_columns(pl.col("stw") * 0.514444).write_csv(path)
    with pytest.raises(TableError, match=r"column 'stw': expected a median from 10 to 28 kn, found .*looks like m/s"):
        prepare(divided, tmp_path / "two")


def test_files_that_are_not_the_known_ones_are_said(divided, tmp_path, as_published, whole):
    as_published("synthetic")
    notes = " ".join(prepare(divided, tmp_path / "prepared").notes)
    assert "train: SHA-256 " in notes
    assert "that of the known copy is c445eb9560fa…" in notes


def test_the_known_file_is_known_wherever_it_lies(divided, tmp_path, monkeypatch):
    data = (divided / "train.csv").read_bytes()
    monkeypatch.setitem(schema.FILES, ("real", "train"), schema.File(len(data), hashlib.sha256(data).hexdigest()))
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(divided / "train.csv", "real_data/train.csv")
    for source in (
        Source(divided / "train.csv", "train"),
        Source(tmp_path / "a.zip", "train", "real_data/train.csv"),
    ):
        assert reading.presumed(source, "real") is None
        assert "another edition" in str(reading.presumed(source, "synthetic"))


def test_partitions_that_are_not_there_are_said(divided, tmp_path):
    for name in ("dev_out", "eval_in", "eval_out"):
        (divided / f"{name}.csv").unlink()
    prepared = prepare(divided, tmp_path / "prepared")
    assert prepared.counts["eval_out"] == 0
    assert "eval_out: not there, so nothing is scored on it" in prepared.notes


def test_train_and_dev_in_are_asked_for(divided, tmp_path):
    (divided / "dev_in.csv").unlink()
    with pytest.raises(TableError, match=r"expected the partitions train and dev_in at least.*Add dev_in"):
        prepare(divided, tmp_path / "prepared")


def test_a_record_in_two_partitions_is_refused_by_both_names(divided, tmp_path):
    train, dev = (divided / f"{name}.csv" for name in ("train", "dev_in"))
    pl.concat([pl.read_csv(dev), pl.read_csv(train).head(2)]).write_csv(dev)
    with pytest.raises(TableError, match=r"'time_id': expected each in one partition, found \d+ in train and dev_in"):
        prepare(divided, tmp_path / "prepared")


def test_problems_of_all_files_are_told_at_once(divided, tmp_path):
    for name, column in (("train", "stw"), ("eval_out", "power")):
        path = divided / f"{name}.csv"
        pl.read_csv(path).drop(column).write_csv(path)
    with pytest.raises(TableError, match="'stw'") as caught:
        prepare(divided, tmp_path / "prepared")
    assert [column in said for column, said in zip(("stw", "power"), caught.value.problems, strict=True)] == [True] * 2


def test_official_files_are_only_warned_of_their_units(divided, tmp_path, as_published):
    path = divided / "eval_in.csv"
    pl.read_csv(path).with_columns(pl.col("awind_vcomp_provider") * 0.514444).write_csv(path)
    with pytest.raises(TableError, match="column 'awind_vcomp_provider': expected a median from"):
        prepare(divided, tmp_path / "refused")
    as_published("synthetic")
    assert any("expected a median from" in note for note in prepare(divided, tmp_path / "prepared").notes)


# What is refused


def test_a_prepared_folder_is_not_prepared_again(whole, tmp_path):
    with pytest.raises(TableError, match="found a folder that is already prepared"):
        prepare(whole.folder, tmp_path / "again")


def test_the_folder_of_another_track_is_no_prepared_one(whole):
    with pytest.raises(TableError, match="expected 'shiftbench weather data 1', found another format"):
        track("weather").open_prepared(whole.folder)


def test_other_experiments_are_refused(example, tmp_path):
    with pytest.raises(UnknownNameError, match="Unknown experiment 'A'"):
        prepare(example, tmp_path, experiment="A")


# The settings of a run


@pytest.mark.parametrize("preset", baselines.PRESETS)
def test_the_settings_of_a_run_name_inputs_days_and_slices(whole, preset):
    found = definition.settings(whole, TASK, preset=preset, seed=3)
    assert set(preparation.COLUMNS) - set(found.drop) - {"id", "power"} == set(schema.INPUTS)
    assert (found.clusters, found.slices) == (("day",), ("wind_interval", "half_year"))
    assert found.threshold == 250_000
    assert found.assessment.rule == "mixed"
    assert list(found.test_sets) == ["generalization"]
    assert found.track == {"name": "power", "origin": whole.origin, "experiment": "canonical", "preset": preset}
    assert [entry["title"] for entry in found.methods] == ["DNN", "MC-dropout", "VI", "Symbolic"]


@pytest.mark.parametrize("preset", baselines.PRESETS)
def test_the_settings_of_a_preset_are_settings_of_its_methods(preset):
    pytest.importorskip("torch")
    for entry in baselines.methods(preset, task="regression"):
        own = {key: value for key, value in entry.items() if key not in ("name", "title")}
        chosen = method(entry["name"]).Settings.from_dict({"task": "regression", **own})
        assert chosen.members == 10


def test_the_paper_preset_has_the_printed_settings():
    pytest.importorskip("torch")
    for name in ("mlp", "mlp_dropout", "mlp_flipout"):
        chosen = method(name).Settings(task="regression")
        found = (chosen.hidden, chosen.learning_rate, chosen.batch, chosen.members, chosen.most_steps)
        assert found == ((50, 20), 1e-4, 32, 10, None)


def test_unknown_presets_and_tasks_are_named():
    with pytest.raises(UnknownNameError, match="Unknown preset 'full'"):
        baselines.methods("full", task="regression")
    with pytest.raises(UnknownNameError, match="Unknown task 'classification'"):
        baselines.methods("quick", task="classification")
