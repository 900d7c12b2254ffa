"""The world of a ledger, in both databases."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .world import World


@pytest.fixture
def world(databases) -> Iterator[World]:
    made = World(databases.url())
    yield made
    made.ledger.close()
