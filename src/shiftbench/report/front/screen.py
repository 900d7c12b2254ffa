"""The first screen of a report: the answer in at most six sentences.

The sentences come in the order in which people ask: how much worse under shift, does the uncertainty know, do intervals
hold, is anything simpler as good, what should one beware of. Terminal and page begin with them; `verdict` has the rest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from shiftbench.report.case import Case, named
from shiftbench.report.content import Report
from shiftbench.report.digits import count_text
from shiftbench.report.front import calibration, cautions, rivals, shift, uncertainty
from shiftbench.report.front.finding import Finding
from shiftbench.report.view import (
    clean,
    headline_metric,
    headline_scores,
    lead,
    main_split,
    split_title,
    too_few,
    worded,
)
from shiftbench.scores.intervals import FEWEST
from shiftbench.scores.score import System

MOST_SENTENCES = 6
# The tables of answers, most needed first: where there is no room for all, is anything simpler as good goes last.
NEEDED = ("counts", "comparisons", "answers", "joint", "calibration", "conformal", "ranks", "splits")


def findings(report: Report) -> list[Finding]:
    """At most six sentences: answers, most important first, then cautions, for which there is room for three."""
    answers, careful = every_finding(report)
    room = max(MOST_SENTENCES - len(careful), 3)
    kept = sorted(answers, key=needed)[:room]
    return [*(each for each in answers if each in kept), *careful[: MOST_SENTENCES - len(kept)]]


def every_finding(report: Report) -> tuple[list[Finding], list[Finding]]:
    """All answers in the order in which people ask, and all cautions; `findings` has room for some of them."""
    front, metric = lead(report), headline_metric(report)
    if front is None or metric is None:
        return [Finding("This report holds no scores.", "counts")], []
    case = Case(report, main_split(report), metric, headline_scores(report))
    few = too_few(report, case.split)
    answers = [
        *_few_records(case, few), *_worthless(case, front), *shift.change(case, front),
        *uncertainty.ranking(case, front), *uncertainty.against_chance(case, front),
        *calibration.intervals(case, front), *rivals.simpler(case, front),
    ]  # fmt: skip
    if not few:  # else any system is ahead of any other
        which = [*rivals.pair(case), *rivals.models(case, front)]
        answers = [*which, *answers] if rivals.is_comparison(report) else [*answers, *which]
    answers += rivals.test_sets(case, front)
    answers = answers or [Finding(f"No score of {named(front.name)} is defined.", "systems")]
    return _worded(answers, report), _worded(cautions.of_report(case, front), report)


def _worded(found: Iterable[Finding], report: Report) -> list[Finding]:
    """Sentences with the report's word for its records."""
    return [replace(each, text=worded(each.text, report)) for each in found]


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
    size, name = ", ".join(sides) or count_text(counts.get("full", 0)), clean(report.records_name)
    name = name.removesuffix("s") if size == "1" else name
    return f"{'' if split == 'all' else f'{split_title(split)}: '}{size} {name}"


def _worthless(case: Case, front: System) -> Iterator[Finding]:
    """That not one answer is acceptable: then nothing else matters."""
    share = case.score(front.name, "full", "acceptable")
    if share is not None and share.value == 0 and not too_few(case.report, case.split):
        own = case.report.threshold
        limit = (
            ""
            if own is None or case.report.task == "classification"
            else f" (threshold {f'{own:.6g} {clean(case.report.error_unit)}'.rstrip()})"
        )
        yield Finding(f"No answer of {named(front.name)} is acceptable{limit}.", "answers")


def _few_records(case: Case, few: dict[str, int]) -> Iterator[Finding]:
    """That no conclusion can be drawn, if a side of the shift, or the whole, has too few records."""
    if not few:
        return
    name, counts = clean(case.report.records_name), {c.subset: c for c in case.report.counts if c.split == case.split}
    sides = [
        (counts[subset], word) for subset, word in (("in", " in-domain"), ("shifted", " shifted")) if subset in counts
    ]
    size = [f"{count_text(count.records)}{word}" for count, word in sides or [(counts["full"], "")]]
    each = " on each side" if sides else ""
    yield Finding(
        f"Too few {name} for any conclusion: {' and '.join(size)}; at least {FEWEST}{each} are needed. "
        f"The numbers describe these {name} only.", "counts",
    )  # fmt: skip
