"""A run on prepared sentences: models learn from train, translate every evaluated sentence once, and become systems."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from shiftbench import methods
from shiftbench.assessment.assess import Options
from shiftbench.assessment.scored import Records, Scored, Singles
from shiftbench.ensembles.ensemble import Index
from shiftbench.errors import SettingsError, TableError, UnknownNameError
from shiftbench.methods import fitted_folder
from shiftbench.partition.settings import SPLITS
from shiftbench.pipeline import cost, study
from shiftbench.pipeline.settings import Assessment
from shiftbench.pipeline.study import EvaluationSet, Fitted, Planned, Result, Selection, Study
from shiftbench.progress import Progress
from shiftbench.report.content import Report
from shiftbench.report.picture import Picture
from shiftbench.scores.retention import checked_rule
from shiftbench.scores.score import Cost, System
from shiftbench.track import Prepared, RunOptions, Task
from shiftbench.tracks.translation import assessing, prediction, schema, scoring
from shiftbench.tracks.translation.evaluation import Evaluation
from shiftbench.tracks.translation.outputs import Outputs
from shiftbench.tracks.translation.prediction import Place
from shiftbench.tracks.translation.scoring import Judged
from shiftbench.tracks.translation.sentences import SentencePairs

FOLDER = "predictions"
SETTINGS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "quick": (
        {
            "name": "transformer", "title": "Transformer", "members": 2, "width": 96, "heads": 4, "feed_forward": 256,
            "encoder_layers": 2, "decoder_layers": 2, "norm_first": True, "share_all": True, "learning_rate": 3e-3,
            "warmup": 100, "steps": 1000, "batch_tokens": 1024, "batches": 1, "validate_every": 200, "patience": 3,
            "longest": 256, "most_tokens": 100, "tokens_per_source": 2.0, "clip": 1.0,
        },
    ),
    "paper": ({"name": "transformer", "title": "Transformer-Big"},),
}  # fmt: skip
"""Preset → its methods, with the settings that are not the default: "paper" as published needs eight GPUs for days."""
MARIAN = "marian"  # the method of models that a user has: a preset of its own, and beside the methods of any other
PRESETS = {preset: tuple(str(entry["name"]) for entry in entries) for preset, entries in SETTINGS.items()}
PRESETS |= {MARIAN: (MARIAN,)}


@dataclass(frozen=True)
class Translated:
    """The outputs of a system for the sentences of a split, and those of each member alone."""

    name: str
    recipe: Mapping[str, Any]
    about: str
    found: Outputs
    singles: tuple[Outputs, ...] = ()


@dataclass(frozen=True)
class Sentences(EvaluationSet[Translated]):
    """The evaluated sentences of a split."""

    splits: tuple[str]
    held: Evaluation
    rows: Index

    @cached_property
    def truth(self) -> Outputs:
        """The sentences of the split."""
        return self.held.sentences.select(self.rows)

    def score(
        self, systems: Sequence[Translated], split: str, tasks: Sequence[str]
    ) -> Mapping[str, tuple[Records, list[Scored]]]:
        """Errors and uncertainty of systems by the error of each task."""
        records = self.held.records(split, self.rows)
        judged = [[self._judged(each) for each in (system.found, *system.singles)] for system in systems]
        return {
            task: (records, [_scored(system, *own, task=task) for system, own in zip(systems, judged, strict=True)])
            for task in tasks
        }

    def _judged(self, found: Outputs) -> Judged:
        return Judged(replace(found, sources=self.truth.sources, references=self.truth.references))

    def write(self, system: Translated, folder: Path) -> None:
        """Nothing: outputs were written when they were made."""


def _scored(system: Translated, whole: Judged, *singles: Judged, task: str) -> Scored:
    found = scoring.scored(System(system.name, "ensemble", about=system.about), whole, task)
    if not singles:
        return found
    alone = System(f"{system.name} (single)", "single")
    first = scoring.scored(alone, singles[0], task)
    every = Singles(first.system, len(singles), lambda k: scoring.scored(alone, singles[k], task))
    return replace(found, singles=every)


def run(
    prepared: Prepared, tasks: Sequence[Task], options: RunOptions, *, folder: Path, cores: int,
    progress: Progress | None, marian: Sequence[Path] = (),
) -> list[Result]:  # fmt: skip
    """Fit the methods of the preset, translate every evaluated sentence, and assess by the error of each task.

    `folder` gets `model/`, and in `predictions/` the stored outputs of every system for each split. marian: folders of
    models of the Marian form, the members of one more system, which is not trained.

    Raises:
        ShiftbenchError: for invalid data or settings.
    """
    opened = TranslationStudy.open(prepared, tasks, options, marian)
    return study.run(opened, folder, cores=cores, progress=progress)


@dataclass(frozen=True)
class TranslationStudy(Study[Translated, Sentences]):
    """Prepared sentences with the methods of a preset (see `pipeline.study.Study`)."""

    prepared: Prepared
    chosen: RunOptions
    judged_by: Mapping[str, Task]
    parts: tuple[SentencePairs, SentencePairs]
    tasks: Mapping[str, str]
    planned: Sequence[Planned]
    evaluation_sets: Sequence[Sentences]

    @classmethod
    def open(
        cls, prepared: Prepared, tasks: Sequence[Task], options: RunOptions, marian: Sequence[Path] = ()
    ) -> TranslationStudy:
        """Open the sentences.

        Raises:
            ShiftbenchError: for invalid data or settings.
        """
        own = {task.name: task for task in tasks if task.name != scoring.GIVEN}
        if not own:
            raise SettingsError(
                f"{scoring.GIVEN}: expected an error of translations, found that of files which have their own. Use "
                "`shiftbench assess` for these, or choose another task."
            )
        planned = entries(options, marian)
        if not prepared.counts.get("train"):
            raise TableError(
                f"{prepared.folder}: expected pairs of train to learn from, found none. To score outputs that you "
                "have, use `shiftbench assess`."
            )
        train, dev = (SentencePairs.of(prepared.folder, part) for part in ("train", "dev_in"))
        held = Evaluation.open(prepared.folder)
        sets = [Sentences((split,), held, rows) for split, rows in held.splits().items()]
        titles = {name: task.title for name, task in own.items()}
        return cls(prepared, options, own, (train, dev), titles, planned, sets)

    def fit(self, planned: Planned, folder: Path, *, cores: int, progress: Progress) -> Fitted:
        """Fit models to train, the best by dev_in."""
        settings = methods.method(planned.method).Settings.from_dict(planned.settings)
        return study.fitted(
            planned, settings, *self.parts, folder, evaluated=self.parts[1], cores=cores, progress=progress
        )

    def systems(
        self, fitted: Sequence[Fitted], records: Sentences, _selection: Selection, *, folder: Path, cores: int,
        progress: Progress,
    ) -> Iterator[Translated]:  # fmt: skip
        """The ensemble of each method, with its members alone."""
        split = records.splits[0]
        for each in fitted:
            name, members = each.planned.name, int(each.settings["members"])
            decoder = _Decoder(self.prepared.folder, each, records, folder / FOLDER / split, cores, progress)
            singles = tuple(decoder.outputs(k) for k in range(members)) if members > 1 else ()
            recipe = {**each.settings, "method": each.planned.method}
            yield Translated(name, recipe, each.about, decoder.outputs(), singles)

    def cost(self, system: Translated, records: Sentences, fitted: Sequence[Fitted]) -> Cost | None:
        """What it took to fit the ensemble and to let it translate."""
        folder = next(each.folder for each in fitted if each.planned.name == system.name)
        return cost.of_system(system.name, folder, _predicting(records))

    def options(self, task: str, _selection: Selection, recipes: Mapping[str, Any], *, cores: int) -> Options:
        """Title, threshold, intervals and recipe."""
        how = self.chosen.assessment(Assessment())
        held = self.evaluation_sets[0].held
        recipe = {
            "track": {
                "name": schema.TRACK, "origin": self.prepared.origin,
                "preset": self.chosen.preset_of({*self.chosen.methods} in (set(), {*PRESETS[self.chosen.preset]})),
            },
            "partition": {"counts": dict(self.prepared.counts), "unused": dict(self.prepared.unused)},
            **assessing.recipe_entries(held, {own.splits[0]: own.rows for own in self.evaluation_sets}),
            "systems": dict(recipes), "seed": self.chosen.seed,
        }  # fmt: skip
        title = f"Translation, {self.judged_by[task].title}: {self.prepared.origin}"
        usual = assessing.report_options(title, self.judged_by[task], (), recipe)
        return replace(usual, rule=checked_rule(how.rule), intervals=how.intervals(self.chosen.seed, cores))

    def pictures(
        self, _systems: Sequence[Translated], _scored: Sequence[Scored], records: Sentences, _task: str
    ) -> tuple[list[Picture], list[str]]:
        """Which anomalies occur together in evaluation, if sentences are marked with any."""
        if records.splits[0] == "dev":
            return [], []
        return assessing.anomalies(assessing.recipe_entries(records.held, {records.splits[0]: records.rows})), []

    def finished(self, report: Report, _task: str) -> Report:
        """The report with the notes on the data."""
        notes = assessing.on_references(self.evaluation_sets[0].held, [own.rows for own in self.evaluation_sets])
        return replace(report, warnings=(*self.prepared.notes, *notes, *report.warnings))


def _predicting(records: Sentences) -> str:
    """The stage of translating the sentences of a split."""
    return f"predict {records.splits[0]}"


@dataclass(frozen=True)
class _Decoder:
    """Translates the sentences of a split by a fitted method, or finds what it has translated before."""

    data: Path
    fitted: Fitted
    records: Sentences
    folder: Path
    cores: int
    progress: Progress

    def outputs(self, member: int | None = None) -> Outputs:
        """The outputs of the ensemble, or of one member alone."""
        name = self.fitted.planned.name + ("" if member is None else f"-member-{member}")
        ids = self.records.truth.ids
        place = Place.of(
            self.folder, name, member=member, fit=fitted_folder.read(self.fitted.folder),
            data=assessing.digest(self.records.truth),
        )  # fmt: skip
        if (held := place.held(ids)) is not None:
            return held
        stage = f"predict {name}, {self.records.splits[0]}"
        self.progress(stage, 0, len(ids))
        kept = cost.kept(self.fitted.folder, _predicting(self.records), records=len(ids))
        with kept if member is None else nullcontext():
            found = prediction.gathered(self._blocks(member, stage), ids)
        place.write(found)
        return found

    def _blocks(self, member: int | None, stage: str) -> Iterator[Any]:
        """Predictions of the method for each part of the split, in the order of its records."""
        method, done = methods.method(self.fitted.planned.method), 0
        for part in SPLITS[self.records.splits[0]]:
            if not self.records.held.has(part):
                continue
            pairs = SentencePairs.of(self.data, part)
            answers = method.predict(pairs, folder=self.fitted.folder, cores=self.cores)
            for block in answers if member is None else answers.of_member(member):
                done += len(block.rows)
                self.progress(stage, done, len(self.records.rows))
                yield block


def entries(options: RunOptions, marian: Sequence[Path] = ()) -> list[Planned]:
    """The methods of a preset and the models of a user, or those chosen of them, with their settings and the seed.

    Raises:
        UnknownNameError: for a preset or method that does not exist.
        SettingsError: if models are chosen whose folders are not named.
    """
    if options.preset not in PRESETS:
        raise UnknownNameError("preset", options.preset, PRESETS)
    known = dict.fromkeys((*PRESETS[options.preset], MARIAN))
    for name in options.methods:
        if name not in known:
            raise UnknownNameError("method of this preset", name, known)
    if MARIAN in (*options.methods, options.preset) and not marian:
        raise SettingsError(f"{MARIAN}: expected folders of models, found none. Name each with --marian FOLDER.")
    found = []
    for entry in SETTINGS.get(options.preset, ()):
        own = dict(entry)
        name, title = str(own.pop("name")), str(own.pop("title"))
        if not options.methods or name in options.methods:
            members = {} if options.members is None else {"members": options.members}
            found.append(Planned(title, name, "ensemble", {**own, **members, "seed": options.seed}))
    if marian and (not options.methods or MARIAN in options.methods):
        models = tuple(str(each.absolute()) for each in marian)
        own = {"models": models, "members": len(models), "seed": options.seed}
        found.append(Planned("Marian", MARIAN, "ensemble", own))
    return found
