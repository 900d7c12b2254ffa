"""Scenes drawn when they are asked for: the same numbers as those of a store, and what is refused."""

from __future__ import annotations

import pickle
import shutil

import numpy as np
import pytest

from shiftbench import methods
from shiftbench.errors import ArrayError, ShiftbenchError, TableError
from shiftbench.methods.trajectories.settings import VectorSettings
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared import live, preparation
from shiftbench.tracks.motion.prepared.live import LiveStore
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.motion.scenes.scene import read_scene, scene_of, write_scene
from shiftbench.tracks.motion.submissions.scoring import scored_submission
from shiftbench.tracks.motion.submissions.submitted import Submission
from shiftbench.tracks.motion.submissions.truth import truth_of_requests
from tests.tracks.motion import made_parts, made_scene
from tests.tracks.motion.made_scene import GOLDEN, MADE

SMALL = MapSettings.of(size=32, metres_per_pixel=2.0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A flat folder of the golden scenes."""
    root = tmp_path_factory.mktemp("live") / "scenes"
    root.mkdir()
    for name in MADE:
        shutil.copy(GOLDEN / f"{name}.pb", root / f"{name}.pb")
    return root


@pytest.fixture(scope="module")
def store(folder):
    prepared = preparation.prepare(folder, folder.with_name("prepared"), executor="serial", settings=SMALL)
    return Store.open(prepared.folder)


@pytest.fixture
def alive(folder):
    return LiveStore.of(folder, SMALL)


def assert_same(mine, theirs, rows):
    assert mine.maps(rows).tobytes() == theirs.maps(rows).tobytes()
    vectors, others = mine.vectors(rows), theirs.vectors(rows)
    assert set(vectors) == set(others)
    for name, values in vectors.items():
        assert (values.dtype, values.shape) == (others[name].dtype, others[name].shape)
        assert values.tobytes() == others[name].tobytes(), name


def test_everything_is_that_of_a_store_of_the_same_scenes(alive, store):
    assert len(alive) == len(store) > 2
    assert_same(alive, store, np.arange(len(store)))
    assert alive.targets.dtype == np.float32
    assert alive.targets.tobytes() == store.targets.tobytes()
    known = [name for name in store.requests.columns if name not in ("partition", "shifted", "file")]
    assert alive.requests.select(known).equals(store.requests.select(known))
    assert alive.requests["shifted"].null_count() == alive.requests["partition"].null_count() == len(alive)


def test_rows_may_come_in_any_order_and_twice(alive, store):
    assert_same(alive, store, [len(store) - 1, 0, len(store) - 1, 1])


def test_no_rows_are_no_rows(alive, store):
    assert_same(alive, store, [])


@pytest.mark.parametrize("rows", [[0.5], [-1], [10_000], [[0]], [True], None, "1", [[0], [0, 1]]])
def test_rows_that_are_none_are_refused(alive, rows):
    for ask in (alive.maps, alive.vectors, alive.select):
        with pytest.raises(ArrayError, match=rf"rows: expected whole numbers from 0 to {len(alive) - 1}, or .* found"):
            ask(rows)


def test_a_selection_is_that_of_the_store(alive, store):
    rows = np.arange(len(store))[::-2]
    flags = np.isin(np.arange(len(store)), rows)
    assert_same(alive.select(rows), store.select(rows), np.arange(len(rows)))
    assert alive.select(flags).requests["id"].to_list() == store.select(flags).requests["id"].to_list()
    assert alive.select(rows).select([1]).targets.tobytes() == store.targets[rows[[1]]].tobytes()


def test_it_is_the_same_in_another_process(alive, store):
    alive.maps([0])  # what was read stays behind
    copy = pickle.loads(pickle.dumps(alive))
    assert len(pickle.dumps(copy)) < 100_000
    assert (copy.key, copy.map_settings) == (alive.key, alive.map_settings)
    assert_same(copy, store, np.arange(len(store)))


def test_only_the_last_scenes_stay_in_memory(alive, store, monkeypatch):
    monkeypatch.setattr(live, "KEPT", 1)
    assert_same(alive, store, np.arange(len(store)))
    assert len(alive._scenes) == 1


def test_scenes_are_given_by_their_ids(alive, folder):
    scene = read_scene(folder / f"{MADE[1]}.pb")
    made_scene.assert_same(alive.scene(scene.id), scene)
    with pytest.raises(TableError, match="of these requests, but no request belongs to scene 'nobody'"):
        alive.scene("nobody")


def test_parts_are_read_whatever_their_partition(tmp_path):
    source = made_parts.write(tmp_path / "source")
    found = LiveStore.of(source, SMALL).requests["scene_id"].to_list()
    assert found == [name.replace("/", "-") for name in made_parts.PLACES]


def test_places_may_be_texts_and_what_is_no_path_is_refused(folder, alive):
    assert LiveStore.of(str(folder), SMALL).key == alive.key
    with pytest.raises(ShiftbenchError, match=r"expected a path, found 3 \(int\)"):
        LiveStore.of(3)


def test_one_scene_is_enough(folder, alive):
    one = LiveStore.of(folder / f"{MADE[0]}.pb", SMALL)
    assert one.requests["id"].to_list() == alive.requests.filter(alive.requests["number"] == 0)["id"].to_list()


def test_the_key_follows_the_scenes_and_how_they_are_drawn_but_not_their_place(folder, alive, tmp_path):
    moved = shutil.copytree(folder, tmp_path / "moved")
    assert LiveStore.of(moved, SMALL).key == alive.key
    assert LiveStore.of(moved).key != alive.key
    path = moved / f"{MADE[0]}.pb"
    size, message = path.stat().st_size, made_scene.protobuf.parse_scene(path.read_bytes())
    message.past_ego_track[0].position.x += 1.0
    path.write_bytes(message.SerializeToString(deterministic=True))
    assert path.stat().st_size == size
    assert LiveStore.of(moved, SMALL).key != alive.key  # though no file has another name or size


def test_all_that_is_wrong_with_scenes_is_named_at_once(folder, tmp_path):
    bad = shutil.copytree(folder, tmp_path / "bad")
    (bad / "cut.pb").write_bytes((folder / f"{MADE[0]}.pb").read_bytes()[:-7])
    (bad / "foreign.pb").write_bytes(b"no scene at all")
    (bad / "twice.pb").write_bytes((folder / f"{MADE[0]}.pb").read_bytes())
    with pytest.raises(ShiftbenchError, match=r"cut\.pb") as caught:
        LiveStore.of(bad, SMALL)
    text = "\n".join(caught.value.problems)
    assert "foreign.pb" in text
    assert f"expected each scene once, found {read_scene(bad / 'twice.pb').id} more than once" in text


def test_folders_without_scenes_or_usable_requests_are_refused(tmp_path):
    with pytest.raises(TableError, match=r"expected scenes \(.pb\) in folders train, dev and eval"):
        LiveStore.of(tmp_path)
    with pytest.raises(TableError, match="expected a folder of scenes or an archive of them, found nothing there"):
        LiveStore.of(tmp_path / "nothing")
    unasked = made_scene.message()
    del unasked.prediction_requests[:]
    write_scene(scene_of(unasked), tmp_path / "unasked.pb")
    with pytest.raises(TableError, match="expected requests that can be scored, found none in 1 scene"):
        LiveStore.of(tmp_path)


def test_scenes_of_one_recording_are_one_cluster(tmp_path):
    write_scene(scene_of(made_parts.message("a_0s", made_parts.MOSCOW, made_parts.UNKNOWN)), tmp_path / "eval/a_0s.pb")
    write_scene(scene_of(made_parts.message("a_1s", made_parts.MOSCOW, made_parts.UNKNOWN)), tmp_path / "eval/a_1s.pb")
    write_scene(scene_of(made_parts.message("b_0s", made_parts.MOSCOW, made_parts.UNKNOWN)), tmp_path / "eval/b_0s.pb")
    assert LiveStore.of(tmp_path).requests["recording"].unique(maintain_order=True).to_list() == [
        "a_0s",
        "a_1s",
        "b_0s",
    ]
    lines = ['{"recording": "a", "scenes": ["a_0s", "a_1s"]}', "no line of ours", '{"recording": 3}']
    (tmp_path / "imported.jsonl").write_text("\n".join(lines))
    for place in (tmp_path, tmp_path / "eval"):
        requests = LiveStore.of(place).requests
        assert requests["recording"].unique(maintain_order=True).to_list() == ["a", "b_0s"]
    truth = truth_of_requests(requests, LiveStore.of(tmp_path).targets)
    submission = Submission.of(
        (truth.scene_ids, truth.track_ids), truth.targets[:, None], np.ones((len(truth), 1)), np.zeros(len(truth))
    )
    records, _ = scored_submission(submission, truth)
    assert len(set(records.clusters.tolist())) == 2


def test_networks_learn_the_same_from_scenes_drawn_live(folder, store, alive, tmp_path):
    settings = VectorSettings(
        members=1, epochs=2, warmup_epochs=0, batch=4, width=16, heads=2, mixing=0, layers=1, modes=2, patience=2
    )
    answers = []
    for name, requests in (("packed", store), ("live", alive)):
        methods.method("vector").fit(requests, requests, settings=settings, folder=tmp_path / name, cores=1)
        answers.append(methods.method("vector").predict(store, folder=tmp_path / name, cores=1).trajectories)
    assert np.array_equal(*answers)
