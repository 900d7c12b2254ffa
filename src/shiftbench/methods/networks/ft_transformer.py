"""An ensemble of FT-Transformers that differ by seed only, each stopped early on dev_in.

Every column becomes a token, and a transformer reads the tokens (Gorishniy, Rubachev, Khrulkov and Babenko, "Revisiting
Deep Learning Models for Tabular Data", NeurIPS 2021, section 3.3). Regression: each member predicts a mean and a
variance, by the likelihood weighted as in Seitzer et al., ICLR 2022. Classification: cross-entropy.

On CPUs every member is trained on one core, so that results do not depend on the number of cores; members train in
parallel, each in a process, unless only one at a time is trained. With GPUs the members are distributed over them. A
folder holds `settings.json`, and for each member its weights and, written last, a file with their hash.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from shiftbench.methods.contract import Fitted
from shiftbench.methods.member_files import best_steps
from shiftbench.methods.networks.fitting import NetworkSettings, of_networks
from shiftbench.methods.settings import layer_width, non_negative, whole_number

WIDTHS = (96, 128, 192, 256, 320, 384)  # of the library, for 1 to 6 blocks


@dataclass(frozen=True)
class Settings(NetworkSettings):
    """Settings of `ft_transformer` beside those of all networks; the defaults are those of the authors' library.

    On two cores without a GPU choose a small network (blocks 2, width 32, attention_heads 2, attention_dropout 0) and a
    higher learning rate (0.001). The cost of a step grows with the square of the number of columns.

    Attributes:
        blocks: of attention and feed-forward layers.
        width: numbers in a token; a multiple of 8 and of `attention_heads`. If None, the library's for this number of
            blocks.
        attention_heads: of each block.
        attention_dropout: of the weights of attention. If None, the library's for this number of blocks.
        dropout: in the feed-forward layers. If None, the library's for this number of blocks.
        residual_dropout: of the output of each layer.
    """

    blocks: int = whole_number(3, 1, 6)
    width: int | None = layer_width(None)
    attention_heads: int = whole_number(8, 1, 1024)
    attention_dropout: float | None = non_negative(None, 0.9)
    dropout: float | None = non_negative(None, 0.9)
    residual_dropout: float = non_negative(0.0, 0.9)

    def problems(self) -> list[str]:
        """The problems of these values."""
        found = super().problems()
        if not found and (width := self.width or WIDTHS[self.blocks - 1]) % self.attention_heads:
            found.append(f"width: expected a multiple of {self.attention_heads} (attention_heads), found {width}.")
        return found


def describe(frame: pl.DataFrame, fitted: Fitted) -> str:
    """The number and size of the networks."""
    settings = Settings.from_dict(fitted.record["settings"])
    size = f"{settings.blocks} blocks of {settings.width or WIDTHS[settings.blocks - 1]}"
    steps = best_steps(fitted.folder, settings.members)
    return f"{settings.members} FT-Transformers that differ by seed ({size}, best after {steps})"


METHOD = of_networks(
    "ft_transformer", "Ensemble of FT-Transformers", Settings, describe, ("torch", "rtdl_revisiting_models")
)
