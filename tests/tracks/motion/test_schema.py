import csv

import pytest

from shiftbench.tracks.motion import schema
from shiftbench.tracks.motion.schema import COUNTS, REQUESTS, SCENES
from tests.tracks.motion import made_scene

ENUMS = {
    "MovementType": (schema.Movement, "MOVEMENT_"),
    "TrafficLightState": (schema.LightState, "STATE_"),
}
TAGS = {
    "TrajectoryTag": schema.Maneuver,
    "DayTimeTag": schema.DayTime,
    "SeasonTag": schema.Season,
    "SunPhaseTag": schema.SunPhase,
    "Track": schema.City,
    "Precipitation": schema.Precipitation,
}


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", TAGS)
def test_tags_have_the_names_and_numbers_of_the_wire_format(name):
    assert {tag.wire_name: int(tag) for tag in TAGS[name]} == made_scene.enums()[name]


@pytest.mark.parametrize("name", ENUMS)
def test_states_and_movements_have_the_names_and_numbers_of_the_wire_format(name):
    kind, prefix = ENUMS[name]
    assert {f"{prefix}{each.name}": int(each) for each in kind} == made_scene.enums()[name]


@pytest.mark.needs_shared
def test_labels_and_descriptions_are_the_published_ones(shared):
    groups = {"location": "track", "maneuver": "maneuver"}
    for line in rows(shared / "facts/schema/motion_tags.csv"):
        key = groups.get(line["tag_group"], line["tag_group"])
        tag = (schema.SCENE_TAGS | {"maneuver": schema.Maneuver})[key](int(line["proto_value"]))
        assert (tag.label, tag.wire_name, tag.description) == (line["name"], line["proto_name"], line["description"])


def test_zero_is_unknown_of_every_tag_of_a_scene_and_of_no_maneuver():
    assert {kind(0).label for kind in schema.SCENE_TAGS.values()} == {"Unknown"}
    assert schema.Maneuver(0).label == "Move Left"
    assert set(vars(schema.SceneTags()).values()) == {0}


@pytest.mark.needs_shared
def test_counts_are_those_of_tables_16_to_18(shared):
    lines = rows(shared / "facts/counts/motion_facets.csv")
    for line in lines:
        for part in schema.PARTS:
            assert COUNTS[part][line["facet"]][line["level"]] == int(line[part])
    assert sum(len(group) for group in COUNTS["train"].values()) == len(lines)


@pytest.mark.needs_shared
def test_sizes_are_those_of_table_19_and_of_the_notebooks(shared):
    for line in rows(shared / "facts/counts/motion_partition.csv"):
        name = line["set"] if line["subset"] == "full" or line["set"] == "train" else f"{line['set']}_{line['subset']}"
        if line["counted"] == "scenes":
            assert SCENES[name] == int(line["count"])
        elif line["counted"] == "valid prediction requests" and name != "dev":
            assert REQUESTS[name] == int(line["count"])
    assert REQUESTS["dev_in"] + REQUESTS["dev_out"] == 465_421


def test_every_scene_has_one_tag_of_each_group():
    for part, scenes in {"train": 500_000, "dev": 50_000, "eval": 50_000}.items():
        for group in ("location", "season", "precipitation", "sun_phase"):
            assert sum(COUNTS[part][group].values()) == scenes


def test_the_labels_of_the_counts_are_tags():
    labels = {tag.label for kind in TAGS.values() for tag in kind}
    assert {label for part in COUNTS.values() for group in part.values() for label in group} <= labels
    assert schema.STEPS == schema.PAST + schema.FUTURE == 10 * schema.HZ
