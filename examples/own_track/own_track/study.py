"""A run on images: the pipeline's `Study` of this kind of data."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from own_track import answers, images
from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options
from shiftbench.assessment.predictions import Predictions
from shiftbench.assessment.scored import Records, Scored
from shiftbench.ensembles import Categorical
from shiftbench.io import files
from shiftbench.partition.settings import SPLITS
from shiftbench.pipeline import study
from shiftbench.pipeline.settings import Assessment
from shiftbench.pipeline.study import EvaluationSet, Fitted, Planned, Predicted, Study
from shiftbench.track import Prepared, RunOptions, Task

PRESETS = {"quick": ("centroids",)}


class Images(EvaluationSet[Predicted]):
    """The images of a split, with their labels."""

    def __init__(self, prepared: Prepared, split: str) -> None:
        self.splits, self.arrays = (split,), images.part(prepared.folder, *SPLITS[split])
        self.ids = self.arrays["ids"].astype(str)
        self.records = Records(len(self.ids), split, self.arrays["noisy"], ids=self.ids)

    def scored(self, name: str, ensemble: Categorical) -> Scored:
        """Errors and uncertainty, with the score of the worst digit for the ensemble and its single models."""
        labels, found = self.arrays["labels"], scored.classification(name, ensemble, self.arrays["labels"])
        return found.with_set("worst_digit", lambda each: answers.worst_digit_terms(labels, each.errors))

    def score(self, systems: Sequence[Predicted], _split: str, tasks: Sequence[str]) -> Mapping[str, Any]:
        """One task: the digit."""
        return dict.fromkeys(tasks, (self.records, [self.scored(each.name, each.ensemble) for each in systems]))

    def write(self, system: Predicted, folder: Path) -> None:
        """Write a predictions file for the split."""
        path = folder / "predictions" / self.splits[0] / f"{files.name_of(system.name)}.parquet"
        Predictions(self.ids, system.ensemble).save(path)


class ImageStudy(Study[Predicted, Images]):
    """A prepared folder with the methods of a preset."""

    def __init__(self, prepared: Prepared, tasks: Sequence[Task], chosen: RunOptions) -> None:
        own = {"members": chosen.members or 5, "seed": chosen.seed}
        self.prepared, self.chosen, self.tasks = prepared, chosen, {task.name: task.title for task in tasks}
        self.planned = [Planned(name, name, "ensemble", own) for name in chosen.methods or PRESETS[chosen.preset]]
        self.evaluation_sets = [Images(prepared, split) for split in SPLITS]

    def fit(self, planned: Planned, folder: Path, **_: Any) -> Fitted:
        """Fit to train, or find what was fitted before the run was stopped; `claim` has made sure of the settings."""
        if not (folder / "centroids.npz").exists():
            answers.fit(images.part(self.prepared.folder, "train"), **planned.settings, folder=folder)
        return Fitted(planned, planned.settings, folder)

    def systems(self, fitted: Sequence[Fitted], records: Images, *_: Any, **__: Any) -> Iterator[Predicted]:
        """One system of each method."""
        for each in fitted:
            ensemble = answers.predict(records.arrays["images"], folder=each.folder)
            yield Predicted(each.planned.name, {"method": each.planned.method, **each.settings}, ensemble)

    def options(self, task: str, _selection: Any, recipes: Mapping[str, Any], *, cores: int) -> Options:
        """Title, units and recipe."""
        how, usual = self.chosen.assessment(Assessment()), report_options(self.prepared, recipes)
        return replace(usual, rule=how.rule, intervals=how.intervals(self.chosen.seed, cores))


def report_options(prepared: Prepared, systems: Mapping[str, Any]) -> Options:
    """How a report on digits is made."""
    recipe = {"track": {"name": "digits", "origin": prepared.origin}, "systems": dict(systems)}
    return Options(f"Digits: {prepared.origin}", "digit", 0.5, error_name="classification error", recipe=recipe)


def run(prepared: Prepared, tasks: Sequence[Task], options: RunOptions, **how: Any) -> list[study.Result]:
    """Fit, predict and report."""
    return study.run(ImageStudy(prepared, tasks, options), **how)
