"""What the neural methods share: their settings, from tables to a folder of trained networks, and back to an ensemble.

PyTorch is imported only when something is trained or predicted.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import features as columns
from shiftbench import files
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import MissingExtraError, SettingsError, TableError
from shiftbench.methods import fitted_folder, targets, workers
from shiftbench.methods.neural_inputs import Encoding
from shiftbench.methods.settings import MethodSettings, above_zero, whole

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress
    from shiftbench.methods.neural_member import Arrays, Rows

LIBRARIES = {"ft_transformer": ("torch", "rtdl_revisiting_models"), "tabm": ("torch", "tabm")}
# Smallest variance, in units of the variance of the training targets: a standard deviation of one millionth.
VARIANCE_FLOOR = 1e-12
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
        patience: looks at dev_in (at most once an epoch, and about 50 times in all if epochs are long) without gain
            after which a network stops; the best weights are kept.
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
    _train_missing(place, data, settings.members, cores=cores, progress=progress)
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
    neural_member.require(place, members)
    given, count, says = rows(frame, record), workers.available(cores), neural_member.head(record)
    nets = (neural_member.load(place, record, m) for m in range(members))
    outputs = (neural_member.answers(net, says, given, cores=count) for net in nets)
    return ensemble(outputs, record, networks=members)


def ensemble(
    outputs: Iterable[npt.NDArray[np.float64]], record: Mapping[str, Any], *, networks: int
) -> Gaussian | Categorical:
    """What networks say, one after the other, [K, N, O] each, in the units and classes of the training targets.

    Variances are at least 1e-12 times the variance of the training targets.
    """
    classes = record["classes"]
    held: npt.NDArray[np.float64] | None = None
    for number, output in enumerate(outputs):
        submodels, records, _ = output.shape
        if held is None:  # filled in place: a second copy might not fit
            axis = 2 if classes is None else len(classes)
            held = np.zeros((networks * submodels, records, axis))
        part = held[number * submodels : (number + 1) * submodels]
        if classes is None:
            part[..., 0] = output[..., 0] * record["scale"] + record["center"]
            part[..., 1] = np.maximum(output[..., 1], VARIANCE_FLOOR) * record["scale"] ** 2
        else:
            part[..., record["trained_classes"]] = output
    assert held is not None
    return Gaussian(held[..., 0], held[..., 1]) if classes is None else Categorical(held, tuple(classes))


def best_steps(method: str, folder: str | os.PathLike[str], members: int) -> str:
    """After how many steps the members were at their best, for people."""
    require_libraries(method)
    from shiftbench.methods import neural_member

    neural_member.require(Path(folder), members)
    steps = [neural_member.note(Path(folder), m)["best_step"] for m in range(members)]
    return f"{min(steps):,} to {max(steps):,} steps" if min(steps) < max(steps) else f"{steps[0]:,} steps"


def _prepare(
    train: pl.DataFrame, dev: pl.DataFrame, features: Features, target: str, settings: NeuralSettings
) -> tuple[Arrays, dict[str, Any]]:
    """What the workers need of both partitions, and what `predict` must know of inputs and targets."""
    facts: dict[str, Any]
    goals: tuple[npt.NDArray[Any], npt.NDArray[Any]]
    if settings.task == "regression":
        y_train, y_dev = targets.numbers(train, dev, target=target)
        center, scale = float(y_train.mean()), float(y_train.std())
        facts = {"classes": None, "center": center, "scale": scale}
        goals = ((y_train - center) / scale).astype(np.float32), ((y_dev - center) / scale).astype(np.float32)
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
        goals = np.searchsorted(trained, codes), np.searchsorted(trained, dev_codes[seen])
    chosen = np.sort(np.random.default_rng(0).permutation(dev.height)[:MOST_DEV])
    inputs = columns.matrix(train, features)
    encoding = Encoding.fit(inputs)
    data: Arrays = {}
    for part, given, goal in (
        ("train", inputs, goals[0]),
        ("dev", columns.matrix(dev[chosen], features), goals[1][chosen]),
    ):
        numbers, categories = encoding.encode(given)
        data |= {f"{part}_numbers": numbers, f"{part}_codes": categories, f"{part}_targets": goal}
    return data, {"encoding": encoding.to_json(), **facts}


def _train_missing(folder: Path, data: Arrays, total: int, *, cores: int, progress: Progress | None) -> None:
    """Train the members that are not whole in `folder`: here if one at a time, or else in processes."""
    from shiftbench.methods import neural_member

    missing = [m for m in range(total) if neural_member.problem(folder, m)]
    done = total - len(missing)
    if progress and done:
        progress(done, total, f"{done} of {total} members were trained before")

    def count(member: int) -> None:
        nonlocal done
        done += 1
        if progress:
            noted = neural_member.note(folder, member)
            progress(done, total, f"member {member}: best after {noted['best_step']:,} of {noted['steps']:,} steps")

    side_by_side = min(neural_member.processes(cores), len(missing))
    if side_by_side == 1:
        record = fitted_folder.read(folder)
        for member in missing:
            neural_member.train(folder, record, data, member)
            count(member)
    elif missing:
        _train_side_by_side(folder, data, missing, processes=side_by_side, done=count)
    for left in folder.glob("member_*.ckpt"):  # of a process that was killed between its last two acts
        left.unlink()


def _train_side_by_side(
    folder: Path, data: Arrays, missing: list[int], *, processes: int, done: Callable[[int], None]
) -> None:
    """Train members in processes, with the data in a file in `folder` while it lasts."""
    from shiftbench.methods import neural_member

    inputs = folder / neural_member.INPUTS
    try:
        _write_inputs(inputs, data)
        workers.train("shiftbench.methods.neural_member", str(folder), missing, cores=processes, done=done)
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
