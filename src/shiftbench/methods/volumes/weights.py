"""Published weights: state dicts that others saved with PyTorch, checked before they become members of a fit."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn

from shiftbench.errors import SettingsError
from shiftbench.methods.checkpoint import UNREADABLE

ADVICE = "Name the weights of a network with these settings, saved by torch.save(network.state_dict(), path)."


def read(path: Path, net: nn.Module) -> dict[str, Any]:
    """The weights in a file, which are those of such a network; no code in the file is executed.

    Raises:
        SettingsError: if the file cannot be read, or holds anything else.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # of odd pickles, which are refused
            found = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise SettingsError(f"weights: expected a file, found: {error}. {ADVICE}") from None
    except UNREADABLE as error:
        kind = type(error).__name__
        raise SettingsError(f"{path}: expected weights alone, found another file ({kind}). {ADVICE}") from None
    if problem := _difference(found, net.state_dict()):
        raise SettingsError(f"{path}: expected {problem}. {ADVICE}")
    return {name: tensor.float() for name, tensor in found.items()}


def _difference(found: Any, wanted: dict[str, Any]) -> str:
    """How what was found differs from the weights of the network, or ""."""
    if not isinstance(found, dict) or not all(isinstance(value, torch.Tensor) for value in found.values()):
        return f"tensors by name, found {type(found).__name__}"
    for name in [*wanted, *(name for name in found if name not in wanted)]:
        here, there = (tuple(values[name].shape) if name in values else None for values in (found, wanted))
        if here != there:
            return f"{name} of shape {there}, found {here}" if there is not None else f"no {name}, found one"
    bad = next((name for name, tensor in found.items() if not bool(torch.isfinite(tensor).all())), None)
    return f"finite numbers, found NaN or infinity in {bad}" if bad else ""
