"""Stores: maps, vector features and targets are those of the scenes, in any order and process; damage is noticed."""

from __future__ import annotations

import hashlib
import json
import pickle
import shutil
import subprocess
import sys

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import ArrayError, ShiftbenchError, TableError
from shiftbench.io import files
from shiftbench.io.executor import processes
from shiftbench.tracks.motion.maps.feature_map import feature_maps
from shiftbench.tracks.motion.prepared import preparation, vector_codec
from shiftbench.tracks.motion.prepared.shards import write_shard
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.motion.scenes.frame import agent_frame
from shiftbench.tracks.motion.scenes.scene import read_scene, valid_requests
from shiftbench.tracks.motion.submissions.truth import truth_of_scenes
from tests.tracks.motion.made_scene import GOLDEN, MADE


@pytest.fixture(scope="module")
def scenes():
    return [read_scene(GOLDEN / f"{name}.pb") for name in MADE]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The golden scenes, prepared with two scenes in a shard."""
    root = tmp_path_factory.mktemp("store")
    (root / "scenes").mkdir()
    for name in MADE:
        shutil.copy(GOLDEN / f"{name}.pb", root / "scenes" / f"{name}.pb")
    return preparation.prepare(root / "scenes", root / "prepared", executor="serial", scenes_per_shard=2).folder


@pytest.fixture
def store(folder):
    return Store.open(folder)


@pytest.fixture(scope="module")
def asked(scenes):
    return [(scene, request.track_id) for scene in scenes for request in valid_requests(scene)]


def test_maps_are_those_that_are_drawn(store, scenes):
    drawn = np.concatenate([feature_maps(scene, [each.track_id for each in valid_requests(scene)]) for scene in scenes])
    assert len(store) == len(drawn)
    maps = store.maps(range(len(store)))
    assert maps.dtype == np.float32
    assert maps.tobytes() == drawn.tobytes()


def test_vector_features_are_those_of_the_scene(store, asked):
    found = store.vectors(range(len(store)))
    for row, (scene, track_id) in enumerate(asked):
        for name, array in vector_codec.vectors_of(scene, track_id).items():
            assert found[name][row].tobytes() == array.tobytes(), name


def test_requests_and_targets_are_the_ground_truth(store, scenes, asked):
    truth = truth_of_scenes(scenes)
    np.testing.assert_array_equal(store.targets, truth.targets.astype(np.float32))
    assert store.targets.dtype == np.float32
    assert store.requests["id"].to_list() == [truth.name(place) for place in range(len(truth))]
    assert store.requests["shifted"].to_list() == truth.shifted.tolist()
    assert set(store.requests["partition"]) == {"eval_out"}
    for name, labels in truth.slices.items():
        assert store.requests[name].to_list() == labels.tolist()
    for (scene, track_id), origin, heading in zip(
        asked, store.requests["origin"].to_list(), store.requests["heading"].to_list(), strict=True
    ):
        frame = agent_frame(scene, track_id)
        assert (origin, heading) == (frame.center.tolist(), frame.yaw)


def test_rows_come_in_the_order_asked_for_and_as_often(store, rng):
    rows = rng.integers(0, len(store), 30)
    whole, vectors = store.maps(range(len(store))), store.vectors(range(len(store)))
    np.testing.assert_array_equal(store.maps(rows), whole[rows])
    for name, array in store.vectors(rows).items():
        np.testing.assert_array_equal(array, vectors[name][rows])


def test_no_rows_give_empty_arrays(store):
    assert store.maps([]).shape == (0, 17, 128, 128)
    assert store.vectors([])["points"].shape == (0, 128, 20, 2)
    assert len(store.select([])) == 0
    assert store.select([]).targets.shape == (0, 25, 2)


def test_folders_that_are_no_paths_are_refused_and_texts_are_paths(folder):
    assert len(Store.open(str(folder))) == 18
    with pytest.raises(ShiftbenchError, match=r"expected a path, found None \(NoneType\)"):
        Store.open(None)


def test_scenes_of_none_of_the_requests_are_refused(store):
    for none in ("nobody", 5, None):
        with pytest.raises(TableError, match=rf"of these requests, but no request belongs to scene {none!r}"):
            store.scene(none)


@pytest.mark.parametrize("forged", [{"season": [1]}, {"recording": 5}, {"target": 0.5}, {"id": None}])
def test_a_table_with_columns_of_other_types_is_refused_though_its_hash_is_right(folder, tmp_path, forged):
    other = shutil.copytree(folder, tmp_path / "forged")
    table, manifest = other / "requests.parquet", json.loads((other / "manifest.json").read_text("utf-8"))
    frame = pl.read_parquet(table).with_columns(
        **{name: pl.lit(value, None if value else pl.Int8) for name, value in forged.items()}
    )
    frame.write_parquet(table)
    manifest["requests"] |= {"bytes": table.stat().st_size, "sha256": files.sha256(table)}
    (other / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    for part in ("requests", "targets"):
        with pytest.raises(TableError, match=f"column '{next(iter(forged))}': expected .*, found"):
            getattr(Store.open(other), part)
    table.write_bytes(b"PAR1 nothing")
    manifest["requests"] |= {"bytes": table.stat().st_size, "sha256": files.sha256(table)}
    (other / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    with pytest.raises(TableError, match="expected a readable Parquet file"):
        _ = Store.open(other).requests


def test_a_selection_is_a_store_of_its_rows(store):
    rows = np.array([5, 1, 9])
    chosen = store.select(rows)
    again = chosen.select(np.array([False, True, True]))
    np.testing.assert_array_equal(chosen.targets, store.targets[rows])
    np.testing.assert_array_equal(again.maps([1, 0]), store.maps([9, 1]))
    assert again.requests["id"].to_list() == store.requests["id"][[1, 9]].to_list()


def test_a_store_travels_as_its_folder_and_rows(store, folder, tmp_path):
    chosen = store.select([4, 2])
    assert chosen.targets.any()
    data = pickle.dumps(chosen)
    assert len(data) < 1_000
    (tmp_path / "store").write_bytes(data)
    code = (
        "import pickle, sys\nfrom pathlib import Path\n"
        "store = pickle.loads(Path(sys.argv[1]).read_bytes())\n"
        "import hashlib\nprint(hashlib.sha256(store.maps([0, 1]).tobytes()).hexdigest(), len(store))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "store")], env=processes.environment(),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == [hashlib.sha256(chosen.maps([0, 1]).tobytes()).hexdigest(), "2"]


@pytest.mark.parametrize(
    "rows", [[20], [-1], [0.5], [[0, 1]], [True, False], np.array(3), None, "1", [[0], [0, 1]], [None], {1}], ids=str
)
def test_rows_that_are_none_are_refused(store, rows):
    for use in (store.maps, store.vectors, store.select):
        with pytest.raises(ArrayError, match=r"rows: expected whole numbers from 0 to 17, or 18 flags, found"):
            use(rows)


def test_a_changed_shard_is_named_when_it_is_first_used(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    path = copy / "shards/00001.shard"
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    store = Store.open(copy)
    store.maps([0])
    with pytest.raises(TableError, match=r"00001\.shard: expected SHA-256 \w{64}, as in the manifest, found"):
        store.vectors([0, len(store) - 1])


def test_a_changed_table_is_named(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    data = bytearray((copy / "requests.parquet").read_bytes())
    data[100] ^= 1
    (copy / "requests.parquet").write_bytes(data)
    with pytest.raises(TableError, match=r"requests\.parquet: expected SHA-256"):
        Store.open(copy).targets  # noqa: B018


def test_a_shard_that_is_whole_but_wrong_is_named(folder, tmp_path):
    copy = shutil.copytree(folder, tmp_path / "copy")
    manifest = json.loads((copy / "manifest.json").read_text())
    entry = manifest["shards"][1]
    write_shard(copy / entry["file"], [b"no map"] * entry["requests"], [b""] * entry["requests"])
    entry |= {"sha256": files.sha256(copy / entry["file"]), "bytes": (copy / entry["file"]).stat().st_size}
    files.write_json(copy / "manifest.json", manifest)
    store = Store.open(copy)
    with pytest.raises(TableError, match=r"00001\.shard: map: expected a packed map \(17, 128, 128\), found"):
        store.maps([len(store) - 1])
