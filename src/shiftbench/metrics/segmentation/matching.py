"""Which lesions of one mask are those of another: connected components that overlap, matched by a `LesionRule`.

`lesion_table` shows how much of a score is the choice of the rule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from shiftbench import check, components
from shiftbench.check import Flags
from shiftbench.components import Index, Pairs
from shiftbench.metrics.segmentation.rule import CONNECTIVITIES, MATCHES, MISSES, LesionRule, rule_of


@dataclass(frozen=True, eq=False)
class LesionCounts:
    """Counts of the lesions of one volume under one rule.

    matches: [L], whether each predicted lesion is right; order: labels 1 … L of `components(answers)`.
    detected: [T], whether each true lesion is not missed; order: labels 1 … T of `components(targets)`.
    splits: true lesions that several predicted ones touch. merges: predicted lesions that touch several true ones.
    """

    rule: LesionRule
    matches: Flags
    detected: Flags
    splits: int
    merges: int

    @property
    def predicted(self) -> int:
        """How many lesions were predicted."""
        return len(self.matches)

    @property
    def true(self) -> int:
        """How many lesions there are."""
        return len(self.detected)

    @property
    def right(self) -> int:
        """How many predicted lesions are right: TP."""
        return int(np.count_nonzero(self.matches))

    @property
    def false(self) -> int:
        """How many predicted lesions are wrong: FP."""
        return self.predicted - self.right

    @property
    def missed(self) -> int:
        """How many lesions were missed: FN."""
        return self.true - int(np.count_nonzero(self.detected))

    @property
    def precision(self) -> float:
        """The share of predicted lesions that are right; without any, 1 if there are no lesions, else 0."""
        return _share(self.right, self.predicted, self.true)

    @property
    def recall(self) -> float:
        """The share of true lesions that are not missed; without any, 1 if none was predicted, else 0."""
        return _share(self.true - self.missed, self.true, self.predicted)

    @property
    def f1(self) -> float:
        """TP / (TP + (FP + FN) / 2), as published; 1 if there are no lesions and none was predicted.

        Under `many_to_many` the harmonic mean of precision and recall, so that a lesion in pieces is no more worth.
        """
        if self.rule.match == "many_to_many":
            both = self.precision + self.recall
            return 2 * self.precision * self.recall / both if both else 0.0
        whole = self.right + 0.5 * (self.false + self.missed)
        return self.right / whole if whole else 1.0


def _share(part: int, whole: int, others: int) -> float:
    return part / whole if whole else float(not others)


def lesion_counts(targets: Any, answers: Any, **rule: Any) -> LesionCounts:
    """Counts of the lesions of two masks [X, Y, Z]; `rule`: the fields of `LesionRule`.

    Raises:
        ArrayError: naming every problem: masks that are no volumes, or of different shape; NaN; numbers but 0 and 1.
        SettingsError, UnknownNameError: as `LesionRule`.
        MissingExtraError: if scipy is not installed.
    """
    settings = rule_of(**rule)
    truth, found = check.masks(volume=True, targets=targets, answers=answers)
    return counts_of(Labelled.of(truth, found, settings.connectivity), settings)


def lesion_f1(targets: Any, answers: Any, *, iou: float = 0.25, connectivity: int = 6, **rule: Any) -> float:
    """F1 of the lesions of two masks [X, Y, Z], 0 … 1; the keywords are the fields of `LesionRule`.

    Raises:
        ArrayError, SettingsError, UnknownNameError, MissingExtraError: as `lesion_counts`.

    Source: Shifts 2.0.
    """
    return lesion_counts(targets, answers, iou=iou, connectivity=connectivity, **rule).f1


def lesion_table(
    targets: Any, answers: Any, *, ious: Iterable[float] = (0.25, 0.5), connectivities: Iterable[int] = CONNECTIVITIES
) -> list[LesionCounts]:
    """The counts of two masks [X, Y, Z] under all rules, from one labelling and one histogram for each connectivity.

    Raises:
        ArrayError, SettingsError, MissingExtraError: as `lesion_counts`.
    """
    truth, found = check.masks(volume=True, targets=targets, answers=answers)
    table, thresholds = [], check.names("ious", ious)
    for connectivity in check.names("connectivities", connectivities):
        labelled = Labelled.of(truth, found, connectivity)
        rules = (
            LesionRule(iou, connectivity, match, missed) for match in MATCHES for missed in MISSES for iou in thresholds
        )
        table += [counts_of(labelled, rule) for rule in rules]
    return table


# --- labels and what touches ------------------------------------------------------------------------------------------


class Labelled(NamedTuple):
    """The lesions of two masks and the pairs that touch: `pairs.first` are predicted, `pairs.other` true ones.

    predicted, true: [L] and [T], how many voxels each has.
    """

    pairs: Pairs
    predicted: Index
    true: Index

    @classmethod
    def of(cls, truth: Flags, found: Flags, connectivity: int) -> Labelled:
        """From two checked masks."""
        box = components.bounding_box(truth | found)
        (true, trues), (predicted, predictions) = (
            components.components(mask[box], connectivity) for mask in (truth, found)
        )
        sizes = components.sizes_of(predicted, predictions), components.sizes_of(true, trues)
        return cls(components.pairs(predicted, true), *sizes)

    @property
    def numbers(self) -> tuple[int, int]:
        """How many lesions were predicted, and how many there are."""
        return len(self.predicted), len(self.true)


def counts_of(labelled: Labelled, rule: LesionRule) -> LesionCounts:
    """Counts of labelled lesions under a rule, with whose connectivity they were labelled."""
    pairs, (predicted, true) = labelled.pairs, labelled.numbers
    matches, detected = _MATCHED[rule.match](labelled, rule.iou)
    if rule.missed == "no_overlap":
        detected = _among(true, pairs.other)
    splits, merges = (
        int(np.count_nonzero(np.bincount(labels, minlength=1) > 1)) for labels in (pairs.other, pairs.first)
    )
    assert len(matches) == predicted
    return LesionCounts(rule, matches, detected, splits, merges)


def _among(number: int, labels: Index) -> Flags:
    """Which of 1 … number are among the labels, [number]."""
    flags = np.zeros(number, np.bool_)
    flags[labels - 1] = True
    return flags


# --- rules of matching: predicted lesions that are right [L], true lesions that match [T] ----------------------------


def _largest_iou(labelled: Labelled, iou: float) -> tuple[Flags, Flags]:
    pairs, (predicted, true) = labelled.pairs, labelled.numbers
    good = pairs.iou >= iou
    return _among(predicted, pairs.first[good]), _among(true, pairs.other[good])


def _one_to_one(labelled: Labelled, iou: float) -> tuple[Flags, Flags]:
    pairs, (predicted, true) = labelled.pairs, labelled.numbers
    good = np.flatnonzero(pairs.iou >= iou)
    group = _groups(labelled, good)[pairs.first[good] - 1]
    order = np.argsort(group, kind="stable")
    chosen: list[int] = []
    for rows in np.split(good[order], np.flatnonzero(np.diff(group[order])) + 1):
        chosen += rows.tolist() if len(rows) == 1 else _assigned(pairs, rows)
    return _among(predicted, pairs.first[chosen]), _among(true, pairs.other[chosen])


def _assigned(pairs: Pairs, rows: Index) -> list[int]:
    """The pairs of a matching (no lesion twice) with the largest sum of IoUs."""
    (first, mine), (other, theirs) = (np.unique(labels[rows], return_inverse=True) for labels in pairs[:2])
    worth = np.zeros((len(first), len(other)))
    worth[mine, theirs] = min(worth.shape) + 1.0 + pairs.iou[rows]  # one more pair outweighs any sum of IoUs
    place = np.full(worth.shape, -1)
    place[mine, theirs] = rows
    chosen = place[components.scipy("optimize").linear_sum_assignment(worth, maximize=True)]
    return chosen[chosen >= 0].tolist()  # type: ignore[no-any-return]


def _many_to_many(labelled: Labelled, iou: float) -> tuple[Flags, Flags]:
    pairs, predicted = labelled.pairs, len(labelled.predicted)
    group = _groups(labelled, np.arange(len(pairs.iou)))
    sizes = np.bincount(group, np.concatenate((labelled.predicted, labelled.true)), minlength=1)
    shared = np.bincount(group[pairs.first - 1], pairs.shared, minlength=len(sizes))
    good = shared / np.maximum(sizes - shared, 1) >= iou
    return good[group[:predicted]], good[group[predicted:]]


def _groups(labelled: Labelled, rows: Index) -> Index:
    """The group of each predicted, then of each true lesion [L + T]: of those that these pairs connect."""
    sparse, (predicted, true) = components.scipy("sparse"), labelled.numbers
    ends = labelled.pairs.first[rows] - 1, labelled.pairs.other[rows] - 1 + predicted
    graph = sparse.coo_matrix((np.ones(len(rows)), ends), shape=(predicted + true,) * 2)
    return np.asarray(components.scipy("sparse.csgraph").connected_components(graph, directed=False)[1], np.int64)


_MATCHED = {"published": _largest_iou, "one_to_one": _one_to_one, "many_to_many": _many_to_many}
