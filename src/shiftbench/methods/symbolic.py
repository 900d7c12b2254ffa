"""An ensemble of networks made of ship physics and trained end to end: the "Symbolic" of Shifts 2.0 (Malinin et al.
2022, appendix D.3), which prints no equations. Ours are in `symbolic_nets`, each with its source.

The mean is a ship's shaft power: speed times resistance over the efficiency of a propeller, with positive coefficients
for what must help or cost. So outside of train (slow ships, high winds) it keeps the laws that `symbolic_nets` lists;
inside, a learnt factor of drafts and speed may bend the curve of speed. See `mlp`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from shiftbench.ensembles import Gaussian
from shiftbench.methods import fitted_folder, stacked_data
from shiftbench.methods.settings import whole
from shiftbench.methods.stacked_data import StackSettings
from shiftbench.methods.symbolic_terms import ROLES, Terms, checked_roles

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress


@dataclass(frozen=True)
class Settings(StackSettings):
    """Settings of `symbolic` beside those of all stacks of networks; columns that have no role are not seen.

    Attributes:
        width: of the hidden layer of the network of drafts, trim and speed.
        roles: the column of each role that is not named as on the vessel power track; see `symbolic_terms.ROLES`.
            Speeds are in one unit, that of the wind and the current too.
    """

    width: int = 16
    roles: Mapping[str, str] | None = None

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        roles = [] if self.roles is None else checked_roles(self.roles)
        return [*super().problems(), *whole("width", self.width, 1, 4096), *roles]

    def terms(self, train: pl.DataFrame, features: Features) -> Terms:
        """The terms of the columns that have a role; see `Terms.fit`."""
        return Terms.fit(train, features, {**ROLES, **(self.roles or {})})


def fit(
    train: pl.DataFrame,
    dev: pl.DataFrame,
    *,
    features: Features,
    target: str,
    settings: Settings,
    folder: str | os.PathLike[str],
    cores: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> Path:
    """Train the members on `train` and write them to `folder`; see `mlp.fit`.

    Raises:
        TableError: also if a role has no numeric column among the features, or one with missing values.
    """
    return stacked_data.train(
        "symbolic", settings, (train, dev), features=features, target=target, fit_inputs=settings.terms,
        folder=folder, progress=progress, overwrite=overwrite,
    )  # fmt: skip


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian:
    """What the M members say about the N rows of `frame`, [M, N]; see `mlp.predict`.

    Raises:
        TableError: also if a value of a role is missing.
    """
    return stacked_data.predict("symbolic", frame, inputs=Terms.from_json, folder=folder, cores=cores)


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """How many networks of which size; nothing is done to the rows of `frame`."""
    settings = Settings.from_dict(fitted_folder.read(folder, "symbolic")["settings"])
    steps = stacked_data.best_steps("symbolic", folder, settings.members)
    return f"{settings.members} networks made of ship physics that differ by seed (best after {steps})"
