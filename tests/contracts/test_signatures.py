"""The page on tracks ends with the signatures of the code, and with all that its example imports."""

from __future__ import annotations

import ast
from pathlib import Path

from tools import signatures

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/own_track/own_track"


def test_the_page_tells_signatures_as_they_are() -> None:
    assert signatures.page() == signatures.PAGE.read_text("utf-8"), "run `python -m tools.signatures`"


def test_whatever_the_example_imports_is_there() -> None:
    shown = {(place, name.split(".")[0]) for place, names in signatures.IMPORTED.items() for name in names}
    places = {place for place, _ in shown}
    imported = {
        (node.module, alias.name)
        for file in EXAMPLE.glob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("shiftbench")
        for alias in node.names
    }
    assert len(imported) > 20
    missing = {(place, name) for place, name in imported - shown if f"{place}.{name}" not in places}
    assert not missing
