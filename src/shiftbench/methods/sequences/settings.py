"""Settings of the methods that write sequences; the defaults are the published ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from shiftbench.methods.settings import (
    MethodSettings,
    non_negative,
    one_of,
    paths,
    positive,
    seed_number,
    switch,
    whole_number,
)


@dataclass(frozen=True)
class SequenceSettings(MethodSettings):
    """How sequences are searched, or drawn; defaults are those of Shifts 1.0 (section 4, and its code).

    Attributes:
        task: always "sequences".
        members: M, the number of models.
        beam: hypotheses that a search follows.
        best: hypotheses that it returns, at most `beam`.
        samples: draws of the ensemble in place of a search; 0 searches.
        combine: "pe", the product of expectations, or "ep", the expectation of products.
        length_penalty: hypotheses are ranked by their log-probability over their length to this power.
        longest: tokens of a source, its end included; longer ones are cut to predict them, and not learnt from.
        most_tokens: of a hypothesis, its end included.
        tokens_per_source: further limits a hypothesis to 10 more tokens than this many for each of its source; 0 does
            not.
        decoding_tokens: of sources that are searched together.
        seed: of all random numbers; members' own seeds are derived from it.
    """

    tasks: ClassVar[tuple[str, ...]] = ("sequences",)

    task: str = "sequences"
    members: int = whole_number(3, 1, 1000)
    beam: int = whole_number(5, 1, 1000)
    best: int = whole_number(5, 1, 1000)
    samples: int = whole_number(0, 0, 10_000)
    combine: str = one_of("pe", "ep")
    length_penalty: float = non_negative(1.0, 10)
    longest: int = whole_number(1024, 2, 1_000_000)
    most_tokens: int = whole_number(200, 1, 1_000_000)
    tokens_per_source: float = non_negative(0.0, 1000)
    decoding_tokens: int = whole_number(1024, 1, 10_000_000)
    seed: int = seed_number()

    def problems(self) -> list[str]:
        """All problems with these values."""
        found = super().problems()
        if not found and self.best > self.beam:
            found.append(f"best: expected at most the {self.beam} hypotheses of the beam, found {self.best}.")
        if not found and self.most_tokens > self.longest:
            found.append(f"most_tokens: expected at most the {self.longest:,} of longest, found {self.most_tokens:,}.")
        return found


@dataclass(frozen=True)
class TransformerSettings(SequenceSettings):
    """Settings of `transformer`; the published one is the big one, on eight GPUs (Shifts 1.0, and its code).

    Attributes:
        width: of states; a multiple of `heads`.
        heads: of each attention.
        feed_forward: width of the layers between.
        encoder_layers, decoder_layers: how many.
        dropout, attention_dropout: rates in training.
        norm_first: normalise before each part, as trains faster, or after it, as published.
        share_all: one embedding for sources, targets and the output, or one for the two last alone, as published.
        label_smoothing: the share of the loss that all tokens have alike.
        learning_rate: the highest, after `warmup` steps; it falls with the inverse square root of the steps.
        warmup: steps in which the learning rate rises.
        weight_decay, first_beta, second_beta: of AdamW.
        steps: the most.
        batch_tokens: the most tokens of a batch, padding included.
        batches: in a step; their gradients are added.
        validate_every: steps from one validation on dev_in to the next; the weights of the best are kept.
        patience: validations without gain after which training stops.
        clip: the largest norm of a gradient; 0 does not clip.
        mixed_precision: on a GPU, train in 16 bits where that is safe. No effect on a CPU.
    """

    width: int = whole_number(1024, 2, 65_536)
    heads: int = whole_number(16, 1, 1024)
    feed_forward: int = whole_number(4096, 1, 1_000_000)
    encoder_layers: int = whole_number(6, 1, 1000)
    decoder_layers: int = whole_number(6, 1, 1000)
    dropout: float = non_negative(0.1, 0.9)
    attention_dropout: float = non_negative(0.1, 0.9)
    norm_first: bool = switch(False)
    share_all: bool = switch(False)
    label_smoothing: float = non_negative(0.1, 0.9)
    learning_rate: float = positive(5e-4, 1)
    warmup: int = whole_number(4000, 0, 10_000_000)
    weight_decay: float = non_negative(1e-4, 1)
    first_beta: float = non_negative(0.9, 0.9999)
    second_beta: float = non_negative(0.98, 0.999999)
    steps: int = whole_number(50_000, 1, 100_000_000)
    batch_tokens: int = whole_number(5120, 1, 100_000_000)
    batches: int = whole_number(128, 1, 1_000_000)
    validate_every: int = whole_number(1000, 1, 10_000_000)
    patience: int = whole_number(1000, 1, 100_000)
    clip: float = non_negative(0.0, 1e6)
    mixed_precision: bool = switch(True)

    def problems(self) -> list[str]:
        """All problems with these values."""
        found = super().problems()
        if not found and self.width % self.heads:
            found.append(f"width: expected a multiple of the {self.heads} heads, found {self.width}.")
        return found


@dataclass(frozen=True)
class MarianSettings(SequenceSettings):
    """Settings of `marian`.

    Attributes:
        models: the folder of each member's model, in the form of the library transformers: nothing is downloaded.
        longest: see `SequenceSettings`; as the published models.
    """

    models: tuple[str, ...] = paths(())
    members: int = whole_number(1, 1, 1000)
    longest: int = whole_number(512, 2, 1_000_000)

    def problems(self) -> list[str]:
        """All problems with these values."""
        found = super().problems()
        if not found and len(self.models) != self.members:
            found.append(
                f"models: expected the folder of a model for each of {self.members} members, found "
                f"{len(self.models)}. Name the folders of trained models."
            )
        return found
