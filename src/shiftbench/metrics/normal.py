"""The standard normal distribution in pure numpy: density, distribution function, complementary error function."""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftbench.ensembles import Array

# Rational approximations P(t) / Q(t) of W. J. Cody (1969), highest power first; their errors are below 1e-16.
# erf(x) / x in t = x² for |x| <= 0.46875
_NEAR_P = (
    1.85777706184603153e-1, 3.16112374387056560e0, 1.13864154151050156e2, 3.77485237685302021e2,
    3.20937758913846947e3,
)  # fmt: skip
_NEAR_Q = (
    1.0, 2.36012909523441209e1, 2.44024637934444173e2, 1.28261652607737228e3, 2.84423683343917062e3,
)  # fmt: skip
# erfc(x) exp(x²) in t = x for 0.46875 <= x <= 4
_MIDDLE_P = (
    2.15311535474403846e-8, 5.64188496988670089e-1, 8.88314979438837594e0, 6.61191906371416295e1,
    2.98635138197400131e2, 8.81952221241769090e2, 1.71204761263407058e3, 2.05107837782607147e3,
    1.23033935479799725e3,
)  # fmt: skip
_MIDDLE_Q = (
    1.0, 1.57449261107098347e1, 1.17693950891312499e2, 5.37181101862009858e2, 1.62138957456669019e3,
    3.29079923573345963e3, 4.36261909014324716e3, 3.43936767414372164e3, 1.23033935480374942e3,
)  # fmt: skip
# (1 / sqrt(pi) - x erfc(x) exp(x²)) / t in t = 1 / x² for x >= 4
_FAR_P = (
    1.63153871373020978e-2, 3.05326634961232344e-1, 3.60344899949804439e-1, 1.25781726111229246e-1,
    1.60837851487422766e-2, 6.58749161529837803e-4,
)  # fmt: skip
_FAR_Q = (
    1.0, 2.56852019228982242e0, 1.87295284992346725e0, 5.27905102951428412e-1, 6.05183413124413191e-2,
    2.33520497626869185e-3,
)  # fmt: skip
_BEYOND = 30.0  # erfc is 0 in float64 from 27 on


def density(z: Any) -> Array:
    """phi(z) = exp(-z²/2) / sqrt(2 pi), elementwise."""
    with np.errstate(over="ignore"):  # infinite squares have a density of 0
        return np.asarray(np.exp(-0.5 * np.square(z)) / np.sqrt(2 * np.pi))


def distribution(z: Any) -> Array:
    """Phi(z), the probability of a value below z, elementwise; accurate to 5e-16."""
    return np.asarray(0.5 * erfc(np.asarray(z) / -np.sqrt(2.0)))


def erfc(x: Any) -> Array:
    """The complementary error function 1 - erf(x), elementwise; accurate to 5e-16, and in the tail to 1e-13 relatively.

    Source: W. J. Cody 1969, Rational Chebyshev approximations for the error function, Mathematics of Computation 23.
    """
    x = np.asarray(x, dtype=np.float64)
    size = np.minimum(np.abs(x), _BEYOND)
    near, far = size <= 0.46875, size > 4.0
    middle = ~(near | far)
    upper = np.empty_like(size)
    upper[near] = 1.0 - size[near] * _ratio(_NEAR_P, _NEAR_Q, np.square(size[near]))
    upper[middle] = np.exp(-np.square(size[middle])) * _ratio(_MIDDLE_P, _MIDDLE_Q, size[middle])
    upper[far] = np.exp(-np.square(size[far])) * _far(size[far])
    return np.asarray(np.where(x < 0, 2.0 - upper, upper))


def _far(x: Array) -> Array:
    inverse = 1.0 / np.square(x)
    return np.asarray((1 / np.sqrt(np.pi) - inverse * _ratio(_FAR_P, _FAR_Q, inverse)) / x)


def _ratio(numerator: tuple[float, ...], denominator: tuple[float, ...], t: Array) -> Array:
    return np.divide(_polynomial(numerator, t), _polynomial(denominator, t))


def _polynomial(coefficients: tuple[float, ...], t: Array) -> Array:
    value = np.full_like(t, coefficients[0])
    for coefficient in coefficients[1:]:
        value *= t
        value += coefficient
    return value
