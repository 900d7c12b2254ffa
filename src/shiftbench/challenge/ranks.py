"""Ranks of the entries of a phase that has ended, from what paired tests found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from shiftbench.check import Vector

RULE = (
    "A rank is one more than the number of entries of teams that paired tests on the same records find better, "
    "directly or by way of others. Entries that cannot be told apart share a rank and stand in the order of their "
    "arrival, so an earlier one may stand above one with a better score. References have no rank, and are compared "
    "with teams in tests of their own."
)


def ranked(
    found: Iterable[tuple[int, int]], reference: Sequence[bool], losses: Vector
) -> tuple[list[int | None], list[int]]:  # fmt: skip
    """The rank of each entry, None of references, and all entries in the order in which they stand.

    No team stands below one that it was found better than: whoever is better than the better of two is ahead of both,
    whether or not a test of its own says so. All findings hold together with the tests' joint confidence, and so does
    what follows from them. A reference stands where it contradicts the fewest findings, and takes no rank from teams.

    Args:
        found: pairs (better, worse) of entries, which are numbered by arrival; the better ones have the lower loss.
        reference: of each entry. losses: [entries] scores of which the lower ones are better, NaN where undefined.
    """
    count, is_reference = len(reference), np.array(reference, dtype=bool)
    direct = np.zeros((count, count), dtype=bool)
    for better, worse in found:
        direct[better, worse] = True
    ahead = _closed(direct & ~is_reference & ~is_reference[:, None]).sum(axis=0)
    direct &= is_reference ^ is_reference[:, None]  # pairs of a reference and a team
    ranks = [None if is_reference[k] else 1 + int(ahead[k]) for k in range(count)]
    losses = np.where(np.isnan(losses), np.inf, losses)
    teams = sorted(np.flatnonzero(~is_reference), key=lambda k: (ahead[k], k))
    places = {int(k): _place(direct[k, teams], direct[teams, k], losses[teams], losses[k])
              for k in np.flatnonzero(is_reference)}  # fmt: skip
    order = [k for at in range(len(teams) + 1) for k in (*_at(places, at), *(int(each) for each in teams[at : at + 1]))]
    return ranks, order


def _closed(better: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """With all that follows: better than what is better (Warshall 1962)."""
    for k in range(len(better)):
        better |= better[:, k, None] & better[k]
    return better


def _at(places: dict[int, int], at: int) -> list[int]:
    return [k for k, place in places.items() if place == at]


def _place(
    beats: npt.NDArray[np.bool_], beaten_by: npt.NDArray[np.bool_], losses: Vector, loss: float
) -> int:  # fmt: skip
    """Before how many teams a reference stands: where it contradicts the fewest findings, then the fewest scores."""
    above, below = beats * 1e6 + (losses > loss), beaten_by * 1e6 + (losses <= loss)
    wrong = np.concatenate([[0.0], np.cumsum(above)]) + np.concatenate([np.cumsum(below[::-1])[::-1], [0.0]])
    return int(np.argmin(wrong))
