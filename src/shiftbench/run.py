"""The main job: a table is partitioned, methods learn from its train part, and a report says how they do elsewhere.

Every step can be had alone (`partition`, `fit`, `predict`, `assess`); this module only puts them in a row.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench import features, files, keys, methods, tables
from shiftbench import settings as settings_module
from shiftbench.assessment import Options, build, squared
from shiftbench.errors import PartitionError, SettingsError, ShiftbenchWarning, TableError
from shiftbench.features import Features
from shiftbench.methods.targets import labels
from shiftbench.partition import Manifest, Partition, Rules, leakage, partition, read_manifest, write_manifest
from shiftbench.predictions import Predictions
from shiftbench.report.content import Report
from shiftbench.scored import Records, Role
from shiftbench.scored_table import cluster_codes, meet, slice_labels
from shiftbench.settings import Settings

SPLITS = {"dev": ("dev_in", "dev_out"), "eval": ("eval_in", "eval_out")}
EVALUATED = [name for names in SPLITS.values() for name in names]

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Outcome:
    """What a run left behind: its folder, its report, and the settings that repeat it."""

    folder: Path
    report: Report
    settings: Settings


def run(settings: Settings, folder: str | Path, *, cores: int = 1, progress: Progress | None = None) -> Outcome:
    """Partition, fit, predict and assess; everything is written below `folder`.

    An interrupted run goes on where it stopped; the same settings give the same numbers on any number of cores.

    Raises:
        ShiftbenchError: whatever is wrong with the table, the rules or the settings, all problems at once.
    """
    say = progress or (lambda stage, done, total: None)
    folder = Path(folder)
    say("read", 0, 1)
    data = prepare(settings)
    rules = rules_of({"seed": settings.seed, **settings.partition})
    settings = written_out(data.settings, rules)
    claim(settings, folder)
    say("partition", 0, 1)
    made = divide(data.frame, rules, folder / "partition", source=settings.table, clusters=settings.clusters)
    chosen, notes = choose_features(made.parts.frame("train"), settings, rules)
    judged = Judged.of(data.frame, made.parts)
    systems = [
        fit_and_predict(planned, made, chosen, judged, settings, folder, cores=cores, say=say)
        for planned in plan(settings)
    ]
    slices = settings.slices or tuple(
        dict.fromkeys(name for name in (rules.group, rules.time, "+".join(settings.clusters)) if name)
    )
    splits = [
        (
            judged.records(split, settings.clusters, slices),
            [judged.scored(split, system, settings) for system in systems],
        )
        for split, names in SPLITS.items()
        if any(made.parts.counts[name] for name in names)
    ]
    options = Options(
        title=f"{settings.target} · {Path(settings.table).name}",
        task=settings.task or "",
        rule=settings.assessment.rule,  # type: ignore[arg-type]
        intervals=settings.assessment.intervals(settings.seed, cores),
        **_units(settings),
        recipe=_recipe(data, made, chosen, systems, rules),
    )
    report = build(splits, options, progress=lambda done, total: say("assess", done, total))
    report = replace(report, warnings=(*data.notes, *made.notes, *notes, *report.warnings))
    return Outcome(folder, report, settings)


# --- the table ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Data:
    """The rows of a table that have a target, and the settings with task and table hash settled."""

    frame: pl.DataFrame
    settings: Settings
    rows_read: int
    notes: tuple[str, ...]


def prepare(settings: Settings) -> Data:
    """Read the table, settle the task, drop and count the rows without a target."""
    where = Path(settings.table).name
    digest = _table_hash(settings)
    frame = tables.read_table(settings.table)
    named = [settings.target, *settings.baselines, *settings.clusters]
    tables.require(frame, named, where=where)
    target = frame[settings.target]
    task = settings.task or ("regression" if target.dtype.is_numeric() else "classification")
    if task == "regression":
        missing = pl.Series(np.isnan(tables.numbers(frame, settings.target, where=where)))
    else:
        frame = frame.with_columns(labels(frame, settings.target, where=where))
        missing = frame[settings.target].is_null()
    kept = frame.filter(~missing)
    if not kept.height:
        found = f"none in {frame.height:,} rows"
        raise TableError(f"{where}: expected rows with a value in {settings.target!r}, found {found}.")
    notes: tuple[str, ...] = ()
    if dropped := frame.height - kept.height:
        notes = (f"{dropped:,} of {frame.height:,} rows have no {settings.target!r} and were left out",)
    return Data(kept, replace(settings, task=task, table_sha256=digest), frame.height, notes)


def _table_hash(settings: Settings) -> str:
    try:
        found = files.sha256(settings.table)
    except OSError as error:
        raise TableError(f"{settings.table}: expected a table, found none ({error.strerror}).") from None
    if settings.table_sha256 not in ("", found):
        raise SettingsError(
            f"{settings.table}: expected the table these settings were written for (sha256 "
            f"{settings.table_sha256[:12]}…), found another (sha256 {found[:12]}…). Take table_sha256 out of the "
            "settings to run on this one."
        )
    return found


def written_out(settings: Settings, rules: Rules) -> Settings:
    """The settings with every default of rules and method in them, so that a later version repeats the run."""
    planned = plan(settings)[0]
    own = methods.method(planned.method).load().Settings.from_dict({"task": settings.task, **planned.settings})
    values = {name: value for name, value in own.to_dict().items() if name != "task"}
    return replace(settings, partition=rules.to_settings(), method={"name": planned.method, **values})


def claim(settings: Settings, folder: Path) -> None:
    """Write the settings into the folder; refuse one that holds another run, whose files would be mixed with ours."""
    path = folder / "run.toml"
    if not path.exists():
        if folder.exists() and any(folder.iterdir()):
            raise SettingsError(
                f"{folder}: expected a new or empty folder, found one with files. Choose another --out."
            )
        settings_module.write(settings, path)
        return
    before, now = settings_module.read(path), settings_module.to_dict(settings)
    changed = sorted(name for name in {*before, *now} - {"table"} if before.get(name) != now.get(name))
    if changed:
        raise SettingsError(
            f"{folder}: expected a new folder or one of the same run, found a run whose settings differ in "
            f"{', '.join(changed)}. Choose another --out, or --overwrite."
        )


# --- partition and features -----------------------------------------------------------------------------------------


def rules_of(values: Mapping[str, Any]) -> Rules:
    """Partition rules from plain values, empty ones left out."""
    return Rules.from_settings({name: value for name, value in values.items() if value not in (None, (), {}, [])})


@dataclass(frozen=True)
class Divided:
    """A partition with its manifest, and what is to be known about it."""

    parts: Partition
    manifest: Manifest
    notes: tuple[str, ...]


def divide(
    frame: pl.DataFrame,
    rules: Rules,
    folder: Path,
    *,
    source: str | Path,
    clusters: Sequence[str] = (),
    write_parts: bool = False,
) -> Divided:
    """Partition the rows, and write manifest, leakage report and, if asked, the partitions' own tables."""
    parts = partition(frame, rules)
    found = leakage(frame, parts, rules, clusters=["+".join(clusters)] if clusters else [])
    if found.errors:
        raise PartitionError(*(finding.what for finding in found.errors))
    manifest = write_manifest(folder, parts, rules, source=source, leakage=found, frames=write_parts)
    notes = [*parts.warnings]
    notes += [finding.what for finding in found.findings if finding.severity == "warning"]
    return Divided(parts, manifest, tuple(notes))


def choose_features(train: pl.DataFrame, settings: Settings, rules: Rules) -> tuple[Features, tuple[str, ...]]:
    """The columns a model may see; refuses ones that give the target away unless the settings allow them."""
    roles = [part for name in rules.columns() for part in keys.parts(name, train.columns)] + list(settings.clusters)
    chosen = features.choose(train, target=settings.target, exclude=roles, drop=settings.drop, keep=settings.keep)
    task = settings.task or "regression"
    messages = tuple(
        f"column {leak.column!r} gives the target {settings.target!r} away: {leak.reason}. If it is not known when a "
        f"prediction is made, leave it out with --drop {leak.column}; if it is, go on with --allow-leaks."
        for leak in features.leaks(train, target=settings.target, features=chosen, task=task)
    )
    if messages and not settings.allow_leaks:
        raise TableError(*messages)
    return chosen, messages


# --- systems --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planned:
    """A system to be fitted: its name and role in the report, its method, and the method's own settings."""

    name: str
    method: str
    role: Role
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class System:
    """A fitted system and what it predicts for the evaluated records, in table order."""

    planned: Planned
    settings: Mapping[str, Any]
    about: str
    predicted: Predictions


def plan(settings: Settings) -> list[Planned]:
    """The method, then the constant baseline, then every column that is a forecast by itself."""
    own = {name: value for name, value in settings.method.items() if name != "name"}
    name = settings.method_name
    if methods.method(name).name == "boosting":
        own.setdefault("seed", settings.seed)
    constant = "majority" if settings.task == "classification" else "mean"
    planned = [Planned(name, name, "ensemble", own), Planned(constant, constant, "baseline", {})]
    planned += [Planned(column, "column", "baseline", {"column": column}) for column in settings.baselines]
    return list({entry.name: entry for entry in planned}.values())


def fit_and_predict(
    planned: Planned,
    made: Divided,
    chosen: Features,
    judged: Judged,
    settings: Settings,
    folder: Path,
    *,
    cores: int,
    say: Progress,
) -> System:
    """Fit a system (or find it fitted) and predict the evaluated records."""
    module = methods.method(planned.method).load()
    own = module.Settings.from_dict({"task": settings.task, **planned.settings})
    place = folder / "model" / planned.name
    say(f"fit {planned.name}", 0, 1)
    module.fit(
        made.parts.frame("train"),
        made.parts.frame("dev_in"),
        features=chosen,
        target=settings.target,
        settings=own,
        folder=place,
        cores=cores,
        progress=lambda done, total, _message: say(f"fit {planned.name}", done, total),
    )
    say(f"predict {planned.name}", 0, 1)
    ensemble = module.predict(judged.frame, folder=place, cores=cores)
    record = {
        "method": planned.method,
        "settings": own.to_dict(),
        "target": settings.target,
        "manifest": made.manifest.hash,
    }
    predicted = Predictions(judged.ids.to_numpy(), ensemble, record)
    predicted.save(folder / "predictions" / f"{planned.name}.parquet")
    return System(planned, own.to_dict(), module.about(judged.frame, folder=place), predicted)


@dataclass(frozen=True)
class Judged:
    """The records that are evaluated, in table order: rows, ids and the partition of each."""

    frame: pl.DataFrame
    ids: pl.Series
    partition: pl.Series

    @classmethod
    def of(cls, frame: pl.DataFrame, parts: Partition) -> Judged:
        """The evaluated records of a partitioned table."""
        kept = parts.assignment.is_in(EVALUATED).fill_null(False)
        return cls(frame.filter(kept), parts.ids.filter(kept), parts.assignment.filter(kept))

    def records(self, split: str, clusters: Sequence[str], slices: Sequence[str]) -> Records:
        """What all systems share on a split."""
        kept = self.partition.is_in(list(SPLITS[split]))
        rows = self.frame.filter(kept)
        shifted = (self.partition.filter(kept) == SPLITS[split][1]).to_numpy()
        return Records(rows.height, split, shifted, cluster_codes(rows, clusters), slice_labels(rows, slices))

    def scored(self, split: str, system: System, settings: Settings) -> Any:
        """A system's errors and uncertainties on a split."""
        kept = self.partition.is_in(list(SPLITS[split]))
        ensemble = system.predicted.ensemble.select(np.flatnonzero(kept.to_numpy()))
        targets = self.frame[settings.target].filter(kept)
        return meet(system.planned.name, ensemble, targets, role=system.planned.role, about=system.about)


def _units(settings: Settings) -> dict[str, Any]:
    if settings.task == "classification":
        return {"threshold": 0.5, "error_name": "classification error"}
    return {
        "threshold": settings.threshold,
        "target_unit": settings.unit,
        "error_unit": squared(settings.unit),
        "error_name": "squared error",
    }


def _recipe(data: Data, made: Divided, chosen: Features, systems: Sequence[System], rules: Rules) -> dict[str, Any]:
    settings = data.settings
    return {
        "table": Path(settings.table).name,
        "table_sha256": settings.table_sha256,
        "target": settings.target,
        "rows": {"read": data.rows_read, "without_target": data.rows_read - data.frame.height},
        "manifest": made.manifest.hash,
        "partition": {
            "rules": rules.to_settings(),
            "counts": dict(made.parts.counts),
            "unused": dict(made.parts.unused),
        },
        "features": {
            "used": [*chosen.numeric, *chosen.categorical, *chosen.dates],
            "left_out": dict(chosen.left_out),
        },
        "clusters": list(settings.clusters),
        "systems": {system.planned.name: {"method": system.planned.method, **system.settings} for system in systems},
        "seed": settings.seed,
    }


# --- the steps alone ------------------------------------------------------------------------------------------------


def fit_parts(
    settings: Settings,
    folder: Path,
    place: Path,
    *,
    cores: int,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> None:
    """Fit the settings' method to the train part of a folder that `divide` wrote with its parts; dev_in stops it.

    Raises:
        ShiftbenchError: no such folder, rows that all lack a target, columns that give it away, wrong settings.
    """
    say = progress or (lambda stage, done, total: None)
    manifest = read_manifest(folder)
    frames = [tables.read_table(folder / f"{name}.parquet") for name in ("train", "dev_in")]
    tables.require(frames[0], [settings.target, *settings.clusters], where=str(folder))
    target = frames[0][settings.target]
    task = settings.task or ("regression" if target.dtype.is_numeric() else "classification")
    settings = replace(settings, task=task)
    train, dev = (frame.filter(_has_target(frame[settings.target])) for frame in frames)
    chosen, notes = choose_features(train, settings, Rules.from_settings(manifest.rules))
    for note in notes:
        warnings.warn(ShiftbenchWarning(note), stacklevel=2)
    planned = plan(settings)[0]
    module = methods.method(planned.method).load()
    own = module.Settings.from_dict({"task": task, **planned.settings})
    module.fit(
        train, dev, features=chosen, target=settings.target, settings=own, folder=place, cores=cores,
        overwrite=overwrite, progress=lambda done, total, _message: say(f"fit {planned.name}", done, total),
    )  # fmt: skip


def _has_target(values: pl.Series) -> pl.Series:
    present = values.is_not_null()
    return present & values.is_not_nan() if values.dtype.is_float() else present


def predict_table(
    model: Path,
    table: Path,
    path: Path,
    *,
    id_column: str | None = None,
    cores: int = 1,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Predictions:
    """Predict every row of a table with a fitted method, and write the predictions file.

    Raises:
        ShiftbenchError: no fitted method in `model`, columns it needs are missing, ids that repeat, a file in the way.
    """
    say = progress or (lambda stage, done, total: None)
    if path.exists() and not overwrite:
        raise SettingsError(f"{path}: expected a new file, found one. Choose another --out, or --overwrite.")
    method = methods.fitted(model)
    frame = tables.read_table(table)
    column = id_column or ("id" if "id" in frame.columns else None)
    ids = tables.ids(frame, column, where=table.name)
    say(f"predict {method.name}", 0, 1)
    ensemble = method.load().predict(frame, folder=model, cores=cores)
    predicted = Predictions(ids.to_numpy(), ensemble, {"method": method.name, "table": table.name})
    predicted.save(path)
    return predicted
