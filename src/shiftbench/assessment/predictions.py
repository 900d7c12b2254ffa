"""The predictions file: the predictions of every member of an ensemble for each record, by id, in one Parquet file.

Columns: `id` (text, unique) and those of the ensemble's kind: `mean` and `variance` (a fixed-size list of M numbers for
each record), or `mean` alone of members without variances; for a classification `probabilities` (a fixed-size list of M
fixed-size lists of C numbers); of quantiles `values` (M lists of L numbers) and, if there are answers beside them,
`point`. If the
targets were known when the predictions were made, `fingerprint` (UInt32) has a hash of each id and its target, null
for missing targets; see `shiftbench.assessment.fingerprints`. The
Parquet key-value metadata holds one key, `shiftbench`: a JSON object with `format`, `kind` ("gaussian",
"categorical", "quantiles" or "means"), `members`, `classes` (their order; null for a regression), `levels` (those of
quantiles only), `draws` (the number of consecutive members
of one model; default 1), `package_version`, and further keys of the writer: method, settings, the hash of the
manifest (with pyarrow: `pyarrow.parquet.read_metadata(path).metadata[b"shiftbench"]`). There are no timestamps: equal
predictions give equal files.

A point forecast is the case M = 1: a normal distribution with the variance of its residuals on the training
records, or a label as one-hot probabilities.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import __version__, argument, check
from shiftbench.ensembles import Categorical, Ensemble, Gaussian, Means, Quantiles, concatenated
from shiftbench.errors import ArrayError, PredictionsError, TableError, quoted
from shiftbench.io import tables

FORMAT = "shiftbench predictions 1"
KEY = "shiftbench"
KINDS: dict[str, type[Gaussian | Categorical | Quantiles | Means]] = {
    "gaussian": Gaussian, "categorical": Categorical, "quantiles": Quantiles, "means": Means,
}  # fmt: skip
COLUMNS = {
    "gaussian": ("mean", "variance"), "categorical": ("probabilities",), "quantiles": ("values",), "means": ("mean",),
}  # fmt: skip
POINT = "point"  # the column of answers that quantiles may have beside them
LAYOUT = ("format", "kind", "members", "classes", "levels", "draws")  # reserved keys that describe the file
FINGERPRINT = "fingerprint"
MOST_LISTED = 3
MOST_MEMBERS = 2**31 - 1  # numbers in a Parquet list
WRITTEN = (  # keys of the writer's metadata that are read
    ("manifest", (str, type(None)), "text or null"),
    ("id_column", (str, type(None)), "text or null"),
    ("unanswered", (int, type(None)), "a number or null"),
)

Ids = npt.NDArray[np.object_]


@dataclass(frozen=True, eq=False)
class Predictions:
    """Ids [N], an ensemble of predictions for these records, and metadata on their origin.

    `ids` are stored as text; `metadata` is any JSON object, to which the package's version is added; `fingerprints` [N]
    are those of the targets (UInt32, null if unknown), or None.

    Raises:
        PredictionsError: naming every problem: duplicated or missing ids, another number of ids than records,
            an ensemble of another kind or without names for its classes, metadata that is not JSON.
    """

    ids: Ids
    ensemble: Gaussian | Categorical | Quantiles | Means
    metadata: Mapping[str, Any] = field(default_factory=dict)
    fingerprints: pl.Series | None = None

    def __post_init__(self) -> None:
        ids, problems = _checked_ids(self.ids, "predictions")
        problems += _ensemble_problems(self.ensemble)
        if len(ids) and isinstance(self.ensemble, Ensemble) and len(ids) != self.ensemble.records:
            problems.append(f"ids: expected one for each of {self.ensemble.records:,} records, found {len(ids):,}.")
        if not isinstance(self.fingerprints, (pl.Series, type(None))):
            problems.append(f"fingerprints: expected a polars Series or None, found {quoted(self.fingerprints)}.")
        elif self.fingerprints is not None and len(self.fingerprints) != len(ids):
            problems.append(f"fingerprints: expected {len(ids):,}, one a record, found {len(self.fingerprints):,}.")
        problems += _metadata_problems(self.metadata)
        if problems:
            raise PredictionsError(*problems)
        object.__setattr__(self, "ids", ids)
        version = {"package_version": __version__}
        object.__setattr__(self, "metadata", {**version, **self.metadata})

    def __len__(self) -> int:
        return len(self.ids)

    def line_up(
        self, ids: Sequence[str] | pl.Series, *, extra: Literal["error", "drop"] = "error",
        where: str | os.PathLike[str] = "predictions",
    ) -> Predictions:  # fmt: skip
        """The predictions for exactly these records, in this order; others are an error, or dropped.

        where: what messages call them, such as their file.

        Raises:
            PredictionsError: naming ids that are repeated, have no prediction, or (unless dropped) are surplus.
        """
        rows = pl.DataFrame({"id": pl.Series(self.ids, dtype=pl.String), "row": np.arange(len(self))})
        argument.choice("handling of further ids", extra, ("error", "drop"))
        name = str(argument.path(where, error=PredictionsError))
        try:
            wanted = tables.line_up(rows, ids, column="id", where=name, extra=extra)
        except TableError as error:
            raise PredictionsError(*error.problems) from None
        rows_of = wanted["row"]
        kept = None if self.fingerprints is None else self.fingerprints.gather(rows_of)
        return Predictions(wanted["id"].to_numpy(), self.ensemble.select(rows_of.to_numpy()), self.metadata, kept)

    def with_records(self, other: Predictions, *, where: str) -> Predictions:
        """These predictions and those of one and the same model for other records, `where` in messages.

        Raises:
            PredictionsError: for records that are in both, and predictions of another kind or model.
        """
        problems = []
        if len(common := sorted({*self.ids} & {*other.ids})):
            shown = f"{', '.join(common[:MOST_LISTED])}{', …' if len(common) > MOST_LISTED else ''}"
            problems.append(f"{where}: expected other records, found {len(common):,} of the same ids ({shown}).")
        kept = {key: (self.metadata.get(key), other.metadata.get(key)) for key in ("manifest", "id_column")}
        for key, (one, two) in kept.items():
            if one != two:
                problems.append(f"{where}: expected predictions of the same model with {key} {one}, found {two}.")
        try:
            ensemble = concatenated([self.ensemble, other.ensemble])
        except ArrayError:
            kinds = [f"{type(each).__name__} of {each.members} members" for each in (self.ensemble, other.ensemble)]
            problems.append(f"{where}: expected predictions of the same model, {kinds[0]}, found {kinds[1]}.")
        if problems:
            raise PredictionsError(*problems)
        marks = [
            pl.Series([None] * len(each), dtype=pl.UInt32) if each.fingerprints is None else each.fingerprints
            for each in (self, other)
        ]
        known = any(each.fingerprints is not None for each in (self, other))
        unanswered = sum(each.metadata.get("unanswered") or 0 for each in (self, other))
        metadata = {**self.metadata, **({"unanswered": unanswered} if unanswered else {})}
        ids = np.concatenate([self.ids, other.ids])
        return Predictions(ids, ensemble, metadata, pl.concat(marks) if known else None)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the predictions as Parquet, whole or not at all.

        Raises:
            PredictionsError: if the name does not end in `.parquet`.
            TableError: if the file cannot be written.
        """
        if argument.path(path, error=PredictionsError).suffix != ".parquet":
            raise PredictionsError(f"{path}: expected a name that ends in .parquet. Rename it.")
        ensemble = self.ensemble
        kind = next(kind for kind, form in KINDS.items() if isinstance(ensemble, form))
        names = (*COLUMNS[kind], *([POINT] if getattr(ensemble, POINT, None) is not None else []))
        columns = {name: np.moveaxis(getattr(ensemble, name), 0, 1) for name in names}
        frame = pl.DataFrame({"id": pl.Series(self.ids, dtype=pl.String), **columns})
        if self.fingerprints is not None:
            frame = frame.with_columns(self.fingerprints.cast(pl.UInt32).alias(FINGERPRINT))
        layout: dict[str, Any] = {
            "format": FORMAT,
            "kind": kind,
            "members": ensemble.members,
            "classes": getattr(ensemble, "classes", None),
        }
        if isinstance(ensemble, Quantiles):
            layout["levels"] = ensemble.levels
        if (draws := getattr(ensemble, "draws", 1)) > 1:
            layout["draws"] = draws
        text = json.dumps({**self.metadata, **layout}, sort_keys=True, ensure_ascii=False, allow_nan=False)
        return tables.write_table(frame, path, metadata={KEY: text})


def load(path: str | os.PathLike[str]) -> Predictions:
    """Read a predictions file written by `Predictions.save`, or by any other program in the same layout.

    Raises:
        PredictionsError: naming every problem: not Parquet or damaged, metadata missing or of another format,
            columns missing or of another type, another number of members or classes than the metadata says,
            duplicated or missing ids, NaN, infinity, a variance <= 0, probabilities that do not sum to 1.
    """
    where = argument.path(path, error=PredictionsError).name
    try:
        metadata = _read_layout(tables.read_metadata(path), where)
        frame = tables.read_table(path, retype=False)
    except TableError as error:
        raise PredictionsError(*error.problems) from None
    kind, members, classes = metadata["kind"], metadata["members"], metadata.get("classes")
    further: dict[str, Any] = {"classes": tuple(classes)} if classes is not None else {}
    further |= {"levels": tuple(metadata["levels"])} if kind == "quantiles" else {}
    inner = tuple(map(len, further.values()))  # of each member: classes, or levels
    problems = _column_problems(frame, kind, where)
    arrays: dict[str, Any] = {}
    beside = (POINT,) if kind == "quantiles" and POINT in frame.columns else ()
    for name in (*COLUMNS[kind], *beside) if not problems else ():
        shape = (members,) if name in beside else (members, *inner)
        arrays[name], more = _members_first(frame[name], shape, f"{where}: {name}")
        problems += more
    if problems:
        raise PredictionsError(*problems)
    try:
        if kind == "gaussian":
            further["draws"] = metadata.get("draws", 1)
        ensemble = KINDS[kind](**arrays, **further)
    except ArrayError as error:
        problems += [f"{where}: {problem}" for problem in error.problems]
    ids, more = _checked_ids(frame["id"], where)
    found, problem = _fingerprints(frame, where)
    if problems := problems + more + problem:
        raise PredictionsError(*problems)
    return Predictions(ids, ensemble, {key: value for key, value in metadata.items() if key not in LAYOUT}, found)


def _fingerprints(frame: pl.DataFrame, where: str) -> tuple[pl.Series | None, list[str]]:
    if FINGERPRINT not in frame.columns:
        return None, []
    column = frame[FINGERPRINT]
    whole = column.cast(pl.UInt32, strict=False) if column.dtype.is_integer() else None
    if whole is None or whole.null_count() != column.null_count():
        return None, [
            f"{where}: {FINGERPRINT}: expected whole numbers of 32 bits, found {column.dtype}. Predict again."
        ]
    return whole, []


def _checked_ids(ids: Any, where: str) -> tuple[Ids, list[str]]:
    nothing = np.empty(0, dtype=object)
    try:
        series = ids if isinstance(ids, pl.Series) else pl.Series(check.names("ids", ids), strict=False)
    except (
        TypeError,
        ValueError,
        OverflowError,
        pl.exceptions.PolarsError,
    ) as error:  # no sequence, other types, text not Unicode
        return nothing, [f"{where}: expected ids [N] as text or whole numbers, found: {error}."]
    if not len(series):
        return nothing, [f"{where}: expected at least one record, found none. Predict again."]
    try:
        return tables.ids(pl.DataFrame({"id": series}), "id", where=where).to_numpy().astype(object), []
    except TableError as error:
        return nothing, list(error.problems)


def _ensemble_problems(ensemble: Any) -> list[str]:
    if not isinstance(ensemble, tuple(KINDS.values())):
        known = ", ".join(form.__name__ for form in KINDS.values())
        return [f"ensemble: expected one of {known}, found {type(ensemble).__name__}."]
    if not isinstance(ensemble, Categorical):
        return []
    if ensemble.classes is None or not all(isinstance(name, str) for name in ensemble.classes):
        found = "none" if ensemble.classes is None else repr(ensemble.classes)
        return [f"ensemble: expected classes named by text, found {found}. Pass classes=('dry', 'rain', …)."]
    return []


def _metadata_problems(metadata: Any) -> list[str]:
    if not isinstance(metadata, Mapping):
        return [f"metadata: expected a mapping of names to values, found {type(metadata).__name__}."]
    problems = []
    if odd := [name for name in metadata if not isinstance(name, str)]:
        return [f"metadata: expected names that are text, found {quoted(odd[0])}. Write it as text."]
    if taken := sorted(set(metadata) & set(LAYOUT)):
        problems.append(f"metadata: expected keys other than the file's own, found {', '.join(taken)}. Rename these.")
    try:
        json.dumps(dict(metadata), allow_nan=False, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:  # half of a surrogate pair, which no file can hold
        found = error.object[max(error.start - 20, 0) : error.end + 20]
        problems.append(f"metadata: expected text in Unicode, found half of a character in {found!r}. Decode it again.")
    except (TypeError, ValueError, RecursionError) as error:
        problems.append(f"metadata: expected values that JSON can hold, found: {error}.")
    return problems


def _read_layout(metadata: Mapping[str, str], where: str) -> dict[str, Any]:
    """The JSON metadata of a predictions file, with its layout checked."""
    if KEY not in metadata:
        raise PredictionsError(
            f"{where}: expected a predictions file, found Parquet without the metadata key {KEY!r}. Write it with "
            "`shiftbench predict` or Predictions.save; a table of errors and uncertainties goes to `shiftbench assess`."
        )
    try:
        value = json.loads(metadata[KEY])
    except (ValueError, RecursionError) as error:
        raise PredictionsError(f"{where}: expected metadata {KEY!r} in JSON, found: {error}. Write it again.") from None
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        found = value.get("format") if isinstance(value, dict) else value
        raise PredictionsError(
            f"{where}: expected the format {FORMAT!r}, found {found!r}. Predict again with this version."
        )
    problems = []
    kind, classes = value.get("kind"), value.get("classes")
    if not isinstance(kind, str) or kind not in COLUMNS:
        problems.append(f"{where}: expected the kind {', '.join(COLUMNS)}, found {kind!r}. Correct the metadata.")
    for name, count in (("members", value.get("members")), ("draws", value.get("draws", 1))):
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST_MEMBERS:
            problems.append(
                f"{where}: expected a number of {name} from 1 to {MOST_MEMBERS:,}, found {count!r}. "
                "Correct the metadata."
            )
    named = isinstance(classes, list) and bool(classes) and all(isinstance(name, str) for name in classes)
    if named != (kind == "categorical") or (classes is not None and not named):
        problems.append(f"{where}: expected classes (text) for the kind categorical and null else, found {classes!r}.")
    levels = value.get("levels")
    if kind == "quantiles" and not (isinstance(levels, list) and all(isinstance(each, float) for each in levels)):
        problems.append(f"{where}: expected the levels of quantiles, numbers between 0 and 1, found {levels!r}.")
    for name, kinds, wanted in WRITTEN:
        if not isinstance(value.get(name), kinds):
            problems.append(f"{where}: expected {name} to be {wanted}, found {value[name]!r}. Correct the metadata.")
    if problems:
        raise PredictionsError(*problems)
    return value


def _column_problems(frame: pl.DataFrame, kind: str, where: str) -> list[str]:
    problems = []
    for name in ("id", *COLUMNS[kind]):
        if name not in frame.columns:
            found = ", ".join(frame.columns) or "none"
            problems.append(f"{where}: expected a column {name!r}, found the columns {found}. Predict again.")
    if not frame.height:
        problems.append(f"{where}: expected at least one record, found none. Predict again.")
    return problems


def _members_first(column: pl.Series, shape: tuple[int, ...], name: str) -> tuple[npt.NDArray[Any], list[str]]:
    """A column of lists as an array [M, N] or [M, N, C]; a missing number is NaN."""
    try:
        # Variable-length lists (as pandas and pyarrow write them) become fixed-size ones if all lengths agree.
        array = column.cast(pl.Array(pl.Float64, shape)).to_numpy()
    except pl.exceptions.PolarsError:
        wanted = " of ".join(f"lists of {length}" for length in shape) + " numbers"
        lengths: Any = column.list.len().unique().sort() if isinstance(column.dtype, pl.List) else []
        found = f"lists of {' or '.join(map(str, lengths[:MOST_LISTED]))}" if len(lengths) else str(column.dtype)
        return np.empty(0), [f"{name}: expected {wanted} for every record, found {found}. Predict again."]
    return np.moveaxis(array, 1, 0), []
