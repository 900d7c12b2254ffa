"""The networks that see feature maps: MobileNetV2 and an autoregressive decoder (Shifts 1.0, appendix E.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from shiftbench.methods.trajectories import batch_reader, likelihood
from shiftbench.methods.trajectories.autoregression import Decoder, linear_head, two_layer_head
from shiftbench.methods.trajectories.dropout import HeldDropout
from shiftbench.methods.trajectories.encoder import MobileNetV2

FED_M = 10.0  # positions are given to the decoder in tens of metres: city speeds over 5 s are then a few units
HEADS = {"cloning": linear_head, "imitative": two_layer_head}


class PlannerNet(nn.Module):
    """Feature maps [B, C, H, W] to a density of positions [T, 2] that can be drawn from and asked.

    Dropout acts on the encoder's features, as its authors have it, and on the vector [B, hidden] that the decoder
    starts from.
    """

    def __init__(self, method: str, settings: Mapping[str, Any], *, channels: int) -> None:
        super().__init__()
        hidden, rate = settings["hidden"], settings["dropout"]
        self.encoder = MobileNetV2(channels, width=settings["width"])
        linear = nn.Linear(self.encoder.features, hidden)
        nn.init.normal_(linear.weight, 0, 0.01)
        nn.init.zeros_(linear.bias)
        self.project = nn.Sequential(HeldDropout(self.encoder.features, rate), linear, HeldDropout(hidden, rate))
        self.decoder = Decoder(hidden, HEADS[method](hidden), fed_m=FED_M, least_scale_m=settings["least_scale_m"])
        self.samples = settings.get("generation") == "sampling"
        self.by_ade = settings["checkpoint_by"] == "ade"

    def context(self, features: Tensor) -> Tensor:
        """What the decoder starts from [B, hidden], of the encoder's features [B, F]."""
        context: Tensor = self.project(features)
        return context.float()

    def loss(self, inputs: Mapping[str, Tensor], targets: Tensor) -> Tensor:
        """Negative log-likelihoods [B] to learn by."""
        context = self.context(self.encoder(inputs["maps"]))
        if self.samples:
            return -self.decoder.sampled_log_prob(targets, context, torch.randn_like(targets))
        return -self.decoder.log_prob(targets, context)

    def score(self, inputs: Mapping[str, Tensor], targets: Tensor) -> Tensor:
        """What to judge by [B]: ADE of the likeliest steps, or the negative log-likelihood."""
        context = self.context(self.encoder(inputs["maps"]))
        if self.by_ade:
            return likelihood.ade(self.decoder(torch.zeros_like(targets), context).values, targets)
        return -self.decoder.log_prob(targets, context)


def reader(settings: Mapping[str, Any]) -> batch_reader.Read:
    """What reads the inputs of these networks."""
    return batch_reader.maps(settings["pooling"], settings.get("crop"))
