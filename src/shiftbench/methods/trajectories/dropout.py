"""Dropout whose masks can be held still: a network under one set of masks is a member of an ensemble.

Drawn anew for each request, as a pass of the published dropout ensembles draws them, what is said about a request would
depend on the others in its block. Held masks are the same for all requests; each request alone sees the same spread.
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
    """Dropout of the last axis, [..., width]: random while training, and after it nothing, or a mask that is held."""

    def __init__(self, width: int, rate: float) -> None:
        super().__init__()
        self.width, self.rate = width, rate
        self.mask: Tensor | None = None

    def forward(self, values: Tensor) -> Tensor:
        """Values [..., width], those that are kept scaled so that the mean stays."""
        if self.training:
            return functional.dropout(values, self.rate)
        return values if self.mask is None else values * self.mask


def masked(net: Net, seed: Sequence[int]) -> Net:
    """A view of the network that holds one set of masks; parameters and buffers are shared, nothing is trained."""
    tensors = (*net.parameters(), *net.buffers())
    view = copy.deepcopy(net, {id(tensor): tensor for tensor in tensors}).eval()
    drawn = np.random.SeedSequence(list(seed)).generate_state(1)[0]
    generator = torch.Generator().manual_seed(int(drawn))
    for module in view.modules():
        if isinstance(module, HeldDropout):
            kept = torch.rand(module.width, generator=generator) >= module.rate
            module.mask = (kept / (1 - module.rate)).to(tensors[0].device)
    return view
