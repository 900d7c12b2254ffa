"""Attention with dropout whose masks can be fixed, and with padding that is masked out."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from shiftbench.methods.trajectories.dropout import HeldDropout


class Attention(nn.Module):
    """Multi-head attention (Vaswani et al., NeurIPS 2017) of [B, Q, width] to [B, K, width]."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ask, self.tell = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.project = nn.Linear(width, width)

    def forward(self, queries: Tensor, tokens: Tensor, known: Tensor | None) -> Tensor:
        """The attended values [B, Q, width]; `known` [B, K] is false for padding, and true for at least one token."""
        keys, values = (self._split(part) for part in self.tell(tokens).chunk(2, dim=-1))
        mask = None if known is None else known[:, None, None, :]
        heard = functional.scaled_dot_product_attention(self._split(self.ask(queries)), keys, values, attn_mask=mask)
        return torch.as_tensor(self.project(heard.transpose(1, 2).flatten(2)))

    def _split(self, values: Tensor) -> Tensor:
        return values.reshape(*values.shape[:2], self.heads, -1).transpose(1, 2)


class Block(nn.Module):
    """Self-attention, attention to tokens if `listens`, and two linear layers: each normalised before, and residual."""

    def __init__(self, width: int, heads: int, rate: float, *, listens: bool) -> None:
        super().__init__()
        self.among = Attention(width, heads)
        self.listen = Attention(width, heads) if listens else None
        self.think = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if listens else 2))
        self.drops = nn.ModuleList(HeldDropout(width, rate) for _ in range(3 if listens else 2))

    def forward(
        self, values: Tensor, known: Tensor | None = None, tokens: Tensor | None = None, heard: Tensor | None = None
    ) -> Tensor:
        """[B, Q, width] to the same; `known` [B, Q] and `heard` [B, K] are false for values and tokens of padding."""
        normed = self.norms[0](values)
        values = values + self.drops[0](self.among(normed, normed, known))
        if self.listen is not None and tokens is not None:
            values = values + self.drops[2](self.listen(self.norms[2](values), tokens, heard))
        return torch.as_tensor(values + self.drops[1](self.think(self.norms[1](values))))
