"""What sentences about a report are made of: its scores, how they moved under shift, who leads, names and lists."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from shiftbench.report.content import Report
from shiftbench.report.digits import Digits, count_text, metric_digits
from shiftbench.report.view import WHERE, Key, best, clean, duel, finite, level, marked, metric_title
from shiftbench.scores.intervals import FEW, FEWEST
from shiftbench.scores.metric import METRICS, Metric
from shiftbench.scores.score import Count, Score

MOST_NAMED = 3  # systems that a list names
LONGEST_NAME = 40  # characters of a system's name in a sentence
UNTESTED = "; without a test this may be chance"


@dataclass(frozen=True)
class Case:
    """The input of every sentence: the report, its main split, its headline metric and the scores."""

    report: Report
    split: str
    metric: Metric
    scores: dict[Key, Score]

    @property
    def compared_subset(self) -> str:
        """Where systems are compared: on shifted data, if there are any."""
        return "shifted" if any(key[1] == self.split and key[2] == "shifted" for key in self.scores) else "full"

    def score(self, system: str, subset: str, metric: str | None = None) -> Score | None:
        """A score of this split, by default of the headline metric; None if it is missing or no number."""
        found = self.scores.get((system, self.split, subset, metric or self.metric.name))
        return found if found is not None and finite(found.value) else None

    def digits(self, metric: str | None = None) -> Digits:
        """The format of a metric in this split."""
        return metric_digits(self.report, METRICS[metric or self.metric.name], self.split)

    def wins(self, system: str, over: str, subset: str) -> bool:
        """Whether a system is ahead of another on a subset of this split."""
        ours, theirs = self.score(system, subset), self.score(over, subset)
        return ours is not None and theirs is not None and duel(self.report, theirs, ours).winner == system

    def quantity(self, score: Score) -> str:
        """A score with its interval and unit."""
        digits = self.digits(score.metric)
        return f"{numbers(digits, score)} {digits.unit}".rstrip()

    def told(self, score: Score, where: str = "", *, again: bool = False) -> str:
        """A score with its unit, where it was found, and its interval in words: 3.1 min (95 % interval 2.9 to 3.3).

        again: whether the sentence has called such numbers an interval before.
        """
        if not (finite(score.low) and finite(score.high)):
            return f"{self.quantity(score)}{where}"
        digits = self.digits(score.metric)
        text, _ = digits.cell(score.value, low=score.low, high=score.high)
        ends = interval(self.report, score.low, score.high, digits, again=again)
        return f"{text}{f' {digits.unit}'.rstrip()}{where} ({ends})"

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


def interval(report: Report, low: float, high: float, digits: Digits, of: str = "", *, again: bool = False) -> str:
    """An interval in words: 95 % interval 2.9 to 3.3.

    of: what it is an interval of, where that could be taken for something else: " of the factor". again: whether the
    sentence has had one, so that the numbers are enough.
    """
    ends = f"{digits.text(low)} to {digits.text(high)}"
    return ends if again else f"{100 * level(report):g} % interval{of} {ends}"


def named(name: str) -> str:
    """A system's name in a sentence: long ones lose their middle."""
    whole = clean(name)
    long = len(whole) > LONGEST_NAME
    return marked(f"{whole[: LONGEST_NAME // 2]}…{whole[-LONGEST_NAME // 2 :]}" if long else whole)


def in_sentence(title: str) -> str:
    """A title as written inside a sentence."""
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def numbers(digits: Digits, score: Score) -> str:
    """A score with its interval or deviation, without its unit."""
    return " ".join(digits.cell(score.value, low=score.low, high=score.high, std=score.std)).rstrip()


Interval = tuple[float, float, float]  # value, low, high; NaN where there is no interval


@dataclass(frozen=True)
class Shift:
    """The growth of the loss under shift: the factor with its interval, and whether there is any."""

    factor: Interval | None
    grows: bool
    told_apart: bool | None  # None without intervals


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


def extreme(metric: Metric) -> str:
    """The word for the best score of a metric."""
    return "Lowest" if metric.better == "min" else "Highest"


def leader(
    case: Case, metric: Metric, subset: str, *, tell: Callable[[Score], str] | None = None
) -> tuple[str, str] | None:
    """The system with the best score, and those that share its rank; None if fewer than two have a score.

    tell: writes a score; by default with its interval in square brackets.
    """
    tell = tell or case.quantity
    names = [system.name for system in case.report.systems if system.role != "single"]
    scores = [score for name in names if (score := case.score(name, subset, metric.name)) is not None]
    if len(scores) < 2:
        return None
    top = (min if metric.better == "min" else max)(scores, key=lambda score: score.value)
    leaders = best(case.report, scores)
    lowest, first = top, [score for score in scores if score.system in leaders]
    if first and top not in first:  # it has the best score only because its records are easier
        top = (min if metric.better == "min" else max)(first, key=lambda score: score.value)
    same = [named(score.system) for score in scores if score is not top and score.value == top.value]
    alike = [named(name) for name in names if name in leaders and name != top.system and named(name) not in same]
    rest = ""
    others = len(scores) - 1 - len(same)
    if not leaders:
        rest = UNTESTED if others else ""
    elif others and len(alike) == others:
        rest = f"; no test tells the {_count(len(scores))} apart by {in_sentence(metric_title(metric, case.report))}"
    elif len(alike) > MOST_NAMED:
        rest = f"; {len(alike)} of the {others} others share rank 1 with it"
    elif alike:
        rest = f"; {listed(alike)} share{'s' * (len(alike) == 1)} rank 1 with it"
    if lowest is not top:
        there = f"{tell(lowest)}{case.partly(lowest)}"
        rest += f"; {named(lowest.system)} has {there}, but {_worse(case, lowest, scores)}"
    if same:
        every = listed([named(top.system), *same]) if len(same) < MOST_NAMED else f"{len(same) + 1} systems"
        return f"{every}, {'both' if len(same) == 1 else 'all'} {case.plain(top)}", rest
    return f"{named(top.system)}, {tell(top)}{case.partly(top)}", rest


def _count(number: int) -> str:
    """A small number as a word."""
    return {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}.get(number, str(number))


def _worse(case: Case, score: Score, others: list[Score]) -> str:
    """The systems found better on common records than one that has the best score on its own records."""
    duels = ((other, duel(case.report, score, other)) for other in others if other is not score)
    found = [marked(other.system) for other, outcome in duels if outcome.comparison and outcome.winner == other.system]
    return (
        f"{listed(found)} {'is' if len(found) == 1 else 'are'} found better on common records"
        if found
        else "not rank 1"
    )


def holds(score: Score, value: float) -> bool:
    """Whether the score's interval contains a value; False without an interval."""
    return finite(score.low) and finite(score.high) and score.low <= value <= score.high


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
    cause = (
        f"{_sides(few)}; at least {FEWEST} clusters are needed, better {FEW}" if few else next(iter(reasons.values()))
    )
    return (
        f"There are no intervals or tests{where}: {cause}. Differences{'' if everywhere else ' there'} may be chance."
    )


def _sides(counts: list[Count]) -> str:
    """The number of clusters that the records of each side come from."""
    which = {"in": "in-domain ", "shifted": "shifted "}
    parts = [
        f"{count_text(count.records)} {which.get(count.subset, '')}records come from "
        f"{'one cluster' if count.clusters == 1 else f'{count.clusters} clusters'}"
        for count in counts
    ]
    return listed(parts)


def listed(names: list[str]) -> str:
    """Names in a sentence: a, b and c."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
