"""Several fitted methods as one mixture with equal weights, such as the combined CatBoost and FT-Transformer ensembles
of Shifts (Malinin et al. 2021, appendix C.5).

The parts stay where they were fitted, in folders beside this one; only their names and the hashes of their records are
noted, so that a part that was fitted anew is noticed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shiftbench import ensembles, methods
from shiftbench.check import Flags
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import SettingsError, counted
from shiftbench.io.output import final, folder_of
from shiftbench.methods import fitted_folder, targets
from shiftbench.methods.contract import Fitted, Job, Method, Prepared, require_same_fit
from shiftbench.methods.settings import TASKS, MethodSettings, is_folder_name, whole_number


@dataclass(frozen=True)
class Settings(MethodSettings):
    """Settings of `combination`.

    Attributes:
        of: the folders of the parts: two or more names of folders beside that of the combination.
        members: K, the number of members that each part contributes, so that all parts have equal weights. A part with
            more contributes its first K; the number of a part with fewer must divide K, and each of its members counts
            several times. If None, the largest number of any part if those of all others divide it, else the smallest.
    """

    of: tuple[str, ...] = ()
    members: int | None = whole_number(None, 1, 1000)

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = super().problems()
        if not isinstance(self.of, tuple) or not all(map(is_folder_name, self.of)):
            found.append(f"of: expected names of folders beside that of the combination, found {self.of!r}.")
        elif len(set(self.of)) < max(2, len(self.of)):
            found.append(f"of: expected two or more different fitted methods, found {list(self.of)}.")
        return found


def prepare(job: Job) -> Prepared:
    """Check the parts, by letting each predict a row of train, and note which they are.

    Raises:
        TableError: naming what is wrong with the targets.
        SettingsError: naming every part that is not fitted, or to another target, task or classes.
    """
    targets.require(job.train, job.dev, target=job.target, settings=job.settings)
    parts: dict[str, dict[str, Any]] = {}
    problems: list[str] = []
    for name in job.settings.of:
        try:
            parts[name] = _part(job, name)
        except SettingsError as error:
            problems += error.problems
    classes = {part["classes"] and tuple(part["classes"]) for part in parts.values()}
    if len(classes) > 1:
        problems.append(f"{job.folder}: expected parts with the same classes in the same order, found {list(classes)}.")
    if problems:
        raise SettingsError(*problems)
    each = _per_part([part["members"] for part in parts.values()], job.settings)
    return Prepared({"records": job.train.height, "each": each, "parts": parts})


def answer(frame: pl.DataFrame, fitted: Fitted) -> Gaussian | Categorical:
    """The predictions of the parts side by side: [M, N] or [M, N, C], M = K times the parts.

    Raises:
        TableError: if `frame` lacks what a part needs.
        SettingsError: if a part is gone or was fitted anew.
    """
    _require_parts(fitted)
    settings = Settings.from_dict(fitted.record["settings"])
    places = [folder_of(fitted.folder) / name for name in settings.of]
    predicted = [methods.fitted(place).predict(frame, folder=place, cores=fitted.cores) for place in places]
    return combine(predicted, settings)


def combine(parts: Sequence[Gaussian | Categorical], settings: Settings) -> Gaussian | Categorical:
    """The mixture of the predictions of the parts for the same records, in the order of `settings.of`.

    Raises:
        SettingsError: if there are not as many parts as `settings.of` names, or their members cannot weigh the same.
        ArrayError: if the parts are of different kinds, numbers of records, or classes.
    """
    if len(parts) != len(settings.of):
        raise SettingsError(f"of: expected predictions of {', '.join(settings.of)}, found {len(parts)} of them.")
    each = _per_part([part.members for part in parts], settings)
    # Views of single members, so that their numbers are copied only once.
    members = [part.member(m % part.members) for part in parts for m in range(each)]
    return ensembles.combine(*members)


def has_answer(frame: pl.DataFrame, fitted: Fitted) -> Flags:
    """A mask of the rows of `frame` [N] that every part answers."""
    everywhere = np.ones(frame.height, dtype=np.bool_)
    for name in fitted.record["settings"]["of"]:
        flags = methods.answered(frame, folder=folder_of(fitted.folder) / name)
        everywhere &= True if flags is None else flags
    return everywhere


def describe(frame: pl.DataFrame, fitted: Fitted) -> str:
    """The parts and the numbers of their members that are used."""
    _require_parts(fitted)
    counts = {name: fitted.record["parts"][name]["members"] for name in fitted.record["settings"]["of"]}
    shown = ", ".join(f"{name} ({_share(count, fitted.record['each'])})" for name, count in counts.items())
    return f"one mixture of {shown}, each of the same weight"


def _part(job: Job, name: str) -> dict[str, Any]:
    """The record of a part, checked to be complete and of the same target and task."""
    folder = folder_of(job.folder) / name
    if folder.resolve() == final(job.folder):
        raise SettingsError(
            f"{job.folder}: expected other fitted methods to combine, found itself. Take it out of `of`."
        )
    method, record = methods.fitted(folder, *TASKS), fitted_folder.read(folder)
    found = {"target": record["target"], "task": record["settings"]["task"]}
    wanted = {"target": job.target, "task": job.settings.task}
    require_same_fit(folder, found, wanted, "Take it out of `of`, or fit it again.")
    predicted = method.predict(job.train.head(1), folder=folder, cores=1)
    classes = list(predicted.classes or ()) if isinstance(predicted, Categorical) else None
    if job.settings.classes is not None:
        require_same_fit(folder, {"classes": classes}, {"classes": list(job.settings.classes)}, "Fit it again.")
    return {
        "method": method.name,
        "members": predicted.members,
        "classes": classes,
        "sha256": fitted_folder.identity(folder),
    }


def _per_part(counts: Sequence[int], settings: Settings) -> int:
    """K, the members of the mixture that each part is."""
    most, fewest = max(counts), min(counts)
    if settings.members is None:
        return most if all(most % count == 0 for count in counts) else fewest
    if uneven := [count for count in counts if count < settings.members and settings.members % count]:
        raise SettingsError(
            f"members: expected at most {fewest}, or a multiple of {uneven[0]} (members of a part), so that all parts "
            f"weigh the same, found {settings.members}. Take {fewest}."
        )
    return settings.members


def _share(members: int, each: int) -> str:
    if members > each:
        return f"the first {each} of {members} members"
    times = f", each {each // members} times" if members < each else ""
    return f"{counted(members, 'member')}{times}"


def _require_parts(fitted: Fitted) -> None:
    """Check that every part is the one that was combined. So no combination is ever a part of itself, by any detour:
    its record would hold a hash of itself."""
    problems: list[str] = []
    for name, part in fitted.record["parts"].items():
        folder = folder_of(fitted.folder) / name
        try:
            fitted_folder.read(folder)
        except SettingsError as error:
            problems += error.problems
            continue
        if fitted_folder.identity(folder) != part["sha256"]:
            problems.append(
                f"{folder}: expected the fit that was combined, found another one. Fit the combination again "
                "(overwrite=True)."
            )
    if problems:
        raise SettingsError(*problems)


METHOD = Method(
    "combination", "Fitted methods as one mixture", Settings, prepare, answer, describe, "model",
    has_answer=has_answer, combine=combine,
)  # fmt: skip
