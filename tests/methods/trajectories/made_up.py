"""A made-up data set in memory: a vehicle keeps its speed and follows a bend; before a fork it takes either way."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

STEPS, PIXELS = 25, 32
METRES_PER_PIXEL = 3.0
BENDS = (-0.02, 0.0, 0.02)  # 1/m


@dataclass(frozen=True, eq=False)
class MadeUp:
    """Requests in memory; see `made_up`."""

    targets: npt.NDArray[np.float32]
    pictures: npt.NDArray[np.float32]
    features: dict[str, npt.NDArray[Any]]

    def __len__(self) -> int:
        return len(self.targets)

    def maps(self, rows: Any) -> npt.NDArray[np.float32]:
        return self.pictures[rows]

    def vectors(self, rows: Any) -> dict[str, npt.NDArray[Any]]:
        return {name: values[rows] for name, values in self.features.items()}

    def select(self, rows: Any) -> Self:
        features = {name: values[rows] for name, values in self.features.items()}
        return replace(self, targets=self.targets[rows], pictures=self.pictures[rows], features=features)


@dataclass(frozen=True, eq=False)
class Dying(MadeUp):
    """Requests whose third sixteen, once, kill the process that reads them, unless it is the one that made them."""

    marks: Path | None = None
    maker: int = field(default_factory=os.getpid)

    def vectors(self, rows: Any) -> dict[str, npt.NDArray[Any]]:
        if self.marks and os.getpid() != self.maker:
            if len(self) < 16 and not (self.marks / "killed").exists():
                (self.marks / "killed").touch()
                os.kill(os.getpid(), signal.SIGKILL)
            (self.marks / f"read-{self.targets[0, 0, 0]:.6f}").touch()
        return super().vectors(rows)


def made_up(count: int, *, seed: int) -> MadeUp:
    """Requests with roads and speed in maps [3, 32, 32] and in vectors; a third of them stand before a fork."""
    rng = np.random.default_rng(seed)
    speed = rng.uniform(2, 12, count)
    way = rng.integers(3, size=count)
    other = np.where(rng.random(count) < 1 / 3, rng.integers(3, size=count), way)
    roads = np.stack([_arc(np.linspace(2, 40, 20), np.array(BENDS)[each][:, None]) for each in (way, other)], axis=1)
    path = _arc(speed[:, None] * 0.2 * np.arange(1, STEPS + 1), np.array(BENDS)[way][:, None])
    targets = (path + rng.normal(size=path.shape) * 0.05).astype(np.float32)
    return MadeUp(targets, _pictures(roads, speed), _features(roads, speed))


def _arc(along: npt.NDArray[Any], bend: npt.NDArray[Any]) -> npt.NDArray[Any]:
    angle = along * bend
    safe = np.where(bend == 0, 1, bend)
    x = np.where(bend == 0, along, np.sin(angle) / safe)
    return np.stack([x, np.where(bend == 0, 0, (1 - np.cos(angle)) / safe)], axis=-1)


def _pictures(roads: npt.NDArray[Any], speed: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    pictures = np.zeros((len(speed), 3, PIXELS, PIXELS), np.float32)
    place = np.clip((roads / METRES_PER_PIXEL + PIXELS / 2).astype(int), 0, PIXELS - 1)
    pictures[np.arange(len(speed))[:, None, None], 0, place[..., 0], place[..., 1]] = 1
    pictures[:, 1] = (speed / 12)[:, None, None]
    return pictures


def _features(roads: npt.NDArray[Any], speed: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    count, past, lines, others = len(speed), 25, 4, 3
    history = np.zeros((count, past, 8), np.float32)
    history[..., 0] = speed[:, None] * 0.2 * np.arange(1 - past, 1)
    history[..., 2], history[..., 7] = speed[:, None], 1
    points = np.zeros((count, lines, 20, 2), np.float32)
    points[:, :2] = roads
    attributes = np.zeros((count, lines, 5), np.float32)
    attributes[:, :2, 0] = 1
    there = np.broadcast_to(np.arange(lines) < 2, (count, lines)).copy()
    return {
        "history": history,
        "neighbours": np.zeros((count, others, past, 8), np.float32),
        "neighbour_size": np.zeros((count, others, 2), np.float32),
        "neighbour_kind": np.full((count, others), -1, np.int8),
        "neighbour_mask": np.zeros((count, others), np.bool_),
        "points": points,
        "point_mask": np.repeat(there[..., None], 20, axis=-1),
        "line_attributes": attributes,
        "line_mask": there,
    }
