"""Shaft power of 2.5 million records, and the whole generalisation set, against `np.exp` over eight numbers a record.

The records are uniform and independent in the ranges of the paper's Table 20, as in its generalisation set, which is
also drawn, labelled, held against the ranges of the physics and written as Parquet, as `shiftbench example power` does.
CPU seconds, alternating, medians: others may use the machine at the same time.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np

from shiftbench.tracks.power.example import generalization, writing
from shiftbench.tracks.power.outside import RangeTally
from shiftbench.tracks.power.physics.conditions import Conditions
from shiftbench.tracks.power.physics.fouling import YEAR_S
from shiftbench.tracks.power.physics.motion import sea_state
from shiftbench.tracks.power.physics.powering import shaft_power
from shiftbench.tracks.power.physics.ship import ship

RECORDS = 2_500_000
NUMBERS = 8  # a record: the features that Table 20 draws
ROUNDS = 3
LIMIT_S = 60.0  # of wall time, for the whole generalisation set
KNOT = 1852 / 3600  # m/s


def conditions(records: int, *, seed: int = 0) -> Conditions:
    """Records [N] within Table 20, up to five years after dry dock."""
    rng = np.random.default_rng(seed)
    over_ground, wind_speed = rng.uniform(5, 23, records) * KNOT, rng.uniform(0, 40, records) * KNOT
    wind_angle, height = rng.uniform(0, 2 * np.pi, records), rng.uniform(0, 6, records)
    current = rng.uniform(0, 2, records) * KNOT * np.cos(rng.uniform(0, 2 * np.pi, records))
    sea = sea_state(height, wind_speed, wind_angle)
    return Conditions(
        draft_aft_m=rng.uniform(8, 15, records),
        draft_fore_m=rng.uniform(8, 15, records),
        speed_through_water_m_s=over_ground - current,
        speed_over_ground_m_s=over_ground,
        acceleration_m_s2=np.zeros(records),
        wind_speed_m_s=wind_speed,
        wind_angle_rad=wind_angle,
        wave_height_m=sea.height_m,
        wave_period_s=sea.period_s,
        wave_angle_rad=sea.angle_rad,
        since_dry_dock_s=rng.uniform(0, 5, records) * YEAR_S,
    )


def cpu_seconds(act: Callable[[], object]) -> float:
    """CPU time of one call."""
    start = time.process_time()
    act()
    return time.process_time() - start


def generalization_set(folder: Path) -> None:
    """The whole set of the paper's size, as the command writes it."""
    tally = RangeTally()
    drawn, _ = generalization.drawn(RECORDS, 0, tally=tally)
    writing.write_frame(folder / writing.GENERALIZATION, drawn, "benchmark", tally.shares)


def ratios() -> list[tuple[str, float, float | None]]:
    """(name, CPU time of ours over that of np.exp, bound); of the whole set also its wall time over the limit."""
    vessel, given = ship(), conditions(RECORDS)
    numbers = np.random.default_rng(1).normal(size=NUMBERS * RECORDS)
    shaft_power(vessel, conditions(1_000))  # tables that are made once
    rounds, walls = [], []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(ROUNDS):
            power, plain = cpu_seconds(lambda: shaft_power(vessel, given)), cpu_seconds(lambda: np.exp(numbers))
            start = time.perf_counter()
            whole = cpu_seconds(lambda: generalization_set(Path(folder)))
            walls.append(time.perf_counter() - start)
            rounds.append((power / plain, whole / plain))
    power, whole = (median(column) for column in zip(*rounds, strict=True))
    wall = median(walls)
    return [
        ("shaft power of 2.5M records / np.exp of 8 x 2.5M", power, 200.0),
        ("generalisation set of 2.5M records / np.exp of 8 x 2.5M", whole, 300.0),
        (f"generalisation set of 2.5M records, {wall:.1f} s / {LIMIT_S:g} s", wall / LIMIT_S, 1.0),
    ]
