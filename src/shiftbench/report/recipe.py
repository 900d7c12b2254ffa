"""The recipe of a report as lines of text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shiftbench.report.view import clean


def flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Nested settings as (dotted name, text) pairs, in their order; a list of plain values is one line."""
    return list(_walk(value, name))


def _walk(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from _walk(entry, f"{name}.{clean(key)}" if name else clean(key))
    elif isinstance(value, (list, tuple)) and any(isinstance(entry, (dict, list, tuple)) for entry in value):
        for place, entry in enumerate(value):
            yield from _walk(entry, f"{name}[{place}]")
    elif isinstance(value, (list, tuple)):
        yield name, ", ".join(clean(entry) for entry in value)
    elif value is not None and value != "":
        yield name, clean(value)
