"""What the neural methods share: their settings, from tables to a folder of trained networks, and back to an ensemble.

PyTorch is imported only when something is trained or predicted.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import features as columns
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import MissingExtraError, TableError
from shiftbench.methods import fitted_folder, member_files, workers
from shiftbench.methods.goals import Answers, goals
from shiftbench.methods.neural_inputs import Encoding
from shiftbench.methods.settings import MethodSettings, above_zero, whole
from shiftbench.methods.tally import span

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress
    from shiftbench.methods.member_files import Arrays
    from shiftbench.methods.neural_member import Rows

LIBRARIES = {"ft_transformer": ("torch", "rtdl_revisiting_models"), "tabm": ("torch", "tabm")}
MOST_DEV = 10_000  # records of dev_in that tell when to stop; more would tell the same, and take longer


@dataclass(frozen=True)
class NeuralSettings(MethodSettings):
    """What all networks must be told; see the methods for the meaning of the defaults.

    Attributes:
        members: M, the number of networks.
        batch: records in a step.
        learning_rate: the highest; it rises over the first 5 % of all steps (at most 500) and falls along a cosine.
        weight_decay: of AdamW.
        epochs: the most times that a record is seen.
        most_steps: the most steps, so that the cost has a bound however many records there are.
        patience: looks at dev_in (at least once an epoch, and about 50 in all if epochs are long) without gain after
            which a network stops; the best weights are kept.
        mixed_precision: on a GPU, train in 16 bits where that is safe. Makes no difference on a CPU.
        seed: the members' own seeds follow from it; ensembles with different seeds share no member.
    """

    members: int = 10
    batch: int = 256
    learning_rate: float = 1e-4
    weight_decay: float = 1e-5
    epochs: int = 100
    most_steps: int = 20_000
    patience: int = 16
    mixed_precision: bool = True
    seed: int = 0

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = [
            *super().problems(),
            *whole("members", self.members, 1, 1000),
            *whole("batch", self.batch, 1, 1_000_000),
            *above_zero("learning_rate", self.learning_rate, 1),
            *from_zero("weight_decay", self.weight_decay, 1),
            *whole("epochs", self.epochs, 1, 100_000),
            *whole("most_steps", self.most_steps, 1, 100_000_000),
            *whole("patience", self.patience, 1, 100_000),
            *whole("seed", self.seed, 0, 2**63 - 1),
        ]
        if not isinstance(self.mixed_precision, bool):
            found.append(f"mixed_precision: expected true or false, found {self.mixed_precision!r}.")
        return found


def from_zero(name: str, value: Any, high: float) -> list[str]:
    """The problem, if any, of a value that must be 0 or a number above 0 and at most `high`."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0:
        return []
    return [text.replace("above 0 and", "from 0 to") for text in above_zero(name, value, high)]


def layer_width(value: Any) -> list[str]:
    """The problem, if any, of the width of a layer.

    With other widths than multiples of 8 from 16, the CPU libraries sum the last rows of a batch in another order than
    the first: what is said about a record would depend, in its last digits, on the place where it stands.
    """
    if isinstance(value, int) and not isinstance(value, bool) and 16 <= value <= 65_536 and value % 8 == 0:
        return []
    return [f"width: expected a multiple of 8 from 16 to 65,536, found {value!r}."]


def require_libraries(method: str) -> None:
    """Check that the libraries of a method's networks are there, and import them.

    Raises:
        MissingExtraError: if one is not.
    """
    try:
        for name in LIBRARIES[method]:
            importlib.import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"method {method}: expected {' and '.join(LIBRARIES[method])}, found: {error}. "
            "Install them: pip install 'shiftbench[neural]'"
        ) from None


def train(
    method: str,
    settings: NeuralSettings,
    parts: tuple[pl.DataFrame, pl.DataFrame],
    *,
    features: Features,
    target: str,
    folder: str | os.PathLike[str],
    cores: int | None,
    progress: Progress | None,
    overwrite: bool,
) -> Path:
    """Train the networks that are missing in `folder` on (train, dev_in); see `ft_transformer.fit`."""
    require_libraries(method)
    cores = workers.available(cores)
    data, facts = _prepare(*parts, features, target, settings)
    record = {
        "method": method,
        "settings": settings.to_dict(),
        "target": target,
        "features": features.to_json(),
        "data": {"train": parts[0].height, "dev_in": parts[1].height, "sha256": fitted_folder.digest(data)},
        "libraries": {name: importlib.metadata.version(name) for name in LIBRARIES[method]},
        **facts,
    }
    place = fitted_folder.claim(folder, record, overwrite=overwrite)
    _train_missing(place, data, settings, cores=cores, progress=progress)
    return place


def rows(frame: pl.DataFrame, record: Mapping[str, Any]) -> Rows:
    """The rows of `frame` [N], N >= 1, as the networks of `record` take them."""
    if not frame.height:
        raise TableError("expected at least one record to predict, found none.")
    inputs = columns.matrix(frame, columns.Features.from_json(record["features"]))
    return Encoding.from_json(record["encoding"]).encode(inputs)


def predict(
    method: str, frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None
) -> Gaussian | Categorical:
    """What the networks in `folder` say about the rows of `frame`; see `ft_transformer.predict`."""
    record = fitted_folder.read(folder, method)
    require_libraries(method)
    from shiftbench.methods import neural_member

    place, members = Path(folder), record["settings"]["members"]
    neural_member.files_in(place).require(members)
    given, count, says = rows(frame, record), workers.available(cores), neural_member.head(record)
    nets = (neural_member.load(place, record, m) for m in range(members))
    outputs = (neural_member.answers(net, says, given, cores=count) for net in nets)
    return ensemble(outputs, record, networks=members, records=frame.height)


def ensemble(
    outputs: Iterable[npt.NDArray[np.float64]], record: Mapping[str, Any], *, networks: int, records: int
) -> Gaussian | Categorical:
    """What networks say, one after the other, [K, N, O] each, in the units and classes of the training targets.

    Variances are at least 1e-12 times the variance of the training targets.
    """
    submodels = record["settings"].get("submodels", 1)
    answers = Answers(record, members=networks * submodels, records=records)
    for number, output in enumerate(outputs):
        answers.put(slice(number * submodels, (number + 1) * submodels), slice(None), output)
    return answers.ensemble()


def best_steps(method: str, folder: str | os.PathLike[str], members: int) -> str:
    """After how many steps the members were at their best, for people."""
    require_libraries(method)
    from shiftbench.methods import neural_member

    kept = neural_member.files_in(Path(folder))
    kept.require(members)
    return span([kept.note(member)["best_step"] for member in range(members)], "steps")


def _prepare(
    train: pl.DataFrame, dev: pl.DataFrame, features: Features, target: str, settings: NeuralSettings
) -> tuple[Arrays, dict[str, Any]]:
    """What the workers need of both partitions, and what `predict` must know of inputs and targets."""
    wanted = goals(train, dev, target=target, settings=settings)
    chosen = np.sort(np.random.default_rng(0).permutation(len(wanted.dev))[:MOST_DEV])
    inputs = columns.matrix(train, features)
    encoding = Encoding.fit(inputs)
    data: Arrays = {}
    for part, given, goal in (
        ("train", inputs, wanted.train),
        ("dev", columns.matrix(wanted.dev_rows[chosen], features), wanted.dev[chosen]),
    ):
        numbers, codes = encoding.encode(given)
        as_learnt = goal.astype(np.float32) if settings.task == "regression" else goal
        data |= {f"{part}_numbers": numbers, f"{part}_codes": codes, f"{part}_targets": as_learnt}
    return data, {"encoding": encoding.to_json(), **wanted.facts}


def _train_missing(
    folder: Path, data: Arrays, settings: NeuralSettings, *, cores: int, progress: Progress | None
) -> None:
    """Train the members that are not whole in `folder`."""
    from shiftbench.methods import neural_member
    from shiftbench.methods.neural_member import Course

    neural_member.train_missing(
        folder,
        Course(
            settings.members,
            neural_member.plan(settings.to_dict(), data, seed=0).steps,
            lambda member, report: neural_member.train(folder, data, member, report=report),
            "shiftbench.methods.neural_member",
            member_files.inputs(folder, data),
        ),
        cores=cores,
        progress=progress,
    )
