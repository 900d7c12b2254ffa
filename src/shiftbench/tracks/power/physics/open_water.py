"""Open-water curves of the Wageningen B-series: thrust and torque coefficients over the advance ratio."""

from __future__ import annotations

import csv
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources

import numpy as np

from shiftbench.check import Vector
from shiftbench.errors import SettingsError
from shiftbench.tracks.power.physics.parts import AREA_RATIOS, Propeller

PITCH_RATIOS = (0.5, 1.4)
REYNOLDS = (2e6, 2e9)  # of the polynomials; the upper limit of the corrections
BELOW_ZERO = 0.02  # the lowest thrust coefficient up to which a curve is used

Polynomial = tuple[tuple[float, ...], ...]
"""Coefficients in two variables: the k-th of row j is that of J^j times the logarithm to the power of k."""
POWERS_OF_ADVANCE, POWERS_OF_REYNOLDS = 4, 3


@dataclass(frozen=True, eq=False)
class Curves:
    """The polynomials of one propeller, in the advance ratio J and, for the corrections, in log10(Reynolds) - 0.301.

    thrust, torque: K_T = T/(ρ n² D⁴) and K_Q = Q/(ρ n² D⁵) with the corrections. base_thrust: without them, at 2e6.
    last_advance_ratio: the advance ratio up to which the curves are used, shortly beyond zero thrust.
    """

    thrust: Polynomial
    torque: Polynomial
    base_thrust: Polynomial
    last_advance_ratio: float


@functools.lru_cache(maxsize=64)
def curves(propeller: Propeller) -> Curves:
    """The curves of a propeller.

    Oosterveld & van Oossanen, Further computer-analyzed data of the Wageningen B-screw series, International
    Shipbuilding Progress 22 (1975), Tables 5 and 6: 39 and 47 terms C · J^s · (P/D)^t · (A_E/A_0)^u · Z^v at a Reynolds
    number of 2e6, and the corrections ΔK_T, ΔK_Q for others, of 9 and 13 terms.

    Raises:
        SettingsError: naming the properties of the propeller outside the series.
    """
    if problems := _outside(propeller):
        raise SettingsError(*problems)
    table = {name: _collapsed(name, propeller) for name in ("thrust", "torque")}
    corrections = {name: _collapsed(f"{name}_correction", propeller) for name in table}
    below = np.roots((table["thrust"][:, 0] + np.array([BELOW_ZERO, 0.0, 0.0, 0.0]))[::-1])
    last = float(min(root.real for root in below if abs(root.imag) < 1e-9 and root.real > 0))
    return Curves(
        thrust=_polynomial(table["thrust"] + corrections["thrust"]),
        torque=_polynomial(table["torque"] + corrections["torque"]),
        base_thrust=_polynomial(table["thrust"]),
        last_advance_ratio=last,
    )


def log_reynolds(reynolds: Vector) -> Vector:
    """log10(Reynolds) - 0.301, the variable of the corrections, within their range, [N]."""
    return np.asarray(np.log10(np.clip(reynolds, *REYNOLDS)) - 0.301)


def chord_m(propeller: Propeller) -> float:
    """Chord of a blade at 0.75 of the radius: 2.073 (A_E/A_0) D/Z (Holtrop & Mennen 1982, section 5)."""
    return 2.073 * propeller.area_ratio * propeller.diameter_m / propeller.blades


def evaluate(polynomial: Polynomial, advance_ratio: Vector, logarithm: Vector) -> Vector:
    """The polynomial at N points by Horner's rule, [N]."""
    value = np.zeros_like(advance_ratio)
    for row in reversed(polynomial):
        value *= advance_ratio
        value += _in_logarithm(row, logarithm)
    return value


def slope(polynomial: Polynomial, advance_ratio: Vector, logarithm: Vector) -> Vector:
    """Its derivative with respect to the advance ratio, [N]."""
    derived = tuple(tuple(power * c for c in row) for power, row in enumerate(polynomial))
    return evaluate(derived[1:], advance_ratio, logarithm)


def _in_logarithm(row: tuple[float, ...], logarithm: Vector) -> Vector | float:
    value: Vector | float = row[-1]
    for coefficient in row[-2::-1]:
        value = value * logarithm + coefficient
    return value


def _polynomial(table: Vector) -> Polynomial:
    """A table [4, 3] without trailing zeros in its rows, to save time."""
    return tuple(tuple(np.trim_zeros(row, "b").tolist()) or (0.0,) for row in table)


def _outside(propeller: Propeller) -> list[str]:
    if propeller.blades not in AREA_RATIOS:
        return [f"propeller.blades: expected {min(AREA_RATIOS)} to {max(AREA_RATIOS)}, found {propeller.blades}."]
    ranges = {"area_ratio": AREA_RATIOS[propeller.blades], "pitch_ratio": PITCH_RATIOS}
    return [
        f"propeller.{name}: expected {low:g} to {high:g}, as the B-series was tested with {propeller.blades} blades, "
        f"found {getattr(propeller, name):g}. Choose a propeller of the series."
        for name, (low, high) in ranges.items()
        if not low <= getattr(propeller, name) <= high
    ]


def _collapsed(curve: str, propeller: Propeller) -> Vector:
    """The terms of a curve, summed up for the pitch, area and blades of one propeller, [4, 3]."""
    table = np.zeros((POWERS_OF_ADVANCE, POWERS_OF_REYNOLDS))
    for coefficient, advance, pitch, area, blades, logarithm in _terms()[curve]:
        size = propeller.pitch_ratio**pitch * propeller.area_ratio**area * propeller.blades**blades
        table[int(advance), int(logarithm)] += coefficient * size
    return table


@functools.cache
def _terms() -> dict[str, list[Sequence[float]]]:
    """The published terms by curve: coefficient and the powers of J, P/D, A_E/A_0, Z and of the logarithm."""
    text = resources.files(__package__).joinpath("wageningen_b.csv").read_text("utf-8")
    terms: dict[str, list[Sequence[float]]] = {}
    for curve, *numbers in list(csv.reader(text.splitlines()))[1:]:
        terms.setdefault(curve, []).append([float(number) for number in numbers])
    return terms
