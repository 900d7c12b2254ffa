"""Whether the uncertainty knows, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator

from shiftbench.report.case import Case, holds, in_sentence, interval, listed, named
from shiftbench.report.front.calibration import on_side
from shiftbench.report.front.finding import Finding
from shiftbench.report.front.shift import of_system
from shiftbench.report.view import clean, finite, measure_title
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import Score, System

CLOSELY, PARTLY = 0.8, 0.2  # shares of the rejection ratio
ALIKE = 0.05  # from chance: an interval of a ROC-AUC that stays within it shows that records cannot be told apart
MORE = 0.1  # of a perfect ranking: that much more over all records than on either side comes from between the two
WEAK = 0.65  # ROC-AUC
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
    parts = []
    if ratio is not None:
        share = _share(case, ratio)
        how = " closely" if ratio.value >= CLOSELY else " in part" if ratio.value >= PARTLY else ""
        if holds(ratio, 0.0) or ratio.value == 0.0:
            parts.append(f"ranks errors no better than chance: it does {share}")
        elif ratio.value < 0:
            parts.append(f"points the wrong way: it ranks errors worse than at random: it does {share}")
        else:
            parts.append(f"{'' if how else 'hardly '}follows the errors{how}: it does {share}")
    if area is not None:
        parts.append(_detection(case, area))
    if parts:
        yield Finding(f"{whose} {', and '.join(parts)}.", "joint")
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
    return f"{digits.text(ratio.value)} % of what a perfect ranking would do, {RANDOM}{numbers and f' ({numbers})'}"


def _detection(case: Case, area: Score) -> str:
    """How well the uncertainty finds shifted records: no more than its interval supports."""
    digits = case.digits("roc_auc")
    share, ends = digits.text(area.value), [end for end in (area.low, area.high) if finite(end)]
    if holds(area, 0.5) and max(abs(end - 0.5) for end in ends) > ALIKE:
        reach = interval(case.report, ends[0], ends[1], digits)
        return f"may or may not find shifted records (ROC-AUC {share} %, {reach}; chance: 50 %)"
    if holds(area, 0.5) or area.value == 0.5:
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
