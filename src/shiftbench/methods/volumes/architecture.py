"""The networks: from patches [B, C, …] to logits of background and foreground [B, 2, …]. They are MONAI's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from monai.networks.nets.unet import UNet
from monai.networks.nets.unetr import UNETR
from torch import Tensor, nn

from shiftbench.methods import member_training


def network(method: str, settings: Mapping[str, Any], *, channels: int, seed: int) -> nn.Module:
    """A network of the method for images of C channels, on the CPU, with weights initialised from the seed."""
    with member_training.seeded(seed):
        return _transformer(settings, channels) if method == "unetr" else _unet(method, settings, channels)


def _unet(method: str, settings: Mapping[str, Any], channels: int) -> nn.Module:
    net: nn.Module = UNet(
        spatial_dims=2 if method == "unet_slices" else 3,
        in_channels=channels,
        out_channels=2,
        channels=tuple(settings["channels"]),
        strides=(2,) * (len(settings["channels"]) - 1),
        num_res_units=0,
        dropout=settings["dropout"],
    )
    return net


def _transformer(settings: Mapping[str, Any], channels: int) -> nn.Module:
    net: nn.Module = UNETR(
        in_channels=channels,
        out_channels=2,
        img_size=settings["window"],
        feature_size=settings["features"],
        hidden_size=settings["hidden"],
        mlp_dim=settings["feed_forward"],
        num_heads=settings["heads"],
        dropout_rate=settings["dropout"],
    )
    return net


def odds(net: nn.Module, patches: Tensor) -> Tensor:
    """The logarithm of the odds of the foreground [B, …] of patches [B, C, …]."""
    logits: Tensor = net(patches).float()
    return logits[:, 1] - logits[:, 0]


def drop_always(net: nn.Module) -> nn.Module:
    """Let a network in evaluation mode drop units as in training."""
    for module in net.modules():
        if isinstance(module, nn.Dropout):
            module.train()
    return net
