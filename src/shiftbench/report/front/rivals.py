"""Whether anything is as good, in words: simpler systems, other models, other test sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shiftbench.report.case import Case, extreme, in_sentence, interval, leader, listed, named
from shiftbench.report.content import Report
from shiftbench.report.digits import metric_digits, of_difference, p_in_sentence
from shiftbench.report.front.finding import Finding
from shiftbench.report.front.uncertainty import measure_phrase
from shiftbench.report.view import WHERE, duel, marked, metric_title, testable, too_few
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import Score, System


def best_score(case: Case, systems: list[System], subset: str) -> Score | None:
    """The best score of these systems on a subset."""
    found = [score for system in systems if (score := case.score(system.name, subset)) is not None]
    return (min if case.metric.better == "min" else max)(found, key=lambda score: score.value, default=None)


def simpler(case: Case, front: System) -> Iterator[Finding]:
    """The leading system against the best baseline by the headline metric, and what R-AUC says if it disagrees."""
    subset = case.compared_subset
    baselines = [system for system in case.report.systems if system.role == "baseline" and system.name != front.name]
    mine, other = case.score(front.name, subset), best_score(case, baselines, subset)
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


def models(case: Case) -> Iterator[Finding]:
    """The best of several models, and those that share its rank."""
    models = [system for system in case.report.systems if system.role in ("ensemble", "model")]
    if len(models) < 2 or _is_pair(case):
        return
    subset = case.compared_subset
    if (found := leader(case, case.metric, subset, tell=case.told)) is not None:
        best, rest = f"{extreme(case.metric).lower()} {case.title} {WHERE[subset]}", "".join(found)
        baselines = " and the baselines" if any(system.role == "baseline" for system in case.report.systems) else ""
        yield Finding(f"Of {len(models)} models{baselines}, {best}: {rest}.", "ranks")


def is_comparison(report: Report) -> bool:
    """Whether which model is better was the question, as of the command `compare`: then it is answered first."""
    return report.recipe.get("command") == "compare"


def _is_pair(case: Case) -> bool:
    return len([system for system in case.report.systems if system.role != "single"]) == 2 and all(
        system.role in ("model", "ensemble", "single") for system in case.report.systems
    )


def pair(case: Case) -> Iterator[Finding]:
    """Which of two models is better, by which scores, in one sentence."""
    if not _is_pair(case):
        return
    first, second = (system.name for system in case.report.systems if system.role != "single")
    won: dict[str, list[str]] = {first: [], second: []}
    alike, told = [], False
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
        score_text = title
        if (paired := outcome.comparison) is not None and METRICS[paired.metric].name == metric.name:
            digits = of_difference(metric_digits(case.report, metric, case.split))
            low, high = (paired.low, paired.high) if paired.difference > 0 else (-paired.high, -paired.low)
            number = f"{digits.text(abs(paired.difference))} {digits.unit}".rstrip()
            p = p_in_sentence(paired.p_adjusted)
            ends = interval(case.report, low, high, digits, again=told)
            score_text, told = f"{number} in {in_sentence(title)} ({ends}; {p})", True
        won[outcome.winner].append(score_text)
    says = [f"{named(name)} is better by {' and by '.join(scores)}" for name, scores in won.items() if scores]
    if alike:
        whom = "them" if says else f"{named(first)} and {named(second)}"
        says.append(f"{'in' if says else 'In'} {' and '.join(alike)} no test tells {whom} apart")
    if says:
        yield Finding(f"{'; '.join(says)}.{_different_measures(case, first, second)}", "comparisons")


def _different_measures(case: Case, first: str, second: str) -> str:
    """A sentence where two models are compared by different measures of uncertainty; "" where by the same one."""
    measures = {system.name: system.measure for system in case.report.systems}
    one, other = (measure_phrase(measures[name])[2:-1] for name in (first, second))
    if not one or not other or one == other:
        return ""
    return f" Their uncertainties are different measures: {one} of {named(first)}, {other} of {named(second)}."


def test_sets(case: Case, front: System) -> Iterator[Finding]:
    """The leading system on further test sets."""
    by_set = {}
    for split in case.report.splits:
        there = replace(case, split=split)
        whole = there.score(front.name, "full")
        if split != case.split and whole is not None and there.score(front.name, "shifted") is None:
            by_set[split] = there.plain(whole)
    what = f"{case.title} of {named(front.name)}"
    what = f"{what[:1].upper()}{what[1:]}"
    if len(by_set) == 1:
        yield Finding(
            "".join(f"{what} is {value} on the test set {marked(name)}." for name, value in by_set.items()), "splits"
        )
    elif by_set:
        sets = listed([f"{marked(name)} {value}" for name, value in [*by_set.items()][:3]])
        yield Finding(f"{what} on further test sets: {sets}.", "splits")
