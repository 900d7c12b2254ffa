"""The canonical partition of the weather data (Shifts 1.0, Appendix C.1) and splits A to D of Tables 12 and 13."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

import polars as pl

from shiftbench import argument, check
from shiftbench.errors import PartitionError
from shiftbench.io import tables
from shiftbench.partition import SHIFTED, Partition, Rules, partition
from shiftbench.partition.expression import moment
from shiftbench.tracks.weather import schema
from shiftbench.tracks.weather.schema import CLASS, CLIMATE, TIME

FRACTIONS = (0.6, 0.1, 0.15, 0.15)
SHARES = {"train": 0.83642, "dev_in": 0.01358, "eval_in": 0.15}
AT_MOST = {"dev_in": 50_000, "dev_out": 50_000}

CANONICAL = "A"
EXPERIMENTS: Mapping[str, tuple[str, ...]] = {CANONICAL: (), "B": ("xclim",), "C": ("xtime",), "D": ("xclim", "xtime")}
"""What an experiment of Table 12 adds to train and dev_in: other climates, other times, both, or (A) neither."""


@dataclass(frozen=True)
class ExperimentRules(Rules):
    """The canonical rules with an experiment's additions, which its manifest records.

    experiment: B, C or D; the engine itself ignores this setting.
    """

    experiment: str = CANONICAL


@dataclass(frozen=True, eq=False)
class Split:
    """A partition of one experiment, with rows for the classes that train would lack.

    partition: the assignment of every record of the table.
    rules: of the partition, for the manifest.
    experiment: A, B, C or D.
    pieces: the number of records that an experiment added to train and dev_in: "train_xclim", "dev_xclim", …
    added: rows with the table's columns, one for each class that the table has and train lacks, see `added_rows`.
    """

    partition: Partition
    rules: Rules
    experiment: str
    pieces: Mapping[str, int]
    added: pl.DataFrame

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each partition; the added ones count for train."""
        counts = self.partition.counts
        return counts | {"train": counts["train"] + self.added.height}

    def with_added(self) -> Partition:
        """The partition with the added rows at the end of its table, in train; `write_manifest` takes it."""
        if self.added.is_empty():
            return self.partition
        ids = _new_ids(self.partition.ids, self.added[CLASS])
        added = self.added
        if self.rules.id is not None:
            added = added.with_columns(ids.cast(added.schema[self.rules.id]).alias(self.rules.id))
        train = pl.Series(["train"], dtype=self.partition.assignment.dtype).new_from_index(0, len(ids))
        return replace(
            self.partition,
            table=pl.concat([self.partition.table, added], rechunk=False),
            ids=pl.concat([self.partition.ids, ids]),
            assignment=pl.concat([self.partition.assignment, train]),
        )


def canonical_rules(
    *,
    time: str = TIME,
    group: str = CLIMATE,
    id: str | None = None,
    in_domain: tuple[str, ...] = ("tropical", "dry", "mild temperate"),
    shifted_dev: tuple[str, ...] = ("snow",),
    shifted_eval: tuple[str, ...] = ("snow", "polar"),
    seed: int = 1,
) -> Rules:
    """The rules of the canonical weather partition, for any table that has a column of times and one of groups.

    Of the records sorted by time, the first 60 % are the in-domain window, 10 % are left out, 15 % are the window of
    eval_out and the last 15 % that of dev_out. In-domain records are divided 83.642 : 1.358 : 15 exactly; dev_in and
    dev_out are limited to 50,000, and the surplus of dev_in goes to train.

    Args:
        time: column of dates, times or numbers.
        group: column of climates, or of other groups that shift.
        id: column of unique ids; None uses the row number.
        in_domain: groups of train, dev_in and eval_in.
        shifted_dev: groups of dev_out.
        shifted_eval: groups of eval_out.
        seed: key of the hash for drawing.

    Raises:
        PartitionError: for arguments that are not valid settings of `Rules`.
    """
    return Rules(
        id=id,
        seed=seed,
        time=time,
        fractions=FRACTIONS,
        eval_first=True,
        group=group,
        in_domain=in_domain,
        shifted_dev=shifted_dev,
        shifted_eval=shifted_eval,
        shares=SHARES,
        exact=True,
        at_most=AT_MOST,
    )


def split(frame: pl.DataFrame, experiment: str = CANONICAL, *, rules: Rules | None = None) -> Split:
    """Divide weather records [N] as an experiment of Table 12 does; A is the canonical partition.

    B adds records of the shifted climates in the in-domain window (xclim), C records of the in-domain climates in the
    two shifted windows (xtime), D both. The paper does not print their numbers; here each of the two pools is divided
    like the in-domain records: 83.642 % go to train, 1.358 % (at most 50,000, the others to train) to dev_in, and 15 %
    are held back. eval_in, dev_out and eval_out are those of A, whose records lie in neither pool.

    Args:
        frame: the records, with at least time, climate and class, and the column "id" if there is one.
        experiment: A, B, C or D.
        rules: other rules than the canonical ones; they must name time and group, and be cut by fractions.

    Raises:
        UnknownNameError: for another experiment.
        TableError: if a column is missing, or ids are missing or repeated.
        PartitionError: if the records do not fill the partitions, see `shiftbench.partition`.
    """
    check.kind("frame", frame, pl.DataFrame)
    argument.choice("experiment", experiment, EXPERIMENTS)
    check.kind("rules", rules, (Rules, type(None)))
    if rules is None:
        rules = canonical_rules(id="id" if "id" in frame.columns else None)
    tables.require(frame, [*rules.columns(), CLASS], where="the table")
    divided = partition(frame, rules)
    pieces: dict[str, int] = {}
    for pool in EXPERIMENTS[experiment]:
        divided, drawn = _with_pool(divided, pool, rules)
        pieces |= drawn
    if pieces:
        rules = _named(rules, experiment)
        # Those of train and dev_in are of their sizes before.
        warnings = [text for text in divided.warnings if not text.startswith(("train ", "dev_in "))]
        divided = replace(divided, warnings=tuple(warnings))
    in_train = divided.assignment == "train"
    absent = sorted(_classes(frame[CLASS]) - _classes(frame[CLASS].filter(in_train)))
    return Split(divided, rules, experiment, pieces, added_rows(frame.lazy().filter(in_train), absent))


def added_rows(train: pl.LazyFrame, absent: list[int]) -> pl.DataFrame:
    """A row for each class that train lacks, so that every class can be learnt, as in the published data.

    Numbers are the mean over train of what is not missing (rounded in whole-number columns), texts the commonest of
    train, and the class is the absent one. The columns are those of train; "id", if it is there, is missing.
    """
    types = train.collect_schema()
    if not absent:
        return pl.DataFrame(schema=types)
    wanted = {name: dtype for name, dtype in types.items() if name not in (CLASS, "id")}
    row = train.select(_typical(name, dtype) for name, dtype in wanted.items()).collect()
    classes = pl.DataFrame({CLASS: pl.Series(absent, dtype=types[CLASS])})
    rows = classes.join(row, how="cross")
    return rows.select(
        pl.col(name) if name in rows.columns else pl.lit(None, types[name]).alias(name) for name in types
    )


def official(counts: Mapping[str, int]) -> bool:
    """Whether the numbers of rows of all five partitions are the published ones (Shifts 1.0, Table 8)."""
    check.kind("counts", counts, Mapping)
    return all(counts.get(name) == published["total"] for name, published in schema.PARTITIONS.items())


def _typical(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    if not dtype.is_numeric():
        return column.drop_nulls().mode().min()
    if dtype.is_integer():
        return column.mean().round().cast(dtype)
    return column.cast(pl.Float64).fill_nan(None).mean().cast(dtype)


def _classes(column: pl.Series) -> set[int]:
    return set(column.drop_nulls().unique())


def _new_ids(ids: pl.Series, classes: pl.Series) -> pl.Series:
    """New unique ids: the next numbers, or text with the class."""
    if ids.dtype.is_integer():
        return (pl.int_range(1, len(classes) + 1, eager=True) + ids.max()).alias(ids.name)
    return ("added-class-" + classes.cast(pl.Int64).cast(pl.String)).alias(ids.name)


def _named(rules: Rules, experiment: str) -> ExperimentRules:
    values = {entry.name: getattr(rules, entry.name) for entry in fields(Rules)}
    return ExperimentRules(**values, experiment=experiment)


def _with_pool(divided: Partition, pool: str, rules: Rules) -> tuple[Partition, dict[str, int]]:
    """The partition with a pool's records drawn into train and dev_in, and their numbers in each."""
    rows = divided.table.select(_in_pool(pool, divided, rules)).to_series().arg_true()
    alone = Rules(id="id", seed=rules.seed, shares=rules.shares, exact=True, at_most=rules.at_most)
    try:
        drawn = partition(pl.DataFrame({"id": divided.ids.gather(rows)}), alone)
    except PartitionError as error:
        raise PartitionError(*(f"{pool}, the records to add: {problem}" for problem in error.problems)) from None
    assignment = divided.assignment.clone()
    pieces = {}
    for name, piece in (("train", f"train_{pool}"), ("dev_in", f"dev_{pool}")):
        chosen = rows.filter(drawn.assignment == name)
        assignment.scatter(chosen, name)
        pieces[piece] = len(chosen)
    unused = {"in no set of this experiment": assignment.null_count()}
    return replace(divided, assignment=assignment, unused=unused), pieces


def _in_pool(pool: str, divided: Partition, rules: Rules) -> pl.Expr:
    """The records of the shifted groups in the in-domain window, or of the in-domain groups in the shifted windows."""
    group = pl.col(rules.group or CLIMATE).cast(pl.String)
    if pool == "xclim":
        return group.is_in([*rules.shifted_dev, *rules.shifted_eval]) & _within(divided, ("in_domain",), rules)
    return group.is_in(rules.in_domain) & _within(divided, SHIFTED, rules)


def _within(divided: Partition, windows: tuple[str, ...], rules: Rules) -> pl.Expr:
    """Whether a record's time lies in one of the windows."""
    time = pl.col(rules.time or TIME)
    dtype = divided.table.schema[rules.time or TIME]
    inside = pl.lit(value=False)
    for name in windows:
        start, end = (moment(edge, dtype) if isinstance(edge, str) else edge for edge in divided.windows[name])
        within = pl.lit(value=True) if start is None else time >= start
        inside |= within if end is None else within & (time < end)
    return inside
