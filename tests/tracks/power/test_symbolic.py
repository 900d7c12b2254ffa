"""The network made of ship physics keeps its laws with any weights, far outside of what it was trained on."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
import torch

from shiftbench.errors import SettingsError, TableError
from shiftbench.methods.batched.mlp import MLP
from shiftbench.methods.contract import Job
from shiftbench.methods.determinism import one_thread
from shiftbench.partition.features import Features
from shiftbench.tracks.power.symbolic.method import METHOD as SYMBOLIC
from shiftbench.tracks.power.symbolic.method import terms
from shiftbench.tracks.power.symbolic.network import LARGEST, START, Symbolic
from shiftbench.tracks.power.symbolic.terms import ADDED, CALM, FROUDE, ROLES, Terms

FEATURES = Features(numeric=(*ROLES.values(), "rcurrent_ucomp"))


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """As in a fit: on a busy machine small operations would wait for threads."""
    with one_thread():
        yield


def ship(rows: int, seed: int = 0, *, wide: bool = False) -> pl.DataFrame:
    """Records of a made-up ship; train is narrow: quick, calm and on an even keel."""
    rng = np.random.default_rng(seed)
    low, high = (
        np.array([[8, 8, 5, -0.5, 0, 0, 0], [15, 15, 23, 0.5, 40, 2, 6]])
        if wide
        else np.array([[11, 11, 14, -0.3, 0, 0, 0.2], [13.5, 13.5, 21, 0.3, 19, 1, 3]])
    )
    aft, fore, over_ground, change, wind, current, waves = rng.uniform(low, high, (rows, 7)).T
    angle, set_ = rng.uniform(0, 2 * np.pi, (2, rows))
    along, time = wind * np.cos(angle), rng.uniform(1e4, 1.7e6, rows)
    speed, draft = over_ground - current * np.cos(set_), (aft + fore) / 24
    apparent_along, across = along + over_ground, np.abs(wind * np.sin(angle))
    apparent, v = np.hypot(apparent_along, across), speed / 20
    resistance = (
        v**1.9 * (0.3 + 0.4 * draft) * (1 + 0.1 * np.sqrt(time / 1e6)) + 0.2 * v**5 * draft
        + 0.15 * apparent * apparent_along / 400 + 0.05 * (waves / 2) ** 2 * (1 + np.cos(angle)) / 2
        + 0.1 * change * draft
    )  # fmt: skip
    resistance = np.maximum(resistance, 0.01)
    power = 25_000 * resistance * (v + np.sqrt(v**2 + 0.4 * resistance)) / 2
    columns = [aft, fore, speed, change, apparent_along, across, current * np.cos(set_), waves, time]
    return pl.DataFrame(
        dict(zip(ROLES.values(), columns, strict=True))
        | {"rcurrent_ucomp": current, "power": power + rng.normal(size=rows) * (0.025 * power + 25 * wind)}
    )


TRAIN = ship(4000)
TERMS = Terms.fit(TRAIN, FEATURES, ROLES)
RECORD = {"center": 2.4, "scale": 1.0, "inputs": TERMS.to_json(), "settings": {"width": 8}}


def network(seed: int) -> Symbolic:
    """With weights as wild as no training makes them."""
    net = Symbolic(RECORD, seeds=[seed, seed + 1])
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in net.parameters():
            parameter += 2 * torch.randn(parameter.shape, generator=generator)
    return net


def power(net: Symbolic, frame: pl.DataFrame) -> np.ndarray:
    """Power [M, N], from 0 on, in standard deviations."""
    with torch.no_grad():
        return net.mean(torch.from_numpy(TERMS.encode(frame))).numpy() + RECORD["center"]


def changed(frame: pl.DataFrame, **by: float) -> pl.DataFrame:
    return frame.with_columns(pl.col(ROLES[role]) + value for role, value in by.items())


@pytest.mark.parametrize("seed", [0, 10, 20])
@pytest.mark.parametrize(("role", "more"), [("wave_height", 1.0), ("since_dry_dock", 3e5), ("acceleration", 0.3)])
def test_waves_fouling_and_acceleration_only_cost(role, more, seed):
    net, frame = network(seed), ship(500, 1, wide=True)
    before, after = power(net, frame), power(net, changed(frame, **{role: more}))
    assert (after >= before - 1e-5 * np.abs(before)).all()
    assert (after > before).any()


@pytest.mark.parametrize("seed", [0, 10, 20])
def test_a_head_wind_costs_and_one_from_astern_helps(seed):
    net = network(seed)
    frame = ship(500, 1, wide=True).with_columns(pl.lit(0.0).alias(ROLES["wind_across"]))
    still, head, astern = (
        power(net, frame.with_columns(pl.lit(wind).alias(ROLES["wind_along"]))) for wind in (0.0, 30.0, -30.0)
    )
    assert (head >= still).all()
    assert (astern <= still).all()
    assert (head > still).any()


@pytest.mark.parametrize("seed", [0, 10, 20])
def test_power_and_deviation_are_positive_and_finite_whatever_the_record(seed):
    net, frame = network(seed), ship(500, 1, wide=True)
    odd = pl.concat([frame, changed(frame, wind_along=-200), changed(frame, speed=-40), changed(frame, speed=60)])
    (function,) = net.functions(1)
    with torch.no_grad():
        mean, sd = function(torch.from_numpy(TERMS.encode(odd).T.copy())).numpy()
    assert (mean + RECORD["center"] >= -1e-5).all()
    assert (sd > 0).all()
    assert np.isfinite([mean, sd]).all()


@pytest.mark.parametrize("seed", [0, 10])
def test_power_grows_at_least_like_a_power_of_speed_in_calm_water(seed):
    frame = ship(200, 1).with_columns(
        pl.lit(0.0).alias(ROLES[role]) for role in ("wind_along", "wind_across", "wave_height", "acceleration")
    )
    slow, fast = (frame.with_columns(pl.lit(value).alias(ROLES["speed"])) for value in (5.0, 10.0))
    net = network(seed)
    # Both speeds are below those of train, so the network of drafts and speed says the same of both.
    assert (power(net, fast) / power(net, slow) > 2**2.7).all()


def at_speeds(net: Symbolic, frame: pl.DataFrame, *speeds: float) -> np.ndarray:
    """Power [S, M, N] of the same records at other speeds through water, in the same true wind."""
    ahead = pl.col(ROLES["wind_along"]) - pl.col(ROLES["speed"])
    moved = (
        frame.with_columns((ahead + speed).alias(ROLES["wind_along"]), pl.lit(speed).alias(ROLES["speed"]))
        for speed in speeds
    )
    return np.stack([power(net, each) for each in moved])


def falls(found: np.ndarray) -> np.ndarray:
    """Where power falls from one speed to the next by more than float32 may lose."""
    return np.diff(found, axis=0) < -1e-4 - 1e-5 * np.abs(found[:-1])


@pytest.mark.parametrize("seed", [0, 10, 20])
def test_outside_the_speeds_of_train_power_never_falls_with_speed_in_the_same_wind(seed):
    net, frame = network(seed), ship(300, 1, wide=True)
    slowest, fastest = TERMS.low[2], TERMS.high[2]
    assert not falls(at_speeds(net, frame, *np.linspace(1, slowest, 15))).any()
    assert not falls(at_speeds(net, frame, *np.linspace(fastest, 40, 15))).any()


@pytest.mark.parametrize("seed", [0, 10, 20])
@pytest.mark.parametrize("speed", [6.0, 9.0, 12.0, 15.0, 20.0])
def test_much_faster_costs_more_with_any_weights(speed, seed):
    net, frame = network(seed), ship(300, 1, wide=True)
    apart = float(np.exp(2 * LARGEST[0] / FROUDE))
    assert apart == pytest.approx(1.73, abs=0.005)  # as the documentation of `network` has it
    assert not falls(at_speeds(net, frame, speed, apart * speed)).any()


def test_between_neighbouring_speeds_of_train_weights_can_be_found_for_which_power_falls():
    frame = ship(300, 1, wide=True)
    speeds = np.linspace(TERMS.low[2], TERMS.high[2], 30)
    share = np.mean([falls(at_speeds(network(seed), frame, *speeds)).mean() for seed in (0, 2, 4, 6, 8, 10)])
    assert 0.002 < share < 0.1, "a law after all, or far from the 3 % that `network` tells"


def test_the_terms_are_those_of_a_typical_record():
    encoded = TERMS.encode(TRAIN)
    assert encoded.shape == (4000, 3 + 3 + len(CALM) + len(ADDED))
    assert encoded[:, 0].mean() == pytest.approx(1, rel=1e-3)
    np.testing.assert_allclose(encoded[:, 3:6].mean(axis=0), 0, atol=1e-3)
    np.testing.assert_allclose(encoded[:, 3:6].std(axis=0), 1, atol=1e-3)
    outside = TERMS.encode(ship(3000, 2, wide=True))
    assert np.abs(outside[:, 3:6]).max() <= np.abs(encoded[:, 3:6]).max() + 1e-5, "the network sees nothing new"
    assert [len(START[part]) for part in ("calm", "added")] == [len(CALM), len(ADDED)]


@pytest.mark.parametrize(("wind_along", "ahead"), [(16.0 + 8, 1.0), (16.0 - 8, 0.0), (16.0, 0.25)])
def test_waves_cost_with_the_square_of_their_height_and_more_from_ahead(wind_along, ahead):
    values = {"stw": 16.0, "comb_wind_swell_wave_height": 3.0, "awind_vcomp_provider": wind_along}
    across = 8.0 if wind_along == 16 else 0.0
    frame = pl.DataFrame({name: [values.get(name, 0.0)] for name in ROLES.values()})
    added = TERMS.encode(frame.with_columns(pl.lit(across).alias(ROLES["wind_across"])))[0, -len(ADDED) :]
    found = dict(zip(ADDED, added, strict=True))
    assert found["waves"] == pytest.approx((3 / TERMS.wave) ** 2, rel=1e-5)
    assert found["waves_ahead"] == pytest.approx(ahead * (3 / TERMS.wave) ** 2, rel=1e-5, abs=1e-6)


def test_true_wind_is_rebuilt_from_the_motion_over_ground():
    frame = pl.DataFrame({name: [0.0] for name in ROLES.values()}).with_columns(
        pl.lit(12.0).alias("stw"), pl.lit(1.0).alias("rcurrent_vcomp"), pl.lit(16.0).alias("awind_vcomp_provider"),
        pl.lit(4.0).alias("awind_ucomp_provider"),
    )  # fmt: skip
    assert TERMS.encode(frame)[0, 1] == pytest.approx(5 / TERMS.wind, rel=1e-5)


def test_terms_survive_json_exactly():
    again = Terms.from_json(TERMS.to_json())
    np.testing.assert_array_equal(again.encode(TRAIN), TERMS.encode(TRAIN))


def test_roles_without_a_column_and_missing_values_are_errors(tmp_path):
    settings = SYMBOLIC.Settings("regression", roles={"speed": "sog"})
    with pytest.raises(TableError, match=r"numeric features for all roles, found none named sog \(for speed\)"):
        terms(Job(TRAIN, TRAIN, FEATURES, "power", settings, tmp_path, 1))
    holes = TRAIN.with_columns(TRAIN["stw"].scatter([1, 5], None))
    with pytest.raises(TableError, match="column 'stw': expected a number in every record, found 2 of 4,000 missing"):
        Terms.fit(holes, FEATURES, ROLES)
    with pytest.raises(TableError, match="train, stw: expected speeds above 0, found none"):
        Terms.fit(TRAIN.with_columns(-pl.col("stw")), FEATURES, ROLES)


def test_wrong_roles_are_reported_at_once():
    with pytest.raises(SettingsError) as caught:
        SYMBOLIC.Settings("regression", roles={"sped": "stw", "speed": 3}, width=0)
    assert [problem.split(",")[0].split(" found")[0] for problem in caught.value.problems] == [
        "width: expected a whole number from 1 to 4", "roles: expected roles among draft_aft",
        "roles.speed: expected the name of a column",
    ]  # fmt: skip
    with pytest.raises(SettingsError, match="roles: expected a table of roles and columns, found 'stw'"):
        SYMBOLIC.Settings("regression", roles="stw")


def test_outside_of_train_it_is_far_better_than_a_plain_network(tmp_path):
    train, dev, outside = TRAIN[:3600], TRAIN[3600:], ship(2000, 5, wide=True)
    errors = {}
    for method in (MLP, SYMBOLIC):
        settings = method.Settings("regression", members=2, batch=128, learning_rate=0.01, epochs=25, cosine=True)
        folder = method.fit(
            train, dev, features=FEATURES, target="power", settings=settings, folder=tmp_path / method.name
        )
        errors[method.name] = [
            float(np.sqrt(np.mean((method.predict(rows, folder=folder).answers() - rows["power"].to_numpy()) ** 2)))
            for rows in (dev, outside)
        ]
    assert errors["symbolic"][0] < 1.1 * errors["mlp"][0]
    assert errors["symbolic"][1] < 0.75 * errors["mlp"][1]
