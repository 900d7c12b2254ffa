"""The systems of a run: planned, fitted, and asked about the records that are evaluated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench import files, methods
from shiftbench.check import Flags
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import SettingsError
from shiftbench.features import Features
from shiftbench.methods import fitted_folder, presets
from shiftbench.predictions import Predictions
from shiftbench.progress import Progress
from shiftbench.run.division import Divided
from shiftbench.run.judged import Judged
from shiftbench.run.shared_clusters import kept_whole
from shiftbench.score import Role
from shiftbench.scored import Scored
from shiftbench.settings import DEFAULT_METHOD, Settings, title


@dataclass(frozen=True)
class Planned:
    """A system to be fitted: its name and role in the report, its method, and the method's own settings."""

    name: str
    method: str
    role: Role
    settings: Mapping[str, Any]

    @property
    def place(self) -> str:
        """The name as a file's."""
        return files.name_of(self.name)


@dataclass(frozen=True)
class System:
    """A fitted system and what it predicts: for the evaluated records of the table (""), and for each test set.

    answered: which of these records it has an answer for; None where for all.
    caution: a sentence if its training makes its scores doubtful.
    """

    planned: Planned
    settings: Mapping[str, Any]
    about: str
    predicted: Mapping[str, Gaussian | Categorical]
    answered: Mapping[str, Flags | None]
    caution: str = ""

    def scored(self, judged: Judged, split: str, target: str) -> Scored:
        """Its errors and uncertainties on a split."""
        ensemble, named = self.predicted[judged.name], self.planned
        found = judged.scored(split, named.name, ensemble, target=target, role=named.role, about=self.about)
        answered = self.answered[judged.name]
        return found if answered is None else found.answering(answered[judged.within(split)])


def plan(settings: Settings) -> list[Planned]:
    """The methods in their order, then the constant baseline, then every column that is a forecast by itself.

    Raises:
        SettingsError: if a method is made of others that do not come before it.
    """
    planned: list[Planned] = []
    for entry in chosen_methods(settings):
        planned.append(_planned(entry, settings, [before.name for before in planned]))
    constant = "majority" if settings.task == "classification" else "mean"
    planned.append(Planned(constant, constant, "baseline", {}))
    taken = {entry.name for entry in planned}
    for column in dict.fromkeys(settings.baselines):
        name = f"{column} (column)" if column in taken else column
        planned.append(Planned(name, "column", "baseline", {"column": column}))
    return planned


def chosen_methods(settings: Settings) -> tuple[Mapping[str, Any], ...]:
    """The methods that the settings list, or those of their preset, or the default one, with the members said."""
    entries = settings.methods or ({"name": DEFAULT_METHOD},)
    if settings.preset:
        entries = presets.preset(settings.preset, task=settings.task or "regression")
    if settings.members is None:
        return entries
    known = [methods.method(str(entry.get("name", DEFAULT_METHOD))) for entry in entries]
    # Where no method is an ensemble of single models, members are whatever a method calls so.
    counted = any(method.role == "ensemble" for method in known)
    return tuple(
        {**entry, "members": settings.members} if method.role == "ensemble" or not counted else entry
        for entry, method in zip(entries, known, strict=True)
    )


def _planned(entry: Mapping[str, Any], settings: Settings, before: Sequence[str]) -> Planned:
    name, method = title(entry), methods.method(str(entry.get("name", DEFAULT_METHOD)))
    own = {key: value for key, value in entry.items() if key not in ("name", "title")}
    known = {place.name for place in fields(method.load().Settings)}
    if "seed" in known:
        own.setdefault("seed", settings.seed)
    if "of" in known:
        parts = [own["of"]] if isinstance(own.get("of"), str) else list(own.get("of", ()))
        if late := [part for part in parts if part not in before]:
            raise SettingsError(
                f"{name}: expected to be made of methods that come before it ({', '.join(before) or 'none'}), found "
                f"{', '.join(map(repr, late))}. Change the order, or the names in `of`."
            )
        places = [files.name_of(part) for part in parts]
        own["of"] = places[0] if isinstance(own.get("of"), str) else places
    return Planned(name, method.name, method.role, own)


def fit_and_predict(
    planned: Planned,
    made: Divided,
    chosen: Features,
    judged: Sequence[Judged],
    settings: Settings,
    folder: Path,
    *,
    cores: int,
    say: Progress,
    before: Mapping[str, System],
) -> System:
    """Fit a system (or find it fitted) and predict all evaluated records; `before` are the systems that it may use."""
    module = methods.method(planned.method).load()
    train = made.parts.frame("train")
    own = own_settings(planned, settings, kept_whole(train, made.parts.frame("eval_in"), settings.clusters))
    place = folder / "model" / planned.place
    say(f"fit {planned.name}", 0, 1)
    module.fit(
        train,
        made.parts.frame("dev_in"),
        features=chosen,
        target=settings.target,
        settings=own,
        folder=place,
        cores=cores,
        progress=lambda done, total, _message: say(f"fit {planned.name}", done, total),
    )
    record = {
        "method": planned.method,
        "settings": own.to_dict(),
        "target": settings.target,
        "manifest": made.manifest.hash,
    }
    predicted, answered = {}, {}
    for step, records in enumerate(judged):
        say(f"predict {planned.name}", step, len(judged))
        parts = [before[name].predicted[records.name] for name in getattr(own, "of", ()) if name in before]
        if combined := getattr(module, "of_predictions", None):  # made of what is known already
            ensemble = combined(parts, own)
        else:
            with fitted_folder.using(place):
                ensemble = records.predicted(module, place, cores=cores)
        predicted[records.name] = ensemble
        known = answered[records.name] = methods.answered(records.frame, folder=place)
        rows = np.arange(len(records.ids)) if known is None else np.flatnonzero(known)
        path = folder / "predictions" / records.name / f"{planned.place}.parquet"
        if len(rows):
            shown = ensemble if len(rows) == len(records.ids) else ensemble.select(rows)
            noted = {**record, "id_column": records.id_column, "unanswered": len(records.ids) - len(rows)}
            Predictions(records.ids.to_numpy()[rows], shown, noted, records.fingerprints[rows]).save(path)
    about, caution = module.about(judged[0].frame, folder=place), methods.caution(place)
    return System(planned, own.to_dict(), about, predicted, answered, caution)


def own_settings(planned: Planned, settings: Settings, clusters: Sequence[str] = ()) -> Any:
    """The settings of a system's method, checked; its folds keep `clusters` whole unless it names its own."""
    module = methods.method(planned.method).load()
    own: dict[str, Any] = {"task": settings.task}
    own |= {"classes": settings.classes} if settings.classes else {}
    own |= {"clusters": list(clusters)} if "clusters" in {place.name for place in fields(module.Settings)} else {}
    return module.Settings.from_dict({**own, **planned.settings})
