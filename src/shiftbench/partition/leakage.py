"""Leakage between partitions: shared ids, clusters and days, near-duplicate rows, too short a gap in time."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import polars as pl
from polars.datatypes import DataType

from shiftbench import argument, check
from shiftbench.errors import PartitionError, UnknownNameError, counted
from shiftbench.partition import keys, near_duplicates, windows
from shiftbench.partition.engine import Partition
from shiftbench.partition.rules import Rules
from shiftbench.partition.settings import IN_DOMAIN, PARTITIONS, SHIFTED

MOST_EXAMPLES = 3
NOTABLE = 0.01  # share of an evaluation partition's records with a near-duplicate in train

Severity = Literal["information", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = ("information", "warning", "error")


@dataclass(frozen=True)
class Finding:
    """One finding: severity, kind, a sentence, counts by partition, and a few examples."""

    severity: Severity
    kind: str  # "ids", "clusters", "days", "duplicates", "gap", "note"
    what: str
    counts: dict[str, int]
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.what


@dataclass(frozen=True)
class Leakage:
    """All findings, the worst first, and the columns in which near-duplicates were searched."""

    findings: tuple[Finding, ...]
    compared: tuple[str, ...] = field(default=(), compare=False)

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that make the partition unusable."""
        return tuple(finding for finding in self.findings if finding.severity == "error")

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {"findings": [asdict(finding) for finding in self.findings], "compared": list(self.compared)}

    def text(self) -> str:
        """One line per finding, the worst first."""
        return "\n".join(f"{finding.severity}: {finding}" for finding in self.findings) or "no leakage found"


def leakage(
    frame: pl.DataFrame,
    partition: Partition,
    rules: Rules,
    *,
    clusters: Sequence[str] = (),
    features: Sequence[str] = (),
) -> Leakage:
    """Leakage from the train partition of a table [N] to each of the others.

    clusters: columns (or "a+b", combinations) whose values (station, patient) should perhaps not be on both sides.
    features: two rows are near-duplicates if they agree in all of these columns: numbers to a hundredth of the
        column's standard deviation, anything else exactly. Default: every column without a role in the rules.

    Errors are ids on both sides, groups of `by` or clusters of `apart` that were cut, and a gap in time shorter
    than the rules require.
    Exactly the near-duplicates are found (see `near_duplicates`), unless so many records are similar that a finding
    states that not all pairs were compared.

    Raises:
        UnknownNameError: for a cluster or feature column that is not in the table.
        PartitionError: if the table is not the one that was partitioned.
    """
    check.kind("frame", frame, pl.DataFrame)
    check.kind("partition", partition, Partition)
    check.kind("rules", rules, Rules)
    clusters = argument.several("clusters", clusters, str, error=PartitionError)
    features = argument.several("features", features, str, error=PartitionError)
    joined = [part for name in clusters for part in keys.parts(name, frame.columns)]
    schema = frame.schema  # the property is computed at each access
    for name in (*joined, *features):
        if name not in schema:
            raise UnknownNameError("column", name, frame.columns)
    if frame.height != len(partition.assignment):
        raise PartitionError(
            f"expected the {len(partition.assignment):,} records that were partitioned, found {frame.height:,}."
        )
    found = [*_ids(partition)]
    for name in dict.fromkeys((*clusters, *(role for role in (rules.by, rules.apart) if role))):
        found += _clusters(keys.key(frame, name), partition, rules)
    if rules.time is not None:
        found += [*_gap(frame[rules.time], partition, rules), *_days(frame[rules.time], partition)]
    aside = {*rules.columns(), *joined}
    columns = list(features) or [name for name in schema if name not in aside]
    columns = [name for name in columns if not schema[name].is_nested()]
    found += _duplicates(frame.select(columns), partition)
    found.sort(key=lambda finding: SEVERITIES.index(finding.severity), reverse=True)
    return Leakage(tuple(found), tuple(columns))


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
    """For each other partition, its distinct values that train has, too."""
    train = values.filter(partition.assignment == "train").unique()
    own = {name: values.filter(partition.assignment == name).unique() for name in _others(partition)}
    shared = {name: unique.filter(unique.is_in(train.implode())).drop_nulls().sort() for name, unique in own.items()}
    return {name: unique for name, unique in shared.items() if len(unique)}


def _clusters(values: pl.Series, partition: Partition, rules: Rules) -> list[Finding]:
    """Clusters on both sides make in-domain scores too good; shifted partitions differ in other ways."""
    found = []
    shared = _shared(values, partition)
    apart = values.name == rules.apart
    for names in (IN_DOMAIN, SHIFTED):
        if counts := {name: len(shared[name]) for name in names if name in shared}:
            examples = tuple(map(str, shared[next(iter(counts))].head(MOST_EXAMPLES)))
            what = f"values of {values.name} in train and elsewhere: {_listed(counts)}, such as {', '.join(examples)}"
            broken = apart or (names == IN_DOMAIN and values.name == rules.by)
            severity: Severity = "error" if broken else "warning" if names == IN_DOMAIN else "information"
            if severity != "information":
                what += (
                    "; they were to stay whole" if broken else "; the rule `apart` (--cluster) keeps them on one side"
                )
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
    """The distance in time between in-domain and shifted records; an error if shorter than the rules require."""
    in_domain = times.filter(partition.assignment.is_in(IN_DOMAIN))
    wanted = 0.0 if rules.gap is None else windows.duration(rules.gap, times.dtype)
    # Explicit windows of both sides may overlap if another axis separates the records.
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
        what += f", but the rules require {rules.gap or 'separate windows'}." if broken else "."
        found.append(Finding("error" if broken else "information", "gap", what, {name: len(shifted)}))
    return found


def _span(distance: float, dtype: DataType) -> str:
    if isinstance(dtype, pl.Date):
        return counted(distance, "day")
    if isinstance(dtype, pl.Datetime):
        return str(datetime.timedelta(seconds=distance / windows.TICKS[dtype.time_unit]))
    return f"{distance:g}"


def _duplicates(features: pl.DataFrame, partition: Partition) -> list[Finding]:
    """Rows of other partitions that equal a row of train in every feature, exactly or nearly."""
    train = (partition.assignment == "train").arg_true().to_numpy().astype(np.intp)
    others = (partition.assignment != "train").arg_true().to_numpy().astype(np.intp)
    if not features.width or not len(train) or not len(others):
        return []
    equal = near_duplicates.equal(features, train, others)
    near = near_duplicates.near(features, train, others, known=equal)
    found = []
    for kind, twins in (("equal", equal), ("nearly equal", near)):
        names = partition.assignment.gather(twins.rows)
        if counts := {name: count for name in PARTITIONS if (count := int((names == name).sum()))}:
            examples = _examples(twins, partition)
            what = f"records whose features are {kind} to those of one in train: {_listed(counts)} "
            what += f"(for example record {examples[0]})."
            notable = any(count >= NOTABLE * partition.counts[name] for name, count in counts.items())
            found.append(Finding("warning" if notable else "information", "duplicates", what, counts, examples))
    if not near.complete:
        what = f"more than {near_duplicates.MOST_PAIRS:,} pairs of records are similar, and not all of them were "
        what += "compared: there may be more near-duplicates."
        found.append(Finding("information", "note", what, {"records": len(others)}))
    return found


def _examples(twins: near_duplicates.Twins, partition: Partition) -> tuple[str, ...]:
    """A few pairs of ids, in the order of the partitions."""
    names = partition.assignment.gather(twins.rows)
    first = np.concatenate([(names == name).arg_true().head(MOST_EXAMPLES).to_numpy() for name in PARTITIONS])
    return tuple(
        f"{partition.ids[int(twins.rows[place])]} of {names[int(place)]} and "
        f"{partition.ids[int(twins.twins[place])]} of train"
        for place in first[:MOST_EXAMPLES]
    )
