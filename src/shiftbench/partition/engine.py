"""Assigns the records of a table by rules to train, dev_in, dev_out, eval_in and eval_out, or to no partition."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import polars as pl

from shiftbench import argument, check
from shiftbench.errors import PartitionError, UnknownNameError, counted
from shiftbench.io.tables.rows import native_ids
from shiftbench.partition import clusters, counting, keys, windows
from shiftbench.partition.axes import BIT, Axis, Bits, axes, conditions, evaluated
from shiftbench.partition.hashing import Flags
from shiftbench.partition.rules import Rules
from shiftbench.partition.sampling import Draw, Sampler
from shiftbench.partition.settings import IN_DOMAIN, PARTITIONS, SHIFTED, Moment, Window

DRAWN = ("dev_in", "eval_in", "train")  # train last: it takes the rest
FEW = 30
FAR = 0.05
UNUSED = np.uint8(255)

NAMES = pl.Enum(PARTITIONS)


@dataclass(frozen=True, eq=False)
class Partition:
    """A table's records and their partitions.

    table: the records [N], unchanged.
    ids: [N] unique: Int64 if they are whole numbers, such as row numbers, else text.
    assignment: [N] name of the partition, or null for unused; an Enum of the five names.
    unused: the number of records in no partition, by reason.
    windows: population → (start, end) of its window of time, start included, end not, None for open.
    warnings: notes on the partitions; none of them makes the partitions invalid.
    """

    table: pl.DataFrame
    ids: pl.Series
    assignment: pl.Series
    unused: Mapping[str, int] = field(default_factory=dict)
    windows: Mapping[str, tuple[Moment, Moment]] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "assignment", self.assignment.cast(NAMES))

    @property
    def counts(self) -> dict[str, int]:
        """The number of records of each of the five partitions."""
        return {name: int((self.assignment == name).sum()) for name in PARTITIONS}

    def frame(self, name: str) -> pl.DataFrame:
        """The records of a partition in the order of the table."""
        argument.choice("partition", name, PARTITIONS)
        return self.table.filter(self.assignment == name)

    def ids_of(self, name: str) -> pl.Series:
        """The ids of a partition in the order of the table."""
        argument.choice("partition", name, PARTITIONS)
        return self.ids.filter(self.assignment == name)


def partition(frame: pl.DataFrame, rules: Rules, *, ids: pl.Series | None = None) -> Partition:
    """Assign every record of a table [N] to one partition or to none.

    ids: [N], instead of the column named in the rules: row numbers of a table from which rows have been dropped.

    Each axis of the rules (time, group, condition) determines which of the populations in-domain, dev_out and eval_out
    a record fits; it belongs to those on which all axes agree. In-domain records are then drawn into train, dev_in
    and eval_in by the hash of their ids, or by clusters if these stay on one side (`apart`). The partitions are
    disjoint: a record has one of five names or none, an axis without an in-domain rule accepts only what its shift
    rules leave, and records that explicit rules assign to both sides are an error. Neither the order of rows nor any
    other column affects a record's partition.

    Raises:
        TableError: if ids are missing, empty or not unique.
        PartitionError: listing all problems: absent columns, missing values of time or group, misspelt group values,
            overlapping rules, and every empty partition with the cause.
    """
    check.kind("frame", frame, pl.DataFrame)
    check.kind("rules", rules, Rules)
    if ids is not None:
        check.kind("ids", ids, pl.Series)
        if len(ids) != frame.height or not (ids.dtype.is_integer() or ids.dtype == pl.String):
            raise PartitionError(
                f"ids: expected {frame.height:,} texts or whole numbers, found {len(ids):,} of the type {ids.dtype}."
            )
    _check_columns(frame, rules)
    ids = native_ids(frame, rules.id, where="the table") if ids is None else ids
    found, edges = axes(frame, rules)
    fits = _agreed(found, frame.height)
    _check_overlap(fits, ids)
    sampler = Sampler(ids, None if rules.by is None else keys.key(frame, rules.by).cast(pl.String), rules.seed)
    own = _own(frame, rules, fits)
    if rules.apart is None:
        drawn, left = {**_in_domain(rules, fits, own, sampler), **_shifted(rules, fits, sampler)}, {}
    else:
        sided = clusters.one_side(frame, rules, fits, own)
        drawn, left = dict(sided.drawn), dict(sided.left)
    drawn, surplus = _cut(_to_train(drawn, rules, sampler) if rules.exact else drawn, rules, sampler)
    surplus = {**surplus, **left}
    dtype = frame.schema[rules.time] if rules.time else pl.Int64()
    shown = {name: (windows.shown(start, dtype), windows.shown(end, dtype)) for name, (start, end) in edges.items()}
    if problems := _empty(drawn, _required(rules, found), found, fits, rules, shown):
        raise PartitionError(*problems)
    codes = np.full(frame.height, UNUSED)
    for code, name in enumerate(PARTITIONS):
        codes[drawn[name]] = code
    assignment = pl.Series("partition", codes)
    assignment = assignment.set(assignment == UNUSED, None).cat.to(NAMES)
    unused = _unused(codes, fits, found, surplus)
    return Partition(frame, ids, assignment, unused, shown, _warnings(drawn, rules, found))


def _check_columns(frame: pl.DataFrame, rules: Rules) -> None:
    problems = []
    if frame.is_empty():
        problems.append("the table: expected at least one record, found none.")
    for name in [part for role in rules.columns() for part in keys.parts(role, frame.columns)]:
        if name not in frame.columns:
            problems.append(str(UnknownNameError("column", name, frame.columns)))
        elif name != rules.id and (missing := _missing(frame[name])):
            problems.append(
                f"column {name!r}: expected a value for every record, found {missing:,} of {frame.height:,} missing. "
                "Fill or drop these records."
            )
    if problems:
        raise PartitionError(*problems)


def _missing(column: pl.Series) -> int:
    return column.null_count() + (int(column.is_nan().sum()) if column.dtype.is_float() else 0)


def _agreed(found: list[Axis], records: int) -> Bits:
    """The populations on which all axes agree, [N]."""
    fits = np.full(records, _ruled(found))
    for axis in found:
        fits &= axis.bits
    return fits


def _ruled(found: list[Axis]) -> np.uint8:
    """The populations that records can belong to: in_domain, and those with a rule on any axis."""
    everything = BIT["in_domain"]
    for name in SHIFTED:
        if any(name in axis.ruled for axis in found):
            everything |= BIT[name]
    return everything


def _check_overlap(fits: Bits, ids: pl.Series) -> None:
    both = np.flatnonzero((fits & BIT["in_domain"]).view(np.bool_) & (fits > BIT["in_domain"]))
    if len(both):
        shown = ", ".join(repr(one) for one in ids.gather(both[:3]))
        raise PartitionError(
            f"expected rules that keep in-domain and shifted records apart, found {counted(len(both), 'record')} "
            f"fitting both ({shown}). Narrow in_domain or the shift rules."
        )


def _own(frame: pl.DataFrame, rules: Rules, fits: Bits) -> dict[str, Flags]:
    """In-domain partition → the in-domain records [N] that meet its own condition; those without one are left out."""
    own = evaluated(frame, conditions(frame, {name: (name,) for name in IN_DOMAIN}, rules))
    own = {name: member & (fits & BIT["in_domain"] > 0) for name, member in own.items()}
    if twice := int(np.count_nonzero(sum(own.values()) > 1)):
        raise PartitionError(
            f"expected conditions of {', '.join(own)} that exclude each other, found "
            f"{counted(twice, 'record')} fitting two."
        )
    return own


def _in_domain(rules: Rules, fits: Bits, own: dict[str, Flags], sampler: Sampler) -> Draw:
    """Records of partitions with a condition first; the rest is sampled into the partitions without one."""
    left = fits & BIT["in_domain"] > 0
    drawn: Draw = {name: np.flatnonzero(member) for name, member in own.items()}
    for rows in drawn.values():
        left[rows] = False
    rows = np.flatnonzero(left)
    names = [name for name in DRAWN if name not in own]
    if rules.exact:
        drawn |= sampler.to_sizes(rows, _exact_sizes(rules, names, len(rows)))
    elif any(name in rules.sizes for name in names):
        drawn |= sampler.to_sizes(rows, _sizes(rules, names, len(rows)))
    elif total := sum(rules.shares[name] for name in names):
        drawn |= sampler.by_shares(rows, {name: rules.shares[name] / total for name in names})
    return {name: drawn.get(name, np.arange(0)) for name in IN_DOMAIN}


def _sizes(rules: Rules, names: list[str], records: int) -> dict[str, int]:
    total = sum(rules.shares[name] for name in names) or 1.0
    sizes = {name: rules.sizes.get(name, round(rules.shares[name] / total * records)) for name in names}
    if "train" in sizes and "train" not in rules.sizes:
        sizes["train"] = max(0, records - sum(size for name, size in sizes.items() if name != "train"))
    return sizes


def _exact_sizes(rules: Rules, names: list[str], records: int) -> dict[str, int]:
    """The sizes of shares, rounded down; the last of train, dev_in, eval_in with a share takes the rest.

    A share stands for the fraction nearest to it with a denominator up to 10^9, so that 0.1 means one tenth.
    """
    shares = {name: Fraction(rules.shares[name]).limit_denominator(10**9) for name in names if rules.shares[name]}
    sizes = {name: int(share / sum(shares.values()) * records) for name, share in shares.items()}
    if sizes:
        last = next(name for name in reversed(IN_DOMAIN) if name in sizes)
        sizes[last] += records - sum(sizes.values())
    return sizes


def _shifted(rules: Rules, fits: Bits, sampler: Sampler) -> Draw:
    drawn = {name: np.flatnonzero(fits == BIT[name]) for name in SHIFTED}
    both = np.flatnonzero(fits == BIT["dev_out"] | BIT["eval_out"])
    if len(both):
        divided = sampler.by_shares(both, {"dev_out": rules.dev_share, "eval_out": 1 - rules.dev_share})
        drawn = {name: np.sort(np.concatenate((drawn[name], divided[name]))) for name in SHIFTED}
    return drawn


def _to_train(drawn: Draw, rules: Rules, sampler: Sampler) -> Draw:
    """Records of dev_in and eval_in beyond their `at_most` go to train, unless a condition made any of these."""
    sampled = [name for name in IN_DOMAIN if name not in {*rules.where, *rules.ranges}]
    over = [name for name in sampled if len(drawn[name]) > rules.at_most.get(name, len(drawn[name]))]
    if "train" not in sampled:
        return drawn
    moved = dict(drawn)
    for name in over:
        if name != "train":
            moved[name] = sampler.smallest(drawn[name], rules.at_most[name])
            surplus = np.setdiff1d(drawn[name], moved[name], assume_unique=True)
            moved["train"] = np.sort(np.concatenate((moved["train"], surplus)), kind="stable")
    return moved


def _cut(drawn: Draw, rules: Rules, sampler: Sampler) -> tuple[Draw, dict[str, int]]:
    """Partitions reduced to their `sizes` and `at_most`, and the number of records left over."""
    problems = []
    kept, surplus = {}, {}
    for name, rows in drawn.items():
        wanted = rules.sizes.get(name, len(rows))
        if wanted > len(rows):
            problems.append(
                f"sizes.{name}: expected at most the {counted(len(rows), 'record')} fitting it, found {wanted:,}."
            )
        kept[name] = sampler.smallest(rows, min(wanted, rules.at_most.get(name, wanted)))
        surplus[f"more than {name} was to have"] = len(rows) - len(kept[name])
    if problems:
        raise PartitionError(*problems)
    return kept, surplus


def _required(rules: Rules, found: list[Axis]) -> set[str]:
    """The partitions that must not be empty: those with a share or a rule of their own, and train."""
    own = {*rules.where, *rules.ranges, *rules.sizes}
    required = {"train"} | {name for name in IN_DOMAIN if rules.shares[name] > 0 or name in own}
    required |= {name for axis in found for name in axis.ruled}
    if rules.fractions is not None:
        required -= {name for name, part in zip(SHIFTED, rules.fractions[2:], strict=True) if part == 0}
    if rules.dev_share in (0, 1):
        required -= {SHIFTED[int(rules.dev_share)]}
    return required


def _empty(
    drawn: Draw, required: set[str], found: list[Axis], fits: Bits, rules: Rules, edges: Mapping[str, Window]
) -> list[str]:
    """A problem for every required partition that is empty, with what removed its records."""
    problems = []
    for name in PARTITIONS:
        if name in required and not len(drawn[name]):
            bit = BIT[name if name in SHIFTED else "in_domain"]
            fitting = int(np.count_nonzero(fits & bit))
            if not fitting:
                window = edges.get(name if name in SHIFTED else "in_domain")
                reason = f"{_removals(found, bit, len(fits), window)}. {_cure(found, rules)}"
            elif rules.apart is not None:
                reason = (
                    f"its rules leave {counted(fitting, 'record')}, but each {rules.apart} is kept on one side of "
                    "train, dev and eval, and no cluster was assigned to it. Name smaller clusters, raise its share, "
                    "or allow clusters on both sides with --cut-clusters"
                )
            else:
                left = counted(fitting, "record")
                reason = f"its rules leave {left}, but its share or condition took none. Raise shares or sizes"
            problems.append(f"{name}: expected records, found none: {reason}.")
    return problems


def _cure(found: list[Axis], rules: Rules) -> str:
    """How rules that leave no record are widened."""
    if not any(axis.name.startswith("time ") for axis in found):
        return "Widen these rules"
    moved = "Move the windows with --shifted-from or --fractions, or in the settings"
    shorter = ", shorten --gap" if rules.gap is not None else ""
    without = "; or leave out --time, since the other rules tell a shift" if len(found) > 1 else ""
    return f"{moved}{shorter}{without}"


def _span(window: Window | None) -> str:
    """A window of time in words; "" for an open one."""
    start, end = window or (None, None)
    parts = [f"from {start}"] * (start is not None) + [f"before {end}"] * (end is not None)
    return f", whose window is {' and '.join(parts)}," if parts else ""


def _removals(found: list[Axis], bit: np.uint8, records: int, window: Window | None) -> str:
    left = np.ones(records, np.bool_)
    removed = []
    for axis in found:
        fitting = left & (axis.bits & bit > 0)
        span = _span(window) if axis.name.startswith("time ") else ""
        removed.append(f"{axis.name}{span} removed {np.count_nonzero(left) - np.count_nonzero(fitting):,}")
        left = fitting
    return f"of {records:,} records {', then '.join(removed) or 'nothing removed any'}"


def _unused(codes: Bits, fits: Bits, found: list[Axis], surplus: Mapping[str, int]) -> dict[str, int]:
    """The number of records in no partition, by reason."""
    reasons = {reason: count for reason, count in surplus.items() if count}
    alone = int(np.count_nonzero((codes == UNUSED) & (fits > 0))) - sum(reasons.values())
    if alone:
        reasons["in-domain, but no condition of train, dev_in or eval_in fits"] = alone
    counts = np.zeros(8 ** len(found), np.int64)
    for rows in counting.slices(len(fits)):
        key = np.zeros(len(fits[rows]), np.uint16)  # three axes of three bits
        for axis in found:
            key = key * np.uint16(8) + axis.bits[rows]
        counts += np.bincount(key, minlength=len(counts))
    for combined, count in enumerate(counts):
        digits = [combined >> 3 * place & 7 for place in range(len(found))][::-1]
        if count and not functools.reduce(operator.and_, digits, int(_ruled(found))):
            reason = _reason({axis.name: digit for axis, digit in zip(found, digits, strict=True)})
            reasons[reason] = reasons.get(reason, 0) + int(count)
    return reasons


def _reason(fitting: Mapping[str, int]) -> str:
    for axis, digit in fitting.items():
        if not digit:
            return f"{axis} fits no partition"
    names = {axis: " or ".join(name for name, bit in BIT.items() if digit & bit) for axis, digit in fitting.items()}
    return ", but ".join(f"{axis} fits {name}" for axis, name in names.items() if fitting[axis] != 7)


def _warnings(drawn: Draw, rules: Rules, found: list[Axis]) -> tuple[str, ...]:
    warned = [
        f"{name} has only {counted(len(rows), 'record')}: its scores will be coarse."
        for name, rows in drawn.items()
        if 0 < len(rows) < FEW
    ]
    if rules.fractions is not None and rules.gap is None:
        for name, wanted in zip(BIT, (rules.fractions[0], *rules.fractions[2:]), strict=True):
            share = int(np.count_nonzero(found[0].bits & BIT[name])) / len(found[0].bits)
            if abs(share - wanted) > FAR:
                warned.append(f"{name}: its window holds {share:.1%} of the records, not {wanted:.1%}: equal times.")
    if found and not any(len(drawn[name]) for name in SHIFTED):
        warned.append("no record is shifted: dev_out and eval_out are empty, so a shift cannot be assessed.")
    if whole := rules.by or rules.apart:
        records = sum(len(drawn[name]) for name in IN_DOMAIN)
        for name in IN_DOMAIN:
            share, wanted = len(drawn[name]) / records, rules.shares[name]
            if abs(share - wanted) > FAR:
                warned.append(f"{name} has {share:.1%} of the in-domain records, not {wanted:.1%}: whole {whole}.")
    return tuple(warned)
