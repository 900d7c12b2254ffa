import csv
import itertools
import json

import numpy as np
import pytest

from shiftbench.errors import ShiftbenchError, UnknownNameError
from shiftbench.tracks.motion.partitions import RULES, partition_of, partitions, tag_counts
from shiftbench.tracks.motion.scenes import tag_files
from shiftbench.tracks.motion.schema import (
    COUNTS,
    PARTITIONS,
    PARTS,
    SCENES,
    City,
    Maneuver,
    Precipitation,
    SceneTags,
    Season,
    SunPhase,
)
from tests.tracks.motion import made_scene

EVERY = [SceneTags(track=city, precipitation=weather) for city, weather in itertools.product(City, Precipitation)]
SHIFTED_CITIES = {
    "dev_out": {City.SKOLKOVO, City.MODIIN, City.INNOPOLIS},
    "eval_out": {City.ANN_ARBOR, City.TEL_AVIV},
}


@pytest.mark.needs_shared
@pytest.mark.parametrize(("rule", "column"), [("canonical", "split"), ("published", "split_in_reference_filter")])
def test_the_partition_is_that_of_figure_16_or_of_the_published_filter(shared, rule, column):
    with (shared / "facts/schema/motion_partition.csv").open(encoding="utf-8", newline="") as file:
        lines = {(line["location"], line["precipitation"]): line[column] for line in csv.DictReader(file)}
    for tags in EVERY:
        found = [name for part in PARTS if (name := partition_of(tags, part, rule=rule))]
        expected = lines.get((tags.track.label, tags.precipitation.label), "unused")
        assert (";".join(found) or "unused") == expected


def test_sleet_stays_in_the_evaluation_data_but_for_the_published_rule():
    for city in SHIFTED_CITIES["eval_out"]:
        sleet = SceneTags(track=city, precipitation=Precipitation.SLEET)
        assert partition_of(sleet, "eval") == "eval_out"
        assert partition_of(sleet, "eval", rule="published") is None


def test_the_counts_of_the_shifted_evaluation_data_hold_sleet_too():
    """The two cities' scenes of all weathers are exactly as many as Table 19 counts."""
    counts = COUNTS["eval"]["location"]
    assert sum(counts[city.label] for city in SHIFTED_CITIES["eval_out"]) == SCENES["eval_out"]
    assert SCENES["eval_in"] + SCENES["eval_out"] == SCENES["eval"]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("part", PARTS)
def test_partitions_of_a_part_never_overlap(part, rule):
    found = partitions(EVERY, part, rule=rule)
    assert set(found) == {name for name in PARTITIONS if name.startswith(part)}
    places = np.concatenate(list(found.values()))
    assert len(set(places.tolist())) == len(places)
    for name, cities in SHIFTED_CITIES.items():
        assert {EVERY[place].track for place in found.get(name, [])} in (cities, set())
    inside = found.get("train", found.get(f"{part}_in"))
    assert [EVERY[place] for place in inside] == [SceneTags(track=City.MOSCOW, precipitation=Precipitation.NO)]


def test_scenes_of_unknown_city_or_weather_are_in_no_partition():
    unknown = [tags for tags in EVERY if not (tags.track and tags.precipitation)]
    assert {partition_of(tags, part) for tags in unknown for part in PARTS} == {None}


@pytest.mark.parametrize("part", PARTS)
def test_no_scenes_make_empty_partitions(part):
    assert all(len(places) == 0 for places in partitions([], part).values())


def test_parts_and_rules_that_are_unknown_are_named():
    with pytest.raises(UnknownNameError, match=r"Unknown part 'dev_in'\. Did you mean 'dev'\?"):
        partition_of(SceneTags(), "dev_in")
    with pytest.raises(UnknownNameError, match=r"Unknown rule 'canon'\. Did you mean 'canonical'\?"):
        partitions([SceneTags()], "dev", rule="canon")


def test_counts_have_the_form_of_the_published_ones():
    tags = [SceneTags(season=Season.SUMMER, track=City.TEL_AVIV), SceneTags(season=Season.SUMMER)]
    found = tag_counts(tags, [Maneuver.STOPPING, Maneuver.STOPPING])
    assert found["season"] == {"Winter": 0, "Spring": 0, "Summer": 2, "Autumn": 0}
    assert found["location"]["Unknown"] == found["location"]["Tel Aviv"] == 1
    assert found["maneuver"]["Stopping"] == 2
    for group, counts in COUNTS["train"].items():
        assert set(counts) <= set(found[group])


@pytest.fixture
def folder(tmp_path):
    """Twelve scenes in folders as the archives have them, and their tags."""
    tags = []
    for number in range(12):
        message = made_scene.message()
        message.id = f"scene{number}"
        message.scene_tags.track = 1 + number % 6
        message.scene_tags.season = 2 * (number // 6)
        path = tmp_path / f"dev/{number // 5:03}/{number:06}.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(message.SerializeToString())
        season = Season(2 * (number // 6))
        tags.append(SceneTags(track=City(1 + number % 6), season=season, precipitation=Precipitation.NO))
    return tmp_path / "dev", tags


def test_tags_of_a_file_belong_to_the_scenes_in_sorted_order(folder, tmp_path):
    root, tags = folder
    tag_files.write_tags(tags, tmp_path / "tags.txt")
    first = json.loads((tmp_path / "tags.txt").read_text().splitlines()[0])
    assert first == {"track": "Moscow", "precipitation": "kNoPrecipitation"}
    paths = tag_files.scene_paths(root)
    assert [path.stem for path in paths] == [f"{number:06}" for number in range(12)]
    index = tag_files.checked_tags(tmp_path / "tags.txt", paths)
    assert list(index) == paths
    assert list(index.values()) == tags == [entry.tags for entry in tag_files.read_entries(paths)]


def test_tags_of_other_scenes_are_refused(folder, tmp_path):
    root, tags = folder
    paths = tag_files.scene_paths(root)
    tag_files.write_tags([*tags[1:], tags[0]], tmp_path / "shifted.txt")
    with pytest.raises(ShiftbenchError, match=r"shifted\.txt, line 1: expected the tags of .*Moscow.*found .*Skol"):
        tag_files.checked_tags(tmp_path / "shifted.txt", paths)
    tag_files.write_tags(tags[1:], tmp_path / "few.txt")
    with pytest.raises(ShiftbenchError, match=r"expected a line for each of 12 scenes, found 11"):
        tag_files.checked_tags(tmp_path / "few.txt", paths)


def test_a_sample_of_tags_has_the_first_and_the_last_scene(folder, tmp_path):
    root, tags = folder
    paths = tag_files.scene_paths(root)
    for place in (0, -1):
        wrong = list(tags)
        wrong[place] = SceneTags(track=City.TEL_AVIV, season=Season.WINTER)
        tag_files.write_tags(wrong, tmp_path / "wrong.txt")
        with pytest.raises(ShiftbenchError, match=r"other scenes or in another order"):
            tag_files.checked_tags(tmp_path / "wrong.txt", paths, sample=2)


def test_ids_that_files_share_and_files_that_cannot_be_read_are_all_listed(folder):
    root, _ = folder
    paths = tag_files.scene_paths(root)
    (root / "002" / "copy.pb").write_bytes(paths[0].read_bytes())
    (root / "002" / "cut.pb").write_bytes(paths[1].read_bytes()[:-7])
    with pytest.raises(ShiftbenchError, match=r"scene scene0: expected one file, found 2") as caught:
        tag_files.read_entries(tag_files.scene_paths(root))
    assert len(caught.value.problems) == 2
    assert "cut.pb" in caught.value.problems[0]


def test_unknown_names_in_tag_files_are_said_with_their_lines(tmp_path):
    lines = [
        '{"day_time": "kNight", "season": "kSummer", "track": "Moscow", "later": 3}',
        "{'day_time': 1}",
        '{"track": "Paris"}',
        '["Moscow"]',
        '{"season": 3}',
        "[" * 3000,
        " " * 5000,
    ]
    (tmp_path / "tags.txt").write_text("\n".join(lines) + "\n")
    with pytest.raises(ShiftbenchError, match=r"tags\.txt, line 3: track: expected one of") as caught:
        tag_files.read_tags(tmp_path / "tags.txt")
    assert [problem.split(":")[0][-1] for problem in caught.value.problems] == ["2", "3", "4", "5", "6", "7"]
    (tmp_path / "tags.txt").write_text(lines[0] + "\n")
    (tags,) = tag_files.read_tags(tmp_path / "tags.txt")
    assert (tags.track, tags.sun_phase) == (City.MOSCOW, SunPhase.UNKNOWN)


def test_tag_files_that_are_none_are_refused(tmp_path):
    (tmp_path / "scene.pb").write_bytes(made_scene.message().SerializeToString())
    with pytest.raises(ShiftbenchError, match=r"scene\.pb"):
        tag_files.read_tags(tmp_path / "scene.pb")
    with pytest.raises(ShiftbenchError, match=r"missing\.txt: expected a tag file, found: No such file"):
        tag_files.read_tags(tmp_path / "missing.txt")


def test_long_lists_of_problems_are_cut(tmp_path):
    (tmp_path / "tags.txt").write_text("no\n" * 100)
    with pytest.raises(ShiftbenchError, match=r"… and 80 more") as caught:
        tag_files.read_tags(tmp_path / "tags.txt")
    assert len(caught.value.problems) == 21
