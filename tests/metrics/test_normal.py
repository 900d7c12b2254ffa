"""The normal distribution in numpy against scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from shiftbench.metrics import normal

# Both sides of every border between two approximations, and far outside.
BORDERS = np.array([0.46875, 4.0, 26.5, 30.0])
NEAR_BORDERS = np.concatenate([BORDERS, np.nextafter(BORDERS, 0), np.nextafter(BORDERS, 99)])
EDGES = np.concatenate([NEAR_BORDERS, -NEAR_BORDERS, [0.0, -0.0, 1e-300, 1e300, -1e300, np.inf, -np.inf]])
DENSE = np.linspace(-8, 28, 100_001)


@pytest.mark.parametrize("x", [EDGES, DENSE], ids=["edges", "dense"])
def test_erfc_is_exact_to_the_last_bits(x):
    found, expected = normal.erfc(x), special.erfc(x)
    assert np.abs(found - expected).max() < 1e-15
    ordinary = expected > 1e-300
    assert np.abs(found[ordinary] / expected[ordinary] - 1).max() < 1e-13


def test_the_distribution_function_is_exact_in_both_tails():
    z = np.linspace(-37, 37, 100_001)
    found, expected = normal.distribution(z), special.ndtr(z)
    assert np.abs(found - expected).max() < 5e-16
    assert np.abs(found / expected - 1).max() < 1e-12
    assert normal.distribution([-np.inf, 0.0, np.inf]).tolist() == [0.0, 0.5, 1.0]


def test_the_density_is_scipys():
    z = np.linspace(-40, 40, 1001)
    assert normal.density(z) == pytest.approx(stats.norm.pdf(z), rel=1e-13)


def test_nan_stays_nan_and_shapes_stay():
    assert np.isnan(normal.erfc(np.nan))
    assert normal.distribution(np.zeros((2, 0, 3))).shape == (2, 0, 3)
