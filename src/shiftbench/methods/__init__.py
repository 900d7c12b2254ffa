"""Methods by name: baselines that learn from a train partition and then predict any record.

Each is a `method.Method`, imported only when used, so that its libraries are needed only by those who use it.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING

from shiftbench.errors import SettingsError, UnknownNameError
from shiftbench.methods import fitted_folder

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.check import Flags
    from shiftbench.methods.contract import Method

METHODS: dict[str, str] = {
    "boosting": "shiftbench.methods.boosting.ensemble",
    "likelihood_boosting": "shiftbench.methods.boosting.likelihood",
    "virtual_boosting": "shiftbench.methods.boosting.virtual",
    "ft_transformer": "shiftbench.methods.networks.ft_transformer",
    "mc_dropout": "shiftbench.methods.networks.mc_dropout",
    "tabm": "shiftbench.methods.networks.tabm",
    "combination": "shiftbench.methods.combination",
    "mlp": "shiftbench.methods.batched.mlp:MLP",
    "mlp_dropout": "shiftbench.methods.batched.mlp:DROPOUT",
    "mlp_flipout": "shiftbench.methods.batched.mlp:FLIPOUT",
    "mean": "shiftbench.methods.constant:MEAN",
    "majority": "shiftbench.methods.constant:MAJORITY",
    "column": "shiftbench.methods.column",
}
"""Where the methods are defined, as `module:NAME`, or `module` for its METHOD; a track adds those that it brings."""


def method(name: str) -> Method:
    """The method of this name, imported now.

    Raises:
        UnknownNameError: if there is none; the message names the nearest.
    """
    from shiftbench.methods.contract import Method

    if name not in METHODS:
        raise UnknownNameError("method", name, METHODS)
    module, _, attribute = METHODS[name].partition(":")
    found = getattr(importlib.import_module(module), attribute or "METHOD")
    assert isinstance(found, Method)
    return found


def fitted(folder: str | os.PathLike[str]) -> Method:
    """The method that was fitted into this folder.

    Raises:
        SettingsError: if none was.
    """
    name = fitted_folder.read(folder).get("method")
    if name not in METHODS:
        wanted = " or ".join(METHODS)
        raise SettingsError(f"{folder}: expected the method {wanted}, found {name!r}. Name its own folder.")
    return method(name)


def target_of(folder: str | os.PathLike[str]) -> str | None:
    """The target of the method that was fitted into this folder, where its record tells.

    Raises:
        SettingsError: if none was fitted.
    """
    found = fitted_folder.read(folder).get("target")
    return found if isinstance(found, str) else None


def answered(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> Flags | None:
    """Which rows of `frame` [N] the method fitted into `folder` has an answer for; see `Method.answered`."""
    with fitted_folder.using(folder):
        return fitted(folder).answered(frame, folder=folder)


def caution(folder: str | os.PathLike[str]) -> str:
    """A sentence if the training of the method fitted into `folder` makes its scores doubtful, or ""."""
    with fitted_folder.using(folder):
        return fitted(folder).caution(folder=folder)
