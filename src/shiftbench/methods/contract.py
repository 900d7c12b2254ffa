"""The contract of a method: one frozen value, and what all methods share of fitting and predicting.

Its data are a table, for the task "trajectories" a `trajectories.dataset.TrajectoryDataset`, for "volumes" a
`volumes.dataset.VolumeDataset`, or for "sequences" a `sequences.dataset.PairDataset`: N records in any case.
A method of your own is such a value in any module that can be imported, named `package.module:NAME` wherever a method's
name is allowed, or registered by your package's entry points in the group `shiftbench.methods`.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from shiftbench.errors import MissingExtraError, SettingsError, TableError
from shiftbench.methods.settings import MethodSettings

if TYPE_CHECKING:
    from shiftbench.check import Flags
    from shiftbench.methods.member_files import Arrays
    from shiftbench.methods.progress import Progress
    from shiftbench.partition.features import Features

Folder = str | os.PathLike[str]
Data = Any  # a table, a TrajectoryDataset, a VolumeDataset or a PairDataset
DEEP = "deep"  # the ensemble of models that were trained apart


@dataclass(frozen=True)
class Job:
    """The data and settings of a fit.

    Attributes:
        train, dev: records [N] to learn from, and records like those (dev_in), for early stopping and calibration.
        features, target: of tables, the columns that a model may see, and the one to predict.
        settings: of the method.
        folder: of the fit.
        cores: that may be used.
        progress: called with what is done, all there is to do (steps, trees or members), and a sentence.
        libraries: the versions of those that the method needs.
    """

    train: Data
    dev: Data
    features: Features
    target: str
    settings: Any
    folder: Path
    cores: int
    progress: Progress | None = None
    libraries: Mapping[str, str] = field(default_factory=dict)


class Prepared(NamedTuple):
    """A fit that is set up but not trained.

    record: plain JSON values that tell this fit from others and that predictions need, in `settings.json` beside
    `method`, `settings` and `target`. data: named arrays to train on, whose hash becomes part of the record.
    """

    record: dict[str, Any]
    data: Arrays | None = None


@dataclass(frozen=True)
class Fitted:
    """A fitted method: its folder, the record in it, the cores to predict with, and with which of its ensembles."""

    folder: Path
    record: dict[str, Any]
    cores: int = 1
    ensemble: str = DEEP
    progress: Progress | None = None


Role = Literal["ensemble", "model", "baseline"]


@dataclass(frozen=True)
class Method:
    """A method that learns from a train partition and then predicts any record; what it has learnt is a folder.

    Attributes:
        name: unique among the registered methods.
        title: what it is, for people.
        Settings: its settings; their `tasks` are those that the method is for.
        prepare: checks the data and encodes them.
        answer: the prediction for records [N >= 1] as an ensemble.
        describe: a sentence on what was learnt, and on anything that was done to these records.
        role: "ensemble" where each member is a model that could stand alone, "model" where only all members together
            mean something, "baseline" for what is no model.
        train: trains what is missing in the job's folder on what was prepared; None where the record is all.
        libraries, extra: what must be installed, and the extra of this package that brings it.
        has_answer: which of the records [N] the method has an answer for; None where it has one for all. For the others
            `answer` may return any values.
        doubt: a sentence if training ended in a way that makes scores doubtful, or "".
        combine: the prediction from those of the parts that the settings name in `of`, where it is made of these.
        ensembles: the names of those that a fit can predict with, the usual one first.
        counts: what the progress of a fit counts, in the plural.
    """

    name: str
    title: str
    Settings: type[MethodSettings]
    prepare: Callable[[Job], Prepared]
    answer: Callable[[Data, Fitted], Any]
    describe: Callable[[Data, Fitted], str]
    role: Role = "ensemble"
    train: Callable[[Job, Arrays], None] | None = None
    libraries: tuple[str, ...] = ()
    extra: str = ""
    has_answer: Callable[[Data, Fitted], Flags] | None = None
    doubt: Callable[[Fitted], str] | None = None
    combine: Callable[[Sequence[Any], Any], Any] | None = None
    ensembles: tuple[str, ...] = (DEEP,)
    counts: str = "steps"

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks it is for."""
        return self.Settings.tasks

    def fit(
        self,
        train: Data,
        dev: Data,
        *,
        features: Features | None = None,
        target: str = "",
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
            features, target: of tables, the columns that the models see, and the one to predict.
            settings: see `Settings`.
            folder: a fresh folder, or that of the same fit begun earlier.
            cores: the most members to train at a time; all cores if None.
            progress: called with what is done, all there is to do, and a sentence.
            overwrite: delete another fit in `folder` instead of refusing it.

        Raises:
            TableError, ArrayError: naming what is wrong with the targets, the features or other inputs.
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
        of = {"target": target} if target else {}
        record = {"method": self.name, "settings": settings.to_dict(), **of, **prepared.record}
        if prepared.data is not None:
            sizes = {"train": len(train), "dev_in": len(dev)}
            record["data"] = {**sizes, "sha256": fitted_folder.digest(prepared.data)}
        fitted_folder.claim(place, record, overwrite=overwrite)
        if self.train is not None:
            self.train(job, prepared.data or {})
        elif progress:
            progress(1, 1, self.name)
        return place

    def predict(
        self, data: Data, *, folder: Folder, cores: int | None = None, ensemble: str = DEEP,
        progress: Progress | None = None,
    ) -> Any:  # fmt: skip
        """What the M members in `folder`, or another of its `ensembles`, predict for the N records of `data`.

        Variances are at least 1e-12 times that of the training targets. On a GPU the last digits may differ. Methods
        that take long call `progress` with records done, all records, and a sentence.

        Raises:
            TableError, ArrayError: if there are no records, or inputs are missing, invalid, or of another type.
            SettingsError: if `folder` holds no fit of this method, or one that is incomplete or damaged, or of data of
                another form; for an unknown ensemble.
            MissingExtraError: if a library is not installed.
            ShiftbenchError: if the result will not fit into memory.
        """
        from shiftbench.methods import workers

        if ensemble not in self.ensembles:
            raise SettingsError(f"ensemble: expected {' or '.join(self.ensembles)}, found {ensemble!r}.")
        fitted = replace(self._fitted(folder), cores=workers.available(cores), ensemble=ensemble, progress=progress)
        require_libraries(self.name, self.libraries, self.extra)
        if not len(data):
            raise TableError("expected at least one record to predict, found none.")
        return self.answer(data, fitted)

    def about(self, data: Data, *, folder: Folder) -> str:
        """A sentence on what was learnt, and on anything that was done to the records of `data`."""
        return self.describe(data, self._fitted(folder))

    def answered(self, data: Data, *, folder: Folder) -> Flags | None:
        """Flags of the records of `data` [N] that the method can answer; None if it can answer all.

        `predict` fills the gaps so that every array is whole; these values count for nothing.
        """
        return None if self.has_answer is None else self.has_answer(data, self._fitted(folder))

    def caution(self, *, folder: Folder) -> str:
        """A sentence if training ended in a way that makes scores doubtful, or ""."""
        return "" if self.doubt is None else self.doubt(self._fitted(folder))

    def _fitted(self, folder: Folder) -> Fitted:
        from shiftbench.methods import fitted_folder

        return Fitted(Path(folder), fitted_folder.read(folder, self.name))


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
    """Check that the method in `folder` was fitted to what is wanted; `record` describes its fit.

    Raises:
        SettingsError: naming everything that differs.
    """
    if problems := [
        f"{folder}: expected a fit to the {what} {value!r}, found {record[what]!r}. {advice}"
        for what, value in wanted.items()
        if record[what] != value
    ]:
        raise SettingsError(*problems)
