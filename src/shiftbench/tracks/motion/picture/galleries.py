"""The galleries of several systems in one report, where each picture has a name of its own."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from dataclasses import replace

import numpy.typing as npt

from shiftbench.report.picture import Picture
from shiftbench.tracks.motion import picture
from shiftbench.tracks.motion.picture.gallery import Lookup
from shiftbench.tracks.motion.submissions.submitted import Submission

_LONGEST = 50  # signs of a file's name before those that tell a picture from the others of its gallery


def galleries(
    scenes: Lookup, systems: Iterable[tuple[str, Submission, npt.ArrayLike]], *, error: tuple[str, str], split: str
) -> list[Picture]:
    """The galleries of several systems on a split, as a report carries them: each picture has a name of its own.

    Args:
        scenes, error: as `gallery`.
        systems: name, what was predicted for N requests, and the error [N] of each.
        split: what the requests are of, for names and captions.

    Raises:
        ShiftbenchError: as `gallery`.
    """
    found, taken = list[Picture](), set[str]()
    for name, submission, errors in systems:
        prefix = _free(f"{split}-{name}", taken)
        made = picture.gallery(scenes, submission, errors, error=error, system=f"{name}, {split}")
        found += [replace(each, name=f"{prefix}-{each.name}", title=f"{each.title}: {name}") for each in made]
    return found


def _free(text: str, taken: set[str]) -> str:
    """A text as the beginning of a file's name that is not taken yet; some disks do not tell A from a."""
    plain = re.sub(r"[^A-Za-z0-9_-]", "_", text).lstrip("_-")[:_LONGEST] or "systems"
    numbers = itertools.count(2)
    name = plain
    while name.lower() in taken:
        name = f"{plain}-{next(numbers)}"
    taken.add(name.lower())
    return name
