"""Conformal intervals and sets of systems, calibrated on their in-domain development records (dev_in) or on others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shiftbench.assessment.density_ratio import Ratio, ratio
from shiftbench.assessment.scored import Records, Scored, listed
from shiftbench.check import Flags, Vector
from shiftbench.errors import ArrayError, counted
from shiftbench.metrics.conformal import RULES, Case, Regions, Rule, Sets, fewest, means_of, size_name
from shiftbench.metrics.regression import LEVELS
from shiftbench.scores.grouping import coded
from shiftbench.scores.ranking import Index
from shiftbench.scores.score import Separation

CALIBRATION = "dev"  # the split whose in-domain records thresholds are found on
FEW_EFFECTIVE = 50  # effective calibration records below which weighted thresholds are mostly noise
NOMINAL = 0.9  # the level of the intervals that a note tells of
APART = (
    0.99  # ROC-AUC beyond which covered records are alike to no calibration record, however even the weights of these
)
HARDLY = 0.9  # ROC-AUC from which a note says that calibration and scored records hardly overlap
LEAST = fewest(max(LEVELS))  # calibration records for finite intervals at every level
WHERE = {"in": "in-domain", "shifted": "shifted", "full": "all"}

Split = tuple[Records, Sequence[Scored]]


@dataclass(frozen=True)
class Calibrated:
    """Splits whose systems have the scores of conformal regions; how calibration records differ from those covered;
    an entry of the recipe, and notes."""

    splits: Sequence[Split]
    separations: tuple[Separation, ...] = ()
    recipe: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()


def calibrated(splits: Sequence[Split], *, seed: int, calibration: Split | None = None) -> Calibrated:
    """The same splits with scores of conformal regions on all but the development split, if its systems have regions.

    In-domain and shifted records are weighted apart, each to its own side: which side a record is on is known here, as
    it is where a model is brought to a new place.

    Args:
        splits: records with their systems.
        seed: of the classifier that estimates ratios of densities.
        calibration: records with their systems to calibrate on instead of the development split.
    """
    plain: list[Split] = [(records, [replace(each, regions=None) for each in systems]) for records, systems in splits]
    development = calibration or next((each for each in splits if each[0].split == CALIBRATION), None)
    if development is None or (development[0].shifted is None and not calibration):
        return Calibrated(plain)
    shifted = development[0].shifted
    inside = np.ones(development[0].n, dtype=np.bool_) if shifted is None else ~shifted
    if not inside.any():
        return Calibrated(plain)
    known = _Known(development[0], development[1], inside, seed)
    separations, notes = known.separations(), [*known.notes()]
    used: dict[str, str] = {}
    for place, (records, systems) in enumerate(splits):
        if records.split == CALIBRATION or not known.systems:
            continue
        beside, found = known.beside(records)
        notes += found
        separations += beside.separations
        used[records.split] = beside.column
        plain[place] = (records, [_with_scores(known, beside, each) for each in systems])
    recipe = {"calibrated_on": known.name, "records": int(known.member.sum()), "rules": [*RULES], "grouped_by": used}
    return Calibrated(plain, tuple(separations), recipe if used else None, tuple(dict.fromkeys(notes)))


def set_aside(records: Records, systems: Sequence[Scored], member: Flags | None) -> tuple[Split, Split | None]:
    """The records to score, and those flagged in `member` [N], which only calibrate; None if there are no flags.

    Raises:
        ArrayError: if no record is left to score, none is in-domain to calibrate on, or no system has regions.
    """
    if member is None:
        return (records, systems), None
    problems = []
    inside = member if records.shifted is None else member & ~records.shifted
    if not inside.any() or member.all():
        found = f"{counted(int(inside.sum()), 'in-domain one')}, and {counted(int((~member).sum()), 'other')}"
        problems.append(f"calibration: expected in-domain records to calibrate on and others to score, found {found}.")
    if all(system.regions is None for system in systems):
        problems.append(
            "calibration: expected intervals or probabilities to calibrate, found none. Give quantiles, normal "
            "distributions, members or class probabilities."
        )
    if problems:
        raise ArrayError(*problems)
    apart = replace(records.select(member), part=False, split="calibration")
    return (
        (replace(records.select(~member), part=False), [system.select(~member) for system in systems]),
        (apart, [system.select(member) for system in systems]),
    )


@dataclass(frozen=True)
class _Beside:
    """What is known of the N records of a split beside the scores of systems: their sides with flags [N], the ratios
    of their densities to that of the calibration records (None without features), and the column of groups."""

    records: Records
    sides: Mapping[str, Flags]
    ratios: Mapping[str, Ratio | None]
    column: str

    @property
    def separations(self) -> list[Separation]:
        return [_separation(self.records, side, each) for side, each in self.ratios.items() if each is not None]


def _separation(records: Records, side: str, found: Ratio) -> Separation:
    return Separation(
        records.split, side, found.roc_auc, found.effective, len(found.known), found.clipped, _endless(found)
    )


def _sides(records: Records) -> Mapping[str, Flags]:
    """The sides of the shift with their flags [N]; all records if there is one side only."""
    subsets = records.subsets()
    return {side: member for side, member in subsets.items() if side != "full"} or subsets


@dataclass(frozen=True)
class _Known:
    """The records that thresholds are found on: those of a split that are flagged in `member`, with its systems."""

    records: Records
    every: Sequence[Scored]
    member: Flags
    seed: int

    @property
    def name(self) -> str:
        """The name of these records in reports."""
        return "dev_in" if self.records.split == CALIBRATION else "separate records"

    @property
    def among(self) -> str:
        """Their location, for a message on calibration records."""
        return " in dev_in" if self.records.split == CALIBRATION else ""

    @property
    def advice(self) -> str:
        """What to do where all columns of a file count as features, and one may only tell where records come from."""
        if self.records.split == CALIBRATION:
            return ""
        return ". Leave out columns that no model sees, such as counters and dates (--drop, or not in `table`)"

    @property
    def systems(self) -> dict[str, Scored]:
        """Systems with regions, by name."""
        return {each.system.name: each for each in self.every if each.regions is not None}

    @property
    def what(self) -> str:
        """What conformal regions are here: intervals, or sets of classes."""
        return "sets" if any(isinstance(each.regions, Sets) for each in self.every) else "intervals"

    def notes(self) -> list[str]:
        """A note if there are too few records for finite intervals at some level."""
        count = int(self.member.sum())
        if not self.systems or count >= LEAST:
            return []
        needed = ", ".join(f"{fewest(level):,} for {100 * level:g} %" for level in LEVELS)
        return [
            f"conformal {self.what} need at least {needed} calibration records{self.among}, found {count:,}: those "
            f"of higher levels are {'of all classes' if self.what == 'sets' else 'infinite'}"
        ]

    def separations(self) -> list[Separation]:
        """How far the shifted records of the same split lie from these."""
        shifted = ~self.member
        found = self._ratio(self.records, shifted) if shifted.any() else None
        return [] if found is None else [_separation(self.records, "shifted", found)]

    def beside(self, records: Records) -> tuple[_Beside, list[str]]:
        """What is known of the records of another split, with notes on what is not."""
        sides = _sides(records)
        ratios = {side: self._ratio(records, member) for side, member in sides.items()}
        column, notes = self.column(records)
        return _Beside(records, sides, ratios, column), [*notes, *_notes(records, ratios, self.advice, self.what)]

    def _ratio(self, records: Records, member: Flags) -> Ratio | None:
        if self.records.source is None or records.source is None:
            return None
        return ratio(self.records.source.select(self.member), records.source.select(member), seed=self.seed)

    def columns(self, records: Records) -> dict[str, Flags]:
        """Slice columns with several groups here, and the flags [N] of records whose group has no finite interval."""
        found = {}
        for name in records.slices:
            if name in self.records.slices:
                labels, counts = np.unique(self.records.slices[name][self.member], return_counts=True)
                if len(labels) > 1:
                    found[name] = ~np.isin(records.slices[name], labels[counts >= LEAST])
        return found

    def column(self, records: Records) -> tuple[str, list[str]]:
        """The slice column whose groups are calibrated apart: the first of those that leave the fewest records
        without a finite interval; "" if that are most of them."""
        open_of = self.columns(records)
        best = min(open_of, key=lambda name: int(open_of[name].sum()), default="")
        if not best:
            return "", []
        left = open_of[best]
        if left.mean() > 0.5:
            return "", [
                f"{records.prefix}conformal {self.what} by group are shown by slice alone, not over all records: most "
                f"of these are in groups of fewer than {LEAST} calibration records, whatever the column"
            ]
        if not left.any():
            return best, []
        names, sizes = np.unique(records.slices[best][left], return_counts=True)
        endless = "conformal sets of all classes" if self.what == "sets" else "infinite conformal intervals"
        sizes_text = listed(dict(zip(names.tolist(), sizes.tolist(), strict=True)))
        return best, [
            f"{records.prefix}groups of {best} with fewer than {LEAST} calibration records{self.among} have {endless} "
            f"by group; how many scored records they have: {sizes_text}"
        ]


def _notes(records: Records, ratios: Mapping[str, Ratio | None], advice: str, what: str) -> list[str]:
    """Notes on weights that are missing or that rest on few records."""
    if all(each is None for each in ratios.values()):
        return [
            f"conformal {what} weighted for the shift are left out: expected features, columns that calibration and "
            "scored records share (in Python: of `table`), found none"
        ]
    return [
        f"{records.split}, {WHERE[side]}: conformal {what} weighted for the shift rest on {each.effective:,.0f} "
        f"effective of {len(each.known):,} calibration records{_overlap(each)}: {_without_end(each, what)}they may "
        f"miss their level{advice}"
        for side, each in ratios.items()
        if each is not None and (each.effective < min(FEW_EFFECTIVE, 0.5 * len(each.known)) or each.roc_auc > APART)
    ]


def _overlap(ratio: Ratio) -> str:
    """That calibration and scored records hardly overlap, if a classifier finds that they do not."""
    if ratio.roc_auc < HARDLY:
        return ""
    return f", and the two hardly overlap (a classifier tells them apart with a ROC-AUC of {100 * ratio.roc_auc:.0f} %)"


def _without_end(ratio: Ratio, what: str) -> str:
    """The share of the records without a finite interval in words, if there are any."""
    share = 100 * _endless(ratio)
    level = f"{100 * NOMINAL:g} %"
    endless = f"{level} sets of all classes" if what == "sets" else f"no finite {level} interval"
    return f"{share:.3g} % of the records have {endless}, and " if share else ""


def _endless(ratio: Ratio) -> float:
    """The share of the records whose own weight is so large that no calibration record ends their region."""
    open_ended = ratio.wanted * NOMINAL > ratio.known.sum() * (1 - NOMINAL)
    return float(open_ended.mean())


def _with_scores(known: _Known, beside: _Beside, system: Scored) -> Scored:
    """A system with the scores of its conformal regions, if it has any on both splits, and without these."""
    other, plain = known.systems.get(system.system.name), replace(system, regions=None)
    if other is None or other.regions is None or system.regions is None:
        return plain
    taught, own = _answered(other, known.records.n) & known.member, _answered(system, beside.records.n)
    scores, regions = other.regions.select(_places(other, taught)).scores, system.regions

    def means(column: str, rules: Iterable[Rule], levels: Iterable[float]) -> dict[str, Vector]:
        cases = [(own & beside.sides[side], _case(known, beside, side, column, scores, taught, own))
                 for side in beside.sides]  # fmt: skip
        found: dict[str, Vector] = {}
        for rule in rules:
            if not rule.needs or all(getattr(case, rule.needs) is not None for _, case in cases):
                thresholds = {level: _thresholds(rule, cases, own, level) for level in levels}
                found |= means_of(regions, thresholds, rule.name)
        return found

    by_group = [rule for rule in RULES.values() if rule.needs == "groups"]
    return replace(
        plain,
        means={**system.means, **means(beside.column, RULES.values(), LEVELS)},
        most=_most(regions),
        by_group={column: means(column, by_group, LEVELS) for column in known.columns(beside.records)},
    )


def _most(regions: Regions) -> dict[str, float]:
    """The largest mean sizes that regions can have: sets hold at most all of the classes."""
    if not isinstance(regions, Sets):
        return {}
    return {size_name(rule, level): float(regions.probabilities.shape[1]) for rule in RULES for level in LEVELS}


def _case(known: _Known, beside: _Beside, side: str, column: str, scores: Vector, taught: Flags, own: Flags) -> Case:
    """The case that rules get for the answered records of a side: `taught` and `own` flag answers in both splits."""
    member, found = beside.sides[side], beside.ratios[side]
    here, groups = member & own, None
    if column:
        labels = np.concatenate([known.records.slices[column][taught], beside.records.slices[column][here]])
        codes = coded(labels)[1]
        groups = codes[: len(scores)], codes[len(scores) :]
    weights = None if found is None else (found.known[taught[known.member]], found.wanted[own[member]])
    return Case(scores, int(here.sum()), groups, weights)


def _thresholds(rule: Rule, cases: Sequence[tuple[Flags, Case]], own: Flags, level: float) -> Vector:
    """The thresholds of the answered records."""
    found = np.full(len(own), np.nan)
    for here, case in cases:
        found[here] = rule.thresholds(case, level)
    return np.asarray(found[own])


def _answered(system: Scored, records: int) -> Flags:
    return np.ones(records, dtype=np.bool_) if system.answered is None else system.answered


def _places(system: Scored, member: Flags) -> Index:
    """Positions in the arrays of a system, which hold the answered records only, of records flagged in `member`."""
    return np.asarray((np.cumsum(_answered(system, len(member))) - 1)[member], dtype=np.intp)
