"""One world for the tests that only look, and a fresh one for those that change something."""

from __future__ import annotations

from pathlib import Path

import pytest

from .hosted import Hosted
from .world import World, build, copied


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build(tmp_path_factory.mktemp("world"))


@pytest.fixture
def own_world(world: World, tmp_path: Path) -> World:
    return copied(world, tmp_path)


@pytest.fixture(scope="session")
def hosted_once(tmp_path_factory: pytest.TempPathFactory) -> Hosted:
    """A challenge whose submissions are scored, to be copied."""
    return Hosted(tmp_path_factory.mktemp("hosted"))
