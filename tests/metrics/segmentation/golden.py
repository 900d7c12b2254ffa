"""What the published code computes of six volumes (s0 … s5), and those volumes."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np

GOLDEN = Path(__file__).parents[2] / "golden"
INPUTS = np.load(GOLDEN / "inputs_segmentation.npz")
PUBLISHED = np.load(GOLDEN / "segmentation.npz")
CASES = ("s0", "s1", "s2", "s3", "s4", "s5")


class Volume(NamedTuple):
    """One made-up volume; `rank` and `tied` are uncertainties [voxels of the brain], without and with ties."""

    truth: np.ndarray
    answer: np.ndarray
    brain: np.ndarray
    rank: np.ndarray
    tied: np.ndarray


def volume(case: str) -> Volume:
    shape = INPUTS[f"{case}.shape"]
    flags = (unpacked(INPUTS[f"{case}.{name}_bits"], shape) for name in ("gt", "pred", "mask"))
    return Volume(*flags, INPUTS[f"{case}.rank"].astype(float), INPUTS[f"{case}.tied"].astype(float))


def unpacked(bits: np.ndarray, shape: np.ndarray) -> np.ndarray:
    return np.unpackbits(bits)[: shape.prod()].astype(bool).reshape(shape)
