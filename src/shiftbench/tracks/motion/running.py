"""A run of the motion track: methods learn from train, every system answers, and each error has its reports."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from shiftbench import files
from shiftbench.assessment import build
from shiftbench.errors import SettingsError, ShiftbenchError, TableError
from shiftbench.partition.settings import SPLITS
from shiftbench.progress import Progress, silent
from shiftbench.report.content import Report
from shiftbench.report.picture import Picture
from shiftbench.scored import Records, Scored
from shiftbench.settings import Assessment
from shiftbench.track import Prepared, Result, RunOptions, Task
from shiftbench.tracks.motion import schema
from shiftbench.tracks.motion.baselines import presets
from shiftbench.tracks.motion.baselines.answers import Answered
from shiftbench.tracks.motion.baselines.systems import Answers, Asked, Fitted, fitted
from shiftbench.tracks.motion.picture.galleries import galleries
from shiftbench.tracks.motion.prepared.live import LiveStore
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.motion.submissions import scoring
from shiftbench.tracks.motion.submissions.submission import write_submission
from shiftbench.tracks.motion.submissions.truth import Truth, truth_of_requests

CLAIM = "run.json"
PLANNING = "every number of members and aggregation"


@dataclass(frozen=True)
class _Judged:
    """Requests of a split, or of a test set, with what came true and where to write submissions."""

    asked: Asked
    truth: Truth


@dataclass(frozen=True)
class _Setting:
    """What the reports of a run share."""

    prepared: Prepared
    task: Task
    chosen: RunOptions
    store: Store
    folder: Path
    fits: tuple[Fitted, ...]
    cores: int
    say: Progress

    def answers(self, asked: Asked) -> Answers:
        return Answers(self.fits, asked, self.folder / "plans", cores=self.cores, say=self.say)


def run(
    prepared: Prepared, tasks: Sequence[Task], options: RunOptions, *, folder: Path, cores: int,
    progress: Progress | None,
) -> list[Result]:  # fmt: skip
    """Fit the methods of the preset, answer for every evaluated request, and assess by the error of each task.

    `folder` gets `model/`, `plans/` (predictions, so that the second error costs no second one) and
    `submissions/` (every system's answers in the official form).

    Raises:
        ShiftbenchError: whatever is wrong with the data, the settings or a test set.
    """
    return [
        result
        for task in tasks
        for result in _run_task(prepared, task, options, folder=folder, cores=cores, say=progress or silent)
    ]


def _run_task(
    prepared: Prepared, task: Task, chosen: RunOptions, *, folder: Path, cores: int, say: Progress
) -> list[Result]:
    store = Store.open(prepared.folder)
    entries = presets.methods(chosen.preset, chosen=chosen.methods, members=chosen.members, seed=chosen.seed)
    judged = [*_splits(store), *_test_sets(chosen.test_sets, store)]
    train, dev = (_part(store, name) for name in ("train", "dev_in"))
    _claim(folder, entries)
    fits = tuple(fitted(entries, (train, dev), folder / "model", cores=cores, say=say))
    setting = _Setting(prepared, task, chosen, store, folder, fits, cores, say)
    results = [_main(setting, judged)]
    if any(fit.method != presets.VECTOR for fit in fits):
        results.append(Result(f"{task.name}-planning", _planning_report(setting, judged), printed=False))
    return results


def _claim(folder: Path, entries: Sequence[Mapping[str, Any]]) -> None:
    """Write which methods the run has; refuse a folder of a run with others, whose reports would be mixed with ours."""
    path, own = folder / CLAIM, json.loads(json.dumps(list(entries)))
    if path.exists():
        before = [str(entry.get("title")) for entry in _claimed(path)]
        if _claimed(path) != own:
            raise SettingsError(
                f"{folder}: expected a new folder or one of the same run, found a run of {', '.join(before)} with "
                "other methods or settings. Choose another --out, or --overwrite."
            )
    files.write_json(path, own)


def _claimed(path: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: expected what an earlier run noted, found: {error}. Use --overwrite.") from None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


# --- requests ---------------------------------------------------------------------------------------------------------


def _part(store: Store, name: str) -> Store:
    found = store.select((store.requests["partition"] == name).to_numpy())
    if not len(found):
        others = ", ".join(store.requests["partition"].unique(maintain_order=True)) or "none at all"
        raise TableError(
            f"expected requests of {name} to learn from, found those of {others} alone. A run needs train and dev_in: "
            "name data that have them."
        )
    return found


def _splits(store: Store) -> Iterator[_Judged]:
    """The evaluated requests of each split that has any."""
    for split, names in SPLITS.items():
        kept = store.requests["partition"].is_in(list(names)).to_numpy()
        if kept.any():
            part = store.select(kept)
            yield _Judged(
                Asked(split, part, f"{store.manifest['requests']['sha256']} {split}"),
                truth_of_requests(part.requests, part.targets),
            )


def _test_sets(sets: Mapping[str, str], store: Store) -> Iterator[_Judged]:
    """Folders of further scenes, each to be scored on as a whole, drawn as those of the run."""
    for name, path in sets.items():
        live = LiveStore.of(Path(path), store.map_settings)
        yield _Judged(Asked(name, live, live.key), truth_of_requests(live.requests, live.targets))


# --- reports ----------------------------------------------------------------------------------------------------------


def _main(setting: _Setting, judged: Sequence[_Judged]) -> Result:
    """The main report, with pictures of evaluated requests."""
    splits, recipes, pictures = [], dict[str, Any](), list[Picture]()
    notes: list[str] = []
    for each in judged:
        systems = list(setting.answers(each.asked).main())
        recipes |= {system.name: dict(system.recipe) for system in systems}
        _write_submissions(systems, each, setting.folder)
        scored = _split(systems, each, setting.task.name)
        splits.append(scored)
        if each.asked.name != "dev":  # what one looks at is what was held back to the end
            try:
                pictures += _pictures(systems, scored[1], each, setting.task)
            except ShiftbenchError as error:
                notes.append(f"{each.asked.name}: no pictures of requests: {error}")
    assessment = setting.chosen.assessment(Assessment())
    options = scoring.options(
        setting.task.name,
        title=f"Motion, {setting.task.title}: {setting.prepared.origin}",
        task=setting.task.name,
        rule=assessment.rule,
        intervals=assessment.intervals(setting.chosen.seed, setting.cores),
        recipe=_recipe(setting, judged, recipes),
    )
    report = build(splits, options, progress=partial(setting.say, f"assess {setting.task.title}"))
    report = replace(report, warnings=(*setting.prepared.notes, *notes, *report.warnings))
    return Result(setting.task.name, report, tuple(pictures))


def _pictures(systems: Sequence[Answered], scored: Sequence[Scored], judged: _Judged, task: Task) -> list[Picture]:
    """Requests to look at: of each method's largest ensemble, those with the largest errors and those it was least sure
    of."""
    own = [each for each in systems if each.role != "baseline" and each.recipe["ensemble"] != "dropout"]
    largest = {each.recipe["method"]: each.name for each in own}  # single models come before their ensembles
    shown = [
        (system.name, system.submission(judged.truth), errors.errors)
        for system, errors in zip(systems, scored, strict=True)
        if system.name in largest.values()
    ]
    unit = (task.title, task.unit)
    return galleries(judged.asked.requests.scene, shown, error=unit, split=judged.asked.name)


def _planning_report(setting: _Setting, judged: Sequence[_Judged]) -> Report:
    """One report of very many systems: each assessed alone, since nobody reads thousands of pairs."""
    assessment, name = setting.chosen.assessment(Assessment()), setting.task.name
    title = f"Motion, {setting.task.title}, {PLANNING}: {setting.prepared.origin}"
    parts, recipes = [], dict[str, Any]()
    for each in judged:
        for system in setting.answers(each.asked).every():
            recipes[system.name] = dict(system.recipe)
            options = scoring.options(
                name, title=title, task=name, rule=assessment.rule,
                intervals=replace(assessment.intervals(setting.chosen.seed, setting.cores), kind="normal"),
                recipe=_recipe(setting, judged, {}),
            )  # fmt: skip
            parts.append(build([_split([system], each, name)], options))
            setting.say(f"assess {setting.task.title}, {PLANNING}", len(parts), len(parts))
    return _together(parts, recipes)


def _split(systems: Iterable[Answered], judged: _Judged, error: str) -> tuple[Records, list[Scored]]:
    found = [system.scored(judged.truth, error=error, split=judged.asked.name) for system in systems]
    return found[0][0], [scored for _, scored in found]


def _together(parts: Sequence[Report], recipes: Mapping[str, Any]) -> Report:
    """Reports of single systems as one, without what is drawn of each."""
    first = parts[0]
    named = {system.name: system for part in parts for system in part.systems}
    return replace(
        first,
        systems=tuple(named.values()),
        counts=tuple(dict.fromkeys(count for part in parts for count in part.counts)),
        scores=tuple(score for part in parts for score in part.scores),
        curves=(),
        slices=(),
        parts=(),
        warnings=tuple(dict.fromkeys(warning for part in parts for warning in part.warnings)),
        recipe={**first.recipe, "systems": dict(recipes)},
    )


def _recipe(setting: _Setting, judged: Sequence[_Judged], systems: Mapping[str, Any]) -> dict[str, Any]:
    manifest, chosen = setting.store.manifest, setting.chosen
    whole = len(setting.fits) == len(presets.METHODS)
    further = {
        each.asked.name: {"requests": len(each.truth), "sha256": each.asked.key, "clusters": each.truth.resampled}
        for each in judged
        if each.asked.name not in SPLITS
    }
    return {
        "track": {
            "name": schema.TRACK,
            "origin": setting.prepared.origin,
            "experiment": manifest["begun"]["experiment"],
            "preset": chosen.preset_of(whole),
        },
        "manifest": manifest["requests"]["sha256"],
        "partition": {"counts": dict(setting.prepared.counts), "unused": dict(setting.prepared.unused)},
        "tags": manifest["tags"],
        "maps": manifest["settings"],
        "clusters": sorted({each.truth.resampled for each in judged}),
        **({"test_sets": further} if further else {}),
        "systems": dict(systems),
        "seed": chosen.seed,
    }


def _write_submissions(systems: Sequence[Answered], judged: _Judged, folder: Path) -> None:
    for system in systems:
        place = folder / "submissions" / judged.asked.name / f"{files.name_of(system.name)}.pb"
        place.parent.mkdir(parents=True, exist_ok=True)
        write_submission(system.submission(judged.truth), place)
