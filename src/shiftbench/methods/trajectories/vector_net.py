"""The network for vector features: mode queries attend to tokens of tracks and polylines and become trajectories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from shiftbench.methods.trajectories import likelihood
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
    """Self-attention, attention to tokens if `listens`, and two linear layers: each pre-normalised and residual."""

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
        """[B, Q, width] to the same shape; `known` [B, Q] and `heard` [B, K] are false for padding."""
        normed = self.norms[0](values)
        values = values + self.drops[0](self.among(normed, normed, known))
        if self.listen is not None and tokens is not None:
            values = values + self.drops[2](self.listen(self.norms[2](values), tokens, heard))
        return torch.as_tensor(values + self.drops[1](self.think(self.norms[1](values))))


STEP_S = 0.2
# x, y, velocity, acceleration: divided by these, city traffic is of the order of 1. Columns as in the features.
STATE_UNITS = (20.0, 20.0, 10.0, 10.0, 3.0, 3.0)
YAW, KNOWN = 6, 7
SIZE_UNIT_M, POINT_UNIT_M = 5.0, 20.0
STEPS_PER_UNIT = 10.0  # points of polylines are 2 m apart: their steps, too, are of the order of 1
KINDS = 3
# The columns of a track's token at one step: six scaled, cosine and sine of yaw, known.
COLUMNS = 9


class VectorNet(nn.Module):
    """Histories, neighbours and polylines in the agent's frame to a mixture of D trajectories [D, T, 2] in metres.

    Each mode adds changes of velocity to the agent's own at T = 0; positions are their running sum. Trained on cNLL
    itself. Its standard deviation shrinks from `first_sigma_m` to 1 m over the first half of the training: while it is
    wide, all modes learn; at 1 m from the start only the nearest mode gets a gradient and most never move.
    """

    def __init__(self, settings: Mapping[str, Any], shapes: Mapping[str, Any], *, horizon: int, steps: int) -> None:
        super().__init__()
        width, rate, heads = settings["width"], settings["dropout"], settings["heads"]
        past = shapes["history"][0]
        self.modes, self.horizon, self.annealed = settings["modes"], horizon, max(1, steps // 2)
        self.first_sigma_m, self.lines = settings["first_sigma_m"], settings["lines"]
        self.agent = _perceptron(past * COLUMNS, width)
        self.neighbour = _perceptron(past * COLUMNS + 2 + KINDS, width)
        self.point = _perceptron(4, width // 2)
        self.line = _perceptron(width // 2 + shapes["line_attributes"][1], width)
        self.kind = nn.Parameter(0.02 * torch.randn(3, width))
        self.mixing = nn.ModuleList(Block(width, heads, rate, listens=False) for _ in range(settings["mixing"]))
        self.norm = nn.LayerNorm(width)
        self.queries = nn.Parameter(torch.randn(self.modes, width))
        self.layers = nn.ModuleList(Block(width, heads, rate, listens=True) for _ in range(settings["layers"]))
        self.drop = HeldDropout(width, rate)
        self.moves = nn.Sequential(
            nn.LayerNorm(width), _perceptron(width, 2 * width), nn.Linear(2 * width, horizon * 2)
        )
        self.logit = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 1))
        self.steps_seen: Tensor
        self.register_buffer("steps_seen", torch.zeros((), dtype=torch.int64))

    def forward(self, inputs: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Trajectories [B, D, T, 2] in metres and the logarithms of their weights [B, D]."""
        agent, tokens, known = self._tokens(inputs)
        for block in self.mixing:
            tokens = block(tokens, known)
        tokens = self.norm(tokens)
        values = self.queries + agent[:, None]
        for layer in self.layers:
            values = layer(values, None, tokens, known)
        values = self.drop(values)
        velocity = inputs["history"][:, -1, 2:4].float()
        change = self.moves(values).float().unflatten(-1, (self.horizon, 2))
        trajectories = STEP_S * (velocity[:, None, None] + change).cumsum(dim=2)
        return trajectories, self.logit(values)[..., 0].float().log_softmax(dim=1)

    def loss(self, inputs: Mapping[str, Tensor], targets: Tensor) -> Tensor:
        """cNLL [B] with the current training step's standard deviation."""
        done = (self.steps_seen / self.annealed).clamp(max=1.0)
        self.steps_seen += 1
        sigma_m = self.first_sigma_m ** (1 - done)
        trajectories, logarithms = self(inputs)
        return likelihood.corrected_nll(trajectories, logarithms, targets, sigma_m=sigma_m)

    def score(self, inputs: Mapping[str, Tensor], targets: Tensor) -> Tensor:
        """cNLL [B] as it is scored, with a standard deviation of 1 m."""
        trajectories, logarithms = self(inputs)
        return likelihood.corrected_nll(trajectories, logarithms, targets)

    def _tokens(self, inputs: Mapping[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """The agent's token [B, width], all tokens [B, 1 + neighbours + lines, width], and which are not padding."""
        agent = self.agent(_states(inputs["history"]).flatten(1))
        kinds = torch.nn.functional.one_hot(inputs["neighbour_kind"].long().clamp(min=0), KINDS)
        parts = (_states(inputs["neighbours"]).flatten(2), inputs["neighbour_size"] / SIZE_UNIT_M, kinds)
        neighbours = self.neighbour(torch.cat(parts, dim=-1))
        tokens = [agent[:, None], neighbours, self._lines(inputs)]
        lines = inputs["line_mask"][:, : self.lines]
        known = [torch.ones_like(lines[:, :1]), inputs["neighbour_mask"], lines]
        typed = [part + kind for part, kind in zip(tokens, self.kind, strict=True)]
        return agent, torch.cat(typed, dim=1), torch.cat(known, dim=1)

    def _lines(self, inputs: Mapping[str, Tensor]) -> Tensor:
        """Tokens [B, L, width] of polylines: the maximum of their points' features (PointNet, Qi et al. 2017)."""
        points, there = inputs["points"][:, : self.lines] / POINT_UNIT_M, inputs["point_mask"][:, : self.lines]
        last = slice(-1, None)
        ahead = torch.cat([points[:, :, 1:], points[:, :, last]], dim=2) - points
        both = there & torch.cat([there[:, :, 1:], there[:, :, last]], dim=2)
        point_features = self.point(torch.cat([points, STEPS_PER_UNIT * ahead * both[..., None]], dim=-1))
        highest = point_features.masked_fill(~there[..., None], 0).amax(dim=2)
        return torch.as_tensor(self.line(torch.cat([highest, inputs["line_attributes"][:, : self.lines]], dim=-1)))


def _states(states: Tensor) -> Tensor:
    """States [..., 25, 8] as network inputs [..., 25, 9]; 0 where a vehicle is not observed."""
    scaled = states[..., :YAW] / states.new_tensor(STATE_UNITS)
    yaw, known = states[..., YAW : YAW + 1], states[..., KNOWN:]
    return torch.cat([scaled, yaw.cos() * known, yaw.sin() * known, known], dim=-1)


def _perceptron(inputs: int, width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU())
