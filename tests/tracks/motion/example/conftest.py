"""Scenes that several tests look at, made once."""

from __future__ import annotations

import pytest

from shiftbench.tracks.motion.example import scenes


@pytest.fixture(scope="session")
def made():
    """The first scenes of the evaluation part, one half of them shifted, of Moscow, Ann Arbor and Tel Aviv."""
    return list(scenes("eval", 100, seed=3))


@pytest.fixture(scope="session")
def towns(made):
    """Scenes of all six towns."""
    return [*made[:24], *scenes("dev", 24, seed=3)]
