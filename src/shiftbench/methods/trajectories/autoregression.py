"""Autoregressive Gaussians of positions: the mean and scale of each step are functions of all earlier positions.

The decoder of behavioural cloning and the flow of the deep imitative model are one family of densities, since a flow
whose steps are affine is a Gaussian of each step given those before. They differ in the head and in the
training.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from shiftbench.methods.trajectories import likelihood

SCALE_EPSILON_M = 1e-7  # added to every scale, as published
IMITATIVE_HEAD = 32


class Steps(NamedTuple):
    """values: [R, T, 2], positions in metres or noise. log_scales: [R, T, 2], of the steps."""

    values: Tensor
    log_scales: Tensor


def linear_head(hidden: int) -> nn.Module:
    """The head of behavioural cloning: means and raw scales, 4 numbers, of a state [..., hidden]."""
    return nn.Linear(hidden, 4)


def two_layer_head(hidden: int) -> nn.Module:
    """The head of the deep imitative model: 32 rectified units, then 4 numbers."""
    return nn.Sequential(nn.Linear(hidden, IMITATIVE_HEAD), nn.ReLU(), nn.Linear(IMITATIVE_HEAD, 4))


class Decoder(nn.Module):
    """p(y | z) = prod_t N(y_t; y_(t-1) + d_t, diag(s_t²)), d_t and s_t from a GRU fed y_1 ... y_(t-1) and z.

    y_0 is 0, where the agent is at T = 0; z [R, hidden] is the first state.

    Args:
        hidden: width of the state.
        head: from states [..., hidden] to means and raw scales [..., 4].
        position_unit_m: positions are divided by this many metres before the GRU sees them; 1 as published.
        least_scale_m: added to softplus of the raw scales.
    """

    def __init__(
        self, hidden: int, head: nn.Module, *, position_unit_m: float = 1.0, least_scale_m: float = SCALE_EPSILON_M
    ) -> None:
        super().__init__()
        self.gru, self.head = nn.GRU(2, hidden, batch_first=True), head
        self.position_unit_m, self.least_scale_m = position_unit_m, least_scale_m

    def inverse(self, positions: Tensor, context: Tensor) -> Steps:
        """The noise from which `forward` generates these positions [R, T, 2], and log scales; context [R, hidden]."""
        before = functional.pad(positions[:, :-1], (0, 0, 1, 0))
        states, _ = self.gru(before / self.position_unit_m, context[None])
        move, scale = self._moves(states)
        return Steps((positions - before - move) / scale, scale.log())

    def forward(self, noise: Tensor, context: Tensor) -> Steps:
        """Positions generated from noise [R, T, 2]: a sample for noise from N(0, I), the likeliest for noise 0."""
        positions, _, scales = self._unrolled(noise, context)
        return Steps(positions, scales.log())

    def log_prob(self, positions: Tensor, context: Tensor) -> Tensor:
        """log p(y | z) [R] of positions [R, T, 2] in metres, each step given the true ones before (teacher forcing)."""
        return likelihood.gaussian(*self.inverse(positions, context))

    def sampled_log_prob(self, positions: Tensor, context: Tensor, noise: Tensor) -> Tensor:
        """sum_t log N(y_t - y_(t-1); d_t, diag(s_t²)) [R], d_t and s_t from a GRU fed its own samples x, not y.

        Only the GRU's inputs are sampled, x_t = x_(t-1) + d_t + s_t * noise_t; the true displacement is scored. This is
        the published training of behavioural cloning ("sampling"). It is not a density of y, so plans are never scored
        by it. Gradients pass through the samples.
        """
        _, moves, scales = self._unrolled(noise, context)
        true_moves = positions - functional.pad(positions[:, :-1], (0, 0, 1, 0))
        return likelihood.gaussian((true_moves - moves) / scales, scales.log())

    def _unrolled(self, noise: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Positions, displacements and scales, each [R, T, 2], generated step by step from noise [R, T, 2]."""
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        inner, outer, inner_bias, outer_bias = (self.gru.get_parameter(name) for name in names)
        state, position = context, torch.zeros_like(noise[:, 0])
        positions, moves, scales = [], [], []
        for step in range(noise.shape[1]):
            state = torch.gru_cell(position / self.position_unit_m, state, inner, outer, inner_bias, outer_bias)
            move, scale = self._moves(state)
            position = position + move + scale * noise[:, step]
            positions.append(position)
            moves.append(move)
            scales.append(scale)
        return torch.stack(positions, dim=1), torch.stack(moves, dim=1), torch.stack(scales, dim=1)

    def _moves(self, states: Tensor) -> tuple[Tensor, Tensor]:
        out = self.head(states)
        move, raw = out.to(torch.promote_types(out.dtype, torch.float32)).split(2, dim=-1)  # scales need 32 bits
        return move, functional.softplus(raw) + self.least_scale_m
