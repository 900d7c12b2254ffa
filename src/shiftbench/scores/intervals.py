"""Bootstrap intervals and paired comparisons, by record or by cluster.

Records of one station, day, scene or patient resemble each other; an interval that resamples single records treats them
as independent and is far too short. If the cluster is named, whole clusters are resampled.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, combinations, compress, islice
from numbers import Integral, Real
from statistics import NormalDist
from typing import Any, Literal

import numpy as np

from shiftbench import argument
from shiftbench.check import Flags, Vector
from shiftbench.errors import FewClustersWarning, SettingsError
from shiftbench.scores.resampling import DIFFERENCE, PLAIN, Resampler, Scale, Statistic, parts_of

Kind = Literal["auto", "studentised", "percentile", "bca", "normal"]
KINDS: tuple[Kind, ...] = ("auto", "studentised", "percentile", "bca", "normal")
FEW = 20
# With fewer units, the spread between them is poorly known, and so is every interval.
FEWEST = 10
# Beyond so many units the studentised and the percentile interval agree; the latter costs a third.
MANY = 2_000
# Beyond so many, scores are practically normal, and replicates of millions take minutes.
SO_MANY = 300_000
# Fewer replicates do not determine the tails of a studentised distribution: its ends would be single replicates.
ENOUGH = 200

# Up to so many units each is left out in turn for a standard error; beyond, weights are small and influences suffice.
LEFT_OUT = 500

# The half-width of an interval is bounded by that of Student's t with so many degrees of freedom: with a dozen unequal
# clusters, or if one outweighs the others, some replicates have hardly any spread, and values divided by it are
# extreme.
LEAST_FREEDOM = 3

LEAST_UNITS = 1e-9  # fewer make the weights of an interval infinite

TOGETHER = 1 << 16  # influences of which standard errors are computed at a time

ROUNDING = 1e-9
# The reason for a missing interval at the end of a score's range: rare events occur in none of its replicates.
NO_VARIATION = "too little variation"

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Settings:
    """Settings of intervals.

    replicates: B. level: nominal coverage. kind: "studentised" (symmetric bootstrap-t: each replicate is divided by
    its own standard error, with logarithms of positive scores and logits of shares; the best coverage for skewed
    errors and few clusters), "percentile", "bca"
    (bias-corrected and accelerated), "normal" (no replicates: standard errors from the influence of each unit, the
    infinitesimal jackknife), or "auto": studentised up to 2,000 units and from 200 replicates on, percentile up to
    300,000, normal beyond.
    Source: Efron & Tibshirani (1993), Chapters 12-14 and 21.
    """

    replicates: int = 1000
    level: float = 0.95
    kind: Kind = "auto"
    seed: int = 0
    cores: int = 1

    def __post_init__(self) -> None:
        problems = []
        for name, least, most in (("replicates", 1, 1_000_000), ("cores", 1, math.inf), ("seed", 0, math.inf)):
            value: Any = getattr(self, name)
            whole = isinstance(value, Integral) and not isinstance(value, bool)
            if not whole or not least <= value <= most:
                wanted = f"{least:,} to {most:,}" if most < math.inf else f"{least} or more"
                problems.append(f"{name}: expected {wanted}, found {value!r}.")
        if not isinstance(self.level, Real) or not 0.0 < self.level < 1.0:
            problems.append(f"level: expected a share between 0 and 1 such as 0.95, found {self.level!r}.")
        if not isinstance(self.kind, str) or self.kind not in KINDS:
            problems.append(f"kind of intervals: expected one of {', '.join(KINDS)}, found {self.kind!r}.")
        if problems:
            raise SettingsError(*problems)

    def chosen(self, units: int) -> Kind:
        """The kind that "auto" selects for a number of units."""
        if self.kind != "auto":
            return self.kind
        if units > SO_MANY:
            return "normal"
        return "studentised" if units <= MANY and self.replicates >= ENOUGH else "percentile"


@dataclass(frozen=True)
class Bootstrap:
    """Replicates of the same scores S of K systems on the same records.

    values: [K, S]. replicates: [B, K, S], B = 0 for normal intervals; NaN for scores without interval that no other
    score needs. errors: [K + P, S], the standard errors of the
    systems' scores and of their P = K(K-1)/2 pairwise differences in the order of `combinations`; replicate_errors:
    [B, K + P, S]; None if the kind needs none. acceleration: [K + P, S], for BCa only. scales: [S], on which scores
    are studentised, with the ranges that bound their intervals; differences have neither. effective: [S], the effective
    number of units behind each share of records; NaN for other scores. no_interval: [S], why a score has neither
    interval nor p-value ("too few clusters"); empty if it has both.
    """

    names: tuple[str, ...]
    values: Vector
    replicates: Vector
    level: float
    kind: str
    errors: Vector | None = None
    replicate_errors: Vector | None = None
    acceleration: Vector | None = None
    scales: tuple[Scale, ...] = ()
    effective: tuple[float, ...] = ()
    no_interval: tuple[str, ...] = ()

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of systems, in order."""
        return list(combinations(range(len(self.values)), 2))

    def intervals(self) -> tuple[Vector, Vector]:
        """Low and high ends, each [K, S]; NaN if there are none.

        Every interval contains its score and stays in the score's range. A share of records at or near 0 or 1, for
        which replicates are uninformative, gets Wilson's interval for its effective number of units.
        """
        return self._ends

    @cached_property
    def _ends(self) -> tuple[Vector, Vector]:
        ends = [self._interval(k, self.values[k], self.replicates[:, k]) for k in range(len(self.values))]
        low, high = (np.array(side) for side in zip(*ends, strict=True))
        return low, high

    def difference(self, pair: int) -> tuple[Vector, Vector, Vector, Vector]:
        """Difference a - b of a pair's scores, low and high ends, and two-sided p-value, each [S].

        The p-value is the share of replicates that lie further from the observed difference than it lies from zero,
        in standard errors if available; the observation counts as one of them (Davison & Hinkley 1997, 4.2.2).
        Studentised intervals are symmetric (Hall 1988): their coverage is closer to nominal than that of equal tails,
        and that of a difference excludes zero if p is at most 1 - level.
        """
        a, b = self.pairs[pair]
        row = len(self.values) + pair
        value, replicates = self.values[a] - self.values[b], self.replicates[:, a] - self.replicates[:, b]
        low, high = self._interval(row, value, replicates)
        return value, low, high, self._p_values(row, value, replicates)

    def _untold(self, s: int) -> bool:
        return bool(self.no_interval and self.no_interval[s])

    def reasons(self, system: int) -> list[str]:
        """Why each score [S] of a system has no interval; empty if it has one."""
        low = self._ends[0][system]
        given = self.no_interval or ("",) * len(self.names)
        at_end = [self._at_end(system, s, value) for s, value in enumerate(self.values[system])]
        return [
            why or (NO_VARIATION if end and math.isnan(one) else "")
            for why, end, one in zip(given, at_end, low, strict=True)
        ]

    def _scale(self, row: int, s: int) -> Scale:
        if row >= len(self.values):
            return DIFFERENCE
        return self.scales[s] if self.scales else PLAIN

    def _share(self, row: int, s: int) -> bool:
        return bool(self.effective) and row < len(self.values) and self.effective[s] > 0

    def _at_end(self, row: int, s: int, value: float) -> bool:
        scale = self._scale(row, s)
        # Zero is exact; an upper end is often reached only up to rounding.
        return value <= scale.least or value >= scale.most - ROUNDING

    def _interval(self, row: int, value: Vector, replicates: Vector) -> tuple[Vector, Vector]:
        ends = [self._kept(row, s, float(value[s]), replicates[:, s]) for s in range(len(self.names))]
        return np.array([low for low, _ in ends]), np.array([high for _, high in ends])

    def _kept(self, row: int, s: int, value: float, replicates: Vector) -> tuple[float, float]:
        """The interval within the range of its score, extended to contain it if the score is biased."""
        if self._untold(s) or not math.isfinite(value):
            return math.nan, math.nan
        low, high = self._one(row, s, value, replicates)
        if high - low <= ROUNDING and self._at_end(row, s, value):
            low, high = self._wilson(row, s, value) if self._share(row, s) else (math.nan, math.nan)
        if math.isnan(low):
            return math.nan, math.nan
        scale = self._scale(row, s)
        return min(max(low, scale.least), value), max(min(high, scale.most), value)

    def _one(self, row: int, s: int, value: float, replicates: Vector) -> tuple[float, float]:
        tail = 0.5 * (1.0 - self.level)
        if self.kind == "normal":
            assert self.errors is not None
            half = NormalDist().inv_cdf(1.0 - tail) * float(self.errors[row, s])
            return value - half, value + half
        finite = np.isfinite(replicates)
        if finite.sum() < 2:
            return math.nan, math.nan
        if self.kind == "studentised":
            if (ends := self._symmetric(row, s, value, replicates, self._scale(row, s))) is not None:
                return ends
            varies = float(np.ptp(replicates[finite])) > ROUNDING  # a constant uncertainty certainly detects nothing
            if self._share(row, s) and (varies or self._at_end(row, s, value)):
                return self._wilson(row, s, value)
            if (ends := self._symmetric(row, s, value, replicates, PLAIN)) is not None:
                return ends
        shares = [tail, 1.0 - tail]
        if self.kind == "bca":
            assert self.acceleration is not None
            shares = _bca_shares(value, replicates[finite], float(self.acceleration[row, s]), tail)
        low, high = _quantiles(replicates[finite], shares)
        return low, high

    def _wilson(self, row: int, s: int, share: float) -> tuple[float, float]:
        """Wilson's interval of a share of records; units follow from its standard error if there is any spread."""
        units = self.effective[s]
        if self.errors is not None and (variance := float(self.errors[row, s]) ** 2) > 0.0:
            units = share * (1.0 - share) / variance
        return wilson(share, units, self.level)

    def _symmetric(
        self, row: int, s: int, value: float, replicates: Vector, scale: Scale
    ) -> tuple[float, float] | None:
        """The studentised interval, symmetric on a scale; None if too many standard errors are zero or undefined."""
        assert self.errors is not None
        assert self.replicate_errors is not None
        with np.errstate(all="ignore"):
            middle, slope = float(scale.to(np.array(value))), float(scale.slope(np.array(value)))
            spread = self.replicate_errors[:, row, s] * scale.slope(replicates)
            t = _studentised(middle, scale.to(replicates), spread)
        error = slope * float(self.errors[row, s])
        if t is None or not (math.isfinite(middle) and 0.0 < error < math.inf):
            return None
        (reach,) = _quantiles(np.abs(t[np.isfinite(t)]), [self.level])
        if scale.limited:
            reach = min(reach, _most_reach(self.level))
        with np.errstate(over="ignore"):
            low, high = scale.back(np.array([middle - reach * error, middle + reach * error]))
        return float(low), float(high)

    def distances(self, pair: int, s: int) -> tuple[float, Vector]:
        """The distance of a pair's difference by score s from zero, and of each replicate [B] from it, or NaN.

        In standard errors: that of the observation and of each replicate, or else the deviation of all replicates.
        """
        a, b = self.pairs[pair]
        value, replicates = (
            float(self.values[a, s] - self.values[b, s]),
            self.replicates[:, a, s] - self.replicates[:, b, s],
        )
        observed, drawn, studentised = self._distances(len(self.values) + pair, s, value, replicates)
        if studentised or not np.isfinite(drawn).any():
            return observed, drawn
        spread = math.sqrt(float(np.nanmean(drawn**2)))
        if spread == 0.0:
            return math.inf if observed else 0.0, drawn
        return observed / spread, drawn / spread

    def _distances(self, row: int, s: int, value: float, replicates: Vector) -> tuple[float, Vector, bool]:
        """The same for one score, in standard errors only if available; and whether they are."""
        if self.kind == "studentised" and self.errors is not None and self.replicate_errors is not None:
            t = _studentised(value, replicates, self.replicate_errors[:, row, s])
            if t is not None and self.errors[row, s] > 0:
                return abs(value) / float(self.errors[row, s]), np.abs(t), True
        return abs(value), np.abs(replicates - value), False

    def _p_values(self, row: int, value: Vector, replicates: Vector) -> Vector:
        result = np.full(len(self.names), math.nan)
        for s in range(len(self.names)):
            if not math.isfinite(value[s]) or self._untold(s):
                continue
            if self.kind == "normal":
                assert self.errors is not None
                result[s] = _normal_p(float(value[s]), float(self.errors[row, s]))
                continue
            if value[s] == 0.0 and not np.any(replicates[:, s]):
                result[s] = 1.0  # equal scores in every replicate: equal systems
                continue
            observed, distances, _ = self._distances(row, s, float(value[s]), replicates[:, s])
            beyond = int(np.count_nonzero(distances >= observed))
            result[s] = (1 + beyond) / (1 + np.count_nonzero(np.isfinite(distances)))
        return result


def wilson(share: float, units: float, level: float) -> tuple[float, float]:
    """Wilson's score interval of a share of `units` independent units, which need not be a whole number.

    It has a positive width even at shares of 0 and 1. With clusters, their effective number replaces the units.

    Raises:
        SettingsError: a share outside [0, 1], units that are not above 0, a level that is not between 0 and 1.

    Source: Wilson (1927); Brown, Cai & DasGupta (2001), Section 3.1.1; Korn & Graubard (1998) on effective numbers.
    """
    argument.number("share", share, lambda found: 0 <= found <= 1, "a share from 0 to 1")
    argument.number("units", units, lambda found: LEAST_UNITS <= found < math.inf, "a number of units above 0")
    argument.number("level", level, lambda found: 0 < found < 1, "a share between 0 and 1")
    z = NormalDist().inv_cdf(0.5 + 0.5 * level)
    weight = z * z / units
    middle = (share + 0.5 * weight) / (1.0 + weight)
    half = math.sqrt(weight * (share * (1.0 - share) + 0.25 * weight)) / (1.0 + weight)
    return middle - half, middle + half


def _normal_p(value: float, error: float) -> float:
    """Two-sided p-value of a normal value against 0; NaN without a standard error."""
    if not error > 0.0:
        return 1.0 if error == 0.0 == value else math.nan
    return math.erfc(abs(value) / error / math.sqrt(2.0))


def _quantiles(replicates: Vector, shares: list[float]) -> list[float]:
    """Quantiles at ranks share * (B + 1): a further replicate is below the k-th of B with probability k / (B + 1)."""
    return [float(end) for end in np.quantile(replicates, shares, method="weibull")]


@cache
def _most_reach(level: float) -> float:
    """The quantile of the absolute value of Student's t with three degrees of freedom, by bisection."""
    low, high = 0.0, 1e6
    while high - low > 1e-9 * high:
        middle = 0.5 * (low + high)
        x = middle / math.sqrt(LEAST_FREEDOM)
        below = 2.0 / math.pi * (x / (1.0 + x * x) + math.atan(x)) < level
        low, high = (middle, high) if below else (low, middle)
    return high


def _studentised(value: float, replicates: Vector, errors: Vector) -> Vector | None:
    """(replicate - value) / its standard error [B], NaN without one; None if fewer than 9 in 10 replicates have one."""
    usable = np.isfinite(replicates) & np.isfinite(errors) & (errors > 0)
    if np.count_nonzero(usable) < 0.9 * len(replicates):
        return None
    return np.where(usable, (replicates - value) / np.where(usable, errors, 1.0), np.nan)


def _bca_shares(value: float, replicates: Vector, acceleration: float, tail: float) -> list[float]:
    """Efron (1987), Eq. 2.3: the percentiles adjusted for bias and acceleration."""
    normal = NormalDist()
    below = np.count_nonzero(replicates < value) + 0.5 * np.count_nonzero(replicates == value)
    share = float(np.clip(below / len(replicates), 0.5 / len(replicates), 1.0 - 0.5 / len(replicates)))
    bias = normal.inv_cdf(share)
    shares = []
    for z in (normal.inv_cdf(tail), normal.inv_cdf(1.0 - tail)):
        moved = bias + z
        shares.append(normal.cdf(bias + moved / max(1.0 - acceleration * moved, 1e-6)))
    return shares


def bootstrap(
    statistics: Sequence[Statistic],
    resampler: Resampler,
    settings: Settings,
    *,
    units: Sequence[int] | None = None,
    scales: Sequence[Scale] = (),
    effective: Sequence[float] = (),
    progress: Progress | None = None,
) -> Bootstrap:
    """Replicates of the scores of one or more systems (a statistic each, with equal names) on the same records.

    Every replicate draws the same records for all systems, so differences are paired. Replicate b depends only on the
    seed and on b: the result is the same for any number of cores.

    Args:
        statistics: one per system. resampler, settings: of the replicates.
        units: [S] the number of units behind each score, on the side of the shift that has fewer; by default those of
            the smallest stratum. A score with fewer than 10 gets neither interval nor p-value.
        scales: [S] on which scores are studentised, with their ranges; by default the identity without limits.
        effective: [S] the effective number of units of each share of records; NaN for other scores, and by default for
            all.
        progress: called with (replicates done, replicates in all).

    Warns:
        FewClustersWarning: with fewer than 20 units (clusters or records) in a stratum.
    """
    _warn_of_few(resampler)
    kind = settings.chosen(resampler.units)
    ones = np.ones(resampler.units)
    values = np.array([statistic.values(ones) for statistic in statistics])
    names = tuple(statistics[0].names)
    reason = f"too few {resampler.noun}"
    no_interval = tuple(reason if count < FEWEST else "" for count in units or [resampler.fewest] * len(names))
    about: dict[str, Any] = {"scales": tuple(scales), "effective": tuple(effective), "no_interval": no_interval}
    if all(no_interval) or kind == "normal":
        errors = None
        if not all(no_interval):
            with np.errstate(divide="ignore", invalid="ignore"):
                _, errors = _evaluate(statistics, resampler, ones, linear=True)
        return Bootstrap(names, values, np.empty((0, *values.shape)), settings.level, kind, errors, **about)

    kept, resampled = _resampled(statistics, np.array([not why for why in no_interval]))

    def replicate(b: int) -> tuple[Vector, Vector | None]:
        return _evaluate(kept, resampler, resampler.draw(settings.seed, b), linear=kind == "studentised")

    def whole(found: Any) -> Vector:
        """An array of the scores that are resampled as one of all S."""
        spread = np.full((*np.shape(found)[:-1], len(names)), math.nan)
        spread[..., resampled] = found
        return spread

    drawn: list[Any] = []
    with np.errstate(divide="ignore", invalid="ignore"), ThreadPoolExecutor(settings.cores) as pool:
        each: Callable[..., Iterable[Any]] = pool.map if settings.cores > 1 else map  # handing over takes time, too
        for result in each(replicate, range(settings.replicates)):
            drawn.append(result)
            if progress is not None:
                progress(len(drawn), settings.replicates)
        _, errors = _evaluate(kept, resampler, ones, linear=kind == "studentised")
        if errors is not None and resampler.units <= LEFT_OUT:
            own = compress(tuple(scales) or (PLAIN,) * len(names), resampled)
            exact = _jackknife_errors(kept, resampler, [*own], each)
            errors = np.where(np.isfinite(exact), exact, errors)
        acceleration = whole(_acceleration(kept, ones)) if kind == "bca" else None
    return Bootstrap(
        names=names,
        values=values,
        replicates=whole([scores for scores, _ in drawn]),
        level=settings.level,
        kind=kind,
        errors=None if errors is None else whole(errors),
        replicate_errors=whole([spread for _, spread in drawn]) if kind == "studentised" else None,
        acceleration=acceleration,
        **about,
    )


def _resampled(statistics: Sequence[Statistic], wanted: Flags) -> tuple[list[Statistic], Flags]:
    """The parts of the statistics that have any score [S] with an interval, and which scores these are [S]."""
    kept, scores = zip(*(parts_of(statistic, wanted) for statistic in statistics), strict=True)
    if any((scores[0] != other).any() for other in scores[1:]):  # equal names, but other parts
        return [*statistics], np.ones_like(wanted)
    return [*kept], scores[0]


def _warn_of_few(resampler: Resampler) -> None:
    if resampler.fewest >= FEW:
        return
    meaning = "intervals are too short and p-values too small; read them as lower bounds of the doubt"
    if resampler.fewest < FEWEST:
        meaning = (
            f"scores of fewer than {FEWEST} are shown without intervals and tests, the others' intervals are too short"
        )
    warnings.warn(
        FewClustersWarning(
            f"expected at least {FEW} {resampler.noun} to resample, found {resampler.fewest}: {meaning}"
        ),
        stacklevel=3,
    )


def _evaluate(
    statistics: Sequence[Statistic], resampler: Resampler, counts: Vector, *, linear: bool
) -> tuple[Vector, Vector | None]:
    """Scores [K, S] and, on request, standard errors [K + P, S] of systems and pairwise differences."""
    if not linear:
        return np.array([statistic.values(counts) for statistic in statistics]), None
    values, influences = zip(*(statistic.linearised(counts) for statistic in statistics), strict=True)
    rows = chain(influences, (a - b for a, b in combinations(influences, 2)))
    # So many at a time: all at once would need a multiple of the memory of millions of records.
    many = max(1, TOGETHER // max(1, influences[0].size))
    parts = iter(lambda: [*islice(rows, many)], [])
    errors = [resampler.standard_errors(np.array(part) if many > 1 else part[0][None], counts) for part in parts]
    return np.array(values), np.concatenate(errors)


def _jackknife_errors(
    statistics: Sequence[Statistic], resampler: Resampler, scales: Sequence[Scale], each: Callable[..., Iterable[Any]]
) -> Vector:
    """Standard errors [K + P, S] of systems and pairwise differences from leaving out each unit in turn.

    With few and unequal clusters they are larger than those of the infinitesimal jackknife, which assumes small
    weights, and closer to the truth (Efron & Tibshirani 1993, Chapter 11; by strata). Those of scores are computed on
    their scales. NaN if a score is undefined without some unit.
    """

    def without(unit: int) -> Vector:
        counts = np.ones(resampler.units)
        counts[unit] = 0.0
        return np.array([statistic.values(counts) for statistic in statistics])

    scores = np.moveaxis(np.array(list(each(without, range(resampler.units)))), 1, 0)
    values = np.array([statistic.values(np.ones(resampler.units)) for statistic in statistics])
    own = [
        [
            _error_on(scale, value, left_out, resampler)
            for scale, value, left_out in zip(scales, row, part.T, strict=True)
        ]
        for row, part in zip(values, scores, strict=True)
    ]
    pairs = [resampler.jackknife_errors(a - b) for a, b in combinations(scores, 2)]
    return np.array([*own, *pairs])


def _error_on(scale: Scale, value: float, left_out: Vector, resampler: Resampler) -> float:
    """The jackknife's standard error of a score, computed on a scale and converted to the score by its slope."""
    with np.errstate(all="ignore"):
        error = resampler.jackknife_errors(scale.to(left_out)[:, None])[0]
        return float(error / scale.slope(np.array(value)))


def _acceleration(statistics: Sequence[Statistic], ones: Vector) -> Vector:
    """Skewness of the influences / 6, [K + P, S] (Efron 1987, Eq. 4.4)."""
    influences = [statistic.linearised(ones)[1] for statistic in statistics]
    rows = np.array([*influences, *(a - b for a, b in combinations(influences, 2))])
    largest = np.abs(rows).max(axis=-1, keepdims=True)
    rows = np.divide(rows, largest, out=np.zeros_like(rows), where=largest > 0)  # cubes of any errors are finite
    square = (rows**2).sum(axis=-1)
    result: Vector = np.divide((rows**3).sum(axis=-1), 6.0 * square**1.5, out=np.zeros_like(square), where=square > 0)
    return result
