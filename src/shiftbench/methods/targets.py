"""Targets to learn: the target column of the train and dev partitions, checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.check import Vector
from shiftbench.errors import TableError, counted
from shiftbench.io import tables
from shiftbench.methods.settings import MethodSettings

Codes = npt.NDArray[np.int64]
FEWEST_TRAIN = 10  # with fewer, neither a spread nor a class frequency means anything
FEWEST_DEV = 1
LARGEST_LABEL = 2.0**63  # whole numbers below it are written without a point
MOST_LABELS = 5  # named in messages
ADVICE = "None of them occurs in train: list all in `classes` to give them probability 0, or drop these records."
OTHER_COLUMN = "Name a column that holds the classes of the target, or empty these values."


def numbers(train: pl.DataFrame, dev: pl.DataFrame, *, target: str) -> tuple[Vector, Vector]:
    """The targets of a regression, [N] for train and for dev.

    Raises:
        TableError: naming every problem of both: missing, infinite or non-numeric targets, too few records, a
            target that never varies in train.
    """
    values, problems = [], _too_few(train, dev)
    for part, frame in (("train", train), ("dev_in", dev)):
        try:
            column = tables.numbers(frame, target, where=part)
        except TableError as error:
            problems += error.problems
            continue
        values.append(column)
        if odd := int(np.count_nonzero(~np.isfinite(column))):
            problems.append(
                f"{part}, {target}: expected a finite target in every record, found {odd:,} of {len(column):,} "
                "missing or infinite. Drop these records, and count them."
            )
    if problems:
        raise TableError(*problems)
    with np.errstate(over="ignore"):
        spread = np.std(values[0])
    if not 0 < spread < np.inf:
        low, high = values[0].min(), values[0].max()
        advice = "Choose another." if low == high else f"Rescale it to a {'larger' if spread else 'smaller'} unit."
        found = (
            f"{low:g} everywhere" if low == high else f"a standard deviation of {spread:g}, from {low:g} to {high:g}"
        )
        raise TableError(f"train, {target}: expected a target that varies within range, found {found}. {advice}")
    return values[0], values[1]


def require(train: pl.DataFrame, dev: pl.DataFrame, *, target: str, settings: MethodSettings) -> None:
    """Check the targets of the settings' task, where they are not learnt from.

    Raises:
        TableError: see `numbers` and `classes`.
    """
    if settings.task == "regression":
        numbers(train, dev, target=target)
    else:
        classes(train, dev, target=target, known=settings.classes)


def labels(frame: pl.DataFrame, column: str, *, where: str) -> pl.Series:
    """A column of labels as text [N]; missing ones (also NaN and empty text) are null."""
    tables.require(frame, [column], where=where)
    tables.require_labels(frame, [column])
    series = frame[column]
    if series.dtype.is_float():
        # 3.0 and 3 are one label: whole numbers become floats in a column with missing values.
        whole = series.fill_nan(None)
        series = whole.cast(pl.Int64) if _are_whole(whole.drop_nulls()) else whole
    return series.cast(pl.String).replace("", None).rename(column)


def _are_whole(numbers: pl.Series) -> bool:
    return bool(((numbers % 1 == 0) & (numbers.abs() < LARGEST_LABEL)).all())


def classes_of(column: pl.Series) -> tuple[str, ...]:
    """The different labels (made by `labels`) in sorted order: as numbers where all are, as text where not."""
    names = column.drop_nulls().unique().sort()
    numeric = names.cast(pl.Float64, strict=False)
    order = names if numeric.has_nulls() else names.gather(numeric.arg_sort())
    return tuple(order.to_list())


def classes(
    train: pl.DataFrame, dev: pl.DataFrame, *, target: str, known: Sequence[str] | None = None
) -> tuple[Codes, Codes, tuple[str, ...]]:
    """The targets of a classification as positions in the classes, [N] for train and for dev, and the classes.

    The classes are `known`, in its order, or else the labels in train, sorted.

    Raises:
        TableError: naming every problem of both: missing targets, too few records, one class only, a class
            that is not `known`, or (if None is given) a class in dev that train lacks.
    """
    problems = _too_few(train, dev)
    parts = {part: labels(frame, target, where=part) for part, frame in (("train", train), ("dev_in", dev))}
    for part, column in parts.items():
        if column.null_count():
            problems.append(
                f"{part}, {target}: expected a target in every record, found {column.null_count():,} of "
                f"{len(column):,} missing. Drop these records, and count them."
            )
    in_train = classes_of(parts["train"])
    if len(in_train) < 2:
        found = f"only {in_train[0]!r}" if in_train else "none"
        problems.append(f"train, {target}: expected two or more classes, found {found}. Change the partition.")
    names = in_train if known is None else tuple(known)
    advice = ADVICE if known is None else "Add them to `classes`, or drop these records."
    for part, column in parts.items():
        problems += absent(column, names, where=part, advice=advice)
    if problems:
        raise TableError(*problems)
    place = {name: code for code, name in enumerate(names)}
    train_codes, dev_codes = (
        column.replace_strict(place, return_dtype=pl.Int64).to_numpy() for column in parts.values()
    )
    return train_codes, dev_codes, names


def absent(column: pl.Series, names: Sequence[str], *, where: str, advice: str) -> list[str]:
    """The problem of labels in `column` that are not among the classes `names`, if any: a few of them, with counts."""
    present = column.drop_nulls()
    counts = present.filter(~present.is_in(list(names))).value_counts(name="count").sort(column.name)
    if counts.is_empty():
        return []
    found = [f"{name!r} in {counted(count, 'record')}" for name, count in counts.head(MOST_LABELS).rows()]
    if (more := counts.height - MOST_LABELS) > 0:
        found.append(f"{more:,} more labels")
    return [f"{where}, {column.name}: expected a class among {', '.join(names)}, found {' and '.join(found)}. {advice}"]


def _too_few(train: pl.DataFrame, dev: pl.DataFrame) -> list[str]:
    sizes = (("train", train.height, FEWEST_TRAIN), ("dev_in", dev.height, FEWEST_DEV))
    return [
        f"{part}: expected at least {counted(fewest, 'record')}, found {found}. Change the partition."
        for part, found, fewest in sizes
        if found < fewest
    ]
