"""A paper's tables and figures as one value: from reports to a terminal, or into a folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import RenderableType

from shiftbench import files
from shiftbench.paper import text
from shiftbench.paper.table import Table
from shiftbench.report.content import Report


@dataclass(frozen=True)
class Paper:
    """What a track has of its paper.

    tables, figures: fill the paper's tables, and draw its pictures into a folder; both raise TableError for reports
    that they have no place for.
    """

    title: str
    tables: Callable[[Sequence[Report]], list[Table]]
    figures: Callable[[Sequence[Report], Path], list[Path]]

    def shown(self, reports: Sequence[Report]) -> RenderableType:
        """All tables for `rich.console.Console.print`."""
        return text.render(self.tables(reports))

    def markdown(self, tables: Sequence[Table], *, pictures: Sequence[str] = ()) -> str:
        """Tables in GitHub-flavoured Markdown, then the pictures (paths relative to the document)."""
        return text.markdown(tables, title=self.title, pictures=pictures)

    def write(self, reports: Sequence[Report], folder: str | Path) -> dict[str, Path]:
        """Write every table and figure into `folder`, each file whole or not at all.

        Returns:
            The paths by what they hold: `markdown` (`tables.md`, which shows the pictures), `csv` (`tables.csv`), and
            `figures`, a folder.
        """
        target = Path(folder)
        tables, pictures = self.tables(reports), self.figures(reports, target / "figures")
        shown = [path.relative_to(target).as_posix() for path in pictures if path.suffix == ".png"]
        return {
            "markdown": files.write_text(target / "tables.md", self.markdown(tables, pictures=shown)),
            "csv": files.write_text(target / "tables.csv", text.csv(tables)),
            "figures": target / "figures",
        }
