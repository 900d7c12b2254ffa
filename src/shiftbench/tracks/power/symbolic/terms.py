"""Terms of ship physics for each record; `symbolic` learns their positive coefficients.

All terms are relative to a typical record of train, so that coefficients have similar sizes for any ship.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.check import Vector
from shiftbench.errors import TableError
from shiftbench.partition import features as columns
from shiftbench.partition.features import Features

ROLES: Mapping[str, str] = {
    "draft_aft": "draft_aft_telegram",
    "draft_fore": "draft_fore_telegram",
    "speed": "stw",
    "acceleration": "diff_speed_overground",
    "wind_along": "awind_vcomp_provider",
    "wind_across": "awind_ucomp_provider",
    "current_along": "rcurrent_vcomp",
    "wave_height": "comb_wind_swell_wave_height",
    "since_dry_dock": "timeSinceDryDock",
}
"""The columns by their meaning: through water, apparent wind positive from ahead, the wind across without a sign."""

STATE = ("speed", "true_wind", "since_dry_dock")
SHAPE = ("draft", "trim", "speed")  # the inputs of the small network
CALM = (
    "friction", "friction_draft", "fouling_third", "fouling_two_thirds", "fouling", "residuary_4", "residuary_6",
    "residuary_8",
)  # fmt: skip
ADDED = ("wind_ahead", "wind_ahead_exposed", "wind_astern", "wind_across", "waves", "waves_ahead", "inertia")
WIDTH = len(STATE) + len(SHAPE) + len(CALM) + len(ADDED)

SLOWEST = 0.02  # of the mean speed: the lowest speed used as a divisor
FROUDE = 1.825  # friction grows with this power of speed (W. Froude's planks, 1872)
EDGES = (0.005, 0.995)  # inputs of the network are clipped to these quantiles of train


@dataclass(frozen=True)
class Terms:
    """The terms of records relative to train.

    Attributes:
        roles: the column of each role.
        speed, draft, time: the means of train (of positive values).
        wind, wave, acceleration: root mean squares of train: apparent wind, wave height, acceleration.
        cube: the mean of the cube of relative speed.
        low, high, center, factor: of draft, trim and speed as inputs of the network, each [3].
    """

    roles: Mapping[str, str]
    speed: float
    draft: float
    time: float
    wind: float
    wave: float
    acceleration: float
    cube: float
    low: list[float]
    high: list[float]
    center: list[float]
    factor: list[float]

    @classmethod
    def fit(cls, train: pl.DataFrame, features: Features, roles: Mapping[str, str]) -> Self:
        """The terms learnt from train.

        Raises:
            TableError: naming roles whose columns are not numeric features or lack values, or if all speeds are <= 0.
        """
        if absent := [f"{name} (for {role})" for role, name in roles.items() if name not in features.numeric]:
            raise TableError(
                f"symbolic: expected numeric features for all roles, found none named {', '.join(absent)}. "
                "Name the columns in the setting `roles`."
            )
        values = _values(train, roles)
        speed = np.maximum(values["speed"], 0.0)
        if not speed.any():
            raise TableError(f"train, {roles['speed']}: expected speeds above 0, found none. Name another column.")
        mean = float(speed.mean())
        shape = _shape(values)
        low, high = (np.quantile(shape, edge, axis=1) for edge in EDGES)
        seen = np.clip(shape, low[:, None], high[:, None])
        spread = seen.std(axis=1)
        return cls(
            roles=dict(roles),
            speed=mean,
            draft=_size(np.abs(shape[0]).mean()),
            time=_size(np.maximum(values["since_dry_dock"], 0.0).mean()),
            wind=_size(np.sqrt((values["wind_along"] ** 2 + values["wind_across"] ** 2).mean())),
            wave=_size(np.sqrt((values["wave_height"] ** 2).mean())),
            acceleration=_size(np.sqrt((values["acceleration"] ** 2).mean())),
            cube=float(((speed / mean) ** 3).mean()),
            low=low.tolist(), high=high.tolist(), center=seen.mean(axis=1).tolist(),
            factor=np.where(spread > 0, 1 / np.maximum(spread, 1e-30), 0.0).tolist(),
        )  # fmt: skip

    def encode(self, frame: pl.DataFrame) -> npt.NDArray[np.float32]:
        """State, shape, calm-water terms and added terms of each record [N, WIDTH].

        Raises:
            TableError: naming every column of a role that is missing in the table, or lacks values.
        """
        values = _values(frame, self.roles)
        shape = _shape(values)
        seen = np.clip(shape, np.array(self.low)[:, None], np.array(self.high)[:, None])
        scaled = (seen - np.array(self.center)[:, None]) * np.array(self.factor)[:, None]
        speed = np.maximum(values["speed"] / self.speed, SLOWEST)
        draft = np.maximum(shape[0] / self.draft, 0.0)
        time = np.maximum(values["since_dry_dock"] / self.time, 0.0)
        true_along = values["wind_along"] - (values["speed"] + values["current_along"])
        true = np.hypot(true_along, values["wind_across"])
        ahead = 0.25 * (1 + true_along / np.maximum(true, 1e-6)) ** 2
        parts = [
            np.stack([speed, true / self.wind, time]), scaled, self._calm(speed, draft, time),
            self._added(values, draft, ahead),
        ]  # fmt: skip
        return np.ascontiguousarray(np.concatenate(parts).T, dtype=np.float32)

    @staticmethod
    def _calm(speed: Vector, draft: Vector, time: Vector) -> Vector:
        """Friction on a wetted surface that grows with draft, with roughness that grows with time; the residuary
        resistance grows with the displacement and with higher powers of speed (as waves do).
        """
        friction = speed**FROUDE
        fouled = [friction * time**power for power in (1 / 3, 2 / 3, 1.0)]
        residuary = [speed**power * draft for power in (4, 6, 8)]
        return np.stack([friction, friction * draft, *fouled, *residuary])

    def _added(self, values: Mapping[str, Vector], draft: Vector, ahead: Vector) -> Vector:
        """The contributions of wind, waves and acceleration; that of a following wind is negative. The windage area
        shrinks with the draft. Waves are assumed to come from the direction of the true wind, `ahead` being 1 for head
        seas and 0 for following ones.
        """
        along, across = values["wind_along"] / self.wind, values["wind_across"] / self.wind
        apparent, height = np.hypot(along, across), values["wave_height"] / self.wave
        blowing = apparent * np.maximum(along, 0.0)
        wind = [blowing, blowing * np.maximum(2 - draft, 0.0), apparent * np.minimum(along, 0.0), across**2]
        return np.stack([*wind, height**2, height**2 * ahead, values["acceleration"] / self.acceleration * draft])

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; floats survive exactly."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The terms that `to_json` wrote."""
        return cls(**value)


def checked_roles(roles: object) -> list[str]:
    """The problems of a table of roles."""
    if not isinstance(roles, Mapping):
        return [f"roles: expected a table of roles and columns, found {roles!r}."]
    unknown = [
        f"roles: expected roles among {', '.join(ROLES)}, found {role!r}." for role in roles if role not in ROLES
    ]
    named = ((role, name) for role, name in roles.items() if not isinstance(name, str) or not name)
    return unknown + [f"roles.{role}: expected the name of a column, found {name!r}." for role, name in named]


def _values(frame: pl.DataFrame, roles: Mapping[str, str]) -> dict[str, Vector]:
    """The column of each role in float64, without missing values."""
    inputs = columns.matrix(frame, Features(numeric=tuple(dict.fromkeys(roles.values()))))
    found = dict(zip(inputs.numeric_names, inputs.numeric.T.astype(np.float64), strict=True))
    counts = {name: int(np.isnan(column).sum()) for name, column in found.items()}
    if problems := [
        f"column {name!r}: expected a number in every record, found {count:,} of {frame.height:,} missing. "
        "Drop these records, and count them."
        for name, count in counts.items()
        if count
    ]:
        raise TableError(*problems)
    return {role: found[name] for role, name in roles.items()}


def _shape(values: Mapping[str, Vector]) -> Vector:
    """Mean draft, trim by the stern, and speed [3, N]."""
    aft, fore = values["draft_aft"], values["draft_fore"]
    return np.stack([(aft + fore) / 2, aft - fore, values["speed"]])


def _size(value: Any) -> float:
    """A size to divide by: 1 if it is 0."""
    return float(value) or 1.0
