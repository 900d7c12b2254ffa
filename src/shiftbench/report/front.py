"""The first screen of a report: the answer in at most six sentences, and one table across the questions.

The sentences come in the order in which people ask: how much worse under shift, does the uncertainty know, do intervals
hold, is anything simpler as good, what should one beware of. Terminal and page begin with them; `verdict` has the rest.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shiftbench.errors import CAREFUL, MARKED_ALIKE
from shiftbench.metrics.conformal import RULES, coverage_name, size_name
from shiftbench.report.case import (
    Case,
    Interval,
    extreme,
    few_clusters,
    holds,
    in_sentence,
    leader,
    listed,
    loss,
    named,
    shift_of,
)
from shiftbench.report.content import Report
from shiftbench.report.digits import MISSING, Digits, count_text, digits_of, metric_digits, of_difference, p_text
from shiftbench.report.grid import Cell, Column, Grid, Row, calibrated_on, directed, slice_digits, worst_first
from shiftbench.report.view import (
    WHERE,
    clean,
    complement,
    duel,
    finite,
    headline_metric,
    headline_scores,
    lead,
    level,
    main_split,
    marked,
    measure_title,
    metric_title,
    split_in_sentence,
    split_title,
    testable,
    too_few,
    worded,
)
from shiftbench.scores.intervals import FEW, FEWEST
from shiftbench.scores.metric import METRICS, Metric
from shiftbench.scores.score import Leak, Score, System

MOST_SENTENCES = 6
MOST_ROWS = 8
COVERAGE = 0.9  # the level of the intervals shown, or the nearest one that a report has
TITLES = {"roc_auc": "finds shift", "ece": "ECE"}  # shorter than elsewhere
FEW_EFFECTIVE = 50  # calibration records
NEAR = 0.02  # to the nominal share of records: what counts as held where there is no interval
CLOSELY, PARTLY = 0.8, 0.2  # shares of the rejection ratio
ALIKE = 0.05  # from chance: an interval of a ROC-AUC that stays within it shows that records cannot be told apart
WEAK = 0.65  # ROC-AUC
ROUNDING = 1e-9  # of a rejection ratio
# The tables of answers, most needed first: where there is no room for all, is anything simpler as good goes last.
NEEDED = ("counts", "comparisons", "answers", "joint", "calibration", "conformal", "ranks", "splits")


@dataclass(frozen=True)
class Finding:
    """One sentence of the first screen; `kind` names the table with its numbers (see `grid.Grid.kind`)."""

    text: str
    kind: str
    careful: bool = False

    @property
    def line(self) -> str:
        """The sentence, marked if it is a caution."""
        return f"Careful: {self.text}" if self.careful else self.text


def findings(report: Report) -> list[Finding]:
    """At most six sentences: answers, most important first, then cautions, for which there is room for three."""
    answers, cautions = every_finding(report)
    room = max(MOST_SENTENCES - len(cautions), 3)
    kept = sorted(answers, key=needed)[:room]
    return [*(each for each in answers if each in kept), *cautions[: MOST_SENTENCES - len(kept)]]


def every_finding(report: Report) -> tuple[list[Finding], list[Finding]]:
    """All answers in the order in which people ask, and all cautions; `findings` has room for some of them."""
    front, metric = lead(report), headline_metric(report)
    if front is None or metric is None:
        return [Finding("This report holds no scores.", "counts")], []
    case = Case(report, main_split(report), metric, headline_scores(report))
    few = too_few(report, case.split)
    answers = [
        *_few_records(case, few), *_change(case, front), *_uncertainty(case, front), *_against_chance(case, front),
        *_calibration(case, front), *_simpler(case, front),
    ]  # fmt: skip
    if not few:  # else any system is ahead of any other
        which = [*_pair(case), *_models(case)]
        answers = [*which, *answers] if _is_comparison(report) else [*answers, *which]
    answers += _test_sets(case, front)
    answers = answers or [Finding(f"No score of {named(front.name)} is defined.", "systems")]
    worded_answers, cautions = (
        [replace(each, text=worded(each.text, report)) for each in found] for found in (answers, _cautions(case, front))
    )
    return worded_answers, cautions


def needed(finding: Finding) -> int:
    """The place of an answer among those of `NEEDED`, the most needed first."""
    return NEEDED.index(finding.kind) if finding.kind in NEEDED else len(NEEDED)


def headline(report: Report) -> str:
    """One line on what was assessed: the title, and the records of the main split."""
    return f"{clean(report.title)} · {records(report)}"


def records(report: Report) -> str:
    """The records of the main split."""
    split = main_split(report)
    counts = {count.subset: count.records for count in report.counts if count.split == split}
    words = (("in", "in-domain"), ("shifted", "shifted"))
    sides = [f"{count_text(counts[name])} {word}" for name, word in words if name in counts]
    told, name = ", ".join(sides) or count_text(counts.get("full", 0)), clean(report.records_name)
    name = name.removesuffix("s") if told == "1" else name
    return f"{'' if split == 'all' else f'{split_title(split)}: '}{told} {name}"


def _few_records(case: Case, few: dict[str, int]) -> Iterator[Finding]:
    """That no conclusion can be drawn, if a side of the shift, or the whole, has too few records."""
    if not few:
        return
    name, counts = clean(case.report.records_name), {c.subset: c for c in case.report.counts if c.split == case.split}
    sides = [
        (counts[subset], word) for subset, word in (("in", " in-domain"), ("shifted", " shifted")) if subset in counts
    ]
    told = [f"{count_text(count.records)}{word}" for count, word in sides or [(counts["full"], "")]]
    each = " on each side" if sides else ""
    yield Finding(
        f"Too few {name} for any conclusion: {' and '.join(told)}; at least {FEWEST}{each} are needed. "
        "The numbers describe no others.", "counts",
    )  # fmt: skip


# --- how much worse -------------------------------------------------------------------------------------------------


def _change(case: Case, system: System) -> Iterator[Finding]:
    inside, shifted = case.score(system.name, "in"), case.score(system.name, "shifted")
    if inside is None or shifted is None:
        whole = case.score(system.name, "full") or inside or shifted
        if whole is not None:
            yield Finding(f"{named(system.name)} has {_value(case, whole)}.", "answers")
        return
    if too_few(case.report, case.split):
        yield Finding(f"{named(system.name)} has {_beside(case, inside, shifted)}.", "answers")
        return
    if loss(inside)[0] == loss(shifted)[0] == 0:
        told = f"No error{_of(case, system)} in-domain or on shifted data: {_value(case, shifted, interval=False)}."
        yield Finding(told, "answers")
        return
    shift = shift_of(case, inside, shifted)
    values = _from_to(case, inside, shifted)
    wrong = case.metric.better == "max"
    factor = _times(case, shift.factor, wrong) if shift.factor else ""
    if shift.told_apart is False:
        yield Finding(f"No change under shift{_of(case, system)} can be told from chance: {values}{factor}.", "answers")
        return
    if shift.factor and _says_factor(shift.factor[0]):
        factor = _reach(case, shift.factor)
    what = f"{'the share of wrong answers' if wrong else _error(case)}{_of(case, system)}"
    yield Finding(f"{_grows(shift.factor, shift.grows, what)}: {values}{factor}.", "answers")


def _error(case: Case) -> str:
    """The error, with its name where it is what a share lacks."""
    return "the error" if complement(case.report) is None else f"the error ({clean(case.report.error_name)})"


def _value(case: Case, score: Score, *, interval: bool = True) -> str:
    """The headline metric with its value, or in plain words the share that the error is the rest of."""
    metric = complement(case.report)
    share = metric and case.score(score.system, score.subset, metric.name)
    tell = case.quantity if interval else case.plain
    return f"{metric.title} {tell(share)}, {metric.plain}" if metric and share else f"{case.title} {tell(score)}"


def _from_to(case: Case, inside: Score, shifted: Score) -> str:
    """The headline metric on both sides, or in plain words the share that the error is the rest of."""
    metric = complement(case.report)
    both = [metric and case.score(score.system, score.subset, metric.name) for score in (inside, shifted)]
    if metric and both[0] and both[1]:
        return f"{metric.title}, {metric.plain}, {case.plain(both[0])} → {case.plain(both[1])}"
    return f"{case.title} {case.digits().text(inside.value)} → {case.plain(shifted)}"


def _beside(case: Case, inside: Score, shifted: Score) -> str:
    """The headline metric on both sides, without a direction."""
    told = _from_to(case, inside, shifted)
    before, _, after = told.rpartition(" → ")
    return f"{before} {WHERE['in']} and {after} {WHERE['shifted']}"


def _of(case: Case, system: System) -> str:
    """Whose, where it could be another's."""
    models = sum(each.role in ("ensemble", "model") for each in case.report.systems)
    return f" of {named(system.name)}" if models > 1 else ""


def _grows(factor: Interval | None, grows: bool, what: str) -> str:
    if factor is None or not finite(factor[0]):
        return f"Under shift {what} {'grows' if grows else 'falls'}"
    times = factor[0]
    if times >= 2:
        if not _says_factor(times):
            return f"Under shift {what} explodes"
        return f"Under shift {what} is {f'{times:.2g}' if times < 99.5 else f'{times:.0f}'} times as large"
    by = f"by {100 * abs(times - 1):.0f} %" if abs(times - 1) >= 0.005 else "slightly"
    return f"Under shift {what} {'grows' if grows else 'falls'} {by}"


def _says_factor(times: float) -> bool:
    """Whether the words of `_grows` give the factor; a growth by a share is given as such."""
    return 2 <= times < 1000


def _times(case: Case, factor: Interval, wrong: bool) -> str:
    """The factor with its interval, in brackets."""
    told = _interval_text(case, factor)
    value = _factor_digits(factor).text(factor[0])
    return f" ({'wrong answers ' if wrong else ''}×{value}{f', {told}' if told else ''})"


def _reach(case: Case, factor: Interval) -> str:
    """The interval of a factor that stands in the sentence already, in brackets; "" without one."""
    told = _interval_text(case, factor, " of the factor")
    return f" ({told})" if told else ""


def _interval_text(case: Case, factor: Interval, of: str = "") -> str:
    _, low, high = factor
    if not (finite(low) and finite(high)):
        return ""
    digits = _factor_digits(factor)
    return f"{100 * level(case.report):g} % interval{of} {digits.text(low)} to {digits.text(high)}"


def _factor_digits(factor: Interval) -> Digits:
    value, low, high = factor
    return digits_of([value], [(high - low) / 2 if finite(low) and finite(high) else None])


# --- does the uncertainty know --------------------------------------------------------------------------------------


def _uncertainty(case: Case, system: System) -> Iterator[Finding]:
    ratio, area = (case.score(system.name, "full", name) for name in ("rejection_ratio", "roc_auc"))
    whose = f"The uncertainty{_of(case, system)}{_named(system.measure)}"
    if ratio is not None and _ranks_nothing(ratio, area):
        text = f"{whose} is the same for every record, so whether it knows where it is wrong cannot be told."
        yield Finding(text, "joint")
        return
    parts = []
    if ratio is not None:
        share = _share(case, ratio)
        how = "closely" if ratio.value >= CLOSELY else "in part" if ratio.value >= PARTLY else "hardly"
        if holds(ratio, 0.0) or ratio.value == 0.0:
            parts.append(f"cannot be told from a random order of the errors{share and f': it does {share}'}")
        elif ratio.value < 0:
            parts.append(f"points the wrong way: it ranks errors worse than at random{share and f': it does {share}'}")
        else:
            parts.append(f"follows the errors {how}{share and f': it does {share}'}")
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


def _named(measure: str) -> str:
    """Which uncertainty it is, in brackets; "" where its name says no more than that it is one."""
    if measure in ("", "uncertainty"):
        return ""
    title = measure_title(measure)
    told = title if title == clean(measure) else in_sentence(title)
    inside = re.sub(r" \((.*)\)", r", \1", told)
    return f" ({inside})"


def _share(case: Case, ratio: Score) -> str:
    """The rejection ratio in words with its interval; "" without one, which tables have."""
    digits = case.digits("rejection_ratio")
    if not (finite(ratio.low) and finite(ratio.high)):
        return ""
    interval = f"{100 * level(case.report):g} % interval {digits.text(ratio.low)} to {digits.text(ratio.high)}"
    sides = {side: case.score(ratio.system, side, ratio.metric) for side in ("in", "shifted")}
    told = [f"{digits.text(score.value)} %{_where(side)}" for side, score in sides.items() if score is not None]
    both = f"; {listed(told)}" if told else ""
    return f"{digits.text(ratio.value)} % of what a perfect ranking would ({interval}{both})"


def _detection(case: Case, area: Score) -> str:
    """How well the uncertainty finds shifted records: no more than its interval supports."""
    digits = case.digits("roc_auc")
    share, ends = digits.text(area.value), [end for end in (area.low, area.high) if finite(end)]
    if holds(area, 0.5) and max(abs(end - 0.5) for end in ends) > ALIKE:
        interval = f"{100 * level(case.report):g} % interval {' to '.join(map(digits.text, ends))}"
        return f"may or may not find shifted records (ROC-AUC {share} %, {interval}; chance: 50 %)"
    if holds(area, 0.5) or area.value == 0.5:
        return f"cannot tell shifted records from others (ROC-AUC {share} %; chance: 50 %)"
    if area.value < 0.5:
        return f"is lower on shifted records (ROC-AUC {share} %; chance: 50 %)"
    how = "finds shifted records only weakly: at" if area.value < WEAK else "finds shifted records at"
    return f"{how} {share} % (ROC-AUC; chance: 50 %)"


def _against_chance(case: Case, system: System) -> Iterator[Finding]:
    """Whether scores that a guess may reach are better than that, as far as there are intervals."""
    sides = ("in", "shifted") if _subset(case) == "shifted" else ("full",)
    for name in sorted({key[3] for key in case.scores if key[:2] == (system.name, case.split)}):
        metric = METRICS[name]
        scores = {side: score for side in sides if (score := case.score(system.name, side, name)) is not None}
        if not (finite(metric.chance) and any(finite(score.low) for score in scores.values())):
            continue
        words = {side: _beside_chance(score, metric.chance) for side, score in scores.items()}
        alike = len({*words.values()}) == 1
        told = (
            next(iter(words.values())) if alike else listed([f"{word}{_where(side)}" for side, word in words.items()])
        )
        values = listed([f"{case.quantity(score)}{_where(side)}" for side, score in scores.items()])
        what = f"{metric.plain[:1].upper()}{metric.plain[1:]}"
        yield Finding(f"{what} {told}: {metric.title} {values} (chance: {metric.chance:g}).", "joint")


def _beside_chance(score: Score, chance: float) -> str:
    if holds(score, chance) or score.value == chance:
        return "no better than chance"
    good = (score.value > chance) == (METRICS[score.metric].better == "max")
    return f"{'better' if good else 'worse'} than chance"


# --- can its intervals be trusted -----------------------------------------------------------------------------------


def _calibration(case: Case, system: System) -> Iterator[Finding]:
    both = any(key[1] == case.split and key[2] == "in" for key in case.scores)
    sides = [
        side for side in (("in", "shifted") if both else ("full",)) if side not in too_few(case.report, case.split)
    ]
    name = coverage_of({key[3] for key in case.scores if key[:2] == (system.name, case.split)})
    scores = {side: score for side in sides if name and (score := case.score(system.name, side, name)) is not None}
    if scores:
        better = _recalibrated(case, METRICS[name], system, scores)
        yield Finding(_coverage(case, METRICS[name], system, scores) + better, "conformal" if better else "calibration")
        return
    found = {side: score for side in sides if (score := case.score(system.name, side, "ece")) is not None}
    if found:
        whose = f"The confidence{of}" if (of := _of(case, system)) else "Its confidence"
        yield Finding(f"{whose} {_confidence(case, system, found)}.", "calibration")


def _confidence(case: Case, system: System, errors: dict[str, Score]) -> str:
    """By how much the confidence is above or below the accuracy, what that is called, and the calibration error."""
    gaps = {side: score for side in errors if (score := case.score(system.name, side, "overconfidence")) is not None}
    sizes = [f"{case.digits('ece').text(score.value)} points{_where(side)}" for side, score in errors.items()]
    if len(gaps) < len(errors):  # an older report
        return f"is off by {listed(sizes)} on average (ECE)"
    digits = case.digits("overconfidence")
    told = listed(
        [
            f"{digits.text(abs(gap.value))} points {'below' if gap.value < 0 else 'above'} "
            f"{'it' if place else 'its accuracy'}{_where(side)}"
            for place, (side, gap) in enumerate(gaps.items())
        ]
    )
    names = {"narrow": "underconfident", "wide": "overconfident"}
    reads = {side: names.get(_reading(gap, 0.0), "") for side, gap in gaps.items()}
    off = {side: word for side, word in reads.items() if word}
    alike = len(off) == len(reads) and len({*off.values()}) == 1
    words = [*dict.fromkeys(f"{word}{'' if alike else _where(side)}" for side, word in off.items())]
    neither = ["neither over- nor underconfident on average, as far as one can tell"]
    return f"is {told}: it is {listed(words or neither)} (calibration error, ECE: {listed(sizes)})"


def coverage_of(names: set[str]) -> str:
    """Of the names of metrics, that of the coverage whose level is nearest to COVERAGE; "" without any."""
    found = [name for name in names if name.startswith("coverage_") and finite(METRICS[name].nominal)]
    return min(found, key=lambda name: (abs(METRICS[name].nominal - COVERAGE), name), default="")


def _coverage(case: Case, metric: Metric, system: System, scores: dict[str, Score]) -> str:
    whose = f"The intervals{of}" if (of := _of(case, system)) else "Its intervals"
    nominal, digits = metric.nominal, case.digits(metric.name)
    reads = {side: _reading(score, nominal) for side, score in scores.items()}
    told = ", ".join(f"{digits.text(score.value)} %{_where(side)}" for side, score in scores.items())
    off = {side: reading for side, reading in reads.items() if reading != "hold"}
    if not off:
        return f"{whose} hold: those of nominal {100 * nominal:.10g} % contain {told}."
    words = [
        f"too {reading}{'' if len(off) == len(reads) and len(set(off.values())) == 1 else _where(side)}"
        for side, reading in off.items()
    ]
    return f"{whose} are {listed([*dict.fromkeys(words)])}: those of nominal {100 * nominal:.10g} % contain {told}."


def _recalibrated(case: Case, metric: Metric, system: System, scores: dict[str, Score]) -> str:
    """What conformal intervals contain where its own hold too few or too many, if that is at most half as far off."""
    side, own = next(reversed(scores.items()))
    nominal, digits = metric.nominal, case.digits(metric.name)
    off = abs(own.value - nominal)
    found, sizes, endless = {}, {}, list[str]()
    for rule in RULES.values():
        score = case.score(system.name, side, coverage_name(rule.name, nominal))
        size = case.scores.get((system.name, case.split, side, size_name(rule.name, nominal)))
        if score is None or size is None:
            continue
        if not finite(size.value):  # infinite ones contain everything
            endless.append(rule.title)
            continue
        if not (rule.needs == "weights" and _hardly_overlap(case, side)):
            title = rule.title.removeprefix("conformal").lstrip(", ")
            found[title], sizes[title] = score, size
    best = min(found, key=lambda title: abs(found[title].value - nominal), default=None)
    if _reading(own, nominal) == "hold":
        return ""
    if best is None or abs(found[best].value - nominal) > off / 2:
        return _endless(endless[0]) if endless else ""
    shown = [title for title in found if title in ("", best)]
    told = ", ".join(f"{title} {digits.text(found[title].value)} %".lstrip() for title in shown)
    where = " on shifted data" * (side == "shifted")
    cost = _width(case, system, nominal, side, [sizes[title] for title in shown])
    return f" Conformal ones calibrated on {calibrated_on(case.report)} contain {told}{where}, and are {cost}."


def _endless(title: str) -> str:
    """That the intervals of a rule are infinite: those of split conformal all, others for some records."""
    kind = title.removeprefix("conformal").lstrip(", ")
    if not kind:
        return " Conformal intervals would be infinite: too few calibration records."
    return f" Conformal intervals {kind} would be infinite for some records: too few calibration records are like them."


def _width(case: Case, system: System, nominal: float, side: str, sizes: list[Score]) -> str:
    """How wide intervals are on average, and how wide those are that they replace."""
    own = case.score(system.name, side, f"width_{100 * nominal:.10g}")
    unit = case.digits(sizes[0].metric).unit
    wide = " and ".join(case.digits(each.metric).text(each.value) for each in sizes)
    before = f" instead of {case.plain(own)}" if own is not None else ""
    return f"{wide} {unit}".rstrip() + f" wide on average{before}"


def _hardly_overlap(case: Case, side: str) -> bool:
    """Whether weights for the shift rest on so few calibration records that their coverage is mostly luck."""
    here = [each for each in case.report.separations if (each.split, each.subset) == (case.split, side)]
    return any(each.effective < FEW_EFFECTIVE for each in here)


def _reading(score: Score, nominal: float) -> str:
    if finite(score.low) and finite(score.high):
        return "narrow" if score.high < nominal else "wide" if score.low > nominal else "hold"
    return "hold" if abs(score.value - nominal) <= NEAR else "narrow" if score.value < nominal else "wide"


def _where(side: str) -> str:
    return {"in": " in-domain", "shifted": " on shifted data"}.get(side, "")


# --- is anything as good --------------------------------------------------------------------------------------------


def _subset(case: Case) -> str:
    """Where systems are compared: on shifted data, if there are any."""
    return "shifted" if any(key[1] == case.split and key[2] == "shifted" for key in case.scores) else "full"


def _best(case: Case, systems: list[System], subset: str) -> Score | None:
    found = [score for system in systems if (score := case.score(system.name, subset)) is not None]
    return (min if case.metric.better == "min" else max)(found, key=lambda score: score.value, default=None)


def _simpler(case: Case, front: System) -> Iterator[Finding]:
    """The leading system against the best baseline by the headline metric, and what R-AUC says if it disagrees."""
    subset = _subset(case)
    baselines = [system for system in case.report.systems if system.role == "baseline" and system.name != front.name]
    mine, other = case.score(front.name, subset), _best(case, baselines, subset)
    if front.role == "baseline" or mine is None or other is None or too_few(case.report, case.split):
        return
    outcome, name, where = duel(case.report, mine, other), named(other.system), WHERE[subset]
    value = f"has {case.title} {case.plain(other)} {where}"
    against = f"the baseline {name} {value} against {case.plain(mine)}"
    text = {
        front.name: f"Nothing simpler is as good: the best baseline, {name}, {value}",
        other.system: f"Something simpler is better: {against}",
        None: f"Something simpler is as good, as far as one can tell: {against}",
    }[outcome.winner]
    yield Finding(f"{text}{_otherwise(case, front, other.system, outcome.winner)}.", "comparisons")


def _otherwise(case: Case, front: System, rival: str, winner: str | None) -> str:
    """What R-AUC says of the same two systems, and the headline metric in-domain, where they name another winner."""
    others: dict[str, list[str]] = {}
    for metric, subset in ((METRICS["r_auc"], "full"), (case.metric, "in")):
        ours, theirs = (case.score(name, subset, metric.name) for name in (front.name, rival))
        if ours is None or theirs is None or not testable(case.report, case.split):
            continue
        found = duel(case.report, ours, theirs).winner
        if found not in (winner, None):
            title = in_sentence(metric_title(metric, case.report))
            others.setdefault(str(found), []).append(f"by {title} {WHERE[subset]}")
    return "".join(f"; {listed(scores)} {named(name)} is better" for name, scores in others.items())


def _models(case: Case) -> Iterator[Finding]:
    """The best of several models, and those that share its rank."""
    models = [system for system in case.report.systems if system.role in ("ensemble", "model")]
    if len(models) < 2 or _is_pair(case):
        return
    subset = _subset(case)
    if (found := leader(case, case.metric, subset)) is not None:
        best, rest = f"{extreme(case.metric).lower()} {case.title} {WHERE[subset]}", "".join(found)
        baselines = " and the baselines" if any(system.role == "baseline" for system in case.report.systems) else ""
        yield Finding(f"Of {len(models)} models{baselines}, {best}: {rest}.", "ranks")


def _is_comparison(report: Report) -> bool:
    """Whether which model is better was the question, as of the command `compare`: then it is answered first."""
    return report.recipe.get("command") == "compare"


def _is_pair(case: Case) -> bool:
    return len([system for system in case.report.systems if system.role != "single"]) == 2 and all(
        system.role in ("model", "ensemble", "single") for system in case.report.systems
    )


def _pair(case: Case) -> Iterator[Finding]:
    """Which of two models is better, by which scores, in one sentence."""
    if not _is_pair(case):
        return
    first, second = (system.name for system in case.report.systems if system.role != "single")
    won: dict[str, list[str]] = {first: [], second: []}
    alike = []
    compared = {entry.metric for entry in case.report.comparisons}
    further = [METRICS[name] for name in ("pinball",) if name in compared]
    for metric in (METRICS["r_auc"], case.metric, *further):
        ours, theirs = (case.score(name, "full", metric.name) for name in (first, second))
        if ours is None or theirs is None:
            continue
        outcome, title = duel(case.report, ours, theirs), metric_title(metric, case.report)
        if outcome.winner is None:
            alike.append(in_sentence(title))
            continue
        told = title
        if (paired := outcome.comparison) is not None and METRICS[paired.metric].name == metric.name:
            digits = of_difference(metric_digits(case.report, metric, case.split))
            low, high = (paired.low, paired.high) if paired.difference > 0 else (-paired.high, -paired.low)
            number = f"{digits.text(abs(paired.difference))} {digits.unit}".rstrip()
            p = p_text(paired.p_adjusted)
            told = f"{number} in {in_sentence(title)} [{digits.text(low)}, {digits.text(high)}], p {p}"
        won[outcome.winner].append(told)
    says = [f"{named(name)} is better by {', and '.join(scores)}" for name, scores in won.items() if scores]
    if alike:
        whom = "them" if says else f"{named(first)} and {named(second)}"
        says.append(f"{'in' if says else 'In'} {' and '.join(alike)} no test tells {whom} apart")
    if says:
        yield Finding(f"{'; '.join(says)}.{_different_measures(case, first, second)}", "comparisons")


def _different_measures(case: Case, first: str, second: str) -> str:
    """A sentence where two models are compared by different measures of uncertainty; "" where by the same one."""
    measures = {system.name: system.measure for system in case.report.systems}
    one, other = (_named(measures[name])[2:-1] for name in (first, second))
    if not one or not other or one == other:
        return ""
    return f" Their uncertainties are different measures: {one} of {named(first)}, {other} of {named(second)}."


def _test_sets(case: Case, front: System) -> Iterator[Finding]:
    """The leading system on further test sets."""
    told = {}
    for split in case.report.splits:
        there = replace(case, split=split)
        whole = there.score(front.name, "full")
        if split != case.split and whole is not None and there.score(front.name, "shifted") is None:
            told[split] = there.plain(whole)
    what = f"{case.title} of {named(front.name)}"
    what = f"{what[:1].upper()}{what[1:]}"
    if len(told) == 1:
        yield Finding(
            "".join(f"{what} is {value} on the test set {marked(name)}." for name, value in told.items()), "splits"
        )
    elif told:
        sets = listed([f"{marked(name)} {value}" for name, value in [*told.items()][:3]])
        yield Finding(f"{what} on further test sets: {sets}.", "splits")


# --- what to beware of ----------------------------------------------------------------------------------------------


def _cautions(case: Case, front: System) -> Iterator[Finding]:
    for leak in case.report.leaks:
        if leak.split == case.split and (text := _leak(case, front, leak)):
            yield Finding(text, "counts", careful=True)
    if front.caution:
        text = clean(front.caution).rstrip(".")
        yield Finding(f"{text[:1].lower()}{text[1:]}.", "systems", careful=True)
    for warning in case.report.warnings:
        split, grave, text = clean(warning).rpartition(CAREFUL)
        if grave and split in ("", f"{case.split}: "):
            yield Finding(f"{text.rstrip('.')}.", "counts", careful=True)
    if too_few(case.report, case.split):
        pass  # this is what the first sentence is about
    elif text := few_clusters(case):
        yield Finding(f"{text[:1].lower()}{text[1:]}", "counts", careful=True)
    elif not any(finite(score.low) for score in case.scores.values()):
        yield Finding("no intervals were made, so differences may be chance.", "answers", careful=True)
    elif text := _short_intervals(case):
        yield Finding(text, "counts", careful=True)
    yield from _elsewhere(case, front)
    if _subset(case) == "full" and not any(MARKED_ALIKE in warning for warning in case.report.warnings):
        text = "records are not marked as in-domain and shifted, so this says nothing of robustness."
        yield Finding(text, "counts", careful=True)


def _short_intervals(case: Case) -> str:
    """A caution if there are clusters enough for intervals, but too few to trust them; else ""."""
    sides = [count for count in case.report.counts if count.split == case.split and count.subset != "full"]
    units = {WHERE[count.subset]: (count.clusters or count.records, count.clusters) for count in sides}
    few = [
        f"{number} {'clusters' if clusters else 'records'} {where}"
        for where, (number, clusters) in units.items()
        if FEWEST <= number < FEW
    ]
    return f"intervals may be too short and p-values too small: there are only {listed(few)}." if few else ""


def _leak(case: Case, front: System, leak: Leak) -> str:
    share = "all" if leak.records == leak.of else f"{100 * leak.records / leak.of:.3g} % of"
    shared = f"{share} in-domain records share their {marked(leak.clusters)} with train"
    if leak.factor is None or leak.low is None:
        return f"in-domain is probably too good: {shared}."
    if leak.low <= 1:
        return f"in-domain may be too good: {shared}."
    inside = case.score(front.name, "in") or case.score(front.name, "full")
    if inside is None:
        return f"in-domain is probably too good: {shared}."
    better, _, _ = loss(inside)
    digits: Digits = case.digits()
    worse = 1 - leak.factor * better if case.metric.better == "max" else leak.factor * better
    about = f"{digits.text(worse)} {digits.unit}".rstrip()
    return f"in-domain is probably too good, as {shared}; kept apart it would be about {about}."


def _elsewhere(case: Case, front: System) -> Iterator[Finding]:
    """Baselines that beat the leading system on another split, though not here: its lead depends on the split."""
    for split in case.report.splits if front.role != "baseline" else ():
        there, told = replace(case, split=split), dict[str, list[str]]()
        for subset in ("shifted", "in") if _subset(there) == "shifted" else ("full",):
            baselines = [system for system in case.report.systems if system.role == "baseline"]
            mine, other = there.score(front.name, subset), _best(there, baselines, subset)
            if split == case.split or mine is None or other is None or too_few(case.report, split):
                continue
            if there.wins(other.system, front.name, subset) and not case.wins(other.system, front.name, subset):
                values = f"{WHERE[subset]}, {there.digits().text(other.value)} against {there.plain(mine)}"
                told.setdefault(other.system, []).append(values)
        for name, where in told.items():
            rivals = f"the baseline {named(name)} beats {named(front.name)} by {case.title}"
            yield Finding(f"on {split_in_sentence(split)} {rivals} {', and '.join(where)}.", "answers", careful=True)


# --- one table ------------------------------------------------------------------------------------------------------


def table(report: Report, *, most: int = MOST_ROWS) -> Grid:
    """Systems down, the questions across: size of the errors, R-AUC, calibration, detection of the shift.

    Baselines stand below models; single models are left out, and so are systems beyond `most`.
    """
    metric, split = headline_metric(report), main_split(report)
    columns: list[Column] = []
    cells: list[dict[str, Cell]] = []
    chosen = headline_scores(report)
    systems = _ordered(report, split)
    names = [system.name for system in systems]
    sides = [side for side in ("in", "shifted") if any(key[1:3] == (split, side) for key in chosen)] or ["full"]
    found = {key[3] for key in chosen if key[1] == split}
    front = lead(report)
    first = {key[3] for key in chosen if front is not None and key[:2] == (front.name, split)}
    calibration = coverage_of(first) or coverage_of(found) or ("ece" if "ece" in found else "")
    wanted = [(metric.name if metric else "", side) for side in sides]
    wanted += [("r_auc", "full"), *((calibration, side) for side in sides), ("roc_auc", "full")]
    for name, side in wanted:
        here = {system: score for system in names if (score := chosen.get((system, split, side, name))) is not None}
        if not here:
            continue
        digits = metric_digits(report, METRICS[name], split)
        title = directed(METRICS[name], _short_title(METRICS[name], report))
        percent = digits.unit == "%"  # stands in the cells: columns get narrower
        title += f" ({digits.unit})" if digits.unit and not percent else ""
        columns.append(Column(side, title) if len(sides) > 1 and side in sides else Column(title))
        texts = {system: digits.text(score.value) for system, score in here.items()}
        cells.append(
            {system: Cell(f"{text} %" if percent and text != MISSING else text) for system, text in texts.items()}
        )
    kept = shown(report, most=most)
    rows = tuple(Row(clean(name), tuple(column.get(name, Cell(MISSING)) for column in cells)) for name in kept)
    left = len(names) - len(rows)
    note = f"{left} more system{'s' * (left > 1)} in the full report." if left > 0 else ""
    return Grid("front", split, headline(report), "", tuple(columns), rows, note)


def shown(report: Report, *, most: int = MOST_ROWS) -> list[str]:
    """The systems of the table, in its order."""
    systems = _ordered(report, main_split(report))
    kept = [system.name for system in systems[:most]]
    baselines = [system.name for system in systems if system.role == "baseline"]
    if baselines and not set(kept) & set(baselines):  # without one, nobody sees what the models are worth
        kept[-1] = baselines[0]
    return kept


def _short_title(metric: Metric, report: Report) -> str:
    if metric.name.startswith("coverage_"):
        return f"in {100 * metric.nominal:.10g} % interval"
    return TITLES.get(metric.name, metric_title(metric, report))


def _ordered(report: Report, split: str) -> list[System]:
    """Models, the leading one first, then baselines; each by the headline metric where it counts most."""
    metric, front, chosen = headline_metric(report), lead(report), headline_scores(report)
    shown = [system for system in report.systems if system.role != "single"] or list(report.systems)

    def place(system: System) -> tuple[bool, bool, float]:
        scores = (
            chosen.get((system.name, split, side, metric.name if metric else "")) for side in ("shifted", "full", "in")
        )
        value = next((score.value for score in scores if score is not None and finite(score.value)), float("inf"))
        turned = -value if metric is not None and metric.better == "max" and value != float("inf") else value
        return system.role == "baseline", front is None or system.name != front.name, turned

    return sorted(shown, key=place)


def worst_group(report: Report) -> str:
    """The group of records with the largest mean error of the leading system; "" without slices."""
    split = main_split(report)
    order = [entry for entry in worst_first(report, split) if finite(entry.mean_error)]
    if not order:
        return ""
    worst, digits = order[0], slice_digits(report, split)
    error = f"mean {clean(report.error_name)} {digits.text(worst.mean_error)} {digits.unit}".rstrip()
    metric = headline_metric(report)
    if metric is not None and metric.name == "rmse":  # in the unit of the target
        digits = metric_digits(report, metric, split)
        error = f"RMSE {digits.text(math.sqrt(worst.mean_error))} {digits.unit}".rstrip()
    count = worded(f"{count_text(worst.n)} record{'s' * (worst.n != 1)}", report)
    return f"{clean(worst.column)} {clean(worst.group)} · {error}, {count}"
