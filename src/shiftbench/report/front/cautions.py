"""What to beware of, in words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from shiftbench.errors import CAREFUL, MARKED_ALIKE
from shiftbench.report.case import Case, few_clusters, listed, loss, named
from shiftbench.report.digits import Digits
from shiftbench.report.front.finding import Finding
from shiftbench.report.front.rivals import best_score
from shiftbench.report.view import WHERE, clean, finite, marked, split_in_sentence, too_few
from shiftbench.scores.intervals import FEW, FEWEST
from shiftbench.scores.score import Leak, System


def of_report(case: Case, front: System) -> Iterator[Finding]:
    """What changes how the scores are to be read, the most serious first."""
    for leak in case.report.leaks:
        if leak.split == case.split and (text := _leak(case, front, leak)):
            yield Finding(text, "counts", careful=True)
    if front.caution:
        text = clean(front.caution).rstrip(".")
        yield Finding(f"{text[:1].lower()}{text[1:]}.", "systems", careful=True)
    for warning in case.report.warnings:
        split, grave, text = clean(warning).rpartition(CAREFUL)
        if grave and split in ("", f"{case.split}: "):
            yield Finding(f"{text.rstrip('.')}.", "warnings", careful=True)
    if too_few(case.report, case.split):
        pass  # this is what the first sentence is about
    elif text := few_clusters(case):
        yield Finding(f"{text[:1].lower()}{text[1:]}", "counts", careful=True)
    elif not any(finite(score.low) for score in case.scores.values()):
        yield Finding("no intervals were made, so differences may be chance.", "answers", careful=True)
    elif text := _short_intervals(case):
        yield Finding(text, "counts", careful=True)
    yield from _elsewhere(case, front)
    if case.compared_subset == "full" and not any(MARKED_ALIKE in warning for warning in case.report.warnings):
        text = "records are not marked as in-domain and shifted, so this says nothing about robustness."
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
    text = "intervals may be too short and p-values too small: there are only"
    return f"{text} {listed(few)} (at least {FEW} are expected)." if few else ""


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
    return f"in-domain is probably too good, as {shared}; with these kept apart it would be about {about}."


def _elsewhere(case: Case, front: System) -> Iterator[Finding]:
    """Baselines that beat the leading system on another split, though not here: its lead depends on the split."""
    for split in case.report.splits if front.role != "baseline" else ():
        there, values_of = replace(case, split=split), dict[str, list[str]]()
        for subset in ("shifted", "in") if there.compared_subset == "shifted" else ("full",):
            baselines = [system for system in case.report.systems if system.role == "baseline"]
            mine, other = there.score(front.name, subset), best_score(there, baselines, subset)
            if split == case.split or mine is None or other is None or too_few(case.report, split):
                continue
            if there.wins(other.system, front.name, subset) and not case.wins(other.system, front.name, subset):
                values = f"{WHERE[subset]}, {there.digits().text(other.value)} against {there.plain(mine)}"
                values_of.setdefault(other.system, []).append(values)
        for name, where in values_of.items():
            rivals = f"the baseline {named(name)} beats {named(front.name)} by {case.title}"
            yield Finding(f"on {split_in_sentence(split)} {rivals} {', and '.join(where)}.", "answers", careful=True)
