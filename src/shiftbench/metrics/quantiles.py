"""Metrics of quantile and interval forecasts, and of members that predict numbers without variances.

A quantile q at level p should lie above a share p of the targets; its loss is the pinball loss, a proper score. Central
intervals between two quantiles should hold the share of targets that lies between their levels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from shiftbench import argument, check
from shiftbench.check import Vector
from shiftbench.ensembles import Array, Means, Quantiles
from shiftbench.ensembles.quantiles import central_intervals
from shiftbench.metrics.levels import PINBALL, coverage_at, pinball_at, width_at
from shiftbench.metrics.regression import LEVELS
from shiftbench.scores.metric import Metric

MOST_MEMBERS = 2**31 - 1
NOMINAL = 0.9  # the least level of an interval of members that is worth a name
METRICS = (
    Metric(
        "pinball", "Pinball loss", "min", "target", "mean over levels p of max(p (y - q), (p - 1) (y - q))", PINBALL,
        compared=True, sliced=True,
    ),
)  # fmt: skip


def pinball_losses(targets: Any, ensemble: Quantiles) -> Array:
    """Pinball losses of each record at each level [N, L], in the target's unit: max(p (y - q), (p - 1) (y - q)).

    Raises:
        ArrayError: unequal numbers of records, NaN or infinity, differences too large to be added up.
    """
    check.kind("ensemble", ensemble, Quantiles)
    targets = check.vector("targets", targets, length=ensemble.records)
    levels = np.array(ensemble.levels)
    with np.errstate(over="ignore"):
        above = targets[:, None] - ensemble.merged()
        losses = np.maximum(levels * above, (levels - 1.0) * above)
    check.vector("pinball losses", losses.max(axis=1), nonnegative=True, advice="Choose a larger unit.")
    return np.asarray(losses)


def scores(targets: Any, ensemble: Quantiles) -> dict[str, Vector]:
    """Scores of each record [N] by the name of their metric: pinball losses, coverage and width of all intervals."""
    losses = pinball_losses(targets, ensemble)
    found = {"pinball": losses.mean(axis=1)}
    found |= {pinball_at(level).name: losses[:, place] for place, level in enumerate(ensemble.levels)}
    return found | interval_scores(targets, ensemble.merged(), ensemble.levels)


def interval_scores(targets: Vector, values: Array, levels: tuple[float, ...]) -> dict[str, Vector]:
    """Whether targets [N] lie in each central interval of quantiles [N, L] (1 or 0), and the intervals' widths."""
    found = {}
    for level, low, high in central_intervals(levels):
        inside = (values[:, low] <= targets) & (targets <= values[:, high])
        found[coverage_at(level).name] = inside.astype(np.float64)
        found[width_at(level).name] = values[:, high] - values[:, low]
    return found


# --- members without variances ----------------------------------------------------------------------------------------


def member_scores(targets: Any, ensemble: Means) -> dict[str, Vector]:
    """CRPS of the members as a sample and, where they are enough, coverage and widths of intervals between them."""
    check.kind("ensemble", ensemble, Means)
    targets = check.vector("targets", targets, length=ensemble.records)
    found = {"crps": crps_of_members(targets, ensemble)}
    if levels := member_levels(ensemble.members):
        found |= interval_scores(targets, member_quantiles(ensemble, levels), levels)
    return found


def crps_of_members(targets: Any, ensemble: Means) -> Vector:
    """The continuous ranked probability score of the members' values as a sample [N], in the target's unit.

    E|X - y| - E|X - X'| / 2 with X and X' drawn from the M members, each with itself included; of one member it is
    the absolute error.

    Source: Gneiting & Raftery 2007, Equation 21.
    """
    check.kind("ensemble", ensemble, Means)
    targets = check.vector("targets", targets, length=ensemble.records)
    members, found = ensemble.members, np.empty(ensemble.records)
    weights = (2.0 * np.arange(1, members + 1) - members - 1.0) / members**2  # of sorted values: E|X - X'| / 2
    for rows, block in ensemble.blocks():
        mean, target, scale = check.shrunk(block.mean, targets[rows])
        distance = np.abs(mean - target).mean(axis=0)
        # Differences to the lowest keep the digits of large values.
        ordered = np.sort(mean, axis=0)
        with np.errstate(over="ignore"):
            found[rows] = (distance - weights @ (ordered - ordered[:1])) / scale
    return found


def member_levels(members: int) -> tuple[float, ...]:
    """The levels of quantiles that M members can estimate; none if they are too few for the 90 % interval.

    If the truth is like a further member, it lies between the lowest and the highest with probability
    (M - 1) / (M + 1): 19 members are needed for 90 %, 39 for 95 %.
    """
    members = argument.whole("members", members, 1, MOST_MEMBERS)
    supported = [level for level in LEVELS if (members + 1) * (1.0 - level) / 2.0 >= 1.0 - 1e-9]
    if NOMINAL not in supported:
        return ()
    return tuple(sorted(round(0.5 + side * level / 2.0, 9) for level in supported for side in (-1, 1)))


def member_quantiles(ensemble: Means, levels: Any) -> Array:
    """Quantiles of the members' values [N, L]: the k-th lowest of M is that at k / (M + 1), with lines between.

    Raises:
        ArrayError: another kind of ensemble, levels [L] that are not strictly between 0 and 1.
    """
    check.kind("ensemble", ensemble, Means)
    levels = check.levels(levels)
    found = np.empty((ensemble.records, len(levels)))
    for rows, block in ensemble.blocks():
        found[rows] = np.quantile(block.mean, levels, axis=0, method="weibull").T
    return found
