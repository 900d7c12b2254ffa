"""Networks of plain layers whose M members are batched: every parameter is [M, …], every layer one batched product.

Each predicts a mean and a standard deviation of the standardised target. Hidden layers are softplus layers, and the
loss is the negative log-likelihood of a normal distribution (Malinin et al., "Shifts 2.0", 2022, appendix D.3).
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from shiftbench.methods.batched.layers import LARGEST, Drawn, Shapes, count, layers, log, split
from shiftbench.methods.batched.losses import SD_FLOOR, drawn_posterior, output_loss
from shiftbench.methods.batched.noise import Dropped, Noise, derived, dropout_masks, many_normals, normals, sign_words

Function = Callable[[Tensor], Tensor]
"""From the inputs of records [D, B] to means and standard deviations by F functions [2, F, B]."""
MakeNetwork = Callable[[Mapping[str, Any], Sequence[int]], "Batched"]
"""(record of a fit, a seed for each member) → the untrained members."""

POSTERIOR_RHO = -3.0  # its softplus, 0.05, is the initial standard deviation of weights
POWERS = (1 << torch.arange(32))[:, None].to(torch.int32)  # multiplication by one is a faster bit shift
ONE = 0x3F800000  # the bits of 1.0 as a float32


class Batched(nn.Module):
    """M members in one module: the interface for training, validation and prediction."""

    @abstractmethod
    def losses(self, inputs: Tensor, targets: Tensor, step: int) -> Tensor:
        """The loss of each member [M], for its own records [M, B, D] and targets [M, B]."""

    @abstractmethod
    def mean(self, inputs: Tensor) -> Tensor:
        """The mean prediction [M, B] for the same records [B, D], without a gradient or random draws."""

    @abstractmethod
    def functions(self, draws: int) -> Iterator[Function]:
        """The functions of the members, each drawn `draws` times, member after member."""


class Plain(Batched):
    """Networks that differ by their seeds: Glorot's uniform initial weights, biases 0."""

    def __init__(self, inputs: int, hidden: Sequence[int], *, seeds: Sequence[int]) -> None:
        super().__init__()
        self.seeds, self.shapes = seeds, tuple(itertools.pairwise((inputs, *hidden, 2)))
        self.weights = nn.Parameter(begun(self.shapes, seeds))

    def losses(self, inputs: Tensor, targets: Tensor, step: int) -> Tensor:
        """Negative log-likelihoods [M]."""
        drawn = self._drawn(inputs.shape[1], step)
        return output_loss(layers(inputs.mT, self.weights, self.shapes, drawn), targets)

    def mean(self, inputs: Tensor) -> Tensor:
        """The mean prediction [M, B]."""
        return Frozen(*split(self.weights.detach(), self.shapes))(inputs.T)[0]

    def functions(self, draws: int) -> Iterator[Function]:
        """The draws of every member."""
        for member, seed in enumerate(self.seeds):
            one = self.weights[member : member + 1].detach()
            drawn = torch.cat([self._draw(one, derived(seed, 0, draw)) for draw in range(draws)])
            yield Frozen(*split(drawn, self.shapes))

    def _drawn(self, batch: int, step: int) -> Drawn:
        """The random numbers for the records of a step."""
        return Drawn()

    def _draw(self, weights: Tensor, seed: int) -> Tensor:
        """The weights [1, P] of a member as one function."""
        return weights


class Dropout(Plain):
    """Networks with dropout after each hidden layer, on in training and in each draw of the network.

    The masks of a draw are the same for all records (Gal and Ghahramani, ICML 2016: dropout as a posterior of weights).
    """

    def __init__(self, inputs: int, hidden: Sequence[int], *, seeds: Sequence[int], rate: float, batch: int) -> None:
        super().__init__(inputs, hidden, seeds=seeds)
        self.rate, self.widths = rate, list(hidden)
        self.masks = Dropped((sum(hidden), batch), rate, seeds=seeds, stream=1)

    def _drawn(self, batch: int, step: int) -> Drawn:
        masks = self.masks.at(step, self.weights.device)[..., :batch]
        return Drawn(masks=torch.split(masks, self.widths, dim=1))

    def _draw(self, weights: Tensor, seed: int) -> Tensor:
        """A mask of a layer's outputs is one of the rows of the next layer's weights."""
        mask = torch.from_numpy(dropout_masks(np.random.default_rng(seed), (sum(self.widths), 1), self.rate))
        drawn = weights.clone()
        for matrix, part in zip(split(drawn, self.shapes)[0][1:], torch.split(mask, self.widths), strict=True):
            matrix *= part.to(matrix)
        return drawn


class Flipout(Batched):
    """Variational inference: every weight and bias has a normal posterior of its own and a normal prior around 0.

    The loss is the negative evidence lower bound, a record: the expected negative log-likelihood, by one draw of the
    weights a step, which each record sees with signs of its own (Wen, Vicol, Ba, Tran and Grosse, "Flipout", ICLR 2018,
    equation 4), and the divergence of the whole posterior from the prior over the number of training records.
    """

    def __init__(
        self, inputs: int, hidden: Sequence[int], *, seeds: Sequence[int], prior_sd: float, batch: int, records: int
    ) -> None:
        super().__init__()
        self.seeds, self.shapes = seeds, tuple(itertools.pairwise((inputs, *hidden, 2)))
        self.prior_sd, self.records = prior_sd, records
        self.center = nn.Parameter(begun(self.shapes, seeds))
        self.rho = nn.Parameter(torch.full_like(self.center, POSTERIOR_RHO))
        self.sides = [side for shape in self.shapes for side in shape]
        self.normals = Noise(many_normals, self.center.shape[1:], seeds=seeds, stream=1)
        self.signs = Noise(sign_words, (math.ceil(sum(self.sides) / 32), batch), seeds=seeds, stream=2)

    def losses(self, inputs: Tensor, targets: Tensor, step: int) -> Tensor:
        """Negative evidence lower bounds, a record [M]."""
        numbers = self.normals.at(step, self.center.device)
        shift, divergence = drawn_posterior(self.center, self.rho, numbers, self.prior_sd)
        drawn = Drawn(shift=shift, signs=self._signs(inputs.shape[1], step))
        outputs = layers(inputs.mT, self.center, self.shapes, drawn)
        return output_loss(outputs, targets).add(divergence, alpha=1 / self.records)

    def mean(self, inputs: Tensor) -> Tensor:
        """The mean prediction [M, B] by the means of the posterior."""
        return Frozen(*split(self.center.detach(), self.shapes))(inputs.T)[0]

    def functions(self, draws: int) -> Iterator[Function]:
        """The draws of every member."""
        center, sd = self.center.detach(), functional.softplus(self.rho.detach())
        for member, seed in enumerate(self.seeds):
            generators = [np.random.default_rng(derived(seed, 0, draw)) for draw in range(draws)]
            drawn = np.stack([normals(generator, (center.shape[1],)) for generator in generators])
            yield Frozen(*split(center[member] + sd[member] * torch.from_numpy(drawn).to(center), self.shapes))

    def _signs(self, batch: int, step: int) -> list[tuple[Tensor, Tensor]]:
        """Signs of the inputs and outputs of each layer, [M, in, B] and [M, out, B], as the layers want them."""
        place = self.center.device
        drawn = self.signs.at(step, place)[:, :, None, :batch]
        # Each bit that was drawn becomes the highest one of a word of its own: the sign of a float32.
        words = (drawn * POWERS.to(place)).bitwise_and_(-(2**31)).bitwise_or_(ONE).flatten(1, 2)
        sides = torch.split(words.view(torch.float32)[:, : sum(self.sides)], self.sides, dim=1)
        return list(zip(sides[::2], sides[1::2], strict=True))


class Frozen:
    """F functions drawn from a network, with their weights [F, in, out] and biases [F, out, 1] as they are.

    Records stand on the last axis, [D, B]: the sum over inputs is then the same wherever in a block a record stands.
    """

    def __init__(self, weights: Sequence[Tensor], biases: Sequence[Tensor]) -> None:
        # softplus(x) is −log(sigmoid(−x)): both signs go into the weights.
        signs = [-1.0, *(1.0 for _ in weights[2:]), -1.0]
        self.weights = [(weight * sign).mT.contiguous() for weight, sign in zip(weights, signs, strict=True)]
        *hidden, last = biases
        self.biases = [*(-bias for bias in hidden), last.contiguous()]

    def __call__(self, inputs: Tensor) -> Tensor:
        """Means and deviations [2, F, B] for records [D, B]."""
        values = inputs.expand(len(self.weights[0]), -1, -1)
        for bias, weight in zip(self.biases[:-1], self.weights[:-1], strict=True):
            values = _log_sigmoid_(torch.baddbmm(bias, weight, values))
        outputs = torch.baddbmm(self.biases[-1], self.weights[-1], values).transpose(0, 1)
        _log_sigmoid_(outputs[1].neg_()).neg_().add_(SD_FLOOR)
        return outputs


def _log_sigmoid_(values: Tensor) -> Tensor:
    """In place; of −x it is −softplus(x)."""
    values.clamp_(min=-LARGEST).sigmoid_()
    return log(values, out=values)


def begun(shapes: Shapes, seeds: Sequence[int]) -> Tensor:
    """Initial parameters [M, P] of layers."""
    parameters = torch.zeros(len(seeds), count(shapes))
    for layer, weights in enumerate(split(parameters, shapes)[0]):
        glorot(weights, shapes[layer], seeds=seeds, layer=layer)
    return parameters


def glorot(weights: Tensor, shape: tuple[int, int], *, seeds: Sequence[int], layer: int) -> None:
    """Draw initial weights [M, in, out], uniform as in Glorot and Bengio (AISTATS 2010), each member's by its seed."""
    bound = math.sqrt(6 / sum(shape))
    with torch.no_grad():
        for member, seed in enumerate(seeds):
            weights[member].uniform_(-bound, bound, generator=torch.Generator().manual_seed(derived(seed, 3, layer)))
