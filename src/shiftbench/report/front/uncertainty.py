"""Whether the uncertainty knows, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shiftbench.measures import MEASURES
from shiftbench.report.case import Case, holds, in_sentence, interval, listed, named
from shiftbench.report.front.calibration import on_side
from shiftbench.report.front.finding import Finding
from shiftbench.report.front.shift import of_system
from shiftbench.report.view import clean, finite, measure_title, too_few
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import Score, System

CLOSELY, PARTLY = 0.8, 0.2  # shares of the rejection ratio
UNDECIDED = 0.1  # an interval of a rejection ratio with 0 that reaches further shows nothing of the ranking
ALIKE = 0.05  # from chance: an interval of a ROC-AUC that stays within it shows that records cannot be told apart
MORE = 0.1  # of a perfect ranking: that much more over all records than on either side comes from between the two
WEAK = 0.65  # ROC-AUC
PERFECT = " % of what a perfect ranking would do"
RANDOM = "0 % being a random order"
ROUNDING = 1e-9  # of a rejection ratio


def ranking(case: Case, system: System) -> Iterator[Finding]:
    """How well the uncertainty ranks errors, and whether it finds the shift."""
    ratio, area = (case.score(system.name, "full", name) for name in ("rejection_ratio", "roc_auc"))
    whose = f"The uncertainty{of_system(case, system)}{measure_phrase(system)}"
    if ratio is not None and _ranks_nothing(ratio, area):
        text = f"{whose} is the same for every record, so whether it knows where it is wrong cannot be told."
        yield Finding(text, "joint")
        return
    worse = _wrong_side(case, system) if ratio is not None and ratio.value > 0 and not holds(ratio, 0.0) else ""
    if ratio is not None and worse:
        yield Finding(_one_side_wrong(case, whose, worse, ratio, area), "joint")
        return
    parts = [] if ratio is None else [_ranks(case, ratio, knows_little=bool(too_few(case.report, case.split)))]
    if area is not None:
        parts.append(_detection(case, area))
    if parts:
        yield Finding(f"{whose} {', and '.join(parts)}.{_negate(ratio, system)}", "joint")
    elif not system.measure and case.score(system.name, "full") is not None:
        text = f"{named(system.name)} gives no uncertainty, so whether it knows where it is wrong cannot be told."
        yield Finding(text, "systems")


def _ranks_nothing(ratio: Score, area: Score | None) -> bool:
    """Whether scores are those of an uncertainty that is the same for all records, in all replicates, too."""
    ends = [end for end in (ratio.value, ratio.low, ratio.high) if finite(end)]
    return max(map(abs, ends)) < ROUNDING and len(ends) == 3 and (area is None or area.value == 0.5)


def measure_phrase(system: System) -> str:
    """Which uncertainty a system has, in brackets; "" where its name says no more than that it is one."""
    measure = system.measure
    if measure in ("", "uncertainty"):
        return ""
    title = measure_title(measure)
    phrase = title if title == clean(measure) else in_sentence(title)
    # What the papers' name stands for:
    of = "mean " if system.role == "ensemble" else ""  # of one model there is nothing to take a mean of
    phrase = phrase.replace("entropy of expected", f"entropy of the {of}probabilities")
    inside = re.sub(r" \((.*)\)", r", \1", phrase)
    return f" ({inside})"


def _ranks(case: Case, ratio: Score, *, knows_little: bool) -> str:
    """How well the uncertainty ranks errors; of too few records only the number."""
    if knows_little:
        return (
            f"has a rejection ratio of {case.digits('rejection_ratio').text(ratio.value)} % ({RANDOM}, 100 % the best)"
        )
    share = _share(case, ratio)
    if holds(ratio, 0.0) and max(abs(end) for end in (ratio.low, ratio.high) if finite(end)) > UNDECIDED:
        return f"may or may not rank errors better than chance: it does {share}"
    if holds(ratio, 0.0) or ratio.value == 0.0:
        return f"ranks errors no better than chance: it does {share}"
    if ratio.value < 0:
        return f"points the wrong way: its rejection ratio is {share.replace(PERFECT, ' %', 1)}"
    how = " closely" if ratio.value >= CLOSELY else " in part" if ratio.value >= PARTLY else ""
    return f"{'' if how else 'hardly '}follows the errors{how}: it does {share}"


def _negate(ratio: Score | None, system: System) -> str:
    """The question whether a given uncertainty that points the wrong way is a confidence; "" of measures of our own."""
    wrong = ratio is not None and ratio.value < 0 and not holds(ratio, 0.0) and system.measure not in MEASURES
    return " Was it a confidence?" if wrong else ""


def _wrong_side(case: Case, system: System) -> str:
    """The side of the shift on which the uncertainty is found to rank errors worse than a random order; "" if none."""
    for side in ("shifted", "in"):
        ratio = case.score(system.name, side, "rejection_ratio")
        if ratio is not None and finite(ratio.high) and ratio.high < 0:
            return side
    return ""


def _one_side_wrong(case: Case, whose: str, side: str, whole: Score, area: Score | None) -> str:
    """That the ranking is wrong on one side of the shift, and what is behind the one over all records."""
    digits, other = case.digits("rejection_ratio"), "in" if side == "shifted" else "shifted"
    here, there = (case.score(whole.system, each, whole.metric) for each in (side, other))
    assert here is not None
    low, high = here.low, here.high
    ends = f" ({interval(case.report, low, high, digits)})" if finite(low) and finite(high) else ""
    worse = f"ranks errors worse than a random order{on_side(side)}: it does {digits.text(here.value)}{PERFECT} there"
    beside = f"{digits.text(there.value)} %{on_side(other)} and " if there is not None else ""
    beside += f"{digits.text(whole.value)} % over all records"
    if area is None:
        return f"{whose} {worse}, {RANDOM}{ends}, but {beside}."
    if _mostly_between(case, whole) and area.value > 0.5 and not holds(area, 0.5):
        found = f"ROC-AUC {case.digits('roc_auc').text(area.value)} %; chance: 50 %"
        reason = f"the latter mostly by telling shifted from in-domain records ({found})"
        return f"{whose} {worse}, {RANDOM}{ends}, but {beside}, {reason}."
    return f"{whose} {worse}, {RANDOM}{ends}, but {beside}, and {_detection(case, area)}."


def _mostly_between(case: Case, ratio: Score) -> bool:
    """Whether most of a ranking is that of shifted against in-domain records."""
    mine = [part for part in case.report.parts if (part.system, part.split) == (ratio.system, ratio.split)]
    gains = {part.name: part.value for part in mine if part.name.startswith("ranking_")}
    return 2 * gains.get("ranking_between", 0.0) < sum(gains.values()) < 0


def _share(case: Case, ratio: Score) -> str:
    """The rejection ratio in words, with its interval and that of both sides."""
    digits, ends = case.digits("rejection_ratio"), ""
    if finite(ratio.low) and finite(ratio.high):
        ends = interval(case.report, ratio.low, ratio.high, digits)
    found = {side: case.score(ratio.system, side, ratio.metric) for side in ("in", "shifted")}
    sides = {side: score.value for side, score in found.items() if score is not None}
    both = listed([f"{digits.text(value)} %{on_side(side)}" for side, value in sides.items()]) if sides else ""
    if len(sides) == 2 and ratio.value - max(sides.values()) > MORE:
        mostly = "mostly" if max(sides.values()) <= ratio.value / 2 else "partly"
        both += f", so {mostly} by telling shifted from in-domain records"
    numbers = "; ".join(filter(None, (ends, both)))
    return f"{digits.text(ratio.value)}{PERFECT}, {RANDOM}{numbers and f' ({numbers})'}"


def _detection(case: Case, area: Score) -> str:
    """How well the uncertainty finds shifted records: no more than its interval supports."""
    digits = case.digits("roc_auc")
    share, ends = digits.text(area.value), [end for end in (area.low, area.high) if finite(end)]
    if holds(area, 0.5) and max(abs(end - 0.5) for end in ends) > ALIKE:
        reach = interval(case.report, ends[0], ends[1], digits)
        return f"may or may not find shifted records (ROC-AUC {share} %, {reach}; chance: 50 %)"
    near = not ends and abs(area.value - 0.5) <= ALIKE  # nothing tells them from chance
    if holds(area, 0.5) or area.value == 0.5 or near:
        return f"finds shifted records no better than chance (ROC-AUC {share} %; chance: 50 %)"
    if area.value < 0.5:
        return f"is lower on shifted records (ROC-AUC {share} %; chance: 50 %)"
    return f"finds shifted records{' only weakly' * (area.value < WEAK)} (ROC-AUC {share} %; chance: 50 %)"


def against_chance(case: Case, system: System) -> Iterator[Finding]:
    """Whether scores that a guess may reach are better than that, as far as there are intervals."""
    sides = ("in", "shifted") if case.compared_subset == "shifted" else ("full",)
    for name in sorted({key[3] for key in case.scores if key[:2] == (system.name, case.split)}):
        metric = METRICS[name]
        scores = {side: score for side in sides if (score := case.score(system.name, side, name)) is not None}
        if not (finite(metric.chance) and any(finite(score.low) for score in scores.values())):
            continue
        words = {side: _beside_chance(score, metric.chance) for side, score in scores.items()}
        alike = len({*words.values()}) == 1
        reading = (
            next(iter(words.values())) if alike else listed([f"{word}{on_side(side)}" for side, word in words.items()])
        )
        values = listed(
            [case.told(score, on_side(side), again=place > 0) for place, (side, score) in enumerate(scores.items())]
        )
        what = f"{metric.plain[:1].upper()}{metric.plain[1:]}"
        yield Finding(f"{what} {reading}: {metric.title} ({metric.chance:g} is chance) {values}.", "joint")


def _beside_chance(score: Score, chance: float) -> str:
    if holds(score, chance) or score.value == chance:
        return "no better than chance"
    good = (score.value > chance) == (METRICS[score.metric].better == "max")
    return f"{'better' if good else 'worse'} than chance"
