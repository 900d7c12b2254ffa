"""Shared by the methods whose members train together: settings, fitting from tables to a folder of weights, prediction.

PyTorch is imported only when something is trained or predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import methods
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.io import executor
from shiftbench.methods import fitted_folder, member_files, workers
from shiftbench.methods.contract import Fitted, Job, Method, Prepared
from shiftbench.methods.member_files import Arrays
from shiftbench.methods.settings import MethodSettings, non_negative, positive, seed_number, switch, whole_number
from shiftbench.methods.target_encoding import encoded_targets
from shiftbench.methods.workers import Train
from shiftbench.partition.features import Features

if TYPE_CHECKING:
    from shiftbench.methods.batched.networks import MakeNetwork


class Inputs(Protocol):
    """Encodes the records of a table as inputs of networks."""

    def encode(self, frame: pl.DataFrame) -> npt.NDArray[np.float32]:
        """The records of a table [N, D]."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""


@dataclass(frozen=True)
class BatchedSettings(MethodSettings):
    """Settings of all networks trained together; the defaults are those of Shifts 2.0 (appendix D.3 and public code).

    Attributes:
        members: M, the number of networks. One program trains all of them.
        batch: records of each member in a step.
        learning_rate: of Adam; the highest, if it falls.
        cosine: whether the learning rate falls to 0 along half a cosine over the maximum number of steps.
        weight_decay: of AdamW; without it AdamW is Adam.
        epochs: the most times that a record is seen. All of dev_in validates after each, and at the end.
        most_steps: the maximum number of steps, which bounds the cost for any number of records; None: no bound.
        patience: validations without a smaller mean absolute error, of the mean prediction, after which a member stops;
            its best weights are kept.
        seed: the members' own seeds follow from it; ensembles with different seeds share no member.
    """

    tasks: ClassVar[tuple[str, ...]] = ("regression",)

    members: int = whole_number(10, 1, 1000)
    batch: int = whole_number(32, 1, 1_000_000)
    learning_rate: float = positive(1e-4, 1)
    cosine: bool = switch(False)
    weight_decay: float = non_negative(0.0, 1)
    epochs: int = whole_number(200, 1, 100_000)
    most_steps: int | None = whole_number(None, 1, 100_000_000)
    patience: int = whole_number(4, 1, 100_000)
    seed: int = seed_number()


def batched(
    name: str,
    title: str,
    settings: type[BatchedSettings],
    *,
    make: MakeNetwork,
    learn_inputs: Callable[[Job], Inputs],
    read_inputs: Callable[[Mapping[str, Any]], Inputs],
    describe: Callable[[pl.DataFrame, Fitted], str],
) -> Method:
    """A method with members from `make`; `learn_inputs` fits the encoding of records to train.

    Killed at any moment and called again, a fit goes on from about a minute before. On a CPU one core is used; on a
    cluster the training is one job.
    """

    def train(job: Job, data: Arrays) -> None:
        from shiftbench.methods.batched import members

        if executor.current().elsewhere and member_files.weights(job.folder).missing(job.settings.members):
            with member_files.inputs(job.folder, data) as argument:
                workers.train(__name__, argument, [0], folder=job.folder, cores=1, done=lambda _all: None)
        members.train_missing(job, data, make)

    def answer(frame: pl.DataFrame, fitted: Fitted) -> Gaussian | Categorical:
        from shiftbench.methods.batched import members

        net = members.load(fitted.folder, fitted.record, make)
        return members.predict(net, fitted, read_inputs(fitted.record["inputs"]).encode(frame))

    return Method(
        name, title, settings, lambda job: prepare(job, learn_inputs), answer, describe, train=train,
        libraries=("torch",), extra="neural", counts="validations",
    )  # fmt: skip


def trainer(argument: str, _number: int) -> Train:
    """What trains all members of the fit in a folder; see `workers.train`."""
    folder = Path(argument)
    method, record, arrays = methods.fitted(folder), fitted_folder.read(folder), member_files.read_inputs(folder)
    settings, nothing = method.Settings.from_dict(record["settings"]), pl.DataFrame()
    job = Job(nothing, nothing, Features(), record["target"], settings, folder, cores=1)
    assert method.train
    return lambda _all, _report: method.train(job, arrays)  # type: ignore[misc]


def prepare(job: Job, learn_inputs: Callable[[Job], Inputs]) -> Prepared:
    """Encode both partitions.

    Raises:
        TableError: listing the problems of targets and features.
    """
    targets, inputs = encoded_targets(job), learn_inputs(job)
    data: Arrays = {}
    for part, frame, encoded in (("train", job.train, targets.train), ("dev", job.dev, targets.dev)):
        data |= {f"{part}_numbers": inputs.encode(frame), f"{part}_targets": encoded.astype(np.float32)}
    record = {"libraries": job.libraries, "inputs": inputs.to_json(), "width": data["train_numbers"].shape[1]}
    return Prepared({**record, **targets.facts}, data)
