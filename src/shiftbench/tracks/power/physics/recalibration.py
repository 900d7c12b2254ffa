"""Constants of the Holtrop-Mennen method fitted to towing tests, and kept near the papers' where tests say little.

The idea is that of Nikolopoulos & Boulougouris, "A study on the statistical calibration of the Holtrop and Mennen
approximate power prediction method for full hull form, low Froude number vessels", Journal of Ship Production and
Design 35 (2019), of which only the abstract was available. The fit is our own: penalised least squares, by the method
of Marquardt (SIAM Journal on Applied Mathematics 11, 1963).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench import argument
from shiftbench.check import Vector
from shiftbench.errors import ArrayError, SettingsError, UnknownNameError, quoted
from shiftbench.tracks.power.physics.calibration import HOLTROP, VERSIONS, Calibration, Resistance
from shiftbench.tracks.power.physics.towing import TowingTest

LEVELS = {"1982": ("form_1982_constant", "c1_factor"), "1984": ("form_1984_factor", "c1_factor")}
"""Version → the constants that scale viscous and wave resistance, which a few tests can determine."""

STRENGTH = 0.04
"""(0.02 / 0.1)²: tests that scatter by 2 % against constants that are known to 10 %."""

MOST_STRENGTH = 1e12
FURTHEST = math.log(10) * (1 - 1e-9)  # a constant is at most ten times, and at least a tenth of, Holtrop's
MOST_STEPS, DAMPING, STIFFEST, DIFFERENCE = 200, 1e-3, 1e12, 1e-5

Matrix = npt.NDArray[np.float64]


def recalibrated(
    tests: TowingTest | Iterable[TowingTest],
    *,
    constants: Sequence[str] | None = None,
    strength: float = STRENGTH,
    version: str = "1984",
) -> Calibration:
    """Holtrop's constants with some fitted to measured resistance; the fit is never worse than the start.

    Minimised, with R predicted over measured resistance and c a constant over Holtrop's:

        sum over tests of the mean over speeds of (ln R)²  +  strength · sum over constants of (ln c)²

    Each test counts once, for any number of speeds. The result is the local minimum reached from Holtrop's constants.
    If tests cannot distinguish the constants and the strength is small, there can be other, lower minima: choose fewer
    constants or a larger strength. Constants stay between a tenth and ten times Holtrop's; a result at these limits has
    diverged.

    Args:
        tests: one or more. Only different ships show how the constants depend on the hull.
        constants: names of `Calibration`, or one; None: those of `LEVELS`. Others keep Holtrop's values.
        strength: ≥ 0, of the pull towards Holtrop's constants: the scatter of tests over that of constants, squared.
        version: of the method, of `VERSIONS`.

    Raises:
        SettingsError: if there is no test, a constant is unknown or named twice, the strength is negative or not a
            number, or the version unknown, all at once; then if constants have no effect on any test.
        ArrayError: if the method gives no resistance for a hull at these speeds.
    """
    given = [tests] if isinstance(tests, TowingTest) else argument.several("tests", tests, object)
    known = isinstance(version, str) and version in VERSIONS
    chosen = constants if constants is not None else LEVELS[version] if known else ()
    names = (chosen,) if isinstance(chosen, str) else tuple(argument.several("constants", chosen, str))
    tests = _check(given, names, strength, version)

    def made(logs: Vector) -> Calibration:
        changed = {name: getattr(HOLTROP, name) * math.exp(log) for name, log in zip(names, logs, strict=True)}
        return replace(HOLTROP, **changed)

    def misfit(logs: Vector) -> Vector:
        return _misfit(tests, Resistance(version, made(logs)))

    start = np.zeros(len(names))
    _check_effect(names, _jacobian(misfit, start))
    root = math.sqrt(strength)
    return made(_least(lambda logs: np.append(misfit(logs), root * logs), start))


def _misfit(tests: Sequence[TowingTest], by: Resistance) -> Vector:
    """ln (predicted over measured) of all speeds of all tests, one after the other, each over the root of its N."""
    with np.errstate(all="ignore"):  # a step that is too long gives NaN and is not taken
        parts = [np.log(test.predicted_N(by) / test.resistance_N) / math.sqrt(len(test.speed_m_s)) for test in tests]
    return np.concatenate(parts)


def _jacobian(residuals: Callable[[Vector], Vector], at: Vector) -> Matrix:
    """Central differences, [residuals, constants]."""
    columns = []
    for step in DIFFERENCE * np.eye(len(at)):
        columns.append((residuals(at + step) - residuals(at - step)) / (2 * DIFFERENCE))
    return np.stack(columns, axis=1)


def _least(residuals: Callable[[Vector], Vector], start: Vector) -> Vector:
    """Minimise the sum of squares: a step that does not reduce it is tried shorter."""
    here, found, damping = start, residuals(start), DAMPING
    for _ in range(MOST_STEPS):
        slopes = _jacobian(residuals, here)
        normal, gradient = slopes.T @ slopes, slopes.T @ found
        if not np.isfinite(normal).all() or not gradient.any():
            break
        while damping < STIFFEST:
            scaled = damping * np.diag(np.diag(normal) + np.finfo(float).tiny)
            step = np.linalg.lstsq(normal + scaled, -gradient, rcond=None)[0]
            there = np.clip(here + step, -FURTHEST, FURTHEST)
            tried = residuals(there)
            if np.isfinite(tried).all() and tried @ tried < found @ found:
                here, found, damping = there, tried, max(damping / 10, 1e-12)
                break
            damping *= 10
        else:
            break
    return here


def _check(tests: Sequence[Any], names: tuple[str, ...], strength: Any, version: Any) -> tuple[TowingTest, ...]:
    """The tests, if all arguments are valid."""
    known = [place.name for place in fields(Calibration)]
    problems = [str(UnknownNameError("constant", name, known)) for name in names if name not in known]
    twice = sorted({name for name in names if names.count(name) > 1})
    problems += [f"constants: expected each name once, found {name!r} {names.count(name)} times." for name in twice]
    if not isinstance(version, str) or version not in VERSIONS:
        problems.append(f"version: expected {' or '.join(VERSIONS)} as text, found {version!r:.40}.")
    elif not names:
        problems.append("constants: expected at least one name, found none. None, the default, takes two of them.")
    number = isinstance(strength, (int, float, np.integer, np.floating)) and not isinstance(strength, bool)
    if not number or not 0 <= strength < MOST_STRENGTH:
        problems.append(
            f"strength: expected a number from 0 to {MOST_STRENGTH:g}, found {quoted(strength)}. "
            f"{STRENGTH} is the default."
        )
    if not len(tests):
        problems.append("tests: expected at least one towing test, found none.")
    problems += [
        f"tests[{place}]: expected a TowingTest, found {type(test).__name__}. Make one of the report's columns."
        for place, test in enumerate(tests)
        if not isinstance(test, TowingTest)
    ]
    if problems:
        raise SettingsError(*problems)
    return tuple(tests)


def _check_effect(names: tuple[str, ...], slopes: Matrix) -> None:
    idle = [name for name, column in zip(names, slopes.T, strict=True) if not column.any()]
    if idle:
        raise SettingsError(
            f"constants: expected that each changes a test, found none changed by {', '.join(idle)}. Leave these out: "
            "they belong to the other version, to parts that these ships lack, or to C_A, which models do not have."
        )
    if not np.isfinite(slopes).all():
        raise ArrayError("tests: expected hulls and speeds of which the method gives a resistance, found none of it.")
