"""The main job in a row: partition, fit, predict, assess; and what makes it repeatable."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shiftbench import methods
from shiftbench import settings as settings_module
from shiftbench.assessment import Options, build, squared
from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.features import Features
from shiftbench.partition import Rules
from shiftbench.report.content import Report
from shiftbench.run.data import Data, prepare
from shiftbench.run.division import Divided, choose_features, divide, rules_of
from shiftbench.run.systems import SPLITS, Judged, Progress, System, fit_and_predict, plan
from shiftbench.settings import Settings

RETOLD = {"unit", "threshold", "slices", "assessment"}  # settings of the report alone


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
    new = not folder.exists()
    claim(settings, folder)
    say("partition", 0, 1)
    try:
        made = divide(data.frame, rules, folder / "partition", source=settings.table, clusters=settings.clusters)
        chosen, notes = choose_features(made.parts.frame("train"), settings, rules)
    except ShiftbenchError:
        if new:  # a refused run leaves nothing behind
            shutil.rmtree(folder)
        raise
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
    if not set(changed) - RETOLD:  # what is learnt stays; only its report is made anew
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
