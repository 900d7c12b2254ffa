"""Settings of the methods that answer with trajectories: what they share, and what only networks of maps have."""

from __future__ import annotations

from dataclasses import dataclass

from shiftbench.methods.neural_data import from_zero, layer_width
from shiftbench.methods.settings import MethodSettings, above_zero, whole

CHECKPOINTS = ("ade", "nll")


@dataclass(frozen=True)
class TrajectorySettings(MethodSettings):
    """What all networks must be told; the defaults are those of the paper (Shifts 1.0, appendix E.4) where it has any.

    Attributes:
        task: always "regression".
        members: K or M, the number of networks.
        batch: requests in a step.
        learning_rate: the highest; it rises over the first `warmup_epochs` and falls to 0 along a cosine. Published
            steps of it are whole epochs; here it changes with each step.
        weight_decay: of AdamW.
        epochs: how often each request is seen.
        warmup_epochs: see `learning_rate`.
        patience: looks at dev_in, one after each epoch, without gain after which a network stops. With 100, as many as
            epochs, none ever does, as published; the weights of the best look are kept either way.
        clip: the largest norm of a gradient.
        dropout: the share of values dropped in training and by the masks of a dropout ensemble. The paper names no
            rate; this is the one of MobileNetV2's authors.
        mixed_precision: on a GPU, train in 16 bits where that is safe. Makes no difference on a CPU.
        seed: the members' own seeds follow from it; ensembles with different seeds share no member.
    """

    task: str = "regression"
    members: int = 5
    batch: int = 650
    learning_rate: float = 1e-4
    weight_decay: float = 0.0
    epochs: int = 100
    warmup_epochs: int = 1
    patience: int = 100
    clip: float = 1.0
    dropout: float = 0.2
    mixed_precision: bool = True
    seed: int = 0

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = [
            *super().problems(),
            *whole("members", self.members, 1, 1000),
            *whole("batch", self.batch, 2, 1_000_000),
            *above_zero("learning_rate", self.learning_rate, 1),
            *from_zero("weight_decay", self.weight_decay, 1),
            *whole("epochs", self.epochs, 1, 100_000),
            *whole("warmup_epochs", self.warmup_epochs, 0, 100_000),
            *whole("patience", self.patience, 1, 100_000),
            *above_zero("clip", self.clip, 1e6),
            *from_zero("dropout", self.dropout, 0.9),
            *whole("seed", self.seed, 0, 2**63 - 1),
        ]
        if self.task == "classification":
            found.append("task: expected regression, found 'classification'.")
        if not isinstance(self.mixed_precision, bool):
            found.append(f"mixed_precision: expected true or false, found {self.mixed_precision!r}.")
        return found


@dataclass(frozen=True)
class PlannerSettings(TrajectorySettings):
    """What networks of feature maps must be told besides; the defaults are the published ones.

    Attributes:
        width: multiplies the channels of MobileNetV2.
        hidden: of the decoder's state, and the encoder's output; a multiple of 8 from 16.
        crop: the encoder sees so many by so many pixels in the middle of a map; all of them if None.
        pooling: so many by so many pixels of a map are averaged into one before the encoder sees it.
        least_scale_m: the smallest standard deviation of a step, in metres. The published 1e-7 lets the likelihood of
            a parked vehicle grow without end.
        checkpoint_by: "ade" (of the likeliest steps, on dev_in) or "nll".
        plans_per_member: Q, how many plans each member makes of a request.
    """

    width: float = 1.0
    hidden: int = 512
    crop: int | None = None
    pooling: int = 1
    least_scale_m: float = 1e-7
    checkpoint_by: str = "ade"
    plans_per_member: int = 10

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = [
            *super().problems(),
            *above_zero("width", self.width, 16),
            *(text.replace("width", "hidden") for text in layer_width(self.hidden)),
            *([] if self.crop is None else whole("crop", self.crop, 1, 1_000_000)),
            *whole("pooling", self.pooling, 1, 64),
            *above_zero("least_scale_m", self.least_scale_m, 10),
            *whole("plans_per_member", self.plans_per_member, 1, 1000),
        ]
        return found + one_of("checkpoint_by", self.checkpoint_by, CHECKPOINTS)


def one_of(name: str, value: object, known: tuple[str, ...]) -> list[str]:
    """The problem, if any, of a value that must be one of these words."""
    return [] if value in known else [f"{name}: expected {' or '.join(known)}, found {value!r}."]
