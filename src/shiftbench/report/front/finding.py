"""One sentence of the first screen."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One sentence of the first screen; `kind`: the table with its numbers (see `grid.Grid.kind`), or "warnings"."""

    text: str
    kind: str
    careful: bool = False

    @property
    def line(self) -> str:
        """The sentence, marked if it is a caution."""
        return f"Careful: {self.text}" if self.careful else self.text
