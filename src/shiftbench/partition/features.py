"""The features of a model: choice of columns, conversion to inputs, and detection of columns that reveal the target."""

from __future__ import annotations

import datetime
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import argument, check
from shiftbench.check import Flags, Vector
from shiftbench.errors import TableError
from shiftbench.io import tables
from shiftbench.partition import keys

Names = tuple[str, ...]
Codes = npt.NDArray[np.int64]

MISSING_CATEGORY = "(missing)"
LIKE_MISSING = r'^"*\(missing\)"*$'  # also with the quotes that distinguish it from missing values
MOST_RECORDS = 100_000  # size of the seeded sample in which leaks are searched
FEWEST_RECORDS = 20  # with fewer, a leak cannot be distinguished from a coincidence
LEAK_R2 = 0.9999
LEAK_ACCURACY = 0.999
WANTED = {
    "numeric": ("numbers", pl.Float64()),
    "categorical": ("text or booleans", pl.String()),
    "dates": ("dates", pl.Datetime("us")),
}
MOST_DESCRIBED = 1000  # columns of a file without a model
FEWEST_OTHERS = 3  # records held out that are not of the most frequent class: noise tells one or two by coincidence
LARGEST_MAJORITY = 0.99  # if one class is more frequent, high accuracy is meaningless


@dataclass(frozen=True)
class Features:
    """The columns that a model sees, by kind; `left_out` has the reasons for all others.

    Dates become the sine and cosine of the day of the year and the weekday; those in `times` also the sine and cosine
    of the hour. Only those in `timestamps` are also used as numbers, because a model cannot generalise over them.
    """

    numeric: Names = ()
    categorical: Names = ()
    dates: Names = ()
    times: Names = ()
    timestamps: Names = ()
    left_out: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def columns(self) -> list[str]:
        """All of them."""
        return [*self.numeric, *self.categorical, *self.dates]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {name: list(value) if isinstance(value, tuple) else dict(value) for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Features:
        """The features that `to_json` wrote.

        Raises:
            TableError: if the value does not have that form.
        """
        known = set(cls.__dataclass_fields__)
        if not isinstance(value, dict) or set(value) != known:
            found = sorted(value) if isinstance(value, dict) else type(value).__name__
            raise TableError(f"expected features with {sorted(known)}, found {found}. Fit the model again.")
        names = {name: tuple(entry) for name, entry in value.items() if name != "left_out"}
        return cls(**names, left_out=dict(value["left_out"]))


@dataclass(frozen=True)
class Inputs:
    """The inputs of a model: `numeric` float32 [N, P], NaN for missing values, and categories as text, each [N]."""

    numeric: npt.NDArray[np.float32]
    categorical: list[npt.NDArray[Any]]
    numeric_names: list[str]
    categorical_names: list[str]

    def __len__(self) -> int:
        return len(self.numeric)


@dataclass(frozen=True)
class Leak:
    """A column that reveals the target: `strength` is a held-out R² or accuracy, 1 for a copy."""

    column: str
    strength: float
    reason: str


def choose(
    frame: pl.DataFrame,
    *,
    target: str,
    exclude: Iterable[str] = (),
    drop: Iterable[str] = (),
    keep: Iterable[str] = (),
    timestamps: Iterable[str] = (),
) -> Features:
    """The columns of `frame` that can be features.

    Left out are the target, the columns named in `exclude`, those matching the globs in `drop`, and those that are
    empty, constant, text with another value in each row, or of a type no model supports. The globs in `keep` restore
    columns, but never the target. Dates named in `timestamps` are also used as days since 1970.

    Raises:
        TableError: if a named column is missing, a kept one has an unusable type, or no feature is left.
        UnknownNameError: if a glob matches nothing.
    """
    check.kind("frame", frame, pl.DataFrame)
    argument.text("target", target)
    exclude, timestamps, drop, keep = (
        tuple(argument.several(name, each, str))
        for name, each in {"exclude": exclude, "timestamps": timestamps, "drop": drop, "keep": keep}.items()
    )
    tables.require(frame, (target, *exclude, *timestamps), where="the table")
    why = dict.fromkeys(tables.expand(drop, frame.columns, what="column to drop"), "dropped by name")
    why |= dict.fromkeys(exclude, "not a feature by its role") | {target: "the target"}
    kept = set(tables.expand(keep, frame.columns, what="column to keep")) - {target}
    found = usable(frame, why, keep=kept)
    _check_choice(found, kept, timestamps)
    return replace(found, timestamps=timestamps)


def usable(frame: pl.DataFrame, why: Mapping[str, str], *, keep: Collection[str] = ()) -> Features:
    """The columns of `frame` that can be features, by kind; `why` has reasons to leave out columns not in `keep`."""
    kinds: dict[str, list[str]] = {"numeric": [], "categorical": [], "dates": [], "times": []}
    left_out: dict[str, str] = {}
    for column in frame:
        reason = "" if column.name in keep else why.get(column.name) or _useless(column)
        kind = _kind(column.dtype)
        if reason or not kind:
            left_out[column.name] = reason or f"of type {column.dtype.base_type()}"
            continue
        kinds[kind].append(column.name)
        if kind == "dates" and _has_time(column):
            kinds["times"].append(column.name)
    return Features(**{kind: tuple(names) for kind, names in kinds.items()}, left_out=left_out)


def described(frame: pl.DataFrame, taken: Iterable[str]) -> Features:
    """The columns that describe records whose model is not here: all that can be features but those in `taken`.

    Numbers that no model takes (infinite, or beyond single precision) are left out, too. Of very many columns none are.
    """
    free = frame.drop(set(taken), strict=False)
    if free.width > MOST_DESCRIBED:
        return Features()
    largest = float(np.finfo(np.float32).max)
    odd = (each.name for each in free if each.dtype.is_float() and (each.fill_nan(None).abs() > largest).any())
    return usable(free, dict.fromkeys(odd, "infinite somewhere"))


def _check_choice(found: Features, kept: set[str], timestamps: Names) -> None:
    problems = [
        f"column {name!r}: expected numbers, text or dates to keep, found a column {why}. Convert it first."
        for name, why in sorted(found.left_out.items())
        if name in kept
    ]
    problems += [
        f"column {name!r}: expected a date among the features to use as a timestamp, found none. "
        f"Keep it as a feature, or name another one ({', '.join(found.dates) or 'there is none'})."
        for name in timestamps
        if name not in found.dates
    ]
    if not found.columns:
        reasons = ", ".join(f"{name} ({reason})" for name, reason in found.left_out.items())
        problems.append(f"expected at least one feature, found none: {reasons}. Drop or exclude fewer columns.")
    if problems:
        raise TableError(*problems)


def _kind(dtype: pl.DataType) -> str:
    if dtype.is_numeric():
        return "numeric"
    if dtype in (pl.String, pl.Boolean, pl.Categorical, pl.Enum):
        return "categorical"
    return "dates" if dtype in (pl.Date, pl.Datetime) else ""


def _useless(column: pl.Series) -> str:
    """Why a column carries no information, or "" if it may carry some."""
    values = column.fill_nan(None) if column.dtype.is_float() else column
    if values.null_count() == len(values):
        return "empty"
    if not _kind(column.dtype):
        return f"of type {column.dtype.base_type()}"
    different = values.n_unique()
    if different == 1:
        return "constant"
    if column.dtype == pl.String and different - values.has_nulls() == len(values) - values.null_count():
        return "text with another value in each row, like an id"
    return ""


def _has_time(column: pl.Series) -> bool:
    return column.dtype == pl.Datetime and bool((column.dt.time() != datetime.time()).any())


# -- inputs


def matrix(frame: pl.DataFrame, features: Features) -> Inputs:
    """The features of `frame` as model inputs; missing text is a category of its own.

    Raises:
        TableError: naming every column that is missing, has another type than in training, or holds infinite values.
    """
    check.kind("frame", frame, pl.DataFrame)
    check.kind("features", features, Features)
    tables.require(frame, (*features.numeric, *features.categorical, *features.dates), where="the features")
    problems: list[str] = []
    numbers = _of_kind(frame, "numeric", features.numeric, problems)
    dates = _of_kind(frame, "dates", features.dates, problems)
    categorical = _of_kind(frame, "categorical", features.categorical, problems)
    of_dates = {name: values for column in dates for name, values in _of_date(column, features).items()}
    names = [*(column.name for column in numbers), *of_dates]
    # Filled column by column, in Fortran order, which CatBoost accepts without a copy.
    numeric = np.empty((frame.height, len(names)), np.float32, order="F")
    for place, column in enumerate(numbers):
        numeric[:, place] = _float32(column)
        problems += _infinite(numeric[:, place], column)
    if problems:
        raise TableError(*problems)
    for place, values in enumerate(of_dates.values(), start=len(numbers)):
        numeric[:, place] = values
    return Inputs(
        numeric,
        [category_texts(column).to_numpy() for column in categorical],
        names,
        list(features.categorical),
    )


def category_texts(column: pl.Series) -> pl.Series:
    """The category of each value [N] as text; missing ones are a category, from which equal text differs by quotes."""
    names = column.cast(pl.String)
    return keys.quoted(names, names.str.contains(LIKE_MISSING).fill_null(False)).fill_null(MISSING_CATEGORY)


def frequent(texts: npt.NDArray[Any], fewest: int) -> list[str]:
    """The categories that occur at least `fewest` times in a column [N] of text."""
    names, counts = np.unique(np.asarray(texts, dtype=str), return_counts=True)
    found: list[str] = names[counts >= fewest].tolist()
    return found


def partly_missing(inputs: Inputs) -> list[int]:
    """The numeric columns in which some but not all values are missing."""
    absent = np.isnan(inputs.numeric).mean(axis=0)
    return [int(place) for place in np.flatnonzero((absent > 0) & (absent < 1))]


def require_variety(inputs: Inputs) -> None:
    """Check that at least one feature of train varies.

    Raises:
        TableError: if none does.
    """
    numeric = inputs.numeric
    same = (numeric == numeric[0]) | (np.isnan(numeric) & np.isnan(numeric[0]))
    if same.all() and all((column == column[0]).all() for column in inputs.categorical):
        names = ", ".join([*inputs.numeric_names, *inputs.categorical_names])
        found = f"only constant ones ({names})" if names else "none"
        raise TableError(f"train: expected features that vary, found {found}. Keep more columns.")


def _of_kind(frame: pl.DataFrame, kind: str, names: Names, problems: list[str]) -> list[pl.Series]:
    """The columns that still have the kind they had in training; others are added to `problems`."""
    wanted, dtype = WANTED[kind]
    found = []
    for name in names:
        column = frame[name]
        if column.null_count() == len(column):
            # A column without any value may have any type, since its file does not determine it.
            found.append(pl.Series(name, [None] * len(column), dtype=dtype))
        elif _kind(column.dtype) == kind:
            found.append(column)
        else:
            problems.append(
                f"column {name!r}: expected {wanted} as in training, found {column.dtype}. Convert it, or fit again."
            )
    return found


def _float32(column: pl.Series) -> npt.NDArray[np.float32]:
    with np.errstate(over="ignore"):  # numbers beyond float32 become infinite, and are reported
        return _float(column).astype(np.float32)


def _infinite(values: npt.NDArray[np.float32], column: pl.Series) -> list[str]:
    rows = np.flatnonzero(np.isinf(values))
    if not len(rows):
        return []
    return [
        f"column {column.name!r}: expected finite numbers within ±3.4e38, found {column[int(rows[0])]} "
        f"in row {rows[0] + 1:,} ({len(rows):,} such). Clip them, or leave the cells empty."
    ]


def _of_date(column: pl.Series, features: Features) -> dict[str, npt.NDArray[np.float32]]:
    """Position in the year and the week; optionally in the day and in absolute time."""
    name = column.name
    moment = column.cast(pl.Datetime("us"))
    days = 365 + _float(moment.dt.is_leap_year())
    hour = _float(moment.dt.hour()) + _float(moment.dt.minute()) / 60
    parts = _on_circle(f"{name}:year", (_float(moment.dt.ordinal_day()) - 1) / days)
    parts[f"{name}:weekday"] = _float(moment.dt.weekday())
    if name in features.times:
        parts |= _on_circle(f"{name}:hour", hour / 24)
    if name in features.timestamps:
        parts[f"{name}:days"] = _float(moment.dt.timestamp("us")) / 86_400e6
    return {key: value.astype(np.float32) for key, value in parts.items()}


def _float(column: pl.Series) -> Vector:
    return column.cast(pl.Float64).fill_null(np.nan).to_numpy()


def _on_circle(name: str, turn: Vector) -> dict[str, Vector]:
    return {f"{name}_sin": np.sin(2 * math.pi * turn), f"{name}_cos": np.cos(2 * math.pi * turn)}


# -- leaks


def leaks(frame: pl.DataFrame, *, target: str, features: Features, task: str) -> list[Leak]:
    """Features that reveal the target by themselves, the strongest first.

    For regression: a copy or an affine function of the target, a strictly monotone one, or a feature that predicts
    held-out targets with R² >= 0.9999. For classification: a feature whose nearest other records (by value, or of the
    same category) have the class of a held-out record in 99.9 % of all cases, unless one class prevails.
    Records without the feature or the target are skipped; above 100,000 records a seeded sample is used.

    Raises:
        TableError: if a column is missing, or the target of a regression is not numeric.
        UnknownNameError: if the task is neither "regression" nor "classification".
    """
    argument.choice("task", task, ("regression", "classification"))
    check.kind("frame", frame, pl.DataFrame)
    check.kind("features", features, Features)
    argument.text("target", target)
    tables.require(frame, (target, *features.numeric, *features.categorical), where="the features")
    rng = np.random.default_rng(0)
    rows = rng.permutation(frame.height)[:MOST_RECORDS]
    sample = frame.select(target, *features.numeric, *features.categorical)[np.sort(rows)]
    held_out = rng.random(sample.height) < 0.5
    truth = tables.numbers(sample, target, where="the table") if task == "regression" else _codes(sample[target])
    judge = _regression_leak if task == "regression" else _classification_leak
    found, numeric = [], set(features.numeric)
    for column in sample.iter_columns():  # faster than access by name
        if (name := column.name) == target:
            continue
        ordered = name in numeric
        values = tables.numbers(column.to_frame(), name, where="the features") if ordered else _codes(column)
        known = np.isfinite(values) & np.isfinite(truth)
        if known.sum() >= FEWEST_RECORDS:
            leak = judge(values[known], truth[known], held_out[known], ordered=ordered)
            found += [Leak(name, *leak)] if leak else []
    return sorted(found, key=lambda leak: -leak.strength)


def _codes(column: pl.Series) -> Vector:
    """Categories as 0 … K-1, missing ones as NaN."""
    return _float(column.rank("dense")) - 1


def _regression_leak(x: Vector, y: Vector, held_out: Flags, *, ordered: bool) -> tuple[float, str] | None:
    if np.ptp(y) == 0 or not 0 < held_out.sum() < len(y):
        return None
    seen = ~held_out
    if not ordered:
        strength = _r2(y[held_out], _mean_by_value(x[seen], y[seen], x[held_out]))
        return (
            (strength, f"its category tells the target (held-out R² {strength:.6f})") if strength >= LEAK_R2 else None
        )
    if np.array_equal(x, y):
        return 1.0, "it equals the target"
    slope, offset = _line(x[seen], y[seen])
    strength = _r2(y[held_out], slope * x[held_out] + offset)
    if strength >= LEAK_R2:
        return strength, f"the target is a linear function of it (held-out R² {strength:.6f})"
    if way := _monotone(x, y):
        return 1.0, f"the target always {way} with it"
    strength = _r2(y[held_out], _interpolated(x[seen], y[seen], x[held_out]))
    return (strength, f"the target is a function of it (held-out R² {strength:.6f})") if strength >= LEAK_R2 else None


def _r2(targets: Vector, answers: Vector) -> float:
    spread = np.sum((targets - targets.mean()) ** 2)
    return float(1 - np.sum((targets - answers) ** 2) / spread) if spread > 0 else 0.0


def _line(x: Vector, y: Vector) -> tuple[float, float]:
    centred = x - x.mean()
    spread = float(centred @ centred)
    slope = float(centred @ (y - y.mean())) / spread if spread > 0 else 0.0
    return slope, float(y.mean()) - slope * float(x.mean())


def _monotone(x: Vector, y: Vector) -> str:
    """ "rises" or "falls" if y is a strictly monotone function of x, else ""."""
    order = np.argsort(x)
    steps, rises = np.diff(x[order]) > 0, np.diff(y[order])
    # Equal x must have equal y, and different x different y, else a threshold would count as a leak.
    if (rises[~steps] != 0).any() or not steps.any():
        return ""
    if (rises[steps] > 0).all():
        return "rises"
    return "falls" if (rises[steps] < 0).all() else ""


def _mean_by_value(x: Vector, y: Vector, at: Vector) -> Vector:
    """The mean y of the records with the value in `at`; without such records the overall mean."""
    values, group = np.unique(x, return_inverse=True)
    means = np.bincount(group, weights=y) / np.bincount(group)
    place = np.minimum(np.searchsorted(values, at), len(values) - 1)
    return np.where(values[place] == at, means[place], y.mean())


def _interpolated(x: Vector, y: Vector, at: Vector) -> Vector:
    values, group = np.unique(x, return_inverse=True)
    answers: Vector = np.interp(at, values, np.bincount(group, weights=y) / np.bincount(group))
    return answers


def _classification_leak(x: Vector, y: Vector, held_out: Flags, *, ordered: bool) -> tuple[float, str] | None:
    labels = y.astype(np.int64)
    if not 0 < held_out.sum() < len(labels):
        return None
    # Of those held out: if none or hardly any of them are of a rare class, noise tells their class, too.
    most, total = int(np.bincount(labels[held_out]).max()), int(held_out.sum())
    if (majority := most / total) > LARGEST_MAJORITY or total - most < FEWEST_OTHERS:
        return None
    values, classes = _majority_by_value(x[~held_out], labels[~held_out])
    above = np.searchsorted(values, x[held_out])
    above, below = np.minimum(above, len(values) - 1), np.maximum(above - 1, 0)
    truth, same = labels[held_out], values[above] == x[held_out]
    right = same & (classes[above] == truth)
    if ordered:
        # Between two known values either class may be correct, since the threshold lies somewhere in between.
        right |= ~same & ((classes[above] == truth) | (classes[below] == truth))
    accuracy = float(right.mean())
    if accuracy < LEAK_ACCURACY:
        return None
    return accuracy, f"it determines the class (held-out accuracy {accuracy:.4f}, most frequent class {majority:.4f})"


def _majority_by_value(x: Vector, labels: Codes) -> tuple[Vector, Codes]:
    """The different values of x in order, and the most frequent label of each (the first of ties)."""
    values, group = np.unique(x, return_inverse=True)
    width = int(labels.max()) + 1
    keys, counts = np.unique(group.astype(np.int64) * width + labels, return_counts=True)
    order = np.lexsort((-keys, counts, keys // width))
    last = np.flatnonzero(np.diff(keys[order] // width, append=-1))
    return values, keys[order][last] % width
