"""The verdict: the results in plain sentences that claim no more than intervals and tests support."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from shiftbench.report.content import Report
from shiftbench.report.digits import Digits, count_text, digits_of, half_width, metric_digits, p_text
from shiftbench.report.view import (
    WHERE,
    Key,
    best,
    clean,
    duel,
    finite,
    headline_metric,
    headline_scores,
    lead,
    main_split,
    measure_title,
    metric_title,
    split_title,
)
from shiftbench.scores.intervals import FEWEST
from shiftbench.scores.metric import METRICS, Metric
from shiftbench.scores.score import Count, Score, System

MOST_OTHERS = 4  # systems besides the leading one that get their own sentences
MOST_NAMED = 3  # systems that a list names
LONGEST_NAME = 40  # characters of a system's name in a sentence
DOUBT = "; without intervals this may be chance"
UNTESTED = "; without a test this may be chance"


def verdict(report: Report) -> list[str]:
    """The conclusions, most important first, as plain sentences without markup."""
    front, metric = lead(report), headline_metric(report)
    if front is None or metric is None:
        return ["This report holds no scores."]
    case = Case(report, main_split(report), metric, headline_scores(report))
    others = [system for system in report.systems if system.name != front.name and system.role != "single"]
    return [
        sentence
        for sentence in (
            *_leaked(case, front),
            _change(case, front),
            *_baselines(case, front),
            *_uncertainty(case, front),
            *_leaders(case),
            *_others(case, others),
            *_cautions(case),
            *_test_sets(case, front),
            *_elsewhere(case, front),
        )
        if sentence
    ]


@dataclass(frozen=True)
class Case:
    """The input of every sentence: the report, its main split, its headline metric and the scores."""

    report: Report
    split: str
    metric: Metric
    scores: dict[Key, Score]

    def score(self, system: str, subset: str, metric: str | None = None) -> Score | None:
        """A score of this split, by default of the headline metric; None if it is missing or no number."""
        found = self.scores.get((system, self.split, subset, metric or self.metric.name))
        return found if found is not None and finite(found.value) else None

    def digits(self, metric: str | None = None) -> Digits:
        """The format of a metric in this split."""
        return metric_digits(self.report, METRICS[metric or self.metric.name], self.split)

    def wins(self, system: System, over: System, subset: str) -> bool:
        """Whether a system is ahead of another on a subset of this split."""
        ours, theirs = self.score(system.name, subset), self.score(over.name, subset)
        return ours is not None and theirs is not None and duel(self.report, theirs, ours).winner == system.name

    def quantity(self, score: Score) -> str:
        """A score with its interval and unit."""
        digits = self.digits(score.metric)
        return f"{_numbers(digits, score)} {digits.unit}".rstrip()

    def plain(self, score: Score) -> str:
        """A score with its unit, without its interval."""
        digits = self.digits(score.metric)
        return f"{digits.text(score.value)} {digits.unit}".rstrip()

    def partly(self, score: Score) -> str:
        """The number of records behind a score, if its system lacks an answer for the others."""
        records = {(count.split, count.subset): count.records for count in self.report.counts}
        every = records.get((score.split, score.subset), 0)
        return f" on {count_text(score.n)} of {count_text(every)} records" if score.n < every else ""

    @property
    def title(self) -> str:
        """The headline metric as written inside a sentence."""
        return in_sentence(metric_title(self.metric, self.report))


def named(name: str) -> str:
    """A system's name in a sentence: long ones lose their middle."""
    whole = clean(name)
    return whole if len(whole) <= LONGEST_NAME else f"{whole[: LONGEST_NAME // 2]}…{whole[-LONGEST_NAME // 2 :]}"


def in_sentence(title: str) -> str:
    """A title as written inside a sentence."""
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def _numbers(digits: Digits, score: Score) -> str:
    return " ".join(digits.cell(score.value, low=score.low, high=score.high, std=score.std)).rstrip()


# --- clusters on both sides -----------------------------------------------------------------------------------------


def _leaked(case: Case, front: System) -> Iterator[str]:
    """A first sentence if in-domain scores are probably too good since train has the same clusters, and by how much."""
    for leak in case.report.leaks:
        if leak.split != case.split:
            continue
        clusters = clean(leak.clusters)
        share = "all" if leak.records == leak.of else f"{100 * leak.records / leak.of:.3g} % of"
        shared = f"{share} {count_text(leak.of)} in-domain records share their {clusters} with records of train"
        loss = "share of wrong answers" if case.report.task == "classification" else "RMSE"
        if leak.factor is None or leak.low is None or leak.high is None:
            yield f"In-domain is probably too good: {shared}; by how much was not estimated ({clean(leak.why)})."
        elif leak.low <= 1:
            yield (
                f"In-domain may be too good: {shared}; quick boosted trees do not do clearly worse where they saw no "
                f"record of the same {clusters} ({loss} {_times((leak.factor, leak.low, leak.high))} times as large)."
            )
        else:
            yield (
                f"In-domain is probably too good: {shared}, and quick boosted trees that saw no record of "
                f"the same {clusters} have a {loss} {_times((leak.factor, leak.low, leak.high))} times as large"
                f"{_without(case, front, leak.factor)}."
            )


def _without(case: Case, front: System, factor: float) -> str:
    """What such a factor would make of the leading system's in-domain score, for clusters not seen in training."""
    inside = case.score(front.name, "in") or case.score(front.name, "full")
    if inside is None or case.metric.name not in ("rmse", "accuracy"):
        return ""
    worse = 1 - factor * (1 - inside.value) if case.metric.better == "max" else factor * inside.value
    low, high = (
        case.quantity(replace(inside, value=value, low=None, high=None, std=None)) for value in (inside.value, worse)
    )
    return f"; at that rate {clean(front.name)} would have {case.title} {high} rather than {low}"


# --- from in-domain to shifted --------------------------------------------------------------------------------------

Interval = tuple[float, float, float]  # value, low, high; NaN where there is no interval


@dataclass(frozen=True)
class Shift:
    """The growth of the loss under shift: the factor with its interval, and whether there is any."""

    factor: Interval | None
    grows: bool
    told_apart: bool | None  # None without intervals


def _change(case: Case, system: System) -> str:
    name = clean(system.name)
    inside, shifted = case.score(system.name, "in"), case.score(system.name, "shifted")
    if inside is None or shifted is None:
        whole = case.score(system.name, "full") or inside or shifted
        if whole is None:
            return ""
        where = "" if whole.subset == "full" else f" {WHERE[whole.subset]}"
        return f"{name}: {case.title} {case.quantity(whole)}{where} ({count_text(whole.n)} records)."
    shift = shift_of(case, inside, shifted)
    low, high, factor = case.quantity(inside), case.quantity(shifted), _factor(case, shift)
    if shift.told_apart is False:
        start = f"{name}: {case.title} is {low} in-domain and {high} on shifted data"
        return f"{start}{factor}; the two cannot be told apart."
    moves = "rises" if shifted.value > inside.value else "falls"
    doubt = "" if shift.told_apart else DOUBT
    return f"{name}: {case.title} {moves} from {low} in-domain to {high} on shifted data{factor}{doubt}."


def shift_of(case: Case, inside: Score, shifted: Score) -> Shift:
    """The report's factor, from the same replicates on both sides; older reports have none."""
    ratio = case.score(inside.system, "full", "shift_ratio") if shifted.subset == "shifted" else None
    if ratio is not None:
        low, high = (math.nan if end is None else end for end in (ratio.low, ratio.high))
        told_apart = low > 1 or high < 1 if finite(low) and finite(high) else None
        return Shift((ratio.value, low, high), ratio.value > 1, told_apart if ratio.value != 1 else False)
    (a, a_low, a_high), (b, b_low, b_high) = loss(inside), loss(shifted)
    factor = (b / a, math.nan, math.nan) if min(a, b) > 0 else None
    if all(map(finite, (a_low, a_high, b_low, b_high))):
        # The sides may share clusters, so their intervals give none for the factor; if disjoint, they differ for sure.
        return Shift(factor, b > a, max(a_low, b_low) > min(a_high, b_high))
    return Shift(factor, b > a, None if a != b else False)


def loss(score: Score) -> Interval:
    """A score as a loss: a share that should be large is subtracted from one."""
    low = score.low if finite(score.low) else math.nan
    high = score.high if finite(score.high) else math.nan
    if METRICS[score.metric].better == "min":
        return score.value, low, high
    return 1 - score.value, 1 - high, 1 - low


def _factor(case: Case, shift: Shift) -> str:
    if shift.factor is None:
        return ""
    share = "the share of wrong answers " if case.metric.better == "max" else ""
    return f", {share}{_times(shift.factor)} times as large"


def _times(factor: Interval) -> str:
    value, low, high = factor
    digits = digits_of([value], [half_width(low, high)])
    if digits.factor == 1.0:
        return " ".join(digits.cell(value, low=low, high=high)).rstrip()
    text, *ends = (f"{number:,.0f}" if number >= 1000 else f"{number:.3g}" for number in factor)
    return f"{text} [{', '.join(ends)}]" if finite(low) and finite(high) else text


# --- systems against each other -------------------------------------------------------------------------------------


def _baselines(case: Case, front: System) -> Iterator[str]:
    if front.role == "baseline":
        return
    for subset in ("shifted", "in") if case.score(front.name, "shifted") else ("full",):
        mine = case.score(front.name, subset)
        if mine is None:
            continue
        groups: dict[str, list[str]] = {"beats": [], "is ahead of": [], "cannot be told apart from": []}
        for system in case.report.systems:
            other = case.score(system.name, subset) if system.role == "baseline" else None
            if other is None:
                continue
            outcome = duel(case.report, mine, other)
            if outcome.winner == system.name:
                yield _beaten(case, mine, other)
            else:
                verb = "cannot be told apart from" if outcome.winner is None else "beats"
                partly = f" ({part.strip()})" if (part := case.partly(other)) else ""
                groups[verb if outcome.sure else "is ahead of"].append(clean(system.name) + partly)
        said = [
            f"{verb} the baseline{'s' * (len(group) > 1)} {listed(group)}" for verb, group in groups.items() if group
        ]
        if said:
            yield f"By {case.title}, {clean(front.name)} {' and '.join(said)} {WHERE[subset]}."


def _beaten(case: Case, mine: Score, other: Score) -> str:
    outcome = duel(case.report, mine, other)
    sentence = (
        f"The baseline {clean(other.system)} {'beats' if outcome.sure else 'is ahead of'} {clean(mine.system)} "
        f"{WHERE[mine.subset]}: {case.title} {_numbers(case.digits(), other)}{case.partly(other)} against "
        f"{case.quantity(mine)}"
    )
    found = outcome.comparison
    if found is None:
        return f"{sentence}{'' if outcome.sure else DOUBT}."
    title = metric_title(METRICS[found.metric], case.report)
    of = "" if found.metric == case.metric.name else f" of the {title[:1].lower()}{title[1:]}"
    digits = case.digits(found.metric)
    numbers = " ".join(digits.cell(found.difference, low=found.low, high=found.high))
    p = p_text(found.p_adjusted)
    equals = p if p.startswith("<") else f"= {p}"
    both = " on the records that both have" if case.partly(other) or case.partly(mine) else ""
    return f"{sentence} (paired difference{of}{both} {f'{numbers} {digits.unit}'.rstrip()}, adjusted p {equals})."


def _leaders(case: Case) -> Iterator[str]:
    """The leader by the headline metric and, if there are several models, by the joint metrics."""
    shifted = any(key[2] == "shifted" for key in case.scores)
    for subset in ("shifted", "in") if shifted else ("full",):
        if found := leader(case, case.metric, subset):
            top, rest = found
            yield f"{extreme(case.metric)} {case.title} {WHERE[subset]}: {top}{rest}."
    if sum(system.role in ("ensemble", "model") for system in case.report.systems) < 2:
        return
    for metric in (METRICS["r_auc"], METRICS["f1_auc"]):
        subsets = ("in", "shifted", "full") if shifted else ("full",)
        led = [(subset, found) for subset in subsets if (found := leader(case, metric, subset))]
        title = f"{extreme(metric)} {in_sentence(metric_title(metric, case.report))}"
        if led and all(rest == UNTESTED for _, (_, rest) in led):
            yield f"{title}: {'; '.join(f'{WHERE[subset]} {top}' for subset, (top, _) in led)}{UNTESTED}."
        elif led:
            told = ". ".join(f"{WHERE[subset].capitalize()} {top}{rest}" for subset, (top, rest) in led)
            yield f"{title}: {in_sentence(told)}."


def extreme(metric: Metric) -> str:
    """What the best score of a metric is called."""
    return "Lowest" if metric.better == "min" else "Highest"


def leader(case: Case, metric: Metric, subset: str) -> tuple[str, str] | None:
    """The system with the best score, and those that share its rank; None if fewer than two have a score."""
    names = [system.name for system in case.report.systems if system.role != "single"]
    scores = [score for name in names if (score := case.score(name, subset, metric.name)) is not None]
    if len(scores) < 2:
        return None
    top = (min if metric.better == "min" else max)(scores, key=lambda score: score.value)
    leaders = best(case.report, scores)
    lowest, first = top, [score for score in scores if score.system in leaders]
    if first and top not in first:  # it has the best score only because its records are easier
        top = (min if metric.better == "min" else max)(first, key=lambda score: score.value)
    alike = [named(name) for name in names if name in leaders and name != top.system]
    rest = ""
    if not leaders:
        rest = UNTESTED
    elif len(alike) == len(scores) - 1:
        rest = "; no test finds any system better than another"
    elif len(alike) > MOST_NAMED:
        rest = f"; {len(alike)} of the {len(scores) - 1} others share rank 1 with it"
    elif alike:
        rest = f"; {listed(alike)} share{'s' * (len(alike) == 1)} rank 1 with it"
    if lowest is not top:
        there = f"{case.quantity(lowest)}{case.partly(lowest)}"
        rest += f"; {named(lowest.system)} has {there}, but {_worse(case, lowest, scores)}"
    return f"{named(top.system)}, {case.quantity(top)}{case.partly(top)}", rest


def _worse(case: Case, score: Score, others: list[Score]) -> str:
    """The systems found better on common records than one that has the best score on its own records."""
    duels = ((other, duel(case.report, score, other)) for other in others if other is not score)
    found = [clean(other.system) for other, outcome in duels if outcome.comparison and outcome.winner == other.system]
    return (
        f"{listed(found)} {'is' if len(found) == 1 else 'are'} found better on common records"
        if found
        else "not rank 1"
    )


def _others(case: Case, systems: list[System]) -> Iterator[str]:
    """The same sentences as for the leading system for one other; combined for several, counted for many."""
    models = [system for system in systems if system.role != "baseline"]
    if len(systems) == 1:
        yield _change(case, systems[0])
        for system in models:
            yield from _uncertainty(case, system)
        return
    pairs = ((s.name, case.score(s.name, "in"), case.score(s.name, "shifted")) for s in systems)
    shifts = {clean(name): shift_of(case, inside, shifted) for name, inside, shifted in pairs if inside and shifted}
    yield from _changes(case, shifts) if len(shifts) <= MOST_OTHERS else [_counted(case, [*shifts.values()])]
    if len(systems) <= MOST_OTHERS:
        yield from _uncertainties(case, models)


def _counted(case: Case, shifts: list[Shift]) -> str:
    """The number of these systems that do worse, or better, on shifted data; zero counts are left out."""
    moved = [shift for shift in shifts if shift.told_apart is not False]
    worse, alike = sum(shift.grows for shift in moved), len(shifts) - len(moved)
    counts = [(count, how) for count, how in ((worse, "worse"), (len(moved) - worse, "better")) if count]
    doubt = DOUBT if any(shift.told_apart is None for shift in moved) else ""
    if not counts:
        return f"For none of the {alike} other systems can {case.title} in-domain and on shifted data be told apart."
    if len(counts) == 1 and not alike:
        return f"All {len(moved)} other systems do {counts[0][1]} on shifted data than in-domain{doubt}."
    told = listed([f"{count} {'does' if count == 1 else 'do'} {how}" for count, how in counts])
    rest = f"; for {alike} the two cannot be told apart" if alike else ""
    return f"Of the {len(shifts)} other systems, {told} on shifted data than in-domain{doubt}{rest}."


def _changes(case: Case, shifts: dict[str, Shift]) -> Iterator[str]:
    """The change of systems from in-domain to shifted records; one sentence for those with the same outcome."""
    what = "the share of wrong answers" if case.metric.better == "max" else case.title
    groups: dict[tuple[bool, bool, bool], dict[str, Shift]] = {}
    for name, shift in shifts.items():
        if shift.told_apart is not False:
            kind = (not shift.grows, shift.told_apart is None, shift.factor is None)
            groups.setdefault(kind, {})[name] = shift
    for (better, doubtful, _), group in sorted(groups.items()):
        factors = [_times(shift.factor) for shift in group.values() if shift.factor]
        told = f": {what} {listed(factors)} times as large" if factors else ""
        does, how = "does" if len(group) == 1 else "do", "better" if better else "worse"
        doubt = DOUBT if doubtful else ""
        yield f"{listed([*group])} {does} {how} on shifted data than in-domain{told}{doubt}."
    if alike := [name for name, shift in shifts.items() if shift.told_apart is False]:
        yield f"Of {listed(alike)}, {case.title} in-domain and on shifted data cannot be told apart."


def _uncertainties(case: Case, systems: list[System]) -> Iterator[str]:
    """Quality of the uncertainty over all records; one sentence for systems with the same outcome."""
    for metric, title in (("rejection_ratio", "rejection ratio"), ("roc_auc", "ROC-AUC")):
        told: dict[str, dict[str, str]] = {}
        for system in systems:
            if (found := _reading(case, system, metric)) is not None:
                reading, score = found
                told.setdefault(reading, {})[clean(system.name)] = case.quantity(score)
        for reading, scores in told.items():
            yield f"The uncertainty of {listed([*scores])} {reading}: {title} {listed([*scores.values()])}."


def _test_sets(case: Case, front: System) -> Iterator[str]:
    """The leading system on splits without subsets, against its in-domain records, and the leader there."""
    for split in case.report.splits:
        there = replace(case, split=split)
        whole, shifted = (there.score(front.name, subset) for subset in ("full", "shifted"))
        if split == case.split or whole is None or shifted is not None:
            continue
        inside = case.score(front.name, "in") or case.score(front.name, "full")
        against = _factor(case, shift_of(case, inside, whole)) if inside else ""
        named = (
            WHERE["in"] if inside is not None and inside.subset == "in" else f"on the {split_title(case.split)} split"
        )
        told = f"{against} as {named}" if against else ""
        led = leader(there, case.metric, "full")
        ahead = f" {extreme(case.metric)} {case.title} there: {led[0]}{led[1]}." if led else ""
        yield (
            f"On the test set {split_title(split)}: {case.title} of {clean(front.name)} {there.quantity(whole)} "
            f"({count_text(whole.n)} records){told}.{ahead}"
        )
        models = [system for system in case.report.systems if system.role in ("ensemble", "model")]
        ratios = [(system, there.score(system.name, "full", "rejection_ratio")) for system in models]
        ranked = [f"{clean(system.name)} {there.quantity(ratio)}" for system, ratio in ratios if ratio is not None]
        if ranked:
            yield f"Rejection ratio on {split_title(split)} (0 % is a random order, 100 % the best): {listed(ranked)}."


def _elsewhere(case: Case, front: System) -> Iterator[str]:
    """Baselines that beat the leading system on another split but not on this one: its lead depends on the split."""
    for split in case.report.splits:
        there = replace(case, split=split)
        for subset in ("shifted", "in") if split != case.split and front.role != "baseline" else ():
            for system in case.report.systems:
                mine, other = there.score(front.name, subset), there.score(system.name, subset)
                if system.role != "baseline" or mine is None or other is None or case.wins(system, front, subset):
                    continue
                if there.wins(system, front, subset):
                    told = _beaten(there, mine, other)
                    yield f"On the {split_title(split)} split it is otherwise: {told[0].lower()}{told[1:]}"


# --- does the uncertainty follow ------------------------------------------------------------------------------------


def _uncertainty(case: Case, system: System) -> Iterator[str]:
    name = clean(system.name) + (f" ({in_sentence(measure_title(system.measure))})" if system.measure else "")
    if (found := _reading(case, system, "rejection_ratio")) is not None:
        reading, ratio = found
        parts, alike = [case.quantity(ratio)], []
        for subset in ("in", "shifted"):
            if (score := case.score(system.name, subset, "rejection_ratio")) is not None:
                parts.append(f"{case.quantity(score)} {WHERE[subset]}")
                alike += [WHERE[subset]] if holds(score, 0.0) and not holds(ratio, 0.0) else []
        alone = f"; {listed(alike)} alone it cannot be told apart from a random order" if alike else ""
        yield (
            f"The uncertainty of {name} {reading}: rejection ratio {', '.join(parts)} "
            f"(0 % is a random order, 100 % the best there is){alone}."
        )
    if (found := _reading(case, system, "roc_auc")) is not None:
        reading, area = found
        yield f"The uncertainty of {name} {reading}: ROC-AUC {case.quantity(area)} (50 % is chance)."


def _reading(case: Case, system: System, metric: str) -> tuple[str, Score] | None:
    """A reading of the rejection ratio, or of the ROC-AUC of finding shifted records, and the score."""
    score = case.score(system.name, "full", metric)
    if score is None:
        return None
    if metric == "rejection_ratio":
        words = ("ranks errors", "ranks errors the wrong way round", "a random order")
        return _against_chance(score, 0.0, *words), score
    words = ("is higher on shifted records", "is lower on shifted records", "chance at finding shifted records")
    return _against_chance(score, 0.5, *words), score


def holds(score: Score, value: float) -> bool:
    """Whether the score's interval contains a value; False without an interval."""
    return finite(score.low) and finite(score.high) and score.low <= value <= score.high


def _against_chance(score: Score, chance: float, above: str, below: str, alike: str) -> str:
    if finite(score.low) and finite(score.high):
        if holds(score, chance):
            return f"cannot be told apart from {alike}"
        return above if score.low > chance else below
    if score.value == chance:
        return f"cannot be told apart from {alike}"
    return (above if score.value > chance else below) + ", as far as one can tell without an interval"


# --- what to keep in mind -------------------------------------------------------------------------------------------


def _cautions(case: Case) -> Iterator[str]:
    report = case.report
    yield from (f"{clean(system.name)}: {clean(system.caution)}" for system in report.systems if system.caution)
    if not any(split == case.split and subset == "shifted" for _, split, subset, _ in case.scores):
        yield "Records are not marked as in-domain and shifted, so this report cannot assess robustness to shift."
    if report.threshold is None:
        yield "No threshold for acceptable errors was given, so no F1 scores are shown."
    if few := few_clusters(case):
        yield few
    elif not any(finite(score.low) for score in report.scores):
        yield "No intervals were made: differences may be chance."
    if len(report.splits) > 1:
        yield f"All of this refers to the {split_title(case.split)} split."


def few_clusters(case: Case) -> str:
    """The subsets without intervals and tests, and the number of clusters on each side; "" if there are enough."""
    here = [score for score in case.scores.values() if score.split == case.split]
    reasons = {score.subset: score.no_interval for score in here if score.no_interval.startswith("too few")}
    if not reasons:
        return ""
    everywhere = {"in", "shifted"} <= set(reasons)
    where = "" if everywhere else f" {listed([WHERE[subset] for subset in WHERE if subset in reasons])}"
    counts = {count.subset: count for count in case.report.counts if count.split == case.split}
    sides = [counts[subset] for subset in ("in", "shifted") if subset in counts] or [*counts.values()]
    few = [count for count in sides if count.clusters is not None and count.clusters < FEWEST]
    cause = f"{_sides(few)}; at least {FEWEST} clusters are needed" if few else next(iter(reasons.values()))
    return (
        f"There are no intervals or tests{where}: {cause}. Differences{'' if everywhere else ' there'} may be chance."
    )


def _sides(counts: list[Count]) -> str:
    """The number of clusters that the records of each side come from."""
    which = {"in": "in-domain ", "shifted": "shifted "}
    told = [
        f"{count_text(count.records)} {which.get(count.subset, '')}records come from "
        f"{'one cluster' if count.clusters == 1 else f'{count.clusters} clusters'}"
        for count in counts
    ]
    return listed(told)


def listed(names: list[str]) -> str:
    """Names in a sentence: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
