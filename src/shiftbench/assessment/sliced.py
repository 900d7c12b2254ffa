"""Scores of intervals, sets and probabilities by slice, with intervals of their own from the influence of every record.

No replicates are drawn: these are many scores, and that of a share or a mean is close to normal.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from shiftbench.assessment.assessed import groups_of, in_canonical_order
from shiftbench.assessment.scored import Records, Scored
from shiftbench.check import Flags, Vector
from shiftbench.errors import FewClustersWarning
from shiftbench.metrics.classification import calibration_error
from shiftbench.scores import intervals
from shiftbench.scores.metric import METRICS, Metric
from shiftbench.scores.ranking import Index
from shiftbench.scores.resampling import GroupMeans, Resampler, Scale, scale_between
from shiftbench.scores.score import SliceScore


def slice_scores(records: Records, system: Scored, settings: intervals.Settings) -> list[SliceScore]:
    """Every sliced metric of a system by the groups of every slice column; nothing depends on the order of the rows."""
    if not records.slices:
        return []
    records, (system,) = in_canonical_order(records, [system])
    strata = None if records.shifted is None else records.shifted.astype(np.intp)
    resampler = Resampler(records.n, clusters=records.clusters, strata=strata)
    found: list[SliceScore] = []
    for column, groups, codes, member in groups_of(records):
        own = {**system.means, **system.by_group.get(column, {})}
        means = GroupMeans(groups, system.errors[member], codes, resampler.unit[member], resampler.units)
        for name in (name for name in own if METRICS[name].sliced):
            scale = scale_between(*system.range_of(METRICS[name]))
            scores = _scores(METRICS[name], scale, own[name][member], codes, means, resampler, settings)
            place = (system.system.name, records.split, column)
            found += [
                SliceScore(*place, group, name, value, n, low, high, why) for group, value, n, low, high, why in scores
            ]
        if system.confidence is not None:
            found += _calibration_errors(records, system, column, groups, codes, member)
    return found


def _calibration_errors(
    records: Records, system: Scored, column: str, groups: list[str], codes: Index, member: Flags
) -> Iterator[SliceScore]:
    """The calibration error of probabilities in each group: no mean over records, and so without an interval."""
    assert system.confidence is not None
    for code, group in enumerate(groups):
        here = np.flatnonzero(member)[codes == code]
        value = calibration_error(system.confidence[here], 1.0 - system.errors[here])
        yield SliceScore(system.system.name, records.split, column, group, "ece", value, len(here))


def _scores(
    metric: Metric,
    scale: Scale,
    values: Vector,
    codes: Index,
    means: GroupMeans,
    resampler: Resampler,
    settings: intervals.Settings,
) -> Iterator[tuple[str, float, int, float | None, float | None, str]]:
    """Group, value, number of records and interval; a group with an infinite value has no interval."""
    groups = means.names
    endless = np.bincount(codes, weights=np.isinf(values), minlength=len(groups)) > 0
    sizes = np.bincount(codes, minlength=len(groups))
    units = np.bincount(means.group, minlength=len(groups))
    squares = np.bincount(means.group, weights=means.sizes**2, minlength=len(groups))
    effective = (sizes**2 / squares).tolist() if metric.share else [math.nan] * len(groups)  # see `effective_units`
    statistic = means.of(np.where(np.isinf(values), 0.0, values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewClustersWarning)  # already issued, with the name of the split
        result = intervals.bootstrap(
            [statistic], resampler, replace(settings, kind="normal"), units=units.tolist(),
            scales=[scale] * len(groups), effective=effective,
        )  # fmt: skip
    lows, highs = (ends[0] for ends in result.intervals())
    for code, (group, reason) in enumerate(zip(groups, result.reasons(0), strict=True)):
        n, low, high = int(sizes[code]), float(lows[code]), float(highs[code])
        if endless[code]:
            yield group, math.inf, n, None, None, "infinite"
        elif math.isfinite(low):
            yield group, float(result.values[0, code]), n, low, high, ""
        else:
            yield group, float(result.values[0, code]), n, None, None, reason
