"""The drafts at which a ship floats and its form is known."""

from __future__ import annotations

import functools
import itertools

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.errors import ArrayError
from shiftbench.tracks.power.physics.hydrostatics import SHALLOWEST, Loading
from shiftbench.tracks.power.physics.ship import Ship

PROBES = 100  # drafts tried on either side of the design draft


def loading(ship: Ship, draft_aft_m: Vector, draft_fore_m: Vector) -> tuple[Loading, Flags]:
    """The ship at drafts [N], and flags [N] of drafts without a form, for which the design condition is used."""
    low, high = drafts_m(ship)
    formless = (np.minimum(draft_aft_m, draft_fore_m) < low) | (np.maximum(draft_aft_m, draft_fore_m) > high)
    drafts = (np.where(formless, ship.hull.draft_m, draft) for draft in (draft_aft_m, draft_fore_m))
    return Loading.of(ship, *drafts), formless


@functools.lru_cache(maxsize=16)
def drafts_m(ship: Ship) -> tuple[float, float]:
    """The shallowest and the deepest draft at which the ship's form is known and its deck is above the water."""
    hull, topsides = ship.hull, ship.topsides
    side = (topsides.lateral_area_m2 - topsides.deck_lateral_area_m2) / topsides.length_overall_m
    front = topsides.frontal_area_m2 / topsides.beam_m
    deepest = min(hull.depth_m, topsides.draft_m + 0.999 * min(side, front))
    lighter = np.linspace(hull.draft_m, SHALLOWEST * hull.draft_m, PROBES)
    deeper = np.linspace(hull.draft_m, max(deepest, hull.draft_m), PROBES)
    low, high = (list(itertools.takewhile(functools.partial(_floats, ship), drafts)) for drafts in (lighter, deeper))
    return float(min(low, default=np.inf)), float(max(high, default=-np.inf))


def _floats(ship: Ship, draft_m: float) -> bool:
    try:
        Loading.of(ship, [draft_m], [draft_m])
    except ArrayError:
        return False
    return True
