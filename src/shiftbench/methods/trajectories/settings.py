"""Settings of the methods that predict trajectories: those of all networks, and those of networks of maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from shiftbench.methods.settings import (
    MethodSettings,
    checked,
    layer_width,
    non_negative,
    positive,
    seed_number,
    switch,
    whole_number,
)


def one_of(default: str, *others: str) -> Any:
    """A field that must be one of these words."""
    known = (default, *others)

    def check(name: str, value: object) -> list[str]:
        return [] if value in known else [f"{name}: expected {' or '.join(known)}, found {value!r}."]

    return checked(default, check)


@dataclass(frozen=True)
class TrajectorySettings(MethodSettings):
    """Settings of all networks; the defaults are those of the paper (Shifts 1.0, appendix E.4) where it has any.

    Attributes:
        task: always "trajectories".
        members: K or M, the number of networks.
        batch: requests in a step.
        learning_rate: the highest; it rises over the first `warmup_epochs` and falls to 0 along a cosine. Published
            steps of it are whole epochs; here it changes with each step.
        weight_decay: of AdamW.
        epochs: how often each request is seen.
        warmup_epochs: see `learning_rate`.
        patience: epochs without improvement on dev_in after which training stops. With 100, as many as epochs, it
            never does, as published; the weights of the best epoch are kept either way.
        clip: the largest norm of a gradient.
        dropout: the share of values dropped in training and by the masks of a dropout ensemble. The paper names no
            rate; this is the one of MobileNetV2's authors.
        mixed_precision: on a GPU, train in 16 bits where that is safe. Makes no difference on a CPU.
        seed: the members' own seeds follow from it; ensembles with different seeds share no member.
    """

    tasks: ClassVar[tuple[str, ...]] = ("trajectories",)

    task: str = "trajectories"
    members: int = whole_number(5, 1, 1000)
    batch: int = whole_number(650, 2, 1_000_000)
    learning_rate: float = positive(1e-4, 1)
    weight_decay: float = non_negative(0.0, 1)
    epochs: int = whole_number(100, 1, 100_000)
    warmup_epochs: int = whole_number(1, 0, 100_000)
    patience: int = whole_number(100, 1, 100_000)
    clip: float = positive(1.0, 1e6)
    dropout: float = non_negative(0.2, 0.9)
    mixed_precision: bool = switch(True)
    seed: int = seed_number()


@dataclass(frozen=True)
class PlannerSettings(TrajectorySettings):
    """Further settings of networks of feature maps; the defaults are the published ones.

    Attributes:
        width: multiplies the channels of MobileNetV2.
        hidden: of the decoder's state, and the encoder's output; a multiple of 8 from 16.
        crop: the encoder sees so many by so many pixels in the middle of a map; all of them if None.
        pooling: so many by so many pixels of a map are averaged into one before the encoder sees it.
        context_dropout: the share of values dropped of the vector that the decoder starts from; published networks drop
            features of the encoder alone (`dropout`).
        position_unit_m: positions are given to the decoder's GRU in this many metres. In tens of metres, city speeds
            over 5 s are a few units.
        least_scale_m: the smallest standard deviation of a step, in metres. The published 1e-7 lets the likelihood of
            a parked vehicle grow without bound.
        checkpoint_by: "ade" (of the likeliest steps, on dev_in) or "nll".
        plans_per_member: Q, how many plans each member makes of a request.
    """

    width: float = positive(1.0, 16)
    hidden: int = layer_width(512)
    crop: int | None = whole_number(None, 1, 1_000_000)
    pooling: int = whole_number(1, 1, 64)
    context_dropout: float = non_negative(0.0, 0.9)
    position_unit_m: float = positive(1.0, 1000)
    least_scale_m: float = positive(1e-7, 10)
    checkpoint_by: str = one_of("ade", "nll")
    plans_per_member: int = whole_number(10, 1, 1000)


@dataclass(frozen=True)
class CloningSettings(PlannerSettings):
    """Settings of `cloning` beside those of all networks of maps.

    Attributes:
        generation: what the GRU is given in training: "sampling" (the published one) the network's own samples,
            "teacher_forcing" the true positions before. Plans are sampled and scored alike after both.
    """

    generation: str = one_of("sampling", "teacher_forcing")


@dataclass(frozen=True)
class VectorSettings(TrajectorySettings):
    """Settings of `vector`; no paper has them.

    Attributes:
        batch, learning_rate, weight_decay, epochs, dropout: see `TrajectorySettings`.
        width: of tokens; a multiple of 8 from 16, and of the heads.
        heads: of each attention.
        mixing: blocks in which all tokens attend to each other; the expensive ones.
        layers: blocks in which the modes attend to each other and to the tokens.
        lines: how many polylines are seen, the nearest ones.
        modes: D; with five members 25 modes in all, as many as are scored.
        first_sigma_m: the standard deviation that training begins with, in metres; it ends with 1.
    """

    batch: int = whole_number(128, 2, 1_000_000)
    learning_rate: float = positive(5e-4, 1)
    weight_decay: float = non_negative(1e-4, 1)
    epochs: int = whole_number(60, 1, 100_000)
    dropout: float = non_negative(0.1, 0.9)
    width: int = layer_width(128)
    heads: int = whole_number(8, 1, 256)
    mixing: int = whole_number(2, 0, 100)
    layers: int = whole_number(3, 1, 100)
    lines: int = whole_number(128, 1, 100_000)
    modes: int = whole_number(5, 1, 1000)
    first_sigma_m: float = positive(5.0, 1000)

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = super().problems()
        if not found and self.width % self.heads:
            found.append(f"heads: expected a divisor of the width {self.width}, found {self.heads}.")
        return found
