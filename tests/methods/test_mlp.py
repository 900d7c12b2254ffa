"""Ensembles of plain networks: what their inputs are, and that they learn a mean and its noise."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import SettingsError, TableError
from shiftbench.methods import fitted_folder, member_files
from shiftbench.methods.batched import mlp
from shiftbench.methods.batched.scaling import Scaling
from shiftbench.partition.features import Features


@pytest.fixture
def frame() -> pl.DataFrame:
    rng = np.random.default_rng(0)
    rows = 200
    return pl.DataFrame(
        {
            "a": rng.normal(50, 4, rows),
            "hours": rng.uniform(10_000, 2e6, rows),
            "constant": np.full(rows, 3.0),
            "holes": pl.Series(rng.normal(5, 2, rows)).set(pl.Series(np.arange(rows) % 10 == 0), None),
            "colour": ["red"] * 120 + ["blue"] * 77 + ["rare"] * 3,
        }
    )


NUMERIC = ("a", "hours", "constant", "holes")
ALL = Features(numeric=NUMERIC, categorical=("colour",))


def test_the_published_settings_are_the_defaults():
    settings = mlp.Settings("regression")
    assert (settings.members, settings.batch, settings.learning_rate, settings.weight_decay) == (10, 32, 1e-4, 0.0)
    assert (settings.hidden, settings.epochs, settings.patience, settings.cosine) == ((50, 20), 200, 4, False)
    assert settings.most_steps is None


def test_numbers_are_standardised_by_train_and_columns_with_a_scale_divided(frame):
    scaling = Scaling.fit(frame, ALL, {"hours": 1000.0})
    encoded = scaling.encode(frame)
    assert encoded.shape == (200, 4 + 1 + 2)
    a = frame["a"].to_numpy()
    np.testing.assert_allclose(encoded[:, 0], (a - a.mean()) / a.std(), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(encoded[:, 1], frame["hours"].to_numpy() / 1000, rtol=1e-6)
    assert (encoded[:, 2] == 0).all(), "a constant column says nothing"
    np.testing.assert_array_equal(encoded[:, 4], np.arange(200) % 10 == 0)
    assert (encoded[::10, 3] == 0).all(), "a missing number is the mean"
    np.testing.assert_array_equal(encoded[:, 5:], np.stack([frame["colour"] == "blue", frame["colour"] == "red"], 1))


def test_only_columns_with_a_scale_are_divided(frame):
    encoded = Scaling.fit(frame, ALL, {"a": 10.0}).encode(frame)
    np.testing.assert_allclose(encoded[:, 0], frame["a"].to_numpy() / 10, rtol=1e-6)
    assert abs(encoded[:, 1].mean()) < 1e-5, "standardised"
    with pytest.raises(SettingsError, match=r"scales: expected numeric features \(a, .*\), found b"):
        Scaling.fit(frame, ALL, {"b": 10.0})


def test_a_scaling_survives_json_exactly(frame):
    scaling = Scaling.fit(frame, ALL, {"hours": 1000.0})
    again = Scaling.from_json(scaling.to_json())
    np.testing.assert_array_equal(again.encode(frame), scaling.encode(frame))


def test_features_that_never_vary_are_an_error(frame):
    with pytest.raises(TableError, match=r"expected features that vary, found only constant ones \(constant\)"):
        Scaling.fit(frame, Features(numeric=("constant",)), {})


def test_settings_of_a_file_are_plain_values():
    settings = mlp.Settings.from_dict({"task": "regression", "hidden": [8], "scales": {"a": 2}})
    assert settings.to_dict()["hidden"] == [8]
    assert mlp.Settings.from_dict(settings.to_dict()) == settings
    assert "scales" not in mlp.Settings("regression").to_dict()
    with pytest.raises(SettingsError, match="hidden: expected the widths of one or more layers, found"):
        mlp.Settings("regression", hidden=())
    with pytest.raises(SettingsError, match="scales: expected a table of columns and divisors, found 3"):
        mlp.Settings("regression", scales=3)


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """y = 1000 + 300 x² with standard deviation 20 or 80."""
    rng = np.random.default_rng(1)
    x, noisy = rng.uniform(-1.5, 1.5, 5000), rng.random(5000) < 0.5
    y = 1000 + 300 * x**2 + rng.normal(size=5000) * np.where(noisy, 80, 20)
    frame = pl.DataFrame({"x": x, "noisy": noisy.astype(float), "y": y})
    settings = mlp.Settings("regression", members=3, batch=64, learning_rate=0.01, epochs=12, cosine=True)
    folder = mlp.MLP.fit(
        frame[:4000], frame[4000:], features=Features(numeric=("x", "noisy")), target="y", settings=settings,
        folder=tmp_path_factory.mktemp("mlp") / "fit",
    )  # fmt: skip
    return frame[4000:], folder


def test_it_learns_a_mean_and_its_noise(fitted):
    dev, folder = fitted
    says = mlp.MLP.predict(dev, folder=folder)
    truth = 1000 + 300 * dev["x"].to_numpy() ** 2
    assert np.sqrt(np.mean((says.answers() - truth) ** 2)) < 25
    deviation = np.sqrt(says.variance.mean(axis=0))
    noisy = dev["noisy"].to_numpy() == 1
    assert deviation[noisy].mean() == pytest.approx(80, rel=0.2)
    assert deviation[~noisy].mean() == pytest.approx(20, rel=0.3)
    assert says.mean.std(axis=0).min() > 0, "members differ"


def test_early_stopping_looks_at_the_absolute_error_of_the_mean(fitted):
    dev, folder = fitted
    record = fitted_folder.read(folder)
    says = mlp.MLP.predict(dev, folder=folder)
    for member in range(3):
        error = np.abs(says.mean[member] - dev["y"].to_numpy()).mean() / record["scale"]
        assert member_files.weights(folder).note(member)["best_loss"] == pytest.approx(error, rel=1e-4)


def test_about_tells_the_size(fitted):
    dev, folder = fitted
    assert "3 networks that differ by seed (layers of 50, 20, best after" in mlp.MLP.about(dev, folder=folder)
