"""The generalisation set: uniform conditions within the ranges of Table 20, labelled by the physics."""

from __future__ import annotations

import numpy as np
import polars as pl

from shiftbench import argument, check
from shiftbench.progress import Progress
from shiftbench.tracks.power.example import labels, random_streams
from shiftbench.tracks.power.example.minutes import Minutes
from shiftbench.tracks.power.example.random_streams import Values
from shiftbench.tracks.power.example.ship_scaling import ALIKE, Scaling, require_afloat, scaling_of
from shiftbench.tracks.power.example.voyages import PERIOD
from shiftbench.tracks.power.example.writing import frame
from shiftbench.tracks.power.outside import RangeTally
from shiftbench.tracks.power.physics.ship import Ship, ship

RECORDS = 2_500_000
BLOCK = 131_072
STAGE = "generalization, records"

# Shifts 2.0, Table 20: each uniform and independent of the others; angles are relative to the course
OVER_GROUND_KN = (5.0, 23.0)
DRAFT_M = (8.0, 15.0)
WIND_KN = (0.0, 40.0)
ANGLE_RAD = (0.0, 2 * np.pi)
CURRENT_KN = (0.0, 2.0)
WAVE_M = (0.0, 6.0)


def sample(records: int = RECORDS, seed: int = 0) -> pl.DataFrame:
    """`records` rows of the index, the ten inputs and the power, see `drawn`.

    Raises:
        SettingsError: if `records` or `seed` is out of range.
    """
    return drawn(records, seed)[0]


MOST_RECORDS = 10**12


def drawn(
    records: int,
    seed: int,
    *,
    vessel: Ship | None = None,
    tally: RangeTally | None = None,
    progress: Progress | None = None,
) -> tuple[pl.DataFrame, int]:
    """The rows, and the number of conditions drawn again because they had no operating point.

    Speed over ground, drafts, true wind, current and waves with the angles of wind and current are uniform and
    independent (Shifts 2.0, Table 20); time since dry dock is uniform over the 64 months, in whole minutes; the ship
    does not accelerate; the engine's rating is not a limit. Inputs and power carry no noise, so all errors are those of
    the model: with the noise of the voyages a perfect model would have a mean error of 11 %. The relative errors of 21
    to 27 % printed for this set come from slow records: an error of 1 MW everywhere, about the printed mean, gives 27
    %.

    vessel: another ship than the example's (None): the ranges of speed and drafts are in proportion to its service
    speed and design draft.
    tally: counts the records outside the ranges of the physics.

    Raises:
        SettingsError: if `records` < 1 or `seed` < 0, or the ship cannot sail at these speeds or drafts.
    """
    argument.whole("records", records, 1, MOST_RECORDS)
    argument.whole("seed", seed)
    check.kind("vessel", vessel, (Ship, type(None)))
    argument.callback("progress", progress)
    rng, vessel = random_streams.stream(seed, random_streams.GENERALIZATION), vessel or ship()
    like = scaling_of(vessel)
    require_afloat(vessel, *(like.draft * draft for draft in DRAFT_M))
    parts: list[pl.DataFrame] = []
    done = tried = 0
    while done < records:
        minutes = uniform(rng, min(BLOCK, records - done), like)
        power_kw, possible = labels.power(vessel, minutes)
        if tally is not None:
            labels.count_outside(tally, vessel, minutes, power_kw=power_kw, kept=possible)
        parts.append(frame(minutes.columns(), power_kw).filter(pl.Series(possible)))
        done, tried = done + parts[-1].height, tried + len(possible)
        if progress is not None:
            progress(STAGE, done, records)
    return pl.concat(parts), tried - records


def uniform(rng: np.random.Generator, records: int, like: Scaling = ALIKE) -> Minutes:
    """Conditions drawn from the ranges of Table 20, possible or not; speeds and drafts in proportion to a ship."""

    def between(low: float, high: float) -> Values:
        return low + (high - low) * rng.random(records)

    current, current_angle = between(*CURRENT_KN), between(*ANGLE_RAD)
    along = current * np.cos(current_angle)
    return Minutes(
        time_id=np.floor(between(0, PERIOD)),
        draft_aft_m=like.draft * between(*DRAFT_M),
        draft_fore_m=like.draft * between(*DRAFT_M),
        speed_kn=like.speed * between(*OVER_GROUND_KN) - along,
        acceleration=np.zeros(records),
        wind_kn=between(*WIND_KN),
        wind_angle_rad=between(*ANGLE_RAD),
        current_along=along,
        current_across=current * np.sin(current_angle),
        wave_m=between(*WAVE_M),
    )
