"""Whether anything is as good, in words: simpler systems, other models, other test sets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shiftbench.report.case import Case, extreme, in_sentence, interval, leader, listed, named
from shiftbench.report.content import Report
from shiftbench.report.digits import metric_digits, of_difference, p_in_sentence
from shiftbench.report.front.finding import Finding
from shiftbench.report.front.uncertainty import measure_phrase
from shiftbench.report.view import WHERE, Duel, duel, finite, marked, metric_title, resolved, testable, too_few
from shiftbench.scores.metric import METRICS, Metric
from shiftbench.scores.score import Comparison, Score, System


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
    which = f"the baseline {name}"
    if mine.value == other.value:
        text = f"Something simpler is as good: {which} has the same {case.title} {where}, {case.plain(other)}"
        yield Finding(f"{text}{_otherwise(case, front, other.system, None)}.", "comparisons")
        return
    partly = [case.partly(score) for score in (other, mine)]
    theirs, ours = ("," * bool(each) + each for each in partly)
    value = f"has {case.title} {case.plain(other)} {where}{theirs}"
    better = f"No baseline is as good: the best, {name},"
    if len(baselines) == 1:
        better = f"The baseline {name} is not as good: it"
    against = f"{which} {value} against {case.plain(mine)}{ours}"
    text = {
        front.name: f"{better} {value}",
        other.system: f"Something simpler is better: {against}",
        None: f"Something simpler is as good, as far as one can tell: {against}",
    }[outcome.winner]
    tested = _tested(case, outcome, " on common records" if any(partly) else "")
    yield Finding(f"{text}{tested}{_otherwise(case, front, other.system, outcome.winner)}.", "comparisons")


def _tested(case: Case, outcome: Duel, among: str) -> str:
    """The paired test behind an outcome in brackets: the interval of the difference, if it is one of the headline
    metric, and p; "" where only the intervals of the two scores are known. among: which records both answer."""
    found = outcome.comparison
    if found is None:
        return "" if outcome.sure else " (not tested)"
    p = _p(case, found) if finite(found.p_adjusted) else ""
    ends = ""
    if found.metric == case.metric.name and outcome.winner is not None:
        digits = of_difference(case.digits())
        low, high = (found.low, found.high) if found.difference > 0 else (-found.high, -found.low)
        ends = interval(case.report, low, high, digits, f" of the difference{among}")
    among = "" if ends else among
    words = [each for each in (ends, f"{p}{among}" if p else "") if each]
    return f" ({'; '.join(words)})" if words else ""


def _p(case: Case, found: Comparison) -> str:
    return p_in_sentence(found.p_adjusted, known=resolved(case.report, found))


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


def models(case: Case, front: System) -> Iterator[Finding]:
    """The best of several models, those that share its rank, and one that is better than the leading one by R-AUC."""
    models = [system for system in case.report.systems if system.role in ("ensemble", "model")]
    if len(models) < 2 or _is_pair(case):
        return
    subset = case.compared_subset
    if (found := leader(case, case.metric, subset, tell=case.told)) is not None:
        best, rest = f"{extreme(case.metric).lower()} {case.title} {WHERE[subset]}", "".join(found)
        simple = sum(system.role == "baseline" for system in case.report.systems)
        baselines = f" and the baseline{'s' * (simple > 1)}" if simple else ""
        jointly = _jointly_better(case, front, models)
        yield Finding(
            f"Of {len(models)} models{baselines}, {best}: {rest}{jointly}.", ("ranks", "comparisons")[bool(jointly)]
        )


def _jointly_better(case: Case, front: System, models: list[System]) -> str:
    """The best by R-AUC of the models that a paired test finds better by it than the leading one; "" if none is."""
    metric = METRICS["r_auc"]
    mine = case.score(front.name, "full", metric.name)
    if mine is None or case.metric is metric:
        return ""
    found = list[tuple[float, str, Comparison]]()
    for model in models:
        if model.name != front.name and (theirs := case.score(model.name, "full", metric.name)) is not None:
            tested = duel(case.report, mine, theirs)
            if tested.winner == model.name and tested.comparison and tested.comparison.metric == metric.name:
                found.append((theirs.value, model.name, tested.comparison))
    if not found:
        return ""
    _, name, comparison = min(found, key=lambda each: each[0])
    title = in_sentence(metric_title(metric, case.report))
    return f"; by {title} {WHERE['full']} {named(name)} is better than {named(front.name)} ({_p(case, comparison)})"


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
    won: dict[str, list[str]] = {}  # by the order of the scores
    alike, same = list[str](), list[str]()
    compared = {entry.metric for entry in case.report.comparisons}
    further = [METRICS[name] for name in ("pinball",) if name in compared]
    for metric in (METRICS["r_auc"], case.metric, *further, METRICS["f1_auc"]):
        ours, theirs = (case.score(name, "full", metric.name) for name in (first, second))
        if ours is None or theirs is None:
            continue
        outcome, title = duel(case.report, ours, theirs), in_sentence(metric_title(metric, case.report))
        if metric.name == "f1_auc" and (not outcome.sure or {outcome.winner} <= {None, *won}):
            continue  # further scores are told where they say something else
        if outcome.winner is None:
            (same if ours.value == theirs.value else alike).append(title)
        else:
            told = any("interval" in text for texts in won.values() for text in texts)
            won.setdefault(outcome.winner, []).append(_lead_text(case, metric, outcome, again=told))
    if text := _pair_text((first, second), won, alike, same):
        yield Finding(f"{text}.{_different_measures(case, first, second)}", "comparisons")


def _lead_text(case: Case, metric: Metric, outcome: Duel, *, again: bool) -> str:
    """By how much a system is better: 0.64 °C in RMSE (95 % interval 0.02 to 1.26; p = 0.047)."""
    title, paired = in_sentence(metric_title(metric, case.report)), outcome.comparison
    if paired is None or paired.metric != metric.name:
        return title if outcome.sure else f"{title} (not tested)"
    digits = of_difference(metric_digits(case.report, metric, case.split))
    low, high = (paired.low, paired.high) if paired.difference > 0 else (-paired.high, -paired.low)
    number = f"{digits.text(abs(paired.difference))} {digits.unit}".rstrip()
    ends = interval(case.report, low, high, digits, again=again)
    return f"{number} in {title} ({ends}; {_p(case, paired)})"


def _pair_text(names: tuple[str, str], won: dict[str, list[str]], alike: list[str], same: list[str]) -> str:
    """Which of two systems is better by which scores; by which they cannot be told apart, and which are the same."""
    first, second = names
    both, where = f"{named(first)} and {named(second)}", WHERE["full"]
    says = ""
    for name, scores in won.items():
        than = "" if says else f" than {named(second if name == first else first)} {where}"
        says += f"{', but ' * bool(says)}{named(name)} is better{than} by {' and by '.join(scores)}"
    if alike:
        by = listed(alike)
        says += f"; by {by} they cannot be told apart" if says else f"By {by} {both} cannot be told apart {where}"
    if same:
        what = f"have the same {listed(same)}"
        says += f"; they {what}" if says else f"{both} {what} {where}"
    return says


def _different_measures(case: Case, first: str, second: str) -> str:
    """A sentence where two models are compared by different measures of uncertainty; "" where by the same one."""
    systems = {system.name: system for system in case.report.systems}
    one, other = (systems[name] for name in (first, second))
    if not one.measure or not other.measure or one.measure == other.measure:
        return ""
    phrases = (f"{measure_phrase(each)[2:-1] or 'given values'} of {named(each.name)}" for each in (one, other))
    return f" Their uncertainties are different measures: {', '.join(phrases)}."


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
