"""Methods by name: baselines that learn from a train partition and then say something about any record.

Each is a module with the same four names, `Settings`, `fit`, `predict` and `about`, imported only when used, so
that its libraries are needed only by those who use it. What a method has learnt is a folder.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from shiftbench.errors import UnknownNameError

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.ensembles import Categorical, Gaussian
    from shiftbench.features import Features
    from shiftbench.methods.settings import MethodSettings

Progress = Callable[[int, int, str], None]
"""Called with the members done, all members, and a sentence about the last one."""


class MethodModule(Protocol):
    """What the module of a method holds."""

    Settings: type[MethodSettings]

    def fit(
        self,
        train: pl.DataFrame,
        dev: pl.DataFrame,
        *,
        features: Features,
        target: str,
        settings: Any,
        folder: str | os.PathLike[str],
        cores: int | None = None,
        progress: Progress | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Learn from `train` (and `dev`, records like those of train) and write all that was learnt to `folder`."""

    def predict(
        self, frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None
    ) -> Gaussian | Categorical:
        """What the members learnt into `folder` say about each row of `frame`."""

    def about(self, frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
        """A sentence on what was learnt, and on anything that was done to the rows of `frame`."""


@dataclass(frozen=True)
class Method:
    """A method's name, what it is, the tasks it is for, and the module that holds it."""

    name: str
    title: str
    tasks: tuple[str, ...]
    module: str

    def load(self) -> MethodModule:
        """The method's module, imported now."""
        return cast(MethodModule, importlib.import_module(f"shiftbench.methods.{self.module}"))


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("boosting", "Ensemble of CatBoost models", ("regression", "classification"), "boosting"),
        Method("mean", "Training mean", ("regression",), "constant"),
        Method("majority", "Training class frequencies", ("classification",), "constant"),
        Method("column", "A column of the table as it stands", ("regression", "classification"), "column"),
    )
}


def method(name: str) -> Method:
    """The method of this name.

    Raises:
        UnknownNameError: if there is none; the message names the nearest.
    """
    if name not in METHODS:
        raise UnknownNameError("method", name, METHODS)
    return METHODS[name]


def fitted(folder: str | os.PathLike[str]) -> Method:
    """The method that was fitted into this folder.

    Raises:
        SettingsError: if none was.
    """
    from shiftbench.methods import fitted_folder

    return method(fitted_folder.read(folder, *METHODS)["method"])
