"""The losses of batched networks, with their gradients written out; see `layers`."""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional

from shiftbench.methods.batched.layers import LARGEST

SD_FLOOR = 1e-6


def negative_log_likelihood(mean: Tensor, sd: Tensor, targets: Tensor) -> Tensor:
    """Negative log-likelihoods of normal distributions without constant: means over the last axis, [M] of [M, B]."""
    return cast(Tensor, _NegativeLogLikelihood.apply(mean, sd, targets))  # type: ignore[no-untyped-call]


def output_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """The same for outputs [M, 2, B]: means, and inputs of softplus, with a floor of 1e-6, for standard deviations."""
    return cast(Tensor, _OutputLoss.apply(outputs, targets))  # type: ignore[no-untyped-call]


def drawn_posterior(center: Tensor, rho: Tensor, normals: Tensor, prior_sd: float) -> tuple[Tensor, Tensor]:
    """What is added to the centres [M, P] of normal posteriors with deviations softplus(rho) [M, P], by standard normal
    numbers [M, P]; and the Kullback-Leibler divergences [M] of the posteriors from a normal prior around 0."""
    return cast(
        tuple[Tensor, Tensor],
        _DrawnPosterior.apply(center, rho, normals, prior_sd),  # type: ignore[no-untyped-call]
    )


class _NegativeLogLikelihood(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mean: Tensor, sd: Tensor, targets: Tensor) -> Tensor:
        ctx.precision = sd.reciprocal()
        ctx.error = (mean - targets).mul_(ctx.precision)
        return torch.log(sd).addcmul_(ctx.error, ctx.error, value=0.5).mean(dim=-1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        by_sd = ctx.precision * (gradients[0] / ctx.error.shape[-1])[:, None]
        by_mean = ctx.error * by_sd
        return by_mean, by_sd.addcmul_(by_mean, ctx.error, value=-1), None


class _OutputLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, outputs: Tensor, targets: Tensor) -> Tensor:
        mean, raw = outputs.unbind(1)
        ctx.turned = raw.neg().clamp_(min=-LARGEST).sigmoid_()
        sd = torch.log(ctx.turned).neg_().add_(SD_FLOOR)
        ctx.precision = sd.reciprocal()
        ctx.error = (mean - targets).mul_(ctx.precision)
        return torch.log(sd).addcmul_(ctx.error, ctx.error, value=0.5).mean(dim=-1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        members, batch = ctx.error.shape
        by_sd = ctx.precision * (gradients[0] / batch)[:, None]
        found = by_sd.new_empty(members, 2, batch)
        by_mean = torch.mul(ctx.error, by_sd, out=found[:, 0])
        by_sd.addcmul_(by_mean, ctx.error, value=-1)
        torch.addcmul(by_sd, by_sd, ctx.turned, value=-1, out=found[:, 1])
        return found, None


class _DrawnPosterior(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, center: Tensor, rho: Tensor, normals: Tensor, prior_sd: float) -> tuple[Tensor, Tensor]:
        sd = functional.softplus(rho)
        squares = (center * center).addcmul_(sd, sd)
        divergence = squares.mul_(0.5 / prior_sd**2).sub_(torch.log(sd)).sum(dim=1)
        ctx.given, ctx.prior_sd = (center, rho, sd, normals), prior_sd
        return sd * normals, divergence.add_(center.shape[1] * (math.log(prior_sd) - 0.5))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None, None]:
        center, rho, sd, normals = ctx.given
        by_shift, by_divergence = gradients[0], gradients[1][:, None]
        by_center = by_divergence / ctx.prior_sd**2
        by_sd = (sd * by_center).addcdiv_(by_divergence, sd, value=-1).addcmul_(by_shift, normals)
        return center * by_center, by_sd.mul_(torch.sigmoid(rho)), None, None
