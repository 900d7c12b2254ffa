"""Small phantoms, written once."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.tracks.lesions import example, preparation


@pytest.fixture(scope="session")
def phantoms(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of ten example patients in the published layout, with voxels of 8 mm."""
    return example.write(tmp_path_factory.mktemp("lesions") / "phantoms", rows=10, voxel=8.0)


@pytest.fixture(scope="session")
def prepared(phantoms: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same, prepared."""
    return preparation.prepare(phantoms, tmp_path_factory.mktemp("lesions") / "prepared").folder
