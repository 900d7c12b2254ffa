"""The batched operations of stacked networks, each with its gradient written out: at the small batches that these
networks are trained with, the time goes into the number of operations and not into their size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

LARGEST = 80.0  # softplus layers say no more than this: exp(−80) is about the smallest that float32 can hold


Shapes = tuple[tuple[int, int], ...]
"""Inputs and outputs of each layer."""


def count(shapes: Shapes) -> int:
    """P, the parameters of layers of these shapes: weights and biases."""
    return sum(inputs * outputs + outputs for inputs, outputs in shapes)


def split(parameters: Tensor, shapes: Shapes) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The weights [M, in, out] and the biases [M, 1, out] of every layer, as views of the parameters [M, P].

    All in one tensor cost the optimiser one call; the weights of all layers stand first, then the biases.
    """
    whole = (*shapes, *((1, outputs) for _, outputs in shapes))
    parts = torch.split(parameters, [rows * columns for rows, columns in whole], dim=1)
    views = tuple(part.view(-1, *shape) for part, shape in zip(parts, whole, strict=True))
    return views[: len(shapes)], views[len(shapes) :]


@dataclass(frozen=True)
class Drawn:
    """What is drawn for a step.

    Attributes:
        masks: for each hidden layer, factors of its outputs [M, B, out], or none.
        shift: what is added to the parameters [M, P], or none.
        signs: for each layer, the signs of each record's inputs and outputs that the shift is seen with, [M, B, in] and
            [M, B, out] (Wen et al., ICLR 2018, equation 4).
    """

    masks: Sequence[Tensor] = ()
    shift: Tensor | None = None
    signs: Sequence[tuple[Tensor, Tensor]] = ()


def layers(inputs: Tensor, parameters: Tensor, shapes: Shapes, drawn: Drawn | None = None) -> Tensor:
    """Softplus layers and a last one without, [M, B, in] → [M, B, out]: member by member, as a batched product."""
    drawn = drawn or Drawn()
    return cast(Tensor, _Layers.apply(inputs, parameters, drawn.shift, shapes, drawn))  # type: ignore[no-untyped-call]


def softplus(values: Tensor) -> Tensor:
    """log(1 + exp(x)), of x up to 80; what is beyond stays 80."""
    return cast(Tensor, _Softplus.apply(values))  # type: ignore[no-untyped-call]


def negative_log_likelihood(mean: Tensor, sd: Tensor, targets: Tensor) -> Tensor:
    """Of normal distributions, without its constant: the mean over the last axis, [M] of [M, B]."""
    return cast(Tensor, _NegativeLogLikelihood.apply(mean, sd, targets))  # type: ignore[no-untyped-call]


class _Layers(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, values: Tensor, parameters: Tensor, shift: Tensor | None, shapes: Shapes, drawn: Drawn
    ) -> Tensor:
        weights, biases = split(parameters, shapes)
        shifts, shift_biases = ((), ()) if shift is None else split(shift, shapes)
        seen, signed, slopes = [], [], []
        for layer in range(len(shapes)):
            seen.append(values)
            # The negative of what the layer says: softplus(x) is −log(sigmoid(−x)).
            turned = torch.baddbmm(biases[layer], values, weights[layer], beta=-1, alpha=-1)
            if shifts:
                before, after = drawn.signs[layer]
                signed.append(values * before)
                turned.addcmul_(torch.baddbmm(shift_biases[layer], signed[-1], shifts[layer]), after, value=-1)
            if layer == len(shapes) - 1:
                break
            slopes.append(turned.clamp_(min=-LARGEST).sigmoid_())
            values = torch.log(turned).neg_()
            if drawn.masks:
                values *= drawn.masks[layer]
        ctx.seen, ctx.signed, ctx.slopes = seen, signed, slopes
        ctx.weights, ctx.shifts, ctx.drawn = weights, shifts, drawn
        return turned.neg_()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (gradient,) = gradients
        of_weights, of_biases, of_shifts, of_shift_biases = [], [], [], []
        for layer in reversed(range(len(ctx.weights))):
            values = ctx.seen[layer]
            of_weights.append(torch.bmm(values.mT, gradient).flatten(1))
            of_biases.append(gradient.sum(dim=1))
            below = torch.bmm(gradient, ctx.weights[layer].mT) if layer else None
            if ctx.shifts:
                before, after = ctx.drawn.signs[layer]
                turned = gradient * after
                of_shifts.append(torch.bmm(ctx.signed[layer].mT, turned).flatten(1))
                of_shift_biases.append(turned.sum(dim=1))
                if below is not None:
                    below.addcmul_(torch.bmm(turned, ctx.shifts[layer].mT), before)
            if below is not None:
                if ctx.drawn.masks:
                    below *= ctx.drawn.masks[layer - 1]
                gradient = below.addcmul_(below, ctx.slopes[layer - 1], value=-1)  # the slope is 1 − sigmoid(−x)
        of_shift = torch.cat(of_shifts[::-1] + of_shift_biases[::-1], dim=1) if ctx.shifts else None
        return None, torch.cat(of_weights[::-1] + of_biases[::-1], dim=1), of_shift, None, None


class _Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        turned = values.neg().clamp_(min=-LARGEST).sigmoid_()
        ctx.save_for_backward(turned)
        return torch.log(turned).neg_()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        (turned,) = ctx.saved_tensors
        return torch.addcmul(gradients[0], gradients[0], turned, value=-1)


class _NegativeLogLikelihood(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, mean: Tensor, sd: Tensor, targets: Tensor) -> Tensor:
        precision = sd.reciprocal()
        error = (mean - targets).mul_(precision)
        ctx.save_for_backward(error, precision)
        return torch.log(sd).addcmul_(error, error, value=0.5).mean(dim=-1)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        error, precision = ctx.saved_tensors
        by_sd = precision * (gradients[0] / error.shape[-1])[:, None]
        by_mean = error * by_sd
        return by_mean, by_sd.addcmul_(by_mean, error, value=-1), None
