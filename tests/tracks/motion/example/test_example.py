"""The folder of an example: its layout, its shares, and that it is written whole or not at all."""

from __future__ import annotations

import hashlib
import shutil
import tomllib

import pytest

from shiftbench.errors import SettingsError
from shiftbench.io.output import MARK
from shiftbench.tracks.motion import read_scene
from shiftbench.tracks.motion.example import ROWS, scenes, write
from shiftbench.tracks.motion.example.conditions import counts, weathers
from shiftbench.tracks.motion.partitions import partition_of
from shiftbench.tracks.motion.scenes import tag_files
from shiftbench.tracks.motion.scenes.scene import message_of
from shiftbench.tracks.motion.schema import PARTS, City, Precipitation, SceneTags


def hashes(folder):
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture(scope="module")
def progress():
    """What was told while the example was written."""
    return []


@pytest.fixture(scope="module")
def folder(tmp_path_factory, progress):
    return write(tmp_path_factory.mktemp("example") / "towns", 20, 5, lambda *said: progress.append(said))


def test_the_same_seed_gives_the_same_bytes_and_another_seed_other_ones_in_place_of_an_earlier_example(
    folder, tmp_path
):
    assert hashes(write(tmp_path / "again", 20, 5)) == hashes(folder)
    write(tmp_path / "other", 24, 5)
    other = hashes(write(tmp_path / "other", 20, 6))
    assert other.keys() == hashes(folder).keys()
    assert not {other[name] for name in other if name.endswith(".pb")} & set(hashes(folder).values())


def test_a_scene_is_the_same_however_many_are_made(folder):
    many = scenes("dev", 40, seed=5)
    few = [message_of(next(many)).SerializeToString(deterministic=True) for _ in range(2)]
    assert few == [(folder / "dev" / f"{number:06d}.pb").read_bytes() for number in range(2)]


def test_the_folder_is_laid_out_as_the_official_archives(folder):
    assert {entry.name for entry in folder.iterdir()} == {
        MARK,
        *PARTS,
        *(f"{part}_tags.txt" for part in PARTS),
        "origin.toml",
    }
    for part, number in counts(20).items():
        paths = tag_files.scene_paths(folder / part)
        assert len(paths) == number
        tags = tag_files.checked_tags(folder / f"{part}_tags.txt", paths)
        assert [read_scene(path).tags for path in paths] == list(tags.values())
    assert tomllib.loads((folder / "origin.toml").read_text()) == {"origin": "made-up towns, 20 scenes, seed 5"}


def test_ids_are_unique_over_all_parts(folder):
    assert len(tag_files.read_entries(tag_files.scene_paths(folder))) == 20


@pytest.mark.parametrize(("rows", "least"), [(ROWS, (300, 40)), (20, (10, 1))])
def test_every_partition_has_enough_scenes_and_some_are_in_none(rows, least):
    found = {}
    for part, number in counts(rows).items():
        for city, precipitation in weathers(part, number):
            partition = partition_of(SceneTags(track=city, precipitation=precipitation), part)
            found[partition] = found.get(partition, 0) + 1
    assert found["train"] >= least[0]
    assert min(found[name] for name in ("dev_in", "dev_out", "eval_in", "eval_out")) >= least[1]
    assert sum(found.values()) == rows
    assert rows < 100 or 0 < found[None] < 0.12 * rows


def test_all_cities_and_all_weathers_occur():
    found = {weather for part, number in counts(ROWS).items() for weather in weathers(part, number)}
    assert {city for city, _ in found} == set(City) - {City.UNKNOWN}
    assert {weather for _, weather in found} == set(Precipitation)


def test_progress_counts_scenes_and_an_interruption_leaves_nothing(folder, progress, tmp_path):
    assert progress == [("scenes", number, 20) for number in range(1, 21)]
    shutil.copytree(folder, tmp_path / "towns")

    def interrupt(stage, done, total):
        if done == 5:
            raise KeyboardInterrupt

    before = hashes(tmp_path / "towns")
    for name in ("towns", "new"):
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / name, 20, 1, interrupt)
    assert [entry.name for entry in tmp_path.iterdir()] == ["towns"]
    assert hashes(tmp_path / "towns") == before


def test_bad_numbers_are_named_together(tmp_path):
    with pytest.raises(SettingsError, match=r"20 to 999,999 scenes, found 19(.|\n)*seed: expected .* found -1"):
        write(tmp_path / "towns", 19, -1)
    assert not list(tmp_path.iterdir())


def test_other_peoples_folders_stay_as_they_are(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(SettingsError, match=r"found another, with 'notes\.txt' in it"):
        write(tmp_path, 20)
    genuine = tmp_path / "genuine"
    (genuine / "train").mkdir(parents=True)
    with pytest.raises(SettingsError, match=r"found another, with 'train' in it"):
        write(genuine, 20)
    with pytest.raises(SettingsError, match=r"notes\.txt: expected a folder, found a file"):
        write(tmp_path / "notes.txt" / "towns", 20)
