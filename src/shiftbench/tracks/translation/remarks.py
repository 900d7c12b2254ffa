"""Remarks on references that change scores for another reason than the quality of the answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from shiftbench.check import Flags
from shiftbench.errors import CAREFUL
from shiftbench.tracks.translation.outputs import Outputs

DETACHED, ATTACHED = re.compile(r"(?<=\S)\s[.,](?=\s|$)"), re.compile(r"(?<=\w)[.,](?=\s|$)")
FEWEST = 20  # full stops and commas that tell how texts are written
TOKENISED, PLAIN = 0.5, 0.1  # shares of them that stand apart from the word before: from, up to
SAME = 0.005  # difference of two mean numbers of references that is none


def apart(texts: Iterable[str]) -> float | None:
    """The share of full stops and commas with a space before them, as Moses writes tokens; None if there are few."""
    detached = attached = 0
    for text in texts:
        detached += len(DETACHED.findall(text))
        attached += len(ATTACHED.findall(text))
    return detached / (detached + attached) if detached + attached >= FEWEST else None


def on_tokens(systems: Mapping[str, Outputs]) -> Iterator[str]:
    """A sentence for each system whose answers are tokenised while their references are not, or the reverse."""
    for name, found in systems.items():
        ours, theirs = apart(found.texts), apart(text for each in found.references or () for text in each)
        if ours is None or theirs is None or min(ours, theirs) > PLAIN or max(ours, theirs) < TOKENISED:
            continue
        one, other = ("references", "answers") if ours < theirs else ("answers", "references")
        yield (
            f"{CAREFUL}{name}: the {one} look tokenised (“word .”), the {other} do not, so that GLEU and exact match "
            "count every mark as an error: write both alike"
        )


def on_references(references: Sequence[Sequence[str]] | None, shifted: Flags | None) -> Iterator[str]:
    """A sentence if in-domain and shifted sentences [N] have different numbers of references."""
    if references is None or shifted is None or shifted.all() or not shifted.any():
        return
    counts = np.array([len(each) for each in references])
    inside, outside = counts[~shifted].mean(), counts[shifted].mean()
    if abs(inside - outside) > SAME:
        yield (
            f"{CAREFUL}references per sentence: {inside:.3g} in-domain, {outside:.3g} shifted. The best of several "
            "counts, so that scores differ for that reason alone: give all the same number"
        )
