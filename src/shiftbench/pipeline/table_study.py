"""A run on a table: its partition, features, evaluation sets and methods, for one target."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

from shiftbench import methods
from shiftbench.assessment.assess import Options, squared
from shiftbench.assessment.slicing import Slicing
from shiftbench.errors import SettingsError, ShiftbenchError, TableError
from shiftbench.io import tables
from shiftbench.partition import PARTITIONS, Partition
from shiftbench.partition.features import Features
from shiftbench.pipeline import cost, existing_partition, study
from shiftbench.pipeline import settings as settings_module
from shiftbench.pipeline.evaluation_set import EVALUATED, TableRecords, TableSystem, hashes, test_sets
from shiftbench.pipeline.leak import leaks
from shiftbench.pipeline.partitioning import Divided, adopt, choose_features, divide, infinite, kept_whole
from shiftbench.pipeline.planning import own_settings, plan, written_out
from shiftbench.pipeline.settings import Settings
from shiftbench.pipeline.study import Fitted, Planned, Selection, Study
from shiftbench.pipeline.table_data import Data, Opened, prepare
from shiftbench.progress import Progress, of_stage, silent
from shiftbench.report.content import Report
from shiftbench.scores.score import Cost

REPORT_ONLY = {"title", "unit", "threshold", "slices", "assessment"}  # settings that only affect the report


@dataclass(frozen=True)
class Outcome:
    """The result of a run: its folder, its report, and the settings that repeat it."""

    folder: Path
    report: Report
    settings: Settings


def run(
    settings: Settings, folder: str | Path, *, cores: int = 1, progress: Progress | None = None,
    opened: Opened | None = None,
) -> Outcome:  # fmt: skip
    """Partition, fit, predict and assess; all output is written below `folder`.

    An interrupted run continues where it stopped; the same settings give the same numbers on any number of cores.
    opened: tables already read by other tasks of the same run.

    Raises:
        ShiftbenchError: whatever is wrong with the table, the rules or the settings, all problems at once.
    """
    found = TableStudy.open(settings, Path(folder), opened or Opened(), say=progress or silent)
    result = study.run(found, Path(folder), cores=cores, progress=progress)[0]
    return Outcome(Path(folder), result.report, found.settings)


def require_valid(settings: Settings) -> None:
    """Run all checks that come before anything is fitted, without an output folder.

    Raises:
        ShiftbenchError: whatever is wrong with the table, the rules or the settings, all problems at once.
    """
    with TemporaryDirectory() as folder:
        TableStudy.open(settings, Path(folder) / "run", Opened(), say=silent)


@dataclass(frozen=True)
class TableStudy(Study[TableSystem, TableRecords]):
    """A table that is read and partitioned, with the methods that learn from it (see `study.Study`)."""

    settings: Settings
    data: Data
    divided: Divided
    features: Features
    slicing: Slicing
    notes: tuple[str, ...]
    tasks: Mapping[str, str]
    planned: Sequence[Planned]
    evaluation_sets: Sequence[TableRecords]

    @classmethod
    def open(cls, settings: Settings, folder: Path, opened: Opened, *, say: Progress) -> TableStudy:
        """Read and partition the table, and run all checks before anything is fitted.

        Raises:
            ShiftbenchError: whatever is wrong with the table, the rules or the settings, all problems at once.
        """
        say("read", 0, 1)
        data = prepare(settings, opened)
        settings = replace(written_out(data.settings), test_sets_sha256=hashes(data.settings, opened))
        new = not folder.exists()
        try:
            claim(settings, folder)
        except SettingsError as error:
            cls._tell_with(error, settings, data, opened)
        say("partition", 0, 1)
        try:
            return cls._divided(settings, data, folder, opened)
        except ShiftbenchError:
            if new:  # a refused run leaves no files
                shutil.rmtree(folder)
            raise

    @classmethod
    def _tell_with(cls, refused: SettingsError, settings: Settings, data: Data, opened: Opened) -> NoReturn:
        """Raise why a folder is refused, with what else is wrong."""
        try:
            with TemporaryDirectory() as aside:
                cls._divided(settings, data, Path(aside), opened)
        except ShiftbenchError as error:
            raise SettingsError(*refused.problems, *error.problems) from None
        raise refused

    @classmethod
    def _divided(cls, settings: Settings, data: Data, folder: Path, opened: Opened) -> TableStudy:
        divided = _divided(data, folder / "partition")
        train = divided.parts.frame("train")
        features, notes = choose_features(train, settings, _roles(data))
        assigned = divided.parts.assignment.is_not_null()
        if problems := infinite(divided.parts.table, divided.parts.ids, assigned, features):
            raise TableError(*problems)
        further, lost = test_sets(settings, train, features, opened)
        id_column = data.rules.id if data.rules else divided.manifest.rules.get("id")
        own = TableRecords.of(data.frame, divided.parts, settings, id_column=id_column)
        slicing = _slicing(settings, divided, own)
        evaluated = [
            replace(
                each, clusters=settings.clusters, slicing=slicing, features=features, manifest=divided.manifest.hash
            )
            for each in (own, *further)
        ]
        all_notes = (*data.notes, *divided.notes, *notes, *lost, *_unseen(divided.parts, settings))
        tasks = {settings.task or "": ""}  # a single task needs no title
        return cls(settings, data, divided, features, slicing, all_notes, tasks, plan(settings), evaluated)

    def claim(self, folder: Path) -> None:
        """Do nothing: `open` wrote all settings to `run.toml` before the table was partitioned."""

    def fit(self, planned: Planned, folder: Path, *, cores: int, progress: Progress) -> Fitted:
        """Fit a method to train, with early stopping on dev_in."""
        parts, target = self.divided.parts, self.settings.target
        train = parts.frame("train")
        own = own_settings(planned, self.settings, kept_whole(train, parts.frame("eval_in"), self.settings.clusters))
        return study.fitted(
            planned, own, train, parts.frame("dev_in"), folder, evaluated=self.evaluation_sets[0].frame, cores=cores,
            progress=progress, features=self.features, target=target,
        )  # fmt: skip

    def systems(
        self, fitted: Sequence[Fitted], records: TableRecords, _selection: Selection, *, folder: Path, cores: int,
        progress: Progress,
    ) -> Iterator[TableSystem]:  # fmt: skip
        """One system per method; a method composed of others uses their predictions."""
        known: dict[str, Any] = {}
        for each in fitted:
            stage = f"predict {each.planned.name}"
            progress(stage, 0, 1)
            module = methods.method(each.planned.method)
            if combined := module.combine:
                own = own_settings(each.planned, self.settings)
                ensemble = combined([known[name] for name in own.of], own)
            else:
                spending = cost.kept(each.folder, _predicting(records), records=len(records.ids))
                with nullcontext() if module.role == "baseline" else spending:
                    ensemble = records.predicted(module, each.folder, cores=cores, progress=of_stage(progress, stage))
            known[each.planned.place] = ensemble
            yield TableSystem(each, ensemble, methods.answered(records.frame, folder=each.folder))

    def cost(self, system: TableSystem, records: TableRecords, _fitted: Sequence[Fitted]) -> Cost | None:
        """That of the method; see `pipeline.cost`."""
        return cost.of_system(system.name, system.fitted.folder, _predicting(records))

    def options(self, _task: str, _selection: Selection, recipes: Mapping[str, Any], *, cores: int) -> Options:
        """Title, units and recipe."""
        settings = self.settings
        return Options(
            title=settings.title or f"{settings.target} · {Path(settings.table).name}",
            task=settings.task or "",
            rule=settings.assessment.rule,  # type: ignore[arg-type]
            intervals=settings.assessment.intervals(settings.seed, cores),
            **_units(settings),
            recipe=self._recipe(recipes),
        )

    def finished(self, report: Report, _task: str) -> Report:
        """The report with its notes, and with the effect on its scores of clusters shared by train and evaluation."""
        notes = (*self.notes, *self.slicing.notes, *self.slicing.only_in(self.divided.parts.frame("train")))
        found = leaks(self.divided.parts, self.settings.clusters, self.features, self.settings)
        return replace(report, warnings=(*notes, *report.warnings), leaks=found)

    def _recipe(self, systems: Mapping[str, Any]) -> dict[str, Any]:
        settings, data, divided = self.settings, self.data, self.divided
        return {
            **({"track": dict(settings.track)} if settings.track else {}),
            "table": Path(settings.table).name,
            "table_sha256": settings.table_sha256,
            **({"test_sets": dict(settings.test_sets_sha256)} if settings.test_sets else {}),
            "target": settings.target,
            "rows": {"read": data.rows_read, "without_target": data.rows_read - data.frame.height},
            "manifest": divided.manifest.hash,
            "partition": {
                "rules": dict(divided.manifest.rules),
                "counts": dict(divided.parts.counts),
                "unused": dict(divided.parts.unused),
            },
            "features": {
                "used": [*self.features.numeric, *self.features.categorical, *self.features.dates],
                "left_out": dict(self.features.left_out),
            },
            "clusters": list(settings.clusters),
            "systems": dict(systems),
            "seed": settings.seed,
        }


def claim(settings: Settings, folder: Path) -> None:
    """Write the settings into the folder; refuse one that holds another run, so that files are not mixed."""
    path = folder / "run.toml"
    if not path.exists():
        if folder.exists() and any(folder.iterdir()):
            raise SettingsError(
                f"{folder}: expected a new or empty folder, found one with files. Choose another --out."
            )
        settings_module.write(settings, path)
        return
    before, now = settings_module.read(path), settings_module.to_dict(settings)
    names = {*before, *now} - {"table", "test_sets"} - REPORT_ONLY
    changed = sorted(name.removesuffix("_sha256") for name in names if before.get(name) != now.get(name))
    if changed:
        raise SettingsError(
            f"{folder}: expected a new folder or one of the same run, found a run whose settings differ in "
            f"{', '.join(changed)}. Choose another --out, or --overwrite."
        )
    settings_module.write(settings, path)  # settings of the report may have changed


def _roles(data: Data) -> tuple[str, ...]:
    """Columns with a role in the partition, and the ids: they are not features."""
    if data.given is not None:
        return existing_partition.roles(data.given.manifest.rules, data.frame.columns)
    assert data.rules is not None
    return tuple(data.rules.columns())


def _divided(data: Data, folder: Path) -> Divided:
    if data.given is not None:
        return adopt(data.frame, data.given, folder)
    assert data.rules is not None
    settings = data.settings
    unseen = (settings.target, *tables.expand(settings.drop, data.frame.columns, what="column to drop"))
    return divide(
        data.frame, data.rules, folder, ids=data.ids, source=settings.table, clusters=settings.clusters, unseen=unseen
    )


def _slicing(settings: Settings, divided: Divided, evaluated: TableRecords) -> Slicing:
    """The groups for which scores are broken down: from the settings, else the partition's columns and clusters."""
    rules = divided.manifest.rules
    by_default = (*(rules.get(role) for role in ("group", "time")), "+".join(settings.clusters))
    slices = settings.slices or tuple(dict.fromkeys(name for name in by_default if isinstance(name, str) and name))
    labels = [*settings.clusters, *(str(rules.get(role)) for role in ("group", "by"))]
    return Slicing.of(evaluated.frame, slices, labels=labels)


def _unseen(parts: Partition, settings: Settings) -> list[str]:
    """A note for every class that is evaluated and never occurs in train."""
    if settings.task != "classification":
        return []
    counts = {name: dict(parts.frame(name)[settings.target].value_counts().iter_rows()) for name in PARTITIONS}
    unseen = [name for name in settings.classes if not counts["train"].get(name)]
    found = {name: sum(counts[part].get(name, 0) for part in EVALUATED) for name in unseen}
    return [
        f"class {name!r} never occurs in train: models give it probability 0 in {count:,} evaluated records of it"
        for name, count in found.items()
        if count
    ]


def _predicting(records: TableRecords) -> str:
    """The stage of predicting an evaluation set."""
    return f"predict {records.name}".rstrip()


def _units(settings: Settings) -> dict[str, Any]:
    if settings.task == "classification":
        return {"threshold": 0.5, "error_name": "classification error"}
    return {
        "threshold": settings.threshold,
        "target_unit": settings.unit,
        "error_unit": squared(settings.unit),
        "error_name": "squared error",
    }
