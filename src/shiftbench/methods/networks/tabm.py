"""TabM: an ensemble inside one network (Gorishniy, Kotelnikov and Babenko, "TabM: Advancing Tabular Deep Learning with
Parameter-Efficient Ensembling", ICLR 2025).

K submodels share the weights of one network of plain layers except for a few scales of their own, and are trained
together, each with its own loss. One training gives what a deep ensemble needs ten for: K predictions that disagree
where data are scarce. In its authors' comparison over 46 tables it ranked above the transformers, FT-Transformer
included; and without attention its time grows with the number of columns, not with its square. It was published years
after Shifts.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from shiftbench.methods.contract import Fitted
from shiftbench.methods.member_files import best_steps
from shiftbench.methods.networks.fitting import NetworkSettings, of_networks
from shiftbench.methods.settings import layer_width, non_negative, positive, whole_number


@dataclass(frozen=True)
class Settings(NetworkSettings):
    """Settings of `tabm` beside those of all networks; the defaults are those of the authors' library.

    Each network is stopped early by the joint prediction of its submodels for dev_in.

    Attributes:
        submodels: K, the submodels in each network; the ensemble has members·K.
        blocks: layers of each submodel.
        width: of each layer; a multiple of 8.
        dropout: after each layer.
    """

    members: int = whole_number(1, 1, 1000)
    learning_rate: float = positive(2e-3, 1)
    weight_decay: float = non_negative(3e-4, 1)
    submodels: int = whole_number(32, 1, 1024)
    blocks: int = whole_number(3, 1, 64)
    width: int = layer_width(512)
    dropout: float = non_negative(0.1, 0.9)


def describe(frame: pl.DataFrame, fitted: Fitted) -> str:
    """The numbers of networks and submodels."""
    settings = Settings.from_dict(fitted.record["settings"])
    networks = "one network" if settings.members == 1 else f"each of {settings.members} networks"
    size = f"{settings.blocks} blocks of {settings.width}"
    steps = best_steps(fitted.folder, settings.members)
    return f"TabM: {settings.submodels} submodels in {networks} ({size}, best after {steps})"


METHOD = of_networks("tabm", "TabM, an ensemble in one network", Settings, describe, ("torch", "tabm"), "model")
