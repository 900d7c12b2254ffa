"""Training and prediction data: requests with feature maps, vector features and targets."""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ArrayError

Arrays = dict[str, npt.NDArray[Any]]
Rows = npt.NDArray[np.int64]

SAMPLED = 8  # requests whose inputs go into the hash, spread over all


class TrajectoryDataset(Protocol):
    """N requests whose inputs are read on demand. Pickled for other processes."""

    def __len__(self) -> int:
        """N, the number of requests."""

    @property
    def targets(self) -> npt.NDArray[np.float32]:
        """Where the vehicles were at the T steps after T = 0: [N, T, 2], in metres in the agent's frame."""

    def maps(self, rows: Any) -> npt.NDArray[np.float32]:
        """The feature maps [B, C, H, W] of these requests."""

    def vectors(self, rows: Any) -> Arrays:
        """Their vector features by name, each [B, …]."""

    def select(self, rows: Any) -> TrajectoryDataset:
        """These requests alone."""


def request_name(dataset: TrajectoryDataset, row: int) -> str:
    """A request's name in messages: its id if the requests have ids, else its position."""
    requests = getattr(dataset, "requests", None)
    known = requests is not None and "id" in getattr(requests, "columns", ())
    return f"request {requests['id'][row]!r}" if known and requests is not None else f"request {row:,}"


def training_problems(dataset: TrajectoryDataset, part: str, *, least: int) -> list[str]:
    """Everything wrong with the number and the targets of the requests to train on."""
    if len(dataset) < least:
        return [f"{part}: expected at least {least} requests, found {len(dataset)}."]
    targets = dataset.targets
    if targets.ndim != 3 or targets.shape[0] != len(dataset) or not targets.shape[1] or targets.shape[2] != 2:
        return [f"{part}: expected targets [{len(dataset):,}, T, 2], found shape {targets.shape}."]
    bad = np.flatnonzero(~np.isfinite(targets).all(axis=(1, 2)))
    if len(bad):
        first = request_name(dataset, int(bad[0]))
        return [
            f"{part}: expected targets at all steps, found NaN or infinity in {len(bad):,} of "
            f"{len(targets):,} requests, first in {first}. Leave these requests out."
        ]
    return []


def require_finite(dataset: TrajectoryDataset, rows: Rows, inputs: Arrays) -> None:
    """Check inputs [B, …] of these requests.

    Raises:
        ArrayError: naming the first input and the first request with NaN or infinity.
    """
    for key, values in inputs.items():
        # A sum is not finite if a part is not; only then, or if it overflows, is each value looked at.
        if values.dtype.kind != "f" or np.isfinite(values.sum(dtype=np.float64)):
            continue
        bad = np.flatnonzero(~np.isfinite(values).reshape(len(values), -1).all(axis=1))
        if len(bad):
            raise ArrayError(
                f"{key}: expected finite numbers, found NaN or infinity in "
                f"{request_name(dataset, int(rows[bad[0]]))}. Prepare its scene again, or leave it out."
            )


def digest(dataset: TrajectoryDataset, inputs: Any) -> str:
    """The SHA-256 of all targets and of `inputs(dataset, rows)` for a few requests spread evenly."""
    total = hashlib.sha256(np.ascontiguousarray(dataset.targets).tobytes())
    rows = np.unique(np.linspace(0, len(dataset) - 1, SAMPLED).astype(np.int64))
    for key, values in sorted(inputs(dataset, rows).items()):
        total.update(f"{key} {values.dtype.str} {values.shape}\n".encode())
        total.update(np.ascontiguousarray(values).tobytes())
    return total.hexdigest()
