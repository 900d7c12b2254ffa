"""Tables and figures of a paper in a folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from shiftbench.errors import SettingsError
from shiftbench.scores.score import Score
from shiftbench.track.paper.figure import PaperFigure
from shiftbench.track.paper.output import Paper
from shiftbench.track.paper.table import Cell, Column, Row, Table


@pytest.fixture
def drawing() -> Callable[..., Paper]:
    """A paper without tables, whose pictures have given names."""

    def paper(*names: str) -> Paper:
        def figures(_reports: object, folder: Path) -> list[PaperFigure]:
            folder.mkdir(parents=True, exist_ok=True)
            drawn = [PaperFigure(folder / f"{name}.png", f"Figure {name}", "Across <years>, up m.") for name in names]
            for path in (path for figure in drawn for path in figure.paths):
                path.write_bytes(b"drawn")
            return drawn

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


def test_figures_have_their_titles_and_captions_in_markdown_and_on_the_page(
    drawing: Callable[..., Paper], tmp_path: Path
) -> None:
    written = drawing("a").write([], tmp_path)
    text = written["markdown"].read_text("utf-8")
    assert "![Figure a](figures/a.png)\n\n**Figure a.** Across " in text
    assert "<years>" not in text
    assert "<strong>Figure a.</strong> Across &lt;years&gt;, up m." in written["html"].read_text("utf-8")


def test_a_figure_without_a_caption_is_refused(tmp_path: Path) -> None:
    paper = Paper("A paper", lambda _reports: [], lambda _reports, folder: [folder / "a.png"])  # type: ignore[list-item]
    with pytest.raises(SettingsError, match="paper 'A paper': figures: expected PaperFigure, found PosixPath; return"):
        paper.write([], tmp_path)


def test_a_column_may_be_in_any_unit(tmp_path: Path) -> None:
    column = Column("eval", "full", "rmse", "bpm")
    cell = Cell.of(Score("ours", "eval", "full", "rmse", 5.5, 100), column, ())
    table = Table("Table 1", "own", "Rates", "Heart rates.", "rates", (Row("ours"),), (column,), ((cell,),))
    Paper("Rates", lambda _reports: [table], lambda _reports, _folder: []).write([], tmp_path)
    assert "(bpm)" in (tmp_path / "tables.md").read_text("utf-8")
    assert cell.value == 5.5


@pytest.mark.parametrize(("value", "shown"), [(0.00029, "0.00029"), (2_900_000.0, "2,900,000")])
def test_our_numbers_have_the_unit_of_the_heading_however_small_or_large(value: float, shown: str) -> None:
    column = Column("eval", "full", "rmse", "bpm")
    cell = Cell.of(Score("ours", "eval", "full", "rmse", value, 100), column, ())
    table = Table("Table 1", "own", "Rates", "Heart rates.", "rates", (Row("ours"),), (column,), ((cell,),))
    text, _ = table.ours(0, 0)
    assert text.rstrip("0") == shown.rstrip("0")
