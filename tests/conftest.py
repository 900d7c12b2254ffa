"""Fixtures that all tests share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

from shiftbench.io.executor import child, processes
from tests.executor import stand_in_slurm
from tests.forked import Commands

# The same command tests the same: HYPOTHESIS_PROFILE=explore looks for examples that nobody has seen yet.
settings.register_profile("fixed", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# Compiling the package and its tests takes seconds, in each of the many processes that are started.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20211021)


@pytest.fixture(scope="session")
def shared() -> Path:
    """Real data and golden files that may not enter the repository."""
    if not SHARED.is_dir():
        pytest.skip("the folder ../shared with real data and reference outputs is not here")
    return SHARED


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    """Runs commands in processes of their own that need not import anything, from the first one on."""
    running = Commands(tmp_path_factory.mktemp("commands"))
    yield running
    running.close()


@pytest.fixture
def new_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that train, predict or try models start as they do for a user, where others of a folder are forked."""
    monkeypatch.setattr(child, "subprocess", subprocess)


@pytest.fixture
def made_up_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a stand-in for sbatch, which is on PATH."""
    folder = stand_in_slurm.install(tmp_path / "bin")
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    monkeypatch.setenv("PYTHONPATH", processes.environment()["PYTHONPATH"])
    return folder
