"""The systems of a run: planned, fitted, and asked about the records that are evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench import methods
from shiftbench.features import Features
from shiftbench.partition import Partition
from shiftbench.predictions import Predictions
from shiftbench.run.division import Divided
from shiftbench.scored import Records, Role, Scored
from shiftbench.scored_table import cluster_codes, meet, slice_labels
from shiftbench.settings import Settings

SPLITS = {"dev": ("dev_in", "dev_out"), "eval": ("eval_in", "eval_out")}
EVALUATED = [name for names in SPLITS.values() for name in names]

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Planned:
    """A system to be fitted: its name and role in the report, its method, and the method's own settings."""

    name: str
    method: str
    role: Role
    settings: Mapping[str, Any]

    @property
    def place(self) -> str:
        """The name as a file's: any other sign than letters, digits, dashes and underscores is written as its code."""
        return "".join(sign if sign.isalnum() or sign in "-_" else f"%{ord(sign):X}" for sign in self.name)


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
    taken = {entry.name for entry in planned}
    for column in dict.fromkeys(settings.baselines):
        name = f"{column} (column)" if column in taken else column
        planned.append(Planned(name, "column", "baseline", {"column": column}))
    return planned


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
    place = folder / "model" / planned.place
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
    predicted.save(folder / "predictions" / f"{planned.place}.parquet")
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

    def scored(self, split: str, system: System, settings: Settings) -> Scored:
        """A system's errors and uncertainties on a split."""
        kept = self.partition.is_in(list(SPLITS[split]))
        ensemble = system.predicted.ensemble.select(np.flatnonzero(kept.to_numpy()))
        targets = self.frame[settings.target].filter(kept)
        return meet(system.planned.name, ensemble, targets, role=system.planned.role, about=system.about)
