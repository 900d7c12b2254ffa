"""Random processes with memory and fixed distributions: the seed decides when values occur, not how often."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.pipeline.example import normal

Values = npt.NDArray[Any]

GRID = 4_001  # points at which a density is tabulated
VOYAGES, WEATHER, SURGE, ORDER, NOISE, GENERALIZATION = range(6)  # the stream of each purpose


def stream(seed: int, number: int) -> np.random.Generator:
    """One of a seed's independent streams of random numbers, 2^127 numbers apart."""
    return np.random.Generator(np.random.PCG64(seed).jumped(number))


def remembered(kept: Values, news: Values) -> Values:
    """x[k] = kept[k]·x[k-1] + news[k] for P processes at once, x[-1] = 0; kept and news [K, P] -> [K, P]."""
    found = np.empty_like(news)
    last = np.zeros(news.shape[1])
    for k, (share, new) in enumerate(zip(kept, news, strict=True)):
        last = share * last + new
        found[k] = last
    return found


def wandering(rng: np.random.Generator, minutes: Values, memory: Sequence[float]) -> Values:
    """Ornstein-Uhlenbeck processes of variance 1 at times `minutes` [K] -> [K, P]; `memory`: P times in minutes.

    Exact whatever the steps: the share kept over a step of Δt is exp(-Δt/memory).
    """
    steps = np.diff(minutes, prepend=-np.inf)  # the first value has no predecessor
    kept = np.exp(-steps[:, None] / np.asarray(memory))
    return remembered(kept, np.sqrt(1 - kept**2) * normal(rng, len(minutes), len(memory)))


def frequencies(latent: Values, weights: Values, batch: int) -> Values:
    """Turn values [K] into the shares (0, 1) of `weights` below them, within batches of about `batch` consecutive
    values.

    In every batch the shares are evenly spread, so any distribution made from them is reproduced almost exactly for any
    seed; only the order varies from seed to seed.
    """
    found = np.empty(len(latent))
    edges = np.linspace(0, len(latent), max(1, round(len(latent) / batch)) + 1).astype(int)
    for start, stop in itertools.pairwise(edges):
        order = start + np.argsort(latent[start:stop], kind="stable")
        below = np.cumsum(weights[order])
        found[order] = (below - weights[order] / 2) / below[-1]
    return found


@dataclass(frozen=True)
class Mixture:
    """Normal densities (weight, centre, width) added up and cut off at `low` and `high`."""

    low: float
    high: float
    bells: tuple[tuple[float, float, float], ...]

    def quantile(self, share: Values) -> Values:
        """The value below which a share (0, 1) of the distribution lies, [N] -> [N]."""
        value = np.linspace(self.low, self.high, GRID)
        density = sum(weight / width * np.exp(-0.5 * ((value - at) / width) ** 2) for weight, at, width in self.bells)
        below = np.cumsum(density) - density / 2
        return np.asarray(np.interp(share, (below - below[0]) / (below[-1] - below[0]), value))
