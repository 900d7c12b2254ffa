"""Dropout with masks that can be fixed: a network with one set of masks is a member of an ensemble.

The published dropout ensembles draw new masks for each request, so that predictions depend on the other requests in a
block. Fixed masks are shared by all requests; the spread of a single request's predictions is the same.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

Net = TypeVar("Net", bound=nn.Module)


class HeldDropout(nn.Module):
    """Dropout of the last axis, [..., width]: random while training; afterwards none, or a fixed mask."""

    def __init__(self, width: int, rate: float) -> None:
        super().__init__()
        self.width, self.rate = width, rate
        self.mask: Tensor | None = None

    def forward(self, values: Tensor) -> Tensor:
        """Values [..., width]; kept values are scaled so that the expectation is unchanged."""
        if self.training:
            return functional.dropout(values, self.rate)
        return values if self.mask is None else values * self.mask


def masked(net: Net, seed: Sequence[int]) -> Net:
    """A view of the network with one set of fixed masks, in evaluation mode; it shares parameters and buffers."""
    tensors = (*net.parameters(), *net.buffers())
    view = copy.deepcopy(net, {id(tensor): tensor for tensor in tensors}).eval()
    drawn = np.random.SeedSequence(list(seed)).generate_state(1)[0]
    generator = torch.Generator().manual_seed(int(drawn))
    for module in view.modules():
        if isinstance(module, HeldDropout):
            kept = torch.rand(module.width, generator=generator) >= module.rate
            module.mask = (kept / (1 - module.rate)).to(tensors[0].device)
    return view
