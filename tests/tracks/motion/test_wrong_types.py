"""Arguments of any other type are refused by the public functions of this track."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from shiftbench.tracks.motion import (
    LiveStore,
    MapSettings,
    Submission,
    feature_map,
    feature_maps,
    read_scene,
    read_submission,
    valid_requests,
    write_scene,
    write_submission,
)
from shiftbench.tracks.motion.baselines import planning
from shiftbench.tracks.motion.partitions import partitions
from shiftbench.tracks.motion.scenes.tag_files import checked_tags, scene_paths
from tests.public_calls import Call, mistakes
from tests.tracks.motion import made_parts, made_scene

SMALL = MapSettings(size=(8, 8))
DRAWN = {
    "size": 8, "metres_per_pixel": 1.0, "channels": ["vehicles.occupancy"], "history": (1, 0), "road_history": (0,),
    "yaw_frame": "agent", "interpolation": "published",
}  # fmt: skip
PLANNED = {"members": 3, "plans_per_member": 2, "aggregation": "LQ", "request_aggregation": "MA", "most": 2}
SCORES = np.random.default_rng(0).normal(size=(5, 4, 10))
ANSWERED = {
    "requests": (["a", "b"], [1, 2]), "trajectories": np.zeros((2, 1, 25, 2)), "weights": np.ones((2, 1)),
    "uncertainty": np.ones(2), "is_ood": [0, 1],
}  # fmt: skip


@pytest.fixture(scope="module")
def calls(tmp_path_factory):
    """Valid calls by name, with the files that they read."""
    folder = tmp_path_factory.mktemp("towns")
    made_parts.write(folder)
    scene, answers = made_scene.scene(), Submission.of(**ANSWERED)
    track, towns = scene.requests[0].track_id, folder / "eval"
    write_scene(scene, folder / "scene.pb")
    write_submission(answers, folder / "answers.parquet")
    store = LiveStore.of(towns, SMALL)
    fields = {field.name: getattr(answers, field.name) for field in dataclasses.fields(Submission)}
    return {
        "feature_map": Call(feature_map, {"scene": scene, "track_id": track, **DRAWN}),
        "feature_maps": Call(feature_maps, {"scene": scene, "track_ids": [track], "settings": SMALL}),
        "MapSettings": Call(
            MapSettings, {field.name: getattr(SMALL, field.name) for field in dataclasses.fields(MapSettings)}
        ),
        "read_scene": Call(read_scene, {"path": folder / "scene.pb"}),
        "write_scene": Call(write_scene, {"scene": scene, "path": "again.pb"}),
        "valid_requests": Call(valid_requests, {"scene": scene}),
        "planning.Settings": Call(planning.Settings, PLANNED),
        "plan": Call(planning.plan, {"scores": SCORES, "settings": planning.Settings(**PLANNED)}),
        "all_plans": Call(planning.all_plans, {"scores": SCORES, "members": (1, 3), "plans_per_member": 2, "most": 2}),
        "aggregate": Call(planning.aggregate, {"scores": SCORES, "aggregation": "LQ", "axis": 0, "ddof": 0}),
        "Submission.of": Call(Submission.of, ANSWERED),
        "Submission.select": Call(answers.select, {"rows": [1]}),
        "Submission": Call(Submission, fields),
        "read_submission": Call(read_submission, {"path": folder / "answers.parquet"}),
        "write_submission": Call(write_submission, {"submission": answers, "path": "answers.pb"}),
        "LiveStore.of": Call(LiveStore.of, {"source": towns, "map_settings": SMALL}),
        "LiveStore.maps": Call(store.maps, {"rows": [0]}),
        "LiveStore.vectors": Call(store.vectors, {"rows": [0]}),
        "LiveStore.select": Call(store.select, {"rows": [0]}),
        "LiveStore.scene": Call(store.scene, {"scene_id": store.requests["scene_id"][0]}),
        "scene_paths": Call(scene_paths, {"folder": towns}),
        "checked_tags": Call(
            checked_tags,
            {"path": folder / "eval_tags.txt", "scenes": scene_paths(towns), "sample": 4, "called": Path.as_posix},
        ),
        "partitions": Call(partitions, {"tags": [scene.tags], "part": "eval", "rule": "canonical"}),
    }


NAMES = (
    "feature_map", "feature_maps", "MapSettings", "read_scene", "write_scene", "valid_requests", "planning.Settings",
    "plan", "all_plans", "aggregate", "Submission.of", "Submission.select", "Submission", "read_submission",
    "write_submission", "LiveStore.of", "LiveStore.maps", "LiveStore.vectors", "LiveStore.select", "LiveStore.scene",
    "scene_paths", "checked_tags", "partitions",
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_given_in_place_of_an_argument_is_used_or_refused(name, calls, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mistakes(calls[name]) == []
