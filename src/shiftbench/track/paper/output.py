"""A paper's tables and figures as one value: from reports to a terminal, or into a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.report.content import Report
from shiftbench.track.calls import mismatch
from shiftbench.track.paper import text
from shiftbench.track.paper.figure import PaperFigure
from shiftbench.track.paper.table import Table

TABLES = "tables.md"


@dataclass(frozen=True)
class Paper:
    """The paper of a track.

    tables: (reports) fills its tables. Reports may be of several runs: `shiftbench.track.paper.run.names` tells them
    apart. figures: (reports, folder) draws its pictures into a folder and returns them with their titles and
    captions. Both raise TableError for reports that do not belong to them.

    Raises:
        SettingsError: naming the function that is missing or takes other arguments.
    """

    title: str
    tables: Callable[[Sequence[Report]], list[Table]]
    figures: Callable[[Sequence[Report], Path], list[PaperFigure]]

    def __post_init__(self) -> None:
        calls = {"tables": ("reports",), "figures": ("reports", "folder")}
        problems = [
            problem
            for part, words in calls.items()
            for problem in (
                mismatch(part, getattr(self, part), words)
                if callable(getattr(self, part))
                else [f"{part}: expected a function, found {getattr(self, part)!r}."]
            )
        ]
        if problems:
            raise SettingsError(*(f"paper {self.title!r}: {problem}" for problem in problems))

    def shown(self, reports: Sequence[Report]) -> RenderableType:
        """All tables for `rich.console.Console.print`."""
        return text.render(self.tables(reports))

    def summary(self, reports: Sequence[Report]) -> RenderableType:
        """What was found beside print, in a few lines for `rich.console.Console.print`."""
        return text.summary(self.tables(reports), title=self.title)

    def markdown(self, tables: Sequence[Table], *, pictures: Mapping[str, PaperFigure] | None = None) -> str:
        """Tables in GitHub-flavoured Markdown, then the pictures by their paths relative to the document."""
        return text.markdown(tables, title=self.title, pictures=pictures or {})

    def write(self, reports: Sequence[Report], folder: str | Path) -> dict[str, Path]:
        """Write every table and figure into `folder`, each file whole or not at all.

        Pictures in an earlier `tables.md` that are no longer drawn are removed.

        Returns:
            The paths by content: `html` (`tables.html`, with the pictures inside), `markdown` (`tables.md`, which
            shows them), `csv` (`tables.csv`), and `figures`, a folder.

        Raises:
            SettingsError: if `figures` returns anything else than figures with their titles and captions.
        """
        target = Path(folder)
        tables, pictures = self.tables(reports), self.figures(reports, target / "figures")
        if foreign := [type(each).__name__ for each in pictures if not isinstance(each, PaperFigure)]:
            raise SettingsError(
                f"paper {self.title!r}: figures: expected PaperFigure, found {foreign[0]}; return a "
                "`shiftbench.track.paper.figure.PaperFigure` with title and caption for each picture."
            )
        shown = {figure.path.relative_to(target).as_posix(): figure for figure in pictures}
        _remove_pictures(target, kept=[path for figure in pictures for path in figure.paths])
        return {
            "html": files.write_text(target / "tables.html", text.html(tables, title=self.title, pictures=pictures)),
            "markdown": files.write_text(target / TABLES, self.markdown(tables, pictures=shown)),
            "csv": files.write_text(target / "tables.csv", text.csv(tables)),
            "figures": target / "figures",
        }


def _remove_pictures(folder: Path, *, kept: Sequence[Path]) -> None:
    """Remove the pictures referenced by the tables of a folder, as PNG and SVG, except those in `kept`."""
    page = folder / TABLES
    held = page.read_text("utf-8", errors="replace") if page.is_file() else ""
    for name in re.findall(r"\]\(figures/([\w.-]+)\.png\)", held):
        for path in (folder / "figures" / f"{name}{ending}" for ending in (".png", ".svg")):
            if path not in kept:
                path.unlink(missing_ok=True)
