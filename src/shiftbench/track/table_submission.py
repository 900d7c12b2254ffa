"""Predictions for records of a table as strangers hand them in: a predictions file, or a table of an id and columns.

What could ask about labels is left out: fingerprints of targets, and the number of records that a file declares to
leave unanswered.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.assessment import forms, predictions
from shiftbench.assessment.predictions import COLUMNS, KINDS, POINT, Predictions
from shiftbench.check import value_problems
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import ArrayError, PredictionsError, ShiftbenchError, TableError, quoted
from shiftbench.io import tables
from shiftbench.track.contract import Arrays, Intake
from shiftbench.track.parsed import PartlyRead, array, one, pack, unpack

SUFFIXES = (".parquet", ".csv", ".csv.gz")
ID, ANSWER, UNCERTAINTY = "id", "answer", "uncertainty"
SEALED = ("target", "error", "shifted")  # columns that only the organiser's table may have
ABOUT = (
    "A predictions file (Parquet), or a table (Parquet or CSV) with a column `id` and `mean` and `std`, a "
    "`probability_<class>` each, quantiles `q0.05` …, members, or `answer` and `uncertainty` (higher is less certain)."
)
FILE = "predictions.parquet"


def parse(file: Path) -> dict[str, npt.NDArray[np.generic]]:
    """The predictions in a file of a stranger as arrays.

    Raises:
        PartlyRead: naming every problem, with the ids and uncertainties that could be read all the same.
    """
    try:
        return _parse(file)
    except ShiftbenchError as error:
        raise PartlyRead(*error.problems, arrays=_readable(file)) from None


def _parse(file: Path) -> dict[str, npt.NDArray[np.generic]]:
    if file.suffix == ".parquet" and predictions.KEY in tables.read_metadata(file):
        return _of_predictions(predictions.load(file))
    frame = tables.read_table(file)
    where, names = file.name, frame.columns
    problems = [f"{where}: expected no column {name!r}, which the organiser has. Drop it." for name in SEALED
                if name in names]  # fmt: skip
    if ID not in names:
        problems.append(f"{where}: expected a column {ID!r}, found {', '.join(names[:12])}. Name it so.")
    if problems:
        raise TableError(*problems)
    answered = ANSWER in names and UNCERTAINTY in names
    found = forms.found_in([name for name in names if name != ID], {}, answered=answered, where=where)
    if found is not None and not (answered and not found[0].answers):
        return _of_form(frame, *found, where=where)
    if not answered:
        raise TableError(
            f"{where}: expected columns {ANSWER!r} and {UNCERTAINTY!r}, or predictions of another form, found "
            f"{', '.join(names[:12])}. {ABOUT}"
        )
    return _of_answers(frame, where)


def _readable(file: Path) -> dict[str, Any]:
    """Each id once and the finite uncertainties beside answers, as far as a file that has other problems tells them."""
    try:
        frame = tables.read_table(file)
    except ShiftbenchError:
        return {}
    found = dict[str, Any]()
    if ID in frame.columns and (frame[ID].dtype == pl.String or frame[ID].dtype.is_integer()):
        found |= pack(ID, frame[ID].drop_nulls().unique(maintain_order=True).cast(pl.String).to_list())
    if {ANSWER, UNCERTAINTY} <= {*frame.columns} and frame[UNCERTAINTY].dtype.is_numeric():
        values = frame[UNCERTAINTY].cast(pl.Float64).drop_nulls().to_numpy()
        found[UNCERTAINTY] = values[np.isfinite(values)]
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


def _of_answers(frame: pl.DataFrame, where: str) -> dict[str, Any]:
    """Answers, numbers or classes, and their uncertainty."""
    ids, problems = _ids(frame, where)
    held: dict[str, Any] = {}
    numeric = frame[ANSWER].dtype.is_numeric()
    for name in (ANSWER, UNCERTAINTY) if numeric else (UNCERTAINTY,):
        try:
            held[name] = tables.numbers(frame, name, where=where)
            problems += value_problems(f"{where}: column {name!r}", held[name], rows=True)
        except TableError as error:
            problems += error.problems
    if not numeric:
        labels = frame[ANSWER].cast(pl.String)
        if absent := labels.null_count():
            problems.append(f"{where}: column {ANSWER!r}: expected an answer in each row, found none in {absent:,}.")
        elif words := _words_among_numbers(labels):
            problems.append(f"{where}: column {ANSWER!r}: {words}")
        else:
            held |= pack(ANSWER, labels.to_list())
    if problems:
        raise TableError(*problems)
    return {"kind": np.array([1], np.uint8), **pack(ID, ids), **held}


def _words_among_numbers(labels: pl.Series) -> str:
    """Which answer is no number where most are."""
    words = labels.cast(pl.Float64, strict=False).is_null()
    if not words.any() or words.mean() > 0.5:  # type: ignore[operator]
        return ""
    row = int(words.arg_true()[0])
    return f"expected numbers, found {quoted(labels[row])} in row {row + 1}. Correct or drop these rows."


def _of_predictions(read: Predictions) -> dict[str, Any]:
    ensemble: Any = read.ensemble
    kind = next(name for name, form in KINDS.items() if isinstance(ensemble, form))
    names = (*COLUMNS[kind], *([POINT] if getattr(ensemble, POINT, None) is not None else []))
    held = {name: np.asarray(getattr(ensemble, name)) for name in names}
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
        raise PredictionsError(
            "expected a probability of each class, found answers alone. Hand in columns `probability_<class>` instead."
        )
    variance = table[UNCERTAINTY].to_numpy()
    if problems := variance_problems(variance):
        raise PredictionsError(*problems)
    ensemble = Gaussian(table[ANSWER].to_numpy()[None], variance[None])
    return Predictions(table[ID].to_numpy().astype(object), ensemble)


def variance_problems(values: npt.NDArray[np.floating[Any]]) -> list[str]:
    """What keeps uncertainties beside answers from being the variances of normal distributions."""
    if values.min(initial=math.inf) > 0:
        return []
    return [
        f"{UNCERTAINTY}: expected variances > 0 beside answers, found {values.min():g} (not above 0 in "
        f"{int((values <= 0).sum()):,} of {len(values):,}). Hand in `mean` and `std`, or add a constant."
    ]


def restore(arrays: Arrays, folder: Path) -> Path:
    """The predictions file of a track of tables."""
    return predicted(arrays).save(folder / FILE)


def example(folder: Path) -> Path:
    """A table of three records."""
    frame = pl.DataFrame({ID: ["1", "2", "3"], "mean": [20.1, 18.4, 25.0], "std": [0.9, 1.7, 0.4]})
    return tables.write_table(frame, folder / "example.csv")


INTAKE = Intake(parse, restore, SUFFIXES, ABOUT, example)
