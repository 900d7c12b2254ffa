"""Are these metres, radians and metres a second? Refused is only what no recording can be."""

from __future__ import annotations

import numpy as np
import polars as pl

from shiftbench.tracks.motion.argoverse2.columns import numbers
from shiftbench.tracks.motion.argoverse2.recording import HZ, Floats

REACH_M = 1000.0  # of what an ego vehicle sees: 221 m in genuine logs
TURN_RAD = 6.2832  # 2π, also after rounding to float32
FACTOR = 1.8  # below that of knots (1.94), mph (2.24), ft/s and km/h; 1.01 in a genuine scenario
PIECE = HZ  # sweeps: over a second the noise of positions counts little
PIECE_M = 2.0  # the way of half the pieces of a track that moves; the boxes of parked cars jump now and then
LEAST_PIECES = 20
LEAST_TRACKS = 3
FASTEST_MS = 1e6  # so that sums of hostile values stay finite


def check_reach(offsets: pl.DataFrame, problems: list[str]) -> None:
    """Add to `problems` if places relative to the ego vehicle (all columns, in metres) lie too far away."""
    farthest = np.abs(numbers(offsets, *offsets.columns)).max(axis=1)
    far = farthest[farthest > REACH_M]
    if far.size:
        problems.append(
            f"{', '.join(offsets.columns)}: expected places within {REACH_M:g} m of the ego vehicle, found "
            f"{far.size:,} further away (up to {far.max():.3g}). Are they in metres?"
        )


def check_headings(heading: pl.Series, problems: list[str]) -> None:
    """Add to `problems` if headings are no angles in radians."""
    size = np.abs(heading.to_numpy())
    bad = size > TURN_RAD
    if bad.any():
        problems.append(
            f"{heading.name}: expected radians within ±2π, found {bad.sum():,} others (up to {size.max():.3g}). "
            "Convert degrees to radians."
        )


def check_velocities(frame: pl.DataFrame, problems: list[str]) -> None:
    """Add to `problems` if the tracks of a scenario travel another way than their velocities say.

    Compared are, over pieces of a second without a gap, the way between both ends and the sum of the velocities: the
    medians of a track's pieces, and of these the median of the tracks that move.
    """
    ratios = _ratios(frame)
    if len(ratios) < LEAST_TRACKS:
        return
    ratio = float(np.median(ratios))
    if not 1 / FACTOR <= ratio <= FACTOR:
        problems.append(
            f"velocity_x, velocity_y: expected velocities that agree with the positions, found {ratio:.3g} times the "
            f"way travelled (median of {len(ratios)} moving tracks). Are they in m/s, and the positions in metres?"
        )


def _ratios(frame: pl.DataFrame) -> list[float]:
    """Of each track that moves: the way that its velocities tell, divided by the way that it travels."""
    rows = frame.sort("track_id", "timestep")
    if rows.height <= PIECE:
        return []
    velocity = np.clip(numbers(rows, "velocity_x", "velocity_y"), -FASTEST_MS, FASTEST_MS)
    told = _between(np.cumsum(velocity, axis=0) / HZ)
    moved = _between(numbers(rows, "position_x", "position_y"))
    track, step = rows["track_id"].to_numpy(), rows["timestep"].to_numpy()
    whole = (track[PIECE:] == track[:-PIECE]) & (step[PIECE:] - step[:-PIECE] == PIECE)
    pieces = pl.DataFrame({"track": track[PIECE:], "told": told, "moved": moved}).filter(whole)
    medians = pieces.group_by("track").agg(pl.col("told", "moved").median(), pieces=pl.len())
    moving = medians.filter((pl.col("moved") >= PIECE_M) & (pl.col("pieces") >= LEAST_PIECES))
    return (moving["told"] / moving["moved"]).to_list()


def _between(values: Floats) -> Floats:
    """How far [R - PIECE] rows of values [R, 2] are from those `PIECE` rows before."""
    change = values[PIECE:] - values[:-PIECE]
    way: Floats = np.hypot(change[:, 0], change[:, 1])
    return way
