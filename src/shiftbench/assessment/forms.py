"""Forms in which a table holds predictions. Each is recognised by the names of its columns and read as an ensemble.

A form from another package joins by the entry points `shiftbench.forms`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from shiftbench.check import Flags, Vector, value_problems
from shiftbench.ensembles import Array, Categorical, Ensemble, Gaussian, Means, Quantiles
from shiftbench.ensembles.categorical import SUM_TOLERANCE
from shiftbench.ensembles.quantiles import TOLERANCE, crossing_advice, falls, level_problems
from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.io import tables
from shiftbench.io.tables import problem
from shiftbench.registry import Registry

Parts = Mapping[str, str]  # column → what it holds: a level, a member, a class


@dataclass(frozen=True)
class Form:
    """One form of predictions.

    columns: what its columns are called, for messages. option: of the command line, for columns of other names.
    task: "regression" or "classification". recognised: the columns of a table that are of this form, by their names.
    named: what the option gives, as columns and their parts; raises TableError. read: the ensemble in a table, given
    these columns and the file's name for messages; raises TableError with all problems. answers: whether a column of
    answers may stand beside, which becomes the field `point` of the ensemble.
    """

    name: str
    columns: str
    option: str
    task: str
    recognised: Callable[[Sequence[str]], dict[str, str]]
    named: Callable[[Sequence[str], Sequence[str]], dict[str, str]]
    read: Callable[[pl.DataFrame, Parts, str], Ensemble]
    answers: bool = False


FORMS = Registry("form of predictions", Form, "shiftbench.forms", homes=["shiftbench.assessment.forms:OURS"])


def found_in(
    columns: Sequence[str], named: Mapping[str, Sequence[str]], *, answered: bool, where: str
) -> tuple[Form, dict[str, str]] | None:
    """The form of the predictions in a table and its columns, None if there are none.

    Args:
        columns: of the table.
        named: form → the values of its option.
        answered: whether the table has answers and uncertainties, so that it needs no form: then only one that
            answers may stand beside is recognised.
        where: the file, for messages.

    Raises:
        TableError: if there are several forms, or options that do not name columns.
    """
    if chosen := [FORMS[name] for name, values in named.items() if values]:
        found = [(form, form.named(columns, named[form.name])) for form in chosen]
    else:
        found = [(form, form.recognised(columns)) for form in FORMS.values() if form.answers or not answered]
        found = [(form, parts) for form, parts in found if parts]
    if len(found) > 1:
        forms = " and ".join(f"{form.name} ({', '.join(list(parts)[:3])})" for form, parts in found)
        options = " or ".join(form.option for form, _ in found)
        raise TableError(f"{where}: expected predictions in one form, found {forms}. Name one with {options}.")
    return found[0] if found else None


def hint() -> str:
    """What the columns of all forms are called, and the options that name others, for a message."""
    return "; ".join(f"{form.name}: {form.columns} (or {form.option})" for form in FORMS.values())


def _pairs(columns: Sequence[str], values: Sequence[str], *, option: str, example: str) -> dict[str, str]:
    """The columns of an option's values such as `0.05=low`.

    Raises:
        TableError: listing values of another form, unknown columns, and columns named twice.
    """
    found: dict[str, str] = {}
    problems = []
    for value in values:
        part, sign, column = (word.strip() for word in value.partition("="))
        if not (part and sign and column):
            problems.append(f"{option}: expected {example}, found {value!r}.")
        elif column in found:
            problems.append(f"{option}: expected each column once, found {column!r} twice. Drop one.")
        else:
            found[column] = part
    try:
        tables.require_names(columns, found, where=option)
    except TableError as error:
        problems += error.problems
    if problems:
        raise TableError(*problems)
    return found


def _numbers(frame: pl.DataFrame, names: Sequence[str], where: str) -> tuple[Array, list[str]]:
    """Columns of finite numbers [N, J] and their problems, with rows; empty if they are no numbers."""
    if not names:
        return np.empty((frame.height, 0)), []
    try:
        values = tables.number_columns(frame, names, where=where)
    except ShiftbenchError as error:
        return np.empty((0, len(names))), list(error.problems)
    problems = [each for name in names for each in value_problems(f"{where}: column {name!r}", values[name], rows=True)]
    return np.stack([values[name] for name in names], axis=-1), problems


def _rows(bad: Flags) -> str:
    """Flagged rows [N]: their number and the first of them."""
    return f"in {np.count_nonzero(bad):,} of {len(bad):,} records ({problem.rows(pl.Series(bad))})"


# --- quantiles and intervals ------------------------------------------------------------------------------------------

_QUANTILE = re.compile(r"(?:q_?(?=\d*\.)|quantile_?)(\d*\.?\d+)", re.IGNORECASE)
_END = re.compile(r"(lower|lo|upper|hi)[_-](\d*\.?\d+)", re.IGNORECASE)
_SIDES = {"lower": -1, "lo": -1, "upper": 1, "hi": 1}


def _quantile_columns(columns: Sequence[str]) -> dict[str, str]:
    found = {name: match[1] for name in columns if (match := _QUANTILE.fullmatch(name))}
    return found | {name: name for name in columns if _END.fullmatch(name)}


def _named_quantiles(columns: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    return _pairs(columns, values, option="--quantile", example="LEVEL=COLUMN, such as 0.05=low or lower_90=low")


def _level(part: str) -> float | None:
    """The level of `0.05`, or of `lower_90`: the lower end of a central 90 % interval."""
    if end := _END.fullmatch(part):
        share = float(end[2]) / (1.0 if float(end[2]) < 1 else 100.0)
        level = round(0.5 + _SIDES[end[1].lower()] * share / 2.0, 10)
        return level if 0 < share < 1 else None
    try:
        return float(part)
    except ValueError:
        return None


def _read_quantiles(frame: pl.DataFrame, parts: Parts, where: str) -> Quantiles:
    levels, problems = _levels(parts, where)
    names = sorted(levels, key=levels.__getitem__)
    values, more = _numbers(frame, names or list(parts), where)
    if not problems and not more:
        for place, (low, high) in enumerate(pairwise(names)):
            if (bad := falls(values[:, place : place + 2])[:, 0]).any():
                more.append(
                    f"{where}: expected quantiles that rise with their level, found column {low!r} above column "
                    f"{high!r} {_rows(bad)}. {crossing_advice(bad)}"
                )
    if problems := problems + more:
        raise TableError(*problems)
    return Quantiles(values[None], tuple(levels[name] for name in names))


def _levels(parts: Parts, where: str) -> tuple[dict[str, float], list[str]]:
    """The level of each column, and what is wrong with them."""
    found = {column: _level(part) for column, part in parts.items()}
    problems = [
        f"{where}: expected levels of quantiles between 0 and 1 and of intervals between 0 and 100 %, found "
        f"{parts[column]!r} (column {column!r}). Name columns such as q0.05, or lower_90 and upper_90."
        for column, level in found.items()
        if level is None
    ]
    levels = {column: level for column, level in found.items() if level is not None}
    order = sorted(levels, key=levels.__getitem__)
    for low, high in pairwise(order):
        if levels[high] - levels[low] <= TOLERANCE:
            twice = f"{levels[low]:g} in columns {low!r} and {high!r}"
            problems.append(f"{where}: expected each level once, found {twice}. Choose with --quantile.")
    problems += [
        f"{where}: expected both ends of an interval, found column {column!r} alone. Add its other end, or name it as "
        f"a quantile: q{level:g}."
        for column, level in levels.items()
        if _END.fullmatch(parts[column]) and all(abs(1 - level - other) > TOLERANCE for other in levels.values())
    ]
    if len(levels) == len(found):
        columns = {level: column for column, level in levels.items()}
        problems += [f"{where}: {each}" for each in level_problems(tuple(columns), columns)]
    return levels, problems


# --- members and normal distributions ---------------------------------------------------------------------------------

_MEMBER = re.compile(r"(mean|member|variance|var|std|sd)(?:_?(\d+))?", re.IGNORECASE)
_KINDS = {"mean": "mean", "member": "mean", "variance": "variance", "var": "variance", "std": "std", "sd": "std"}


def _member_columns(columns: Sequence[str]) -> dict[str, str]:
    return {name: part for name, part in _moments(columns).items() if " " in part}


def _normal_columns(columns: Sequence[str]) -> dict[str, str]:
    return {name: part for name, part in _moments(columns).items() if " " not in part}


def _moments(columns: Sequence[str]) -> dict[str, str]:
    """Means, variances and standard deviations by their columns: `mean 1` … of members, or else `mean` and `std`."""
    found = {}
    for name in columns:
        if match := _MEMBER.fullmatch(name):
            found[name] = f"{_KINDS[match[1].lower()]} {int(match[2]) if match[2] else ''}".rstrip()
    means = {part for part in found.values() if part.startswith("mean")}
    spreads = {part.partition(" ")[2] for part in found.values() if not part.startswith("mean")}
    numbered = {part for part in means if part != "mean"}
    if len(numbered) > 1 or (numbered and spreads - {""}):
        return {name: part for name, part in found.items() if " " in part}
    return {name: part for name, part in found.items() if " " not in part} if means and "" in spreads else {}


def _named_members(columns: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    chosen = tables.expand(values, columns, what="column of --member")
    return {name: f"mean {place}" for place, name in enumerate(chosen, start=1)}


def _named_normal(columns: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    """The columns of --mean and --std; values: `mean=COLUMN` and `std=COLUMN`."""
    found = dict(value.split("=", 1) for value in values)
    for part, other in (("mean", "std"), ("std", "mean")):
        if part not in found:
            raise TableError(
                f"--{part}: expected a column beside --{other} {found[other]}, found none. Name it with --{part}."
            )
        tables.require_names(columns, [found[part]], where=f"--{part}")
    if found["mean"] == found["std"]:
        raise TableError(f"--mean, --std: expected different columns, found {found['std']!r} for both. Change one.")
    return {column: part for part, column in found.items()}


def _read_members(frame: pl.DataFrame, parts: Parts, where: str) -> Gaussian | Means:
    kinds: dict[str, dict[str, str]] = {"mean": {}, "variance": {}, "std": {}}  # each: member → column
    problems = []
    for column, part in parts.items():
        kind, _, member = part.partition(" ")
        if (other := kinds[kind].setdefault(member, column)) != column:
            problems.append(
                f"{where}: expected one column for each member, found {other!r} and {column!r} for one. Drop one."
            )
    means, spreads = kinds["mean"], {**kinds["std"], **kinds["variance"]}
    for member in kinds["std"].keys() & kinds["variance"].keys():
        named = f"{kinds['std'][member]!r} and {kinds['variance'][member]!r}"
        problems.append(f"{where}: expected a standard deviation or a variance of a member, found {named}. Drop one.")
    if spreads and (odd := sorted(means.keys() ^ spreads.keys())):
        named = ", ".join(repr(means.get(member, spreads.get(member))) for member in odd[:3])
        problems.append(
            f"{where}: expected a variance for every mean, or none at all, found {named} without the other. "
            "Add what is missing, or name the means with --member."
        )
    if not spreads and len(means) < 2:
        problems.append(
            f"{where}: expected two or more members, found {', '.join(map(repr, parts))}: the uncertainty is their "
            "spread. Give one prediction as --answer with --uncertainty."
        )
    mean, more = _numbers(frame, list(means.values()), where)
    problems += more
    if not spreads and not problems:
        return Means(mean.T)
    variance, more = _numbers(frame, list(spreads.values()), where)
    problems += more
    if not more:
        for place, (member, column) in enumerate(spreads.items()):
            variance[:, place], more = _variance(column, variance[:, place], member in kinds["std"], where)
            problems += more
    if problems:
        raise TableError(*problems)
    order = [list(spreads).index(member) for member in means]
    return Gaussian(mean.T, variance[:, order].T)


def _variance(column: str, values: Vector, is_std: bool, where: str) -> tuple[Vector, list[str]]:
    with np.errstate(under="ignore", over="ignore"):
        variance = np.square(values) if is_std else values
    bad = (values <= 0) | (variance == 0) | np.isinf(variance)
    if not bad.any():
        return variance, []
    return variance, [
        f"{where}: column {column!r}: expected values > 0 with a finite variance, found {values[bad][0]:g} "
        f"{_rows(bad)}. Set a floor, for instance the target's resolution."
    ]


# --- class probabilities ----------------------------------------------------------------------------------------------

_PROBABILITY = re.compile(r"(?:probability|proba|prob)_(.+)", re.IGNORECASE)


def _probability_columns(columns: Sequence[str]) -> dict[str, str]:
    return {name: match[1] for name in columns if (match := _PROBABILITY.fullmatch(name))}


def _named_probabilities(columns: Sequence[str], values: Sequence[str]) -> dict[str, str]:
    return _pairs(columns, values, option="--probability", example="CLASS=COLUMN, such as rain=p_rain")


def _read_probabilities(frame: pl.DataFrame, parts: Parts, where: str) -> Categorical:
    names, classes = list(parts), list(parts.values())
    problems = []
    if len(names) < 2:
        problems.append(
            f"{where}: expected a column of probabilities for each of two or more classes, found {names[0]!r} alone. "
            "Of two classes, add 1 - p for the other."
        )
    if twice := sorted({name for name in classes if classes.count(name) > 1}):
        problems.append(f"{where}: expected one column for each class, found several for {', '.join(twice)}. Drop one.")
    values, more = _numbers(frame, names, where)
    problems += more or _probability_problems(values, names, where)
    if problems:
        raise TableError(*problems)
    return Categorical(values[None], tuple(classes))


def _probability_problems(values: Array, names: Sequence[str], where: str) -> list[str]:
    softmax = "Logits or scores? Apply a softmax over the classes first."
    outside = (values < 0) | (values > 1 + SUM_TOLERANCE)
    bad: Flags = np.asarray(outside.any(axis=1))
    if bad.any():
        row = int(np.argmax(bad))
        column = int(np.argmax(outside[row]))
        found = f"{values[row, column]:g} in column {names[column]!r}"
        return [f"{where}: expected probabilities from 0 to 1, found {found}, and such values {_rows(bad)}. {softmax}"]
    sums = values.sum(axis=1)
    bad = np.asarray(np.abs(sums - 1.0) > SUM_TOLERANCE)
    if len(names) > 1 and bad.any():
        found = f"{sums[np.argmax(bad)]:g}, and other sums than 1 {_rows(bad)}"
        return [
            f"{where}: expected probabilities of {', '.join(names[:3])}{', …' * (len(names) > 3)} that add up to 1, "
            f"found {found}. Is a class missing? {softmax}"
        ]
    return []


OURS = (
    Form(
        "quantiles", "q0.05, q0.5, q0.95 (or quantile_0.05 …), lower_90 and upper_90", "--quantile LEVEL=COLUMN",
        "regression", _quantile_columns, _named_quantiles, _read_quantiles, answers=True,
    ),
    Form(
        "members", "mean_1, mean_2 …, with or without variance_1, variance_2 …", "--member COLUMN", "regression",
        _member_columns, _named_members, _read_members,
    ),
    Form(
        "normal distributions", "mean and std, or mean and variance", "--mean COLUMN --std COLUMN", "regression",
        _normal_columns, _named_normal, _read_members,
    ),
    Form(
        "probabilities", "probability_CLASS for each class", "--probability CLASS=COLUMN", "classification",
        _probability_columns, _named_probabilities, _read_probabilities,
    ),
)  # fmt: skip
