"""Shared parts of the CatBoost methods: settings, training from tables into a folder of models, and prediction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import TableError
from shiftbench.io import executor
from shiftbench.methods import fitted_folder, member_files, workers
from shiftbench.methods.boosting import model, trial
from shiftbench.methods.boosting.folds import Folds
from shiftbench.methods.contract import Fitted, Job, Method, Prepared
from shiftbench.methods.member_files import Arrays, span
from shiftbench.methods.progress import TrainingProgress
from shiftbench.methods.settings import MethodSettings, positive, seed_number, whole_number
from shiftbench.methods.target_encoding import PredictionArrays, encoded_targets
from shiftbench.partition import features as columns
from shiftbench.partition.features import Inputs

BLOCK_ROWS = 1 << 19  # rows predicted at a time; smaller blocks cost time for calls
MOST_TREES = 100_000  # that settings may ask for
MOST_LEFT = 0.25  # unlearnt share above which the number of trees is suspicious

Outputs = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BoostingSettings(MethodSettings):
    """Settings of all boosting methods; the defaults suit tables of a thousand to a million rows.

    Attributes:
        members: M, the number of members.
        iterations: the maximum number of trees of a model.
        depth: of each tree.
        learning_rate: the weight of each tree.
        early_stopping: trees without gain, on the validation records, after which training stops; the best ones are
            kept.
        seed: the models' own seeds follow from it; ensembles with different seeds share no model.
    """

    members: int = whole_number(10, 1, 1000)
    iterations: int = whole_number(1000, 1, MOST_TREES)
    depth: int = whole_number(6, 1, 16)
    learning_rate: float = positive(0.05, 1)
    early_stopping: int = whole_number(50, 1, 100_000)
    seed: int = seed_number()


@dataclass(frozen=True)
class Plan:
    """The models that a fit trains.

    Attributes:
        models: their number.
        options: CatBoost's, beyond the settings.
        losses: CatBoost's names, each for as many of the models; if none are named, the likelihood.
        folds: for each record of train [N] its fold; if None, models learn from train and are stopped on dev_in.
        linear_starts: whether every other member starts from a linear model.
    """

    models: int
    options: Mapping[str, Any] = field(default_factory=dict)
    losses: tuple[str, ...] = ()
    folds: Folds | None = None
    linear_starts: bool = False


def boosted(
    name: str,
    title: str,
    settings: type[BoostingSettings],
    *,
    plan: Callable[[Job], Plan],
    answer: Callable[[pl.DataFrame, Fitted], Gaussian | Categorical],
    describe: Callable[[pl.DataFrame, Fitted], str],
    role: Literal["ensemble", "model"] = "ensemble",
    finish: Callable[[Job], None] = lambda _: None,
) -> Method:
    """A method that trains the models of a plan; `finish` is called when all are trained."""

    def train(job: Job, data: Arrays) -> None:
        train_missing(job, data)
        finish(job)

    return Method(
        name, title, settings, lambda job: prepare(job, plan(job)), answer, describe, role, train, ("catboost",),
        "boosting", doubt=caution, counts="trees",
    )  # fmt: skip


def prepare(job: Job, plan: Plan) -> Prepared:
    """Encode both partitions.

    Raises:
        TableError: naming what is wrong with the targets or the features.
        SettingsError: if there is no GPU to train on.
    """
    if plan.options.get("task_type") == "GPU" and not executor.current().elsewhere:
        model.require_gpu()
    targets = encoded_targets(job)
    inputs = columns.matrix(job.train, job.features)
    columns.require_variety(inputs)
    data = {**arrays(inputs, "train"), "train_target": targets.train}
    data |= {**arrays(columns.matrix(targets.dev_rows, job.features), "dev"), "dev_target": targets.dev}
    if plan.folds is not None:
        data["train_folds"] = plan.folds
    likelihood = "RMSEWithUncertainty" if job.settings.task == "regression" else "MultiClass"
    record = {
        "models": plan.models,
        "losses": list(plan.losses or (likelihood,)),
        "linear_starts": plan.linear_starts,
        "options": dict(plan.options),
        "features": job.features.to_json(),
        "catboost": job.libraries["catboost"],
        **targets.facts,
    }
    return Prepared(record, data)


def train_missing(job: Job, data: Arrays) -> None:
    """Train the models that are not complete in the folder of the fit, each on one core, in parallel."""
    record, kept = fitted_folder.read(job.folder), model.files_in(job.folder)
    progress = TrainingProgress(
        kept, record["models"], steps=job.settings.iterations, progress=job.progress,
        about=lambda member: f"{kept.note(member)['trees']} trees",
    )  # fmt: skip
    if progress.missing:
        gpu = record["options"].get("task_type") == "GPU"  # one after the other: each has the whole GPU
        with member_files.inputs(job.folder, data):
            workers.train(
                model.__name__, str(job.folder.absolute()), progress.missing, folder=job.folder,
                cores=1 if gpu else job.cores, done=progress.finished, step=progress.step,
            )  # fmt: skip
        trial.trust(kept, progress.missing)


def ensemble(
    frame: pl.DataFrame, record: Mapping[str, Any], *, members: int, outputs: Callable[[Any, Arrays], Iterable[Outputs]]
) -> Gaussian | Categorical:
    """The prediction of M members for the N rows of `frame`, in the units and classes of the training targets.

    Of a pool of n rows, and of their arrays by names that begin with "rows", `outputs` gives, member by member,
    mean and variance of the standardised target [n, 2], or the probabilities of the classes that occur in train
    [n, K]. Rows go through in blocks, so that besides the result memory is needed for one block only.

    Raises:
        TableError: if `frame` lacks what the models need.
    """
    found = PredictionArrays(record, members=members, records=frame.height)
    features = columns.Features.from_json(record["features"])
    for start in range(0, frame.height, BLOCK_ROWS):
        rows = slice(start, min(start + BLOCK_ROWS, frame.height))
        try:
            inputs = columns.matrix(frame[rows], features)
        except TableError:
            columns.matrix(frame, features)  # raises the same with the rows and counts of the whole table
            raise
        block = arrays(inputs, "rows")
        for member, output in enumerate(outputs(model.pool(block, "rows"), block)):
            found.put(member, rows, output)
    return found.ensemble()


def outputs_of_models(frame: pl.DataFrame, fitted: Fitted) -> Gaussian | Categorical:
    """The prediction with each model as a member."""
    models = model.load(fitted.folder, fitted.record["models"])
    kind = "RMSEWithUncertainty" if fitted.record["classes"] is None else "Probability"

    def outputs(pool: Any, _arrays: Arrays) -> Iterator[Outputs]:
        return (each.predict(pool, prediction_type=kind, thread_count=fitted.cores) for each in models)

    return ensemble(frame, fitted.record, members=len(models), outputs=outputs)


def caution(fitted: Fitted) -> str:
    """A sentence if most models of a fit ended their training too early or at the limit of their trees, or "".

    With learning rate r each tree learns at most the share r of the remainder; so after T trees at least (1 - r)^T is
    left, whatever the trees find. If that is over a quarter, training has hardly begun.
    """
    record, settings = fitted.record, fitted.record["settings"]
    trees = model.trees(fitted.folder, record["models"])[: record["models"] // len(record["losses"])]
    limit, rate = settings["iterations"], settings["learning_rate"]
    unstopped = [count for count in trees if count > limit - settings["early_stopping"]]
    if 2 * len(unstopped) > len(trees):
        wanted, of_what = 3 * limit, " of the mean" if len(record["losses"]) > 1 else ""
        more = f"`iterations = {wanted}`" if wanted <= MOST_TREES else "a higher `learning_rate`"
        return (
            f"Training ended at the limit of {limit:,} trees in {len(unstopped)} of {len(trees)} models{of_what}, "
            f"which may still have been gaining: set {more} in `[[methods]]` of the run's `run.toml`, and repeat it "
            "with `run --config run.toml`."
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


def arrays(inputs: Inputs, part: str) -> Arrays:
    """Inputs as named arrays; each text column as codes [N] and their texts."""
    found: Arrays = {
        f"{part}_numeric": inputs.numeric,
        f"{part}_numeric_names": np.array(inputs.numeric_names, dtype=str),
        f"{part}_categorical_names": np.array(inputs.categorical_names, dtype=str),
    }
    for place, column in enumerate(inputs.categorical):
        texts, codes = np.unique(np.asarray(column, dtype=str), return_inverse=True)
        found |= {f"{part}_texts_{place}": texts, f"{part}_codes_{place}": codes.astype(np.int32)}
    return found
