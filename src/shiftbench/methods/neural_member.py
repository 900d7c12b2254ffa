"""One network of an ensemble: how it is trained, here or in a process, how its files are trusted, and what it says.

The file with the hash of its weights is written after them, so weights without one were never finished.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from shiftbench import files
from shiftbench.errors import SettingsError
from shiftbench.methods import checkpoint, fitted_folder, neural_heads, training, workers
from shiftbench.methods.checkpoint import Checkpoint
from shiftbench.methods.neural_heads import Head
from shiftbench.methods.neural_inputs import Encoding
from shiftbench.methods.neural_nets import NETWORKS, Shape
from shiftbench.methods.training import Lesson, Plan

Arrays = dict[str, npt.NDArray[Any]]
Rows = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]

INPUTS = "inputs.npz"
CLIP = 1.0  # the largest norm of a gradient: likelihoods have rare huge ones
VALIDATIONS = 50  # at least so many, if there are enough steps
# Records in a batch of a prediction. On a CPU always as many (the last is filled up): with other shapes the library
# would sum in another order.
CPU_BATCH, GPU_BATCH = 128, 2048


def head(record: Mapping[str, Any]) -> Head:
    """What the outputs of the fit's networks mean."""
    return neural_heads.GAUSSIAN if record["classes"] is None else neural_heads.CATEGORICAL


def network(record: Mapping[str, Any]) -> Any:
    """A network of the fit, with the weights that torch's global random state leads to."""
    outputs = 2 if record["classes"] is None else len(record["trained_classes"])
    shape = Shape.of(Encoding.from_json(record["encoding"]), outputs)
    return NETWORKS[record["method"]](shape, record["settings"])


def plan(settings: Mapping[str, Any], *, records: int, dev: int, seed: int) -> Plan:
    """How long to train on so many records, and how often to look at those of dev_in."""
    batch = min(settings["batch"], records)
    per_epoch = math.ceil(records / batch)
    steps = min(settings["epochs"] * per_epoch, settings["most_steps"])
    return Plan(
        steps=steps,
        batch=batch,
        learning_rate=settings["learning_rate"],
        validate_every=min(per_epoch, max(1, steps // VALIDATIONS, dev // batch)),
        weight_decay=settings["weight_decay"],
        warmup=min(500, steps // 20),
        cosine=True,
        patience=settings["patience"],
        clip=CLIP,
        mixed_precision=settings["mixed_precision"],
        seed=seed,
    )


def lesson(net: Any, tensors: Mapping[str, Tensor], says: Head) -> Lesson[tuple[Tensor, ...]]:
    """What to learn from the tensors `train_…`, judged on `dev_…`, each `numbers`, `codes` and `targets` [N, …]."""
    train, dev = (
        tuple(tensors[f"{part}_{name}"] for name in ("numbers", "codes", "targets")) for part in ("train", "dev")
    )

    def loss(model: nn.Module, batch: tuple[Tensor, ...]) -> Tensor:
        numbers, codes, targets = batch
        return says.loss(model(numbers, codes), targets)

    def validate(model: nn.Module) -> float:
        size = GPU_BATCH if dev[0].is_cuda else CPU_BATCH
        parts = zip(*(torch.split(tensor, size) for tensor in dev), strict=True)
        scores = [says.score(model(numbers, codes), targets).sum() for numbers, codes, targets in parts]
        return float(torch.stack(scores).sum()) / len(dev[2])

    return Lesson(
        records=len(train[2]),
        batch=lambda rows: tuple(tensor[rows] for tensor in train),
        loss=loss,
        validate=validate,
        groups=net.groups(),
    )


def train(folder: Path, record: dict[str, Any], arrays: Arrays, member: int) -> None:
    """Train one member on arrays as `lesson` takes them, from where it was cut off, and write its two files."""
    # Seeds that are numbered through would give two ensembles with neighbouring seeds nearly the same members.
    seed = int(np.random.SeedSequence([record["settings"]["seed"], member]).generate_state(1)[0])
    with torch.random.fork_rng([]):
        torch.manual_seed(seed)
        net = network(record)
    place = device(member)
    net = net.to(place)
    tensors = {name: torch.from_numpy(array).to(place) for name, array in arrays.items()}
    saved = Checkpoint(folder / f"member_{member:02d}.ckpt", f"{_fit(folder)} member {member}")
    sizes = {"records": len(arrays["train_targets"]), "dev": len(arrays["dev_targets"])}
    with _one_thread():
        trained = training.train(
            net, lesson(net, tensors, head(record)), plan(record["settings"], **sizes, seed=seed),
            checkpoint=saved, device=place,
        )  # fmt: skip
    with files.replacing(_weights(folder, member)) as temporary:
        temporary.write_bytes(checkpoint.pack({name: value.cpu() for name, value in net.state_dict().items()}))
    told = {name: value for name, value in asdict(trained).items() if name != "history"}
    identity = {"fit": _fit(folder), "member": member, "sha256": files.sha256(_weights(folder, member))}
    files.write_json(_note(folder, member), identity | told)
    saved.remove()


def device(member: int) -> torch.device:
    """Where a member is trained: members take turns on the GPUs; the CPU where there is none."""
    place = training.device()
    return torch.device("cuda", member % torch.cuda.device_count()) if place.type == "cuda" else place


def processes(cores: int) -> int:
    """How many members to train at a time: one on each core, or one on each GPU."""
    return torch.cuda.device_count() if training.device().type == "cuda" else cores


# -- files


def note(folder: Path, member: int) -> dict[str, Any]:
    """What was noted when the member was finished; nothing if it was not, or the note is damaged."""
    try:
        value = json.loads(_note(folder, member).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError):
        return {}
    return value if isinstance(value, dict) else {}


def problem(folder: Path, member: int) -> str:
    """Why the member cannot be used: it is missing, of another fit, or damaged; empty if it can be."""
    path, noted = _weights(folder, member), note(folder, member)
    if not path.exists() or not noted:
        return f"{path.name}: expected trained weights, found none that are finished"
    if (noted.get("fit"), noted.get("member")) != (_fit(folder), member):
        return f"{path.name}: expected a member of this fit, found one of another"
    if noted.get("sha256") != files.sha256(path):
        return f"{path.name}: expected the weights as they were written, found a changed or damaged file"
    return ""


def require(folder: Path, members: int) -> None:
    """Check that all members can be used.

    Raises:
        SettingsError: naming every member that is missing, damaged, or of another fit.
    """
    if problems := [text for m in range(members) if (text := problem(folder, m))]:
        advice = "Fit again with the same settings and data: only what is missing or damaged is trained."
        raise SettingsError(*(f"{folder}: {text}. {advice}" for text in problems))


def load(folder: Path, record: Mapping[str, Any], member: int) -> nn.Module:
    """The network of a member that `require` has found whole.

    Raises:
        SettingsError: if its file holds no weights.
    """
    path = _weights(folder, member)
    if (weights := checkpoint.unpack(path.read_bytes())) is None:
        raise SettingsError(f"{path}: expected the weights of a network, found something else. Fit it again.")
    with torch.random.fork_rng([]):
        net: nn.Module = network(record)
    net.load_state_dict(weights)
    return net.eval()


# -- predictions


def answers(net: nn.Module, says: Head, rows: Rows, *, cores: int) -> npt.NDArray[np.float64]:
    """What a network says about rows: numbers [N, P + Q] and codes [N, C]; the answer is [K, N, O].

    Neither the number of cores nor, on a CPU, the other rows make a difference.
    """
    place = training.device()
    size = GPU_BATCH if place.type == "cuda" else CPU_BATCH
    net.to(place)
    starts = range(0, len(rows[0]), size)

    def block(start: int) -> npt.NDArray[Any]:
        parts = [array[start : start + size] for array in rows]
        filled = [np.concatenate([part, np.zeros((size - len(part), part.shape[1]), part.dtype)]) for part in parts]
        with torch.inference_mode():
            said: Tensor = says.says(net(*(torch.from_numpy(array).to(place) for array in filled)))
            return said[: len(parts[0])].transpose(0, 1).cpu().numpy()

    with _one_thread(), ThreadPoolExecutor(1 if place.type == "cuda" else cores) as pool:
        return np.concatenate(list(pool.map(block, starts)), axis=1).astype(np.float64)


@contextmanager
def _one_thread() -> Iterator[None]:
    """One thread for each operation: sums have one order only. Restored, since it holds for the whole process."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _weights(folder: Path, member: int) -> Path:
    return folder / f"member_{member:02d}.pt"


def _note(folder: Path, member: int) -> Path:
    return folder / f"member_{member:02d}.json"


def _fit(folder: Path) -> str:
    """What tells this fit from others: the hash of its record."""
    return files.sha256(folder / fitted_folder.RECORD)


def _serve(folder: Path) -> None:
    """Train the members that are asked for, until nobody asks any more."""
    with np.load(folder / INPUTS, allow_pickle=False) as stored:
        arrays = dict(stored)
    workers.serve(partial(train, folder, fitted_folder.read(folder), arrays))


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
