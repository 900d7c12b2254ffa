"""The only module that validates options: counts, numbers, choices, paths. Arrays are checked in `check`.

Each function returns the value that was given, or raises an error that names the option, what was expected and what
was found. A value of any type may be given, so nothing here compares before the type is known.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from shiftbench.errors import SettingsError, ShiftbenchError, UnknownNameError, quoted

MOST_ENTRIES = 100_000  # of a list of columns, files or pictures
Name = TypeVar("Name", bound=str)
Kind = TypeVar("Kind")


def whole(
    name: str,
    value: Any,
    least: int = 0,
    most: float = math.inf,
    *,
    wanted: str = "",
    advice: str = "",
    error: type[ShiftbenchError] = SettingsError,
) -> int:
    """A whole number from `least` to `most`; those of NumPy, too, but neither booleans nor floats.

    wanted: what the message expects instead of the range.
    """
    found = None if isinstance(value, bool) else _index(value)
    if found is None or not least <= found <= most:
        limits = f"from {least:,} to {most:,}" if most < math.inf else f">= {least:,}"
        raise error(
            f"{name}: expected {wanted or f'a whole number {limits}'}, found {quoted(value)}.{advice and f' {advice}'}"
        )
    return found


def number(
    name: str,
    value: Any,
    holds: Callable[[float], bool],
    wanted: str,
    *,
    advice: str = "",
    error: type[ShiftbenchError] = SettingsError,
) -> float:
    """A number for which `holds` is true, which must be false for NaN; neither text nor booleans.

    wanted: what the message expects, such as "a share from 0 to 1".
    """
    found = math.nan
    if not isinstance(value, (str, bytes, bytearray, bool)) and getattr(value, "ndim", 0) == 0:
        try:
            found = float(value)
        except (TypeError, ValueError, OverflowError):
            found = math.nan
    if not holds(found):
        raise error(f"{name}: expected {wanted}, found {quoted(value)}.{advice and f' {advice}'}")
    return found


def choice(kind: str, value: Any, known: Collection[Name]) -> Name:
    """One of the known names of this kind.

    Raises:
        UnknownNameError: for another name, or no text; the message suggests the closest one.
    """
    found = next((name for name in known if isinstance(value, str) and name == value), None)
    if found is None:
        raise UnknownNameError(kind, value, known)
    return found


def text(name: str, value: Any, *, error: type[ShiftbenchError] = SettingsError) -> str:
    """Text, which may be empty."""
    if not isinstance(value, str):
        raise error(f"{name}: expected text, found {quoted(value)}.")
    return value


def several(
    name: str,
    values: Any,
    kind: type[Kind],
    *,
    most: int = MOST_ENTRIES,
    error: type[ShiftbenchError] = SettingsError,
) -> list[Kind]:
    """At most so many values of a class in a list or another iterable, which text and mappings are not."""
    found: list[Any] = []
    scalar = getattr(values, "ndim", 1) == 0
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)) and not scalar:
        for value in values:
            if not isinstance(value, kind):
                raise error(f"{name}: expected values of the type {kind.__name__}, found {quoted(value)} among them.")
            found.append(value)
            if len(found) > most:
                raise error(f"{name}: expected at most {most:,} entries, found more.")
        return found
    raise error(f"{name}: expected a list, each entry of the type {kind.__name__}, found {quoted(values)}.")


def path(value: Any, *, error: type[ShiftbenchError] = SettingsError) -> Path:
    """The path of a file or folder."""
    try:
        text = os.fspath(value)
        found = Path(text)
    except TypeError:
        shown = f"{quoted(value)} ({type(value).__name__})"
        raise error(f"expected a path, found {shown}. Give that of a file or folder.") from None
    if "\0" in text or not text:
        raise error(f"{quoted(text, 200)}: expected a path, found one that no file can have. Check it.")
    return found


def callback(name: str, value: Any) -> None:
    """A function that is called now and then, or None."""
    if value is not None and not callable(value):
        raise SettingsError(f"{name}: expected a function or None, found {quoted(value)}.")


def _index(value: Any) -> int | None:
    try:
        return operator.index(value)
    except (TypeError, ValueError):
        return None
