"""The networks for feature maps: MobileNetV2 and an autoregressive decoder (Shifts 1.0, appendix E.4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from shiftbench.methods.trajectories import batch_reader, likelihood
from shiftbench.methods.trajectories.autoregression import Decoder, linear_head, two_layer_head
from shiftbench.methods.trajectories.dropout import HeldDropout

# Expansion t, output channels c, repetitions n, and stride s of the first of them.
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
FEATURES = 1280


def channels(count: int, width: float) -> int:
    """`count` times `width`, rounded to a multiple of 8 that is at most a tenth smaller; at least 8."""
    wanted = count * width
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * wanted else rounded + 8


class MobileNetV2(nn.Module):
    """Images [B, C, H, W] to features [B, F], averaged over all positions; F is 1280, more if `width` exceeds 1.

    `width` multiplies the channels of all layers except, if it is below 1, the last.
    """

    def __init__(self, inputs: int, *, width: float = 1.0) -> None:
        super().__init__()
        before = channels(32, width)
        layers: list[nn.Module] = [_normed(inputs, before, kernel=3, stride=2)]
        for expansion, count, repetitions, stride in STAGES:
            for repetition in range(repetitions):
                after = channels(count, width)
                layers.append(Bottleneck(before, after, expansion=expansion, stride=1 if repetition else stride))
                before = after
        self.features = channels(FEATURES, max(1.0, width))
        self.layers = nn.Sequential(*layers, _normed(before, self.features, kernel=1))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # twice as fast on a CPU

    def forward(self, pictures: Tensor) -> Tensor:
        """Features [B, F] of images [B, C, H, W]."""
        maps: Tensor = self.layers(pictures.contiguous(memory_format=torch.channels_last))
        return maps.mean(dim=(2, 3))


class Bottleneck(nn.Module):
    """Expansion, depthwise convolution and linear projection; residual where the shapes agree."""

    def __init__(self, before: int, after: int, *, expansion: int, stride: int) -> None:
        super().__init__()
        hidden = before * expansion
        self.adds = stride == 1 and before == after
        self.layers = nn.Sequential(
            *([_normed(before, hidden, kernel=1)] if expansion > 1 else []),
            _normed(hidden, hidden, kernel=3, stride=stride, groups=hidden),
            nn.Conv2d(hidden, after, 1, bias=False),
            nn.BatchNorm2d(after),
        )

    def forward(self, maps: Tensor) -> Tensor:
        """Maps [B, C, H, W] to [B, C', H / s, W / s]."""
        out: Tensor = self.layers(maps)
        return maps + out if self.adds else out


def _normed(before: int, after: int, *, kernel: int, stride: int = 1, groups: int = 1) -> nn.Sequential:
    convolution = nn.Conv2d(before, after, kernel, stride, padding=kernel // 2, groups=groups, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(after), nn.ReLU6(inplace=True))


HEADS = {"cloning": linear_head, "imitative": two_layer_head}


class PlannerNet(nn.Module):
    """Feature maps [B, C, H, W] to a density of positions [T, 2] that can be sampled and evaluated.

    Dropout acts on the encoder's features, as in the original, and with `context_dropout` also on the decoder's initial
    state [B, hidden].
    """

    def __init__(self, method: str, settings: Mapping[str, Any], *, channels: int) -> None:
        super().__init__()
        hidden, rate = settings["hidden"], settings["dropout"]
        self.encoder = MobileNetV2(channels, width=settings["width"])
        linear = nn.Linear(self.encoder.features, hidden)
        nn.init.normal_(linear.weight, 0, 0.01)
        nn.init.zeros_(linear.bias)
        started = HeldDropout(hidden, settings["context_dropout"])
        self.project = nn.Sequential(HeldDropout(self.encoder.features, rate), linear, started)
        self.decoder = Decoder(
            hidden,
            HEADS[method](hidden),
            position_unit_m=settings["position_unit_m"],
            least_scale_m=settings["least_scale_m"],
        )
        self.samples = settings.get("generation") == "sampling"
        self.by_ade = settings["checkpoint_by"] == "ade"

    def context(self, features: Tensor) -> Tensor:
        """The decoder's initial state [B, hidden], from the encoder's features [B, F]."""
        context: Tensor = self.project(features)
        return context.float()

    def loss(self, inputs: Mapping[str, Tensor], targets: Tensor) -> Tensor:
        """Negative log-likelihoods [B], the training loss."""
        context = self.context(self.encoder(inputs["maps"]))
        if self.samples:
            return -self.decoder.sampled_log_prob(targets, context, torch.randn_like(targets))
        return -self.decoder.log_prob(targets, context)

    def score(self, inputs: Mapping[str, Tensor], targets: Tensor) -> Tensor:
        """The validation score [B]: ADE of the likeliest steps, or the negative log-likelihood."""
        context = self.context(self.encoder(inputs["maps"]))
        if self.by_ade:
            return likelihood.ade(self.decoder(torch.zeros_like(targets), context).values, targets)
        return -self.decoder.log_prob(targets, context)


def reader(settings: Mapping[str, Any]) -> batch_reader.Read:
    """The reader of these networks' inputs."""
    return batch_reader.maps(settings["pooling"], settings.get("crop"))
