"""Robust imitative planning: which of the plans that K members made are best under all of them, and how sure that is.

Every plan is scored under every member once, as scores [K, N, G] (or [K, G] for one request): log-likelihoods of G
plans under K members. From them every number of members and every aggregation follows without another prediction.

Source: Filos et al. 2020; Malinin et al. 2021, Shifts 1.0, Appendix E.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shiftbench import argument, check
from shiftbench.check import Vector
from shiftbench.errors import ArrayError, SettingsError, every
from shiftbench.metrics.modes import Index
from shiftbench.metrics.motion import softmax_weights

MOST_PLANS = 5  # D of the paper


class Plans(NamedTuple):
    """The D best plans of each request, best first; without the axis N where the scores had none.

    chosen: [N, D], their places among the G plans that were scored. scores: [N, D], their aggregates, descending.
    weights: [N, D], the softmax of these. uncertainty: [N], minus the aggregate of these: higher is less certain.
    """

    chosen: Index
    scores: Vector
    weights: Vector
    uncertainty: Vector


MOST_AXES = 32


@dataclass(frozen=True)
class Settings:
    """How scores become plans.

    members: how many of the K members take part, the first ones; None for all. plans_per_member: Q, if plan g was made
    by member g // Q: then only plans of members that take part are candidates; None if all are. aggregation: over the
    members, of each plan. request_aggregation: over the D plans, of each request; None for the same. most: D.
    """

    members: int | None = None
    plans_per_member: int | None = None
    aggregation: str = "MA"
    request_aggregation: str | None = None
    most: int = MOST_PLANS

    def __post_init__(self) -> None:
        for name in (self.aggregation, self.request_aggregation):
            if name is not None:
                _known(name)
        given = {name: getattr(self, name) for name in ("members", "plans_per_member", "most")}
        readers = {name: partial(argument.whole, name, value, 1, wanted="at least 1") for name, value in given.items()}
        optional = ("members", "plans_per_member")
        every(
            {name: read for name, read in readers.items() if name not in optional or given[name] is not None},
            SettingsError,
        )


# Model average, lower and upper quantile (mean -/+ one standard deviation), worst and best case model.
AGGREGATIONS: Mapping[str, Callable[[Vector, int, int], Vector]] = {
    "MA": lambda scores, axis, ddof: np.asarray(scores.mean(axis)),
    "LQ": lambda scores, axis, ddof: np.asarray(scores.mean(axis) - scores.std(axis, ddof=ddof)),
    "UQ": lambda scores, axis, ddof: np.asarray(scores.mean(axis) + scores.std(axis, ddof=ddof)),
    "WCM": lambda scores, axis, ddof: np.asarray(scores.min(axis)),
    "BCM": lambda scores, axis, ddof: np.asarray(scores.max(axis)),
}


def aggregate(scores: Any, aggregation: str, *, axis: int = 0, ddof: int = 0) -> Vector:
    """Scores over one axis into one: [K, N, G] over the members K, the first axis, into [N, G].

    Args:
        scores: [K, N, G] or [K, G]; other arrays with another `axis`.
        aggregation: MA (mean), LQ (mean - std), UQ (mean + std), WCM (min) or BCM (max).
        axis: the axis that goes.
        ddof: 0 as the printed results have it; 1 as the published planning agent has it, undefined for one member.

    Raises:
        ArrayError: not numbers, NaN, infinity, or nothing on an axis.
        SettingsError: ddof 1 with one member and LQ or UQ.
        UnknownNameError: an unknown aggregation.
    """
    function = _known(aggregation)
    argument.whole("axis", axis, -MOST_AXES, MOST_AXES)
    argument.whole("ddof", ddof, 0, 1)
    array = _scores(scores, f"with an axis {axis}", least=max(axis + 1, -axis))
    if aggregation in ("LQ", "UQ") and array.shape[axis] <= ddof:
        raise SettingsError(f"ddof: expected less than the {array.shape[axis]} members, found {ddof}. Use ddof=0.")
    return function(array, axis, ddof)


def plan(scores: Any, settings: Settings | None = None) -> Plans:
    """The best plans of each request by scores [K, N, G] or [K, G]; of equal plans the first comes first.

    Raises:
        ArrayError: as `aggregate`; also other numbers of axes.
        SettingsError: more members or plans than there are.
    """
    check.kind("settings", settings, (Settings, type(None)))
    settings = settings or Settings()
    array = _scores(scores, "[K, N, G] or [K, G]", least=2)
    if array.ndim > 3:
        raise ArrayError(f"scores: expected [K, N, G] or [K, G], found shape {array.shape}.")
    candidates = _candidates(array, settings)
    per_plan = AGGREGATIONS[settings.aggregation](candidates, 0, 0)
    chosen = np.argsort(-per_plan, axis=-1, kind="stable")[..., : settings.most]
    best = np.take_along_axis(per_plan, chosen, axis=-1)
    per_request = AGGREGATIONS[settings.request_aggregation or settings.aggregation](best, -1, 0)
    return Plans(chosen, best, softmax_weights(best), np.negative(per_request))


def all_plans(
    scores: Any,
    *,
    members: Sequence[int] = (1, 3, 5),
    plans_per_member: int | None = None,
    most: int = MOST_PLANS,
) -> dict[tuple[int, str], Plans]:
    """Plans for every number of members and every aggregation, the same over members and plans, from one array.

    Raises:
        ArrayError, SettingsError: as `plan`.
    """
    array = _scores(scores, "[K, N, G] or [K, G]", least=2)
    counts = [argument.whole("members", count, 1) for count in argument.several("members", members, object)]
    return {
        (count, name): plan(array, Settings(count, plans_per_member, name, most=most))
        for count in counts
        for name in AGGREGATIONS
    }


def chosen_trajectories(trajectories: Any, plans: Plans) -> npt.NDArray[Any]:
    """The trajectories [N, D, T, 2] of the chosen plans among all [N, G, T, 2]; without N where plans have none.

    Raises:
        ArrayError: another number of axes or requests, or fewer plans than were scored.
    """
    array = np.asarray(trajectories)
    axes = plans.chosen.ndim
    if array.ndim != axes + 2 or array.shape[: axes - 1] != plans.chosen.shape[:-1]:
        wanted = ", ".join([*map(str, plans.chosen.shape[:-1]), "G", "T", "2"])
        raise ArrayError(f"trajectories: expected shape [{wanted}], found {array.shape}.")
    if array.shape[axes - 1] <= plans.chosen.max():
        raise ArrayError(
            f"trajectories: expected all plans that were scored, more than {plans.chosen.max()}, "
            f"found {array.shape[axes - 1]}."
        )
    return np.take_along_axis(array, plans.chosen[..., None, None], axis=axes - 1)


def _candidates(scores: Vector, settings: Settings) -> Vector:
    """The scores of the plans that may be chosen, under the members that take part."""
    members, plans = scores.shape[0], scores.shape[-1]
    taking_part = settings.members or members
    each = settings.plans_per_member
    candidates = plans if each is None else taking_part * each
    problems = []
    if taking_part > members:
        problems.append(f"members: expected at most the {members} that scored the plans, found {taking_part}.")
    if candidates > plans:
        problems.append(f"plans_per_member: expected {candidates} plans of {taking_part} members, found {plans}.")
    if settings.most > candidates:
        problems.append(f"most: expected at most the {candidates} plans there are, found {settings.most}.")
    if problems:
        raise SettingsError(*problems)
    return scores[:taking_part, ..., :candidates]


def _known(aggregation: str) -> Callable[[Vector, int, int], Vector]:
    return AGGREGATIONS[argument.choice("aggregation", aggregation, AGGREGATIONS)]


def _scores(scores: Any, axes: str, *, least: int) -> npt.NDArray[np.float64]:
    try:
        array = check.as_array("scores", scores)
        if array.dtype.kind == "c":
            raise TypeError("complex numbers")
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArrayError(f"scores: expected numbers {axes}, found: {error}.") from None
    if array.ndim < least or not array.size:
        raise ArrayError(f"scores: expected numbers {axes}, found shape {array.shape}.")
    problems = check.value_problems("scores", array)
    if not problems and (largest := max(array.max(), -array.min())) > check.LARGEST:
        problems = [
            f"scores: expected numbers up to {check.LARGEST:g}, whose squares can be added up, found {largest:g}."
        ]
    if problems:
        raise ArrayError(*problems)
    return array
