"""Fixtures that all tests share."""

from __future__ import annotations

import gc
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
LONG = ("tests/hostile/", "tests/browser/", "tests/test_docs.py", "tests/cli/")
"""What begins first, since each file runs in one worker: a long one at the end would run alone."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long files first, those directly in this folder last, all others in between as they are found."""

    def place(item: pytest.Item) -> tuple[int, bool]:
        first = [number for number, name in enumerate(LONG) if item.nodeid.startswith(name)]
        return first[0] if first else len(LONG), item.path.parent == ROOT / "tests"

    items.sort(key=place)


def pytest_collection_finish() -> None:
    """What was imported stays: collecting garbage need not look at it again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _disk_left_alone() -> Iterator[None]:
    """No file is waited for until it is on the disk: of no concern to a kill, and slow; the machine does not crash."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


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
