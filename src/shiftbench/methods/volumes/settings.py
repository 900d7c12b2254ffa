"""Settings of the methods that segment volumes; the defaults are the published ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from shiftbench.components import SMALL_MM3
from shiftbench.methods.settings import (
    MethodSettings,
    checked,
    non_negative,
    paths,
    positive,
    seed_number,
    switch,
    whole,
    whole_number,
)

MC_DROPOUT = "mc_dropout"  # the ensemble of draws of dropout of one network
LARGEST = 1024  # side of a patch in voxels


def fraction(default: float) -> Any:
    """A field that holds a number from 0 to 1."""
    return non_negative(default, 1)


def between(default: float | None) -> Any:
    """A field that holds a number between 0 and 1, neither of which is allowed."""

    def check(name: str, value: Any) -> list[str]:
        if isinstance(value, float) and 0 < value < 1:
            return []
        return [f"{name}: expected a number between 0 and 1, found {value!r}."]

    return checked(default, check)


def numbers(default: tuple[int, ...], low: int, high: int) -> Any:
    """A field that holds two or more whole numbers from low to high."""

    def check(name: str, value: Any) -> list[str]:
        if isinstance(value, tuple) and len(value) > 1 and not any(whole(name, each, low, high) for each in value):
            return []
        return [f"{name}: expected two or more whole numbers from {low:,} to {high:,}, found {value!r}."]

    return checked(default, check)


@dataclass(frozen=True)
class VolumeSettings(MethodSettings):
    """Settings of all networks; defaults are the published ones (Shifts 2.0, appendix C, and its code).

    Attributes:
        task: always "volumes".
        members: M, the number of networks.
        weights: files of published weights (state dicts saved by PyTorch), one for each member; nothing is trained
            then but the thresholds.
        window: side in voxels of the patches that are learnt from, and of the windows of predictions.
        crop: side of the larger patch around a chosen voxel, in which that of `window` is placed at random.
        foreground_share: of the patches, whose chosen voxel is foreground; the others' is any other voxel of the brain.
        patches: of each volume in an epoch.
        batch: patches in a step.
        learning_rate, weight_decay: of AdamW, which is Adam where the decay is 0, as published.
        cosine: let the learning rate fall to 0 along half a cosine, or keep it.
        epochs: passes over the training volumes.
        validate_every: epochs from one validation on dev_in to the next; the weights of the best are kept.
        patience: validations without gain after which training stops.
        dice_weight, focal_weight, focal_gamma: of the loss.
        intensity: augmentation: the largest shift of the normalised image, and relative change of its scale.
        mirror: augmentation: the probability of a mirror image, and of turns by 90° in each plane.
        rotation, zoom: augmentation: the largest angle (radians) and the largest relative change of size.
        dropout: the rate in training, and of ensembles by dropout.
        draws: passes under dropout of such an ensemble.
        selection_threshold: of the probability, for the Dice score on dev_in that chooses the best weights.
        threshold: that the probability of foreground reaches; None tunes it on dev_in in steps of 0.01.
        overlap: of neighbouring windows, as a fraction of their side.
        small_mm3: components of this volume or less are removed from a segmentation.
        mixed_precision: on a GPU, train in 16 bits where that is safe. No effect on a CPU.
        seed: the members' own seeds are derived from it; ensembles with different seeds share no member.
    """

    tasks: ClassVar[tuple[str, ...]] = ("volumes",)
    axes: ClassVar[int] = 3  # of what a network sees

    task: str = "volumes"
    members: int = whole_number(5, 1, 1000)
    weights: tuple[str, ...] = paths(())
    window: int = whole_number(96, 4, LARGEST)
    crop: int = whole_number(128, 4, LARGEST)
    foreground_share: float = fraction(0.8)
    patches: int = whole_number(32, 1, 100_000)
    batch: int = whole_number(2, 1, 10_000)
    learning_rate: float = positive(1e-5, 1)
    weight_decay: float = non_negative(0.0, 1)
    cosine: bool = switch(False)
    epochs: int = whole_number(300, 1, 100_000)
    validate_every: int = whole_number(5, 1, 100_000)
    patience: int = whole_number(1000, 1, 100_000)
    dice_weight: float = non_negative(0.5, 1000)
    focal_weight: float = non_negative(1.0, 1000)
    focal_gamma: float = non_negative(2.0, 100)
    intensity: float = fraction(0.1)
    mirror: float = fraction(0.5)
    rotation: float = non_negative(math.pi / 12, math.pi)
    zoom: float = non_negative(0.1, 0.9)
    dropout: float = non_negative(0.0, 0.9)
    draws: int = whole_number(5, 1, 1000)
    selection_threshold: float = between(0.4)
    threshold: float | None = between(None)
    overlap: float = non_negative(0.25, 0.9)
    small_mm3: float = non_negative(SMALL_MM3, 1e9)
    mixed_precision: bool = switch(True)
    seed: int = seed_number()

    def problems(self) -> list[str]:
        """All problems with these values."""
        found = super().problems()
        if found:
            return found
        if self.crop < self.window:
            found.append(f"crop: expected at least the window {self.window}, found {self.crop}.")
        if self.weights and len(self.weights) != self.members:
            found.append(f"weights: expected a file for each of {self.members} members, found {len(self.weights)}.")
        if not self.dice_weight + self.focal_weight:
            found.append("dice_weight, focal_weight: expected one above 0, found 0 for both.")
        return found


@dataclass(frozen=True)
class UNetSettings(VolumeSettings):
    """Further settings of `unet`.

    Attributes:
        channels: of the levels of the network, each of half the resolution of the one before.
    """

    channels: tuple[int, ...] = numbers((32, 64, 128, 256, 512), 1, 65_536)

    def problems(self) -> list[str]:
        """All problems with these values."""
        found = super().problems()
        half = 2 ** (len(self.channels) - 1)
        if not found and (self.window % half or self.window == half):
            found.append(
                f"window: expected a multiple of {half} from {2 * half} for {len(self.channels)} levels of channels, "
                f"found {self.window}."
            )
        return found


@dataclass(frozen=True)
class SliceSettings(UNetSettings):
    """Settings of `unet_slices`, which is this package's own: patches and windows are squares of an axial slice.

    Half of the patches lie on background: with the published fifth, slices showed so little of it that networks raised
    false alarms everywhere, and the best thresholds came near 1.
    """

    axes: ClassVar[int] = 2

    members: int = whole_number(3, 1, 1000)
    channels: tuple[int, ...] = numbers((16, 32, 64, 128), 1, 65_536)
    window: int = whole_number(64, 4, LARGEST)
    crop: int = whole_number(80, 4, LARGEST)
    foreground_share: float = fraction(0.5)
    selection_threshold: float = between(0.5)
    patches: int = whole_number(64, 1, 100_000)
    batch: int = whole_number(16, 1, 10_000)
    learning_rate: float = positive(2e-3, 1)
    cosine: bool = switch(True)
    epochs: int = whole_number(30, 1, 100_000)
    validate_every: int = whole_number(3, 1, 100_000)


@dataclass(frozen=True)
class TransformerSettings(VolumeSettings):
    """Further settings of `unetr`.

    Attributes:
        features: channels of its decoder's finest level.
        hidden: width of the tokens, one for each 16 by 16 by 16 voxels.
        heads: of each attention layer.
        feed_forward: width of the layers between them.
    """

    features: int = whole_number(16, 1, 65_536)
    hidden: int = whole_number(768, 1, 65_536)
    heads: int = whole_number(12, 1, 1024)
    feed_forward: int = whole_number(3072, 1, 65_536)

    def problems(self) -> list[str]:
        """All problems with these values."""
        found = super().problems()
        if not found and self.window % 16:
            found.append(f"window: expected a multiple of 16, found {self.window}.")
        if not found and self.hidden % self.heads:
            found.append(f"hidden: expected a multiple of the {self.heads} heads, found {self.hidden}.")
        return found
