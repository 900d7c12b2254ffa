"""Queries on reports shared by all renderers: headline scores, leading system and metric, and significance."""

from __future__ import annotations

import dataclasses
import functools
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, TypeGuard, TypeVar

from shiftbench.errors import CAREFUL
from shiftbench.measures import MEASURES
from shiftbench.report.content import Report
from shiftbench.scores.intervals import FEWEST
from shiftbench.scores.length import RESIDUAL
from shiftbench.scores.metric import METRICS, Metric, in_order
from shiftbench.scores.score import SUBSETS, Comparison, Score, System

LEVEL = 0.95  # of intervals and tests, if the recipe names none

_RECORD = re.compile(r"""“[^”]*”|(?<![\w/\\.'"-])([Rr])ecord(s?)(?![\w/\\'"-]|\.\w)""")
# How a column of dates was read: nothing to be warned of.
NOTE = re.compile(r"column '.*': [\d,]+ different (dates|times) were read from text such as ")
_SINGLE = str.maketrans("“”", "‘’")
_SPLIT = re.compile(r"(dev|eval)(?=[:,])")  # that a warning is about
_WORD = re.compile(r"[a-z]+(?=[ :,])")  # a first word, but no name of a file or a column such as wind_u
Key = tuple[str, str, str, str]  # system, split, subset, metric

# Errors are most informative in the unit of the target; without targets there are only the errors themselves.
HEADLINES = {"regression": ("rmse", "mean_error"), "classification": ("accuracy", "mean_error")}

WHERE = {"in": "in-domain", "shifted": "on shifted data", "full": "over all records"}
SPLITS = {"dev": "development", "eval": "evaluation", "all": "all records"}


Given = ParamSpec("Given")
Found = TypeVar("Found")


def once(query: Callable[Concatenate[Report, Given], Found]) -> Callable[Concatenate[Report, Given], Found]:
    """A query that is computed once for each report, which never changes; its other arguments are hashable."""

    @functools.wraps(query)
    def kept(report: Report, /, *given: Given.args, **named: Given.kwargs) -> Found:
        answers: dict[Any, Found] = report.__dict__.setdefault("_answers", {})
        key = (query, given, *named.items())
        if key not in answers:
            answers[key] = query(report, *given, **named)
        return answers[key]

    return kept


def clean(name: object) -> str:
    """A name on one line: runs of white space become one space, invisible and control characters are removed."""
    text = str(name)
    if not text.isprintable():
        text = "".join(char for char in text if char.isprintable() or char.isspace())
    return " ".join(text.split())


def marked(name: object) -> str:
    """A name of the user's in a sentence, in quotation marks: whatever it is, it reads as a name; pages show it bold.

    Quotation marks inside of it become single ones.
    """
    return f"“{clean(name).translate(_SINGLE)}”"


def measure_title(name: str) -> str:
    """A measure's title as in the papers; any other name unchanged."""
    if name.endswith(RESIDUAL) and name not in MEASURES:
        return f"{measure_title(name.removesuffix(RESIDUAL))}, length residual"
    return MEASURES[name].title if name in MEASURES else clean(name)


def split_title(split: str) -> str:
    """A split in words."""
    return SPLITS.get(split, clean(split))


def split_in_sentence(split: str) -> str:
    """A split in a sentence: in words, or by the name of a test set."""
    return SPLITS.get(split) or marked(split)


def finite(value: float | None) -> TypeGuard[float]:
    """Whether a value is a finite number."""
    return value is not None and math.isfinite(value)


@once
def headline_scores(report: Report) -> dict[Key, Score]:
    """The scores of the main tables: those of each system's own measure, and those that need no measure."""
    measures = {system.name: system.measure for system in report.systems}
    chosen: dict[Key, Score] = {}
    for score in report.scores:
        if score.measure in ("", measures.get(score.system)) and enough(report, score):
            chosen.setdefault((score.system, score.split, score.subset, score.metric), score)
    return chosen


def worded(text: str, report: Report) -> str:
    """A text of ours with the report's word for its records; what is in quotation marks, files and paths stay."""
    name = clean(report.records_name)

    def replaced(found: re.Match[str]) -> str:
        if found[1] is None:  # a name
            return found[0]
        word = name if found[2] else name.removesuffix("s")
        return f"{word[:1].upper()}{word[1:]}" if found[1] == "R" else word

    return text if name == "records" else _RECORD.sub(replaced, text)


@once
def too_few(report: Report, split: str) -> dict[str, int]:
    """The subsets that have fewer records than any conclusion needs, with their number."""
    return {count.subset: count.records for count in report.counts if count.split == split and count.records < FEWEST}


def enough(report: Report, score: Score | Comparison) -> bool:
    """Whether there are as many records as the metric of a score, or of a difference of scores, needs."""
    needs = METRICS[score.metric].needs
    if needs == "sides":
        return too_few(report, score.split).keys().isdisjoint(("in", "shifted"))
    return needs != "records" or score.n is None or score.n >= FEWEST


@once
def scored_metrics(report: Report, split: str) -> list[Metric]:
    """The metrics that have a score in this split, the headline first, then in the order of METRICS."""
    found = {score.metric for score in report.scores if score.split == split}
    first = headline_metric(report)
    return sorted((METRICS[name] for name in in_order(found)), key=lambda metric: metric != first)


def main_split(report: Report) -> str:
    """The split of the verdict: `eval`, or else the last one."""
    splits = report.splits or tuple(dict.fromkeys(score.split for score in report.scores))
    return "eval" if "eval" in splits or not splits else splits[-1]


@once
def lead(report: Report) -> System | None:
    """The system that the verdict describes: the first ensemble, else model, else single model, else any.

    Where tests find other models better than that one, it is the best of those that the fewest are better than.
    """
    order = ("ensemble", "model", "single", "baseline")
    first = min(report.systems, key=lambda system: order.index(system.role), default=None)
    if first is None or first.role not in order[:2]:
        return first
    ranks = _headline_ranks(report)
    models = [system for system in report.systems if system.role in order[:2] and system.name in ranks]
    if first.name not in ranks:
        return first
    least = min(rank for system in models for rank, _ in [ranks[system.name]])
    if ranks[first.name][0] == least:
        return first
    return min((system for system in models if ranks[system.name][0] == least), key=lambda own: ranks[own.name][1])


def _headline_ranks(report: Report) -> dict[str, tuple[int, float]]:
    """Systems with their rank by the headline metric, on shifted data if there are any, and their loss there."""
    metric, split = headline_metric(report), main_split(report)
    own = [score for score in report.scores if metric and (score.split, score.metric) == (split, metric.name)]
    subset = "shifted" if any(score.subset == "shifted" for score in own) else "full"
    losses = {
        score.system: score.value if METRICS[score.metric].better == "min" else -score.value
        for score in own
        if score.subset == subset and finite(score.value)
    }
    place = (split, subset, metric.name if metric else "")
    return {
        rank.system: (rank.rank, losses[rank.system])
        for rank in report.ranks
        if (rank.split, rank.subset, rank.metric) == place and rank.system in losses
    }


@once
def headline_metric(report: Report) -> Metric | None:
    """The metric of the size of the errors that is usual for this task."""
    found = {score.metric for score in report.scores}
    wanted = (*HEADLINES.get(report.task, ("rmse", "mean_error")), *METRICS)
    return next((METRICS[name] for name in wanted if name in found), None)


def complement(report: Report) -> Metric | None:
    """The score of the report that the error is the rest of: 1 − error is easier to read, and known by its name."""
    found = {score.metric for score in report.scores}
    titled = (METRICS[name] for name in sorted(found) if report.error_name == f"1 − {METRICS[name].title}")
    return next((metric for metric in titled if metric.plain), None)


def set_retention(kind: str) -> Metric | None:
    """The metric of a set with retention curves of this kind."""
    metric: Metric | None = METRICS.get(kind.removesuffix("_retention"))
    return metric if metric is not None and metric.area and kind == f"{metric.name}_retention" else None


def warning_sentence(warning: str, report: Report) -> str:
    """A warning as a sentence with a capital letter; a name that it begins with stays as it is."""
    text = clean(worded(warning, report))
    names = (*(clean(system.name) for system in report.systems), *map(clean, report.splits))
    named = text.startswith(tuple(f"{name}{end}" for name in names for end in ":, "))
    if found := _SPLIT.match(text):
        text = f"{SPLITS[found[0]].capitalize()}{text[found.end() :]}"
    elif text.startswith(CAREFUL) or (_WORD.match(text) and not named):
        text = f"{text[:1].upper()}{text[1:]}"
    return text if text.endswith((".", "?", "!")) else f"{text}."


def cautions(report: Report) -> list[str]:
    """The warnings without mere notes on how dates were read."""
    return [warning for warning in report.warnings if not NOTE.match(warning)]


def metric_title(metric: Metric, report: Report) -> str:
    """The title of a metric in this report; the mean error is titled by the name of the error."""
    return f"Mean {clean(report.error_name)}" if metric.name == "mean_error" else metric.title


def metric_unit(metric: Metric, report: Report) -> str:
    """The unit of a metric, or an empty string."""
    units = {"percent": "%", "points": "points", "target": report.target_unit, "error": report.error_unit}
    unit = units.get(metric.scale, "")
    return clean(unit) if unit else ""


def subsets_of(scores: Iterable[Score]) -> list[str]:
    """The subsets that have a score, in-domain first."""
    found = {score.subset for score in scores}
    return [subset for subset in SUBSETS if subset in found]


@once
def gaps(report: Report, split: str) -> dict[str, dict[str, tuple[int, int]]]:
    """Systems that lack answers: system → subset → the number of records scored, and of all records."""
    counts = {count.subset: count.records for count in report.counts if count.split == split}
    scored: dict[str, dict[str, int]] = {}
    for score in report.scores:
        if score.split == split and score.subset in counts:
            scored.setdefault(score.system, {})[score.subset] = score.n
    return {
        system: {subset: (found.get(subset, 0), records) for subset, records in counts.items()}
        for system, found in scored.items()
        if any(found.get(subset, 0) < records for subset, records in counts.items())
    }


def answered(report: Report, split: str, system: str) -> str:
    """Records of a split that a system with gaps answers, such as ", 9,342 of 9,513 records"; else empty."""
    n, records = gaps(report, split).get(system, {}).get("full", (0, 0))
    return f", {n:,} of {records:,} records" if n < records else ""


@dataclass(frozen=True)
class Duel:
    """Which of two systems is better; `winner` is None if neither is.

    sure: whether a paired test or intervals show it, not only the two values.
    """

    winner: str | None
    sure: bool = True
    comparison: Comparison | None = None  # turned so that difference = first - second


def level(report: Report) -> float:
    """The confidence level of the report's intervals and tests."""
    made = report.recipe.get("intervals")
    named = made.get("level") if isinstance(made, dict) else None
    return named if isinstance(named, float) and 0 < named < 1 else LEVEL


def testable(report: Report, split: str) -> bool:
    """Whether there are enough replicates for any adjusted p to fall below the level."""
    made = report.recipe.get("intervals")
    made = made if isinstance(made, dict) else {}
    used, replicates = made.get("used"), made.get("replicates")
    if not isinstance(replicates, int) or (isinstance(used, dict) and used.get(split) == "normal"):
        return True
    mine = [entry for entry in report.comparisons if entry.split == split]
    by_holm = any(entry.adjusted_by == "Holm" for entry in mine)
    pairs = len({frozenset((entry.a, entry.b)) for entry in mine}) if by_holm else 1
    return pairs / (replicates + 1) < 1 - level(report)


def resolved(report: Report, comparison: Comparison) -> bool:
    """Whether there are enough replicates for a p-value. Where no replicate speaks against a difference only an upper
    bound is known: 1/(replicates + 1), which Holm's method multiplies by up to the number of pairs."""
    made = report.recipe.get("intervals")
    replicates = made.get("replicates") if isinstance(made, dict) else None
    if not isinstance(replicates, int) or comparison.adjusted_by != "Holm":
        return True
    return abs(comparison.p * (replicates + 1) - 1) > 1e-6


def separated(report: Report, comparison: Comparison) -> bool:
    """Whether a paired comparison is significant: by its adjusted p, or by its interval."""
    if finite(comparison.p_adjusted):
        return comparison.p_adjusted < 1 - level(report)
    return comparison.low > 0 or comparison.high < 0


def paired(report: Report, place: Key, other: str) -> Comparison | None:
    """The comparison of two systems for one split, subset and metric, with difference = system - other."""
    system, *where = place
    for entry in report.comparisons:
        if [entry.split, entry.subset, entry.metric] == where and {entry.a, entry.b} == {system, other}:
            if entry.a == system:
                return entry
            low, high = -entry.high, -entry.low
            return dataclasses.replace(entry, a=system, b=other, difference=-entry.difference, low=low, high=high)
    return None


def duel(report: Report, first: Score, second: Score) -> Duel:
    """Which of two scores is better: by the paired test if there is a usable one, else by disjoint intervals."""
    # The mean error ranks systems as the headline metric does, so its test can replace a missing one.
    for name in (first.metric, "mean_error") if testable(report, first.split) else ():
        found = paired(report, (first.system, first.split, first.subset, name), second.system)
        if found is not None and not found.no_interval:
            first_wins = (found.difference < 0) == (METRICS[name].better == "min")
            winner = first.system if first_wins else second.system
            return Duel(winner if separated(report, found) else None, comparison=found)
    (low, high), (other_low, other_high) = _ends(first), _ends(second)
    if max(low, other_low) <= min(high, other_high) or first.value == second.value:
        return Duel(None)
    first_wins = (first.value < second.value) == (METRICS[first.metric].better == "min")
    return Duel(first.system if first_wins else second.system, finite(first.low) or finite(second.low))


def _ends(score: Score) -> tuple[float, float]:
    """The ends of the interval; a score without one counts as a point."""
    if finite(score.low) and finite(score.high):
        return score.low, score.high
    return score.value, score.value


def best(report: Report, scores: Sequence[Score]) -> set[str]:
    """The systems of rank 1 among these scores of one split, subset and metric.

    No adjusted paired test finds any system better than one of these. A score without a test (of single models,
    without intervals, or with too few replicates for any test to find anything) is never among them.
    """
    if not scores or not testable(report, scores[0].split):
        return set()
    place = (scores[0].split, scores[0].subset, scores[0].metric)
    first = {
        entry.system for entry in report.ranks if (entry.split, entry.subset, entry.metric) == place and entry.rank == 1
    }
    return first & {score.system for score in scores}


def bold(report: Report, scores: Sequence[Score]) -> set[str]:
    """The systems that tables show in bold: the best value of those of rank 1, and others of them within its interval.

    Rank 1 alone would not do: with few clusters or replicates a test tells hardly any two systems apart.
    """
    first = best(report, scores)
    mine = [score for score in scores if score.system in first and finite(score.value)]
    if not mine:
        return set()
    top = (max if METRICS[mine[0].metric].better == "max" else min)(mine, key=lambda score: score.value)
    low, high = _ends(top)
    return {score.system for score in mine if low <= score.value <= high}
