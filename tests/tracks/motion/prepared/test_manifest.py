"""Manifests are checked before they are believed: none may lead to wrong requests, or out of its folder."""

from __future__ import annotations

import json
import shutil

import pytest

from shiftbench.errors import TableError
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared import preparation
from shiftbench.tracks.motion.prepared.manifest import read_manifest
from shiftbench.tracks.motion.prepared.store import Store
from tests.tracks.motion.made_parts import write


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    made = write(tmp_path_factory.mktemp("made"))
    settings = MapSettings.of(size=16, metres_per_pixel=4.0)
    folder = tmp_path_factory.mktemp("whole") / "prepared"
    return preparation.prepare(made, folder, executor="serial", settings=settings, scenes_per_shard=2).folder


@pytest.fixture
def folder(prepared, tmp_path):
    return shutil.copytree(prepared, tmp_path / "copy")


def changed(folder, *path, value):
    """Set a value in the manifest."""
    manifest = json.loads((folder / "manifest.json").read_text())
    held = manifest
    for key in path[:-1]:
        held = held[key]
    held[path[-1]] = value
    (folder / "manifest.json").write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (("notes",), None, "notes: expected a list, found None"),
        (("notes",), [1], r"notes: expected texts, found \[1\]"),
        (("unused",), [1], r"unused: expected an object, found \[1\]"),
        (("unused",), {"a": "b"}, "unused: expected numbers"),
        (("origin",), 3, "origin: expected text, found 3"),
        (("tags",), "x", "tags: expected an object"),
        (("shards",), [], "counts: expected as many requests as in the shards, at least one, found 6 and 0"),
        (("shards",), ["x"], "shard 0: expected a file with its size and hash, found 'x'"),
        (("shards", 0, "requests"), -1, "shards: expected numbers of requests"),
        (("shards", 0, "requests"), 5, "counts: expected as many requests as in the shards"),
        (("shards", 0, "file"), "../other.shard", "shard 0: expected a file inside the folder, found '../other.shard'"),
        (("requests", "file"), "/etc/hostname", "requests: expected a file inside the folder"),
        (("requests", "file"), None, "requests: expected a file inside the folder, found None"),
        (("requests", "bytes"), 1e99, "requests: expected a number of bytes, found 1e"),
        (("requests", "sha256"), 7, "requests: expected a SHA-256, found 7"),
        (("counts", "train"), True, "counts: expected numbers of requests"),
        (("counts",), {"train": 3}, "counts: expected numbers of requests"),
        (("settings", "size"), [1, 1], "begun: expected the same settings as beside it"),
    ],
)
def test_what_is_wrong_in_a_manifest_is_told(folder, path, value, told):
    changed(folder, *path, value=value)
    with pytest.raises(TableError, match=rf"manifest.json: {told}"):
        read_manifest(folder)


def test_all_problems_are_told_at_once(folder):
    changed(folder, "requests", "sha256", value=None)
    changed(folder, "shards", 1, "bytes", value="many")
    with pytest.raises(TableError) as raised:
        Store.open(folder)
    assert len(raised.value.problems) == 3  # and what to do


def test_shards_that_change_places_are_noticed(folder):
    """Their sum is right, and so is every hash."""
    manifest = read_manifest(folder)
    counts = [shard["requests"] for shard in manifest["shards"]]
    assert counts[0] != counts[-1] or len(set(counts)) > 1
    first = next(place for place, count in enumerate(counts) if count != counts[-1])
    manifest["shards"][first], manifest["shards"][-1] = (
        manifest["shards"][first] | {"requests": counts[-1]}, manifest["shards"][-1] | {"requests": counts[first]},
    )  # fmt: skip
    (folder / "manifest.json").write_text(json.dumps(manifest))
    store = Store.open(folder)
    with pytest.raises(TableError, match=r"shard: expected \d requests, as in the manifest, found \d"):
        store.maps(range(len(store)))


def test_a_table_of_other_requests_is_noticed(folder):
    manifest = read_manifest(folder)
    manifest["counts"]["train"] += 1
    manifest["shards"][0]["requests"] += 1
    (folder / "manifest.json").write_text(json.dumps(manifest))
    store = Store.open(folder)
    with pytest.raises(TableError, match=r"requests.parquet: expected 7 requests, as in the shards, found 6"):
        _ = store.requests
