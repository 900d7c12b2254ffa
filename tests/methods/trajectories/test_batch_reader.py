"""Batches: the same whether kept or read again, and the next one read is the one that training asks for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from shiftbench.errors import ArrayError, SettingsError
from shiftbench.methods import training
from shiftbench.methods.training import Objective, Schedule
from shiftbench.methods.trajectories import batch_reader, dataset
from shiftbench.methods.trajectories.batch_reader import BatchReader, PrefetchingReader
from tests.methods.trajectories.made_up import made_up

GIVEN = made_up(23, seed=4)


@pytest.mark.parametrize("read", [batch_reader.maps(1), batch_reader.maps(4), batch_reader.vectors])
def test_what_is_kept_is_what_is_read(read):
    kept, again = BatchReader(GIVEN, read), BatchReader(GIVEN, read, cache_bytes=0)
    assert kept.kept
    assert not again.kept
    for rows in (np.array([3, 1, 4]), np.array([1, 5, 9, 2]), np.array([3])):
        for name, values in kept(rows).items():
            np.testing.assert_array_equal(values, again(rows)[name])
            np.testing.assert_array_equal(values, read(GIVEN, rows)[name])


def test_the_middle_of_maps_is_read():
    found = batch_reader.maps(2, 12)(GIVEN, np.array([2]))["maps"]
    expected = GIVEN.pictures[2, :, 10:22, 10:22].reshape(3, 6, 2, 6, 2).mean(axis=(2, 4))
    np.testing.assert_allclose(found[0], expected, atol=1e-6)
    np.testing.assert_array_equal(batch_reader.maps(1, 99)(GIVEN, np.array([2]))["maps"][0], GIVEN.pictures[2])


def test_pixels_are_averaged():
    found = batch_reader.maps(4)(GIVEN, np.array([2]))["maps"]
    expected = GIVEN.pictures[2].reshape(3, 8, 4, 8, 4).mean(axis=(2, 4))
    np.testing.assert_allclose(found[0], expected, atol=1e-6)
    with pytest.raises(SettingsError, match=r"pooling: expected at most the pixels of a map \(32, 32\), found 33"):
        batch_reader.maps(33)(GIVEN, np.array([2]))


@pytest.mark.parametrize("step", [0, 2, 5])
def test_training_asks_for_the_batches_that_are_read_ahead(step):
    plan = Schedule(steps=11, batch=6, learning_rate=1e-3, validate_every=4, seed=99)
    order = batch_reader.orders(99, records=23, batch=6, step=step, steps=11)
    asked = []

    def batch(rows):
        asked.append(rows.numpy())
        return rows

    model = torch.nn.Linear(1, 1)
    lesson = Objective(23, batch, lambda model, rows: model.weight.square().sum(), lambda model: 1.0)
    training.train(model, lesson, plan)
    expected = list(order)
    assert len(expected) == 11 - step
    for ours, theirs in zip(expected, asked[step:], strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_is_asked_for_is_given_expected_or_not():
    ahead = PrefetchingReader(
        BatchReader(GIVEN, batch_reader.vectors), iter([np.array([1, 2]), np.array([3, 4]), np.array([5])])
    )
    try:
        for rows in ([1, 2], [9, 8], [5], [7]):
            found = ahead(np.array(rows))["history"]
            np.testing.assert_array_equal(found, GIVEN.features["history"][rows])
        assert ahead.expected == 2
    finally:
        ahead.close()


def test_a_request_with_an_id_is_called_by_it():
    class Named:
        requests = {"id": ["a/1", "b/2"]}  # noqa: RUF012

    Named.requests = type("Table", (dict,), {"columns": ["id"]})(Named.requests)
    assert dataset.request_name(Named(), 1) == "request 'b/2'"
    assert dataset.request_name(GIVEN, 1234) == "request 1,234"


def test_inputs_that_are_not_finite_are_found_wherever_they_are():
    features = {name: values.copy() for name, values in GIVEN.features.items()}
    features["points"][11, 0, 3, 1] = np.inf
    given = type(GIVEN)(GIVEN.targets, GIVEN.pictures, features)
    with pytest.raises(ArrayError, match=r"points: expected finite numbers, .* in request 11\."):
        BatchReader(given, batch_reader.vectors)(np.array([0, 11, 2]))


def test_a_hash_tells_targets_and_inputs_apart():
    first = dataset.digest(GIVEN, batch_reader.maps(2))
    assert first == dataset.digest(made_up(23, seed=4), batch_reader.maps(2))
    assert first != dataset.digest(made_up(23, seed=5), batch_reader.maps(2))
    assert first != dataset.digest(GIVEN, batch_reader.vectors)
