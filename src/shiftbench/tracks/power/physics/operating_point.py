"""The point at which a propeller works: revolutions and torque for a thrust at a speed of advance, for every record."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftbench import check
from shiftbench.check import Vector
from shiftbench.tracks.power.physics import open_water
from shiftbench.tracks.power.physics.parts import Propeller
from shiftbench.tracks.power.physics.water import DENSITY, VISCOSITY

Codes = npt.NDArray[np.uint8]

# Codes by severity: of several problems the highest is reported. `powering` has further codes.
NONE, OUTSIDE_SERIES, STOPPED, NO_THRUST = 0, 1, 3, 4
PROBLEMS = {
    OUTSIDE_SERIES: "the blades' Reynolds number is outside 2e6 … 2e9: open-water curves at the nearer limit are used",
    STOPPED: "no inflow from ahead (speed of advance <= 0): bollard pull is used",
    NO_THRUST: "no thrust needed (thrust <= 0): zero thrust is used",
}

CREEP_M_S = 1e-6  # in m/s, in place of speeds of advance <= 0: the advance ratio is practically 0
PRECISION = 1e-14  # of the advance ratio, relative
STEPS = 60  # 4 to 7 are enough; bisection alone would need 50
BLADE_SPEED = 0.75 * math.pi  # of a blade at 0.75 of the radius, over n D


@dataclass(frozen=True, eq=False)
class OperatingPoint:
    """The operating point of N records in open water, without the relative rotative efficiency.

    advance_ratio: J. kt, kq: thrust and torque coefficients. revolutions_per_s, torque_Nm.
    efficiency: K_T J / (2π K_Q). problem: a code of `PROBLEMS`, 0 for no problem.
    """

    advance_ratio: Vector
    kt: Vector
    kq: Vector
    revolutions_per_s: Vector
    torque_Nm: Vector
    efficiency: Vector
    problem: Codes

    @property
    def power_W(self) -> Vector:
        """The power of the propeller in open water: 2π n Q, [N]."""
        return 2 * math.pi * self.revolutions_per_s * self.torque_Nm


def solve(
    propeller: Propeller,
    thrust_N: Vector,
    advance_speed_m_s: Vector,
    *,
    density: float = DENSITY,
    viscosity: float = VISCOSITY,
    roughening: tuple[Vector, Vector] | None = None,
) -> OperatingPoint:
    """Solve K_T(J)/J² = T/(ρ D² V_A²) for N records, with the curves at the blades' own Reynolds number.

    A guarded Newton iteration in J: K_T falls with J everywhere in the series, so there is one root; a step that leaves
    the bracket is replaced by a bisection. A thrust <= 0 becomes 0, a speed <= 0 becomes 1e-6 m/s, and the record gets
    a code.

    Args:
        propeller: one of the B-series.
        thrust_N: [N] required thrust of the propeller.
        advance_speed_m_s: [N] inflow speed.
        density: of the water, kg/m³. viscosity: kinematic, m²/s.
        roughening: changes of K_T and K_Q, each [N], by rough blades (`fouling.propeller_change`).

    Raises:
        ArrayError: if the arrays are of unequal length or hold numbers that are not finite.
        SettingsError: if the propeller lies outside the series.
    """
    thrust, speed = check.vectors(thrust_N=thrust_N, advance_speed_m_s=advance_speed_m_s)
    dkt, dkq = roughening if roughening is not None else (np.zeros_like(thrust), np.zeros_like(thrust))
    curves = open_water.curves(propeller)
    problem = np.where(thrust <= 0, NO_THRUST, np.where(speed <= 0, STOPPED, NONE)).astype(np.uint8)
    speed = np.maximum(speed, CREEP_M_S)
    load = np.maximum(thrust, 0) / (density * propeller.diameter_m**2 * speed**2)
    axial_reynolds = open_water.chord_m(propeller) / viscosity * speed
    ratio, reynolds = _advance_ratio(curves, load, axial_reynolds, dkt)
    logarithm = open_water.log_reynolds(reynolds)
    kt = np.maximum(open_water.evaluate(curves.thrust, ratio, logarithm) + dkt, 0)  # no -1e-17 at zero thrust
    kq = open_water.evaluate(curves.torque, ratio, logarithm) + dkq
    low, high = open_water.REYNOLDS
    problem[(problem == NONE) & ((reynolds < low) | (reynolds > high))] = OUTSIDE_SERIES
    revolutions = speed / (ratio * propeller.diameter_m)
    torque = kq * density * revolutions**2 * propeller.diameter_m**5
    return OperatingPoint(ratio, kt, kq, revolutions, torque, ratio * kt / (2 * math.pi * kq), problem)


def _advance_ratio(
    curves: open_water.Curves, load: Vector, axial_reynolds: Vector, dkt: Vector
) -> tuple[Vector, Vector]:
    """The root J of K_T(J) - load · J² and the Reynolds number there, each [N].

    The derivative neglects the change of the Reynolds number with J, 1e-4 of the rest, so each step still gains four
    digits or more.
    """
    ratio = _first_guess(curves, load)
    low, high = np.zeros_like(load), np.full_like(load, curves.last_advance_ratio)
    for _ in range(STEPS):
        logarithm = open_water.log_reynolds(_blade_reynolds(axial_reynolds, ratio))
        left = open_water.evaluate(curves.thrust, ratio, logarithm) + dkt - load * ratio**2
        np.copyto(low, ratio, where=left > 0)
        np.copyto(high, ratio, where=left <= 0)
        moved = ratio - left / (open_water.slope(curves.thrust, ratio, logarithm) - 2 * load * ratio)
        np.copyto(moved, (low + high) / 2, where=(moved < low) | (moved > high))
        settled = bool((np.abs(moved - ratio) <= PRECISION * ratio).all())
        ratio = moved
        if settled:
            break
    return ratio, _blade_reynolds(axial_reynolds, ratio)


def _first_guess(curves: open_water.Curves, load: Vector) -> Vector:
    """The root for a linear K_T, written without cancellation."""
    at_rest, end = curves.base_thrust[0][0], curves.last_advance_ratio
    fall = at_rest / end
    return np.asarray(2 * at_rest / (fall + np.sqrt(fall**2 + 4 * at_rest * load)))


def _blade_reynolds(axial_reynolds: Vector, ratio: Vector) -> Vector:
    """Reynolds number of a blade at 0.75 of the radius: chord · sqrt(V_A² + (0.75 π n D)²) / ν, [N]."""
    return np.asarray(axial_reynolds * np.sqrt(1 + (BLADE_SPEED / ratio) ** 2))
