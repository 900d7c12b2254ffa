"""Shared by the methods of networks: settings, training from tables into a folder, and prediction of an ensemble.

PyTorch is imported only when something is trained or predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.methods import member_files
from shiftbench.methods.contract import Fitted, Job, Method, Prepared, Role
from shiftbench.methods.member_files import Arrays
from shiftbench.methods.networks.encoding import Encoding
from shiftbench.methods.settings import MethodSettings, non_negative, positive, seed_number, switch, whole_number
from shiftbench.methods.target_encoding import PredictionArrays, encoded_targets
from shiftbench.partition import features as columns

if TYPE_CHECKING:
    from shiftbench.methods.networks.member import Rows

MOST_DEV = 10_000  # records of dev_in for early stopping; more would only take longer


@dataclass(frozen=True)
class NetworkSettings(MethodSettings):
    """Settings of all networks; see the methods for the meaning of the defaults.

    Attributes:
        members: M, the number of networks.
        batch: records in a step.
        learning_rate: the highest; it rises over the first 5 % of all steps (at most 500) and falls along a cosine.
        weight_decay: of AdamW.
        epochs: the largest number of passes over the records.
        most_steps: the largest number of steps, which bounds the cost for any number of records.
        patience: validations on dev_in (at least once an epoch, and about 50 in all if epochs are long) without
            improvement after which a network stops; the best weights are kept.
        mixed_precision: on a GPU, train in 16 bits where that is safe. No effect on a CPU.
        seed: the members' own seeds follow from it; ensembles with different seeds have no common member.
    """

    members: int = whole_number(10, 1, 1000)
    batch: int = whole_number(256, 1, 1_000_000)
    learning_rate: float = positive(1e-4, 1)
    weight_decay: float = non_negative(1e-5, 1)
    epochs: int = whole_number(100, 1, 100_000)
    most_steps: int = whole_number(20_000, 1, 100_000_000)
    patience: int = whole_number(16, 1, 100_000)
    mixed_precision: bool = switch(True)
    seed: int = seed_number()


def of_networks(
    name: str,
    title: str,
    settings: type[NetworkSettings],
    describe: Callable[[pl.DataFrame, Fitted], str],
    libraries: tuple[str, ...],
    role: Role = "ensemble",
) -> Method:
    """A method that trains the networks of its name in `architectures.NETWORKS`."""
    return Method(
        name, title, settings, prepare, answer, describe, role, train=train_missing,
        libraries=libraries, extra="neural",
    )  # fmt: skip


def prepare(job: Job) -> Prepared:
    """Encode both partitions.

    Raises:
        TableError: naming the problems of targets and features.
    """
    targets = encoded_targets(job)
    chosen = np.sort(np.random.default_rng(0).permutation(len(targets.dev))[:MOST_DEV])
    inputs = columns.matrix(job.train, job.features)
    encoding = Encoding.fit(inputs)
    data: Arrays = {}
    for part, given, encoded in (
        ("train", inputs, targets.train),
        ("dev", columns.matrix(targets.dev_rows[chosen], job.features), targets.dev[chosen]),
    ):
        numbers, codes = encoding.encode(given)
        learnt = encoded.astype(np.float32) if job.settings.task == "regression" else encoded
        data |= {f"{part}_numbers": numbers, f"{part}_codes": codes, f"{part}_targets": learnt}
    record = {"features": job.features.to_json(), "libraries": job.libraries, "encoding": encoding.to_json()}
    return Prepared({**record, **targets.facts}, data)


def train_missing(job: Job, data: Arrays) -> None:
    """Train the networks that are missing or incomplete in the folder of the fit."""
    from shiftbench.methods import member_training
    from shiftbench.methods.networks import member

    settings, folder = job.settings, job.folder
    member_training.train_missing(
        folder,
        member_training.MemberTraining(
            settings.members,
            member.schedule(settings.to_dict(), data, seed=0).steps,
            lambda number, report: member.train(folder, data, number, report=report),
            member.__name__,
            member_files.inputs(folder, data),
        ),
        cores=job.cores,
        progress=job.progress,
    )


def answer(frame: pl.DataFrame, fitted: Fitted) -> Gaussian | Categorical:
    """The predictions of the networks; see `Method.predict`."""
    from shiftbench.methods.networks import member

    place, record, members = fitted.folder, fitted.record, fitted.record["settings"]["members"]
    member_files.weights(place).require(members)
    given, head = encoded_rows(frame, record), member.head(record)
    nets = (member.load(place, record, number) for number in range(members))
    outputs = (member.outputs(net, head, given, cores=fitted.cores) for net in nets)
    return ensemble(outputs, record, networks=members, records=frame.height)


def encoded_rows(frame: pl.DataFrame, record: Mapping[str, Any]) -> Rows:
    """The rows of `frame` [N] as inputs of the networks of `record`."""
    inputs = columns.matrix(frame, columns.Features.from_json(record["features"]))
    return Encoding.from_json(record["encoding"]).encode(inputs)


def ensemble(
    outputs: Iterable[npt.NDArray[np.float64]], record: Mapping[str, Any], *, networks: int, records: int
) -> Gaussian | Categorical:
    """The outputs of networks, one after the other, [K, N, O] each, in the units and classes of the targets."""
    submodels = record["settings"].get("submodels", 1)
    found = PredictionArrays(record, members=networks * submodels, records=records)
    for number, output in enumerate(outputs):
        found.put(slice(number * submodels, (number + 1) * submodels), slice(None), output)
    return found.ensemble()
