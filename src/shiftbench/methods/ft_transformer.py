"""An ensemble of FT-Transformers that differ by seed only, each stopped early on dev_in.

Every column becomes a token, and a transformer reads the tokens (Gorishniy, Rubachev, Khrulkov and Babenko, "Revisiting
Deep Learning Models for Tabular Data", NeurIPS 2021, section 3.3). Regression: each member says a mean and a variance,
by the likelihood weighted as in Seitzer et al., ICLR 2022. Classification: cross-entropy.

On CPUs every member is trained on one core, so that no result depends on the number of cores; members train side by
side, each in a process, unless only one at a time is to be. With GPUs the members take turns on them. A folder holds
`settings.json`, and for each member its weights and, written last, a file with their hash.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.methods import fitted_folder, neural_data
from shiftbench.methods.neural_data import NeuralSettings, from_zero, layer_width
from shiftbench.methods.settings import whole

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress

WIDTHS = (96, 128, 192, 256, 320, 384)  # of the library, for 1 to 6 blocks


@dataclass(frozen=True)
class Settings(NeuralSettings):
    """Settings of `ft_transformer` beside those of all networks; the defaults are those of the authors' library.

    On two cores without a GPU take a small network (blocks 2, width 32, attention_heads 2, attention_dropout 0) and a
    higher learning rate (0.001). The cost of a step grows with the square of the number of columns.

    Attributes:
        blocks: of attention and feed-forward layers.
        width: numbers in a token; a multiple of 8 and of `attention_heads`. If None, the library's for so many blocks.
        attention_heads: of each block.
        attention_dropout: of the weights of attention. If None, the library's for so many blocks.
        dropout: in the feed-forward layers. If None, the library's for so many blocks.
        residual_dropout: of what each layer adds.
    """

    blocks: int = 3
    width: int | None = None
    attention_heads: int = 8
    attention_dropout: float | None = None
    dropout: float | None = None
    residual_dropout: float = 0.0

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = [*super().problems(), *whole("blocks", self.blocks, 1, 6)]
        found += whole("attention_heads", self.attention_heads, 1, 1024)
        for name in ("attention_dropout", "dropout", "residual_dropout"):
            value = getattr(self, name)
            found += [] if value is None else from_zero(name, value, 0.9)
        if self.width is not None:
            found += layer_width(self.width)
        if not found and (width := self.width or WIDTHS[self.blocks - 1]) % self.attention_heads:
            found.append(f"width: expected a multiple of {self.attention_heads} (attention_heads), found {width}.")
        return found


def fit(
    train: pl.DataFrame,
    dev: pl.DataFrame,
    *,
    features: Features,
    target: str,
    settings: Settings,
    folder: str | os.PathLike[str],
    cores: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> Path:
    """Train the members on `train`, stopping early on `dev`, and write them to `folder`.

    Killed at any moment and called again with the same arguments, it trains only the missing members, the one that
    was cut off from about a minute before, and (on a CPU) ends with the same files, byte for byte.

    Args:
        train: records [N] to learn from.
        dev: records like those of train (dev_in), for early stopping; a sample of at most 10,000 is used.
        features: the columns that the networks see.
        target: the column to predict.
        settings: see `Settings`.
        folder: a fresh folder, or that of the same fit begun earlier.
        cores: the most members to train at a time on CPUs; all cores if None.
        progress: called with steps done, steps in all, and a sentence.
        overwrite: delete another fit in `folder` instead of refusing it.

    Raises:
        TableError: naming what is wrong with the targets or the features.
        SettingsError: if the folder is another fit's, or cannot be written to.
        MissingExtraError: if PyTorch or a library of the networks is not installed.
        ShiftbenchError: if a loss is not finite, or a member's process dies; those that are done stay.
    """
    return neural_data.train(
        "ft_transformer", settings, (train, dev), features=features, target=target, folder=folder, cores=cores,
        progress=progress, overwrite=overwrite,
    )  # fmt: skip


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian | Categorical:
    """What the M members in `folder` say about the N rows of `frame`: [M, N] or [M, N, C].

    Variances are at least 1e-12 times the variance of the training targets. On a GPU the last digits are others.

    Raises:
        TableError: if a feature is missing in `frame`, or of another type than it was trained with.
        SettingsError: if `folder` holds no fit of this method, or members that are missing or damaged.
        MissingExtraError: if PyTorch or a library of the networks is not installed.
    """
    return neural_data.predict("ft_transformer", frame, folder=folder, cores=cores)


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """How many networks of which size; nothing is done to the rows of `frame`."""
    settings = Settings.from_dict(fitted_folder.read(folder, "ft_transformer")["settings"])
    size = f"{settings.blocks} blocks of {settings.width or WIDTHS[settings.blocks - 1]}"
    steps = neural_data.best_steps("ft_transformer", folder, settings.members)
    return f"{settings.members} FT-Transformers that differ by seed ({size}, best after {steps})"
