"""Random numbers and smooth random weather that do not depend on how rows are grouped into blocks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[Any]

DRAWS = 52  # uniform numbers kept for each row, so that row i begins at number 52·i of the stream
WAVES = 8


class RandomStreams:
    """Independent normal numbers for the rows `start` … `stop - 1`: one column [N] after the other."""

    def __init__(self, seed: int, start: int, stop: int) -> None:
        # A distant part of the seed's stream, which what is drawn once for a table never reaches.
        stream = np.random.PCG64(seed).jumped().advance(start * DRAWS)
        uniform = np.ascontiguousarray(np.random.Generator(stream).random((stop - start, DRAWS)).T)
        radius, angle = np.sqrt(-2 * np.log1p(-uniform[::2])), 2 * np.pi * uniform[1::2]
        self._columns = iter((*(radius * np.cos(angle)), *(radius * np.sin(angle))))

    def normal(self) -> Values:
        """The next of DRAWS columns."""
        return next(self._columns)


@dataclass(frozen=True)
class Field:
    """Weather that is correlated in space and time: travelling waves with mean 0 and variance 1.

    zonal, meridional: wave numbers, in radians of phase per radian of longitude and latitude. frequency: in radians per
    hour.
    """

    zonal: Values
    meridional: Values
    frequency: Values
    phase: Values

    def at(self, latitude: Values, longitude: Values, hours: Values) -> Values:
        """The field at places (degrees) and hours since the start, each [N]."""
        north, east = np.radians(latitude), np.radians(longitude)
        total = np.zeros(len(hours))
        for m, n, frequency, phase in zip(self.zonal, self.meridional, self.frequency, self.phase, strict=True):
            total += np.cos(m * east + n * north - frequency * hours + phase)
        return np.asarray(total * np.sqrt(2 / len(self.phase)))


def field(rng: np.random.Generator, *, days: Sequence[float]) -> Field:
    """A field whose waves pass in between `days[0]` and `days[1]` days."""
    period = 24 * (days[0] + (days[1] - days[0]) * rng.random(WAVES))
    return Field(
        zonal=2 + np.floor(7 * rng.random(WAVES)),  # whole numbers: no seam at 180°
        meridional=-8 + 16 * rng.random(WAVES),
        frequency=2 * np.pi / period,
        phase=2 * np.pi * rng.random(WAVES),
    )
