"""A small table with known truth, cut into the partitions that every method learns from and answers about."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from shiftbench.partition import features
from shiftbench.partition.features import Features
from tests.forked import Commands

TARGETS = {"regression": "y", "classification": "kind"}


def table(rows: int, seed: int = 0) -> pl.DataFrame:
    """Mixed columns; y has mean 10 + 3 a + 2 [colour is red] and standard deviation 0.5 or 2 as `noisy` says."""
    rng = np.random.default_rng(seed)
    a, noisy = rng.normal(size=rows), rng.random(rows) < 0.5
    colour = rng.choice(["red", "grün", "blue"], rows)
    mean = 10 + 3 * a + 2 * (colour == "red")
    y = mean + rng.normal(size=rows) * np.where(noisy, 2.0, 0.5)
    gaps = rng.random((2, rows)) < 0.05
    return pl.DataFrame(
        {
            "id": [f"r{row:05d}" for row in range(rows)],
            "a": pl.Series(a).set(pl.Series(gaps[0]), None),
            "b": rng.normal(size=rows),
            "noisy": noisy.astype(float),
            "colour": pl.Series(colour).set(pl.Series(gaps[1]), None),
            "forecast": pl.Series(mean + rng.normal(size=rows)).set(pl.Series(gaps[0]), None),
            "guess": np.where(a > 0, "high", "low"),
            "y": y,
            "kind": np.where(y > 13, "high", np.where(y > 8, "mid", "low")),
        }
    )


@dataclass(frozen=True)
class Parts:
    """Partitions, and the columns a model may see."""

    train: pl.DataFrame
    dev: pl.DataFrame
    rows: pl.DataFrame
    features: Features


def cut(train: int = 1500, dev: int = 300, rows: int = 400) -> Parts:
    whole = table(train + dev + rows)
    chosen = features.choose(whole, target="y", exclude=["id", "kind", "guess", "forecast"])
    return Parts(whole[:train], whole[train : train + dev], whole[train + dev :], chosen)


@pytest.fixture(autouse=True)
def _same_draws() -> None:
    """What a test draws from torch's own generator is the same in every run."""
    torch.default_generator.manual_seed(20211021)


@pytest.fixture(scope="package", autouse=True)
def _forked_workers(commands: Commands) -> Iterator[None]:
    """Most of the cost of a small fit in a process of its own is that this process imports its library."""
    with commands.workers():
        yield


@pytest.fixture(scope="session")
def parts() -> Parts:
    return cut()


@pytest.fixture(scope="module")
def name(request: pytest.FixtureRequest) -> str:
    """The method of `undisturbed`: what the module of tests calls NAME."""
    return str(request.module.NAME)


@pytest.fixture(scope="module")
def undisturbed(name, parts, tmp_path_factory) -> Path:
    """A small fit of an ensemble of CatBoost models."""
    from tests.methods.catboost_fits import fit

    return fit(name, parts, tmp_path_factory.mktemp("undisturbed") / "fit")


@pytest.fixture
def copied(undisturbed, tmp_path) -> Path:
    return Path(shutil.copytree(undisturbed, tmp_path / "fit"))
