"""Predictions that are kept: taken again under their own key only, made again where they are damaged."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.ensembles import Mixture, Trajectories
from shiftbench.methods import ensemble_files


def plans(rng):
    return Trajectories(rng.normal(size=(3, 4, 2, 25, 2)).astype(np.float32), rng.normal(size=(3, 4, 6)))


def mixture(rng):
    weights = rng.random((2, 4, 3))
    return Mixture(rng.normal(size=(2, 4, 3, 25, 2)).astype(np.float32), weights / weights.sum(axis=2, keepdims=True))


class Maker:
    """Gives what it was given, and counts how often."""

    def __init__(self, said):
        self.said, self.calls = said, 0

    def __call__(self):
        self.calls += 1
        return self.said


def assert_same(found, said):
    assert type(found) is type(said)
    assert repr(found) == repr(said)
    for name, value in vars(said).items():
        assert np.asarray(getattr(found, name)).tobytes() == np.asarray(value).tobytes(), name


@pytest.mark.parametrize("kind", [plans, mixture])
def test_what_is_kept_is_not_made_again(kind, rng, tmp_path):
    make, path = Maker(kind(rng)), tmp_path / "plans" / "a.npz"
    for _ in range(3):
        assert_same(ensemble_files.kept(path, "key", make), make.said)
    assert make.calls == 1
    assert [entry.name for entry in path.parent.iterdir()] == ["a.npz"]


def test_labels_of_records_are_not_kept(rng, tmp_path):
    said = plans(rng)
    ensemble_files.write(said.labelled(None), tmp_path / "a.npz")
    assert_same(ensemble_files.read(tmp_path / "a.npz"), said)


def test_another_key_makes_and_keeps_another(rng, tmp_path):
    path, first, second = tmp_path / "a.npz", Maker(plans(rng)), Maker(plans(rng))
    ensemble_files.kept(path, "one", first)
    assert_same(ensemble_files.kept(path, "two", second), second.said)
    assert_same(ensemble_files.kept(path, "two", first), second.said)
    assert (first.calls, second.calls) == (1, 1)


def test_equal_predictions_are_equal_files(rng, tmp_path):
    said = plans(rng)
    paths = [tmp_path / "a.npz", tmp_path / "b.npz"]
    for path in paths:
        ensemble_files.kept(path, "key", Maker(said))
    assert paths[0].read_bytes() == paths[1].read_bytes()


def spoilt(path, how):
    data = path.read_bytes()
    if how == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "foreign":
        path.write_bytes(b"no archive of arrays")
    elif how == "flipped":
        path.write_bytes(data[:400] + bytes([data[400] ^ 255]) + data[401:])
    elif how == "other arrays":
        np.savez(path, told=np.array('["Trajectories", {}, "key"]'), trajectories=np.zeros(3))
    else:  # one array, not an archive of them
        with path.open("wb") as opened:
            np.save(opened, np.zeros(3))


@pytest.mark.parametrize("how", ["cut", "empty", "foreign", "flipped", "other arrays", "one array"])
def test_a_damaged_file_is_made_again(rng, tmp_path, how):
    make, path = Maker(plans(rng)), tmp_path / "a.npz"
    ensemble_files.kept(path, "key", make)
    spoilt(path, how)
    assert_same(ensemble_files.kept(path, "key", make), make.said)
    assert make.calls == 2
    ensemble_files.kept(path, "key", make)
    assert make.calls == 2


def test_what_fails_leaves_no_file(tmp_path):
    def fail():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensemble_files.kept(tmp_path / "a.npz", "key", fail)
    assert list(tmp_path.iterdir()) == []
