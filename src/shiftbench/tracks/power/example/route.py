"""The line the made-up ship serves, from the North Sea to Korea and back: ports, waypoints, courses and distances."""

from __future__ import annotations

import numpy as np

from shiftbench.tracks.power.example.random_streams import Values

NM_A_DEGREE = 60.0

# Legs eastward, each a series of (latitude, longitude) in degrees from port to port. The Suez Canal lies between two.
LEGS: tuple[tuple[tuple[float, float], ...], ...] = (
    ((54.0, 8.0), (53.6, 5.0), (52.0, 3.6)),  # Elbe - Maas
    ((52.0, 3.6), (51.0, 1.5), (48.8, -5.9), (43.3, -9.9), (36.8, -9.4), (36.1, -5.4)),  # - Algeciras
    ((36.1, -5.4), (37.5, 10.5), (34.0, 24.0), (31.6, 32.4)),  # - Port Said
    ((29.7, 32.5), (27.5, 34.1), (21.4, 38.4)),  # Suez - Jeddah
    ((21.4, 38.4), (12.6, 43.3), (12.2, 51.8), (5.8, 80.2), (6.9, 79.7)),  # - Colombo
    ((6.9, 79.7), (5.8, 80.6), (6.1, 95.0), (3.0, 100.6), (1.2, 103.8)),  # - Singapore
    ((1.2, 103.8), (1.4, 104.6), (9.0, 109.8), (22.1, 114.2)),  # - Hong Kong
    ((22.1, 114.2), (22.3, 115.5), (25.3, 120.0), (30.8, 122.8)),  # - Yangtze
    ((30.8, 122.8), (33.0, 126.0), (35.0, 129.0)),  # - Busan
)


def leg(number: int) -> tuple[Values, Values]:
    """Courses in rad from north and distances in nm between the waypoints of a leg; eastward first, then back.

    By middle-latitude sailing: a degree of longitude is as long as it is half way.
    """
    eastward = number // len(LEGS) % 2 == 0
    along = number % len(LEGS) if eastward else -1 - number % len(LEGS)
    points = np.radians(LEGS[along] if eastward else LEGS[along][::-1])
    north = np.diff(points[:, 0])
    east = np.diff(points[:, 1]) * np.cos(points[:-1, 0] + north / 2)
    return np.arctan2(east, north) % (2 * np.pi), np.degrees(np.hypot(north, east)) * NM_A_DEGREE
