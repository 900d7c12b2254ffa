"""A paper's tables and figures as one value: from reports to a terminal, or into a folder."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.report.content import Report
from shiftbench.track.calls import mismatch
from shiftbench.track.paper import text
from shiftbench.track.paper.table import Table

TABLES = "tables.md"


@dataclass(frozen=True)
class Paper:
    """The paper of a track.

    tables: (reports) fills its tables. Reports may be of several runs: `shiftbench.track.paper.run.names` tells them
    apart. figures: (reports, folder) draws its pictures into a folder and returns their paths. Both raise TableError
    for reports that do not belong to them.

    Raises:
        SettingsError: naming the function that is missing or takes other arguments.
    """

    title: str
    tables: Callable[[Sequence[Report]], list[Table]]
    figures: Callable[[Sequence[Report], Path], list[Path]]

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

    def markdown(self, tables: Sequence[Table], *, pictures: Sequence[str] = ()) -> str:
        """Tables in GitHub-flavoured Markdown, then the pictures (paths relative to the document)."""
        return text.markdown(tables, title=self.title, pictures=pictures)

    def write(self, reports: Sequence[Report], folder: str | Path) -> dict[str, Path]:
        """Write every table and figure into `folder`, each file whole or not at all.

        Pictures in an earlier `tables.md` that are no longer drawn are removed.

        Returns:
            The paths by content: `html` (`tables.html`, with the pictures inside), `markdown` (`tables.md`, which
            shows them), `csv` (`tables.csv`), and `figures`, a folder.
        """
        target = Path(folder)
        tables, pictures = self.tables(reports), self.figures(reports, target / "figures")
        shown = [path.relative_to(target).as_posix() for path in pictures if path.suffix == ".png"]
        drawn = {path.stem: path.read_text("utf-8") for path in pictures if path.suffix == ".svg"}
        _remove_pictures(target, kept=pictures)
        return {
            "html": files.write_text(target / "tables.html", text.html(tables, title=self.title, pictures=drawn)),
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
