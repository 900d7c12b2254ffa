"""How much worse a system is under shift, in words."""

from __future__ import annotations

from collections.abc import Iterator

from shiftbench.report.case import Case, Interval, interval, loss, named, shift_of
from shiftbench.report.digits import Digits, digits_of
from shiftbench.report.front.finding import Finding
from shiftbench.report.view import WHERE, clean, complement, finite, too_few
from shiftbench.scores.score import Score, System


def change(case: Case, system: System) -> Iterator[Finding]:
    """How much the error grows under shift, or that it does not."""
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
        text = f"No error{of_system(case, system)} in-domain or on shifted data: {_value(case, shifted, whole=False)}."
        yield Finding(text, "answers")
        return
    shift = shift_of(case, inside, shifted)
    values = _from_to(case, inside, shifted)
    wrong = case.metric.better == "max"
    factor = _times(case, shift.factor, wrong) if shift.factor else ""
    if shift.told_apart is False:
        what = _error(case)
        if wrong:  # the score itself, so that its name is not told twice
            what, values = f"the {case.title}", values.removeprefix(f"{case.title} ")
        text = f"Under shift {what}{of_system(case, system)} does not change significantly: {values}{factor}."
        yield Finding(text, "answers")
        return
    if shift.factor and _says_factor(shift.factor[0]):
        factor = _reach(case, shift.factor)
    what = f"{'the share of wrong answers' if wrong else _error(case)}{of_system(case, system)}"
    yield Finding(f"{_grows(shift.factor, shift.grows, what)}: {values}{factor}.", "answers")


def _error(case: Case) -> str:
    """The error, with its name where it is what a share lacks."""
    return "the error" if complement(case.report) is None else f"the error ({clean(case.report.error_name)})"


def _value(case: Case, score: Score, *, whole: bool = True) -> str:
    """The headline metric with its value, or in plain words the share that the error is the rest of."""
    metric = complement(case.report)
    share = metric and case.score(score.system, score.subset, metric.name)
    tell = case.told if whole else case.plain
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
    before, _, after = _from_to(case, inside, shifted).rpartition(" → ")
    unit = f" {case.digits().unit}".rstrip()
    return f"{before.removesuffix(unit)}{unit} {WHERE['in']} and {after} {WHERE['shifted']}"


def of_system(case: Case, system: System) -> str:
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
    ends = _interval_text(case, factor)
    value = _factor_digits(factor).text(factor[0])
    return f" ({'wrong answers ' if wrong else ''}×{value}{f', {ends}' if ends else ''})"


def _reach(case: Case, factor: Interval) -> str:
    """The interval of a factor that stands in the sentence already, in brackets; "" without one."""
    ends = _interval_text(case, factor, " of the factor")
    return f" ({ends})" if ends else ""


def _interval_text(case: Case, factor: Interval, of: str = "") -> str:
    _, low, high = factor
    return interval(case.report, low, high, _factor_digits(factor), of) if finite(low) and finite(high) else ""


def _factor_digits(factor: Interval) -> Digits:
    value, low, high = factor
    return digits_of([value], [(high - low) / 2 if finite(low) and finite(high) else None])
