"""What a board takes and how it is scored: a track's own intake and scores, or those of an organiser's table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.challenge.definition import TABLE, Board
from shiftbench.errors import MissingExtraError, PredictionsError, SettingsError, ShiftbenchError, counted, quoted
from shiftbench.track import Arrays, Intake, PublicRecords, Task
from shiftbench.track.contract import ScoredFiles
from shiftbench.track.parsed import array, unpack
from shiftbench.track.table_submission import ANSWER, ID, OWN, UNCERTAINTY, answers, predicted

TARGET, SHIFTED, CLUSTER = "target", "shifted", "cluster"  # columns of an organiser's `truth.parquet`, beside `id`


@dataclass(frozen=True)
class Form:
    """What a board takes (`intake`), and the task that is scored; `track` is None for an organiser's table."""

    intake: Intake
    task: Task
    track: Any = None

    def score(self, arrays: Mapping[str, Arrays], truth: Path, folder: Path) -> ScoredFiles:
        """Systems by name scored against sealed labels; `folder` is empty, for files in between.

        Raises:
            ShiftbenchError: naming what is wrong. Whether all records have a prediction is for `misfits` to tell.
        """
        if self.track is None:
            return _of_table(arrays, truth, self.task)
        restored = {}
        for number, (name, held) in enumerate(arrays.items()):
            place = folder / str(number)
            place.mkdir()
            restored[name] = self.intake.restore(held, place)
        (found,) = self.track.score_files(restored, truth, [self.task])
        return found  # type: ignore[no-any-return]

    def misnamed(self, name: str) -> list[str]:
        """Why a file of this name is not taken."""
        if name.lower().endswith(self.intake.suffixes):
            return []
        known = ", ".join(self.intake.suffixes)
        return [f"{name}: expected a name that ends in {known}, found another. {self.intake.about}"]


def records(board: Board, truth: Path) -> PublicRecords | None:
    """What everybody may know of the records that are scored; None if the board's track does not say.

    Raises:
        ShiftbenchError: for a truth that cannot be read.
    """
    from shiftbench import tracks

    if board.track != TABLE and tracks.track(board.track).intake is None:
        return None
    form = of(board)
    return None if form.intake.records is None else form.intake.records(truth, form.task)


def validated(intake: Intake, file: Path, records: PublicRecords | None) -> tuple[Arrays, list[str]]:
    """What a file holds, and everything that is wrong with it; no label is needed.

    records: those of the phase, if they are known. What can be read of a file that is invalid is checked, too.

    Raises:
        MissingExtraError: if a library is not installed that the reader needs.
    """
    refused = False
    try:
        arrays, found = intake.parse(file), list[str]()
    except MissingExtraError:
        raise
    except ShiftbenchError as error:
        arrays, found, refused = getattr(error, "arrays", {}), [*error.problems], True
    found += problems(intake, arrays, records)
    if refused:  # what does not refuse a file alone is told as well
        found += [each for each in remarks(arrays) if not any(told.startswith(_named(each)) for told in found)]
    return arrays, unique(found)


def _named(remark: str) -> str:
    """How a problem of the same uncertainty begins."""
    return f"{remark.partition(':')[0]}: expected"


def problems(intake: Intake, arrays: Arrays, records: PublicRecords | None) -> list[str]:
    """What is wrong with arrays: uncertainties that find no errors, and predictions that do not fit the records.

    Of a file of which nothing could be read, nothing else is told.
    """
    if not arrays:
        return []
    found = list[str]()
    try:
        found += [
            f"{name}: expected values that differ, found {values[0]:g} for each of {counted(len(values), 'record')}. "
            "Give each record its own, higher where it is less certain."
            for name, values in _uncertainties(arrays)
            if len(values) > 1 and bool((values == values[0]).all())
        ]
        found += intake.misfits(arrays, records) if records is not None else ()
    except ShiftbenchError as error:  # arrays of another kind, which no reader of ours makes
        found += error.problems
    return found


def remarks(arrays: Arrays) -> list[str]:
    """What is odd about the sign: log-probabilities in place of an uncertainty, or invalid variances."""
    found = []
    for name, values in _uncertainties(arrays):
        if count := int((values < 0).sum()):
            all_of_them = count == len(values)
            odd = "all values are negative, like log-probabilities" if all_of_them else (
                f"{count:,} of {counted(len(values), 'value')} {'is' if count == 1 else 'are'} negative, which no "
                "variance is"
            )  # fmt: skip
            found.append(f"{name}: {odd}; higher must mean less certain. Is it the sign?")
    return found


def unique(found: Iterable[str]) -> list[str]:
    """Each text once, in its order."""
    return [*dict.fromkeys(found)]


def _uncertainties(arrays: Arrays) -> Iterator[tuple[str, Any]]:
    """Uncertainties that stand beside answers, by name; those of distributions follow from these."""
    if UNCERTAINTY in arrays:
        yield UNCERTAINTY, array(arrays, UNCERTAINTY, "f", 1)
    if "uncertainties" in arrays:
        yield from zip(unpack(arrays, "measures"), array(arrays, "uncertainties", "f", 2), strict=False)


def of(board: Board) -> Form:
    """The form of a board.

    Raises:
        SettingsError, UnknownNameError: for a track that takes no predictions of strangers, or another task.
    """
    if board.track == TABLE:
        return Form(OWN, Task(board.task or "table", "table", TARGET, threshold=board.threshold))
    from shiftbench import tracks

    track = tracks.track(board.track)
    tasks = {task.name: task for task in track.tasks}
    if not board.task and len(tasks) == 1:
        (task,) = tasks.values()
    elif board.task in tasks:
        task = tasks[board.task]
    else:
        known = ", ".join(tasks)
        found = repr(board.task) if board.task else "none"
        raise SettingsError(
            f"board {board.slug}: expected a task of {known}, found {found}. Name one with --task, or as `task` in "
            "challenge.toml."
        )
    return Form(intake(board.track), task, track)


def target(board: Board) -> str:
    """The column of targets in labels that are tables.

    Raises:
        SettingsError, UnknownNameError: for another track or task.
    """
    from shiftbench import tracks

    if board.track == TABLE:
        return TARGET
    tasks = tracks.track(board.track).tasks
    return next((task.target for task in tasks if task.name == board.task), tasks[0].target)


def labels(board: Board, truth: Path) -> Mapping[Path, Sequence[str]]:
    """The files of a truth that tell labels, with their columns of targets; none of a folder whose track does not say.

    Raises:
        ShiftbenchError: for another track or task, and for a truth that cannot be read.
    """
    from shiftbench import tracks

    if board.track != TABLE and ((own := tracks.track(board.track).intake) is None or own.labels is None):
        return {truth: (target(board),)} if truth.is_file() else {}
    form = of(board)
    return {} if form.intake.labels is None else form.intake.labels(truth, form.task)


def intake(track: str) -> Intake:
    """How predictions for a track, or for an organiser's table, are taken.

    Raises:
        SettingsError: for a track that takes none.
    """
    if track == TABLE:
        return OWN
    from shiftbench import tracks

    found = tracks.track(track).intake
    if found is None:
        raise SettingsError(
            f"track {track}: expected one that says how predictions of strangers are read (Track.intake), found one "
            "that does not. Host its labels as a table, or add it to the track."
        )
    return found


def _of_table(arrays: Mapping[str, Arrays], truth: Path, task: Task) -> ScoredFiles:
    """Predictions on a table with `id`, `target` and, if there, `shifted` and `cluster`; other columns are slices."""
    from shiftbench.assessment import scored_table
    from shiftbench.assessment.assess import Options
    from shiftbench.assessment.columns import Columns
    from shiftbench.assessment.joined import line_up
    from shiftbench.io import tables

    labels = tables.read_table(truth)
    names = labels.columns
    columns = Columns(
        id=ID, target=TARGET, shifted=SHIFTED if SHIFTED in names else None,
        clusters=(CLUSTER,) if CLUSTER in names else (),
        slices=tuple(name for name in names if name not in (ID, TARGET, SHIFTED, CLUSTER)),
    )  # fmt: skip
    numeric = labels[TARGET].dtype.is_numeric()
    systems, notes = [], list[str]()
    for name, held in arrays.items():
        handed_in = given(held)
        if isinstance(handed_in, pl.DataFrame):
            systems.append(_answered(handed_in, labels, columns, name, numeric=numeric))
            notes += () if numeric else _unknown(handed_in[ANSWER], labels[TARGET], name)
        else:
            systems.append(scored_table.against(handed_in, labels, columns, name=name, file=name, truth=truth))
    joined = line_up(systems)
    classes = joined.task == "classification"
    options = Options(
        task=joined.task, threshold=0.5 if classes and task.threshold is None else task.threshold,
        error_name="classification error" if classes else "squared error",
    )  # fmt: skip
    return ScoredFiles(task, [(joined.records, joined.systems)], options, tuple(notes))


def given(arrays: Arrays) -> Any:
    """What was handed in for an organiser's table: a table of answers and uncertainties, or predictions."""
    table = answers(arrays)
    return predicted(arrays) if table is None else table


def _answered(given: pl.DataFrame, labels: pl.DataFrame, columns: Any, name: str, *, numeric: bool) -> Any:
    from shiftbench.assessment import scored_table

    if numeric != given[ANSWER].dtype.is_numeric():
        wanted, found = ("numbers", "texts") if numeric else ("names of classes", "numbers")
        shown = ", ".join(quoted(each) for each in given[ANSWER].unique(maintain_order=True).head(3))
        raise PredictionsError(
            f"{name}: expected {wanted} as answers, found {found} (such as {shown}). Convert the column {ANSWER!r}."
        )
    keyed = labels.with_columns(pl.col(ID).cast(pl.String))
    joined = keyed.join(given, on=ID, how="left", maintain_order="left")
    return scored_table.read(joined, replace(columns, answer=ANSWER, uncertainty=(UNCERTAINTY,)), name=name, where=name)


def _unknown(answers: pl.Series, labels: pl.Series, name: str) -> list[str]:
    """A remark on answers that are no class of any label, such as misspelt ones."""
    unknown = answers.filter(~answers.is_in(labels.cast(pl.String).unique().implode()))
    if unknown.is_empty():
        return []
    shown = ", ".join(quoted(each) for each in unknown.unique(maintain_order=True).head(3))
    return [
        f"{name}: {len(unknown):,} of {counted(len(answers), 'answer')} name classes that no label has (such as "
        f"{shown}) and count as wrong. Are they spelt as in the training data?"
    ]
