"""The meaning of a network's outputs: a normal distribution or class probabilities, with losses and scores.

Outputs are [B, K, O]: K submodels that share a network (else K = 1), O numbers each.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

# Soft bounds for the standardised target: standard deviations from 1/3,000 to 55 times that of train.
LEAST_LOG_VARIANCE, MOST_LOG_VARIANCE = -16.0, 8.0
# Seitzer, Tavakoli, Antic and Martius, "On the Pitfalls of Heteroscedastic Uncertainty Estimation with Probabilistic
# Neural Networks", ICLR 2022: weighting by variance^β (0.5 recommended) prevents the likelihood from neglecting means
# where the variance is large at first.
BETA = 0.5


@dataclass(frozen=True)
class Head:
    """The functions of a task. loss: of outputs [B, K, O] and targets [B], the mean over the submodels' own losses, a
    scalar. score: the negative log-likelihood [B] of the mixture of all K. predicted: the parameters of the predicted
    distribution.
    """

    loss: Callable[[Tensor, Tensor], Tensor]
    score: Callable[[Tensor, Tensor], Tensor]
    predicted: Callable[[Tensor], Tensor]


def moments(outputs: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and log variance [B, K] of the standardised target, in float32."""
    mean, raw = outputs.float().unbind(-1)
    # Clamped by softplus, as in Chua et al., NeurIPS 2018, appendix A.1: gradients never vanish.
    log_variance = MOST_LOG_VARIANCE - functional.softplus(MOST_LOG_VARIANCE - raw)
    return mean, LEAST_LOG_VARIANCE + functional.softplus(log_variance - LEAST_LOG_VARIANCE)


def gaussian_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """β-NLL, equation 4 of Seitzer et al. 2022."""
    mean, log_variance = moments(outputs)
    likelihood = 0.5 * (log_variance + (targets[:, None] - mean).square() * torch.exp(-log_variance))
    return (torch.exp(BETA * log_variance.detach()) * likelihood).mean()


def gaussian_score(outputs: Tensor, targets: Tensor) -> Tensor:
    """Negative log-likelihood of the mixture of normal distributions [B]."""
    mean, log_variance = moments(outputs)
    each = -0.5 * (log_variance + (targets[:, None] - mean).square() * torch.exp(-log_variance) + math.log(2 * math.pi))
    return math.log(each.shape[1]) - torch.logsumexp(each, dim=1)


def gaussian_predicted(outputs: Tensor) -> Tensor:
    """Mean and variance of the standardised target [B, K, 2]."""
    mean, log_variance = moments(outputs)
    return torch.stack([mean, torch.exp(log_variance)], dim=-1)


def class_loss(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy."""
    submodels = outputs.shape[1]
    return functional.cross_entropy(outputs.float().flatten(0, 1), targets.repeat_interleave(submodels))


def class_score(outputs: Tensor, targets: Tensor) -> Tensor:
    """Negative log of the mean probability of the true class [B]."""
    place = targets[:, None, None].expand(-1, outputs.shape[1], 1)
    each = torch.log_softmax(outputs.float(), dim=-1).gather(-1, place)[..., 0]
    return math.log(each.shape[1]) - torch.logsumexp(each, dim=1)


def class_predicted(outputs: Tensor) -> Tensor:
    """Probabilities [B, K, C]."""
    return torch.softmax(outputs.double(), dim=-1)


GAUSSIAN = Head(gaussian_loss, gaussian_score, gaussian_predicted)
CATEGORICAL = Head(class_loss, class_score, class_predicted)
