"""The verdict: every sentence of the first screen, and what there is to say beyond it; no more than tests support."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shiftbench.report.case import (
    UNTESTED,
    Case,
    Interval,
    Shift,
    extreme,
    holds,
    in_sentence,
    leader,
    listed,
    numbers,
    shift_of,
)
from shiftbench.report.content import Report
from shiftbench.report.digits import count_text, digits_of, half_width, of_difference, p_in_sentence
from shiftbench.report.front import calibration as front_calibration
from shiftbench.report.front import screen
from shiftbench.report.view import (
    WHERE,
    clean,
    duel,
    finite,
    headline_metric,
    headline_scores,
    lead,
    main_split,
    marked,
    measure_title,
    metric_title,
    resolved,
    split_in_sentence,
    split_title,
    too_few,
    worded,
)
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import Score, System

MOST_OTHERS = 4  # systems besides the leading one that get their own sentences
DOUBT = "; without intervals this may be chance"


def verdict(report: Report) -> list[str]:
    """The conclusions, most important first, as plain sentences without markup."""
    answers, cautions = screen.every_finding(report)
    # The details say more of splits and ranks.
    front = [each.line for each in (*answers, *cautions) if each.kind not in ("splits", "ranks")]
    return [*front, *(worded(line, report) for line in _details(report))]


def _details(report: Report) -> Iterator[str]:
    """All sentences that the first screen has no place for."""
    first, metric = lead(report), headline_metric(report)
    if first is None or metric is None:
        return
    case = Case(report, main_split(report), metric, headline_scores(report))
    others = [system for system in report.systems if system.name != first.name and system.role != "single"]
    if not too_few(report, case.split):
        yield from _baselines(case, first)
        yield from _one_side(case, first)
        yield from _promised(case, first)
        yield from front_calibration.further(case, first)
        yield from _better_measure(case, first)
        yield from _leaders(case)
        yield from _others(case, others)
    yield from _test_sets(case, first)
    yield from (f"{marked(system.name)}: {clean(system.caution)}" for system in others if system.caution)
    if report.threshold is None:
        yield "No threshold for acceptable errors was given, so there is no F1 of acceptable answers (F1-AUC, F1@95%)."
    if len(report.splits) > 1:
        yield f"Unless another split is named, all of this refers to the {split_title(case.split)} split."


# --- from in-domain to shifted --------------------------------------------------------------------------------------


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


# --- what predictions promise ---------------------------------------------------------------------------------------


def _promised(case: Case, system: System) -> Iterator[str]:
    """The likelihood of a system's predictions, and the mean width of its intervals."""
    coverage = front_calibration.coverage_of({key[3] for key in case.scores if key[:2] == (system.name, case.split)})
    whats = {"nll": "NLL"}
    if coverage:
        width = coverage.replace("coverage_", "width_")
        whats[width] = f"mean width of its {100 * METRICS[coverage].nominal:.10g} % intervals"
    sides = ("in", "shifted") if any(key[1:3] == (case.split, "shifted") for key in case.scores) else ("full",)
    parts = []
    for name, what in whats.items():
        scores = [score for side in sides if (score := case.score(system.name, side, name)) is not None]
        if scores:
            parts.append(f"{what} {listed([f'{case.quantity(score)} {WHERE[score.subset]}' for score in scores])}")
    if parts:
        yield f"{marked(system.name)} has {'; '.join(parts)}."


def _better_measure(case: Case, system: System) -> Iterator[str]:
    """Another measure of the same predictions with an R-AUC over all records below the interval of the one that the
    report is about; others have no intervals of their own."""
    place = (system.name, case.split, "full", "r_auc")
    mine = case.score(system.name, "full", "r_auc")
    known = {*system.measures}
    every = [
        each
        for each in case.report.scores
        if (each.system, each.split, each.subset, each.metric) == place and each.measure in known
    ]
    other = min((each for each in every if finite(each.value)), key=lambda each: each.value, default=None)
    if mine is None or other is None or not (finite(mine.low) and other.value < mine.low):
        return
    yield (
        f"Of the measures of {marked(system.name)}, {in_sentence(measure_title(other.measure))} ranks its errors best: "
        f"R-AUC {numbers(case.digits('r_auc'), other)} over all records against {case.quantity(mine)} by "
        f"{in_sentence(measure_title(system.measure))}{'' if finite(other.high) else DOUBT}."
    )


# --- systems against each other -------------------------------------------------------------------------------------


def _baselines(case: Case, front: System) -> Iterator[str]:
    if front.role == "baseline":
        return
    places: dict[str, list[str]] = {}  # of the same outcome on several subsets
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
                groups[verb if outcome.sure else "is ahead of"].append(marked(system.name) + partly)
        parts = [
            f"{verb} the baseline{'s' * (len(group) > 1)} {listed(group)}" for verb, group in groups.items() if group
        ]
        if parts:
            places.setdefault(" and ".join(parts), []).append(WHERE[subset])
    for outcomes, where in places.items():
        yield f"By {case.title}, {marked(front.name)} {outcomes} {listed(where)}."


def _beaten(case: Case, mine: Score, other: Score) -> str:
    outcome = duel(case.report, mine, other)
    sentence = (
        f"The baseline {marked(other.system)} {'beats' if outcome.sure else 'is ahead of'} {marked(mine.system)} "
        f"{WHERE[mine.subset]}: {case.title} {numbers(case.digits(), other)}{case.partly(other)} against "
        f"{case.quantity(mine)}"
    )
    found = outcome.comparison
    if found is None:
        return f"{sentence}{'' if outcome.sure else DOUBT}."
    title = metric_title(METRICS[found.metric], case.report)
    of = "" if found.metric == case.metric.name else f" of the {title[:1].lower()}{title[1:]}"
    digits = of_difference(case.digits(found.metric))
    by = " ".join(digits.cell(found.difference, low=found.low, high=found.high))
    p = p_in_sentence(found.p_adjusted, known=resolved(case.report, found))
    both = " on the records that both have" if case.partly(other) or case.partly(mine) else ""
    return f"{sentence} (paired difference{of}{both} {f'{by} {digits.unit}'.rstrip()}, adjusted {p})."


def _leaders(case: Case) -> Iterator[str]:
    """The leader by the headline metric and, if there are several models, by the joint metrics."""
    shifted = any(key[2] == "shifted" for key in case.scores)
    roles = sorted(system.role for system in case.report.systems if system.role != "single")
    against_one = len(roles) == 2 and roles.count("baseline") == 1  # which of the two leads is told already
    for subset in ("shifted", "in") if shifted else ("full",):
        if not against_one and (found := leader(case, case.metric, subset)):
            top, rest = found
            yield f"{extreme(case.metric)} {case.title} {WHERE[subset]}: {top}{rest}."
    if sum(system.role in ("ensemble", "model") for system in case.report.systems) < 2:
        return
    for metric in (METRICS["r_auc"], METRICS["f1_auc"]):
        subsets = ("in", "shifted", "full") if shifted else ("full",)
        led = [
            (subset, found)
            for subset in subsets
            if not _all_equal(case, metric.name, subset) and (found := leader(case, metric, subset))
        ]
        title = f"{extreme(metric)} {in_sentence(metric_title(metric, case.report))}"
        rests = {rest for _, (_, rest) in led}
        if len(rests) == 1:
            rest = "".join(rests)
            rest = rest if rest == UNTESTED or len(led) == 1 else rest.replace("; ", "; each time ", 1)
            yield f"{title}: {'; '.join(f'{WHERE[subset]} {top}' for subset, (top, _) in led)}{rest}."
        elif led:
            leaders = ". ".join(f"{WHERE[subset].capitalize()} {top}{rest}" for subset, (top, rest) in led)
            yield f"{title}: {in_sentence(leaders)}."


def _all_equal(case: Case, metric: str, subset: str) -> bool:
    """Whether every system has the same score, so that none leads."""
    found = (case.score(system.name, subset, metric) for system in case.report.systems if system.role != "single")
    return len({score.value for score in found if score is not None}) == 1


def _others(case: Case, systems: list[System]) -> Iterator[str]:
    """How other systems moved under shift and what their uncertainty does; counted if they are many."""
    models = [system for system in systems if system.role != "baseline"]
    pairs = ((s.name, case.score(s.name, "in"), case.score(s.name, "shifted")) for s in systems)
    shifts = {marked(name): shift_of(case, inside, shifted) for name, inside, shifted in pairs if inside and shifted}
    if shifts:
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
        return f"None of the {alike} other systems changes significantly under shift ({case.title})."
    if len(counts) == 1 and not alike:
        return f"All {len(moved)} other systems do {counts[0][1]} on shifted data than in-domain{doubt}."
    moves = listed([f"{count} {'does' if count == 1 else 'do'} {how}" for count, how in counts])
    rest = f"; {alike} {'does' if alike == 1 else 'do'} not change significantly" if alike else ""
    return f"Of the {len(shifts)} other systems, {moves} on shifted data than in-domain{doubt}{rest}."


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
        how_much = f": {what} {listed(factors)} times as large" if factors else ""
        does, how = "does" if len(group) == 1 else "do", "better" if better else "worse"
        doubt = DOUBT if doubtful else ""
        yield f"{listed([*group])} {does} {how} on shifted data than in-domain{how_much}{doubt}."
    if alike := [name for name, shift in shifts.items() if shift.told_apart is False]:
        changes = f"do{'es' * (len(alike) == 1)} not change significantly"
        yield f"Under shift {listed(alike)} {changes} ({case.title})."


def _uncertainties(case: Case, systems: list[System]) -> Iterator[str]:
    """Quality of the uncertainty over all records; one sentence for systems with the same outcome."""
    for metric, title in (("rejection_ratio", "rejection ratio"), ("roc_auc", "ROC-AUC")):
        by_reading: dict[str, dict[str, str]] = {}
        for system in systems:
            if (found := _reading(case, system, metric)) is not None:
                reading, score = found
                by_reading.setdefault(reading, {})[marked(system.name)] = case.quantity(score)
        for reading, scores in by_reading.items():
            yield f"The uncertainty of {listed([*scores])} {reading}: {title} {listed([*scores.values()])}."


def _test_sets(case: Case, front: System) -> Iterator[str]:
    """The leading system on splits without subsets, against its in-domain records, and the leader there."""
    for split in case.report.splits:
        there = replace(case, split=split)
        whole, shifted = (there.score(front.name, subset) for subset in ("full", "shifted"))
        if split == case.split or whole is None or shifted is not None:
            continue
        inside = case.score(front.name, "in") or case.score(front.name, "full")
        few = {**too_few(case.report, case.split), **too_few(case.report, split)}
        against = _factor(case, shift_of(case, inside, whole)) if inside and not few else ""
        named = (
            WHERE["in"] if inside is not None and inside.subset == "in" else f"on the {split_title(case.split)} split"
        )
        beside = f"{against} as {named}" if against else ""
        led = None if few else leader(there, case.metric, "full")
        ahead = f" {extreme(case.metric)} {case.title} there: {led[0]}{led[1]}." if led else ""
        yield (
            f"On the test set {marked(split)}: {case.title} of {marked(front.name)} {there.quantity(whole)} "
            f"({count_text(whole.n)} {clean(case.report.records_name)}){beside}.{ahead}"
        )
        models = [system for system in case.report.systems if system.role in ("ensemble", "model")]
        ratios = [(system, there.score(system.name, "full", "rejection_ratio")) for system in models]
        ranked = [f"{marked(system.name)} {there.quantity(ratio)}" for system, ratio in ratios if ratio is not None]
        if ranked:
            where = split_in_sentence(split)
            yield f"Rejection ratio on {where} (0 % is a random order, 100 % the best): {listed(ranked)}."


# --- does the uncertainty follow ------------------------------------------------------------------------------------


def _one_side(case: Case, system: System) -> Iterator[str]:
    """A sentence if the uncertainty ranks errors over all records, but not on one side of the shift alone."""
    whole = case.score(system.name, "full", "rejection_ratio")
    sides = {side: case.score(system.name, side, "rejection_ratio") for side in ("in", "shifted")}
    alike = [WHERE[side] for side, score in sides.items() if score is not None and holds(score, 0.0)]
    if alike and whole is not None and not holds(whole, 0.0):
        told = f"alone the uncertainty of {marked(system.name)} ranks errors no better than chance."
        yield f"{listed(alike)[:1].upper()}{listed(alike)[1:]} {told}"


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


def _against_chance(score: Score, chance: float, above: str, below: str, alike: str) -> str:
    if finite(score.low) and finite(score.high):
        if holds(score, chance):
            return f"cannot be told apart from {alike}"
        return above if score.low > chance else below
    if score.value == chance:
        return f"cannot be told apart from {alike}"
    return (above if score.value > chance else below) + ", as far as one can tell without an interval"
