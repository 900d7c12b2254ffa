"""Members of an ensemble that stand to each other as members that differ by chance do not: copies of each other, one
that is far from all others, and two camps.

Two camps: each member of one is at least `factor` times as far from each of the other as any two of the same camp are
from each other (Dunn's index, J. C. Dunn 1974). With normal members this hardly occurs: the worst case are members that
differ in one number alone, where of 4,000 ensembles of 5 members 1.5 % have such camps, of 6 0.5 %, of 8 0.3 % and of
10 or more less than 0.1 %; where they differ in two or more independent numbers, 0.03 % at most.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.ensembles import Array, Categorical, Gaussian, Means
from shiftbench.report.view import marked

FEWEST_MEMBERS, MANY = 5, 8  # of fewer, any distances may be chance; from so many on, a smaller factor is enough
FEWEST_RECORDS = 10
OF_ERROR, OF_PROBABILITY = 0.5, 0.1  # smaller distances change no answer: shares of the RMSE, and probabilities
CHUNK = 2**16  # records at a time
MOST_LISTED = 5


@dataclass(frozen=True)
class Caution:
    """What changes how an ensemble's scores are read; intended where some members are repeated to weigh more."""

    text: str
    by_weights: bool = False


@dataclass(frozen=True)
class Camps:
    """Flags [M] of the members of the smaller camp, the least distance between camps, and the most within one."""

    smaller: Flags
    between: float
    within: float


def factor(members: int) -> float:
    """How many times further than members of the same camp camps have to be from each other."""
    return 5.0 if members < MANY else 3.0


def distances(answers: Array) -> Array:
    """The root mean squared distances [M, M] over records between members that answer [M, N]."""
    members, records = answers.shape
    products = np.zeros((members, members))
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers near the largest
        for start in range(0, records, CHUNK):
            chunk = answers[:, start : start + CHUNK]
            away = chunk - chunk.mean(axis=0)
            products += away @ away.T
        own = np.diag(products)
        return np.asarray(np.sqrt(np.maximum(own[:, None] + own - 2 * products, 0.0) / records))


def camps(distance: Array) -> Camps | None:
    """The two camps of M members with these distances [M, M]; None if there are none, or too few members."""
    members = len(distance)
    if members < FEWEST_MEMBERS or not np.isfinite(distance).all():
        return None
    one, other = np.unravel_index(distance.argmax(), distance.shape)  # those furthest apart are of different camps
    near = distance[other] < distance[one]
    between = float(distance[np.ix_(~near, near)].min())
    within = float(max(distance[np.ix_(camp, camp)].max() for camp in (near, ~near)))
    if not between > factor(members) * within:
        return None
    smaller = near if (2 * near.sum(), not near[0]) < (members, True) else ~near  # of two halves that of the first
    return Camps(smaller, between, within)


def copies(parts: Sequence[Array]) -> list[list[int]]:
    """The groups of members whose predictions, one or several arrays [M, …], are equal for every record."""
    found: dict[bytes, list[int]] = {}
    for member in range(len(parts[0])):
        digest = hashlib.blake2b(digest_size=16)
        for part in parts:
            digest.update(np.ascontiguousarray(part[member]).data)
        found.setdefault(digest.digest(), []).append(member)
    return [group for group in found.values() if len(group) > 1]


def cautions(name: str, ensemble: Gaussian | Means | Categorical, errors: Vector) -> Iterator[Caution]:
    """What to beware of in a system with this ensemble of N records, and squared errors or 0/1 errors [N]."""
    if ensemble.members < 2 or ensemble.records < FEWEST_RECORDS:
        return
    if isinstance(ensemble, Categorical):
        probabilities = ensemble.probabilities
        if not ((probabilities > 0) & (probabilities < 1)).any():
            return  # votes may be the same for all records by chance
        parts, least = [probabilities], OF_PROBABILITY
        # Half the squared distance of two vectors of probabilities: with two classes the difference of one of them.
        answers = probabilities.reshape(len(probabilities), -1) * np.sqrt(probabilities.shape[2] / 2)
    else:
        answers, least = ensemble.mean, OF_ERROR * float(np.sqrt(errors.mean()))
        parts = [answers, ensemble.variance] if isinstance(ensemble, Gaussian) else [answers]
    alike = copies(parts)
    yield from _copied(name, alike, ensemble.members)
    if sum(map(len, alike)) - len(alike) > ensemble.members / 2:
        return  # hardly an ensemble
    by_model = answers.reshape(ensemble.models, -1, answers.shape[1]).mean(axis=1)  # draws of a model are alike
    found = camps(distances(by_model))
    if found is not None and found.between >= least:
        yield Caution(_apart(name, found))


def _copied(name: str, alike: Sequence[Sequence[int]], members: int) -> Iterator[Caution]:
    if not alike:
        return
    different = members - sum(map(len, alike)) + len(alike)
    if different == 1:
        yield Caution(f"all {members} members of {marked(name)} are copies of each other, so their spread says nothing")
        return
    groups = "; ".join(_listed(group) for group in alike[:MOST_LISTED])
    yield Caution(
        f"members of {marked(name)} are copies of each other ({groups}): only {different} of {members} are different; "
        "unless they are repeated to weigh as much as others, their spread is too small",
        by_weights=True,
    )


def _apart(name: str, found: Camps) -> str:
    members, places = len(found.smaller), np.flatnonzero(found.smaller).tolist()
    times = found.between / found.within if found.within else np.inf
    far = f"{times:.2g} times as far" if times < 99.5 else "over 100 times as far"
    if len(places) == 1:
        return (
            f"member {places[0] + 1} of the {members} of {marked(name)} is {far} from all others as these are from "
            "each other: it takes the mean away from them, and most of the spread is its own"
        )
    return (
        f"the members of {marked(name)} form two camps, {len(places)} ({_listed(places)}) against "
        f"{members - len(places)}, which are {far} from each other as members of one camp are: the mean is what "
        "neither camp says, and most of the spread is the distance between them"
    )


def _listed(places: Sequence[int]) -> str:
    """The numbers of members, from 1."""
    shown = [str(place + 1) for place in places[:MOST_LISTED]]
    if len(places) > MOST_LISTED:
        return f"{', '.join(shown)}, …"
    return f"{', '.join(shown[:-1])} and {shown[-1]}"
