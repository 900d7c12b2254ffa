"""Methods by name: baselines that learn from a train partition and then predict any record.

Each is a `contract.Method` for the tasks that it names, imported only when used, so that its libraries are needed only
by those who use it. Other packages register theirs by entry points in the group `shiftbench.methods`; any other is
named `package.module:NAME`, or `package.module` if it is called METHOD there.
"""

from __future__ import annotations

import dataclasses
import importlib
import os
from typing import TYPE_CHECKING, Any

from shiftbench.errors import SettingsError, UnknownNameError
from shiftbench.methods.contract import Method
from shiftbench.registry import Registry

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.check import Flags

METHODS = Registry(
    "method",
    Method,
    "shiftbench.methods",
    lazy={
        "boosting": "shiftbench.methods.boosting.ensemble:METHOD",
        "likelihood_boosting": "shiftbench.methods.boosting.likelihood:METHOD",
        "virtual_boosting": "shiftbench.methods.boosting.virtual:METHOD",
        "ft_transformer": "shiftbench.methods.networks.ft_transformer:METHOD",
        "mc_dropout": "shiftbench.methods.networks.mc_dropout:METHOD",
        "tabm": "shiftbench.methods.networks.tabm:METHOD",
        "combination": "shiftbench.methods.combination:METHOD",
        "mlp": "shiftbench.methods.batched.mlp:MLP",
        "mlp_dropout": "shiftbench.methods.batched.mlp:DROPOUT",
        "mlp_flipout": "shiftbench.methods.batched.mlp:FLIPOUT",
        "mean": "shiftbench.methods.constant:MEAN",
        "majority": "shiftbench.methods.constant:MAJORITY",
        "column": "shiftbench.methods.column:METHOD",
        "cloning": "shiftbench.methods.trajectories.fitting:CLONING",
        "imitative": "shiftbench.methods.trajectories.fitting:IMITATIVE",
        "vector": "shiftbench.methods.trajectories.fitting:VECTOR",
        "unet": "shiftbench.methods.volumes.fitting:UNET",
        "unet_slices": "shiftbench.methods.volumes.fitting:UNET_SLICES",
        "unetr": "shiftbench.methods.volumes.fitting:UNETR",
        "transformer": "shiftbench.methods.sequences.fitting:TRANSFORMER",
        "marian": "shiftbench.methods.sequences.fitting:MARIAN",
    },
)
"""All methods by name; tracks register their own."""


def method(name: str, *tasks: str) -> Method:
    """The method of this name, or the one at `package.module:NAME`, which then is its name; imported now.

    It must be for one of the tasks, if any are given.

    Raises:
        UnknownNameError: for an unknown name; the message suggests the closest one of the tasks.
        SettingsError: if the module has no such method, or cannot be imported; if the method is for other tasks.
    """
    elsewhere = name not in METHODS and {".", ":"} & set(name)
    if name not in METHODS and not elsewhere:
        raise UnknownNameError("method", name, names(*tasks))
    found = _elsewhere(name) if elsewhere else METHODS[name]
    if tasks and not set(tasks) & set(found.tasks):
        raise SettingsError(
            f"method {found.name}: expected one for {' or '.join(tasks)}, found one for {' or '.join(found.tasks)}. "
            f"Choose another: {', '.join(names(*tasks))}."
        )
    return found


def names(*tasks: str) -> tuple[str, ...]:
    """The names of all methods, or of those for these tasks."""
    return tuple(name for name in METHODS if set(tasks) & set(METHODS[name].tasks)) if tasks else METHODS.names()


def _elsewhere(name: str) -> Method:
    """A method that is not registered, identified by its location."""
    module, _, attribute = name.partition(":")
    attribute = attribute or "METHOD"
    if not all(map(str.isidentifier, module.split("."))):
        raise SettingsError(
            f"method {name!r}: expected a module that can be imported, as package.module:NAME, found none."
        )
    try:
        found: Any = getattr(importlib.import_module(module), attribute, None)
    except Exception as error:  # importing other packages may raise anything
        raise SettingsError(
            f"method {name!r}: expected a module that can be imported, found {type(error).__name__}: {error}. Install "
            "its package, or name its folder in PYTHONPATH."
        ) from error
    if not isinstance(found, Method):
        raise SettingsError(
            f"method {name!r}: expected a shiftbench.methods.contract.Method at {module}:{attribute}, found "
            f"{'nothing' if found is None else type(found).__name__}. Name it as package.module:NAME."
        )
    return dataclasses.replace(found, name=f"{module}:{attribute}")


def fitted(folder: str | os.PathLike[str], *tasks: str) -> Method:
    """The method that was fitted into this folder. One that is not registered is imported from its recorded location.

    It must be for one of the tasks, if any are given.

    Raises:
        SettingsError: if there is none, it is for other tasks, or it cannot be imported.
    """
    from shiftbench.methods import fitted_folder

    name = fitted_folder.read(folder).get("method")
    try:
        return method(str(name), *tasks)
    except UnknownNameError:
        wanted = " or ".join(names(*tasks))
        raise SettingsError(f"{folder}: expected the method {wanted}, found {name!r}. Name its own folder.") from None


def target_of(folder: str | os.PathLike[str]) -> str | None:
    """The target of the method that was fitted into this folder, if its record has it.

    Raises:
        SettingsError: if none was fitted.
    """
    from shiftbench.methods import fitted_folder

    found = fitted_folder.read(folder).get("target")
    return found if isinstance(found, str) else None


def answered(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> Flags | None:
    """A mask of the rows of `frame` [N] that the method fitted into `folder` answers; see `Method.answered`."""
    from shiftbench.methods import fitted_folder

    with fitted_folder.using(folder):
        return fitted(folder).answered(frame, folder=folder)
