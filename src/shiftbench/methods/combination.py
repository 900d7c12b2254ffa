"""Several fitted methods as one mixture in which each weighs the same, like the CatBoost and FT-Transformer ensembles
of Shifts together (Malinin et al. 2021, appendix C.5).

The parts stay where they were fitted, in folders beside this one; only their names and the hashes of their records are
noted, so that a part that was fitted anew is noticed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shiftbench import ensembles, files, methods
from shiftbench.check import Flags
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import SettingsError, TableError
from shiftbench.methods import fitted_folder, targets
from shiftbench.methods.settings import MethodSettings, is_folder_name, whole
from shiftbench.output import final, folder_of

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress


@dataclass(frozen=True)
class Settings(MethodSettings):
    """Settings of `combination`.

    Attributes:
        of: the folders of the parts: two or more names of folders beside that of the combination.
        members: K, how many members of the mixture each part is, so that all parts weigh the same. A part with more
            gives its first K; the number of a part with fewer must divide K, and each of its members counts
            several times. If None, the most that any part has where the numbers of all others divide it, and the
            fewest where not.
    """

    of: tuple[str, ...] = ()
    members: int | None = None

    def __post_init__(self) -> None:
        if isinstance(self.of, list):
            object.__setattr__(self, "of", tuple(self.of))
        super().__post_init__()

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = super().problems()
        if self.members is not None:
            found += whole("members", self.members, 1, 1000)
        if not isinstance(self.of, tuple) or not all(
            isinstance(name, str) and is_folder_name(name) for name in self.of
        ):
            found.append(f"of: expected names of folders beside that of the combination, found {self.of!r}.")
        elif len(set(self.of)) < max(2, len(self.of)):
            found.append(f"of: expected two or more different fitted methods, found {list(self.of)}.")
        return found


def fit(
    train: pl.DataFrame,
    dev: pl.DataFrame,
    *,
    features: Features | None = None,
    target: str,
    settings: Settings,
    folder: str | os.PathLike[str],
    cores: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> Path:
    """Check the parts, by letting each predict a row of `train`, and note in `folder` which they are.

    The targets are checked; `features` and `cores` make no difference.

    Raises:
        TableError: naming what is wrong with the targets.
        SettingsError: naming every part that is not fitted, or to another target, task or classes; or if the
            folder is another fit's, or cannot be written to.
    """
    targets.require(train, dev, target=target, settings=settings)
    place = Path(folder)
    parts: dict[str, dict[str, Any]] = {}
    problems: list[str] = []
    for name in settings.of:
        try:
            parts[name] = _part(place, name, train.head(1), target, settings)
        except SettingsError as error:
            problems += error.problems
    classes = {part["classes"] and tuple(part["classes"]) for part in parts.values()}
    if len(classes) > 1:
        problems.append(f"{place}: expected parts with the same classes in the same order, found {list(classes)}.")
    if problems:
        raise SettingsError(*problems)
    each = _per_part([part["members"] for part in parts.values()], settings)
    record = {
        "method": "combination",
        "settings": settings.to_dict(),
        "target": target,
        "records": train.height,
        "each": each,
        "parts": parts,
    }
    fitted_folder.claim(place, record, overwrite=overwrite)
    if progress:
        progress(1, 1, f"{len(parts)} parts of {each} members each")
    return place


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian | Categorical:
    """What the parts say about the N rows of `frame`, side by side: [M, N] or [M, N, C], M = K times the parts.

    Raises:
        TableError: if `frame` has no rows, or lacks what a part needs.
        SettingsError: if `folder` holds no fit of this method, or a part is gone or was fitted anew.
    """
    record = fitted_folder.read(folder, "combination")
    _require_parts(Path(folder), record["parts"])
    if not frame.height:
        raise TableError("expected at least one record to predict, found none.")
    settings = Settings.from_dict(record["settings"])
    places = [folder_of(Path(folder)) / name for name in settings.of]
    said = [methods.fitted(place).load().predict(frame, folder=place, cores=cores) for place in places]
    return of_predictions(said, settings)


def of_predictions(parts: Sequence[Gaussian | Categorical], settings: Settings) -> Gaussian | Categorical:
    """The mixture of what the parts said about the same records, in the order of `settings.of`.

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


def answered(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> Flags:
    """Which rows of `frame` [N] every part has an answer for."""
    record, place = fitted_folder.read(folder, "combination"), folder_of(Path(folder))
    everywhere = np.ones(frame.height, dtype=np.bool_)
    for name in record["settings"]["of"]:
        flags = methods.answered(frame, folder=place / name)
        everywhere &= True if flags is None else flags
    return everywhere


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """The parts and how many of their members are used; nothing is done to the rows of `frame`."""
    record = fitted_folder.read(folder, "combination")
    _require_parts(Path(folder), record["parts"])
    counts = {name: record["parts"][name]["members"] for name in record["settings"]["of"]}
    shown = ", ".join(f"{name} ({_share(count, record['each'])})" for name, count in counts.items())
    return f"one mixture of {shown}, each of the same weight"


def _part(place: Path, name: str, row: pl.DataFrame, target: str, settings: Settings) -> dict[str, Any]:
    """What is noted of a part, having checked that it is whole and of the same target and task."""
    folder = folder_of(place) / name
    if folder.resolve() == final(place):
        raise SettingsError(f"{place}: expected other fitted methods to combine, found itself. Take it out of `of`.")
    method, record = methods.fitted(folder), fitted_folder.read(folder)
    problems = [
        f"{folder}: expected a fit to the {what} {wanted!r}, found {found!r}. Take it out of `of`, or fit it again."
        for what, wanted, found in (
            ("target", target, record["target"]),
            ("task", settings.task, record["settings"]["task"]),
        )
        if found != wanted
    ]
    if problems:
        raise SettingsError(*problems)
    said = method.load().predict(row, folder=folder, cores=1)
    classes = list(said.classes or ()) if isinstance(said, Categorical) else None
    if settings.classes is not None and classes != list(settings.classes):
        raise SettingsError(
            f"{folder}: expected a fit to the classes {list(settings.classes)}, found {classes}. Fit it again."
        )
    return {"method": method.name, "members": said.members, "classes": classes, "sha256": _hash(folder)}


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
    return f"{members} member{'s' * (members > 1)}{times}"


def _require_parts(place: Path, parts: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that every part is the one that was combined. So no combination is ever a part of itself, by any detour:
    its record would hold a hash of itself."""
    problems: list[str] = []
    for name, part in parts.items():
        folder = folder_of(place) / name
        try:
            fitted_folder.read(folder)
        except SettingsError as error:
            problems += error.problems
            continue
        if _hash(folder) != part["sha256"]:
            problems.append(
                f"{folder}: expected the fit that was combined, found another one. Fit the combination again "
                "(overwrite=True)."
            )
    if problems:
        raise SettingsError(*problems)


def _hash(folder: Path) -> str:
    return files.sha256(folder / fitted_folder.RECORD)
