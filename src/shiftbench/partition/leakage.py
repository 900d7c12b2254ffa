"""What the partitions share that they should not: ids, clusters, days, near-duplicate rows, too short a gap in time."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
from polars.datatypes import DataType

from shiftbench import keys
from shiftbench.errors import PartitionError, UnknownNameError
from shiftbench.partition import windows
from shiftbench.partition.engine import Partition
from shiftbench.partition.hashing import Hashes, keyed_hash, smallest, step
from shiftbench.partition.rules import Rules
from shiftbench.partition.settings import IN_DOMAIN, PARTITIONS, SHIFTED

MOST_RECORDS = 2_000_000
MOST_EXAMPLES = 3
NOTABLE = 0.01  # of an evaluation partition's records near-duplicated in train
CELL = 0.01  # standard deviations: numbers in one cell of this width count as equal

Severity = Literal["information", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("information", "warning", "error")


@dataclass(frozen=True)
class Finding:
    """One thing found: how bad, what kind, a sentence, how much of it where, and a few examples."""

    severity: Severity
    kind: str  # "ids", "clusters", "days", "duplicates", "gap", "note"
    what: str
    counts: dict[str, int]
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Leakage:
    """All findings, the worst first."""

    findings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that make the partition unfit for use."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"findings": [asdict(finding) for finding in self.findings]}

    def text(self) -> str:
        """One line a finding, the worst first."""
        return "\n".join(f"{finding.severity}: {finding}" for finding in self.findings) or "no leakage found"


def leakage(
    frame: pl.DataFrame,
    partition: Partition,
    rules: Rules,
    *,
    clusters: Sequence[str] = (),
    features: Sequence[str] = (),
) -> Leakage:
    """What the train partition of a table [N] shares with each of the others.

    clusters: columns (or "a+b", combinations) whose values (station, patient) should perhaps not be on both sides.
    features: columns that make two rows near-duplicates if they agree in all of them: numbers to a hundredth of a
        standard deviation, anything else exactly. Default: every column but those with a role in the rules.

    An error is an id on both sides, a group of `by` that was cut, or a gap in time shorter than the rules say.
    Above 2,000,000 records near-duplicates are searched among that many, drawn by the hash of their ids.

    Raises:
        UnknownNameError: for a cluster or feature column that is not in the table.
        PartitionError: if the table is not the one that was partitioned.
    """
    joined = [part for name in clusters for part in keys.parts(name, frame.columns)]
    for name in (*joined, *features):
        if name not in frame.columns:
            raise UnknownNameError("column", name, frame.columns)
    if frame.height != len(partition.assignment):
        raise PartitionError(
            f"expected the {len(partition.assignment):,} records that were partitioned, found {frame.height:,}."
        )
    found = [*_ids(partition)]
    for name in dict.fromkeys((*clusters, *([rules.by] if rules.by else []))):
        found += _clusters(keys.key(frame, name), partition, rules)
    if rules.time is not None:
        found += [*_gap(frame[rules.time], partition, rules), *_days(frame[rules.time], partition)]
    columns = list(features) or [name for name in frame.columns if name not in {*rules.columns(), *joined}]
    found += _duplicates(frame.select(columns), partition, rules)
    return Leakage(tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.severity), reverse=True)))


def _others(partition: Partition) -> list[str]:
    return [name for name in PARTITIONS if name != "train" and partition.counts[name]]


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _ids(partition: Partition) -> list[Finding]:
    assigned = pl.DataFrame({"id": partition.ids, "partition": partition.assignment}).drop_nulls()
    if assigned["id"].n_unique() == assigned.height:
        return []
    repeated = assigned.filter(pl.col("id").is_duplicated())
    counts = dict(repeated.group_by("partition").len().sort("partition").iter_rows())
    examples = tuple(map(str, repeated["id"].unique(maintain_order=True).head(MOST_EXAMPLES)))
    what = f"ids occur more than once: {_listed(counts)} records, such as {', '.join(examples)}."
    return [Finding("error", "ids", what, counts, examples)]


def _shared(values: pl.Series, partition: Partition) -> dict[str, pl.Series]:
    """For each other partition, those of its distinct values that train has too."""
    train = values.filter(partition.assignment == "train").unique()
    own = {name: values.filter(partition.assignment == name).unique() for name in _others(partition)}
    shared = {name: unique.filter(unique.is_in(train.implode())).drop_nulls().sort() for name, unique in own.items()}
    return {name: unique for name, unique in shared.items() if len(unique)}


def _clusters(values: pl.Series, partition: Partition, rules: Rules) -> list[Finding]:
    """In-domain scores are too good with clusters on both sides; shifted ones are meant to differ otherwise."""
    found = []
    shared = _shared(values, partition)
    for names in (IN_DOMAIN, SHIFTED):
        if counts := {name: len(shared[name]) for name in names if name in shared}:
            examples = tuple(map(str, shared[next(iter(counts))].head(MOST_EXAMPLES)))
            what = f"values of {values.name} in train and elsewhere: {_listed(counts)}, such as {', '.join(examples)}"
            severity: Severity = "information"
            if names == IN_DOMAIN:
                broken = values.name == rules.by
                severity = "error" if broken else "warning"
                what += "; they were to stay whole" if broken else f"; by={values.name!r} would keep them apart"
            found.append(Finding(severity, "clusters", f"{what}.", counts, examples))
    return found


def _days(times: pl.Series, partition: Partition) -> list[Finding]:
    if not isinstance(times.dtype, (pl.Date, pl.Datetime)):
        return []
    shared = _shared(times.cast(pl.Date), partition)
    if not shared:
        return []
    counts = {name: len(days) for name, days in shared.items()}
    examples = tuple(map(str, next(iter(shared.values())).head(MOST_EXAMPLES)))
    what = f"days in train and elsewhere: {_listed(counts)}, such as {', '.join(examples)}."
    return [Finding("information", "days", what, counts, examples)]


def _gap(times: pl.Series, partition: Partition, rules: Rules) -> list[Finding]:
    """The distance in time between in-domain and shifted records; an error where it is shorter than the rules say."""
    in_domain = times.filter(partition.assignment.is_in(IN_DOMAIN))
    wanted = 0.0 if rules.gap is None else windows.duration(rules.gap, times.dtype)
    # Windows written out for both sides may overlap, if another axis keeps the records apart.
    apart = rules.fractions is not None or "in_domain" not in rules.windows or rules.gap is not None
    found = []
    for name in SHIFTED:
        shifted = times.filter(partition.assignment == name)
        if shifted.is_empty() or in_domain.is_empty() or not (rules.fractions or name in rules.windows):
            continue
        own, other = windows.physical(in_domain).to_numpy(), windows.physical(shifted).to_numpy()
        distance = max((other.min() - own.max()).item(), (own.min() - other.max()).item())
        broken = apart and (distance <= 0 or distance < wanted)
        what = f"{name} and the in-domain records are {_span(distance, times.dtype)} apart in time"
        what += f", but the rules ask for {rules.gap or 'separate windows'}." if broken else "."
        found.append(Finding("error" if broken else "information", "gap", what, {name: len(shifted)}))
    return found


def _span(distance: float, dtype: DataType) -> str:
    if isinstance(dtype, pl.Date):
        return f"{distance:,} days"
    if isinstance(dtype, pl.Datetime):
        return str(datetime.timedelta(seconds=distance / windows.TICKS[dtype.time_unit]))
    return f"{distance:g}"


def _duplicates(features: pl.DataFrame, partition: Partition, rules: Rules) -> list[Finding]:
    """Rows of another partition that equal a row of train in every feature, exactly or nearly."""
    features = features.select(name for name, dtype in features.schema.items() if not dtype.is_nested())
    if not features.width:
        return []
    found = []
    rows = partition.assignment.is_not_null().arg_true().to_numpy().astype(np.intp)
    if len(rows) > MOST_RECORDS:
        what = f"near-duplicates were searched among {MOST_RECORDS:,} of {len(rows):,} records: there may be more."
        found.append(Finding("information", "note", what, {"records": MOST_RECORDS}))
        ids = partition.ids.gather(rows)
        rows = rows[smallest(keyed_hash(ids, seed=rules.seed), ids, MOST_RECORDS)]
    features = features[rows]
    names, ids = partition.assignment.gather(rows).to_numpy(), partition.ids.gather(rows)
    exact = [features.hash_rows().to_numpy()]
    # Two grids, half a cell apart: rows that an edge of one keeps apart can still meet in the other.
    near = [_cells(features, offset) for offset in (0.0, 0.5)]
    for kind, cells in (("equal", exact), ("nearly equal", [*exact, *near])):
        counts, examples = _matches(cells, names, ids)
        if counts:
            what = f"records whose features are {kind} to those of one in train: {_listed(counts)} ({examples[0]})."
            notable = any(count >= NOTABLE * partition.counts[name] for name, count in counts.items())
            found.append(Finding("warning" if notable else "information", "duplicates", what, counts, examples))
    return found


def _cells(features: pl.DataFrame, offset: float) -> Hashes:
    """A hash of each row's cell in a grid over its numbers, and of its other values."""
    keys = np.zeros(features.height, np.uint64)
    for column in features:
        if column.dtype.is_numeric():
            numbers = column.cast(pl.Float64).fill_nan(None)
            width = CELL * (numbers.filter(numbers.is_finite()).std() or 1.0)
            cells = (numbers / width + offset).floor() + 0.0  # + 0.0: no negative zero
            words = cells.fill_null(math.nan).to_numpy().view(np.uint64)
        else:
            words = column.hash().to_numpy()
        keys = step(keys, words)
    return keys


def _matches(keys: list[Hashes], names: npt.NDArray[Any], ids: pl.Series) -> tuple[dict[str, int], tuple[str, ...]]:
    """Records of each other partition that share any of the keys with train, and a few such pairs of ids."""
    train = np.flatnonzero(names == "train")
    seen = [pl.Series(key[train]).unique().implode() for key in keys]
    counts: dict[str, int] = {}
    examples: list[str] = []
    for name in PARTITIONS[1:]:
        own = np.flatnonzero(names == name)
        matched = [pl.Series(key[own]).is_in(there).to_numpy() for key, there in zip(keys, seen, strict=True)]
        if count := int(np.count_nonzero(np.any(matched, axis=0))):
            counts[name] = count
            key, hits = next((key, own[hit]) for key, hit in zip(keys, matched, strict=True) if hit.any())
            for row in hits[: MOST_EXAMPLES - len(examples)]:
                twin = train[np.flatnonzero(key[train] == key[row])[0]]
                examples.append(f"{ids[int(row)]} of {name} and {ids[int(twin)]} of train")
    return counts, tuple(examples)
