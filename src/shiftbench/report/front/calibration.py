"""Whether intervals and probabilities can be trusted, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from shiftbench.metrics.conformal import RULES, coverage_name, size_name
from shiftbench.report.case import Case, interval, listed
from shiftbench.report.front.finding import Finding
from shiftbench.report.front.shift import of_system
from shiftbench.report.grids.calibration import calibrated_on
from shiftbench.report.view import finite, too_few
from shiftbench.scores.metric import METRICS, Metric
from shiftbench.scores.score import Score, System

COVERAGE = 0.9  # the level of the intervals shown, or the nearest one that a report has
FEW_EFFECTIVE = 50  # calibration records
NEAR = 0.02  # to the nominal share of records: what counts as held where there is no interval


def intervals(case: Case, system: System) -> Iterator[Finding]:
    """What the intervals of a system hold, and what conformal ones would; of classes, how far confidence is off."""
    sides, (name, scores) = _sides(case), _coverages(case, system)
    if scores:
        better, _ = _recalibrated(case, METRICS[name], system, scores)
        yield Finding(_coverage(case, METRICS[name], system, scores) + better, "conformal" if better else "calibration")
        return
    found = {side: score for side in sides if (score := case.score(system.name, side, "ece")) is not None}
    if found:
        yield Finding(f"The confidence{of_system(case, system)} {_confidence(case, system, found)}.", "calibration")
    if case.report.task == "classification" and (text := _sets(case, system, sides)):
        yield Finding(text, "conformal")


def further(case: Case, system: System) -> Iterator[str]:
    """What there is to say of conformal intervals beyond the first screen: which of them would be infinite."""
    name, scores = _coverages(case, system)
    if scores and (text := _recalibrated(case, METRICS[name], system, scores)[1]):
        yield text


def _sides(case: Case) -> list[str]:
    """The sides of the shift, or the whole, that have enough records."""
    both = any(key[1] == case.split and key[2] == "in" for key in case.scores)
    few = too_few(case.report, case.split)
    return [side for side in (("in", "shifted") if both else ("full",)) if side not in few]


def _coverages(case: Case, system: System) -> tuple[str, dict[str, Score]]:
    """The coverage of a system's own intervals by side, and the metric's name; nothing without intervals."""
    name = coverage_of({key[3] for key in case.scores if key[:2] == (system.name, case.split)})
    found = {side: case.score(system.name, side, name) for side in _sides(case)} if name else {}
    return name, {side: score for side, score in found.items() if score is not None}


def _sets(case: Case, system: System, sides: Sequence[str]) -> str:
    """What conformal sets of classes contain and how large they are, and what weights for the shift mend; "" without
    any."""
    held = {side: pair for side in sides if (pair := _set_of(case, system, side, "split")) is not None}
    if not held:
        return ""
    reads = {side: _reading(coverage, COVERAGE) for side, (coverage, _) in held.items()}
    names = {"narrow": "too small", "wide": "larger than needed"}
    off = {side: names[reading] for side, reading in reads.items() if reading in names}
    alike = len(off) == len(held) and len({*off.values()}) == 1
    words = listed(
        [*dict.fromkeys(f"{word}{'' if alike else on_side(side)}" for side, word in off.items())] or ["hold"]
    )
    share = case.digits(coverage_name("split", COVERAGE))
    shares = ", ".join(
        f"{share.text(coverage.value)} % of them{on_side(side)} ({mean.value:.3g} classes on average)"
        if not place
        else f"{share.text(coverage.value)} %{on_side(side)} ({mean.value:.3g})"
        for place, (side, (coverage, mean)) in enumerate(held.items())
    )
    side, (own, _) = next(reversed(held.items()))
    mended = None if reads[side] == "hold" or _hardly_overlap(case, side) else _set_of(case, system, side, "weighted")
    if mended is not None and abs(mended[0].value - COVERAGE) <= abs(own.value - COVERAGE) / 2:
        shares += f"; weighted for the shift, in {share.text(mended[0].value)} % ({mended[1].value:.3g})"
    whose = f" by{of.removeprefix(' of')}" if (of := of_system(case, system)) else ""
    made = (
        f"Conformal sets of classes{whose} (nominal {100 * COVERAGE:g} %, calibrated on {calibrated_on(case.report)})"
    )
    return f"{made} {'' if words == 'hold' else 'are '}{words}: the right class is in {shares}."


def _set_of(case: Case, system: System, side: str, rule: str) -> tuple[Score, Score] | None:
    """Coverage and mean size of the conformal sets of a rule on a side, if both are known."""
    pair = [case.score(system.name, side, name(rule, COVERAGE)) for name in (coverage_name, size_name)]
    return (pair[0], pair[1]) if pair[0] is not None and pair[1] is not None else None


def _confidence(case: Case, system: System, errors: dict[str, Score]) -> str:
    """By how much the confidence is above or below the accuracy, what that is called, and the calibration error."""
    gaps = {side: score for side in errors if (score := case.score(system.name, side, "overconfidence")) is not None}
    digits = case.digits("overconfidence" if gaps else "ece")  # both alike
    sizes = [f"{digits.text(score.value)} points{on_side(side)}" for side, score in errors.items()]
    if len(gaps) < len(errors):  # an older report
        return f"is off by {listed(sizes)} on average (ECE)"
    kinds: dict[str, dict[str, Score]] = {}
    for side, gap in gaps.items():
        kinds.setdefault(_gap_kind(gap), {})[side] = gap
    clauses = [_gap_clause(case, kind, found, again=place > 0) for place, (kind, found) in enumerate(kinds.items())]
    between = ", and " if "chance" in kinds else " and "
    return f"{between.join(clauses)}; the calibration error (ECE) is {listed(sizes)}"


def _gap_kind(gap: Score) -> str:
    """What the distance of confidence and accuracy shows: "over" or "under", "chance", or "" where they match."""
    found = {"narrow": "under", "wide": "over"}.get(_reading(gap, 0.0), "")
    return found or ("chance" if abs(gap.value) > NEAR else "")


def _gap_clause(case: Case, kind: str, gaps: dict[str, Score], *, again: bool) -> str:
    """The distances of confidence and accuracy of one kind, each with its side and direction."""
    digits = case.digits("overconfidence")
    ways = {side: "below" if gap.value < 0 else "above" for side, gap in gaps.items()}
    sizes = {side: digits.text(abs(gap.value)) for side, gap in gaps.items()}
    if not kind:
        where = listed([f"{on_side(side)[1:]} ({sizes[side]} points {ways[side]})".lstrip() for side in gaps])
        return f"matches {'it' if again else 'accuracy'} {where}"
    distances = listed(
        [
            f"{sizes[side]} points {ways[side]} {'it' if again or place else 'accuracy'}{on_side(side)}"
            for place, side in enumerate(gaps)
        ]
    )
    if kind != "chance":
        return f"is {distances} ({kind}confident)"
    ends = listed(
        [
            interval(case.report, gap.low or 0.0, gap.high or 0.0, digits, again=place > 0)
            for place, gap in enumerate(gaps.values())
        ]
    )
    return f"is {distances}, which may be chance ({ends} points)"


def coverage_of(names: set[str]) -> str:
    """Of the names of metrics, that of the coverage whose level is nearest to COVERAGE; "" without any."""
    found = [name for name in names if name.startswith("coverage_") and finite(METRICS[name].nominal)]
    return min(found, key=lambda name: (abs(METRICS[name].nominal - COVERAGE), name), default="")


def _coverage(case: Case, metric: Metric, system: System, scores: dict[str, Score]) -> str:
    nominal, digits = metric.nominal, case.digits(metric.name)
    whose = f"The {100 * nominal:.10g} % intervals{of_system(case, system)}"
    reads = {side: _reading(score, nominal) for side, score in scores.items()}
    shares = ", ".join(
        f"{digits.text(score.value)} %{'' if place else ' of the true values'}{on_side(side)}"
        for place, (side, score) in enumerate(scores.items())
    )
    off = {side: reading for side, reading in reads.items() if reading != "hold"}
    if not off:
        return f"{whose} hold: they contain {shares}."
    words = [
        f"too {reading}{'' if len(off) == len(reads) and len(set(off.values())) == 1 else on_side(side)}"
        for side, reading in off.items()
    ]
    return f"{whose} are {listed([*dict.fromkeys(words)])}: they contain {shares}."


def _recalibrated(case: Case, metric: Metric, system: System, scores: dict[str, Score]) -> tuple[str, str]:
    """What conformal intervals contain where its own hold too few or too many, if that is at most half as far off, and
    beyond that a sentence on those that would be infinite for some records: nothing follows from it."""
    side, own = next(reversed(scores.items()))
    nominal, off = metric.nominal, abs(own.value - metric.nominal)
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
    given = calibrated_on(case.report) != "dev_in"  # for nothing else: that they do not help is an answer, too
    if _reading(own, nominal) == "hold" and not (given and best is not None):
        return "", ""
    if best is None or (abs(found[best].value - nominal) > off / 2 and _reading(own, nominal) != "hold"):
        kind = endless[0].removeprefix("conformal").lstrip(", ") if endless else ""
        if inside := _in_domain_alone(case, metric, system, scores):
            which = _share(case, kind, side, nominal)
            return f"{inside}{f'; {kind} they would be infinite for {which}' if kind else ''}.", ""
        if given and best is not None:
            return _told(case, system, side, found, sizes, best, own), _endless(
                case, kind, side, nominal
            ) if kind else ""
        if kind:
            return "", _endless(case, kind, side, nominal)
        return " Conformal intervals would be infinite: too few calibration records." if endless else "", ""
    return _told(case, system, side, found, sizes, best, own), ""


def _told(
    case: Case, system: System, side: str, found: dict[str, Score], sizes: dict[str, Score], best: str, own: Score
) -> str:
    """What split conformal intervals and the best of the others contain on a side, and how wide they are."""
    nominal, digits = METRICS[own.metric].nominal, case.digits(own.metric)
    shown = {title: (found[title], sizes[title]) for title in found if title in ("", best)}
    where, length = " on shifted data" * (side == "shifted"), _length_of(case, system, nominal, side)
    shares = ", ".join(
        f"{title} {digits.text(share.value)} %{where * (place == 0)} ({length(size)}{' wide' * (place == 0)})".lstrip()
        for place, (title, (share, size)) in enumerate(shown.items())
    )
    width = case.score(system.name, side, f"width_{100 * nominal:.10g}")
    before = f", instead of {digits.text(own.value)} % ({length(width)})" if width is not None else ""
    return f" Conformal intervals calibrated on {calibrated_on(case.report)} contain {shares}{before}."


def _in_domain_alone(case: Case, metric: Metric, system: System, scores: dict[str, Score]) -> str:
    """That split conformal intervals mend the in-domain side alone; "" if they do not, or there is nothing to mend."""
    own, nominal, digits = scores.get("in"), metric.nominal, case.digits(metric.name)
    name = coverage_name("split", nominal)
    inside, shifted = (case.score(system.name, side, name) for side in ("in", "shifted"))
    size = case.score(system.name, "in", size_name("split", nominal))  # infinite ones contain everything
    if own is None or inside is None or shifted is None or size is None or _reading(own, nominal) == "hold":
        return ""
    if abs(inside.value - nominal) > abs(own.value - nominal) / 2:
        return ""
    return (
        f" Conformal intervals calibrated on {calibrated_on(case.report)} contain {digits.text(inside.value)} % "
        f"in-domain, but {digits.text(shifted.value)} % on shifted data"
    )


def _endless(case: Case, kind: str, side: str, nominal: float) -> str:
    """That the intervals of a kind of conformal prediction are infinite for some records."""
    which = _share(case, kind, side, nominal)
    return f"Conformal intervals {kind} would be infinite for {which}: too few calibration records are like them."


def _share(case: Case, kind: str, side: str, nominal: float) -> str:
    """How many records have infinite intervals of 90 %, as far as that is known: of those weighted for the shift."""
    here = (each.endless for each in case.report.separations if (each.split, each.subset) == (case.split, side))
    share = next((each for each in here if finite(each) and each > 0), None)
    if share is None or nominal != COVERAGE or not kind.startswith("weighted"):
        return "some records"
    return f"{100 * share:.3g} % of the {'shifted ' if side == 'shifted' else ''}records"


def _length_of(case: Case, system: System, nominal: float, side: str) -> Callable[[Score], str]:
    """How widths are written: as that of the system's own intervals, so that they can be compared."""
    own = case.score(system.name, side, f"width_{100 * nominal:.10g}")

    def text(size: Score) -> str:
        digits = case.digits((own or size).metric)
        return f"{digits.text(size.value)} {digits.unit}".rstrip()

    return text


def _hardly_overlap(case: Case, side: str) -> bool:
    """Whether weights for the shift rest on so few calibration records that their coverage is mostly luck."""
    here = [each for each in case.report.separations if (each.split, each.subset) == (case.split, side)]
    return any(each.effective < FEW_EFFECTIVE for each in here)


def _reading(score: Score, nominal: float) -> str:
    if finite(score.low) and finite(score.high):
        return "narrow" if score.high < nominal else "wide" if score.low > nominal else "hold"
    return "hold" if abs(score.value - nominal) <= NEAR else "narrow" if score.value < nominal else "wide"


def on_side(side: str) -> str:
    """The side of the shift within a sentence."""
    return {"in": " in-domain", "shifted": " on shifted data"}.get(side, "")
