"""What example data say of their ship: her name, and a hash of her values where these are not the package's own."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict

from shiftbench.tracks.power.physics import ship as ships
from shiftbench.tracks.power.physics.ship import Ship

HASH_DIGITS = 12
PLAIN = re.compile(r"[\w.-]+")  # a name that needs no quotes


def identity(vessel: Ship) -> str:
    """The ship as recipes tell her: `ship=tanker`, or `ship="MS Other" values=…` if the package has no such ship.

    A name of other signs than letters, digits, underscores, points and dashes is quoted as in JSON, so that it cannot
    be taken for what stands beside it.
    """
    name = vessel.name if PLAIN.fullmatch(vessel.name) else json.dumps(vessel.name, ensure_ascii=False)
    own = any(vessel == ships.ship(known) for known in ships.SHIPS)
    return f"ship={name}" if own else f"ship={name} values={values_hash(vessel)}"


def values_hash(vessel: Ship) -> str:
    """The first digits of the SHA-256 of all values of a ship in JSON of sorted keys; 20 and 20.0 are one value."""
    values = json.loads(json.dumps(asdict(vessel)), parse_int=float)
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()[:HASH_DIGITS]
