"""A network whose mean has the structure of a ship's shaft power; only positive coefficients and two bounded factors,
functions of drafts and speed, are learnt. Properties that hold for any weights, so also outside train, are listed at
the end.

With relative speed v, relative resistance R and time t since the last dry dock:

    P = P₀ · (1 + f t) · R · (v + √(v² + k R)) / 2
    R = e(draft, trim, v) · Σ aᵢ calmᵢ + Σ bⱼ addedⱼ          all aᵢ, bⱼ, f, k > 0; R kept above 0
    σ² = exp(2 s(draft, trim, v)) · ((α P)² + (β w)² + γ² + (δ P / v)²)     w: true wind speed

The effective power is R v. An ideal propeller that gives the thrust R at the speed v has the efficiency
2 / (1 + √(1 + C)) with the thrust loading C = k R / v² (Rankine 1865, Froude 1889; Carlton, Marine Propellers and
Propulsion, chapter 8), hence the root: it gives the cost of high winds at low speed. `calm` and `added` are the terms
of `terms`: friction with the power 1.825 of speed (Froude 1872), roughness that adds up to its third root (Townsin
2003), residuary resistance with higher powers of speed (ITTC 1978's division of the resistance), wind with the square
of its apparent speed (ISO 15016, Annex C), waves with the square of their height (ISO 15016, Annex D), inertia with the
acceleration. The noise has a part proportional to power, one proportional to wind, and the effect of an error of
measured speed on a power that grows with its cube.

For any weights, all else equal: time since dry dock, waves, acceleration and an apparent head wind never reduce power,
and a following wind never increases it. In the same true wind power never falls with speed where e is constant, which
is outside the speeds of train (`terms.EDGES`), nor between two speeds with a ratio of 1.73 or more: e is between
exp(-1/2) and exp(1/2), and even friction, which grows least, compensates that. Between closer speeds inside train power
may fall because of e: random weights, unlike trained ones, do so in 3 % of small steps. Drafts are not constrained.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from shiftbench.methods.batched.layers import softplus
from shiftbench.methods.batched.losses import SD_FLOOR, negative_log_likelihood
from shiftbench.methods.batched.networks import Batched, Function, glorot
from shiftbench.methods.batched.noise import derived
from shiftbench.tracks.power.symbolic.terms import ADDED, CALM, SHAPE, STATE

# Initial coefficients: shares of the power of a typical ship, in the order of the terms.
START = {
    "calm": (0.25, 0.25, 0.03, 0.03, 0.03, 0.1, 0.1, 0.05),
    "added": (0.03, 0.03, 0.03, 0.02, 0.01, 0.02, 0.02),
    "loading": (0.3,),
    "fouling": (0.03,),
    "noise": (0.03, 0.03, 0.01, 0.03),
}
SPREAD = 0.3  # standard deviation of the logarithms of the members' initial coefficients
LARGEST = (0.5, 0.7)  # bounds of the logarithms of the learnt factors of resistance and deviation
SMALLEST_RESISTANCE = 1e-3


class Symbolic(Batched):
    """M networks for the record of a fit: `center` and `scale` of the target, `inputs.cube`, `settings.width`."""

    def __init__(self, record: Mapping[str, Any], *, seeds: Sequence[int]) -> None:
        super().__init__()
        self.members, self.scale = len(seeds), record["scale"]
        self.center = record["center"] / self.scale
        # The power at R = v = 1, in standard deviations of the target.
        self.typical = max(abs(self.center), 1.0) / record["inputs"]["cube"]
        start = torch.tensor([value for part in START.values() for value in part])
        self.raw = nn.Parameter(torch.stack([_begun(start, seed) for seed in seeds]))
        width = record["settings"]["width"]
        self.hidden = nn.Parameter(torch.empty(len(seeds), len(SHAPE), width))
        self.hidden_bias = nn.Parameter(torch.zeros(len(seeds), 1, width))
        self.factors = nn.Parameter(torch.empty(len(seeds), width, 2))
        self.factors_bias = nn.Parameter(torch.zeros(len(seeds), 1, 2))
        glorot(self.hidden, (len(SHAPE), width), seeds=seeds, layer=0)
        glorot(self.factors, (width, 2), seeds=seeds, layer=1)
        self.largest: Tensor
        self.register_buffer("largest", torch.tensor(LARGEST), persistent=False)

    def losses(self, inputs: Tensor, targets: Tensor, step: int) -> Tensor:
        """Negative log-likelihoods [M]."""
        mean, sd = self._outputs(inputs)
        return negative_log_likelihood(mean, sd, targets)

    def mean(self, inputs: Tensor) -> Tensor:
        """The mean prediction [M, B]."""
        return self._outputs(inputs.expand(self.members, -1, -1))[0]

    def functions(self, draws: int) -> Iterator[Function]:
        """One function for all members; there are no random draws."""
        yield lambda inputs: torch.stack(self._outputs(inputs.T.contiguous().expand(self.members, -1, -1)))

    def _outputs(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and deviation [M, B] of the standardised target for the terms of records [M, B, WIDTH]."""
        state, shape, calm, added = torch.split(inputs, [len(STATE), len(SHAPE), len(CALM), len(ADDED)], dim=-1)
        speed, wind, time = state.unbind(-1)
        sizes = [len(part) for part in START.values()]
        of_calm, of_added, loading, fouling, noise = torch.split(functional.softplus(self.raw), sizes, dim=1)
        hidden = softplus(torch.baddbmm(self.hidden_bias, shape, self.hidden))
        factors = torch.baddbmm(self.factors_bias, hidden, self.factors)
        easier, noisier = torch.exp(self.largest * torch.tanh(factors)).unbind(-1)
        resistance = easier * (calm @ of_calm[..., None])[..., 0] + (added @ of_added[..., None])[..., 0]
        resistance = 0.5 * (resistance + torch.sqrt(resistance * resistance + SMALLEST_RESISTANCE**2))
        drawn = 0.5 * (speed + torch.sqrt(speed * speed + loading * resistance))
        power = resistance * drawn * (1 + fouling * time)
        squared = noise * noise
        variance = squared[:, 1:2] * (wind * wind) + squared[:, 2:3]
        variance = variance + (power * power) * (squared[:, :1] + squared[:, 3:] / (speed * speed))
        sd = noisier * torch.sqrt(variance) * self.typical + SD_FLOOR
        return power * self.typical - self.center, sd


def _begun(start: Tensor, seed: int) -> Tensor:
    """Initial values, different for each member, from which softplus gives coefficients near `start`."""
    generator = torch.Generator().manual_seed(derived(seed, 4))
    coefficients = start * torch.exp(SPREAD * torch.randn(len(start), generator=generator))
    return torch.log(torch.expm1(coefficients))
