"""The loss of patches: Dice and focal, weighted."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

SMOOTH = 1e-5  # of the Dice loss, so that patches without foreground have one


def loss(logits: Tensor, truth: Tensor, *, dice_weight: float, focal_weight: float, gamma: float) -> Tensor:
    """The weighted sum of both losses [B] of logits [B, 2, …] and the true foreground, bool [B, …].

    Source: Shifts 2.0 (Malinin et al. 2022), the published code of its baselines.
    """
    logits, truth = logits.float(), truth.long()
    return dice_weight * dice(logits.softmax(1)[:, 1], truth) + focal_weight * focal(logits, truth, gamma=gamma)


def dice(probability: Tensor, truth: Tensor) -> Tensor:
    """1 − the soft Dice score of the foreground, [B] (Milletari et al., 3DV 2016)."""
    shared = (probability * truth).flatten(1).sum(1)
    both = (probability + truth).flatten(1).sum(1)
    return 1 - (2 * shared + SMOOTH) / (both + SMOOTH)


def focal(logits: Tensor, truth: Tensor, *, gamma: float) -> Tensor:
    """The mean over voxels of (1 − p)^gamma · −log p of the true class, [B] (Lin et al., ICCV 2017)."""
    cross_entropy = functional.cross_entropy(logits, truth, reduction="none")
    return ((1 - torch.exp(-cross_entropy)) ** gamma * cross_entropy).flatten(1).mean(1)
