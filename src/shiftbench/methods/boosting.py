"""An ensemble of CatBoost models that differ by seed only, each stopped early on dev_in.

Regression: loss RMSEWithUncertainty, so that each member says a mean and a variance (Malinin, Prokhorenkova and
Ustimenko, "Uncertainty in Gradient Boosting via Ensembles", ICLR 2021, eq. 7). Classification: loss MultiClass.

Every member is trained on one core, so that no result depends on the number of cores; members train side by
side. A folder holds `settings.json`, and for each member its model and, written last, a file with its hash.
"""

from __future__ import annotations

import importlib.metadata
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shiftbench import features as columns
from shiftbench import files
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import SettingsError, TableError
from shiftbench.methods import catboost_member, fitted_folder, targets, workers
from shiftbench.methods.catboost_member import Arrays
from shiftbench.methods.settings import MethodSettings, above_zero, whole

if TYPE_CHECKING:
    from shiftbench.features import Features, Inputs
    from shiftbench.methods import Progress

# Smallest variance, in units of the variance of the training targets: a standard deviation of one millionth.
VARIANCE_FLOOR = 1e-12


@dataclass(frozen=True)
class Settings(MethodSettings):
    """Settings of `boosting`; the defaults suit tables of a thousand to a million rows.

    Attributes:
        members: M, the number of models.
        iterations: the most trees a model may have.
        depth: of each tree.
        learning_rate: the weight of each tree.
        early_stopping: trees without gain on dev_in after which a model stops growing; the best ones are kept.
        seed: the members' own seeds follow from it; ensembles with different seeds share no member.
    """

    members: int = 10
    iterations: int = 1000
    depth: int = 6
    learning_rate: float = 0.05
    early_stopping: int = 50
    seed: int = 0

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        return [
            *super().problems(),
            *whole("members", self.members, 1, 1000),
            *whole("iterations", self.iterations, 1, 100_000),
            *whole("depth", self.depth, 1, 16),
            *above_zero("learning_rate", self.learning_rate, 1),
            *whole("early_stopping", self.early_stopping, 1, 100_000),
            *whole("seed", self.seed, 0, 2**63 - 1),
        ]


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
    """Train the members on `train`, stopping early on `dev`, and write them to `folder`.

    Killed at any moment and called again with the same arguments, it trains only the missing members and ends
    with the same files, byte for byte, as an undisturbed call.

    Args:
        train: records [N] to learn from.
        dev: records like those of train (dev_in), for early stopping.
        features: the columns that the models see.
        target: the column to predict.
        settings: see `Settings`.
        folder: a fresh folder, or that of the same fit begun earlier.
        cores: the most members to train at a time; all cores if None.
        progress: called with members done, members in all, and a sentence.
        overwrite: delete another fit in `folder` instead of refusing it.

    Raises:
        TableError: naming what is wrong with the targets or the features.
        SettingsError: if the folder is another fit's, or cannot be written to.
        MissingExtraError: if CatBoost is not installed.
        ShiftbenchError: if a member's process dies; those that are done stay, so call again.
    """
    catboost_member.library()
    cores = workers.available(cores)
    data, facts = _prepare(train, dev, features, target, settings)
    record = {
        "method": "boosting",
        "settings": settings.to_dict(),
        "target": target,
        "features": features.to_json(),
        "data": {"train": train.height, "dev_in": dev.height, "sha256": fitted_folder.digest(data)},
        "catboost": importlib.metadata.version("catboost"),
        **facts,
    }
    place = fitted_folder.claim(folder, record, overwrite=overwrite)
    _train_missing(place, data, settings.members, cores=cores, progress=progress)
    return place


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian | Categorical:
    """What the M members in `folder` say about the N rows of `frame`: [M, N] or [M, N, C].

    Variances are at least 1e-12 times the variance of the training targets.

    Raises:
        TableError: if a feature is missing in `frame`, or of another type than it was trained with.
        SettingsError: if `folder` holds no fit of this method, or members that are missing or damaged.
        MissingExtraError: if CatBoost is not installed.
    """
    record = fitted_folder.read(folder, "boosting")
    models = catboost_member.load(Path(folder), record["settings"]["members"])
    if not frame.height:
        raise TableError("expected at least one record to predict, found none.")
    inputs = columns.matrix(frame, columns.Features.from_json(record["features"]))
    pool = catboost_member.pool(_arrays(inputs, "rows"), "rows")
    kind = "RMSEWithUncertainty" if record["classes"] is None else "Probability"
    count = workers.available(cores)
    outputs = np.stack([model.predict(pool, prediction_type=kind, thread_count=count) for model in models])
    if record["classes"] is None:
        center, scale = record["center"], record["scale"]
        return Gaussian(
            mean=outputs[:, :, 0] * scale + center,
            variance=np.maximum(outputs[:, :, 1], VARIANCE_FLOOR) * scale**2,
        )
    probabilities = np.zeros((*outputs.shape[:2], len(record["classes"])))
    probabilities[:, :, record["trained_classes"]] = outputs
    return Categorical(probabilities, classes=tuple(record["classes"]))


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """How many models with how many trees; nothing is done to the rows of `frame`."""
    record = fitted_folder.read(folder, "boosting")
    members = record["settings"]["members"]
    catboost_member.require(Path(folder), members)
    trees = [catboost_member.note(Path(folder), m)["trees"] for m in range(members)]
    loss = catboost_member.loss(record)
    return f"{len(trees)} CatBoost models that differ by seed ({loss}, {min(trees)} to {max(trees)} trees)"


def _prepare(
    train: pl.DataFrame, dev: pl.DataFrame, features: Features, target: str, settings: Settings
) -> tuple[Arrays, dict[str, Any]]:
    """What the workers need of both partitions, and what `predict` must know of the targets."""
    facts: dict[str, Any]
    goals: Arrays
    if settings.task == "regression":
        y_train, y_dev = targets.numbers(train, dev, target=target)
        # CatBoost's steps in log sigma depend on the unit of the target, and it holds targets as float32.
        center, scale = float(y_train.mean()), float(y_train.std())
        facts = {"classes": None, "center": center, "scale": scale}
        goals = {"train": (y_train - center) / scale, "dev": (y_dev - center) / scale}
    else:
        codes, dev_codes, names = targets.classes(train, dev, target=target, known=settings.classes)
        trained = np.unique(codes)
        seen = np.isin(dev_codes, trained)
        if not seen.any():
            raise TableError(
                f"dev_in, {target}: expected a class that occurs in train, found none. Change the partition."
            )
        dev = dev.filter(pl.Series(seen))
        facts = {"classes": list(names), "trained_classes": trained.tolist()}
        goals = {"train": np.searchsorted(trained, codes), "dev": np.searchsorted(trained, dev_codes[seen])}
    inputs = {"train": columns.matrix(train, features), "dev": columns.matrix(dev, features)}
    _require_variety(inputs["train"])
    data: Arrays = {}
    for part, goal in goals.items():
        data |= {**_arrays(inputs[part], part), f"{part}_target": goal}
    return data, facts


def _require_variety(inputs: Inputs) -> None:
    numeric = inputs.numeric
    same = (numeric == numeric[0]) | (np.isnan(numeric) & np.isnan(numeric[0]))
    if same.all() and all((column == column[0]).all() for column in inputs.categorical):
        names = ", ".join([*inputs.numeric_names, *inputs.categorical_names])
        found = f"only constant ones ({names})" if names else "none"
        raise TableError(f"train: expected features that vary, found {found}. Keep more columns.")


def _arrays(inputs: Inputs, part: str) -> Arrays:
    """Inputs as named arrays; each text column as codes [N] and the texts they stand for."""
    arrays: Arrays = {
        f"{part}_numeric": inputs.numeric,
        f"{part}_numeric_names": np.array(inputs.numeric_names, dtype=str),
        f"{part}_categorical_names": np.array(inputs.categorical_names, dtype=str),
    }
    for place, column in enumerate(inputs.categorical):
        texts, codes = np.unique(np.asarray(column, dtype=str), return_inverse=True)
        arrays |= {f"{part}_texts_{place}": texts, f"{part}_codes_{place}": codes.astype(np.int32)}
    return arrays


def _train_missing(folder: Path, data: Arrays, total: int, *, cores: int, progress: Progress | None) -> None:
    """Train the members that are not whole in `folder`, with the data in a file there while it lasts."""
    missing = [m for m in range(total) if catboost_member.problem(folder, m)]
    done = total - len(missing)
    if progress and done:
        progress(done, total, f"{done} of {total} members were trained before")

    def count(member: int) -> None:
        nonlocal done
        done += 1
        if progress:
            progress(done, total, f"member {member}: {catboost_member.note(folder, member)['trees']} trees")

    inputs = folder / catboost_member.INPUTS
    try:
        if missing:
            _write_inputs(inputs, data)
            workers.train("shiftbench.methods.catboost_member", str(folder), missing, cores=cores, done=count)
    finally:
        inputs.unlink(missing_ok=True)


def _write_inputs(path: Path, data: Arrays) -> None:
    try:
        with files.replacing(path) as temporary, temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **data)
    except OSError as error:
        size = sum(array.nbytes for array in data.values())
        raise SettingsError(
            f"{path.parent}: expected room for {size:,} bytes of inputs while training, found: {error}. "
            "Make room, or choose another folder."
        ) from None
