"""Scenes that were cut from one recording, and how prepared data know of it."""

from __future__ import annotations

import json

from shiftbench.tracks.motion import LiveStore, Store, example
from shiftbench.tracks.motion.prepared import preparation
from shiftbench.tracks.motion.submissions.truth import truth_of_requests


def test_prepared_and_live_requests_know_the_recordings_that_an_import_noted(tmp_path):
    example.write(tmp_path / "towns", example.FEWEST_ROWS, 0)
    plain = Store.open(preparation.prepare(tmp_path / "towns", tmp_path / "plain", executor="serial").folder)
    assert plain.requests["recording"].equals(plain.requests["scene_id"], check_names=False)
    assert truth_of_requests(plain.requests, plain.targets).resampled == "scene_id"

    scenes = plain.requests["scene_id"].unique().sort().to_list()
    line = {"recording": "tour", "scenes": scenes[:3]}
    (tmp_path / "towns/imported.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    store = Store.open(preparation.prepare(tmp_path / "towns", tmp_path / "known", executor="serial").folder)
    expected = ["tour" if scene in scenes[:3] else scene for scene in store.requests["scene_id"]]
    assert store.requests["recording"].to_list() == expected
    assert truth_of_requests(store.requests, store.targets).resampled == "recording"
    live = LiveStore.of(tmp_path / "towns/eval").requests
    known = dict(zip(store.requests["id"], expected, strict=True))
    assert live["recording"].to_list() == [known.get(each, scene) for each, scene in live["id", "scene_id"].iter_rows()]
