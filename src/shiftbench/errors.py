"""Errors and warnings. Every message states what was expected, what was found, and what to do."""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, SupportsInt

MOST_CHARACTERS = 2_000  # of one problem
MOST_QUOTED = 200  # of one word or quoted value in it
MOST_KNOWN = 40  # names that are listed for an unknown one
MOST_BESIDE = 8  # of many, beside the closest one
MOST_COMPARED = 1_000  # names that are searched for the closest one
_LONG_WORD = re.compile(rf"\S{{{MOST_QUOTED + 1},}}")
_LONG_QUOTE = re.compile(rf"'[^'\n]{{{MOST_QUOTED + 1},}}'|\"[^\"\n]{{{MOST_QUOTED + 1},}}\"")
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


CAREFUL = "careful: "
"""Begins a warning that may change what a report is read to say: its first screen shows it."""
MARKED_ALIKE = "marked as shifted, so there is nothing to compare"


def quoted(value: object, most: int = 40) -> str:
    """The beginning of a value's repr, for messages. Python refuses to write whole numbers of over 4,300 digits."""
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    try:
        text = repr(value[: 4 * most] if isinstance(value, (str, bytes)) else value)
    except (ValueError, RecursionError):
        return f"{type(value).__name__} of thousands of digits or levels"
    return text[:most]


def shortened(message: str) -> str:
    """A message of bounded length: long words, long quoted values, and then its middle are abbreviated.

    Control characters, which could control a terminal or change the writing direction, are written as their codes.
    """
    if len(message) > 50 * MOST_CHARACTERS:  # the patterns need not process megabytes
        message = _cut(message, 50 * MOST_CHARACTERS)
    if len(message) > MOST_QUOTED:
        for pattern in (_LONG_QUOTE, _LONG_WORD):
            message = pattern.sub(lambda found: _cut(found[0], MOST_QUOTED), message)
        message = _cut(message, MOST_CHARACTERS)
    return _CONTROL.sub(lambda found: ascii(found[0])[1:-1], message)


def counted(number: SupportsInt, noun: str, plural: str = "") -> str:
    """A number with its noun: "1 id", "1,200 ids"; plural: where it is not the noun with an s, such as "entries"."""
    number = int(number)
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def first_line(error: BaseException) -> str:
    """The first line of a library's message, without its full stop; the rest is often its call stack."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most * 2 // 3]} … {text[len(text) - most // 3 :]}"


def nearest(name: object, known: Sequence[str]) -> str | None:
    """The known name with the most similar spelling, if any; of very many names only the first are compared."""
    if len(text := str(name)) > MOST_QUOTED:
        return None
    short = [other for other in known[:MOST_COMPARED] if len(other) <= MOST_QUOTED]
    return next(iter(difflib.get_close_matches(text, short, n=1, cutoff=0.5)), None)


class ShiftbenchError(Exception):
    """Base of every error caused by the input; `problems` lists all of them, not only the first.

    Each problem is `shortened`, so that its message is readable whatever a file contains.
    """

    def __init__(self, *problems: str) -> None:
        self.problems = tuple(shortened(str(problem)) for problem in problems)
        super().__init__("\n".join(self.problems))


def every(readers: Mapping[str, Callable[[], Any]], kind: type[ShiftbenchError]) -> dict[str, Any]:
    """What each reader returns, by name; the problems of all are raised together, as an error of this kind."""
    problems: list[str] = []
    found = {}
    for part, read in readers.items():
        try:
            found[part] = read()
        except ShiftbenchError as error:
            problems += error.problems
    if problems:
        raise kind(*dict.fromkeys(problems))
    return found


class ArrayError(ShiftbenchError, ValueError):
    """An array of the wrong shape, length, type or range."""


class TableError(ShiftbenchError, ValueError):
    """A table that cannot be read, or whose columns or ids are invalid."""


class PartitionError(ShiftbenchError, ValueError):
    """Rules that leave a partition empty, overlap, or cannot be evaluated."""


class PredictionsError(ShiftbenchError, ValueError):
    """A predictions file that does not fit its ids, its targets or its own metadata."""


class SettingsError(ShiftbenchError, ValueError):
    """A setting that is unknown, missing or out of range."""


class MissingExtraError(ShiftbenchError, ImportError):
    """An optional library is not installed; the message names the extra to install."""


class FetchError(ShiftbenchError):
    """An archive that cannot be downloaded, or that is invalid."""


class UnknownNameError(ShiftbenchError, LookupError):
    """An unknown name; the message suggests the closest known one and lists the rest, of very many the first few.

    failed: whether it is known but did not load; a warning has said why.
    """

    def __init__(self, kind: str, name: object, known: Iterable[str], *, failed: bool = False) -> None:
        if failed:
            super().__init__(f"The {kind} {quoted(name, MOST_QUOTED)} did not load: see the warning above.")
            return
        names = sorted(known)
        near = nearest(name, names)
        hint = f" Did you mean {near!r}?" if near else ""
        most = MOST_BESIDE if near and len(names) > MOST_KNOWN // 2 else MOST_KNOWN
        listed = ", ".join(names[:most]) + (f", … ({len(names):,} in all)" if len(names) > most else "")
        super().__init__(f"Unknown {kind} {quoted(name, MOST_QUOTED)}.{hint} Known: {listed or 'none'}.")


class ShiftbenchWarning(UserWarning):
    """Base of every warning: the result is valid, but needs a remark."""

    def __init__(self, message: str) -> None:
        super().__init__(shortened(str(message)))


class TableWarning(ShiftbenchWarning):
    """Notes on values of a table that allow several readings: words as missing, dates in several notations."""


class DegenerateScoreWarning(ShiftbenchWarning):
    """A score is undefined here (0/0) and was set to NaN."""


class FewClustersWarning(ShiftbenchWarning):
    """Fewer than 20 clusters: bootstrap intervals are too short."""


class WrongSignWarning(ShiftbenchWarning):
    """The uncertainty falls where the error rises: perhaps it is a confidence."""


class ConstantUncertaintyWarning(ShiftbenchWarning):
    """The uncertainty is the same for every record, so it ranks nothing."""
