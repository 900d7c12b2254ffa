"""Settings of the methods that predict trajectories: those of all networks, and those of networks of maps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shiftbench.methods.settings import (
    MethodSettings,
    layer_width,
    non_negative,
    one_of,
    positive,
    seed_number,
    switch,
    whole_number,
)


@dataclass(frozen=True)
class TrajectorySettings(MethodSettings):
    """Settings of all networks; defaults are the paper's (Shifts 1.0, appendix E.4) where it gives any.

    Attributes:
        task: always "trajectories".
        members: K or M, the number of networks.
        batch: requests per step.
        learning_rate: the highest; it rises over the first `warmup_epochs` and falls to 0 along a cosine. In the
            published schedule it changes once per epoch; here with each step.
        weight_decay: of AdamW.
        epochs: passes over the training requests.
        warmup_epochs: see `learning_rate`.
        patience: epochs without improvement on dev_in after which training stops. With 100, the
            number of epochs, it never does, as published; the weights of the best epoch are kept either way.
        clip: the largest norm of a gradient.
        dropout: the rate in training and of the masks of a dropout ensemble. The paper gives none; this is the rate
            of MobileNetV2's authors.
        mixed_precision: on a GPU, train in 16 bits where that is safe. No effect on a CPU.
        seed: the members' own seeds are derived from it; ensembles with different seeds share no member.
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
        hidden: width of the decoder's state and of the encoder's output; a multiple of 8, at least 16.
        crop: side in pixels of the central square of a map that the encoder gets; the whole map if None.
        pooling: side in pixels of the average pooling applied to maps before the encoder.
        context_dropout: the dropout rate of the decoder's initial state; published networks apply dropout to the
            encoder's features alone (`dropout`).
        position_unit_m: the unit, in metres, of the positions given to the decoder's GRU. In tens of metres, what is
            driven in a city within 5 s is a few units.
        least_scale_m: the smallest standard deviation of a step, in metres. The published 1e-7 lets the likelihood of a
            parked vehicle grow without bound.
        checkpoint_by: "ade" (of the likeliest steps, on dev_in) or "nll".
        plans_per_member: Q, the number of plans that each member samples for a request.
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
    """Further settings of `cloning`.

    Attributes:
        generation: the GRU's inputs in training: "sampling" (the published one) the network's own samples,
            "teacher_forcing" the true positions before. Plans are sampled and scored alike after both.
    """

    generation: str = one_of("sampling", "teacher_forcing")


@dataclass(frozen=True)
class VectorSettings(TrajectorySettings):
    """Settings of `vector`, which is this package's own.

    Attributes:
        batch, learning_rate, weight_decay, epochs, dropout: see `TrajectorySettings`.
        width: of tokens; a multiple of 8 and of `heads`, at least 16.
        heads: of each attention layer.
        mixing: blocks in which all tokens attend to each other (the expensive ones).
        layers: blocks in which the modes attend to each other and to the tokens.
        lines: the number of polylines used, the nearest ones.
        modes: D; with five members 25 modes in all, the most that are scored.
        first_sigma_m: the standard deviation at the start of training, in metres; 1 at the end.
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
        """All problems with these values."""
        found = super().problems()
        if not found and self.width % self.heads:
            found.append(f"heads: expected a divisor of the width {self.width}, found {self.heads}.")
        return found
