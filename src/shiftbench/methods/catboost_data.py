"""What the CatBoost methods share: from tables to a folder of trained models, and from their outputs to an ensemble."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import features as columns
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import TableError
from shiftbench.methods import catboost_member, catboost_trial, fitted_folder, member_files, workers
from shiftbench.methods.folds import Folds
from shiftbench.methods.goals import Answers, goals
from shiftbench.methods.member_files import Arrays
from shiftbench.methods.settings import MethodSettings
from shiftbench.methods.tally import Tally, span

if TYPE_CHECKING:
    from shiftbench.features import Features, Inputs
    from shiftbench.methods import Progress

BLOCK_ROWS = 1 << 19  # rows that are predicted at a time; with fewer, the calls themselves cost time
MOST_LEFT = 0.25  # of what can be learnt, after which it is doubtful that trees were enough

Outputs = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Plan:
    """What is to be trained.

    Attributes:
        method: its name.
        settings: of the method.
        models: their number.
        options: CatBoost's, beyond the settings.
        losses: CatBoost's names, each for as many of the models; if none are named, the likelihood.
        folds: for each record of train [N] its fold; if None, models learn from train and are stopped on dev_in.
        linear_starts: whether every other member starts from a linear model.
    """

    method: str
    settings: MethodSettings
    models: int
    options: Mapping[str, Any] = field(default_factory=dict)
    losses: tuple[str, ...] = ()
    folds: Folds | None = None
    linear_starts: bool = False

    def __post_init__(self) -> None:
        likelihood = "RMSEWithUncertainty" if self.settings.task == "regression" else "MultiClass"
        object.__setattr__(self, "losses", self.losses or (likelihood,))


def train(
    plan: Plan,
    parts: tuple[pl.DataFrame, pl.DataFrame],
    *,
    features: Features,
    target: str,
    folder: str | os.PathLike[str],
    cores: int | None,
    progress: Progress | None,
    overwrite: bool,
) -> Path:
    """Train the models that are missing in `folder` on (train, dev_in); see `boosting.fit`."""
    catboost_member.library()
    cores = workers.available(cores)
    if plan.options.get("task_type") == "GPU":
        catboost_member.require_gpu()
        cores = 1  # one after the other: each has the whole GPU
    data, facts = _prepare(*parts, features, target, plan.settings)
    if plan.folds is not None:
        data["train_folds"] = plan.folds
    record = {
        "method": plan.method,
        "settings": plan.settings.to_dict(),
        "models": plan.models,
        "losses": list(plan.losses),
        "linear_starts": plan.linear_starts,
        "options": dict(plan.options),
        "target": target,
        "features": features.to_json(),
        "data": {"train": parts[0].height, "dev_in": parts[1].height, "sha256": fitted_folder.digest(data)},
        "catboost": importlib.metadata.version("catboost"),
        **facts,
    }
    place = fitted_folder.claim(folder, record, overwrite=overwrite)
    _train_missing(place, data, plan, cores=cores, progress=progress)
    return place


def ensemble(
    frame: pl.DataFrame, record: Mapping[str, Any], *, members: int, outputs: Callable[[Any, Arrays], Iterable[Outputs]]
) -> Gaussian | Categorical:
    """What M members say about the N rows of `frame`, in the units and classes of the training targets.

    Of a pool of n rows, and of their arrays by names that begin with "rows", `outputs` gives, member by member,
    mean and variance of the standardised target [n, 2], or the probabilities of the classes that occur in train
    [n, K]. Rows go through in blocks, so that besides the result memory is needed for one block only. Variances are
    at least 1e-12 times the variance of the training targets.

    Raises:
        TableError: if `frame` has no rows, or lacks what the models need.
    """
    if not frame.height:
        raise TableError("expected at least one record to predict, found none.")
    answers = Answers(record, members=members, records=frame.height)
    for rows, arrays in _blocks(frame, record):
        for member, output in enumerate(outputs(catboost_member.pool(arrays, "rows"), arrays)):
            answers.put(member, rows, output)
    return answers.ensemble()


def caution(folder: str | os.PathLike[str], method: str) -> str:
    """A sentence if most models of a fit ended their training too early or at the limit of their trees, or "".

    With learning rate r each tree takes up the share r of what is left to be learnt; so after T trees at least
    (1 - r)^T of it is left, whatever the trees find. Where that is over a quarter, the models have hardly begun.
    """
    record = fitted_folder.read(folder, method)
    settings = record["settings"]
    trees = catboost_member.trees(Path(folder), record["models"])[: record["models"] // len(record["losses"])]
    limit, rate = settings["iterations"], settings["learning_rate"]
    unstopped = [count for count in trees if count > limit - settings["early_stopping"]]
    if 2 * len(unstopped) > len(trees):
        return (
            f"Training ended at the limit of {limit:,} trees in {len(unstopped)} of {len(trees)} models, which may "
            "still have been gaining: more iterations may make them better."
        )
    early = [count for count in trees if (1 - rate) ** count > MOST_LEFT]
    if 2 * len(early) > len(trees):
        left = (1 - rate) ** max(early)
        return (
            f"Training ended suspiciously early: {len(early)} of {len(trees)} models have {span(early, 'trees')} of "
            f"{limit:,}, which at learning_rate {rate:g} leave at least {left:.0%} of any pattern unlearnt. "
            "Either the features say little, or the records that stop training are few or noisy: compare another "
            "method before you believe that this one cannot do better."
        )
    return ""


def _blocks(frame: pl.DataFrame, record: Mapping[str, Any]) -> Iterator[tuple[slice, Arrays]]:
    """Consecutive rows of `frame` as arrays, with their places."""
    features = columns.Features.from_json(record["features"])
    for start in range(0, frame.height, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, frame.height))
        try:
            inputs = columns.matrix(frame[rows], features)
        except TableError:
            columns.matrix(frame, features)  # says the same with the rows and counts of the whole table
            raise
        yield rows, _arrays(inputs, "rows")


def _prepare(
    train: pl.DataFrame, dev: pl.DataFrame, features: Features, target: str, settings: MethodSettings
) -> tuple[Arrays, dict[str, Any]]:
    """What the workers need of both partitions, and what `predict` must know of the targets."""
    wanted = goals(train, dev, target=target, settings=settings)
    inputs = columns.matrix(train, features)
    _require_variety(inputs)
    data = {**_arrays(inputs, "train"), "train_target": wanted.train}
    data |= {**_arrays(columns.matrix(wanted.dev_rows, features), "dev"), "dev_target": wanted.dev}
    return data, wanted.facts


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


def _train_missing(folder: Path, data: Arrays, plan: Plan, *, cores: int, progress: Progress | None) -> None:
    """Train the members that are not whole in `folder`."""
    kept = catboost_member.files_in(folder)
    tally = Tally(
        kept, plan.models, steps=plan.settings.to_dict()["iterations"], progress=progress,
        about=lambda member: f"{kept.note(member)['trees']} trees",
    )  # fmt: skip
    if tally.missing:
        with member_files.inputs(folder, data):
            workers.train(
                "shiftbench.methods.catboost_member", str(folder), tally.missing, cores=cores, done=tally.finished,
                step=tally.step,
            )  # fmt: skip
        catboost_trial.trust(kept, tally.missing)
