"""The contract of a method: one frozen value, and what all methods share of fitting and predicting.

A method of your own is such a value in any module that can be imported, named `package.module:NAME` wherever a method's
name is allowed, or registered by your package's entry points in the group `shiftbench.methods`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from shiftbench.errors import MissingExtraError, SettingsError, TableError
from shiftbench.methods.settings import MethodSettings

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.check import Flags
    from shiftbench.ensembles import Categorical, Gaussian
    from shiftbench.methods.member_files import Arrays
    from shiftbench.methods.progress import Progress
    from shiftbench.partition.features import Features

    Ensemble = Gaussian | Categorical

Folder = str | os.PathLike[str]


@dataclass(frozen=True)
class Job:
    """What a method is to learn from, and how.

    Attributes:
        train, dev: records [N] to learn from, and records like those (dev_in), for early stopping and calibration.
        features: the columns that a model may see.
        target: the column to predict.
        settings: of the method.
        folder: of the fit.
        cores: that may be used.
        progress: called with what is done, all there is to do (steps, trees or members), and a sentence.
        libraries: the versions of those that the method needs.
    """

    train: pl.DataFrame
    dev: pl.DataFrame
    features: Features
    target: str
    settings: Any
    folder: Path
    cores: int
    progress: Progress | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)


class Prepared(NamedTuple):
    """What a fit knows before anything is trained.

    record: plain JSON values that tell this fit from others and that predictions need, in `settings.json` beside
    `method`, `settings` and `target`. data: named arrays to train on, whose hash becomes part of the record.
    """

    record: dict[str, Any]
    data: Arrays | None = None


@dataclass(frozen=True)
class Fitted:
    """A fitted method: its folder, the record in it, and the cores that it may predict with."""

    folder: Path
    record: dict[str, Any]
    cores: int = 1


Role = Literal["ensemble", "model", "baseline"]


@dataclass(frozen=True)
class Method:
    """A method that learns from a train partition and then predicts any record; what it has learnt is a folder.

    Attributes:
        name: unique among the registered methods.
        title: what it is, for people.
        Settings: its settings; their `tasks` are those that the method is for.
        prepare: checks the tables and encodes them.
        answer: the prediction for records [N >= 1] as an ensemble.
        describe: a sentence on what was learnt, and on anything that was done to these records.
        role: "ensemble" where each member is a model that could stand alone, "model" where only all members together
            mean something, "baseline" for what is no model.
        train: trains what is missing in the job's folder on what was prepared; None where the record is all.
        libraries, extra: what must be installed, and the extra of this package that brings it.
        has_answer: which of the records [N] the method has an answer for; None where it has one for all. For the others
            `answer` may say anything.
        doubt: a sentence if training ended in a way that makes scores doubtful, or "".
        combine: the prediction from those of the parts that the settings name in `of`, where it is made of these.
    """

    name: str
    title: str
    Settings: type[MethodSettings]
    prepare: Callable[[Job], Prepared]
    answer: Callable[[pl.DataFrame, Fitted], Ensemble]
    describe: Callable[[pl.DataFrame, Fitted], str]
    role: Role = "ensemble"
    train: Callable[[Job, Arrays], None] | None = None
    libraries: tuple[str, ...] = ()
    extra: str = ""
    has_answer: Callable[[pl.DataFrame, Fitted], Flags] | None = None
    doubt: Callable[[Fitted], str] | None = None
    combine: Callable[[Sequence[Ensemble], Any], Ensemble] | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks it is for."""
        return self.Settings.tasks

    def fit(
        self,
        train: pl.DataFrame,
        dev: pl.DataFrame,
        *,
        features: Features | None = None,
        target: str,
        settings: MethodSettings,
        folder: Folder,
        cores: int | None = None,
        progress: Progress | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Learn from `train` (and `dev`, records like those of train) and write all that was learnt to `folder`.

        Killed at any moment and called again with the same arguments, it goes on where it was and (on a CPU) ends with
        the same files, byte for byte, as an undisturbed call, for any number of cores.

        Args:
            train: records [N] to learn from.
            dev: records like those of train (dev_in), for early stopping and calibration.
            features: the columns that the models see.
            target: the column to predict.
            settings: see `Settings`.
            folder: a fresh folder, or that of the same fit begun earlier.
            cores: the most members to train at a time; all cores if None.
            progress: called with what is done, all there is to do, and a sentence.
            overwrite: delete another fit in `folder` instead of refusing it.

        Raises:
            TableError: naming what is wrong with the targets, the features or other columns.
            SettingsError: if the folder is another fit's, or cannot be written to, or the settings do not suit.
            MissingExtraError: if a library is not installed.
            ShiftbenchError: if a loss is not finite, or a member's process dies; members that are done stay, so call
                again.
        """
        from shiftbench.methods import fitted_folder, workers
        from shiftbench.partition.features import Features

        require_libraries(self.name, self.libraries, self.extra)
        place = Path(folder)
        versions = {name: importlib.metadata.version(name) for name in self.libraries}
        cores = workers.available(cores)
        job = Job(train, dev, features or Features(), target, settings, place, cores, progress, versions)
        prepared = self.prepare(job)
        record = {"method": self.name, "settings": settings.to_dict(), "target": target, **prepared.record}
        if prepared.data is not None:
            sizes = {"train": train.height, "dev_in": dev.height}
            record["data"] = {**sizes, "sha256": fitted_folder.digest(prepared.data)}
        fitted_folder.claim(place, record, overwrite=overwrite)
        if self.train is not None:
            self.train(job, prepared.data or {})
        elif progress:
            progress(1, 1, self.name)
        return place

    def predict(self, frame: pl.DataFrame, *, folder: Folder, cores: int | None = None) -> Ensemble:
        """What the M members in `folder` predict for the N rows of `frame`: [M, N] or [M, N, C].

        Variances are at least 1e-12 times that of the training targets. On a GPU the last digits may differ.

        Raises:
            TableError: if `frame` has no rows, or a feature is missing, or of another type than it was trained with.
            SettingsError: if `folder` holds no fit of this method, or one that is incomplete or damaged.
            MissingExtraError: if a library is not installed.
        """
        from shiftbench.methods import workers

        fitted = self._fitted(folder, workers.available(cores))
        require_libraries(self.name, self.libraries, self.extra)
        if not frame.height:
            raise TableError("expected at least one record to predict, found none.")
        return self.answer(frame, fitted)

    def about(self, frame: pl.DataFrame, *, folder: Folder) -> str:
        """A sentence on what was learnt, and on anything that was done to the rows of `frame`."""
        return self.describe(frame, self._fitted(folder))

    def answered(self, frame: pl.DataFrame, *, folder: Folder) -> Flags | None:
        """Which rows of `frame` [N] it has an answer for; None where it has one for all.

        `predict` fills the gaps so that every array is whole; these values count for nothing.
        """
        return None if self.has_answer is None else self.has_answer(frame, self._fitted(folder))

    def caution(self, *, folder: Folder) -> str:
        """A sentence if training ended in a way that makes scores doubtful, or ""."""
        return "" if self.doubt is None else self.doubt(self._fitted(folder))

    def _fitted(self, folder: Folder, cores: int = 1) -> Fitted:
        from shiftbench.methods import fitted_folder

        return Fitted(Path(folder), fitted_folder.read(folder, self.name), cores)


def require_libraries(method: str, libraries: Sequence[str], extra: str) -> None:
    """Check that the libraries of a method are installed, and import them.

    Raises:
        MissingExtraError: if one is not.
    """
    try:
        for name in libraries:
            importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"method {method}: expected {' and '.join(libraries)}, found: {error}. Install "
            f"{'it' if len(libraries) == 1 else 'them'}: pip install 'shiftbench[{extra}]'"
        ) from None


def require_same_fit(folder: Path, record: Mapping[str, Any], wanted: Mapping[str, Any], advice: str) -> None:
    """Check that the method fitted into `folder`, of whose fit `record` tells, was fitted to what is wanted.

    Raises:
        SettingsError: naming everything that differs.
    """
    if problems := [
        f"{folder}: expected a fit to the {what} {value!r}, found {record[what]!r}. {advice}"
        for what, value in wanted.items()
        if record[what] != value
    ]:
        raise SettingsError(*problems)
