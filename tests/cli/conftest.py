"""The command line, run in process: what it prints, what it writes, how it exits."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench import tracks
from shiftbench.cli import main
from shiftbench.track import Track
from tests.forked import Commands
from tests.small_presets import blank_pictures


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


Shiftbench = Callable[..., Said]


@pytest.fixture
def shiftbench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shiftbench:
    """Run the command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def run(*words: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["shiftbench", *map(str, words)])
        with pytest.raises(SystemExit) as caught:
            main()
        said = capsys.readouterr()
        return Said(int(caught.value.code or 0), said.out, said.err)

    return run


@pytest.fixture(scope="package", autouse=True)
def _forked_workers(commands: Commands) -> Iterator[None]:
    """Most of the cost of a small fit in a process of its own is that this process imports its library."""
    with commands.workers():
        yield


@pytest.fixture
def drawn() -> None:
    """Pictures are drawn as for a user; what is tested without this fixture writes blank ones."""


@pytest.fixture(autouse=True)
def _blank_pictures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing is most of the cost of a small run, and tested elsewhere: drawings are made, not painted."""
    if "drawn" not in request.fixturenames:
        blank_pictures(monkeypatch)


def run_in(folder: Path, *words: object) -> Said:
    """Run the command line in a folder, for the fixtures that several tests share; pictures are blank."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        blank_pictures(patch)
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["shiftbench", *map(str, words)])
        with pytest.raises(SystemExit) as caught:
            main()
    return Said(int(caught.value.code or 0), out.getvalue(), err.getvalue())


def replace_track(monkeypatch: pytest.MonkeyPatch, own: Track, **parts: Any) -> None:
    """From now on a track has other parts."""
    tracks.track(own.name)  # loaded
    monkeypatch.setitem(tracks._registry()._held, own.name, replace(own, **parts))


def errors_table(n: int = 300, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    shifted = rng.random(n) < 0.5
    sd = np.exp(0.5 * rng.normal(size=n) + 0.5 * shifted)
    truth = rng.normal(size=n)
    answer = truth + sd * rng.normal(size=n)
    return pl.DataFrame(
        {
            "id": [f"r{k:03d}" for k in range(n)],
            "target": truth,
            "answer": answer,
            "error": (answer - truth) ** 2,
            "uncertainty": sd**2,
            "shifted": shifted.astype(int),
            "city": rng.integers(0, 40, n),
            "season": rng.choice(["wet", "dry"], n),
        }
    )


def weather_like(n: int = 1200, seed: int = 0) -> pl.DataFrame:
    """A table to train on: a season, two regions, a forecast, missing values, a text column, classes."""
    rng = np.random.default_rng(seed)
    day = np.arange(n) // 4
    region = np.array(["coast", "plain", "plain", "hills"])[np.arange(n) % 4]
    x = rng.normal(size=n) + (region == "hills")
    y = 3 * x + 4 * np.sin(day / 50) + rng.normal(size=n) * np.where(region == "hills", 2.0, 0.7)
    frame = pl.DataFrame(
        {
            "id": [f"{d:04d}-{k}" for k, d in enumerate(day)],
            "date": pl.Series(day).cast(pl.Int32).cast(pl.Date),
            "region": region,
            "station": np.arange(n) % 48,
            "x": x,
            "noise": rng.normal(size=n),
            "sky": rng.choice(["clear", "cloud"], n),
            "forecast": y + rng.normal(size=n),
            "y": y,
            "kind": np.where(y > 2, "high", "low"),
        }
    )
    gaps = pl.Series(rng.random(n) < 0.05)
    return frame.with_columns(pl.when(~gaps).then(pl.col("x")).alias("x"))
