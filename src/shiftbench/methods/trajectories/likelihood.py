"""Gaussian likelihoods of positions, and losses based on them."""

from __future__ import annotations

import math

import torch
from torch import Tensor

HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def standard_normal(noise: Tensor) -> Tensor:
    """log N(x; 0, I) of noise [..., T, 2] over its last two axes: [...]; the base of the imitative flow."""
    return (-0.5 * noise.square() - HALF_LOG_TAU).sum(dim=(-2, -1))


def gaussian(noise: Tensor, log_scales: Tensor) -> Tensor:
    """log prod_t N(y_t; m_t, diag(s_t²)) [...] from noise (y - m) / s [..., T, 2] and log s [..., T, 2].

    Change of variables: the density of the standardised values times 1 / |det| (Shifts 1.0, Malinin et al. 2021,
    appendix E.4; Rhinehart et al., ICLR 2020, section 2).
    """
    return standard_normal(noise) - log_scales.sum(dim=(-2, -1))


def corrected_nll(
    trajectories: Tensor, log_weights: Tensor, targets: Tensor, *, sigma_m: Tensor | float = 1.0
) -> Tensor:
    """-log sum_d c_d exp(-sum_t ||y_t - s_td||² / (2 sigma²)) [B], the cNLL of Shifts 1.0, equation 15, if sigma is 1.

    Args:
        trajectories: s [B, D, T, 2] in metres.
        log_weights: log c [B, D].
        targets: y [B, T, 2].
        sigma_m: standard deviation of each coordinate in metres.
    """
    squared = (trajectories - targets[:, None]).square().sum(dim=(-2, -1))
    return -torch.logsumexp(log_weights - squared / (2 * sigma_m**2), dim=1)


def ade(trajectories: Tensor, targets: Tensor) -> Tensor:
    """The mean over steps of the distance between [..., T, 2] and [..., T, 2]: [...], in metres."""
    return (trajectories - targets).square().sum(dim=-1).sqrt().mean(dim=-1)
