"""One figure of a paper: its files, and what it shows in words."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PaperFigure:
    """A figure as a PNG, with an SVG of the same name beside it, for the page.

    title: without a full stop: what, of which split, of which task. caption: a sentence: what the axes are and their
    units, what each mark is, and what to look for. Both are plain text.
    """

    path: Path
    title: str
    caption: str

    @property
    def svg(self) -> Path:
        """The same figure for the page."""
        return self.path.with_suffix(".svg")

    @property
    def paths(self) -> tuple[Path, Path]:
        """Both files: PNG, SVG."""
        return self.path, self.svg
