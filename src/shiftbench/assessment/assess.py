"""From errors, uncertainty and shift to a report: scores with intervals, curves, slices, comparisons."""

from __future__ import annotations

import json
import math
import platform
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from shiftbench import __version__, argument, check
from shiftbench.assessment import curves
from shiftbench.assessment.assessed import SMALLEST_SLICE, Assessed, Basis, Ends, Label, ends_of, in_canonical_order
from shiftbench.assessment.comparison import Tested, compare
from shiftbench.assessment.conformal import calibrated
from shiftbench.assessment.consistency import require_consistent
from shiftbench.assessment.feature_shift import moved
from shiftbench.assessment.length import length_checked
from shiftbench.assessment.notable import notable
from shiftbench.assessment.scored import Records, Scored, listed
from shiftbench.assessment.sliced import slice_scores
from shiftbench.ensembles import LOG_EPSILON
from shiftbench.errors import (
    CAREFUL,
    MARKED_ALIKE,
    ArrayError,
    FewClustersWarning,
    SettingsError,
    ShiftbenchWarning,
    quoted,
)
from shiftbench.metrics.conformal import Sets
from shiftbench.report import view
from shiftbench.report.content import HALF, LONGEST_TEXT, Report
from shiftbench.scores import intervals, retention
from shiftbench.scores.grouping import coded, distinct
from shiftbench.scores.intervals import Bootstrap, Progress
from shiftbench.scores.length import FITS, Fit
from shiftbench.scores.metric import METRICS
from shiftbench.scores.pairing import shared_records
from shiftbench.scores.resampling import Resampler, Statistic
from shiftbench.scores.retention import Rule
from shiftbench.scores.score import SUBSETS, Count, Notable, System

NEEDING = ("curves", "parts")  # entries of a report that need an uncertainty


@dataclass(frozen=True)
class Options:
    """Options of a report; those that change a number are recorded in its recipe.

    records: whether the report may show single records. If not, as while labels are sealed, `Report.notable` and the
    shifts of features are empty, groups too small to show are not named, and curves have at least `SMALLEST_SLICE`
    records between two points.
    """

    title: str = "Assessment"
    task: str = "errors"
    threshold: float | None = None
    rule: Rule = "published"
    intervals: intervals.Settings = field(default_factory=intervals.Settings)
    target_unit: str = ""
    error_unit: str = ""
    error_name: str = "error"
    records_name: str = "records"
    length_fit: Fit = "linear"
    records: bool = True
    recipe: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        problems = [
            f"{name}: expected text, found {quoted(getattr(self, name))}."
            for name in ("title", "task", "rule", "target_unit", "error_unit", "error_name", "records_name")
            if not isinstance(getattr(self, name), str)
        ]
        if not problems:
            problems += [
                f"{name}: expected at most {LONGEST_TEXT:,} characters of Unicode, found {getattr(self, name)!a:.60}."
                for name in ("title", "target_unit", "error_unit", "error_name", "records_name")
                if len(getattr(self, name)) > LONGEST_TEXT or HALF.search(getattr(self, name))
            ]
        if not isinstance(self.intervals, intervals.Settings):
            problems.append(f"intervals: expected scores.intervals.Settings, found {quoted(self.intervals)}.")
        if self.length_fit not in FITS:
            problems.append(f"length_fit: expected {' or '.join(FITS)}, found {quoted(self.length_fit)}.")
        if not isinstance(self.recipe, Mapping):
            problems.append(f"recipe: expected a mapping of names to JSON values, found {quoted(self.recipe)}.")
        try:
            json.dumps(self.recipe)
        except (TypeError, ValueError, RecursionError) as error:
            problems.append(f"recipe: expected JSON values, found: {error}. Write others as text.")
        if problems:
            raise SettingsError(*problems)


def squared(unit: str) -> str:
    """The unit of a squared error.

    Raises:
        SettingsError: if it is not text.
    """
    argument.text("unit", unit)
    return unit and (f"{unit}²" if all(sign.isalpha() or sign in "°%€$£¥" for sign in unit) else f"({unit})²")


def build(
    splits: Sequence[tuple[Records, Sequence[Scored]]],
    options: Options,
    *,
    calibration: tuple[Records, Sequence[Scored]] | None = None,
    brief: bool = False,
    progress: Progress | None = None,
) -> Report:
    """The report of one or more systems on one or more splits; systems of a split are compared pairwise.

    Warnings are collected in the report, not issued.

    Args:
        splits: records with their systems.
        options: see `Options`.
        calibration: records that calibrate conformal regions and are not scored; None: those of the split dev.
        brief: only systems, numbers of records, scores, comparisons and warnings: nothing by slice or record, no
            curves.
        progress: called with (replicates done, replicates in all).

    Raises:
        ArrayError: as `consistency.require_consistent`.
    """
    if options.threshold is not None:
        check.threshold(options.threshold)
    retention.checked_rule(options.rule)
    require_consistent(splits)
    tuple(METRICS)  # load all now, so that warnings about other packages do not enter the report
    parts = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ShiftbenchWarning)
        conformal = calibrated(splits, seed=options.intervals.seed, calibration=calibration)
        checked = length_checked(conformal.splits, options.length_fit)
        for note in (*conformal.notes, *checked.notes):
            _tell(note)
        total = len(splits)
        for place, (records, systems) in enumerate(checked.splits):
            found = _split(records, systems, options, _share(progress, place, total), brief=brief)
            parts.append(_without_order(found, {each.name for each in _with_singles(systems) if not each.measure}))
        for records, systems in splits:
            for each in systems:
                for note in each.notes:
                    _tell(f"{records.prefix}{each.system.name}: {note}")
        for note in _impossible(splits):
            _tell(note)
        for note in _vanished([records for records, _ in splits]) if options.records else ():
            _tell(note)
    first = {system.name: system for _, systems in checked.splits for system in _with_singles(systems)}
    messages = dict.fromkeys(str(entry.message) for entry in caught if issubclass(entry.category, ShiftbenchWarning))
    report = Report(
        title=options.title,
        task=options.task,
        rule=options.rule,
        threshold=options.threshold,
        target_unit=options.target_unit,
        error_unit=options.error_unit,
        error_name=options.error_name,
        records_name=options.records_name,
        systems=tuple(first.values()),
        **{name: tuple(row for part in parts for row in part[name]) for name in parts[0]},
        shifts=tuple(
            row
            for records, _ in splits
            if options.records and not brief
            for row in moved(records, seed=options.intervals.seed)
        ),
        separations=conformal.separations,
        warnings=tuple(messages),
        recipe=_recipe(options, splits)
        | {name: dict(entry) for name, entry in (("conformal", conformal.recipe), ("length", checked.recipe)) if entry},
    )
    behind = _notable(report, splits) if options.records and not brief else ()
    return replace(report, notable=behind, warnings=(*report.warnings, *_cautions(report, splits)))


def _cautions(report: Report, splits: Sequence[tuple[Records, Sequence[Scored]]]) -> Iterator[str]:
    """What changes how the scores of systems are read, on the main split; that of the leading one is grave."""
    front, split = view.lead(report), view.main_split(report)
    for records, systems in splits:
        for each in systems if records.split == split else ():
            is_first = front is not None and each.system.name == front.name
            yield from (f"{records.prefix}{CAREFUL if is_first else ''}{found.text}" for found in each.cautions)


def _notable(report: Report, splits: Sequence[tuple[Records, Sequence[Scored]]]) -> tuple[Notable, ...]:
    """The records behind the scores of the main split, those of the leading system first."""
    front, split = view.lead(report), view.main_split(report)
    return tuple(
        entry
        for records, systems in splits
        if records.split == split
        for entry in notable(records, sorted(systems, key=lambda each: front is None or each.system.name != front.name))
    )


def _tell(message: str) -> None:
    warnings.warn(ShiftbenchWarning(message), stacklevel=2)


def _impossible(splits: Sequence[tuple[Records, Sequence[Scored]]]) -> list[str]:
    """A note for each system of classes that rules out targets, whose likelihood is bounded in the mean."""
    notes = []
    for records, systems in splits:
        for system in systems:
            if not isinstance(system.regions, Sets):
                continue
            of_target = system.regions.of_target
            if count := int(np.count_nonzero(of_target == 0.0)):
                notes.append(
                    f"{records.prefix}{system.system.name} gives probability 0 to {count:,} of {len(of_target):,} "
                    f"targets: their −log p is infinite; NLL counts them as {-np.log(LOG_EPSILON):.2f} nats each"
                )
    return notes


def _vanished(splits: Sequence[Records]) -> list[str]:
    """A note for each split and slice column with groups that are not shown: small ones, and those of other splits."""
    everywhere: dict[str, set[str]] = {}
    for records in splits:
        for column, labels in records.slices.items():
            everywhere.setdefault(column, set()).update(map(str, coded(labels)[0]))
    notes = []
    for records in splits:
        for column, labels in records.slices.items():
            names, codes = coded(labels)
            sizes = dict(zip(names.tolist(), np.bincount(codes).tolist(), strict=True))
            absent = () if column in records.calendar else everywhere[column]
            small = {name: sizes.get(name, 0) for name in {*sizes, *absent} if sizes.get(name, 0) < SMALLEST_SLICE}
            if len(sizes) - sum(name in sizes for name in small) < 2:
                notes.append(
                    f"{records.prefix}scores are not shown by {column}: fewer than two groups have {SMALLEST_SLICE} "
                    f"records: {listed(sizes)}"
                )
            elif small:
                notes.append(
                    f"{records.prefix}groups of {column} with fewer than {SMALLEST_SLICE} records are not shown: "
                    f"{listed(small)}"
                )
    return notes


def _share(progress: Progress | None, place: int, total: int) -> Progress | None:
    if progress is None:
        return None
    return lambda done, of: progress(place * of + done, total * of)


def _with_singles(systems: Sequence[Scored]) -> list[System]:
    """Each system, with an entry for its single models before an ensemble."""
    return [entry for each in systems for entry in ([each.singles.system] if each.singles else []) + [each.system]]


def _recipe(options: Options, splits: Sequence[tuple[Records, Sequence[Scored]]]) -> dict[str, Any]:
    units = {records.split: _resampler(records).units for records, _ in splits}
    settings = asdict(options.intervals)
    del settings["cores"]  # has no effect on the numbers
    return {
        **options.recipe,
        "rule": options.rule,
        "threshold": options.threshold,
        "error": options.error_name,
        "intervals": {
            **settings,
            "used": {split: options.intervals.chosen(count) for split, count in units.items()},
            "resampled": "clusters" if any(records.clusters is not None for records, _ in splits) else "records",
        },
        "versions": {"shiftbench": __version__, "numpy": np.__version__, "python": platform.python_version()},
    }


# --- one split ------------------------------------------------------------------------------------------------------


def _split(
    records: Records, systems: Sequence[Scored], options: Options, progress: Progress | None, *, brief: bool
) -> dict[str, list[Any]]:
    if not systems:
        raise ArrayError(f"split {records.split!r}: expected at least one system to assess, found none.")
    if records.shifted is not None and len(records.subsets()) == 1:
        which = "every record is" if records.shifted.all() else "no record is"
        _tell(f"{records.prefix}{CAREFUL}{which} {MARKED_ALIKE}: only the whole is scored")
    found: dict[str, list[Any]] = {
        "counts": _counts(records),
        "scores": [], "curves": [], "slices": [], "slice_scores": [], "parts": [], "comparisons": [], "ranks": [],
    }  # fmt: skip
    scored, tested = _resampled(records, systems, options, progress)
    for place, system in enumerate(systems):
        if place not in scored:
            _tell(
                f"{system.system.name}: no answer for any of the {records.n:,} records of {records.split}: not scored"
            )
            continue
        part, ends = scored[place]
        found["scores"] += [*part.single_scores(), *part.scores(ends)]
        part.warn()
        if brief:
            continue
        found["slices"] += part.slices(ends)
        found["slice_scores"] += slice_scores(part.records, part.system, options.intervals)
        found["parts"] += part.parts()
        found["curves"] += curves.curves(
            part.records, part.system, part.rankings, threshold=options.threshold, rule=options.rule,
            least=1 if options.records else SMALLEST_SLICE,
        )  # fmt: skip
    if any(each.pairs for each in tested):
        names = [system.system.name for system in systems]
        without = [place for place, system in enumerate(systems) if not system.measure]
        found["comparisons"], found["ranks"] = compare(records.split, names, tested, without=without)
    return found


def _without_order(found: dict[str, list[Any]], systems: set[str]) -> dict[str, list[Any]]:
    """The entries of a split without those that would need the uncertainty of `systems`, which have none."""
    if not systems:
        return found
    kept = {
        name: [each for each in found[name] if each.system not in systems or getattr(each, "order", None) == ""]
        for name in NEEDING
    }
    found = {**found, **kept}
    found["scores"] = [
        score
        for score in found["scores"]
        if score.system not in systems or not (score.measure or METRICS[score.metric].uses_uncertainty)
    ]
    found["slices"] = [replace(row, r_auc=math.nan) if row.system in systems else row for row in found["slices"]]
    return found


def _resampled(
    records: Records, systems: Sequence[Scored], options: Options, progress: Progress | None
) -> tuple[dict[int, tuple[Assessed, dict[Label, Ends]]], list[Tested]]:
    """Systems with any answers, by position, on their own records with intervals; and the comparisons of pairs on
    their common records."""
    kind = options.intervals.chosen(_resampler(records).units)  # the same for all records of a split
    options = replace(options, intervals=replace(options.intervals, kind=kind))
    few = _warn_of_few(records)
    every = shared_records([system.answered for system in systems], records.n)
    scored, tested = {}, []
    for step, shared in enumerate(every):
        here = records if shared.member.all() else records.select(shared.member)
        lined = {k: systems[k] if shared.member.all() else systems[k].select(shared.member) for k in shared.systems}
        if not few:
            _warn_of_few(here, [each.system.name for each in lined.values()])
        alone = [place in shared.scored for place in lined]
        drawn, found = _replicates(here, [*lined.values()], alone, options, _share(progress, step, len(every)))
        for place, ends in zip(lined, found, strict=True):
            if place in shared.scored:
                part = Assessed(here, lined[place], threshold=options.threshold, rule=options.rule)
                scored[place] = (part, ends)
        counts = {subset: int(np.count_nonzero(member)) for subset, member in here.subsets().items()}
        for places, labels, result in drawn:
            of = [shared.systems[place] for place in places]
            pairs = {number: (of[a], of[b]) for number, (a, b) in enumerate(result.pairs)}
            own = {number: pair for number, pair in pairs.items() if pair in shared.pairs}
            tested.append(Tested(result, labels, own, counts))
    return scored, tested


Drawn = tuple[tuple[int, ...], list[Label], Bootstrap]  # positions of systems, and their scores with replicates


def _replicates(
    records: Records, systems: Sequence[Scored], alone: Sequence[bool], options: Options, progress: Progress | None
) -> tuple[list[Drawn], list[dict[Label, Ends]]]:
    """The scores that all systems share, then those that some of them share, with replicates, and the intervals of
    each system's scores.

    Replicates are the same draws. Scores of one system alone are left out if it is not `alone`. Not even rounding
    depends on the order of the rows.
    """
    records, systems = in_canonical_order(records, systems)
    parts = [Assessed(records, system, threshold=options.threshold, rule=options.rule) for system in systems]
    resampler = _resampler(records)
    shared = _shared(systems)
    own = {places: names for places, names in _partly_shared(systems, shared).items() if any(alone[k] for k in places)
           or len(places) > 1}  # fmt: skip
    ends: list[dict[Label, Ends]] = [{} for _ in systems]
    drawn: list[Drawn] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewClustersWarning)  # already issued, with the name of the split
        for step, (places, names) in enumerate(({tuple(range(len(parts))): shared} | own).items()):
            found = [
                parts[k].own_statistic(resampler, names) if step else parts[k].statistic(resampler, names)
                for k in places
            ]
            labels, bases, statistics = zip(*found, strict=True)
            result = _bootstrap(statistics, bases[0], resampler, options, _share(progress, step, 1 + len(own)))
            drawn.append((places, labels[0], result))
            for k, more in zip(places, ends_of(result, labels), strict=True):
                ends[k] |= more
    return drawn, ends


def _partly_shared(systems: Sequence[Scored], shared: set[str]) -> dict[tuple[int, ...], set[str]]:
    """The positions of systems → the names of the scores beyond `shared` that exactly these have in common.

    Means of other scores are the same score only where these are at the same levels.
    """
    owners: dict[tuple[str, frozenset[str]], list[int]] = {}
    for place, system in enumerate(systems):
        names = _with_intervals(system)
        for name in names - shared:
            owners.setdefault((name, _levels_of(name, names)), []).append(place)
    found: dict[tuple[int, ...], set[str]] = {}
    for (name, _), places in owners.items():
        found.setdefault(tuple(places), set()).add(name)
    return dict(sorted(found.items()))


def _levels_of(name: str, names: set[str]) -> frozenset[str]:
    """The scores that a score is the mean of."""
    return frozenset(own for own in names if own.startswith(f"{name}_"))


def _bootstrap(
    statistics: Sequence[Statistic],
    bases: Sequence[Basis],
    resampler: Resampler,
    options: Options,
    progress: Progress | None,
) -> Bootstrap:
    units, scales, effective = zip(*bases, strict=True)
    return intervals.bootstrap(
        statistics, resampler, options.intervals, units=units, scales=scales, effective=effective, progress=progress
    )


def _shared(systems: Sequence[Scored]) -> set[str]:
    """The names of means and scores of sets by which all systems can be compared.

    A mean of other scores (the pinball loss over levels) is left out if the systems have it at different levels.
    """
    names = [_with_intervals(system) for system in systems]
    every = set.intersection(*names)
    levels = [{name for name in each if not METRICS[name].row} for each in names]
    parts = {name: {frozenset(own for own in each if own.startswith(f"{name}_")) for each in levels} for name in every}
    if other := sorted(name for name in every if len(parts[name]) > 1):
        titles = ", ".join(METRICS[name].title for name in other)
        _tell(
            f"{titles}: compared only between systems that have it at the same levels; forecast the same quantiles "
            "with each"
        )
    return every - {*other}


def _with_intervals(system: Scored) -> set[str]:
    """The names of scores of sets, and of means without infinite values: with one, a replicate without it would be of
    another kind."""
    return {*system.sets, *(name for name, values in system.means.items() if np.isfinite(values).all())}


def _warn_of_few(records: Records, names: Sequence[str] = ()) -> bool:
    """Warn of few clusters (or records) to resample, by split and side; for `names`, on the records they answer."""
    resampler, subsets = _resampler(records), records.subsets()
    if resampler.fewest >= intervals.FEW:
        return False
    sides = {name: resampler.units_of(subsets[name]) for name in ("in", "shifted") if name in subsets}
    found = " and ".join(f"{units} {SUBSETS[name].lower()}" for name, units in sides.items()) or resampler.units
    who = " and ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} other systems"
    whose = f" of the records that {who} answer{'s' * (len(names) == 1)}" if names else ""
    each = " in-domain and as many shifted" if sides else ""
    meaning = (
        f"scores of fewer than {intervals.FEWEST} have no interval and no test; other intervals may be too short"
        if resampler.fewest < intervals.FEWEST
        else "intervals may be too short, and p-values too small"
    )
    wanted = f"expected at least {intervals.FEW} {resampler.noun}{each}{whose}"
    message = f"{records.prefix}{wanted}, found {found}: {meaning}"
    warnings.warn(FewClustersWarning(message), stacklevel=2)
    return True


def _resampler(records: Records) -> Resampler:
    strata = None if records.shifted is None else records.shifted.astype(np.intp)
    return Resampler(records.n, clusters=records.clusters, strata=strata)


def _counts(records: Records) -> list[Count]:
    return [
        Count(
            records.split,
            subset,
            int(np.count_nonzero(member)),
            None if records.clusters is None else len(distinct(records.clusters[member])[0]),
        )
        for subset, member in records.subsets().items()
    ]
