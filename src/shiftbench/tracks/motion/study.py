"""A run on prepared scenes: methods learn from train, predict every evaluated request once, and become systems."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from shiftbench import measures, methods
from shiftbench.assessment.assess import Options
from shiftbench.assessment.scored import Records, Scored
from shiftbench.ensembles import Mixture, Trajectories
from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.io import files
from shiftbench.methods import ensemble_files, fitted_folder, parts
from shiftbench.partition.settings import SPLITS
from shiftbench.pipeline import cost, study
from shiftbench.pipeline.settings import Assessment
from shiftbench.pipeline.study import EvaluationSet, Fitted, Planned, Result, Selection, Study
from shiftbench.progress import Progress, of_stage
from shiftbench.report.content import Report
from shiftbench.report.picture import Picture
from shiftbench.scores.score import Cost, Role
from shiftbench.track import Prepared, RunOptions, Task
from shiftbench.tracks.motion import schema
from shiftbench.tracks.motion.baselines import presets
from shiftbench.tracks.motion.baselines.answers import Prediction, constant_velocity, planned
from shiftbench.tracks.motion.baselines.presets import VECTOR, Ensemble, Planner, every_planner, planners
from shiftbench.tracks.motion.picture.gallery import galleries
from shiftbench.tracks.motion.prepared.live import LiveStore
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.motion.submissions import scoring
from shiftbench.tracks.motion.submissions.submission import write_submission
from shiftbench.tracks.motion.submissions.truth import Truth, truth_of_requests

MAIN = Selection()
PLANNING = Selection("planning", compared=False)
PLANNING_TITLE = "every number of members and aggregation"
ENSEMBLES = {
    "single": "one network",
    "deep": "{members} networks",
    "dropout": "{members} networks, each under masks of dropout",
    "mc_dropout": "{members} masks of dropout of one network",
}


@dataclass(frozen=True)
class Requests(EvaluationSet[Prediction]):
    """Requests of one split, or of a test set, with their ground truth; `key` tells them from any others."""

    splits: tuple[str]
    requests: Store | LiveStore
    key: str
    truth: Truth

    @property
    def name(self) -> str:
        """The split, or the test set."""
        return self.splits[0]

    def score(
        self, systems: Sequence[Prediction], split: str, tasks: Sequence[str]
    ) -> Mapping[str, tuple[Records, list[Scored]]]:
        """Errors and uncertainty of systems by the error of each task."""
        found = [system.scored(self.truth, errors=tasks) for system in systems]
        records = scoring.records(self.truth, split)
        return {task: (records, [scored[task] for scored in found]) for task in tasks}

    def write(self, system: Prediction, folder: Path) -> None:
        """Write a submission in the official form."""
        place = folder / "submissions" / self.name / f"{files.name_of(system.name)}.pb"
        place.parent.mkdir(parents=True, exist_ok=True)
        write_submission(system.submission(self.truth), place)


def run(
    prepared: Prepared, tasks: Sequence[Task], options: RunOptions, *, folder: Path, cores: int,
    progress: Progress | None,
) -> list[Result]:  # fmt: skip
    """Fit the methods of the preset, predict every evaluated request, and assess by the error of each task.

    `folder` gets `model/`, `plans/` (predictions, kept so that an interrupted run does not repeat them) and
    `submissions/` (the answers of every system in the official form).

    Raises:
        ShiftbenchError: whatever is wrong with the data, the settings or a test set.
    """
    found = MotionStudy.open(prepared, tasks, options)
    return study.run(found, folder, cores=cores, progress=progress)


@dataclass(frozen=True)
class MotionStudy(Study[Prediction, Requests]):
    """Prepared scenes with the methods of a preset (see `pipeline.study.Study`)."""

    prepared: Prepared
    judged_by: Mapping[str, Task]
    chosen: RunOptions
    store: Store
    parts: tuple[Store, Store]
    tasks: Mapping[str, str]
    planned: Sequence[Planned]
    evaluation_sets: Sequence[Requests]
    selections: Sequence[Selection]

    @classmethod
    def open(cls, prepared: Prepared, tasks: Sequence[Task], options: RunOptions) -> MotionStudy:
        """Open the scenes.

        Raises:
            ShiftbenchError: for invalid data, settings or test sets.
        """
        store = Store.open(prepared.folder)
        entries = presets.methods(options.preset, chosen=options.methods, members=options.members, seed=options.seed)
        evaluated = [*_splits(store), *_test_sets(options.test_sets, store)]
        parts = (_part(store, "train"), _part(store, "dev_in"))
        planned = [Planned(str(own.pop("title")), str(own.pop("name")), "ensemble", own) for own in map(dict, entries)]
        plans = any(each.method != VECTOR for each in planned)
        return cls(
            prepared, {task.name: task for task in tasks}, options, store, parts,
            tasks={task.name: task.title for task in tasks}, planned=planned, evaluation_sets=evaluated,
            selections=(MAIN, PLANNING) if plans else (MAIN,),
        )  # fmt: skip

    def fit(self, planned: Planned, folder: Path, *, cores: int, progress: Progress) -> Fitted:
        """Fit a network's members to train, stopped by dev_in."""
        settings = methods.method(planned.method).Settings.from_dict(planned.settings)
        evaluated = self.evaluation_sets[0].requests
        return study.fitted(planned, settings, *self.parts, folder, evaluated=evaluated, cores=cores, progress=progress)

    def systems(
        self, fitted: Sequence[Fitted], records: Requests, selection: Selection, *, folder: Path, cores: int,
        progress: Progress,
    ) -> Iterator[Prediction]:  # fmt: skip
        """What is made of each method's plans or mixtures, and in the main report the baseline without a model."""
        predict = partial(_predicted, records=records, plans=folder / "plans", cores=cores, progress=progress)
        for each in fitted:
            method, title = each.planned.method, each.planned.name
            members = int(each.settings["members"])
            if method == VECTOR:
                if selection == MAIN:
                    yield _mixture(each, predict(each, "deep"))
                continue
            chosen = planners if selection == MAIN else every_planner
            for ensemble, group in groupby(chosen(method, title, members), attrgetter("ensemble")):
                plans = predict(each, ensemble)  # gigabytes for the official requests: read once for all systems
                assert isinstance(plans, Trajectories)
                for planner in group:
                    yield _chosen(plans, planner, each.settings)
        if selection == MAIN:
            yield constant_velocity(records.requests)

    def cost(self, system: Prediction, records: Requests, fitted: Sequence[Fitted]) -> Cost | None:
        """That of the method's ensemble; of one network of several, fits and predictions made together are unknown."""
        ensemble = str(system.recipe.get("ensemble"))
        known = [each for each in fitted if each.planned.method == system.recipe.get("method")]
        together = bool(known) and int(known[0].settings["members"]) > 1
        if not known or (ensemble == "single" and together):
            return None
        kind = "deep" if ensemble == "single" else ensemble
        found = cost.of_system(system.name, known[0].folder, _predicting(kind, records))
        if found is None or not (ensemble == "mc_dropout" and together):
            return found
        return replace(found, fit_seconds=None, fit_cpu_seconds=None, fit_bytes=None, fit_added=None)

    def options(self, task: str, selection: Selection, recipes: Mapping[str, Any], *, cores: int) -> Options:
        """Title, threshold, intervals and recipe."""
        assessment = self.chosen.assessment(Assessment())
        intervals = assessment.intervals(self.chosen.seed, cores)
        name = self.judged_by[task].title if selection == MAIN else f"{self.judged_by[task].title}, {PLANNING_TITLE}"
        return scoring.options(
            task,
            title=f"Motion, {name}: {self.prepared.origin}",
            task=task,
            rule=assessment.rule,
            intervals=intervals if selection == MAIN else replace(intervals, kind="normal"),
            recipe=self._recipe(recipes),
        )

    def pictures(
        self, systems: Sequence[Prediction], scored: Sequence[Scored], records: Requests, task: str
    ) -> tuple[list[Picture], list[str]]:
        """Requests to look at, of evaluation alone: of each method's largest ensemble, those with the largest errors
        and those it was least sure of."""
        if records.name == "dev":
            return [], []
        own = [each for each in systems if each.role != "baseline" and "dropout" not in each.recipe["ensemble"]]
        largest = {each.recipe["method"]: each.name for each in own}  # single models come before their ensembles
        shown = [
            (system.name, system.submission(records.truth), errors.errors)
            for system, errors in zip(systems, scored, strict=True)
            if system.name in largest.values()
        ]
        unit = (self.judged_by[task].title, self.judged_by[task].unit)
        try:
            return galleries(records.requests.scene, shown, error=unit, split=records.name), []
        except ShiftbenchError as error:
            return [], [f"{records.name}: no pictures of requests: {error}"]

    def finished(self, report: Report, _task: str) -> Report:
        """The report with the notes on the data."""
        return replace(report, warnings=(*self.prepared.notes, *report.warnings))

    def _recipe(self, systems: Mapping[str, Any]) -> dict[str, Any]:
        manifest = self.store.manifest
        further = {
            each.name: {"requests": len(each.truth), "sha256": each.key, "clusters": each.truth.resampled}
            for each in self.evaluation_sets
            if each.name not in SPLITS
        }
        return {
            "track": {
                "name": schema.TRACK,
                "origin": self.prepared.origin,
                "experiment": manifest["begun"]["experiment"],
                "preset": self.chosen.preset_of(len(self.planned) == len(presets.METHODS)),
            },
            "manifest": manifest["requests"]["sha256"],
            "partition": {"counts": dict(self.prepared.counts), "unused": dict(self.prepared.unused)},
            "tags": manifest["tags"],
            "maps": manifest["settings"],
            "clusters": sorted({each.truth.resampled for each in self.evaluation_sets}),
            **({"test_sets": further} if further else {}),
            "systems": dict(systems),
            "seed": self.chosen.seed,
        }


# --- data -------------------------------------------------------------------------------------------------------------


def _part(store: Store, name: str) -> Store:
    found = store.select((store.requests["partition"] == name).to_numpy())
    if not len(found):
        others = ", ".join(store.requests["partition"].unique(maintain_order=True)) or "no partition"
        raise TableError(
            f"expected requests of {name} to learn from, found those of {others} alone. A run needs train and dev_in: "
            "name data that have them."
        )
    return found


def _splits(store: Store) -> Iterator[Requests]:
    """The evaluated requests of each split that has any."""
    for split, names in SPLITS.items():
        kept = store.requests["partition"].is_in(list(names)).to_numpy()
        if kept.any():
            part = store.select(kept)
            key = f"{store.manifest['requests']['sha256']} {split}"
            yield Requests((split,), part, key, truth_of_requests(part.requests, part.targets))


def _test_sets(sets: Mapping[str, str], store: Store) -> Iterator[Requests]:
    """Folders of further scenes, each scored as a whole, drawn like those of the run."""
    for name, path in sets.items():
        live = LiveStore.of(Path(path), store.map_settings)
        yield Requests((name,), live, live.key, truth_of_requests(live.requests, live.targets))


# --- predictions and systems ------------------------------------------------------------------------------------------


def _predicted(
    fitted: Fitted, ensemble: Ensemble, *, records: Requests, plans: Path, cores: int, progress: Progress
) -> Trajectories | Mixture:
    """What a method predicts for requests, kept in the folder `plans`."""
    method = fitted.planned.method
    known = {"fit": fitted_folder.read(fitted.folder), "requests": records.key, "ensemble": ensemble}
    key = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
    stage = f"predict {fitted.planned.name}, {ensemble}, {records.name}"

    def measured() -> Any:
        with cost.kept(fitted.folder, _predicting(ensemble, records), records=len(records.requests)):
            return make()

    make = partial(
        parts.predicted, methods.method(method), records.requests, folder=fitted.folder, cores=cores,
        place=fitted.folder, ensemble=ensemble, progress=of_stage(progress, stage),
    )  # fmt: skip
    found: Trajectories | Mixture = ensemble_files.kept(
        plans / f"{method}-{ensemble}-{records.name}.npz", key, measured
    )
    return found


def _predicting(ensemble: str, records: Requests) -> str:
    """The stage of predicting requests with one of a method's ensembles."""
    return f"predict {ensemble}, {records.name}"


def _mixture(fitted: Fitted, predicted: Trajectories | Mixture) -> Prediction:
    assert isinstance(predicted, Mixture)
    merged = predicted.merged()
    trajectories, weights = merged.trajectories[0], merged.weights[0]
    recipe = {**fitted.settings, "method": VECTOR, "ensemble": "deep", "modes": trajectories.shape[1]}
    about = (
        f"{predicted.members} networks of {predicted.weights.shape[2]} modes as one mixture; uncertain where they do "
        "not expect one another's modes"
    )
    measured = {name: measures.uncertainty(predicted, name) for name in measures.measures_for(predicted)}
    headline = measures.headline(predicted)
    return Prediction(
        fitted.planned.name,
        "ensemble",
        recipe,
        trajectories,
        weights,
        measured.pop(headline),
        about,
        headline,
        measured,
    )


def _members(recipe: Mapping[str, Any]) -> str:
    """What the members are: “5 networks”, “1 network under masks of dropout”."""
    text = ENSEMBLES[recipe["ensemble"]].format(**recipe)
    return re.sub(r"^1 (network|mask)s(, each)?", r"1 \1", text)


def _chosen(plans: Trajectories, planner: Planner, settings: Mapping[str, Any]) -> Prediction:
    each = plans.plans_per_member
    made = planned(plans, planner.settings(each))
    recipe = planner.recipe(settings, each)
    role: Role = "model" if planner.alone else "ensemble"
    about = (
        f"{_members(recipe)}, {each} plans each; keeps the {recipe['modes']} with the "
        f"highest {recipe['aggregation']} of log-likelihoods; the uncertainty is minus the same of these"
    )
    return Prediction(planner.name, role, recipe, *made, about=about, measure="plan_nll")
