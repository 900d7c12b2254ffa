"""MobileNetV2: from a picture of any number of channels to one vector (Sandler et al., CVPR 2018, table 2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

# Expansion t, output channels c, repetitions n, and stride s of the first of them.
STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
FEATURES = 1280


def channels(count: int, width: float) -> int:
    """`count` times `width` as the next multiple of 8 that is not more than a tenth below it; 8 at least."""
    wanted = count * width
    rounded = max(8, int(wanted + 4) // 8 * 8)
    return rounded if rounded >= 0.9 * wanted else rounded + 8


class MobileNetV2(nn.Module):
    """Pictures [B, C, H, W] to features [B, F]: the mean over all places; F is 1280, more where `width` is above 1.

    `width` multiplies the channels of all layers but, where it is below 1, the last.
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
        """Features [B, F] of pictures [B, C, H, W]."""
        maps: Tensor = self.layers(pictures.contiguous(memory_format=torch.channels_last))
        return maps.mean(dim=(2, 3))


class Bottleneck(nn.Module):
    """Expanded, filtered place by place, and projected without a non-linearity; added to what came in where it fits."""

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
