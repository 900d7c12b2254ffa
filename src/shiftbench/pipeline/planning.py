"""The methods of a run on a table: their order and settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from shiftbench import methods
from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.methods import presets
from shiftbench.methods.contract import Method
from shiftbench.methods.settings import TASKS
from shiftbench.pipeline.settings import DEFAULT_METHOD, Settings, title
from shiftbench.pipeline.study import Planned


def plan(settings: Settings) -> list[Planned]:
    """The methods in order, then the constant baseline if it is none of them, then every column that is a forecast.

    Raises:
        SettingsError: if a method is composed of others that do not precede it.
    """
    planned: list[Planned] = []
    for entry in chosen_methods(settings):
        planned.append(_planned(entry, settings, [before.name for before in planned]))
    constant = "majority" if settings.task == "classification" else "mean"
    if not any((each.name, each.method) == (constant, constant) for each in planned):
        planned.append(Planned(constant, constant, "baseline", {}))
    taken = {entry.name for entry in planned}
    for column in dict.fromkeys(settings.baselines):
        name = f"{column} (column)" if column in taken else column
        planned.append(Planned(name, "column", "baseline", {"column": column}))
    return planned


def chosen_methods(settings: Settings) -> tuple[Mapping[str, Any], ...]:
    """The methods listed in the settings, or those of the preset, or the default one, with the number of members."""
    entries = settings.methods or ({"name": DEFAULT_METHOD},)
    if settings.preset:
        entries = presets.preset(settings.preset, task=settings.task or "regression")
    if settings.members is None:
        return entries
    known = [_method(entry, settings) for entry in entries]
    # Without an ensemble of single models, `members` means whatever each method calls members.
    counted = any(method.role == "ensemble" for method in known)
    return tuple(
        {**entry, "members": settings.members} if method.role == "ensemble" or not counted else entry
        for entry, method in zip(entries, known, strict=True)
    )


def _method(entry: Mapping[str, Any], settings: Settings) -> Method:
    """The method of an entry, which must be for the task, or for one of those of tables if it is not known yet."""
    return methods.method(str(entry.get("name", DEFAULT_METHOD)), *([settings.task] if settings.task else TASKS))


def _planned(entry: Mapping[str, Any], settings: Settings, before: Sequence[str]) -> Planned:
    name, method = title(entry), _method(entry, settings)
    own = {key: value for key, value in entry.items() if key not in ("name", "title")}
    known = {place.name for place in fields(method.Settings)}
    if "seed" in known:
        own.setdefault("seed", settings.seed)
    if "of" in known:
        made_of = own.get("of", ())
        if not isinstance(made_of, (str, list, tuple)):
            raise SettingsError(f"{name}: expected names of methods in `of`, found {made_of!r}.")
        parts = [made_of] if isinstance(made_of, str) else list(made_of)
        if late := [part for part in parts if part not in before]:
            raise SettingsError(
                f"{name}: expected to be made of methods that come before it ({', '.join(before) or 'none'}), found "
                f"{', '.join(map(repr, late))}. Change the order, or the names in `of`."
            )
        places = [files.name_of(part) for part in parts]
        own["of"] = places[0] if isinstance(own.get("of"), str) else places
    return Planned(name, method.name, method.role, own)


def own_settings(planned: Planned, settings: Settings, clusters: Sequence[str] = ()) -> Any:
    """The validated settings of a system's method; its folds keep `clusters` whole unless it names its own."""
    module = methods.method(planned.method)
    own: dict[str, Any] = {"task": settings.task}
    own |= {"classes": settings.classes} if settings.classes else {}
    own |= {"clusters": list(clusters)} if "clusters" in {place.name for place in fields(module.Settings)} else {}
    return module.Settings.from_dict({**own, **planned.settings})


def written_out(settings: Settings) -> Settings:
    """The settings with every default of the methods written out, so that a later version can repeat the run."""
    entries = []
    for planned, entry in zip(plan(settings), chosen_methods(settings), strict=False):
        own = own_settings(planned, settings).to_dict()
        if "of" in own:
            own["of"] = entry["of"]
        left = {"task", "classes", *({"clusters"} - planned.settings.keys())}  # derived from the partition
        values = {name: value for name, value in own.items() if name not in left}
        entries.append({"name": planned.method, "title": planned.name, **values})
    return replace(settings, preset="", members=None, methods=tuple(entries))
