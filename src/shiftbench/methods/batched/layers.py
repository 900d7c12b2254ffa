"""Batched layers, with their gradient written out; records stand on the last axis.

At the small batches that these networks are trained with, the time goes into the number of operations more than into
their size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

LARGEST = 80.0  # outputs of softplus layers are at most this: exp(−80) is about the smallest that float32 can hold
MANY = 128  # records: for fewer, calls of NumPy cost more than they save

Shapes = tuple[tuple[int, int], ...]
"""Inputs and outputs of each layer."""


def count(shapes: Shapes) -> int:
    """P, the parameters of layers of these shapes: weights and biases."""
    return sum(inputs * outputs + outputs for inputs, outputs in shapes)


def split(parameters: Tensor, shapes: Shapes) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """The weights [M, in, out] and the biases [M, out, 1] of every layer, as views of the parameters [M, P].

    In a single tensor they cost the optimiser one call; the weights of all layers come first, then the biases.
    """
    whole = (*shapes, *((outputs, 1) for _, outputs in shapes))
    parts = torch.split(parameters, [rows * columns for rows, columns in whole], dim=1)
    views = tuple(part.view(-1, *shape) for part, shape in zip(parts, whole, strict=True))
    return views[: len(shapes)], views[len(shapes) :]


@dataclass(frozen=True)
class Drawn:
    """Random numbers of a step.

    Attributes:
        masks: for each hidden layer, factors of its outputs [M, out, B], or none.
        shift: added to the parameters [M, P], or none.
        signs: for each layer, the signs of each record's inputs and outputs applied to the shift, [M, in, B] and
            [M, out, B] (Wen et al., ICLR 2018, equation 4).
    """

    masks: Sequence[Tensor] = ()
    shift: Tensor | None = None
    signs: Sequence[tuple[Tensor, Tensor]] = ()


def layers(inputs: Tensor, parameters: Tensor, shapes: Shapes, drawn: Drawn) -> Tensor:
    """Softplus layers and a last one without, [M, in, B] → [M, out, B]: member by member, as a batched product."""
    return cast(Tensor, _Layers.apply(inputs, parameters, drawn.shift, shapes, drawn))  # type: ignore[no-untyped-call]


def softplus(values: Tensor) -> Tensor:
    """log(1 + exp(x)), limited to 80."""
    return cast(Tensor, _Softplus.apply(values))  # type: ignore[no-untyped-call]


def log(values: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Logarithms [M, …, B], without a gradient. On a CPU they are NumPy's if there are many: those take less than half
    the time of PyTorch's."""
    if values.device.type != "cpu" or values.shape[-1] < MANY:
        return torch.log(values, out=out)
    found = torch.empty_like(values) if out is None else out
    np.log(values.numpy(), out=found.numpy())
    return found


def product(left: Tensor, right: Tensor, added: Tensor | None = None, *, beta: int = 1, alpha: int = 1) -> Tensor:
    """beta · added + alpha · left · right for each member, [M, I, K] × [M, K, J], without a gradient; both are 1 or −1.

    On a CPU it is NumPy's product if an axis is as long as that of many records: its library then takes 0.55
    to 0.9 of the time of PyTorch's.
    """
    if left.device.type != "cpu" or max(left.shape[-1], right.shape[-1]) < MANY:
        if added is None:
            added, beta = left.new_empty(()), 0
        return torch.baddbmm(added, left, right, beta=beta, alpha=alpha)
    if added is None:
        found = torch.from_numpy(np.matmul(left.numpy(), right.numpy()))
        return found if alpha == 1 else found.neg_()
    small = left if alpha == 1 else -left  # the weights: less work than a pass over what comes out
    return torch.from_numpy(np.matmul(small.numpy(), right.numpy())).add_(added, alpha=beta)


class _Layers(torch.autograd.Function):
    """As softplus(x) is −log sigmoid(−x), hidden layers compute the negative of their outputs, and the products with it
    are taken with the other sign, which costs nothing."""

    @staticmethod
    def forward(
        ctx: Any, values: Tensor, parameters: Tensor, shift: Tensor | None, shapes: Shapes, drawn: Drawn
    ) -> Tensor:
        weights, biases = split(parameters, shapes)
        shifts, shift_biases = ((), ()) if shift is None else split(shift, shapes)
        seen, signed, sigmoids = [], [], []
        for layer, (weight, bias) in enumerate(zip(weights, biases, strict=True)):
            last = layer == len(shapes) - 1
            own = 1 if last else -1  # the sign of the outputs of the layer
            sign = -own if layer else own  # that of the product with the inputs of the layer
            seen.append(values)
            if shifts:
                before, after = drawn.signs[layer]
                signed.append(values * before)
                shifted = product(shifts[layer].mT, signed[-1], shift_biases[layer], alpha=own * sign)
                bias = torch.addcmul(bias, shifted, after)
            outputs = product(weight.mT, values, bias, beta=own, alpha=sign)
            if not last:
                sigmoids.append(outputs.clamp_(min=-LARGEST).sigmoid_())
                values = log(outputs)
                if drawn.masks:
                    values *= drawn.masks[layer]
        ctx.seen, ctx.signed, ctx.sigmoids = seen, signed, sigmoids
        ctx.weights, ctx.shifts, ctx.drawn = weights, shifts, drawn
        return outputs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Any:
        (gradient,) = gradients
        of_weights, of_biases, of_shifts, of_shift_biases = [], [], [], []
        for layer in reversed(range(len(ctx.weights))):
            weight, sign = ctx.weights[layer], -1 if layer else 1
            # Popping frees memory, which is reused while it is in the cache.
            of_weights.append(product(ctx.seen.pop(), gradient.mT, alpha=sign).flatten(1))
            of_biases.append(gradient.sum(dim=2))
            if layer:
                below = product(weight, gradient)
            if ctx.shifts:
                before, after = ctx.drawn.signs[layer]
                turned = gradient * after
                of_shifts.append(product(ctx.signed.pop(), turned.mT, alpha=sign).flatten(1))
                of_shift_biases.append(turned.sum(dim=2))
                if layer:
                    below.addcmul_(product(ctx.shifts[layer], turned), before)
            if layer:
                if ctx.drawn.masks:
                    below *= ctx.drawn.masks[layer - 1]
                gradient = below.addcmul_(below, ctx.sigmoids.pop(), value=-1)  # the slope is 1 − sigmoid(−x)
        of_shift = torch.cat(of_shifts[::-1] + of_shift_biases[::-1], dim=1) if ctx.shifts else None
        return None, torch.cat(of_weights[::-1] + of_biases[::-1], dim=1), of_shift, None, None


class _Softplus(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor) -> Tensor:
        ctx.turned = values.neg().clamp_(min=-LARGEST).sigmoid_()
        return torch.log(ctx.turned).neg_()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return torch.addcmul(gradients[0], gradients[0], ctx.turned, value=-1)
