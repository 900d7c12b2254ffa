"""Made-up voyages of a ship with known truth, and a generalisation set, of the official form.

All data are synthetic: voyages and weather follow from the formulas in this package, power from the physics of
`shiftbench.tracks.power.physics`, and the noise is that of Shifts 2.0 (Appendix D.1).
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.errors import SettingsError
from shiftbench.progress import Progress
from shiftbench.track.intake import example_folder
from shiftbench.tracks.power import schema
from shiftbench.tracks.power.example import generalization, labels, noise, random_streams, writing
from shiftbench.tracks.power.example.minutes import Minutes, world
from shiftbench.tracks.power.example.random_streams import Values
from shiftbench.tracks.power.example.ship_scaling import draft_range_m, require_afloat, scaling_of, vessel_of
from shiftbench.tracks.power.outside import RangeTally
from shiftbench.tracks.power.physics import ship as ships
from shiftbench.tracks.power.physics.ship import Ship

FEWEST_ROWS = 1_000
MOST_ROWS = 2_000_000
BLOCK = 131_072  # minutes per block
STAGE = "voyages"
GENERALIZATION_A_ROW = 1.25
HASH_DIGITS = 12
PLAIN = re.compile(r"[\w.-]+")  # a name that needs no quotes
OVERLOAD = 1.1  # of the rating: the overload for one hour in twelve (ISO 15550)


def table(
    rows: int | None = None,
    *,
    seed: int = 0,
    vessel: Ship | None = None,
    tally: RangeTally | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """The index, the ten inputs and the power for every minute at sea, or `rows` of them at random, in order of time.

    Sixty-four months after a dry dock on the line from the North Sea to Korea, about 2.1 million minutes at sea. Speed
    orders follow the schedule, not the weather. Every few months hold the same mix of loadings, speeds, winds, waves
    and currents for any seed; only their order is random. So training data cover all loadings and speeds, but hull and
    propeller become ever rougher, and the partition excludes strong winds from training.

    The power is that of the physics for the exact inputs, with noise; the inputs are written with noise of their own.
    Minutes without an operating point (the ship slows down and needs no thrust) are left out, and those that need more
    than 110 % of the engine's rating, at which that speed could not be kept.

    vessel: another ship (None: the container ship) is at sea on the same days, with the same loadings, courses and
    weather, at speeds in proportion to its service speed and drafts in proportion to its design draft. Trade and
    weather are still those fitted to a container ship's records.
    tally: counts the minutes outside the ranges of the physics.

    The same `rows`, `seed` and ship give the same table: only uniform numbers of `Generator(PCG64)` are drawn, and
    every value is rounded above the precision in which mathematical libraries differ.

    Raises:
        SettingsError: if `rows` is too large or too small, `seed` is below 0, or the ship cannot sail at these speeds
            or drafts.
    """
    _require(rows, seed)
    vessel = vessel or vessel_of(None)
    made = world(seed, scaling_of(vessel))
    require_afloat(vessel, *draft_range_m(made.voyages))
    candidates = _candidates(made.voyages.records, rows, seed)
    total = len(candidates) if rows is None else rows
    rng = random_streams.stream(seed, random_streams.NOISE)
    parts: list[pl.DataFrame] = []
    done = tried = 0
    while done < total and tried < len(candidates):
        minutes = made.at(candidates[tried : tried + min(BLOCK, total - done)])
        tried += len(minutes.time_id)
        parts.append(_written(vessel, minutes, rng, tally))
        done += parts[-1].height
        if progress is not None:
            progress(STAGE, tried if rows is None else done, total)
    _require_enough(vessel, done, rows)
    return pl.concat(parts).sort(schema.TIME_ID)


def write(
    path: str | Path,
    rows: int | None = None,
    seed: int = 0,
    progress: Progress | None = None,
    *,
    ship: str | None = None,
) -> Path:
    """Write a folder whole or not at all: `records.parquet` (see `table`) and `generalization.parquet`.

    rows: of the records, with 1.25 × as many of the generalisation set; None for every minute at sea and 2.5 million.
    ship: the name of a ship of the package, or a TOML file; None for the container ship; see `table`.
    The metadata of both files hold under `shiftbench` that they are an example, and of which ship (see `identity`), and
    under `shiftbench.outside` the shares of their records outside the ranges of the physics.

    Raises:
        SettingsError: as `table`, or if there is no such ship.
        TableError: if the folder holds something else, or cannot be written.
    """
    _require(rows, seed)
    folder, vessel = Path(path), vessel_of(ship)
    others = generalization.RECORDS if rows is None else round(GENERALIZATION_A_ROW * rows)
    origin = f"example power rows={'all' if rows is None else rows} seed={seed}"
    origin += "" if ship is None else f" {identity(vessel)}"
    tallies = RangeTally(), RangeTally()
    size = (rows or MOST_ROWS) + others
    with example_folder.replacing(
        folder, track=schema.TRACK, size=size * writing.ROW_BYTES, what=f"{size:,} rows"
    ) as aside:
        made = table(rows, seed=seed, vessel=vessel, tally=tallies[0], progress=progress)
        writing.write_frame(aside / writing.RECORDS, made, origin, tallies[0].shares)
        drawn, again = generalization.drawn(others, seed, vessel=vessel, tally=tallies[1], progress=progress)
        redrawn = f"{origin} generalization redrawn={again}"
        writing.write_frame(aside / writing.GENERALIZATION, drawn, redrawn, tallies[1].shares)
    return folder


def identity(vessel: Ship) -> str:
    """The ship in recipes: `ship=tanker`, or `ship="MS Other" values=…` if the package has no such ship.

    A name with characters other than letters, digits, underscores, points and dashes is quoted as in JSON, so that it
    cannot be confused with the text beside it.
    """
    name = vessel.name if PLAIN.fullmatch(vessel.name) else json.dumps(vessel.name, ensure_ascii=False)
    own = any(vessel == ships.ship(known) for known in ships.SHIPS)
    return f"ship={name}" if own else f"ship={name} values={_values_hash(vessel)}"


def _values_hash(vessel: Ship) -> str:
    """The first digits of the SHA-256 of all values of a ship as JSON with sorted keys; 20 and 20.0 are equal."""
    values = json.loads(json.dumps(asdict(vessel)), parse_int=float)
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:HASH_DIGITS]


def _require(rows: int | None, seed: int) -> None:
    if seed < 0:
        raise SettingsError(f"seed: expected a whole number >= 0, found {seed}. Choose another.")
    if rows is not None and not FEWEST_ROWS <= rows <= MOST_ROWS:
        raise SettingsError(
            f"rows: expected {FEWEST_ROWS:,} to {MOST_ROWS:,}, found {rows:,}. Every partition needs some, and "
            "there are no more minutes at sea; leave the number out for all of them."
        )


def _require_enough(vessel: Ship, found: int, rows: int | None) -> None:
    if found < (FEWEST_ROWS if rows is None else rows):
        raise SettingsError(
            f"rows: expected {FEWEST_ROWS if rows is None else rows:,} minutes that {vessel.name!r} can sail, found "
            f"{found:,}: the others need no thrust, or more than {OVERLOAD:.0%} of its rating would be "
            "needed. Ask for fewer, or correct its rating."
        )


def _candidates(minutes: int, rows: int | None, seed: int) -> Values:
    """The minutes at sea in the order in which they are tried until there are enough."""
    if rows is None:
        return np.arange(minutes)
    return np.argsort(random_streams.stream(seed, random_streams.ORDER).random(minutes), kind="stable")


def _written(vessel: Ship, minutes: Minutes, rng: np.random.Generator, tally: RangeTally | None) -> pl.DataFrame:
    """Inputs and power with noise, of the minutes with an operating point that the engine can reach."""
    power_kw, possible = labels.power(vessel, minutes)
    possible &= power_kw <= OVERLOAD * vessel.drive.mcr_kw
    if tally is not None:
        labels.count_outside(tally, vessel, minutes, power_kw=power_kw, kept=possible)
    columns = noise.on_inputs(minutes.columns(), rng)
    noisy_kw = noise.on_power(power_kw, minutes.wind_kn, rng)
    return writing.frame(columns, noisy_kw).filter(pl.Series(possible))
