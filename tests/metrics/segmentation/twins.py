"""The scores of segmentations from their definitions: loops over voxels, lesions and pairs."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

STEPS = {6: 1, 18: 2, 26: 3}  # along how many axes a neighbour may lie


def lesions(mask: np.ndarray, connectivity: int) -> list[set[tuple[int, ...]]]:
    """The connected components of a mask, each a set of voxels, by flooding."""
    left = {tuple(map(int, place)) for place in np.argwhere(mask)}
    steps = [step for step in itertools.product((-1, 0, 1), repeat=3) if 0 < sum(map(abs, step)) <= STEPS[connectivity]]
    found = []
    while left:
        edge = [min(left)]
        lesion = set(edge)
        left -= lesion
        while edge:
            here = edge.pop()
            for step in steps:
                there = tuple(a + b for a, b in zip(here, step, strict=True))
                if there in left:
                    left.remove(there)
                    lesion.add(there)
                    edge.append(there)
        found.append(lesion)
    return found


def iou(one: set, other: set) -> float:
    return len(one & other) / len(one | other)


def best_assignments(weights: list[list[float]]) -> tuple[int, float]:
    """The most pairs that share no lesion, and of these the largest sum of IoUs, by trying all."""
    if not weights:
        return 0, 0.0
    results = [best_assignments(weights[1:])]
    for column, value in enumerate(weights[0]):
        if value > 0:
            rest = [[0.0 if place == column else each for place, each in enumerate(row)] for row in weights[1:]]
            number, total = best_assignments(rest)
            results.append((number + 1, total + value))
    return max(results)


def groups(predicted: list[set], true: list[set]) -> Iterator[tuple[set[int], set[int]]]:
    """Sets of predicted and true lesions that touch, directly or through others; those alone, too."""
    left = {("p", place) for place in range(len(predicted))} | {("t", place) for place in range(len(true))}
    while left:
        group = {left.pop()}
        grown = True
        while grown:
            voxels = set().union(*(predicted[i] if kind == "p" else true[i] for kind, i in group))
            more = {(kind, i) for kind, i in left if (predicted if kind == "p" else true)[i] & voxels}
            left -= more
            group |= more
            grown = bool(more)
        yield {i for kind, i in group if kind == "p"}, {i for kind, i in group if kind == "t"}


def counts(predicted: list[set], true: list[set], least: float, match: str, missed: str) -> dict:
    """TP, FP, FN, precision, recall and F1 of lesions under one rule."""
    if match == "published":
        right = sum(any(iou(lesion, other) >= least for other in true) for lesion in predicted)
        hit = sum(any(iou(lesion, other) >= least for other in predicted) for lesion in true)
    elif match == "one_to_one":
        weights = [[value if (value := iou(a, b)) >= least else 0.0 for b in true] for a in predicted]
        right = hit = best_assignments(weights)[0]
    else:
        right = hit = 0
        for mine, theirs in groups(predicted, true):
            voxels = set().union(*(predicted[i] for i in mine)), set().union(*(true[i] for i in theirs))
            if mine and theirs and iou(*voxels) >= least:
                right, hit = right + len(mine), hit + len(theirs)
    if missed == "no_overlap":
        hit = sum(any(lesion & other for other in predicted) for lesion in true)
    false, lost = len(predicted) - right, len(true) - hit
    nothing = float(not predicted and not true)
    precision = right / len(predicted) if predicted else nothing
    recall = hit / len(true) if true else nothing
    if match == "many_to_many":
        f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    else:
        f1 = right / (right + (false + lost) / 2) if predicted or true else 1.0
    return {"right": right, "false": false, "missed": lost, "precision": precision, "recall": recall, "f1": f1}


def surface(mask: np.ndarray) -> list[tuple[int, ...]]:
    def inside(place: tuple[int, ...]) -> bool:
        return all(0 <= at < size for at, size in zip(place, mask.shape, strict=True)) and bool(mask[place])

    steps = [step for step in itertools.product((-1, 0, 1), repeat=3) if sum(map(abs, step)) == 1]
    return [
        place
        for place in map(tuple, np.argwhere(mask).tolist())
        if not all(inside(tuple(a + b for a, b in zip(place, step, strict=True))) for step in steps)
    ]


def surface_distances(truth: np.ndarray, answer: np.ndarray, spacing: tuple[float, ...]) -> list[list[float]]:
    """From each voxel of either surface to the closest of the other, mm."""
    true, found = surface(truth), surface(answer)

    def apart(one: tuple[int, ...], other: tuple[int, ...]) -> float:
        return math.sqrt(sum((s * (a - b)) ** 2 for a, b, s in zip(one, other, spacing, strict=True)))

    return [[min(apart(a, b) for b in theirs) for a in mine] for mine, theirs in ((true, found), (found, true))]


def dice(truth: list[bool], answer: list[bool], r: Fraction | None) -> Fraction:
    positives, voxels = sum(truth), len(truth)
    right = sum(t and a for t, a in zip(truth, answer, strict=True))
    false, missed = sum(answer) - right, positives - right
    weight = Fraction(1)
    if r is not None and 0 < positives < voxels:
        weight = (1 - r) * positives / (r * (voxels - positives))
    whole = 2 * right + weight * false + missed
    return Fraction(2 * right) / whole if whole else Fraction(1)


def replaced(truth: list[bool], answer: list[bool], order: list[int], kept: int) -> list[bool]:
    """The prediction of the first `kept` voxels of an order, the truth of the others."""
    mixed = list(truth)
    for place in order[:kept]:
        mixed[place] = answer[place]
    return mixed


def retention(truth, answer, uncertainty, shares, r: Fraction | None) -> list[float]:
    """The scores at these shares, each from the masks themselves, ties in the order of the voxels."""
    order = sorted(range(len(truth)), key=lambda place: uncertainty[place])
    return [float(dice(truth, replaced(truth, answer, order, int(share * len(truth))), r)) for share in shares]
