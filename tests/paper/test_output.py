"""Tables and figures of a paper in a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from shiftbench.paper.output import Paper


@pytest.fixture
def drawing() -> Callable[..., Paper]:
    """A paper without tables, whose pictures have given names."""

    def paper(*names: str) -> Paper:
        def figures(_reports: object, folder: Path) -> list[Path]:
            folder.mkdir(parents=True, exist_ok=True)
            paths = [folder / f"{name}{ending}" for name in names for ending in (".png", ".svg")]
            for path in paths:
                path.write_bytes(b"drawn")
            return paths

        return Paper(title="A paper", tables=lambda _reports: [], figures=figures)

    return paper


def test_pictures_of_an_earlier_run_do_not_stay_and_what_is_not_ours_does(
    drawing: Callable[..., Paper], tmp_path: Path
) -> None:
    drawing("a", "b").write([], tmp_path)
    (tmp_path / "figures/mine.png").write_bytes(b"mine")
    drawing("b", "c").write([], tmp_path)
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "b.png", "b.svg", "c.png", "c.svg", "mine.png",
    ]  # fmt: skip
    assert "figures/a.png" not in (tmp_path / "tables.md").read_text("utf-8")
