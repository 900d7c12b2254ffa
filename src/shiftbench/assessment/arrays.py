"""Reports from arrays in memory: errors and uncertainties, or targets and what models predict for them."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import argument, check
from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options, build, squared
from shiftbench.assessment.conformal import Split, set_aside
from shiftbench.assessment.scored import Records, Scored
from shiftbench.assessment.slicing import Slicing
from shiftbench.assessment.source import Source
from shiftbench.ensembles import Categorical, Ensemble, Means
from shiftbench.errors import ArrayError, ShiftbenchWarning, quoted
from shiftbench.partition.features import described
from shiftbench.report.content import HALF, LONGEST_TEXT, Report
from shiftbench.scores.intervals import Progress
from shiftbench.scores.score import Role

MOST_LISTED = 5


def assess(
    errors: Any,
    uncertainty: Any,
    *,
    shifted: Any = None,
    threshold: float | None = None,
    clusters: Any = None,
    slices: Any = None,
    length: Any = None,
    name: str = "model",
    options: Options | None = None,
    progress: Progress | None = None,
) -> Report:
    """The full report of one system from its errors and uncertainties alone.

    Args:
        errors: [N], >= 0, lower is better.
        uncertainty: [N], higher is less certain; or several by name, the first of them behind the headline scores.
        shifted: [N] booleans or 0/1: which records come from the shifted domain.
        threshold: the largest acceptable error, in the unit of the errors; without it there are no F1 scores.
        clusters: [N] labels of groups that resemble each other (station, day, scene, patient), resampled together.
        slices: column name → [N] values to break scores down by, or a table of such columns (pandas, polars); numbers
            with many values are cut into ranges.
        length: [N] >= 0, of each record, such as the tokens of a text: then the report has the length check.
        name: of the system.
        options: everything else: rule, intervals, units, title. The argument `threshold` overrides its threshold.
        progress: called with (replicates done, replicates in all).

    Values with a pandas index are lined up by it; if that is impossible, they are refused.

    Returns:
        A `Report`; write it in every format with `shiftbench.report.write(report, folder)`.

    Raises:
        ArrayError: listing the problems of all arrays.

    Warns:
        WrongSignWarning, ConstantUncertaintyWarning, FewClustersWarning, DegenerateScoreWarning: also in the report.
    """
    named = uncertainty if isinstance(uncertainty, Mapping) else {"uncertainty": uncertainty}
    _require_names("uncertainty", named)
    _require_names("name", [name])
    argument.callback("progress", progress)
    groups = {"uncertainty": named, "slices": _columns("slices", slices)}
    lined = _lined_up({"errors": errors, "shifted": shifted, "clusters": clusters, "length": length}, groups)
    system = scored.given(name, lined["errors"], lined["uncertainty"])
    if length is not None:
        lengths = check.vector("length", lined["length"], length=len(system.errors), nonnegative=True)
        system = replace(system, length=lengths)
    records, notes = _records(len(system.errors), lined)
    return _report((records, [system]), _options(options, threshold), notes, progress)


def assess_predictions(
    targets: Any,
    predictions: Any,
    *,
    shifted: Any = None,
    threshold: float | None = None,
    clusters: Any = None,
    slices: Any = None,
    table: Any = None,
    calibration: Any = None,
    unit: str = "",
    options: Options | None = None,
    progress: Progress | None = None,
) -> Report:
    """The full report of one or more models from their predictions for the same records.

    Args:
        targets: [N] numbers, or classes as the predictions name them (without names: 0 … C-1).
        predictions: what a model predicts, as an ensemble (`Gaussian.from_members`, `Categorical.from_members`), or
            several by name. Numbers [N] are a baseline without an uncertainty: a forecast, the value of last year;
            beside class probabilities classes [N] are, named like the targets: the most frequent one, a rule.
        threshold: the largest acceptable squared error; without it there are no F1 scores. Not for classes.
        shifted, clusters, slices, progress: as in `assess`; slices may be a list of names of columns of `table`, too.
        table: the columns [N] of the records (pandas, polars, or name → values), shown where the report lists records.
            All that are no groups count as features: the report tells which of them shifted.
        calibration: [N] booleans or 0/1: records that calibrate conformal intervals or sets and are not scored. With
            `table` some of these are weighted for the shift.
        unit: of the targets. The name of their Series, if they have one, is the title unless `options` name another.
        options: everything else, as in `assess`. The arguments `threshold` and `unit` override its own.

    Values with a pandas index are lined up by it, those of ensembles that were made for such a table too; if that is
    impossible, they are refused.

    Returns:
        A `Report`, which shows itself in a notebook; see `Report.to_html`, `to_polars` and `shiftbench.report.write`.

    Raises:
        ArrayError: listing the problems of all arrays.

    Warns:
        ShiftbenchWarning: for each warning of the report.
    """
    chosen = _options(options, threshold)
    argument.callback("progress", progress)
    if isinstance(predictions, (list, tuple)) and any(isinstance(each, Ensemble) for each in predictions):
        found = f"a {type(predictions).__name__} of {len(predictions):,}"
        advice = "Give a dict of names to predictions: {'first': …, 'second': …}."
        raise ArrayError(f"predictions: expected one ensemble, or several by name, found {found}. {advice}")
    named = predictions if isinstance(predictions, Mapping) else {"model": predictions}
    _require_names("predictions", named)
    _require_different(named)
    baselines = {name for name, each in named.items() if not isinstance(each, Ensemble) or _is_constant(each)}
    groups = {
        "predictions": _ensembles(named),
        "slices": _columns("slices", _named_in(table, slices)),
        "table": _columns("table", table),
    }
    lined = _lined_up(
        {"targets": targets, "shifted": shifted, "clusters": clusters, "calibration": calibration}, groups
    )
    truth, found = lined["targets"], lined["predictions"]
    n = _require_same_records(truth, found)
    if _are_classes(found):
        if threshold is not None:
            raise ArrayError("threshold: expected none for classes, whose errors are 0 or 1. Leave it out.")
        own: dict[str, Any] = {"task": "classification", "error_name": "classification error", "threshold": 0.5}
    else:
        unit = argument.text("unit", unit) or chosen.target_unit
        own = {"task": "regression", "error_name": "squared error", "target_unit": unit, "error_unit": squared(unit)}
    given = {name for name, each in named.items() if not isinstance(each, Ensemble)}
    systems = [_scored(k, each, truth, is_baseline=k in baselines, is_plain=k in given) for k, each in found.items()]
    target = str(getattr(targets, "name", None) or "target")
    if target != "target" and chosen.title == Options.title:
        own["title"] = target
    records, notes = _records(n, lined, target=target)
    flags = None if calibration is None else check.flags("calibration", lined["calibration"], length=n)
    split, apart = set_aside(records, systems, flags)
    return _report(split, replace(chosen, **own), notes, progress, apart)


# --- what is given ----------------------------------------------------------------------------------------------------


def _require_names(what: str, named: Collection[Any], advice: str = "Write names as text.") -> None:
    """Require different names that are text; advice: for those that are not."""
    if not named:
        raise ArrayError(f"{what}: expected at least one, found none.")
    names = [name for name in named if isinstance(name, str)]
    problems = []
    if odd := [name for name in named if not isinstance(name, str)]:
        found = f"{quoted(odd[0])} ({len(odd):,} of {len(named):,} names are not text)"
        problems.append(f"{what}: expected names that are text, found {found}. {advice}")
    if odd := [name for name in names if not name.strip() or len(name) > LONGEST_TEXT]:
        shown = f"one of {len(odd[0]):,}" if odd[0].strip() else quoted(odd[0])
        found = f"{shown}{f' and {len(odd) - 1:,} more' * (len(odd) > 1)}"
        problems.append(f"{what}: expected names of 1 to {LONGEST_TEXT:,} characters, found {found}. Rename it.")
    if odd := [name for name in names if HALF.search(name)]:
        problems.append(f"{what}: expected names in Unicode, found half a character in {odd[0]!a:.60}. Rename it.")
    if problems:
        raise ArrayError(*problems)


def _require_different(names: Collection[str]) -> None:
    """Require names of systems that differ in more than blanks around them, which no reader sees."""
    seen: dict[str, str] = {}
    for name in names:
        if (other := seen.setdefault(name.strip(), name)) != name:
            found = f"{quoted(other)} and {quoted(name)}"
            raise ArrayError(f"predictions: expected names that differ in more than blanks, found {found}. Rename one.")


def _columns(what: str, values: Any) -> dict[str, Any]:
    """The columns of a table or a mapping by name, or a Series with a name; {} for None."""
    if values is None:
        return {}
    if isinstance(getattr(values, "name", None), str) and not hasattr(values, "columns"):
        values = {values.name: values}
    check.require_computed(what, values)
    if not isinstance(values, Mapping) and not hasattr(values, "columns"):
        raise ArrayError(
            f"{what}: expected a table, or column names with values, as in {{'city': labels}}, found "
            f"{type(values).__name__}."
        )
    names = list(values) if isinstance(values, Mapping) else list(values.columns)
    if names:
        is_frame = hasattr(getattr(values, "columns", None), "map")
        advice = f"Use {what}.columns = {what}.columns.map(str)." if is_frame else "Write names as text."
        _require_names(f"{what}: columns", dict.fromkeys(names), advice)
    if len(set(names)) < len(names):
        raise ArrayError(f"{what}: expected columns of different names, found {', '.join(names)}. Rename them.")
    return {name: values[name] for name in names}


def _named_in(table: Any, slices: Any) -> Any:
    """The columns of a table that a list names; anything else as it is."""
    if table is None or not isinstance(slices, (list, tuple)):
        return slices
    columns = _columns("table", table)
    if odd := [name for name in slices if not isinstance(name, str) or name not in columns]:
        found = ", ".join(map(quoted, odd))
        raise ArrayError(f"slices: expected columns of the table, {', '.join(columns)}, found {found}. Rename them.")
    return {name: columns[name] for name in slices}


def _lined_up(single: Mapping[str, Any], groups: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Values and groups of values by name, lined up by their pandas indices."""
    parts = {f"{group} {name!r}": each for group, named in groups.items() for name, each in named.items()}
    try:
        lined = check.aligned({**single, **parts})
    except ArrayError as error:
        raise ArrayError(*_once(error.problems)) from None
    found: dict[str, Any] = {name: lined[name] for name in single}
    for group, named in groups.items():
        found[group] = {name: lined[f"{group} {name!r}"] for name in named}
    labels = (labels for each in lined.values() if (labels := check.row_labels(each)) is not None)
    return {**found, "index": next(labels, None)}


def _once(problems: Sequence[str]) -> list[str]:
    """The problems of columns of one table that are the same, told of the first of them."""
    alike: dict[tuple[str, str], list[str]] = {}
    for problem in problems:
        name, _, what = problem.partition(": ")
        alike.setdefault((name.split(" ")[0], what), []).append(name)
    return [
        f"{names[0]}{f' (and {len(names) - 1:,} more)' * (len(names) > 1)}: {what}"
        for (_, what), names in alike.items()
    ]


def _options(options: Options | None, threshold: float | None) -> Options:
    if options is not None and not isinstance(options, Options):
        raise ArrayError(f"options: expected shiftbench.Options, found {quoted(options)}.")
    options = options or Options()
    return options if threshold is None else replace(options, threshold=check.threshold(threshold))


def _series(name: str, values: Any) -> pl.Series:
    """A column as numbers, booleans, dates or text; what is missing is null."""
    array = check.as_array(name, values, "values")
    if array.ndim != 1:
        raise ArrayError(f"{name}: expected one value for each record, found shape {array.shape}.")
    if array.dtype.kind not in "biufOUSTmM":
        raise ArrayError(f"{name}: expected numbers, booleans, dates or text, found dtype {array.dtype}. Convert it.")
    if array.dtype.kind in "OUST":
        absent = check.missing(array.astype(object))
        texts = [None if gap else str(value) for value, gap in zip(array.tolist(), absent, strict=True)]
        try:
            return pl.Series(texts, dtype=pl.String)
        except UnicodeError as error:
            raise ArrayError(f"{name}: expected text that is Unicode, found: {error}. Decode it again.") from None
    if array.dtype.kind in "mM" and np.datetime_data(array.dtype)[0] not in ("D", "ms", "us", "ns"):
        array = array.astype(f"{array.dtype.kind}8[ms]")
    return pl.Series(array)


# --- records and systems ----------------------------------------------------------------------------------------------


def _records(n: int, lined: Mapping[str, Any], *, target: str = "") -> tuple[Records, list[str]]:
    """What all systems share, and notes on its groups."""
    shifted, clusters = lined["shifted"], lined["clusters"]
    codes = None if clusters is None else check.codes("clusters", clusters, length=n)
    sliced = {name: _series(f"slices {name!r}", values) for name, values in lined["slices"].items()}
    shown = sliced | {name: _series(f"table {name!r}", values) for name, values in lined.get("table", {}).items()}
    if target:
        shown[target] = _series("targets", lined["targets"])
    wrong = {
        len(each): name for name, each in reversed(shown.items()) if len(each) != n
    }  # one column of a table is enough
    if wrong:
        raise ArrayError(
            *(f"column {name!r}: expected {n:,} records, found {found:,}." for found, name in wrong.items())
        )
    slicing = Slicing()
    if sliced:
        named = [name for name, values in sliced.items() if codes is not None and _same_groups(values, codes)]
        slicing = Slicing.of(pl.DataFrame(sliced), list(sliced), labels=named)
    frame = pl.DataFrame(shown) if shown else pl.DataFrame({"record": np.arange(n)})
    index = lined["index"]
    ids = pl.Series(np.arange(n)) if index is None else pl.Series(list(map(str, index.tolist())))
    seen = described(frame.select(list(lined.get("table", {}))), [target])
    source = Source(frame, ids, np.arange(n), seen, target, id_column=None if shown else "record", groups=tuple(sliced))
    records = Records(
        n,
        shifted=None if shifted is None else check.flags("shifted", shifted, length=n),
        clusters=codes,
        slices=slicing.labels(pl.DataFrame(sliced)) if sliced else {},
        calendar=slicing.calendar,
        source=source,
    )
    return records, slicing.notes


def _same_groups(values: pl.Series, codes: npt.NDArray[np.int64]) -> bool:
    """Whether a column groups records as the clusters do."""
    return not values.null_count() and np.array_equal(
        check.codes("slices", values.to_numpy(), length=len(codes)), codes
    )


def _is_constant(ensemble: Ensemble) -> bool:
    """Whether a model gives every record the same class probabilities: shares of classes, whatever the record."""
    if not isinstance(ensemble, Categorical) or ensemble.members > 1:
        return False
    return bool((ensemble.probabilities == ensemble.probabilities[:, :1]).all())


def _ensembles(named: Mapping[str, Any]) -> dict[str, Ensemble]:
    """Predictions as ensembles: numbers, or beside class probabilities classes, as one member."""
    probabilities = next((each for each in named.values() if isinstance(each, Categorical)), None)
    found: dict[str, Ensemble] = {}
    for name, each in named.items():
        if isinstance(each, Ensemble):
            found[name] = each
        elif probabilities is None:
            found[name] = _point(name, each)
        else:
            found[name] = _certain(name, each, probabilities)
    return found


def _certain(name: str, values: Any, like: Categorical) -> Categorical:
    """Classes [N], named as those of a model, as its only possible ones, with their index."""
    array = check.as_array(f"predictions {name!r}", values, "classes")
    if array.ndim != 1:
        raise ArrayError(f"predictions {name!r}: expected one class for each record, found shape {array.shape}.")
    known = like.classes or tuple(range(like.probabilities.shape[-1]))
    places, labels = {label: place for place, label in enumerate(known)}, array.tolist()
    if unknown := [
        label for label in dict.fromkeys(check.names(f"predictions {name!r}", labels)) if label not in places
    ]:
        shown, names = (", ".join(map(repr, [*each][:MOST_LISTED])) for each in (unknown, known))
        raise ArrayError(
            f"predictions {name!r}: expected classes of the other predictions, {names}, found {shown}. Name classes as "
            "they do; for shares of classes give Categorical.from_members(DummyClassifier(…).fit(…), records)."
        )
    rows = np.eye(len(known))[[places[label] for label in labels]]
    return Categorical(rows[None], known).labelled(check.row_labels(values))


def _point(name: str, values: Any) -> Means:
    """Numbers [N] as the only member of an ensemble, with their index."""
    array = check.as_array(f"predictions {name!r}", values, "values")
    if array.dtype.kind in "OUST" and any(isinstance(label, str) for label in array.ravel().tolist()):
        raise ArrayError(
            f"predictions {name!r}: expected numbers, found text such as {quoted(str(array.ravel()[0]))}. Classes are "
            "a baseline beside class probabilities: give those of a model, too, with Categorical.from_members."
        )
    return Means(check.vector(f"predictions {name!r}", values)[None]).labelled(check.row_labels(values))


def _require_same_records(targets: Any, found: Mapping[str, Ensemble]) -> int:
    n = len(np.atleast_1d(check.as_array("targets", targets, "targets")))
    wrong = [
        f"predictions {name!r}: expected {n:,} records like the targets, found {each.records:,}."
        + " Members are the first axis: transpose them." * (each.members == n)
        for name, each in found.items()
        if each.records != n
    ]
    if wrong:
        raise ArrayError(*wrong)
    return n


def _are_classes(found: Mapping[str, Ensemble]) -> bool:
    kinds = {isinstance(each, Categorical) for each in found.values()}
    if len(kinds) > 1:
        raise ArrayError(
            "predictions: expected ensembles of numbers or of class probabilities, found both. Make two reports."
        )
    return kinds == {True}


def _scored(name: str, ensemble: Ensemble, targets: Any, *, is_baseline: bool, is_plain: bool) -> Scored:
    role: Role = "baseline" if is_baseline else "ensemble" if ensemble.members > 1 else "model"
    truth = _class_indices(ensemble, targets) if isinstance(ensemble, Categorical) else targets
    found = scored.predicted(name, ensemble, truth, role=role)
    return scored.without_probabilities(found) if is_plain and isinstance(ensemble, Categorical) else found


def _class_indices(ensemble: Categorical, targets: Any) -> npt.NDArray[np.int64]:
    """The position [N] of each target among the classes of the ensemble."""
    names = ensemble.classes or range(ensemble.probabilities.shape[-1])
    places = {label: place for place, label in enumerate(names)}
    values = check.as_array("targets", targets, "classes")
    if values.ndim != 1:
        raise ArrayError(f"targets: expected one class for each record, found shape {values.shape}.")
    labels = check.names("targets", values.tolist())
    if unknown := list(dict.fromkeys(label for label in labels if label not in places)):
        shown, known = (", ".join(map(repr, list(each)[:MOST_LISTED])) for each in (unknown, names))
        absent = [place for place, label in enumerate(labels) if label not in places]
        advice = (
            "Add its probabilities to the predictions (0 where a model has never seen the class), or leave out these "
            "records."
            if ensemble.classes and places.keys() & {*labels}
            else "Give targets as the model was fitted to them, or name the classes."
        )
        raise ArrayError(
            f"targets: expected the classes of the predictions, {known}, found {shown} ({len(absent):,} of "
            f"{len(labels):,} records, the first at index {absent[0]}). {advice}"
        )
    return np.array([places[label] for label in labels], dtype=np.int64)


def _report(
    split: Split, options: Options, notes: list[str], progress: Progress | None, calibration: Split | None = None
) -> Report:
    """The report, with its warnings issued."""
    report = build([split], options, calibration=calibration, progress=progress)
    report = replace(report, warnings=(*notes, *report.warnings))
    for message in report.warnings:
        warnings.warn(ShiftbenchWarning(message), stacklevel=3)
    return report
