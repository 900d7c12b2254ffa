"""The main job in a row: partition, fit, predict, assess; and what makes it repeatable."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shiftbench import settings as settings_module
from shiftbench import tables
from shiftbench.assessment import Options, build, squared
from shiftbench.errors import SettingsError, ShiftbenchError, TableError
from shiftbench.features import Features
from shiftbench.partition import PARTITIONS, Partition
from shiftbench.progress import Progress, silent
from shiftbench.report.content import Report
from shiftbench.run import given
from shiftbench.run.data import Data, prepare
from shiftbench.run.division import Divided, adopt, choose_features, divide, infinite
from shiftbench.run.judged import EVALUATED, Judged, hashes, test_sets
from shiftbench.run.leak import leaks
from shiftbench.run.systems import (
    System,
    chosen_methods,
    fit_and_predict,
    own_settings,
    plan,
)
from shiftbench.settings import Settings
from shiftbench.slicing import Slicing

RETOLD = {"title", "unit", "threshold", "slices", "assessment"}  # settings of the report alone


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
    say = progress or silent
    folder = Path(folder)
    say("read", 0, 1)
    data = prepare(settings)
    settings = replace(written_out(data.settings), test_sets_sha256=hashes(data.settings))
    new = not folder.exists()
    claim(settings, folder)
    say("partition", 0, 1)
    try:
        made = _divided(data, folder / "partition")
        train = made.parts.frame("train")
        chosen, notes = choose_features(train, settings, _roles(data))
        if problems := infinite(made.parts.table, made.parts.ids, made.parts.assignment.is_not_null(), chosen):
            raise TableError(*problems)
        further, lost = test_sets(settings, train, chosen)
    except ShiftbenchError:
        if new:  # a refused run leaves nothing behind
            shutil.rmtree(folder)
        raise
    id_column = data.rules.id if data.rules else made.manifest.rules.get("id")
    judged = [Judged.of(data.frame, made.parts, settings, id_column=id_column), *further]
    systems: dict[str, System] = {}
    for planned in plan(settings):
        systems[planned.place] = fit_and_predict(
            planned, made, chosen, judged, settings, folder, cores=cores, say=say, before=systems
        )
    report = _report(settings, data, judged, made, chosen, list(systems.values()), cores=cores, say=say)
    say("look for leaks", 0, 1)
    found = leaks(made.parts, settings.clusters, chosen, settings)
    warnings = (*data.notes, *made.notes, *notes, *lost, *_unseen(made.parts, settings), *report.warnings)
    report = replace(_cautioned(report, systems.values()), warnings=warnings, leaks=found)
    return Outcome(folder, report, settings)


def _cautioned(report: Report, systems: Iterable[System]) -> Report:
    """The report with what makes the scores of a system doubtful."""
    told = {system.planned.name: system.caution for system in systems}
    return replace(report, systems=tuple(replace(row, caution=told.get(row.name, "")) for row in report.systems))


def _roles(data: Data) -> tuple[str, ...]:
    """The columns with a role in the partition, and the ids: none of them is a feature."""
    if data.given is not None:
        return given.roles(data.given.manifest.rules, data.frame.columns)
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


def _report(
    settings: Settings, data: Data, judged: Sequence[Judged], made: Divided, chosen: Features,
    systems: Sequence[System], *, cores: int, say: Progress,
) -> Report:  # fmt: skip
    by_default = (*(made.manifest.rules.get(role) for role in ("group", "time")), "+".join(settings.clusters))
    slices = settings.slices or tuple(dict.fromkeys(name for name in by_default if isinstance(name, str) and name))
    labels = [*settings.clusters, *(str(made.manifest.rules.get(role)) for role in ("group", "by"))]
    slicing = Slicing.of(judged[0].frame, slices, labels=labels)
    splits = [
        (
            records.records(split, settings.clusters, slicing),
            [system.scored(records, split, settings.target) for system in systems],
        )
        for records in judged
        for split in records.splits
    ]
    options = Options(
        title=settings.title or f"{settings.target} · {Path(settings.table).name}",
        task=settings.task or "",
        rule=settings.assessment.rule,  # type: ignore[arg-type]
        intervals=settings.assessment.intervals(settings.seed, cores),
        **_units(settings),
        recipe=_recipe(data, settings, made, chosen, systems),
    )
    report = build(splits, options, progress=lambda done, total: say("assess", done, total))
    notes = (*slicing.notes, *slicing.only_in(made.parts.frame("train")))
    return replace(report, warnings=(*notes, *report.warnings))


def written_out(settings: Settings) -> Settings:
    """The settings with every default of the methods in them, so that a later version repeats the run."""
    entries = []
    for planned, entry in zip(plan(settings), chosen_methods(settings), strict=False):
        own = own_settings(planned, settings).to_dict()
        if "of" in own:
            own["of"] = entry["of"]
        left = {"task", "classes", *({"clusters"} - planned.settings.keys())}  # these follow from the partition
        values = {name: value for name, value in own.items() if name not in left}
        entries.append({"name": planned.method, "title": planned.name, **values})
    return replace(settings, preset="", members=None, methods=tuple(entries))


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
    names = {*before, *now} - {"table", "test_sets"} - RETOLD
    changed = sorted(name.removesuffix("_sha256") for name in names if before.get(name) != now.get(name))
    if not changed:  # what is learnt stays; only its report is made anew
        settings_module.write(settings, path)
    else:
        raise SettingsError(
            f"{folder}: expected a new folder or one of the same run, found a run whose settings differ in "
            f"{', '.join(changed)}. Choose another --out, or --overwrite."
        )


def _units(settings: Settings) -> dict[str, Any]:
    if settings.task == "classification":
        return {"threshold": 0.5, "error_name": "classification error"}
    return {
        "threshold": settings.threshold,
        "target_unit": settings.unit,
        "error_unit": squared(settings.unit),
        "error_name": "squared error",
    }


def _recipe(
    data: Data, settings: Settings, made: Divided, chosen: Features, systems: Sequence[System]
) -> dict[str, Any]:
    return {
        **({"track": dict(settings.track)} if settings.track else {}),
        "table": Path(settings.table).name,
        "table_sha256": settings.table_sha256,
        **({"test_sets": dict(settings.test_sets_sha256)} if settings.test_sets else {}),
        "target": settings.target,
        "rows": {"read": data.rows_read, "without_target": data.rows_read - data.frame.height},
        "manifest": made.manifest.hash,
        "partition": {
            "rules": dict(made.manifest.rules),
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
