"""The method, which knows the mean image of each digit; and the metric, the error rate of the worst digit."""

from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.ensembles import Categorical
from shiftbench.io import files
from shiftbench.scores.metric import Metric
from shiftbench.scores.resampling import SetTerms, Terms


def fit(train: Any, *, members: int, seed: int, folder: Path) -> None:
    """Learn mean images [M, 10, 9, 6] from M bootstrap samples of train, and the variance of pixels around them."""
    rng, n = np.random.default_rng(seed), len(train["labels"])
    means = np.tile(train["images"].mean(axis=0), (members, 10, 1, 1))
    for member, rows in enumerate(rng.integers(0, n, (members, n))):
        for digit in np.unique(train["labels"][rows]):
            means[member, digit] = train["images"][rows][train["labels"][rows] == digit].mean(axis=0)
    variance = np.mean((train["images"] - means[0, train["labels"]]) ** 2)
    folder.mkdir(parents=True, exist_ok=True)
    with files.replacing(folder / "centroids.npz") as temporary, temporary.open("wb") as opened:
        np.savez(opened, means=means, variance=variance)


def predict(images: Any, *, folder: Path) -> Categorical:
    """Probabilities [M, N, 10] of the digits of images [N, 9, 6]."""
    with np.load(folder / "centroids.npz", allow_pickle=False) as learnt:
        squares = ((images[None, :, None] - learnt["means"][:, None]) ** 2).sum(axis=(-1, -2))
        odds = np.exp((squares.min(axis=-1, keepdims=True) - squares) / (2 * learnt["variance"]))
    return Categorical(odds / odds.sum(axis=-1, keepdims=True), classes=tuple("0123456789"))


def worst_mean(sums: Any, _whole: Any) -> Any:
    """[P], the largest error rate among digits, from their counts and errors [P, 10, 2]."""
    count, wrong = sums[..., 0], sums[..., 1]
    return np.divide(wrong, count, out=np.zeros_like(wrong), where=count > 0).max(axis=-1)


def worst_digit_terms(labels: Any, errors: Any) -> SetTerms:
    """What records add to the count and the errors of their digit, as answered and if right; labels, errors: [N]."""
    found, ideal = (np.stack([np.ones(len(labels)), wrong], axis=1) for wrong in (errors, 0 * errors))
    return SetTerms(Terms((labels,), (10,), found), Terms((labels,), (10,), ideal))


AREA = Metric("worst_digit_area", "Worst digit, R-AUC", "min", "fraction", "area under its retention curve",
              "this package", uses_uncertainty=True, most=1.0)  # fmt: skip
WORST_DIGIT = Metric("worst_digit", "Worst digit", "min", "percent", "largest error rate of a digit",
                     "this package", most=1.0, compared=True, of_sums=worst_mean, area=AREA.name)  # fmt: skip
