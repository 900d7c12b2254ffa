"""Prepared folders: the same bytes in every way of making them, nothing made twice, and what is refused."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import tarfile

import numpy as np
import pytest

from shiftbench.errors import ShiftbenchError, TableError, UnknownNameError
from shiftbench.io.executor import processes
from shiftbench.io.output import alone
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared import preparation, request_table, shard_making, staging
from shiftbench.tracks.motion.prepared.manifest import read_manifest, scene_file
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.motion.scenes.scene import scene_of, write_scene
from tests.tracks.motion import made_parts
from tests.tracks.motion.made_parts import DRY, MOSCOW, PLACES, RAIN, tree, write

SMALL = MapSettings.of(size=32, metres_per_pixel=2.0)
SERIAL = {"executor": "serial", "settings": SMALL, "scenes_per_shard": 2}
COUNTS = {"train": 2, "dev_in": 1, "dev_out": 1, "eval_in": 1, "eval_out": 1}


def prepare(source, folder, **others):
    return preparation.prepare(source, folder, **SERIAL | others)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write(tmp_path_factory.mktemp("made"))


@pytest.fixture
def source(made, tmp_path):
    return shutil.copytree(made, tmp_path / "source")


@pytest.fixture(scope="module")
def prepared(made, tmp_path_factory):
    """Prepared one item after another, with what was said of progress."""
    said = []
    folder = tmp_path_factory.mktemp("whole") / "prepared"
    done = prepare(made, folder, progress=lambda *progress: said.append(progress))
    assert said == [("draw and pack shards", number, 5) for number in range(1, 6)]
    return done


def test_requests_are_divided_and_counted(prepared):
    assert prepared.counts == COUNTS
    assert prepared.origin == preparation.UNKNOWN_ORIGIN
    assert prepared.notes == ()
    assert prepared.unused == {
        "scenes of train in Moscow, precipitation: Rain": 1,
        "scenes of unknown city or precipitation": 1,
        request_table.NO_FUTURE: 6,
    }
    assert preparation.open_prepared(prepared.folder) == prepared
    assert {path.name for path in prepared.folder.iterdir()} == {
        "manifest.json",
        "requests.parquet",
        "scenes.json",
        "shards",
    }


def test_the_manifest_counts_tags_as_the_published_tables_do(prepared):
    manifest = read_manifest(prepared.folder)
    assert manifest["scenes"] == COUNTS
    tags = manifest["tags"]["eval_out"]
    assert tags["location"] == {"Moscow": 0, "Skolkovo": 0, "Innopolis": 0, "Ann Arbor": 0, "Modiin": 0, "Tel Aviv": 1}
    assert tags["precipitation"] == {"No": 0, "Rain": 0, "Sleet": 1, "Snow": 0}
    assert (tags["maneuver"]["Move Forward"], tags["maneuver"]["Uniform Movement"]) == (1, 1)
    assert sum(tags["maneuver"].values()) == 2
    assert [shard["requests"] for shard in manifest["shards"]] == [1, 1, 2, 2, 0]


def test_the_published_partition_drops_sleet(made, tmp_path):
    done = prepare(made, tmp_path / "prepared", experiment="published")
    assert done.counts == COUNTS | {"eval_out": 0}
    assert done.unused["scenes of eval in Tel Aviv, precipitation: Sleet"] == 1


def test_a_flat_folder_is_divided_by_its_tags(made, tmp_path):
    flat = shutil.copytree(made / "eval", tmp_path / "scenes")
    assert prepare(flat, tmp_path / "prepared").counts == dict.fromkeys(COUNTS, 0) | {"eval_in": 1, "eval_out": 1}


# --- the same bytes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 3])
def test_processes_give_the_same_bytes(made, prepared, workers, tmp_path):
    prepare(made, tmp_path / "prepared", executor="processes", workers=workers)
    assert tree(tmp_path / "prepared") == tree(prepared.folder)


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_a_local_ray_cluster_gives_the_same_bytes(made, prepared, tmp_path):
    prepare(made, tmp_path / "prepared", executor="ray=local", workers=2)
    assert tree(tmp_path / "prepared") == tree(prepared.folder)


def test_the_tasks_of_a_slurm_array_give_the_same_bytes(made, prepared, tmp_path):
    folder = tmp_path / "prepared"
    arguments = {"settings": SMALL, "scenes_per_shard": 2}
    script = preparation.slurm_script(made, folder, tasks=2, options=["--mem=2G"], **arguments)
    for number in range(2):
        environment = processes.environment() | {"SLURM_ARRAY_TASK_ID": str(number)}
        subprocess.run(["bash", str(script)], env=environment, check=True)
    shards = {path: path.stat().st_mtime_ns for path in (folder / "shards").iterdir()}
    assert len(shards) == 5
    prepare(made, folder)
    assert tree(folder) == tree(prepared.folder)
    assert shards == {path: path.stat().st_mtime_ns for path in (folder / "shards").iterdir()}
    assert preparation.slurm_script(made, folder, **arguments) is None


def test_an_archive_gives_the_same_requests(made, prepared, tmp_path):
    with tarfile.open(tmp_path / "scenes.tar.gz", "w:gz") as archive:
        archive.add(made, "scenes")
    done = prepare(tmp_path / "scenes.tar.gz", tmp_path / "prepared")
    shards = [{name: one for name, one in tree(place).items() if name not in ("manifest.json", "scenes.json")}
              for place in (done.folder, prepared.folder)]  # fmt: skip
    assert shards[0] == shards[1]
    assert done.counts == prepared.counts
    assert prepare(tmp_path / "scenes.tar.gz", tmp_path / "prepared") == done


# --- going on --------------------------------------------------------------------------------------------------------


class Stop(Exception):
    pass


def interrupted(source, folder, *, after):
    def progress(stage, done, total):
        if done == after:
            raise Stop

    with pytest.raises(Stop):
        prepare(source, folder, progress=progress)


def test_an_interrupted_preparation_goes_on_where_it_ended(made, prepared, tmp_path, monkeypatch):
    folder = tmp_path / "prepared"
    interrupted(made, folder, after=3)
    with pytest.raises(TableError, match="expected a prepared folder, found an unfinished one"):
        preparation.open_prepared(folder)
    drawn = []
    contents = shard_making._contents
    monkeypatch.setattr(shard_making, "_contents", lambda read, begun: drawn.append(read) or contents(read, begun))
    prepare(made, folder)
    assert len(drawn) == 2
    assert tree(folder) == tree(prepared.folder)
    prepare(made, folder)
    assert len(drawn) == 2


@pytest.mark.parametrize("spoil", ["shards/00001.shard", "unfinished/00001.parquet", "unfinished/00001.json"])
def test_what_a_kill_or_a_disk_spoilt_is_made_again(made, prepared, spoil, tmp_path):
    folder = tmp_path / "prepared"
    interrupted(made, folder, after=3)
    (folder / spoil).write_bytes((folder / spoil).read_bytes()[:-3])
    (folder / "shards/.00004.shard.x.part").write_bytes(b"half a shard")
    prepare(made, folder)
    assert tree(folder) == tree(prepared.folder)


def test_a_scene_that_changed_is_drawn_again(source, tmp_path):
    folder = tmp_path / "prepared"
    interrupted(source, folder, after=3)
    other = (source / "train/000/a.pb").read_bytes().replace(b"train-000-a.pb", b"train-000-z.pb")
    (source / "train/000/a.pb").write_bytes(other)
    prepare(source, folder)
    assert Store.open(folder).requests["scene_id"][0] == "train-000-z.pb"


def test_a_folder_begun_in_another_way_is_refused(source, prepared, tmp_path):
    folder = tmp_path / "prepared"
    interrupted(source, folder, after=1)
    for place in (folder, shutil.copytree(prepared.folder, tmp_path / "finished")):
        with pytest.raises(TableError, match="begun with the same experiment and map settings and shards, found"):
            prepare(source, place, experiment="published", settings=MapSettings(), scenes_per_shard=3)
    write_scene(scene_of(made_parts.message("one more", MOSCOW, DRY)), source / "dev/c.pb")
    (source / "dev_tags.txt").unlink()
    with pytest.raises(TableError, match="begun with the same scenes, found"):
        prepare(source, tmp_path / "finished")


def test_scenes_exchanged_for_others_of_their_names_and_sizes_are_noticed(source, prepared, tmp_path):
    folder = shutil.copytree(prepared.folder, tmp_path / "finished")
    before = tree(folder)
    assert prepare(str(source), str(folder)).counts == COUNTS
    said = []
    data = (source / "dev/a.pb").read_bytes()
    (source / "dev/a.pb").write_bytes(data.replace(b"dev-a.pb", b"dev-x.pb"))
    with pytest.raises(TableError, match=r"in 1 of its 5 shards \(the first: dev/a\.pb to dev/b\.pb\)"):
        prepare(source, folder, progress=lambda *progress: said.append(progress))
    assert said[-1] == ("compare scenes with the prepared ones", 5, 5)
    assert tree(folder) == before


def test_only_what_was_begun_in_another_way_is_discarded(source, tmp_path, monkeypatch):
    monkeypatch.setattr(staging, "SCENES_PER_SHARD", 2)
    folder = tmp_path / "prepared"
    staging.discard_other(folder, settings=SMALL)  # nothing there
    interrupted(source, folder, after=3)
    before = tree(folder)
    staging.discard_other(folder, settings=SMALL)
    assert tree(folder) == before
    staging.discard_other(folder, settings=SMALL, experiment="published")
    assert list(folder.iterdir()) == []
    interrupted(source, folder, after=3)
    (folder / "begun.json").write_text("{")
    staging.discard_other(folder, settings=SMALL)
    assert list(folder.iterdir()) == []


def test_scenes_that_came_or_went_while_shards_were_made_leave_no_trace(source, tmp_path):
    folder = tmp_path / "prepared"
    interrupted(source, folder, after=3)
    write_scene(scene_of(made_parts.message("one more", MOSCOW, DRY)), source / "dev/c.pb")
    for part in ("dev", "eval"):
        (source / f"{part}_tags.txt").unlink()
    for scene in list((source / "eval").rglob("*.pb"))[1:]:
        scene.unlink()
    prepare(source, folder)
    prepare(source, tmp_path / "at once")
    assert tree(folder) == tree(tmp_path / "at once")


def test_nothing_else_is_written_over(source, prepared, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(TableError, match="expected a new folder, found a file"):
        prepare(source, tmp_path / "file")
    with pytest.raises(TableError, match="expected a new folder, found one with file, source"):
        prepare(source, tmp_path)
    with pytest.raises(TableError, match="expected scenes to prepare, found a folder that is already prepared"):
        prepare(prepared.folder, tmp_path / "again")
    with pytest.raises(UnknownNameError, match="Unknown experiment 'sleet'"):
        prepare(source, tmp_path / "new", experiment="sleet")


# --- what is wrong with scenes ---------------------------------------------------------------------------------------


def test_all_broken_scenes_are_named_and_nothing_is_prepared(source, tmp_path):
    for part in ("train", "dev", "eval"):
        (source / f"{part}_tags.txt").unlink()
    (source / "train/000/a.pb").write_bytes(b"\xff\xff")
    (source / "dev/a.pb").write_bytes(b"")
    with (source / "eval/a.pb").open("wb") as file:
        os.truncate(file.fileno(), 2**31)
    nan = made_parts.message("nan", MOSCOW, DRY)
    nan.past_vehicle_tracks[3].tracks[0].position.x = np.nan
    (source / "eval/b.pb").write_bytes(nan.SerializeToString())
    with pytest.raises(ShiftbenchError, match=r"train/000/a.pb: expected one serialised Scene message") as caught:
        prepare(source, tmp_path / "prepared")
    told = caught.value.problems
    assert len(told) == 4
    assert "dev/a.pb: expected a serialised message, found an empty file" in told[1]
    assert "eval/a.pb: expected at most 16,777,216 bytes, found 2,147,483,648" in told[2]
    assert "eval/b.pb: vehicle tracks: expected finite positions" in told[3]
    assert not (tmp_path / "prepared/manifest.json").exists()


def test_scenes_that_come_twice_are_named_with_their_files(source, tmp_path):
    shutil.copy(source / "train/000/a.pb", source / "train/001/copy.pb")
    shutil.copy(source / "dev/a.pb", source / "eval/copy.pb")
    for part in ("train", "eval"):
        (source / f"{part}_tags.txt").unlink()
    with pytest.raises(TableError, match=r"scene train-000-a.pb: expected one file, found 2") as caught:
        prepare(source, tmp_path / "prepared")
    assert len(caught.value.problems) == 2
    assert "(dev/a.pb, eval/copy.pb)" in caught.value.problems[1]


def test_scenes_that_come_twice_are_named_together_with_all_else(source, tmp_path):
    """In a shard that is refused and one that is made; broken ones too, if their ids can be read."""
    shutil.copy(source / "train/000/a.pb", source / "eval/copy.pb")
    nan = made_parts.message("dev-b.pb", MOSCOW, DRY)
    nan.past_vehicle_tracks[3].tracks[0].position.x = np.nan
    (source / "eval/nan.pb").write_bytes(nan.SerializeToString())
    (source / "eval_tags.txt").unlink()
    with pytest.raises(ShiftbenchError, match=r"^eval/nan\.pb: vehicle tracks: expected finite") as caught:
        prepare(source, tmp_path / "prepared")
    assert [problem.partition(":")[0] for problem in caught.value.problems] == [
        "eval/nan.pb", "scene train-000-a.pb", "scene dev-b.pb",
    ]  # fmt: skip
    assert "(train/000/a.pb, eval/copy.pb)" in caught.value.problems[1]
    for name in ("copy", "nan"):  # what is mended is told of no more
        (source / f"eval/{name}.pb").unlink()
    assert prepare(source, tmp_path / "prepared").counts == COUNTS


def test_messages_call_scenes_by_one_name_wherever_they_lie(source, tmp_path):
    for part in ("train", "dev", "eval"):
        (source / f"{part}_tags.txt").unlink()
    (source / "dev/a.pb").write_bytes(b"")
    (source / "eval/b.pb").write_bytes(b"\xff\xff")
    with pytest.raises(ShiftbenchError, match="expected a serialised message, found an empty file") as caught:
        prepare(source, tmp_path / "prepared")
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["dev/a.pb", "eval/b.pb"]


def test_requests_that_cannot_be_answered_are_counted_and_none_at_all_is_an_error(tmp_path):
    scene = made_parts.message("late", MOSCOW, DRY)
    for step in scene.past_vehicle_tracks:
        del step.tracks[0]
    write(tmp_path / "source", {"eval/a.pb": (MOSCOW, DRY)})
    (tmp_path / "source/eval/late.pb").write_bytes(scene.SerializeToString())
    (tmp_path / "source/eval_tags.txt").unlink()
    done = prepare(tmp_path / "source", tmp_path / "prepared")
    assert done.counts["eval_in"] == 1
    assert done.unused == {request_table.NO_FUTURE: 2, request_table.NO_PAST: 1}
    write(tmp_path / "none", {"train/a.pb": (MOSCOW, RAIN)})
    with pytest.raises(TableError, match="expected at least one request that can be scored, found none in 1 scene"):
        prepare(tmp_path / "none", tmp_path / "nothing")


def test_a_disk_that_is_too_small_is_foreseen(source, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(10, 10, 0))
    with pytest.raises(TableError, match=r"of room for maps and vector features, found 0.0 MB"):
        prepare(source, tmp_path / "prepared")
    assert not (tmp_path / "prepared/shards").exists()


# --- the official data -----------------------------------------------------------------------------------------------


def test_origins_are_what_the_data_say(source, tmp_path):
    (source / "origin.toml").write_text('origin = "made-up towns"\n')
    assert prepare(source, tmp_path / "prepared").origin == "made-up towns"


@pytest.mark.parametrize("experiment", ["canonical", "published"])
def test_data_are_official_if_all_printed_counts_of_scenes_are_theirs(made, experiment, tmp_path, monkeypatch):
    from shiftbench.tracks.motion.prepared import totals

    counts = {part: {} for part in ("train", "dev", "eval")}
    summed = totals.totals
    monkeypatch.setattr(
        totals, "COUNTS", {part: {"location": {"Moscow": sum(n.startswith(part) for n in PLACES)}} for part in counts}
    )
    assert prepare(made, tmp_path / "near", experiment=experiment).origin == preparation.UNKNOWN_ORIGIN
    notes = preparation.open_prepared(tmp_path / "near").notes
    assert "dev, location, published in brackets: Moscow: 1 (2); Skolkovo: 1 (0)" in notes

    found = []
    monkeypatch.setattr(preparation, "totals", lambda listed: found.append(summed(listed)) or found[-1])
    prepare(made, tmp_path / "counted", experiment=experiment)
    monkeypatch.setattr(totals, "COUNTS", {part: found[0].part_tags(part) for part in counts})
    monkeypatch.setattr(totals, "SCENES", COUNTS)
    monkeypatch.setattr(totals, "REQUESTS", COUNTS)
    done = prepare(made, tmp_path / "official", experiment=experiment)
    assert done.origin == "official"
    assert bool(done.notes) == (experiment == "published")  # sleet is gone from the requests of eval_out


def test_opening_notices_what_is_missing_or_of_another_form(prepared, tmp_path):
    folder = shutil.copytree(prepared.folder, tmp_path / "copy")
    (folder / "shards/00002.shard").write_bytes(b"short")
    (folder / "requests.parquet").unlink()
    with pytest.raises(TableError, match=r"found 2 missing or of another size .shards/00002.shard, requests.parquet"):
        preparation.open_prepared(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    for wrong, told in (
        ("{", "expected what `prepare` writes"),
        ("[1]", r"expected 'shiftbench motion store 1', found '\[1\]'"),
        (json.dumps(manifest | {"format": "shiftbench motion store 0"}), "found 'shiftbench motion store 0'"),
    ):
        (folder / "manifest.json").write_text(wrong)
        with pytest.raises(TableError, match=told):
            preparation.open_prepared(folder)
    with pytest.raises(TableError, match=r"manifest.json: expected what `prepare` writes, found"):
        preparation.open_prepared(tmp_path / "nowhere")


def test_two_preparations_do_not_share_a_folder(source, prepared, tmp_path):
    folder = tmp_path / "folder"
    with alone(folder), pytest.raises(TableError, match=r"found another process writing to it\. Wait for it"):
        prepare(source, folder)
    assert not folder.exists()
    prepare(source, folder)
    assert tree(folder).keys() == tree(prepared.folder).keys()  # and no lock


def test_what_is_refused_leaves_no_folder(tmp_path):
    with pytest.raises(TableError, match="expected a folder of scenes or an archive of them, found nothing there"):
        prepare(tmp_path / "nowhere", tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_where_scenes_lie_may_be_damaged(prepared, tmp_path):
    folder = shutil.copytree(prepared.folder, tmp_path / "copy")
    for said in ("5", '{"train": 5}'):
        (folder / "scenes.json").write_text(said)
        with pytest.raises(TableError, match=r"scenes.json: expected the paths of the parts, found something else"):
            scene_file(folder, "train/000/a.pb")
