"""An ensemble of networks with the structure of ship physics, trained end to end: the "Symbolic" of Shifts 2.0 (Malinin
et al. 2022, appendix D.3), which does not print its equations. Ours are in `network`, each with its source.

The mean is a ship's shaft power: speed times resistance over the efficiency of a propeller, with positive coefficients
for terms whose sign is known. So outside train (slow ships, high winds) it keeps the laws listed in `network`; inside,
a learnt factor of drafts and speed may change the shape of the curve over speed. Columns without a role are not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.methods.batched.fitting import BatchedSettings, batched
from shiftbench.methods.contract import Fitted, Job
from shiftbench.methods.member_files import best_steps
from shiftbench.methods.settings import checked, whole_number
from shiftbench.tracks.power.symbolic.terms import ROLES, Terms, checked_roles

if TYPE_CHECKING:
    from shiftbench.tracks.power.symbolic.network import Symbolic


@dataclass(frozen=True)
class Settings(BatchedSettings):
    """Settings of `symbolic` beside those of all networks trained together.

    Attributes:
        width: of the hidden layer of the network of drafts, trim and speed.
        roles: the column of each role, if it is not that of the vessel power track; see `terms.ROLES`.
            All speeds, wind and current included, have the same unit.
    """

    width: int = whole_number(16, 1, 4096)
    roles: Mapping[str, str] | None = checked(None, lambda _, roles: checked_roles(roles))


def make(record: Mapping[str, Any], seeds: Sequence[int]) -> Symbolic:
    """The untrained members."""
    from shiftbench.tracks.power.symbolic.network import Symbolic

    return Symbolic(record, seeds=seeds)


def terms(job: Job) -> Terms:
    """The terms of the columns that have a role.

    Raises:
        TableError: if a role has no numeric column among the features, or one with missing values.
    """
    return Terms.fit(job.train, job.features, {**ROLES, **(job.settings.roles or {})})


def describe(frame: pl.DataFrame, fitted: Fitted) -> str:
    """The number of networks."""
    members = fitted.record["settings"]["members"]
    steps = best_steps(fitted.folder, members)
    return f"{members} networks with the structure of ship physics that differ by seed (best after {steps})"


METHOD = batched(
    "symbolic", "Ensemble of networks with the structure of ship physics", Settings, make=make, learn_inputs=terms,
    read_inputs=Terms.from_json, describe=describe,
)  # fmt: skip
