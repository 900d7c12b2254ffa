"""Sixty-four months of voyages between the North Sea and Korea: times at sea, drafts, speeds and courses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftbench.pipeline.example import normal
from shiftbench.tracks.power.example import random_streams
from shiftbench.tracks.power.example.random_streams import Mixture, Values
from shiftbench.tracks.power.schema import MONTH_MINUTES

DAY = 1_440.0  # minutes
MONTHS = 64.0
PERIOD = round(MONTHS * MONTH_MINUTES)

MOST_LEGS = 900  # more than fit into 64 months
NM_AN_ORDER = 170.0  # the typical distance of a speed order
LEGS_A_BATCH, ORDERS_A_BATCH = 18, 240

# Long stays in port at first, as in a poor market; shorter ones later.
POOR_MONTHS, POOR_SHARE, SHARE = 14.5, 0.50, 0.82  # share of days at sea
SHORTEST_STAY = 150.0  # minutes

ORDERS_KN = Mixture(9.5, 22.6, ((0.685, 18.95, 0.75), (0.215, 14.8, 1.6), (0.055, 12.3, 1.5), (0.045, 20.8, 1.0)))
PILOTAGE_KN = (5.4, 9.5)
PILOTAGE_MIN = (8.0, 36.0)
RAMP_KN_3MIN = (0.07, 1.8)  # the range of speed changes, mostly gentle

MEAN_DRAFT_M = Mixture(6.9, 14.9, ((0.59, 13.2, 0.75), (0.355, 10.9, 1.0), (0.055, 8.6, 0.9)))
TRIM_M, TRIM_A_METRE, TRIM_SPREAD_M, EVEN_DRAFT_M = 0.27, 0.15, 0.25, 12.1
REPORTED_M = 0.05  # resolution in m at which crews read drafts
BURNT_M_A_DAY = (0.01, 0.05)


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


@dataclass(frozen=True)
class Voyages:
    """All voyages; L legs, each with one record a minute from `start` on. Times in minutes since the first record.

    start, minutes, first: of legs [L]; `first` is the number of a leg's first record. aft, fore: drafts in m on
    departure, and aft_burnt, fore_burnt: the decrease in m per day, [L]. log_minute, log_kn: the ordered speed, linear
    in between. course_minute, course_rad: courses from these times on.
    """

    start: Values
    minutes: Values
    first: Values
    aft: Values
    fore: Values
    aft_burnt: Values
    fore_burnt: Values
    log_minute: Values
    log_kn: Values
    course_minute: Values
    course_rad: Values

    @property
    def records(self) -> int:
        """Minutes at sea."""
        return int(self.first[-1] + self.minutes[-1])

    def leg(self, record: Values) -> Values:
        """The leg of each of the records [N]."""
        return np.asarray(np.searchsorted(self.first, record, side="right") - 1)

    def minute(self, record: Values) -> Values:
        """The times of records [N], whole minutes."""
        leg = self.leg(record)
        return np.asarray(self.start[leg] + (record - self.first[leg]))

    def drafts(self, record: Values) -> tuple[Values, Values]:
        """Drafts aft and fore in m of records [N]: as last reported by the crew, once a day."""
        leg = self.leg(record)
        days = (record - self.first[leg]) // DAY
        aft, fore = self.aft[leg] - self.aft_burnt[leg] * days, self.fore[leg] - self.fore_burnt[leg] * days
        return np.round(aft / REPORTED_M) * REPORTED_M, np.round(fore / REPORTED_M) * REPORTED_M

    def ordered_kn(self, minute: Values) -> Values:
        """The ordered speed through the water in kn."""
        return np.asarray(np.interp(minute, self.log_minute, self.log_kn))

    def course(self, minute: Values) -> Values:
        """The course in rad from north."""
        return np.asarray(self.course_rad[np.searchsorted(self.course_minute, minute, side="right") - 1])


def passage(number: int) -> tuple[Values, Values]:
    """Courses in rad from north and distances in nm between the waypoints of a leg; eastward first, then back.

    By middle-latitude sailing: a degree of longitude has its length at the middle latitude.
    """
    eastward = number // len(LEGS) % 2 == 0
    along = number % len(LEGS) if eastward else -1 - number % len(LEGS)
    points = np.radians(LEGS[along] if eastward else LEGS[along][::-1])
    north = np.diff(points[:, 0])
    east = np.diff(points[:, 1]) * np.cos(points[:-1, 0] + north / 2)
    return np.arctan2(east, north) % (2 * np.pi), np.degrees(np.hypot(north, east)) * NM_A_DEGREE


def voyages(seed: int) -> Voyages:
    """The voyages of a seed, up to the last leg that ends within 64 months."""
    rng = random_streams.stream(seed, random_streams.VOYAGES)
    passages = [passage(number) for number in range(MOST_LEGS)]
    logs = _logs(rng, np.array([miles.sum() for _, miles in passages]))
    start = _departures(rng, np.array([minute[-1] for minute, _ in logs]))
    logs = logs[: len(start)]
    # The first three minutes of a log are not records, since records hold the change of speed over three minutes.
    minutes = np.array([int(minute[-1]) - 3 for minute, _ in logs])
    turns = [_turns(miles, minute[-1]) for (_, miles), (minute, _) in zip(passages, logs, strict=False)]
    return Voyages(
        start + 3,
        minutes,
        np.cumsum(minutes) - minutes,
        *_drafts(rng, minutes),
        log_minute=np.concatenate([begin + minute for begin, (minute, _) in zip(start, logs, strict=True)]),
        log_kn=np.concatenate([speed for _, speed in logs]),
        course_minute=np.concatenate([begin + turn for begin, turn in zip(start, turns, strict=True)]),
        course_rad=np.concatenate([courses for courses, _ in passages[: len(start)]]),
    )


def _turns(miles: Values, minutes: float) -> Values:
    """Start times of the courses of a leg at constant speed."""
    return np.asarray((np.cumsum(miles) - miles) / miles.sum() * minutes)


def _logs(rng: np.random.Generator, miles: Values) -> list[tuple[Values, Values]]:
    """The ordered speed of each leg as corners (minutes since departure, kn) of a polygon."""
    orders = np.maximum(2, np.round(miles / NM_AN_ORDER)).astype(int)
    leg = np.repeat(np.arange(len(miles)), orders)
    part = 0.4 + rng.random(len(leg))
    part *= (miles / np.bincount(leg, part))[leg]
    kn = _orders(0.6 * normal(rng, len(miles))[leg] + 0.8 * normal(rng, len(leg)), part)
    ends = np.cumsum(orders)
    return [
        _polygon(rng, kn[end - count : end], 60 * part[end - count : end] / kn[end - count : end])
        for end, count in zip(ends, orders, strict=True)
    ]


def _orders(latent: Values, miles: Values) -> Values:
    """Speed orders in kn [S], each for a distance; their shares of time follow ORDERS_KN.

    Slow orders take longer, so their share of time follows from their speed: a fixed point, reached in a few rounds.
    """
    kn = np.full(len(latent), 17.0)
    for _ in range(6):
        kn = ORDERS_KN.quantile(random_streams.frequencies(latent, miles / kn, ORDERS_A_BATCH))
    return kn


def _polygon(rng: np.random.Generator, kn: Values, minutes: Values) -> tuple[Values, Values]:
    """One leg: pilotage, the orders with ramps in between, pilotage."""
    low, high = PILOTAGE_KN
    pilot_kn = low + (high - low) * rng.random(4)
    pilot_min = PILOTAGE_MIN[0] + (PILOTAGE_MIN[1] - PILOTAGE_MIN[0]) * rng.random(2)
    speeds = np.concatenate([pilot_kn[1:2], kn, pilot_kn[2:3]])
    change = np.abs(np.diff(speeds))
    slow, fast = RAMP_KN_3MIN
    ramp = 3 * change / (slow * (fast / slow) ** (rng.random(len(change)) ** 3))
    room = np.minimum(np.append(minutes, np.inf), np.append(np.inf, minutes))
    ramp = np.maximum(np.minimum(ramp, room / 2), 1.0)
    centre = pilot_min[0] + ramp[0] / 2 + np.concatenate([[0.0], np.cumsum(minutes)])
    at = np.column_stack([centre - ramp / 2, centre + ramp / 2]).ravel()
    corner_kn = np.repeat(speeds, 2)[1:-1]
    end = np.ceil(at[-1] + pilot_min[1])
    return np.concatenate([[0.0], at, [end]]), np.concatenate([pilot_kn[:1], corner_kn, pilot_kn[3:]])


def _departures(rng: np.random.Generator, minutes: Values) -> Values:
    """Departures, in whole minutes, of legs of these lengths; those that end within the period."""
    wait = 0.4 + 1.2 * rng.random(len(minutes))  # 1 on average
    start, found = -3.0, []
    for passage, factor in zip(minutes, wait, strict=True):
        if start + passage > PERIOD:
            break
        found.append(start)
        share = POOR_SHARE if start < POOR_MONTHS * MONTH_MINUTES else SHARE
        stay = np.mean(minutes) * (1 / share - 1) * factor
        start += float(np.ceil(passage + max(SHORTEST_STAY, stay)))
    return np.array(found)


def _drafts(rng: np.random.Generator, minutes: Values) -> tuple[Values, Values, Values, Values]:
    """Drafts aft and fore on departure in m and their decrease per day, [L] each; a lighter ship is trimmed more."""
    legs = len(minutes)
    latent = random_streams.remembered(np.full((legs, 1), 0.5), normal(rng, legs, 1))[:, 0]
    mean = MEAN_DRAFT_M.quantile(random_streams.frequencies(latent, minutes.astype(float), LEGS_A_BATCH))
    trim = TRIM_M + TRIM_A_METRE * (EVEN_DRAFT_M - mean) + TRIM_SPREAD_M * normal(rng, legs)
    burnt = BURNT_M_A_DAY[0] + (BURNT_M_A_DAY[1] - BURNT_M_A_DAY[0]) * rng.random((2, legs))
    half = burnt.mean(axis=0) * minutes / DAY / 2  # so that `mean` is the draft half way
    return mean + trim / 2 + half, mean - trim / 2 + half, burnt[0], burnt[1]
