"""The batched layers of stacked networks, with their gradient written out: at the small batches that these networks are
trained with, the time goes into the number of operations more than into their size. Records stand on the last axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

LARGEST = 80.0  # softplus layers say no more than this: exp(−80) is about the smallest that float32 can hold


Shapes = tuple[tuple[int, int], ...]
"""Inputs and outputs of each layer."""


def count(shapes: Shapes) -> int:
    """P, the parameters of layers of these shapes: weights and biases."""
    return sum(inputs * outputs + outputs for inputs, outputs in shapes)


def split(parameters: Tensor, shapes: Shapes) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The weights [M, in, out] and the biases [M, out, 1] of every layer, as views of the parameters [M, P].

    All in one tensor cost the optimiser one call; the weights of all layers stand first, then the biases.
    """
    whole = (*shapes, *((outputs, 1) for _, outputs in shapes))
    parts = torch.split(parameters, [rows * columns for rows, columns in whole], dim=1)
    views = tuple(part.view(-1, *shape) for part, shape in zip(parts, whole, strict=True))
    return views[: len(shapes)], views[len(shapes) :]


@dataclass(frozen=True)
class Drawn:
    """What is drawn for a step.

    Attributes:
        masks: for each hidden layer, factors of its outputs [M, out, B], or none.
        shift: what is added to the parameters [M, P], or none.
        signs: for each layer, the signs of each record's inputs and outputs that the shift is seen with, [M, in, B] and
            [M, out, B] (Wen et al., ICLR 2018, equation 4): whole numbers as wide as the inputs, of which the highest
            bit is that of a negative sign and all others are 0.
    """

    masks: Sequence[Tensor] = ()
    shift: Tensor | None = None
    signs: Sequence[tuple[Tensor, Tensor]] = ()


def layers(inputs: Tensor, parameters: Tensor, shapes: Shapes, drawn: Drawn | None = None) -> Tensor:
    """Softplus layers and a last one without, [M, in, B] → [M, out, B]: member by member, as a batched product."""
    drawn = drawn or Drawn()
    return cast(Tensor, _Layers.apply(inputs, parameters, drawn.shift, shapes, drawn))  # type: ignore[no-untyped-call]


def softplus(values: Tensor) -> Tensor:
    """log(1 + exp(x)), of x up to 80; what is beyond stays 80."""
    return cast(Tensor, _Softplus.apply(values))  # type: ignore[no-untyped-call]


def log(values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithms, without a gradient. On a CPU they are NumPy's, which take less than half the time of PyTorch's."""
    found = torch.empty_like(values) if out is None else out
    if values.device.type != "cpu":
        return torch.log(values, out=found)
    np.log(values.numpy(), out=found.numpy())
    return found


class _Layers(torch.autograd.Function):
    """Signs are turned: with n for −x, a hidden layer is n ← log sigmoid(Wᵀn − b), as softplus(x) is −log sigmoid(−x).
    The derivative of log sigmoid is 1 − sigmoid."""

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, parameters: Tensor, shift: Tensor | None, shapes: Shapes, drawn: Drawn
    ) -> Tensor:
        weights, biases = split(parameters, shapes)
        shifts, shift_biases = ((), ()) if shift is None else split(shift, shapes)
        seen, signed, sigmoids = [], [], []
        values = values.neg()
        for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            seen.append(values)
            if shifts:
                before, after = drawn.signs[layer]
                signed.append(_signed(values, before))
                outputs = torch.baddbmm(shift_biases[layer], shifts[layer].mT, signed[-1], beta=-1)
                outputs = _signed_(outputs, after).sub_(bias).baddbmm_(weight.mT, values)
            else:
                outputs = torch.baddbmm(bias, weight.mT, values, beta=-1)
            if layer < len(shapes) - 1:
                sigmoids.append(outputs.clamp_(min=-LARGEST).sigmoid_())
                values = log(outputs)
                if drawn.masks:
                    values *= drawn.masks[layer]
        ctx.seen, ctx.signed, ctx.sigmoids = seen, signed, sigmoids
        ctx.weights, ctx.shifts, ctx.drawn = weights, shifts, drawn
        return outputs.neg_()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        gradient = gradients[0].neg()
        of_weights, of_biases, of_shifts, of_shift_biases = [], [], [], []
        for layer in reversed(range(len(ctx.weights))):
            weight = ctx.weights[layer]
            # What is popped frees its memory, which is used again while it is in the cache.
            of_weights.append(torch.bmm(ctx.seen.pop(), gradient.mT).flatten(1))
            of_biases.append(gradient.sum(dim=2))
            if ctx.shifts:
                before, after = ctx.drawn.signs[layer]
                turned = _signed(gradient, after)
                of_shifts.append(torch.bmm(ctx.signed.pop(), turned.mT).flatten(1))
                of_shift_biases.append(turned.sum(dim=2))
                if layer:
                    below = _signed_(torch.bmm(ctx.shifts[layer], turned), before).baddbmm_(weight, gradient)
            elif layer:
                below = torch.bmm(weight, gradient)
            if layer:
                if ctx.drawn.masks:
                    below *= ctx.drawn.masks[layer - 1]
                gradient = below.addcmul_(below, ctx.sigmoids.pop(), value=-1)
        of_shift = _gradient(of_shifts, of_shift_biases) if ctx.shifts else None
        return None, _gradient(of_weights, of_biases), of_shift, None, None


def _signed(values: Tensor, signs: Tensor) -> Tensor:
    """Values with their signs turned where `signs` are negative: only one bit of each is another."""
    return torch.bitwise_xor(values.view(signs.dtype), signs).view(values.dtype)


def _signed_(values: Tensor, signs: Tensor) -> Tensor:
    """The same in place."""
    values.view(signs.dtype).bitwise_xor_(signs)
    return values


def _gradient(weights: list[Tensor], biases: list[Tensor]) -> Tensor:
    """Of parameters [M, P], from those of layers, the last first; those of the biases have turned signs."""
    whole = torch.cat(weights[::-1] + biases[::-1], dim=1)
    whole[:, -sum(bias.shape[1] for bias in biases) :].neg_()
    return whole


class _Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        ctx.turned = values.neg().clamp_(min=-LARGEST).sigmoid_()
        return log(ctx.turned).neg_()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return torch.addcmul(gradients[0], gradients[0], ctx.turned, value=-1)
