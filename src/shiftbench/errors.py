"""What can go wrong, by name. Every message says what was expected, what was found, and what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ShiftbenchError(Exception):
    """Base of every error that is the input's fault; `problems` lists all of them, not only the first."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class ArrayError(ShiftbenchError, ValueError):
    """An array of the wrong shape, length, type or range."""


class TableError(ShiftbenchError, ValueError):
    """A table that cannot be read, or whose columns or ids are not what they should be."""


class PartitionError(ShiftbenchError, ValueError):
    """Rules that leave a partition empty, overlap, or cannot be evaluated."""


class PredictionsError(ShiftbenchError, ValueError):
    """A predictions file that does not fit its ids, its targets or its own metadata."""


class SettingsError(ShiftbenchError, ValueError):
    """A setting that is unknown, missing or out of range."""


class MissingExtraError(ShiftbenchError, ImportError):
    """An optional library is not installed; the message names the extra to install."""


class FetchError(ShiftbenchError):
    """An archive that cannot be had, or that is not what it should be."""


class UnknownNameError(ShiftbenchError, LookupError):
    """A name that is not known; the message names the nearest known one and lists the rest."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        names = sorted(known)
        near = difflib.get_close_matches(str(name), names, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        listed = ", ".join(names[:40]) + (", …" if len(names) > 40 else "")
        super().__init__(f"Unknown {kind} {name!r}.{hint} Known: {listed or 'none'}.")


class ShiftbenchWarning(UserWarning):
    """Base of every warning: the result stands, and there is something to know about it."""


class TableWarning(ShiftbenchWarning):
    """How values of a table were read where it is not obvious: words as missing, dates written in several ways."""


class DegenerateScoreWarning(ShiftbenchWarning):
    """A score is undefined here (0/0) and was set to NaN."""


class FewClustersWarning(ShiftbenchWarning):
    """Fewer than 20 clusters: bootstrap intervals are too short."""


class WrongSignWarning(ShiftbenchWarning):
    """The uncertainty falls where the error rises: was a confidence handed over?"""


class ConstantUncertaintyWarning(ShiftbenchWarning):
    """The uncertainty is the same for every record, so it ranks nothing."""


class LeakageWarning(ShiftbenchWarning):
    """Something on both sides of a partition boundary, or in the features, that may tell the answer."""
