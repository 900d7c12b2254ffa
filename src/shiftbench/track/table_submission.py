"""Predictions for records of a table as strangers hand them in: a predictions file, or a table of an id and columns.

What could ask about labels is left out: fingerprints of targets, and the number of records that a file declares to
leave unanswered.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.assessment import forms, predictions
from shiftbench.assessment.predictions import COLUMNS, KINDS, POINT, Predictions
from shiftbench.check import LARGEST
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import ArrayError, PredictionsError, ShiftbenchError, TableError, counted, quoted
from shiftbench.io import tables
from shiftbench.io.tables.csv_file import whole_rows
from shiftbench.io.tables.dtypes import without_missing
from shiftbench.partition.settings import SPLITS
from shiftbench.track import places
from shiftbench.track.contract import MANIFEST, Arrays, Intake, Task
from shiftbench.track.parsed import BYTES, PartlyRead, array, one, pack, unpack
from shiftbench.track.public_records import PublicRecords

SUFFIXES = (".parquet", ".csv", ".csv.gz")
ID, ANSWER, UNCERTAINTY = "id", "answer", "uncertainty"
SEALED = ("target", "error", "shifted")  # columns that only the organiser's table may have
ABOUT = (
    "A predictions file (Parquet), or a table (Parquet or CSV) with a column `id` and one of these: `mean` and `std`; "
    "`probability_<class>` of each class; quantiles `q0.05` …; members; `answer` and `uncertainty` (higher is less "
    "certain)."
)
FILE = "predictions.parquet"
ROW = "row"  # numbers of the rows of `named` and uncertainties, of a file that was read in part
PROBABILITIES = (
    "expected a probability of each class, found answers alone. Hand in columns `probability_<class>` instead."
)


def parse(file: Path) -> dict[str, npt.NDArray[np.generic]]:
    """The predictions in a file of a stranger as arrays.

    Raises:
        PartlyRead: naming every problem, with the ids and uncertainties that could be read all the same.
    """
    try:
        if file.suffix == ".parquet" and predictions.KEY in tables.read_metadata(file):
            return _of_predictions(predictions.load(file))
        frame = tables.read_table(file)
    except ShiftbenchError as error:
        problems = list(error.problems)
        frame, numbers = pl.DataFrame(), None
        if ".csv" in file.suffixes:
            frame, numbers = whole_rows(file)
        elif file.suffix == ".parquet":
            with suppress(ShiftbenchError):  # the ids of a predictions file tell more
                frame = tables.read_table(file)
        if numbers is not None and frame.height:
            try:
                _parse(frame, file.name, numbers)
            except ShiftbenchError as further:
                problems += further.problems
        raise PartlyRead(*problems, arrays=_readable(frame, numbers)) from None
    try:
        return _parse(frame, file.name, None)
    except ShiftbenchError as error:
        raise PartlyRead(*error.problems, arrays=_readable(frame, None)) from None


def _parse(frame: pl.DataFrame, where: str, numbers: pl.Series | None) -> dict[str, npt.NDArray[np.generic]]:
    """numbers: of the rows, where some were left out."""
    names = frame.columns
    problems = [f"{where}: expected no column {name!r}, which the organiser has. Drop it." for name in SEALED
                if name in names]  # fmt: skip
    answered = ANSWER in names and UNCERTAINTY in names
    found = forms.found_in([name for name in names if name != ID], {}, answered=answered, where=where)
    if found is not None and answered and not found[0].answers:
        found = None
    needed = [ID] if found is not None else [ID, ANSWER, UNCERTAINTY]
    if missing := [name for name in needed if name not in names]:
        problems.append(
            f"{where}: expected columns {_and(needed)}{'' if found else ', or predictions of another form'}, found no "
            f"{_and(missing)} among {', '.join(names[:12])}. Rename or add {'it' if len(missing) == 1 else 'them'}. "
            f"{ABOUT}"
        )
    if problems:
        raise TableError(*problems)
    return _of_answers(frame, where, numbers) if found is None else _of_form(frame, *found, where=where)


def _and(names: Sequence[str]) -> str:
    *first, last = map(repr, names)
    return f"{', '.join(first)} and {last}" if first else last


def _readable(frame: pl.DataFrame, numbers: pl.Series | None) -> dict[str, Any]:
    """Ids and the finite uncertainties beside answers with their rows, as far as a file that has problems tells them.

    numbers: of the rows, where some were left out.
    """
    found = dict[str, Any]()
    if ID not in frame.columns or not (frame[ID].dtype == pl.String or frame[ID].dtype.is_integer()):
        return found
    ids = frame[ID].cast(pl.String)
    found |= pack(ID, ids.drop_nulls().unique(maintain_order=True).to_list())
    if {ANSWER, UNCERTAINTY} <= {*frame.columns} and _may_be_numbers(frame[UNCERTAINTY].dtype):
        values = frame[UNCERTAINTY].cast(pl.Float64, strict=False)
        known = values.is_finite().fill_null(value=False)
        rows = pl.int_range(1, frame.height + 1, eager=True) if numbers is None else numbers
        found |= {UNCERTAINTY: values.filter(known).to_numpy(), ROW: rows.filter(known).to_numpy()}
        found |= pack("named", ids.filter(known).fill_null("").to_list())
    return found


def _of_form(frame: pl.DataFrame, form: forms.Form, parts: forms.Parts, *, where: str) -> dict[str, Any]:
    ids, problems = _ids(frame, where)
    try:
        ensemble = form.read(frame, parts, where)
        if isinstance(ensemble, Categorical) and ensemble.classes is None:
            raise PredictionsError(f"{where}: expected classes in the names of columns, found none. Name them.")
    except ShiftbenchError as error:
        raise PredictionsError(*error.problems, *problems) from None
    if problems:
        raise PredictionsError(*problems)
    return _of_predictions(Predictions(np.array(ids, dtype=object), ensemble))  # type: ignore[arg-type]


def _ids(frame: pl.DataFrame, where: str) -> tuple[list[str], list[str]]:
    try:
        return tables.ids(frame, ID, where=where).to_list(), []
    except TableError as error:
        return [], [*error.problems]


def _of_answers(frame: pl.DataFrame, where: str, numbers: pl.Series | None) -> dict[str, Any]:
    """Answers, numbers or classes, and their uncertainty."""
    ids, problems = _ids(frame, where)
    held: dict[str, Any] = {}
    named = frame[ID].cast(pl.String) if tables.is_label(frame[ID].dtype) else None
    numeric = _are_numbers(frame[ANSWER])
    for name, what in ((ANSWER, "an answer"), (UNCERTAINTY, "an uncertainty")):
        column = f"{where}: column {name!r}"
        if name == ANSWER and not tables.is_label(frame[name].dtype):
            problems.append(
                f"{column}: expected numbers, or names of classes, found {frame[name].dtype}. Convert them."
            )
        elif name == UNCERTAINTY or numeric:
            values, found = _finite(frame[name], named, numbers, what)
            problems += (f"{column}: {each}" for each in found)
            held[name] = values
        elif (none := frame[name].is_null()).any():
            problems.append(f"{column}: expected {what} in each row, found none in "
                            f"{places.rows(none, named, numbers)}. Fill in or drop these rows.")  # fmt: skip
    if problems:
        raise TableError(*problems)
    if not numeric:
        held |= pack(ANSWER, frame[ANSWER].cast(pl.String).to_list())
    return {"kind": np.array([1], np.uint8), **pack(ID, ids), **held}


def _are_numbers(answers: pl.Series) -> bool:
    """Whether answers are numbers, or at least half of those that are there: classes otherwise."""
    if answers.dtype != pl.String:
        return answers.dtype.is_numeric()
    there = without_missing(answers).drop_nulls()
    known = there.cast(pl.Float64, strict=False)
    return known.null_count() < len(there) and known.null_count() <= len(there) / 2


def _may_be_numbers(dtype: pl.DataType) -> bool:
    """Whether values of a type are numbers, or texts that may spell some; true and false are neither."""
    return dtype.is_numeric() or dtype in (pl.String, pl.Null)


def _finite(
    column: pl.Series, ids: pl.Series | None, numbers: pl.Series | None, what: str
) -> tuple[npt.NDArray[np.float64], list[str]]:
    """A column as numbers, and every row that has none, or one that cannot be scored."""
    if not _may_be_numbers(column.dtype):
        return np.empty(0), [f"expected numbers, found {column.dtype}. Convert them."]
    texts = without_missing(column) if column.dtype == pl.String else column
    values = texts.cast(pl.Float64, strict=False)
    words, size = values.is_null() & texts.is_not_null(), values.abs()
    problems = []
    if words.any():
        shown = places.values(texts.cast(pl.String), words, ids, numbers)
        problems.append(f"expected numbers, found {shown}. Correct or drop these rows.")
    for flags, found in ((texts.is_null(), "none"), (values.is_nan(), "NaN")):
        if (flags := flags.fill_null(value=False)).any():
            shown = places.rows(flags, ids, numbers)
            problems.append(f"expected {what} in each row, found {found} in {shown}. Fill in or drop these rows.")
    if (huge := (size > LARGEST).fill_null(value=False) & ~values.is_nan().fill_null(value=False)).any():
        shown = places.values(values, huge, ids, numbers)
        problems.append(
            f"expected numbers up to {LARGEST:g}, whose squares can be added up, found {shown}. Correct these rows."
        )
    return values.fill_null(math.nan).to_numpy(), problems


def _of_predictions(read: Predictions) -> dict[str, Any]:
    ensemble: Any = read.ensemble
    kind = next(name for name, form in KINDS.items() if isinstance(ensemble, form))
    names = (*COLUMNS[kind], *([POINT] if getattr(ensemble, POINT, None) is not None else []))
    held = {name: np.asarray(getattr(ensemble, name)) for name in names}
    for name, values in held.items():
        if len(huge := np.argwhere(np.abs(values) > LARGEST)):
            record = int(huge[0][1] if values.ndim > 1 else huge[0][0])  # members come first
            raise PredictionsError(
                f"{name}: expected numbers up to {LARGEST:g}, whose squares can be added up, found "
                f"{values[tuple(huge[0])]:g} in row {record + 1} (id {read.ids[record]}; {len(huge):,} such). Correct "
                "these rows."
            )
    if isinstance(ensemble, Categorical):
        held |= pack("classes", ensemble.classes or ())
    if levels := getattr(ensemble, "levels", None):
        held["levels"] = np.array(levels, dtype=np.float64)
    if (draws := getattr(ensemble, "draws", 1)) > 1:
        held["draws"] = np.array([draws])
    return {"kind": np.array([0], np.uint8), **pack(ID, read.ids.tolist()), **pack("form", [kind]), **held}


def answers(arrays: Arrays) -> pl.DataFrame | None:
    """Ids, answers and uncertainty as a table; None if the arrays are predictions of another form."""
    if not one(arrays, "kind", "u"):
        return None
    ids = unpack(arrays, ID)
    numeric = ANSWER in arrays
    found: Any = array(arrays, ANSWER, "f", 1) if numeric else unpack(arrays, ANSWER)
    uncertainty = array(arrays, UNCERTAINTY, "f", 1)
    if not (len(ids) == len(found) == len(uncertainty) and len({*ids}) == len(ids)):
        raise PredictionsError(f"expected an answer and an uncertainty of each of {len(ids):,} ids. Upload it again.")
    if not (np.isfinite(uncertainty).all() and (not numeric or np.isfinite(found).all())):
        raise PredictionsError("expected finite answers and uncertainties, found others. Upload the file again.")
    return pl.DataFrame({ID: ids, ANSWER: found, UNCERTAINTY: uncertainty})


def predicted(arrays: Arrays) -> Predictions:
    """The predictions in arrays; answers alone become normal distributions whose variance is the uncertainty.

    Raises:
        PredictionsError: for arrays that are no predictions, and for answers that cannot become a distribution.
    """
    table = answers(arrays)
    if table is not None:
        return _normal(table)
    ids = unpack(arrays, ID)
    (kind,) = unpack(arrays, "form") or ("",)
    if kind not in KINDS:
        raise PredictionsError(f"expected predictions of a form of {', '.join(KINDS)}, found {kind!r}.")
    further: dict[str, Any] = {}
    axes = {"gaussian": 2, "means": 2, "categorical": 3, "quantiles": 3}[kind]
    held: dict[str, Any] = {name: array(arrays, name, "f", axes) for name in COLUMNS[kind]}
    if kind == "quantiles":
        further["levels"] = tuple(array(arrays, "levels", "f", 1).tolist())
        if POINT in arrays:
            held[POINT] = array(arrays, POINT, "f", 2)
    if kind == "categorical":
        further["classes"] = tuple(unpack(arrays, "classes"))
    if "draws" in arrays and kind == "gaussian":
        further["draws"] = int(one(arrays, "draws", "iu"))
    try:
        ensemble = KINDS[kind](**held, **further)
    except ArrayError as error:
        raise PredictionsError(*error.problems) from None
    return Predictions(np.array(ids, dtype=object), ensemble)


def _normal(table: pl.DataFrame) -> Predictions:
    if not table[ANSWER].dtype.is_numeric():
        raise PredictionsError(PROBABILITIES)
    variance = table[UNCERTAINTY].to_numpy()
    if problems := variance_problems(variance):
        raise PredictionsError(*problems)
    ensemble = Gaussian(table[ANSWER].to_numpy()[None], variance[None])
    return Predictions(table[ID].to_numpy().astype(object), ensemble)


def variance_problems(values: npt.NDArray[np.floating[Any]], arrays: Arrays | None = None) -> list[str]:
    """What keeps uncertainties beside answers from being the variances of normal distributions.

    arrays: tell their rows and ids.
    """
    if values.min(initial=math.inf) > 0:
        return []
    return [
        f"{UNCERTAINTY}: expected variances > 0 beside answers, found {_shown(values, values <= 0, arrays or {})}; "
        f"{int((values <= 0).sum()):,} of {len(values):,} are not above 0. Hand in `mean` and `std`, or add a constant."
    ]


def _shown(values: npt.NDArray[Any], flags: npt.NDArray[np.bool_], arrays: Arrays) -> str:
    """The first flagged uncertainties, with rows and ids."""
    name = "named" if "named" + BYTES in arrays else ID
    ids = unpack(arrays, name) if name + BYTES in arrays else []
    numbers = array(arrays, ROW, "iu", 1) if ROW in arrays else None
    if len(ids) != len(values) or (numbers is not None and len(numbers) != len(values)):
        return f"{values[flags][0]:g}"
    rows = None if numbers is None else pl.Series(numbers)
    return places.values(pl.Series(values.astype(np.float64)), pl.Series(flags), pl.Series(ids, dtype=pl.String), rows)


def restore(arrays: Arrays, folder: Path) -> Path:
    """The predictions file of a track of tables."""
    return predicted(arrays).save(folder / FILE)


# --- what may be known of the records ---------------------------------------------------------------------------------


def _records(truth: Path, task: Task, *, classes: Mapping[str, Sequence[str]]) -> PublicRecords:
    """The records of a table, or those of a prepared folder's eval (without one, of its dev) that have a target."""
    if not (truth / MANIFEST).is_file():
        frames = [tables.read_table(truth)]
    else:
        frames = [
            tables.read_table(path, columns=[ID, task.target], retype=False).drop_nulls()
            for path in _labels(truth, task)
        ]
    ids = [each for frame in frames for each in tables.ids(frame, ID, where=truth.name)]
    return PublicRecords.of(ids, task=task.name, classes=[*classes.get(task.name, ())])


def _labels(truth: Path, task: Task) -> dict[Path, Sequence[str]]:
    """The table of the truth, or those of a prepared folder that are scored."""
    if not (truth / MANIFEST).is_file():
        return {truth: (task.target,)}
    held = [[truth / f"{part}.parquet" for part in SPLITS[split]] for split in ("eval", "dev")]
    there = next((found for paths in held if (found := [path for path in paths if path.is_file()])), [])
    return dict.fromkeys(there, (task.target,))


def _misfits(arrays: Arrays, records: PublicRecords) -> list[str]:
    """Ids that do not fit, predictions of another task, and answers that cannot become distributions."""
    found = _foreign(arrays, records)
    kind, wanted = _kind(arrays), records.facts.get("task")
    if kind and wanted and kind != wanted:
        found.append(f"expected predictions of a {wanted}, found those of a {kind}. {ABOUT}")
    elif ANSWER + BYTES in arrays:
        found.append(PROBABILITIES)
    elif UNCERTAINTY in arrays:
        found += variance_problems(array(arrays, UNCERTAINTY, "f", 1), arrays)
    elif kind == "classification":
        found += _without(unpack(arrays, "classes"), records.facts.get("classes") or ())
    return found


def _without(named: Sequence[str], classes: Sequence[str]) -> list[str]:
    """The classes of the task that have no probabilities, whether or not a record is of them."""
    held = {*named}
    if not (missing := [f"`probability_{name}`" for name in classes if name not in held]):
        return []
    return [
        f"expected probabilities of all {counted(len(classes), 'class', 'classes')}, found no column "
        f"{' and no '.join(missing)}. Add {'it' if len(missing) == 1 else 'them'}, with 0 for a class that the model "
        "does not know."
    ]


def _foreign(arrays: Arrays, records: PublicRecords) -> list[str]:
    return records.misfits(unpack(arrays, ID)) if ID + BYTES in arrays else []


def _kind(arrays: Arrays) -> str:
    """Which task predictions are of; "" where that could not be read."""
    if "form" + BYTES in arrays:
        return "classification" if unpack(arrays, "form") == ["categorical"] else "regression"
    return "regression" if ANSWER in arrays else "classification" if ANSWER + BYTES in arrays else ""


def _records_of_own(truth: Path, task: Task) -> PublicRecords:
    """The records of an organiser's table, and an answer that has the kind of its targets: 0, or a class."""
    frame = tables.read_table(truth, retype=False)
    tables.require(frame, [ID, "target"], where=truth.name)
    target = frame["target"]
    answer = 0.0 if target.dtype.is_numeric() else str(target.cast(pl.String).sort()[0])
    return PublicRecords.of(tables.ids(frame, ID, where=truth.name).to_list(), answer=answer)


def _misfits_of_own(arrays: Arrays, records: PublicRecords) -> list[str]:
    """Ids that do not fit, answers of another kind than the targets, and uncertainties of a doubtful sign."""
    found, answer, kind = _foreign(arrays, records), records.facts.get("answer"), _kind(arrays)
    if isinstance(answer, str) and kind == "regression":
        found.append(f"expected names of classes as answers, or their probabilities, found numbers. {ABOUT}")
    elif isinstance(answer, float) and ANSWER + BYTES in arrays:
        some = ", ".join(quoted(each) for each in [*dict.fromkeys(unpack(arrays, ANSWER))][:3])
        found.append(f"expected numbers as answers, found texts (such as {some}). Convert the column {ANSWER!r}.")
    elif isinstance(answer, float) and kind == "classification":
        found.append(f"expected numbers as answers, found probabilities of classes. {ABOUT}")
    if UNCERTAINTY in arrays and (below := (values := array(arrays, UNCERTAINTY, "f", 1)) < 0).any():
        found.append(
            f"{UNCERTAINTY}: expected values >= 0, found {_shown(values, below, arrays)}; {int(below.sum()):,} of "
            f"{len(values):,} are below 0. Higher must mean less certain: is it the sign? If not, add a constant."
        )
    return found


def example(folder: Path, records: PublicRecords | None = None) -> Path:
    """A table of means and standard deviations, or of probabilities of classes."""
    if records is None:
        frame = pl.DataFrame({ID: ["1", "2", "3"], "mean": [20.1, 18.4, 25.0], "std": [0.9, 1.7, 0.4]})
    elif classes := records.facts.get("classes"):
        first = np.linspace(0.9, 0.5, len(records.ids)) if len(classes) > 1 else np.ones(len(records.ids))
        shares = [first, *[(1 - first) / max(len(classes) - 1, 1)] * (len(classes) - 1)]
        named = {f"probability_{name}": share for name, share in zip(classes, shares, strict=True)}
        frame = pl.DataFrame({ID: records.ids, **named})
    else:
        frame = pl.DataFrame({ID: records.ids, "mean": np.zeros(len(records.ids)), "std": _spread(records)})
    return tables.write_table(frame, folder / "example.csv")


def _spread(records: PublicRecords) -> npt.NDArray[np.float64]:
    """Uncertainties that differ, as all of a submission have to."""
    return np.linspace(0.5, 1.5, len(records.ids)).round(4)


def _example_of_own(folder: Path, records: PublicRecords | None = None) -> Path:
    """A table of answers and uncertainties."""
    if records is None:
        return example(folder)
    answers = [records.facts.get("answer", 0.0)] * len(records.ids)
    frame = pl.DataFrame({ID: records.ids, ANSWER: answers, UNCERTAINTY: _spread(records)})
    return tables.write_table(frame, folder / "example.csv")


def intake(classes: Mapping[str, Sequence[str]] = MappingProxyType({})) -> Intake:
    """How a track of tables takes predictions; classes: task → the names of its classes."""
    return Intake(parse, restore, SUFFIXES, ABOUT, example, partial(_records, classes=classes), _misfits, _labels)


INTAKE = intake()
OWN = Intake(parse, restore, SUFFIXES, ABOUT, _example_of_own, _records_of_own, _misfits_of_own, _labels)
"""Of an organiser's table: here uncertainties beside answers need not be variances, and answers may be classes."""
