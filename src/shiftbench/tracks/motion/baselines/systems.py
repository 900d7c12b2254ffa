"""From a preset to what its systems say: every method fitted once, asked once, and turned into all its systems."""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any

from shiftbench.methods import fitted_folder
from shiftbench.methods.trajectories.situations import Situations
from shiftbench.progress import Progress
from shiftbench.score import Role
from shiftbench.tracks.motion.baselines import plan_files
from shiftbench.tracks.motion.baselines.answers import Answered, constant_velocity, planned
from shiftbench.tracks.motion.baselines.plan_files import Said
from shiftbench.tracks.motion.baselines.presets import VECTOR, Ensemble, Planner, every_planner, planners
from shiftbench.tracks.motion.prepared.live import LiveStore
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.trajectory_ensembles import Mixture, Trajectories


@dataclass(frozen=True)
class Asked:
    """Requests that systems are asked about: their name, the requests, and what tells these from any others."""

    name: str
    requests: Store | LiveStore
    key: str


@dataclass(frozen=True)
class Fitted:
    """A method that has learnt: its entry in the preset, and the folder of what it learnt."""

    method: str
    title: str
    settings: Mapping[str, Any]
    folder: Path

    def said(self, asked: Asked, ensemble: Ensemble, *, plans: Path, cores: int, say: Progress) -> Said:
        """What it says about requests, predicted once and kept in the folder `plans`."""
        known = {"fit": fitted_folder.read(self.folder), "requests": asked.key, "ensemble": ensemble}
        key = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
        module = importlib.import_module(f"shiftbench.methods.trajectories.{self.method}")
        stage = f"predict {self.title}, {ensemble}, {asked.name}"
        make: Callable[[], Said] = partial(
            module.predict, asked.requests, folder=self.folder, cores=cores, ensemble=ensemble,
            progress=lambda done, total, _message: say(stage, done, total),
        )  # fmt: skip
        return plan_files.kept(plans / f"{self.method}-{ensemble}-{asked.name}.npz", key, make)


def fitted(
    entries: Sequence[Mapping[str, Any]], parts: tuple[Situations, Situations], folder: Path, *, cores: int,
    say: Progress,
) -> list[Fitted]:  # fmt: skip
    """Every method of a preset, fitted to (train, dev_in) below `folder` unless it is already."""
    found = []
    for entry in entries:
        name, title = str(entry["name"]), str(entry["title"])
        module = importlib.import_module(f"shiftbench.methods.trajectories.{name}")
        own = {key: value for key, value in entry.items() if key not in ("name", "title")}
        settings = module.Settings.from_dict({"task": "regression", **own})
        place = folder / name
        stage = f"fit {title}"
        module.fit(
            *parts, settings=settings, folder=place, cores=cores,
            progress=lambda done, total, _message, stage=stage: say(stage, done, total),
        )  # fmt: skip
        found.append(Fitted(name, title, settings.to_dict(), place))
    return found


class Answers:
    """What fitted methods say about requests, as systems; every prediction is made once and kept in a folder."""

    def __init__(self, methods: Sequence[Fitted], asked: Asked, plans: Path, *, cores: int, say: Progress) -> None:
        self.methods, self.asked = methods, asked
        self._said = partial(self._predicted, plans=plans, cores=cores, say=say)

    def main(self) -> Iterator[Answered]:
        """The systems of the main report, and the baseline that needs no model."""
        for fit in self.methods:
            if fit.method == VECTOR:
                yield self._mixture(fit)
            else:
                yield from self._planned(fit, planners(fit.method, fit.title, int(fit.settings["members"])))
        yield constant_velocity(self.asked.requests)

    def every(self) -> Iterator[Answered]:
        """Every number of members and every aggregation of the methods that plan, from the same predictions."""
        for fit in self.methods:
            if fit.method != VECTOR:
                yield from self._planned(fit, every_planner(fit.method, fit.title, int(fit.settings["members"])))

    def _predicted(self, fit: Fitted, ensemble: Ensemble, **how: Any) -> Said:
        return fit.said(self.asked, ensemble, **how)

    def _mixture(self, fit: Fitted) -> Answered:
        said = self._said(fit, "deep")
        assert isinstance(said, Mixture)
        trajectories, weights = said.merged()
        recipe = {**fit.settings, "method": fit.method, "ensemble": "deep", "modes": trajectories.shape[1]}
        about = (
            f"{said.members} networks of {said.weights.shape[2]} modes as one mixture; uncertain where they do not "
            "expect one another's modes"
        )
        found = Answered(fit.title, "ensemble", recipe, trajectories, weights, said.uncertainty("cross_entropy"), about)
        others = {name: said.uncertainty(name) for name in ("pairwise_ade", "weight_entropy")}
        return replace(found, measure="cross_entropy", others=others)

    def _planned(self, fit: Fitted, systems: Sequence[Planner]) -> Iterator[Answered]:
        for ensemble, group in groupby(systems, attrgetter("ensemble")):
            said = self._said(fit, ensemble)  # gigabytes of official requests: read once for all that it serves
            assert isinstance(said, Trajectories)
            for system in group:
                yield _chosen(said, system, fit.settings)


def _chosen(said: Trajectories, system: Planner, settings: Mapping[str, Any]) -> Answered:
    each = said.plans_per_member
    made = planned(said.trajectories, said.scores, system.settings(each))
    recipe = system.recipe(settings, each)
    role: Role = "model" if system.alone else "ensemble"
    return Answered(system.name, role, recipe, *made, about=_about(recipe), measure="plan_nll")


def _about(recipe: Mapping[str, Any]) -> str:
    kinds = {
        "single": "one network",
        "deep": "{members} networks",
        "dropout": "{members} masks of dropout of one network",
    }
    who = kinds[recipe["ensemble"]].format(**recipe)
    return (
        f"{who}, {recipe['plans_per_member']} plans each; the best {recipe['modes']} by {recipe['aggregation']} of "
        "their log-likelihoods, uncertainty minus the same of these"
    )
