"""A run on prepared scans: methods learn from train, segment every evaluated patient once, and become systems.

A patient's prediction and its scores are kept as files, so that a killed run goes on with the next patient.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from shiftbench import __version__, methods
from shiftbench.assessment.assess import Options
from shiftbench.assessment.scored import Records, Scored
from shiftbench.errors import ShiftbenchError, TableError, UnknownNameError
from shiftbench.io import files
from shiftbench.io.tables import problem
from shiftbench.methods import fitted_folder
from shiftbench.partition.settings import SPLITS
from shiftbench.pipeline import study
from shiftbench.pipeline.settings import Assessment
from shiftbench.pipeline.study import EvaluationSet, Fitted, Planned, Result, Selection, Study
from shiftbench.progress import Progress
from shiftbench.report.content import Report
from shiftbench.report.picture import Picture
from shiftbench.scores.retention import checked_rule
from shiftbench.scores.score import Role, System
from shiftbench.track import Prepared, RunOptions, Task
from shiftbench.tracks.lesions import cross_site, intensity, manifest, population, schema, scoring
from shiftbench.tracks.lesions.assessing import report_options
from shiftbench.tracks.lesions.cross_site import Predicted
from shiftbench.tracks.lesions.partition import LEAVE_OUT, TRAIN_ON
from shiftbench.tracks.lesions.patient import CALLED
from shiftbench.tracks.lesions.picture.gallery import galleries, shown
from shiftbench.tracks.lesions.prediction import Prediction
from shiftbench.tracks.lesions.scoring import Case, PatientScores, Reader
from shiftbench.tracks.lesions.submissions import submission
from shiftbench.tracks.lesions.volumes import Volumes

INTENSITY, DROPOUT = "intensity_threshold", "unet_dropout"
SETTINGS: Mapping[str, tuple[dict[str, Any], ...]] = {
    "quick": (
        {"name": INTENSITY, "title": "Intensity threshold"},
        {"name": "unet_slices", "title": "UNet of slices"},
    ),
    "paper": (
        {"name": INTENSITY, "title": "Intensity threshold"},
        {"name": "unet", "title": "UNet"},
        {"name": DROPOUT, "title": "UNet, 50 % dropout", "dropout": 0.5},
        {"name": "unetr", "title": "UNETR"},
    ),
}
"""Preset → its methods, with the settings that are not the default: "paper" as published needs a GPU for days."""
_SMALL: Mapping[str, Any] = {
    "members": 3, "window": 32, "crop": 40, "foreground_share": 0.5, "selection_threshold": 0.5, "batch": 4,
    "cosine": True,
}  # fmt: skip
NAMED: Mapping[str, tuple[dict[str, Any], ...]] = {
    "quick": (
        {
            "name": "unet", "title": "UNet", **_SMALL, "channels": (16, 32, 64, 128), "patches": 16,
            "learning_rate": 2e-3, "epochs": 15, "validate_every": 3,
        },
        {
            "name": "unetr", "title": "UNETR", **_SMALL, "features": 8, "hidden": 96, "heads": 6, "feed_forward": 384,
            "patches": 8, "learning_rate": 1e-3, "epochs": 12, "validate_every": 3,
        },
    ),
}  # fmt: skip
"""Preset → methods that it fits only where they are named: small ones of those of "paper", for volumes of 4 mm."""
PRESETS = {preset: tuple(str(entry["name"]) for entry in entries) for preset, entries in SETTINGS.items()}
FOLDER = "predictions"
ALIKE = "there are no patients of dev_in: weights were chosen and thresholds tuned on the patients of train themselves"


@dataclass(frozen=True)
class Segmented:
    """The predictions of a system for the patients of a split, in a folder; `scores`: what each patient has."""

    name: str
    recipe: Mapping[str, Any]
    role: Role
    about: str
    folder: Path
    scores: Sequence[PatientScores]


@dataclass(frozen=True)
class Patients(EvaluationSet[Segmented]):
    """The evaluated patients of a split."""

    splits: tuple[str]
    volumes: Volumes

    def score(
        self, systems: Sequence[Segmented], split: str, tasks: Sequence[str]
    ) -> Mapping[str, tuple[Records, list[Scored]]]:
        """Errors and uncertainty of systems; there is one task."""
        found = scoring.score(self.volumes, split, [self.reader(system) for system in systems])
        return dict.fromkeys(tasks, found)

    def write(self, system: Segmented, folder: Path) -> None:
        """Nothing: predictions were written one by one."""

    def reader(self, system: Segmented) -> Reader:
        """Reads the predictions of a system back, and has its scores."""
        files_of = submission(system.name, system.folder, self.volumes.ids)

        def read(volumes: Volumes, row: int) -> Prediction:
            return files_of.read(volumes.ids[row], volumes.shape(row), volumes.affine(row))[0]

        known = dict(zip(self.volumes.ids, system.scores, strict=True))
        own = System(system.name, system.role, about=system.about)
        return Reader(own, read, lambda volumes, row, _case: known[volumes.ids[row]])


def run(
    prepared: Prepared, tasks: Sequence[Task], options: RunOptions, *, folder: Path, cores: int,
    progress: Progress | None, with_train: bool = False,
) -> list[Result]:  # fmt: skip
    """Fit the methods of the preset, segment every evaluated patient, and assess.

    `folder` gets `model/`, and in `predictions/` a folder of NIfTI files for each split and system, with the scores of
    each patient. with_train: segment the patients of train as well, for tables of the paper alone.

    Raises:
        ShiftbenchError: for invalid data or settings.
    """
    opened = LesionStudy.open(prepared, tasks, options)
    further = (Patients(("train",), opened.parts[0]),) if with_train else ()
    return study.run(replace(opened, further=further), folder, cores=cores, progress=progress)


@dataclass(frozen=True)
class LesionStudy(Study[Segmented, Patients]):
    """Prepared scans with the methods of a preset (see `pipeline.study.Study`).

    further: patients that are segmented for tables of the paper, and are in no split of the report.
    """

    prepared: Prepared
    chosen: RunOptions
    parts: tuple[Volumes, Volumes]
    tasks: Mapping[str, str]
    planned: Sequence[Planned]
    evaluation_sets: Sequence[Patients]
    further: Sequence[Patients] = ()

    @classmethod
    def open(cls, prepared: Prepared, tasks: Sequence[Task], options: RunOptions) -> LesionStudy:
        """Open the scans.

        Raises:
            ShiftbenchError: for invalid data or settings.
        """
        volumes = Volumes.open(prepared.folder)
        train, dev = (volumes.part(name) for name in ("train", "dev_in"))
        if not len(train):
            raise TableError(
                f"{prepared.folder}: expected patients of train to learn from, found none. To score predictions that "
                "you have, use `shiftbench assess`."
            )
        _require_scans(volumes)
        evaluated = [
            Patients((split,), volumes.select([k for k, part in enumerate(volumes.parts) if part in names]))
            for split, names in SPLITS.items()
        ]
        return cls(
            prepared, options, (train, dev if len(dev) else train), {task.name: task.title for task in tasks},
            entries(options), [each for each in evaluated if len(each.volumes)],
        )  # fmt: skip

    def fit(self, planned: Planned, folder: Path, *, cores: int, progress: Progress) -> Fitted:
        """Fit networks to train, tuned on dev_in; or the threshold of intensity to dev_in."""
        if planned.method == INTENSITY:
            found = intensity.fit(self.parts[1], folder, progress=progress)
            about = f"FLAIR above the brain's mean by {found:g} standard deviations, the best on dev_in"
            return Fitted(planned, {**planned.settings, "deviations": found}, folder, about)
        settings = methods.method(planned.method).Settings.from_dict(planned.settings)
        evaluated = self.evaluation_sets[0].volumes
        return study.fitted(planned, settings, *self.parts, folder, evaluated=evaluated, cores=cores, progress=progress)

    def systems(
        self, fitted: Sequence[Fitted], records: Patients, _selection: Selection, *, folder: Path, cores: int,
        progress: Progress,
    ) -> Iterator[Segmented]:  # fmt: skip
        """The ensemble of each method; of networks with dropout the draws of all of them, too."""
        for each in fitted:
            for ensemble in ensembles(each):

                def segmented(own: Patients, ensemble: SystemOf = ensemble) -> Segmented:
                    place = folder / FOLDER / own.splits[0] / files.name_of(ensemble.name)
                    return ensemble.segmented(own, place, cores=cores, progress=progress)

                found = segmented(records)
                if records is self.evaluation_sets[-1]:  # whose recipe stands in the report
                    every = [(own, segmented(own)) for own in (*self.further, *self.evaluation_sets)]
                    found = replace(found, recipe={**found.recipe, **self._analyses(every, progress)})
                yield found

    def _analyses(self, every: Sequence[tuple[Patients, Segmented]], progress: Progress) -> dict[str, Any]:
        """nDSC of a system by sex, and by site if one was learnt from; for tables of the paper."""
        ndsc = [[each.scores[scoring.NDSC] for each in found.scores] for _, found in every]
        patients = [patient for own, _ in every for patient in own.volumes.patients]
        by_sex = population.by_sex(patients, itertools.chain.from_iterable(ndsc))
        by_group: dict[str, Any] = {"ndsc_by_sex": by_sex} if by_sex else {}
        if trained := self.experiment.get(TRAIN_ON):
            sets = [Predicted(own.volumes, found.folder, each) for (own, found), each in zip(every, ndsc, strict=True)]
            by_group["ndsc_by_site"] = cross_site.scores(sets, trained, progress=progress)
        return by_group

    @cached_property
    def experiment(self) -> dict[str, str]:
        """The site that alone is learnt from, or is left out, as `prepare` divided patients; empty for usual parts."""
        return dict(manifest.held_in(self.prepared.folder).get("experiment", {}))

    @property
    def left_out(self) -> str:
        """The site that alone makes dev_out; empty if there are several, or one is learnt from."""
        patients = Volumes.open(self.prepared.folder).part("dev_out").patients
        sites = {patient.site for patient in patients}
        return "" if len(sites) != 1 or TRAIN_ON in self.experiment else sites.pop()

    def options(self, _task: str, _selection: Selection, recipes: Mapping[str, Any], *, cores: int) -> Options:
        """Title, intervals and recipe."""
        how = self.chosen.assessment(Assessment())
        recipe = {
            "track": {
                "name": schema.TRACK, "origin": self.prepared.origin,
                "preset": self.chosen.preset_of({*self.chosen.methods} in (set(), {*PRESETS[self.chosen.preset]})),
                "experiment": self.experiment, "left_out": self.left_out,
            },
            "partition": {"counts": dict(self.prepared.counts), "unused": dict(self.prepared.unused)},
            "data": {each.splits[0]: each.volumes.digest for each in self.evaluation_sets},
            **population.of_prepared(self.prepared.folder),
            "scores": scoring.RULES, "systems": dict(recipes), "seed": self.chosen.seed,
        }  # fmt: skip
        words = {TRAIN_ON: "trained on {} alone", LEAVE_OUT: "{} left out"}
        shift = [words[name].format(site) for name, site in self.experiment.items() if name in words]
        usual = report_options(", ".join([f"MS lesions: {self.prepared.origin}", *shift]), recipe)
        return replace(usual, rule=checked_rule(how.rule), intervals=how.intervals(self.chosen.seed, cores))

    def pictures(
        self, systems: Sequence[Segmented], scored: Sequence[Scored], records: Patients, _task: str
    ) -> tuple[list[Picture], list[str]]:
        """Patients and lesions worth a look, of evaluation alone."""
        if records.splits[0] == "dev":
            return [], []
        chosen = [(scored[k], records.reader(systems[k]).read) for k in shown(scored)]
        try:
            return galleries(records.volumes, records.splits[0], chosen), []
        except ShiftbenchError as error:
            return [], [f"{records.splits[0]}: no pictures of patients: {error}"]

    def finished(self, report: Report, _task: str) -> Report:
        """The report with the notes on the data."""
        notes = [ALIKE] if self.parts[0] is self.parts[1] else []
        return replace(report, warnings=(*self.prepared.notes, *notes, *report.warnings))


def _require_scans(volumes: Volumes) -> None:
    """Refuse patients of a part without an image to segment, or without the lesions to score it by.

    Raises:
        TableError: naming the first of them.
    """
    lacking = [
        f"{patient.id} ({patient.part}): expected a FLAIR and a lesion mask, found no {CALLED[kind]}. Add it, or take "
        "the patient out and prepare the data again; predictions alone are scored by `shiftbench assess`."
        for patient in volumes.patients
        for kind in ("flair", "gt")
        if patient.part and kind not in patient.files
    ]
    if lacking:
        raise TableError(*problem.few(lacking))


def entries(options: RunOptions) -> list[Planned]:
    """The methods of a preset, or those chosen of it, with their settings and the seed.

    Raises:
        UnknownNameError: for a preset or method that does not exist.
    """
    if options.preset not in SETTINGS:
        raise UnknownNameError("preset", options.preset, SETTINGS)
    held = SETTINGS[options.preset] + (NAMED.get(options.preset, ()) if options.methods else ())
    known = [str(entry["name"]) for entry in held]
    for name in options.methods:
        if name not in known:
            raise UnknownNameError("method of this preset", name, known)
    found = []
    for entry in held:
        own = dict(entry)
        name, title = str(own.pop("name")), str(own.pop("title"))
        if options.methods and name not in options.methods:
            continue
        if name == INTENSITY:
            found.append(Planned(title, name, "baseline", {}))
            continue
        members = {} if options.members is None else {"members": options.members}
        method = "unet" if name == DROPOUT else name
        found.append(Planned(title, method, "ensemble", {**own, **members, "seed": options.seed}))
    return found


# --- systems ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SystemOf:
    """A system that a fitted method gives: its threshold of intensity, its networks, or draws of dropout of them."""

    fitted: Fitted
    name: str
    kind: str
    about: str

    def segmented(self, records: Patients, place: Path, *, cores: int, progress: Progress) -> Segmented:
        """The predictions for all patients, each made or found in the folder."""
        volumes, stage = records.volumes, f"predict {self.name}, {records.splits[0]}"
        key, found, predict = self._key(volumes), [], None
        for row, patient in enumerate(volumes.ids):
            progress(stage, row, len(volumes))
            path = place / f"{patient}.json"
            held = _held(path, key)
            if held is None:
                predict = predict or self._predicting(volumes, cores)
                prediction, held = predict(row)
                prediction.write(place, patient, volumes.affine(row))
                files.write_json(path, {"key": key, **asdict(held)})  # last: the others are complete
            found.append(held)
        progress(stage, len(volumes), len(volumes))
        recipe = {**self.fitted.settings, "method": self.fitted.planned.method, "ensemble": self.kind}
        role: Role = "baseline" if self.kind == INTENSITY else "ensemble"
        return Segmented(self.name, recipe, role, self.about, place, found)

    def _key(self, volumes: Volumes) -> str:
        """What a prediction depends on, and how it is scored."""
        fit = self.fitted.settings if self.kind == INTENSITY else fitted_folder.read(self.fitted.folder)
        known = {
            "fit": fit, "kind": self.kind, "data": volumes.digest, "scores": scoring.RULES,
            "version": __version__,
        }  # fmt: skip
        return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()

    def _predicting(self, volumes: Volumes, cores: int) -> Any:
        if self.kind == INTENSITY:
            deviations = float(self.fitted.settings["deviations"])

            def by_intensity(row: int) -> tuple[Prediction, PatientScores]:
                found = intensity.predict(volumes, row, deviations)
                return found, scoring.patient_scores(Case.of(volumes, row), found)

            return by_intensity
        method, folder = methods.method(self.fitted.planned.method), self.fitted.folder
        answers = method.predict(volumes, folder=folder, cores=cores, ensemble=self.kind)
        networks = int(self.fitted.settings["members"]) if self.kind != "deep" else 0
        each = [answers.of_network(number) for number in range(networks)] or [answers]
        return lambda row: by_networks(each, Case.of(volumes, row), row)


def ensembles(fitted: Fitted) -> list[SystemOf]:
    """The systems of a fitted method."""
    name, method = fitted.planned.name, fitted.planned.method
    if method == INTENSITY:
        return [SystemOf(fitted, name, INTENSITY, fitted.about)]
    found = [SystemOf(fitted, name, "deep", fitted.about)]
    if fitted.settings.get("dropout"):
        draws = f"{fitted.settings['draws']} draws of dropout of each of {fitted.settings['members']} networks"
        found.append(SystemOf(fitted, f"{name}, MC dropout", "mc_dropout", draws))
    return found


def by_networks(answers: Sequence[Any], case: Case, row: int) -> tuple[Prediction, PatientScores]:
    """The prediction of all members for a patient, and its scores; one member's probabilities are held at a time.

    answers: of the ensemble; or of each network, whose members are draws of dropout: its models are then ensembles of
    draws.
    """
    from shiftbench.methods.volumes.sums import VolumeSums

    whole, models = VolumeSums(case.truth.shape), []
    threshold = sum(each.threshold for each in answers) / len(answers)
    for each in answers:
        own = VolumeSums(case.truth.shape)
        for probability, tuned in zip(each.probabilities(row), each.thresholds, strict=True):
            whole.add(probability, threshold=threshold)
            if len(answers) > 1:
                own.add(probability, threshold=each.threshold)
            elif each.members > 1:
                alone = Prediction.of_probability(probability, threshold=tuned, spacing=case.spacing)
                models.append(scoring.patient_scores(case, alone, member=True))
        if len(answers) > 1:
            drawn = Prediction.of_sums(own, threshold=each.threshold, spacing=case.spacing)
            models.append(scoring.patient_scores(case, drawn, member=True))
    found = Prediction.of_sums(whole, threshold=threshold, spacing=case.spacing)
    return found, scoring.patient_scores(case, found, members=models)


def _held(path: Path, key: str) -> PatientScores | None:
    """The scores of a patient that were found before, if the prediction was made in the same way."""
    if not path.is_file():
        return None
    try:
        held = json.loads(files.read_text(path))
        return PatientScores.from_dict(held) if held["key"] == key else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
